"""Addresses of lists in stretches."""

from __future__ import annotations

import base64
import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from app.errors import AppError, NotFound
from app.estimating.schema import Document
from app.platform.listing import Page
from app.platform.web.contexts import Contents, DocumentPage, ProblemKind, ProblemPage, ProblemsPage
from app.platform.web.problems import BY_STATUS, FAULTS, MEANINGS
from app.platform.web.rendering import DOCUMENTS, GLOSSARY, documents, render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import terms

router = page_router()


@dataclass(frozen=True, slots=True)
class GlossaryPage:
    codes: Sequence[str]
    terms: Sequence[Mapping[str, str]]
    """One word for one thing, in each language."""


@router.get("/glossary", response_class=HTMLResponse)
def show_glossary(request: Request) -> Response:
    return render(request, "glossary.html", GlossaryPage(GLOSSARY, terms()))


@router.get("/problems", response_class=HTMLResponse)
@router.get("/problems/{slug}", response_class=HTMLResponse)
def show_problems(request: Request, slug: str = "") -> Response:
    """Explain every kind of problem that the API answers, first the one that is asked for."""
    kinds = [
        ProblemKind(kind.slug, kind.title, status, MEANINGS[status])
        for status, kind in sorted(BY_STATUS.items())
    ]
    slugs = [kind.slug for kind in kinds]
    if slug and slug not in slugs:
        raise NotFound.named("problem", slug, slugs)
    chosen = next((kind for kind in kinds if kind.slug == slug), None)
    return render(request, "problems.html", ProblemsPage(chosen, kinds, FAULTS))


INDEX = "index.md"

LINK = re.compile(r"(?:(?P<folder>(?:[\w.-]+/)+))?(?P<stem>[\w-]+)\.md(?:#(?P<anchor>[\w-]+))?")
"""A link from one Markdown file to another."""

MARK = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
"""A line that says where a generated part begins or ends."""

PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
"""Ending of a picture's name → its media type."""

DEEPEST = 6
"""Levels of headings HTML has."""

LISTED = 2
"""Level of the headings a table of contents lists, beside the title of each file."""


class DocumentSection(Document):
    """A part of a document under its heading."""

    anchor: str
    """Where it stands on the page."""
    heading: str
    markdown: str
    """Its text, without the heading."""


class WrittenDocument(Document):
    """A document as it was written."""

    title: str
    sections: list[DocumentSection]


def files(name: str) -> list[Path]:
    """Return the Markdown files of a document, which must be there, its index first."""
    path = documents().get(name)
    if path is None:
        raise NotFound.named("document", name, list(documents()))
    if path.is_file():
        return [path]
    return sorted(path.glob("*.md"), key=lambda file: (file.name != INDEX, file.name))


def address_of(link: str) -> str:
    """Return where a link between files leads on the pages; other links lead where they say.

    >>> address_of("04-attention.md"), address_of("../accuracy.md"), address_of("methodology/08-ipu.md")
    ('#04-attention', '/accuracy', '/methodology#08-ipu')
    """
    matched = LINK.fullmatch(link)
    if matched is None:
        return link
    folder, stem, anchor = matched["folder"] or "", matched["stem"], matched["anchor"]
    if stem in DOCUMENTS:
        return f"/{stem}" + (f"#{anchor}" if anchor else "")
    target = f"{stem}-{anchor}" if anchor else stem
    inside = folder.strip("./")
    return f"/{inside}#{target}" if inside else f"#{target}"


def text_of(path: Path) -> str:
    """Return a document without the marks of its generated parts, which are for who writes it."""
    return MARK.sub("", path.read_text(encoding="utf-8"))


def embedded_picture(path: Path) -> str:
    """Return a picture of a document as data in its address: documents have no folder on the server."""
    kind = PICTURES[path.suffix]
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def slug(heading: str) -> str:
    """Return a heading as an anchor: lower case, hyphens between words.

    >>> slug("One step, in one line")
    'one-step-in-one-line'
    """
    return re.sub(r"[^\w]+", "-", heading.lower()).strip("-")


def plain(token: Token) -> str:
    """Return the text of a heading without its markup."""
    return "".join(child.content for child in token.children or ())


def opened_table(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Open a table in a box of its own, which scrolls where the page is too narrow for it."""
    label = tokens[index].meta["under"]
    return f'<div class="scroll" role="group" tabindex="0" aria-labelledby="{label}"><table>'


def closed_table(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return "</table></div>"


@functools.cache
def converter() -> MarkdownIt:
    """Return the reader of our Markdown; raw HTML inside it is shown, not obeyed."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("table_open", opened_table)
    markdown.add_render_rule("table_close", closed_table)
    return markdown


def prepared(path: Path, several: bool) -> tuple[list[Token], list[Contents]]:
    """Return a file ready to be written as HTML, and its entries of the table of contents.

    Headings get anchors, links lead to pages, and the content policy's ban on inline styles is
    kept. Where a page has several files only the first keeps its headings as high as they are.
    """
    tokens = converter().parse(text_of(path))
    lower = 1 if several and path.name != INDEX else 0
    contents: list[Contents] = []
    under = path.stem
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            level, title = int(token.tag[1]), plain(tokens[index + 1])
            under = path.stem if level == 1 else f"{path.stem}-{slug(title)}" if several else slug(title)
            token.attrSet("id", under)
            if level == 1 or (level == LISTED and not several):
                contents.append(Contents(under, title))
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + lower, DEEPEST)}"
        if token.type == "table_open":
            token.meta["under"] = under
        if "right" in str(token.attrs.pop("style", "")):
            token.attrSet("class", "number")
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", address_of(str(child.attrs["href"])))
            if child.type == "image":
                child.attrSet("src", embedded_picture(path.parent / str(child.attrs["src"])))
    return tokens, contents


@functools.cache
def rendered(name: str) -> tuple[Markup, tuple[Contents, ...]]:
    """Return a document as HTML, and its table of contents."""
    paths = files(name)
    parts = [prepared(path, len(paths) > 1) for path in paths]
    markdown = converter()
    body = "\n".join(markdown.renderer.render(tokens, markdown.options, {}) for tokens, _ in parts)
    return Markup(body), tuple(entry for _, contents in parts for entry in contents)


@functools.cache
def written(name: str) -> WrittenDocument:
    """Return a document as it was written, cut where its table of contents points."""
    paths = files(name)
    sections = [section for path in paths for section in cut(path, len(paths) > 1)]
    return WrittenDocument(title=sections[0].heading, sections=sections)


def cut(path: Path, several: bool) -> list[DocumentSection]:
    """Return the sections of a file: one where a page has several files, else one per listed heading."""
    text = text_of(path)
    lines = text.splitlines()
    starts = [
        (token.map[0], token.map[1], plain(after))
        for token, after in itertools.pairwise(converter().parse(text))
        if token.type == "heading_open" and token.map
        if token.tag == "h1" or (token.tag == f"h{LISTED}" and not several)
    ]
    ends = [start for start, _, _ in starts[1:]] + [len(lines)]
    return [
        DocumentSection(
            anchor=path.stem if number == 0 else slug(heading),
            heading=heading,
            markdown="\n".join(lines[begin:end]).strip(),
        )
        for number, ((_, begin, heading), end) in enumerate(zip(starts, ends, strict=True))
    ]


def document_page(name: str) -> DocumentPage:
    body, contents = rendered(name)
    return DocumentPage(title=name, body=body, contents=contents)


@resource(router, "/methodology", "document.html", lambda *_: document_page("methodology"))
def show_methodology() -> WrittenDocument:
    """Return how the numbers are made, as it was written."""
    return written("methodology")


def problem_page(request: Request, error: AppError) -> Response:
    """Return an error as a page: what happened, what is near it, where to go."""
    page = ProblemPage(error=error, request_id=getattr(request.state, "request_id", ""))
    return render(request, "problem.html", page, status=error.status)


def older(path: str, stretch: Page[Any]) -> str:
    """Return the address of what comes after a stretch of a list; empty at the end."""
    return at(path, stretch.next) if stretch.next else ""


def at(path: str, cursor: str | None) -> str:
    """Return the address of the stretch that begins at a cursor.

    >>> at("/comparisons.json", "MjAy="), at("/comparisons.json", "")
    ('/comparisons.json?cursor=MjAy%3D', '/comparisons.json')
    """
    return f"{path}?{urlencode({'cursor': cursor})}" if cursor else path
