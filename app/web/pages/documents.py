"""Documents of the project that are part of the product: how it calculates, how well it does."""

from __future__ import annotations

import functools
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt
from markupsafe import Markup

from app.errors import NotFound
from app.web.contexts import DocumentPage
from app.web.rendering import folder, render

router = APIRouter(include_in_schema=False)

DOCUMENTS = {"methodology": "methodology", "accuracy": "accuracy.md"}
"""Name in the address → file, or folder of files, under docs/."""


@functools.cache
def available() -> tuple[tuple[str, str], ...]:
    """Return address and name of the documents that are there."""
    return tuple((f"/{name}", name) for name, place in DOCUMENTS.items() if files(place))


def files(place: str) -> list[Path]:
    """Return the Markdown files of a document."""
    path = folder("docs") / place
    return sorted(path.glob("*.md")) if path.is_dir() else [path] if path.is_file() else []


@functools.cache
def rendered(name: str) -> Markup:
    """Return a document as HTML; raw HTML inside it is shown, not obeyed."""
    found = files(DOCUMENTS[name])
    if not found:
        raise NotFound.named("document", name, [known for _, known in available()])
    converter = MarkdownIt("commonmark", {"html": False}).enable("table")
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in found)
    return Markup(converter.render(text))


@router.get("/methodology", response_class=HTMLResponse)
def show_methodology(request: Request) -> HTMLResponse:
    """Show how the numbers are made."""
    page = DocumentPage(documents=available(), title="methodology", body=rendered("methodology"))
    return render(request, "document.html", page)


@router.get("/accuracy", response_class=HTMLResponse)
def show_accuracy(request: Request) -> HTMLResponse:
    """Show predictions against measured runs."""
    page = DocumentPage(documents=available(), title="accuracy", body=rendered("accuracy"))
    return render(request, "document.html", page)
