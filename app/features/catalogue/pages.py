"""The catalogue: every figure with its source, and the claims that were rejected."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from pydantic import SerializeAsAny

from app.estimating.schema import Document
from app.features.catalogue import views as shelves
from app.platform.web.deps import BenchDep
from app.platform.web.locale import voice_of
from app.platform.web.rendering import render
from app.platform.web.rights import page_router

router = page_router()


class KindCount(Document):
    """A kind of thing and how many there are."""

    kind: str
    count: int


@router.get("/catalog.json")
def show_index_data(bench: BenchDep) -> list[KindCount]:
    """Return the kinds of things the catalogue knows."""
    return [
        KindCount(kind=kind, count=len(shelves.shelf(bench.catalogue, kind).documents))
        for kind in shelves.KINDS
    ]


@router.get("/catalog", response_class=HTMLResponse)
def show_index(request: Request, bench: BenchDep) -> Response:
    """Show the kinds of things the catalogue knows."""
    page = shelves.index_page(bench.catalogue, voice_of(request))
    return render(request, "catalogue/catalog_index.html", page)


@router.get("/catalog/{kind}.json")
def show_kind_data(bench: BenchDep, kind: str) -> list[SerializeAsAny[Document]]:
    """Return everything of a kind."""
    return list(shelves.shelf(bench.catalogue, kind).documents.values())


@router.get("/catalog/{kind}", response_class=HTMLResponse)
def show_kind(request: Request, bench: BenchDep, kind: str) -> Response:
    """Show everything of a kind."""
    page = shelves.kind_page(bench.catalogue, kind, voice_of(request))
    return render(request, "catalogue/catalog_kind.html", page)


@router.get("/catalog/{kind}/{identifier}.json")
def show_item_data(bench: BenchDep, kind: str, identifier: str) -> SerializeAsAny[Document]:
    """Return one thing with all its figures."""
    return shelves.entry(bench.catalogue, kind, identifier)


@router.get("/catalog/{kind}/{identifier}", response_class=HTMLResponse)
def show_item(request: Request, bench: BenchDep, kind: str, identifier: str) -> Response:
    """Show one thing with all its figures."""
    document = shelves.entry(bench.catalogue, kind, identifier)
    page = shelves.item_page(document, kind, identifier, voice_of(request))
    return render(request, "catalogue/catalog_item.html", page)
