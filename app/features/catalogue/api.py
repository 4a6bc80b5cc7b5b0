"""The catalogue: every figure with unit, range, source, date, status and rejected rivals."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path

from app.estimating.schema import SourceRef
from app.platform.catalogue_model import Chip, Fabric, Machine, Model, ModelWithOperators, Software, System
from app.platform.listing import Page
from app.platform.web.api import LIST, READ, AnswerSelection, api_router
from app.platform.web.deps import ALL, ID, CursorQuery, LimitQuery, WorkspaceDep

CHIPS = AnswerSelection(Chip, "id", "name", "maker", "kind", within="items")

MACHINES = AnswerSelection(Machine, "id", "name", "maker", "chip", "devices", "intra", within="items")

SYSTEMS = AnswerSelection(
    System,
    *("id", "name", "maker", "machine", "machines", "devices", "devices_per_machine", "chip", "chip_kind"),
    *("intra", "hosts", "fabric", "ports_per_node", "acquisition", "availability", "price", "rack_units"),
    *("price_hour.value", "price_hour.unit", "power_typical", "power_max"),
    within="items",
)

FABRICS = AnswerSelection(Fabric, "id", "name", "maker", "protocol", within="items")

MODELS = AnswerSelection(
    Model,
    *("id", "name", "family", "parameters", "forward_flop_per_sample", "seq_len", "image_size", "status"),
    within="items",
)

SOFTWARE = AnswerSelection(
    Software, "id", "name", "kind", "preset", "as_of", "families", "runs", within="items"
)

router = api_router("catalogue", "/catalog")


@router.get("/chips", summary="List chips", responses=LIST, dependencies=[Depends(CHIPS)])
def list_chips(workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None) -> Page[Chip]:
    """List accelerators with peaks, memory, bandwidths and derived figures."""
    return workspace.catalogue.chips.page(limit, cursor)


@router.get("/chips/{id}", summary="Retrieve a chip", responses=READ)
def get_chip(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["a100-sxm-80gb"])],
) -> Chip:
    """Return one accelerator."""
    return workspace.catalogue.chips.get(identifier)


@router.get("/machines", summary="List machines", responses=LIST, dependencies=[Depends(MACHINES)])
def list_machines(
    workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None
) -> Page[Machine]:
    """List nodes and IPU machines with their internal links."""
    return workspace.catalogue.machines.page(limit, cursor)


@router.get("/machines/{id}", summary="Retrieve a machine", responses=READ)
def get_machine(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["dgx-a100-640gb"])],
) -> Machine:
    """Return one node or IPU machine."""
    return workspace.catalogue.machines.get(identifier)


@router.get("/systems", summary="List systems", responses=LIST, dependencies=[Depends(SYSTEMS)])
def list_systems(
    workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None
) -> Page[System]:
    """List systems that can be bought or rented, with bill, price and power."""
    return workspace.catalogue.systems.page(limit, cursor)


@router.get("/systems/{id}", summary="Retrieve a system", responses=READ)
def get_system(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["ipu-pod64"])],
) -> System:
    """Return one system; requests multiply it by ``count``."""
    return workspace.catalogue.systems.get(identifier)


@router.get("/fabrics", summary="List fabrics", responses=LIST, dependencies=[Depends(FABRICS)])
def list_fabrics(
    workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None
) -> Page[Fabric]:
    """List scale-out networks, per port."""
    return workspace.catalogue.fabrics.page(limit, cursor)


@router.get("/fabrics/{id}", summary="Retrieve a fabric", responses=READ)
def get_fabric(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["hdr-infiniband"])],
) -> Fabric:
    """Return one scale-out network, per port."""
    return workspace.catalogue.fabrics.get(identifier)


@router.get("/models", summary="List model presets", responses=LIST, dependencies=[Depends(MODELS)])
def list_models(workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None) -> Page[Model]:
    """List models as published, with the parameters counted from their operators."""
    return workspace.catalogue.models.page(limit, cursor)


@router.get("/models/{id}", summary="Retrieve a model preset", responses=READ)
def get_model(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["gpt3-175b"])],
) -> ModelWithOperators:
    """Return one published model with its operators."""
    return workspace.catalogue.model_with_operators(identifier)


@router.get("/software", summary="List software profiles", responses=LIST, dependencies=[Depends(SOFTWARE)])
def list_software(
    workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None
) -> Page[Software]:
    """List software stacks as dated, sourced sets of a few efficiencies."""
    return workspace.catalogue.software.page(limit, cursor)


@router.get("/software/{id}", summary="Retrieve a software profile", responses=READ)
def get_software(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["megatron-2022"])],
) -> Software:
    """Return one software stack."""
    return workspace.catalogue.software.get(identifier)


@router.get("/sources", summary="List sources", responses=LIST)
def list_sources(
    workspace: WorkspaceDep, limit: LimitQuery = ALL, cursor: CursorQuery = None
) -> Page[SourceRef]:
    """List the sources of the figures."""
    return workspace.catalogue.sources.page(limit, cursor)


@router.get("/sources/{id}", summary="Retrieve a source", responses=READ)
def get_source(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["lablup-ipu-2022"])],
) -> SourceRef:
    """Return one source."""
    return workspace.catalogue.sources.get(identifier)
