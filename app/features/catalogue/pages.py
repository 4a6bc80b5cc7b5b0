"""The catalogue: every figure with its source, and the claims that were rejected."""

from __future__ import annotations

from pydantic import SerializeAsAny

from app.estimating.schema import Document
from app.features.catalogue.views import KINDS, entry, item_page, kind_page, shelf
from app.platform.web.deps import WorkspaceDep
from app.platform.web.resources import resource
from app.platform.web.rights import page_router

router = page_router()


class KindCount(Document):
    """A kind of thing and how many there are."""

    kind: str
    count: int


@resource(router, "/catalog", "catalogue/catalog_index.html", lambda _, kinds: kinds)
def show_index(workspace: WorkspaceDep) -> list[KindCount]:
    return [KindCount(kind=kind, count=len(shelf(workspace.catalogue, kind).listed)) for kind in KINDS]


@resource(router, "/catalog/{kind}", "catalogue/catalog_kind.html", kind_page)
def show_kind(workspace: WorkspaceDep, kind: str) -> list[SerializeAsAny[Document]]:
    return shelf(workspace.catalogue, kind).listed


@resource(router, "/catalog/{kind}/{identifier}", "catalogue/catalog_item.html", item_page)
def show_item(workspace: WorkspaceDep, kind: str, identifier: str) -> SerializeAsAny[Document]:
    return entry(workspace.catalogue, kind, identifier)
