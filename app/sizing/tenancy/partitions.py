"""Plan the partitions of a system: one answer for pods of IPUs and for nodes of GPUs."""

from __future__ import annotations

from app.catalog import Catalog
from app.catalog.figures import Figure
from app.engine.partition import fragmentation
from app.engine.queueing import utilisation
from app.sizing.document import Quantity
from app.sizing.hardware import known_id
from app.sizing.tenancy import nodes, pods
from app.sizing.tenancy.documents import OtherClaim, PartitionPlan, PlanFigure, SliceRoom
from app.sizing.tenancy.isolation import rules_of, warnings_of
from app.sizing.tenancy.request import PartitionRequest
from app.sizing.tenancy.room import Allocation, Site
from app.sizing.tenancy.slices import profiles_of, room_left, sliced_gpu
from app.sizing.trace import source_ref

SYSTEM_FIGURES = ("machines",)
MACHINE_FIGURES = ("devices",)
CHIP_FIGURES = ("published_peak_fp16", "peak_fp16_dense", "sram_nominal", "memory_capacity")
"""Parameters that say what a system is made of; each chip has its own of them."""


def plan_partitions(request: PartitionRequest, catalog: Catalog) -> PartitionPlan:
    """Return who gets which devices of a system, or refuse with what would do."""
    entry = catalog.system(known_id(catalog, "system", request.system, "system"))
    site = Site.of(entry, request.count)
    placed = pods.settle(request, site) if site.ipus else nodes.settle(request, site, catalog)
    warnings = warnings_of(request, site, placed, catalog)
    held = len(placed.held)
    return PartitionPlan(
        system=entry.id,
        name=entry.name,
        count=request.count,
        isolation=request.isolation,
        orchestrator=request.orchestrator,
        devices=site.devices,
        pods=site.pods,
        devices_per_pod=site.size,
        devices_per_machine=entry.devices_per_machine,
        ipus=site.ipus,
        allocated=held,
        free=site.devices - held,
        largest_free=placed.largest_free,
        fragmentation=float(fragmentation(placed.largest_free, site.devices - held)),
        utilisation=float(utilisation(held, site.devices)),
        placements=placed.placements,
        free_blocks=placed.free_blocks,
        slice_room=slice_room(request, site, placed, catalog),
        figures=figures_of(site, catalog),
        rules=rules_of(request, site, warnings, catalog),
        warnings=warnings,
    )


def slice_room(
    request: PartitionRequest, site: Site, placed: Allocation, catalog: Catalog
) -> list[SliceRoom]:
    """Return what still fits on GPUs that are cut into instances."""
    gpu, profiles = sliced_gpu(catalog, site.entry.chip), profiles_of(catalog, site.entry.chip)
    if gpu is None or not placed.cut:
        return []
    shares = [
        [(index, profiles[request.requests[index].slice or ""], 0) for index in share] for share in placed.cut
    ]
    return room_left(shares, list(profiles.values()), gpu)


def figures_of(site: Site, catalog: Catalog) -> list[PlanFigure]:
    """Return what a system is made of, each figure with its source and competing claims."""
    entry = site.entry
    groups = (
        ("systems", entry.id, SYSTEM_FIGURES),
        ("machines", entry.machine, MACHINE_FIGURES),
        ("chips", entry.chip, CHIP_FIGURES),
    )
    return [
        plan_figure(figure, shelf, catalog)
        for shelf, item, parameters in groups
        for parameter in parameters
        if (figure := catalog.find(item, parameter)) is not None
    ]


def plan_figure(figure: Figure, shelf: str, catalog: Catalog) -> PlanFigure:
    """Return one figure as a plan shows it."""
    others = catalog.rejected(figure.item, figure.parameter)
    return PlanFigure(
        name=figure.parameter,
        quantity=Quantity(value=figure.si, low=figure.si_low, high=figure.si_high, unit=figure.si_unit),
        source=source_ref(figure.source),
        url=f"/catalog/{shelf}/{figure.item}#{figure.parameter}",
        rejected=[
            OtherClaim(
                value=other.value, unit=other.unit.name, source=source_ref(other.source), reason=other.note
            )
            for other in others
            if other.value is not None and other.condition == figure.condition
        ],
    )
