"""Plan the partitions of a system: one answer for pods of IPUs and for nodes of GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.catalog.catalog import Catalog
from app.catalog.records import known_figure
from app.engine.partition import fragmentation
from app.engine.queueing import utilisation
from app.errors import Message
from app.estimating.documents import CheckWarning
from app.estimating.hardware import known_id
from app.estimating.schema import Quantity
from app.estimating.trace import source_ref
from app.features.tenancy import nodes, pods
from app.features.tenancy.model import OtherClaim, PartitionPlan, PartitionRequest, PlanFigure, PlanRule
from app.features.tenancy.site import Allocation, Site, path

POD_RULES = ("vipu-power-of-two", "vipu-no-spanning", "vipu-isolated-links")
"""Claims that every plan of IPUs follows."""

ISOLATED = "seed-backend-ai-isolated"
"""Claim behind the absence of warnings where Backend.AI starts the containers."""

GROUNDS = {
    "gc_docker_host_network": ("seed-gc-docker-network", "docker-host-network-open"),
    "partition_machine_shared": ("vipu-allocation-trust",),
    "hosts_shared": ("vipu-isolated-links",),
    "session_spans_pods": ("seed-backend-ai-cluster",),
    "mig_no_nvlink": ("mig-no-peer",),
}
"""Warning → claims it rests on."""

CHIP_FIGURES = ("published_peak_fp16", "peak_fp16_dense", "sram_nominal", "memory_capacity")
NAMED = 4
"""Most pairs of teams that a sentence names."""


def plan_partitions(request: PartitionRequest, catalog: Catalog) -> PartitionPlan:
    """Allocate the devices of a system, or refuse with what would be possible."""
    entry = catalog.system(known_id(catalog, "system", request.system, "system"))
    site = Site.of(entry, request.count)
    allocation = pods.settle(request, site) if site.ipus else nodes.settle(request, site, catalog)
    kind_warnings = (
        of_pods(request, site, allocation, catalog) if site.ipus else of_nodes(request, site, allocation)
    )
    warnings = [*kind_warnings, *fragmented(site, allocation)]
    allocated = len(allocation.devices_allocated)
    return PartitionPlan(
        system=entry.id,
        name=entry.name,
        count=request.count,
        isolation=request.isolation,
        orchestrator=request.orchestrator,
        devices=site.devices,
        pods=site.pods,
        devices_per_pod=site.size,
        devices_per_machine=entry.machine.devices,
        ipus=site.ipus,
        allocated=allocated,
        free=site.devices - allocated,
        largest_free=allocation.largest_free,
        fragmentation=float(fragmentation(allocation.largest_free, site.devices - allocated)),
        utilisation=float(utilisation(allocated, site.devices)),
        placements=allocation.placements,
        free_blocks=allocation.free_blocks,
        slice_room=nodes.slice_room(allocation.cut, entry.machine.chip.id, catalog),
        figures=list(figures_of(site, catalog)),
        rules=rules_of(request, site, warnings, catalog),
        warnings=warnings,
    )


def of_pods(
    request: PartitionRequest, site: Site, allocation: Allocation, catalog: Catalog
) -> Iterator[CheckWarning]:
    strict = request.isolation == "strict"
    if request.orchestrator == "gc-docker":
        exposed = Message(
            "containers started by gc-docker use the host's network: each team can reach the ports and "
            "interfaces of the hosts and of other teams; partitions isolate only the IPUs"
        )
        if strict:
            yield CheckWarning.of("gc_docker_host_network", "serious", exposed, "orchestrator", "isolation")
        else:
            yield CheckWarning.of("gc_docker_host_network", "caution", exposed, "orchestrator", "isolation")
    if strict and request.orchestrator == "none":
        hosts = Message(
            "partitions isolate the links between IPUs, not the hosts that programs run on; "
            "give each team its own host, or use an orchestrator that isolates containers"
        )
        yield CheckWarning.of("hosts_shared", "caution", hosts, "orchestrator", "isolation")
    together = sharing(allocation, site.entry.machine.devices)
    if strict and request.orchestrator != pods.BACKEND_AI and together:
        machines = Message(
            "{teams} share an IPU-Machine: a V-IPU allocation consists of whole machines, and "
            "its users can reach every partition in it",
            {"teams": together},
        )
        yield CheckWarning.of("partition_machine_shared", "caution", machines, "isolation")
    rack = round(catalog.figure(site.entry.machine.chip.id, "pod_size").si)
    for index, team in enumerate(request.requests):
        parts = sum(block.request == index for block in allocation.placements)
        if parts > 1:
            session = Message(
                "{team}: {parts} partitions, one per pod, in one cluster session; they connect over the "
                "hosts' network cards, not IPU-Links, so one program cannot address them as one partition",
                {"team": team.team, "parts": parts},
            )
            yield CheckWarning.of("session_spans_pods", "info", session, path(index))
        elif team.devices > rack:
            racks = Message(
                "{team}: a partition of {devices} spans {racks} racks of {rack}, joined by GW-Links",
                {"team": team.team, "devices": team.devices, "racks": team.devices // rack, "rack": rack},
            )
            yield CheckWarning.of("partition_over_gateways", "info", racks, path(index))
    free = free_by_pod(allocation)
    odd = max((sum(sizes) for sizes in free.values() if len(sizes) > 1), default=0)
    if odd & (odd - 1):
        odd_rest = Message(
            "{free} IPUs are free on one pod, but partition sizes are powers of two: one more "
            "team can get at most {largest}",
            {"free": odd, "largest": max(max(sizes) for sizes in free.values())},
        )
        yield CheckWarning.of("partition_power_of_two", "info", odd_rest, "requests")
    if len(free) > 1 and request.orchestrator != pods.BACKEND_AI:
        note = Message(
            "{free} IPUs are free on {pods} pods, but a partition cannot span pods: one more "
            "team can get at most {largest}",
            {
                "free": sum(sum(sizes) for sizes in free.values()),
                "pods": len(free),
                "largest": allocation.largest_free,
            },
        )
        yield CheckWarning.of("partition_no_spanning", "info", note, "requests")


def of_nodes(request: PartitionRequest, site: Site, allocation: Allocation) -> Iterator[CheckWarning]:
    sliced = [team.devices for team in request.requests if team.slice is not None]
    if sliced:
        alone = Message(
            "MIG instances have no NVLink or peer access: a training job runs on one instance, not several"
        )
        yield CheckWarning.of("mig_no_nvlink", "caution" if max(sliced) > 1 else "info", alone, "requests")
    for team, devices in allocation.rounded:
        rounded = Message(
            "{team} requests {asked} GPUs and holds {held}: with isolation, a multi-node job "
            "takes whole nodes",
            {"team": team.team, "asked": team.devices, "held": devices},
        )
        yield CheckWarning.of("whole_nodes", "info", rounded, "isolation")
    together = sharing(allocation, site.size)
    if together and request.isolation == "strict" and request.orchestrator != pods.BACKEND_AI:
        shared = Message("{teams} share a node, with its kernel, network and PCIe", {"teams": together})
        yield CheckWarning.of("node_shared", "caution", shared, "isolation")


def sharing(allocation: Allocation, devices: int) -> str:
    """Name the first teams that share a machine of so many devices; empty where none do."""
    teams: dict[tuple[int, int], dict[str, None]] = {}
    for block in allocation.placements:
        for device in range(block.first_device, block.first_device + block.devices, devices):
            teams.setdefault((block.pod, device // devices), {})[block.team] = None
    return "; ".join([" + ".join(names) for names in teams.values() if len(names) > 1][:NAMED])


def free_by_pod(allocation: Allocation) -> dict[int, list[int]]:
    """Return the sizes of the free blocks of each pod or node that has any."""
    sizes: dict[int, list[int]] = {}
    for block in allocation.free_blocks:
        sizes.setdefault(block.pod, []).append(block.devices)
    return sizes


def fragmented(site: Site, allocation: Allocation) -> Iterator[CheckWarning]:
    """Yield a warning where the free devices are too scattered for a request they could meet in one block."""
    sizes = free_by_pod(allocation)
    free = {pod: sum(blocks) for pod, blocks in sizes.items()}
    if site.ipus:
        scattered = [pod for pod, blocks in sizes.items() if free[pod] >= 2 * max(blocks)]
        if scattered:
            pod = max(scattered, key=free.__getitem__)
            whole = 1 << (free[pod].bit_length() - 1)
            pieces = Message(
                "pod {pod} has {free} free IPUs, but the largest block has {largest}; in one piece "
                "they would fit a partition of {whole}",
                {"free": free[pod], "largest": max(sizes[pod]), "whole": whole, "pod": pod},
            )
            yield CheckWarning.of("fragmented", "caution", pieces, "requests")
    elif sum(free.values()) >= site.size and site.size not in free.values():
        message = Message(
            "{free} GPUs are free, but no node is empty: one more job can get at most {largest}",
            {"free": sum(free.values()), "largest": max(free.values())},
        )
        yield CheckWarning.of("fragmented", "caution", message, "requests")


def rules_of(
    request: PartitionRequest, site: Site, warnings: Iterable[CheckWarning], catalog: Catalog
) -> list[PlanRule]:
    plan_rules = [
        *(POD_RULES if site.ipus else ()),
        *([ISOLATED] * (request.orchestrator == pods.BACKEND_AI)),
    ]
    grounds = [
        (name, code)
        for code in dict.fromkeys(warning.code for warning in warnings)
        for name in GROUNDS.get(code, ())
        if name not in plan_rules
    ]
    return [
        PlanRule(
            id=name,
            code=code,
            statement=catalog.claim(name).statement,
            verdict=catalog.claim(name).verdict,
            source=source_ref(catalog.claim(name).source),
        )
        for name, code in [*((name, "") for name in plan_rules), *grounds]
    ]


def figures_of(site: Site, catalog: Catalog) -> Iterator[PlanFigure]:
    """Yield the figures of a system, each with its source and competing claims."""
    entry = site.entry
    parts = [("systems", entry.id, "machines"), ("machines", entry.machine.id, "devices")]
    for shelf, item, parameter in [
        *parts,
        *(("chips", entry.machine.chip.id, name) for name in CHIP_FIGURES),
    ]:
        figure = catalog.find(item, parameter)
        if figure is None and parameter == "machines":
            figure = known_figure(catalog, "system", item, parameter)
        if figure is None:
            continue
        yield PlanFigure(
            name=parameter,
            quantity=Quantity(value=figure.si, low=figure.si_low, high=figure.si_high, unit=figure.si_unit),
            source=source_ref(figure.source),
            url=f"/catalog/{shelf}/{item}#{parameter}",
            rejected=[
                OtherClaim(
                    value=other.value,
                    unit=other.unit.name,
                    source=source_ref(other.source),
                    reason=other.note,
                )
                for other in catalog.rejected(item, parameter)
                if other.value is not None and other.condition == figure.condition
            ],
        )
