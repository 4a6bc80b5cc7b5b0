"""Arithmetic before anything is estimated: IPU mappings, checks of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator

from app.catalog.catalog import Catalog
from app.catalog.entries import ChipKind, SystemEntry
from app.engine.ipu import phases
from app.engine.records import IpuSoftware
from app.errors import BadInput, Conflict, Message
from app.estimating.documents import CheckWarning
from app.estimating.hardware import known_id
from app.estimating.plan_search import memory_of
from app.features.plans.model import (
    Checks,
    ChecksRequest,
    MappingRequest,
    ModelMapping,
    Search,
    SearchRequest,
)
from app.features.plans.searching import timed_search
from app.platform.workspace import Workspace
from app.telemetry import SEARCHES


def check_plan(request: ChecksRequest) -> Checks:
    return Checks(warnings=list(_plan_warnings(request)), suggested_devices=suggested_devices(request))


def suggested_devices(request: ChecksRequest) -> int | None:
    """Return the most devices, not above those given, over which the batch divides.

    Each data-parallel copy takes tensor × pipeline devices and a whole number of micro-batches.
    """
    copy = request.tensor * request.pipeline
    micro_batches, rest = divmod(request.global_batch, request.micro_batch)
    if rest:
        return None
    copies = next(
        (count for count in range(request.devices // copy, 0, -1) if micro_batches % count == 0), None
    )
    return None if copies is None else copies * copy


def _plan_warnings(request: ChecksRequest) -> Iterator[CheckWarning]:
    copy = request.tensor * request.pipeline
    copies, idle = divmod(request.devices, copy)
    if idle:
        message = Message(
            "a copy of the model takes {tensor} × {pipeline} = {copy} devices, which does not "
            "divide {devices}; {idle} would stay idle",
            {
                "tensor": request.tensor,
                "pipeline": request.pipeline,
                "copy": copy,
                "devices": request.devices,
                "idle": idle,
            },
        )
        yield CheckWarning.of("devices_not_divisible", "serious", message, "devices", "tensor", "pipeline")
    if not copies or request.global_batch % (copies * request.micro_batch):
        suggested = suggested_devices(request)
        advice: Message | str = ""
        if suggested is not None:
            advice = Message("; {suggested} devices would divide evenly", {"suggested": suggested})
        message = Message(
            "{global_batch} samples do not divide evenly over {copies} copies in micro-batches of "
            "{micro_batch} ({each} each){advice}",
            {
                "global_batch": request.global_batch,
                "copies": copies,
                "micro_batch": request.micro_batch,
                "each": request.global_batch / copies if copies else 0,
                "advice": advice,
            },
        )
        yield CheckWarning.of("batch_not_divisible", "serious", message, "global_batch", "devices")
    if request.devices_per_node is not None and request.tensor > request.devices_per_node:
        message = Message(
            "tensor parallelism over {tensor} devices extends beyond the {node}-device node: "
            "layers wait for the network",
            {"tensor": request.tensor, "node": request.devices_per_node},
        )
        yield CheckWarning.of("tensor_across_nodes", "caution", message, "tensor", "devices_per_node")
    if request.layers is not None:
        yield from stages_uneven(request.layers, request.pipeline)
    if request.heads is not None and request.heads % request.tensor:
        message = Message(
            "{heads} attention heads do not divide evenly by a tensor parallelism of {tensor}",
            {"heads": request.heads, "tensor": request.tensor},
        )
        yield CheckWarning.of("heads_not_divisible", "serious", message, "heads", "tensor")


def stages_uneven(layers: int, pipeline: int) -> Iterator[CheckWarning]:
    """Yield a warning if layers do not divide over the stages: all wait for the longest."""
    if layers % pipeline:
        message = Message(
            "{layers} layers do not divide evenly over {pipeline} stages; the longest has {longest}",
            {"layers": layers, "pipeline": pipeline, "longest": math.ceil(layers / pipeline)},
        )
        yield CheckWarning.of("stages_uneven", "info", message, "layers", "pipeline")


NOMINAL_MEMORY = "sram_nominal"
"""Parameter of a chip: its memory as the data sheet rounds it."""


def map_model(request: MappingRequest, catalog: Catalog, software: IpuSoftware) -> ModelMapping:
    system = catalog.system(known_id(catalog, "system", request.system, "system"))
    check_mapping(request, system)
    tensor, pipeline, sharding = request.tensor, request.pipeline, request.replicated_tensor_sharding
    weights = float(phases.weights_per_device(request.parameters, tensor, pipeline))
    nominal = catalog.figure(system.machine.chip.id, NOMINAL_MEMORY).si
    planned = float(
        phases.planned_phases(
            request.parameters,
            request.layers,
            tensor,
            pipeline,
            sharding,
            catalog.ipu_chip(system.machine.chip.id),
            software,
        )
    )
    minimum = int(phases.minimum_phases(request.parameters, tensor, pipeline, nominal))
    return ModelMapping(
        system=system.id,
        devices=tensor * pipeline * request.replicas,
        devices_available=request.count * system.devices,
        devices_per_replica=tensor * pipeline,
        global_batch=request.replica_batch * request.replicas,
        weight_fraction=float(phases.weight_fraction(tensor, pipeline)),
        resident_weight_fraction=float(phases.resident_weight_fraction(tensor, pipeline, sharding)),
        layers_per_stage=float(phases.layers_per_stage(request.layers, pipeline)),
        weights_per_device=weights,
        memory_per_device=nominal,
        memory_of_chip=memory_of(catalog.ipu_chip(system.machine.chip.id)),
        needs_phased_execution=weights > nominal,
        minimum_phases=minimum,
        planned_phases=int(planned) if math.isfinite(planned) else None,
        warnings=mapping_warnings(request, minimum, planned),
    )


def check_mapping(request: MappingRequest, system: SystemEntry) -> None:
    """Refuse a mapping that the system, the model or arithmetic rules out."""
    if system.machine.chip.kind is not ChipKind.IPU:
        raise BadInput.at(
            "system", "{system} has no IPUs; this calculation is for IPUs only", system=system.name
        )
    needed, available = request.tensor * request.pipeline * request.replicas, request.count * system.devices
    if needed > available:
        raise Conflict.at(
            "replicas",
            "{tensor} × {pipeline} × {replicas} needs {needed} IPUs; {system} has {available}",
            tensor=request.tensor,
            pipeline=request.pipeline,
            replicas=request.replicas,
            needed=needed,
            system=system.name if request.count == 1 else f"{request.count} × {system.name}",
            available=available,
        )
    if request.pipeline > request.layers:
        raise BadInput.at(
            "pipeline",
            "{pipeline} stages for {layers} layers: a stage needs at least one layer",
            pipeline=request.pipeline,
            layers=request.layers,
        )
    if request.replicas % request.replicated_tensor_sharding:
        raise BadInput.at(
            "replicated_tensor_sharding",
            "sharding {sharding} must divide the {replicas} replicas evenly",
            sharding=request.replicated_tensor_sharding,
            replicas=request.replicas,
        )


def mapping_warnings(request: MappingRequest, minimum: int, planned: float) -> list[CheckWarning]:
    warnings = list(stages_uneven(request.layers, request.pipeline))
    if planned > minimum:
        message = Message(
            "phases: {minimum} for the weights alone, {planned} for training, because "
            "gradients, optimizer state, temporaries and program share the same memory; "
            "activations are not counted",
            {"minimum": minimum, "planned": planned if math.isfinite(planned) else Message("more than fit")},
        )
        warnings.append(
            CheckWarning.of("phases_lower_bound", "caution", message, "replicated_tensor_sharding")
        )
    return warnings


def run_search(workspace: Workspace, request: SearchRequest) -> Search:
    answer = timed_search(request, workspace.context())
    SEARCHES.labels("plans").inc()
    return answer


def cached_search(workspace: Workspace, request: SearchRequest) -> Search:
    """Return the best plans of a model on a system, cached by request."""
    return workspace.cached(workspace.installation.searches, request, lambda: run_search(workspace, request))


IPU_SOFTWARE = "ipu-base"
"""Base profile of every IPU stack; SDK and framework do not change the memory of a mapping."""


def map_onto_ipus(workspace: Workspace, request: MappingRequest) -> ModelMapping:
    software = workspace.sizing.software.profile(IPU_SOFTWARE).ipu()
    return map_model(request, workspace.sizing.catalog, software)
