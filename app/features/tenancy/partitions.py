"""Plan the partitions of a system: one answer for pods of IPUs and for nodes of GPUs."""

from __future__ import annotations

from collections.abc import Iterable

from app.catalog.catalog import Catalog
from app.catalog.figures import Claim, Figure
from app.engine.partition import fragmentation
from app.engine.queueing import utilisation
from app.errors import Message
from app.estimating.documents import CheckWarning
from app.estimating.hardware import known_id
from app.estimating.schema import Quantity
from app.estimating.trace import source_ref
from app.features.tenancy import nodes, pods
from app.features.tenancy.model import (
    OtherClaim,
    PartitionPlan,
    PartitionRequest,
    PlanFigure,
    PlanRule,
    SliceRoom,
)
from app.features.tenancy.nodes import profiles_of, room_left, sliced_gpu
from app.features.tenancy.room import BACKEND_AI, GC_DOCKER, STRICT, Allocation, Site

POD_RULES = ("vipu-power-of-two", "vipu-no-spanning", "vipu-isolated-links")
"""Claims that every plan of IPUs follows."""

GROUNDS = {
    "gc_docker_host_network": ("seed-gc-docker-network", "docker-host-network-open"),
    "partition_machine_shared": ("vipu-allocation-trust",),
    "hosts_shared": ("vipu-isolated-links",),
    "session_spans_pods": ("seed-backend-ai-cluster",),
    "mig_no_nvlink": ("mig-no-peer",),
}
"""Warning → claims it rests on."""

APART = ("seed-backend-ai-isolated",)
"""Claims behind the absence of a warning."""

NAMED = 4
"""Pairs of teams that a sentence names."""


def warnings_of(
    request: PartitionRequest, site: Site, placed: Allocation, catalog: Catalog
) -> list[CheckWarning]:
    """Return what to beware of in a plan."""
    found = list(of_pods(request, site, placed, catalog) if site.ipus else of_nodes(request, site, placed))
    found += fragmented(request, site, placed)
    return found


def of_pods(
    request: PartitionRequest, site: Site, placed: Allocation, catalog: Catalog
) -> Iterable[CheckWarning]:
    """Return what to beware of on pods of IPUs."""
    strict = request.isolation == STRICT
    if request.orchestrator == GC_DOCKER:
        exposed = Message(
            "containers started by gc-docker use the host's network: each team can reach the "
            "ports and interfaces of the hosts and of other teams; partitions isolate only the "
            "IPUs"
        )
        fields = ("orchestrator", "isolation")
        if strict:
            yield CheckWarning.of("gc_docker_host_network", "serious", exposed, *fields)
        else:
            yield CheckWarning.of("gc_docker_host_network", "caution", exposed, *fields)
    if strict and request.orchestrator == "none":
        hosts = Message(
            "partitions isolate the links between IPUs, not the hosts that programs run on; "
            "give each team its own host, or use an orchestrator that isolates containers"
        )
        yield CheckWarning.of("hosts_shared", "caution", hosts, "orchestrator", "isolation")
    together = machines_shared(site, placed)
    if strict and request.orchestrator != BACKEND_AI and together:
        machines = Message(
            "{teams} share an IPU-Machine: a V-IPU allocation consists of whole machines, and "
            "its users can reach every partition in it",
            {"teams": "; ".join(" + ".join(names) for names in together[:NAMED])},
        )
        yield CheckWarning.of("partition_machine_shared", "caution", machines, "isolation")
    rack = round(catalog.figure(site.entry.chip, "pod_size").si)
    for index, one in enumerate(request.requests):
        parts = sum(other.request == index for other in placed.placements)
        if parts > 1:
            session = Message(
                "{team}: {parts} partitions, one per pod, in one cluster session; they connect "
                "over the hosts' network cards, not IPU-Links, so one program cannot address "
                "them as one partition",
                {"team": one.team, "parts": parts},
            )
            yield CheckWarning.of("session_spans_pods", "info", session, f"requests.{index}.devices")
        elif one.devices > rack:
            racks = Message(
                "{team}: a partition of {devices} spans {racks} racks of {rack}, joined by GW-Links",
                {"team": one.team, "devices": one.devices, "racks": one.devices // rack, "rack": rack},
            )
            yield CheckWarning.of("partition_over_gateways", "info", racks, f"requests.{index}.devices")
    per_pod: dict[int, list[int]] = {}
    for block in placed.free_blocks:
        per_pod.setdefault(block.pod, []).append(block.devices)
    odd = max((sum(sizes) for sizes in per_pod.values() if sum(sizes) > max(sizes)), default=0)
    if odd and odd & (odd - 1):
        odd_rest = Message(
            "{free} IPUs are free on one pod, but partition sizes are powers of two: one more "
            "team can get at most {largest}",
            {"free": odd, "largest": max(max(sizes) for sizes in per_pod.values())},
        )
        yield CheckWarning.of("partition_power_of_two", "info", odd_rest, "requests")
    if len(per_pod) > 1 and request.orchestrator != BACKEND_AI:
        apart = Message(
            "{free} IPUs are free on {pods} pods, but a partition cannot span pods: one more "
            "team can get at most {largest}",
            {
                "free": sum(sum(sizes) for sizes in per_pod.values()),
                "pods": len(per_pod),
                "largest": placed.largest_free,
            },
        )
        yield CheckWarning.of("partition_no_spanning", "info", apart, "requests")


def machines_shared(site: Site, placed: Allocation) -> list[list[str]]:
    """Return the teams that share an IPU-Machine, by machine."""
    small = site.entry.devices_per_machine
    teams: dict[tuple[int, int], dict[str, None]] = {}
    for one in placed.placements:
        for device in range(one.first_device, one.first_device + one.devices, small):
            teams.setdefault((one.pod, device // small), {})[one.team] = None
    return [list(names) for names in teams.values() if len(names) > 1]


def of_nodes(request: PartitionRequest, site: Site, placed: Allocation) -> Iterable[CheckWarning]:
    """Return what to beware of on nodes of GPUs."""
    sliced = [one for one in request.requests if one.slice is not None]
    several = [one.team for one in sliced if one.devices > 1]
    if sliced:
        alone = Message(
            "MIG instances have no NVLink or peer access: a training job runs on one instance, not several"
        )
        if several:
            yield CheckWarning.of("mig_no_nvlink", "caution", alone, "requests")
        else:
            yield CheckWarning.of("mig_no_nvlink", "info", alone, "requests")
    for one, held in placed.rounded:
        rounded = Message(
            "{team} requests {asked} GPUs and holds {held}: with isolation, a multi-node job "
            "takes whole nodes",
            {"team": one.team, "asked": one.devices, "held": held},
        )
        yield CheckWarning.of("whole_nodes", "info", rounded, "isolation")
    teams: dict[int, dict[str, None]] = {}
    for placement in placed.placements:
        teams.setdefault(placement.pod, {})[placement.team] = None
    together = [list(names) for names in teams.values() if len(names) > 1]
    if together and request.isolation == STRICT and request.orchestrator != BACKEND_AI:
        nodes = Message(
            "{teams} share a node, with its kernel, network and PCIe",
            {"teams": "; ".join(" + ".join(names) for names in together[:NAMED])},
        )
        yield CheckWarning.of("node_shared", "caution", nodes, "isolation")


def fragmented(request: PartitionRequest, site: Site, placed: Allocation) -> list[CheckWarning]:
    """Return whether free devices lie so that a request fails which as many in one piece would meet."""
    free: dict[int, int] = {}
    largest: dict[int, int] = {}
    for block in placed.free_blocks:
        free[block.pod] = free.get(block.pod, 0) + block.devices
        largest[block.pod] = max(largest.get(block.pod, 0), block.devices)
    if site.ipus:
        scattered = [pod for pod in free if free[pod] >= 2 * largest[pod]]
        if not scattered:
            return []
        pod = max(scattered, key=lambda at: free[at])
        whole = 1 << (free[pod].bit_length() - 1)
        values = {"free": free[pod], "largest": largest[pod], "whole": whole, "pod": pod}
        pieces = Message(
            "pod {pod} has {free} free IPUs, but the largest block has {largest}; in one piece "
            "they would fit a partition of {whole}",
            values,
        )
        return [CheckWarning.of("fragmented", "caution", pieces, "requests")]
    total = sum(free.values())
    if total < site.size or site.size in free.values():
        return []
    nodes = Message(
        "{free} GPUs are free, but no node is empty: one more job can get at most {largest}",
        {"free": total, "largest": max(free.values())},
    )
    return [CheckWarning.of("fragmented", "caution", nodes, "requests")]


def rules_of(
    request: PartitionRequest, site: Site, warnings: Iterable[CheckWarning], catalog: Catalog
) -> list[PlanRule]:
    """Return the statements that a plan and its warnings rest on."""
    found = [rule(catalog.claim(name), "") for name in POD_RULES if site.ipus]
    if request.orchestrator == BACKEND_AI:
        found += [rule(catalog.claim(name), "") for name in APART]
    codes = dict.fromkeys(warning.code for warning in warnings)
    return found + [
        rule(catalog.claim(name), code)
        for code in codes
        for name in GROUNDS.get(code, ())
        if name not in {one.id for one in found}
    ]


def rule(claim: Claim, code: str) -> PlanRule:
    """Return a claim of the catalogue as a plan shows it."""
    return PlanRule(
        id=claim.id,
        code=code,
        statement=claim.statement,
        verdict=claim.verdict,
        source=source_ref(claim.source),
    )


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
