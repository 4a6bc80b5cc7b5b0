"""The catalogue: every figure with its source."""

from __future__ import annotations

import httpx
from pydantic import BaseModel

from app.client.calls import Call, address, document, get, operation
from app.estimating.schema import SourceRef
from app.platform.catalogue_model import Chip, Fabric, Machine, Model, ModelWithOperators, Software, System
from app.platform.listing import Page


class Status(BaseModel):
    """What the server says of itself."""

    status: str


def status(response: httpx.Response) -> dict[str, str]:
    """Read what the server says of itself."""
    return document(Status)(response).model_dump()


class CatalogueOperations:
    """What the catalogue holds."""

    @operation
    def list_chips(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[Chip]]:
        """List every accelerator."""
        return get(address("catalog", "chips"), document(Page[Chip]), cursor=cursor, limit=limit)

    @operation
    def get_chip(self, identifier: str) -> Call[Chip]:
        """Read one accelerator with its figures, their sources and rejected rivals."""
        return get(address("catalog", "chips", identifier), document(Chip))

    @operation
    def list_machines(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[Machine]]:
        """List every node or IPU machine."""
        return get(address("catalog", "machines"), document(Page[Machine]), cursor=cursor, limit=limit)

    @operation
    def get_machine(self, identifier: str) -> Call[Machine]:
        """Read one node or IPU machine with its figures, their sources and rejected rivals."""
        return get(address("catalog", "machines", identifier), document(Machine))

    @operation
    def list_systems(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[System]]:
        """List every system."""
        return get(address("catalog", "systems"), document(Page[System]), cursor=cursor, limit=limit)

    @operation
    def get_system(self, identifier: str) -> Call[System]:
        """Read one system with its figures, their sources and rejected rivals."""
        return get(address("catalog", "systems", identifier), document(System))

    @operation
    def list_fabrics(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[Fabric]]:
        """List every network."""
        return get(address("catalog", "fabrics"), document(Page[Fabric]), cursor=cursor, limit=limit)

    @operation
    def get_fabric(self, identifier: str) -> Call[Fabric]:
        """Read one network with its figures, their sources and rejected rivals."""
        return get(address("catalog", "fabrics", identifier), document(Fabric))

    @operation
    def list_models(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[Model]]:
        """List every model preset."""
        return get(address("catalog", "models"), document(Page[Model]), cursor=cursor, limit=limit)

    @operation
    def get_model(self, identifier: str) -> Call[ModelWithOperators]:
        """Read one model preset with its figures, their sources and rejected rivals."""
        return get(address("catalog", "models", identifier), document(ModelWithOperators))

    @operation
    def list_software(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[Software]]:
        """List every software stack."""
        return get(address("catalog", "software"), document(Page[Software]), cursor=cursor, limit=limit)

    @operation
    def get_software(self, identifier: str) -> Call[Software]:
        """Read one software stack with its figures, their sources and rejected rivals."""
        return get(address("catalog", "software", identifier), document(Software))

    @operation
    def list_sources(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[SourceRef]]:
        """List every source."""
        return get(address("catalog", "sources"), document(Page[SourceRef]), cursor=cursor, limit=limit)

    @operation
    def get_source(self, identifier: str) -> Call[SourceRef]:
        """Read one source."""
        return get(address("catalog", "sources", identifier), document(SourceRef))

    @operation
    def health(self) -> Call[dict[str, str]]:
        """Tell whether the server serves."""
        return Call("GET", "/healthz", status, repeatable=True)

    @operation
    def ready(self) -> Call[dict[str, str]]:
        """Tell whether the server can answer now; where it cannot, it is asked again for a while."""
        return Call("GET", "/readyz", status, repeatable=True)
