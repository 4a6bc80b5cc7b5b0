"""IPU arithmetic: how many IPUs a mapping takes, what each holds, how many phases that needs."""

from __future__ import annotations

import math

from app.catalog import Catalog, ChipKind, SystemEntry
from app.engine import ipu
from app.engine.records import IpuSoftware
from app.errors import BadInput, Conflict, Message
from app.sizing.document import CheckWarning
from app.sizing.hardware import known_id
from app.sizing.plan_checks import stages_uneven
from app.sizing.planning import memory_of
from app.sizing.questions import Mapping, MappingRequest

NOMINAL_MEMORY = "sram_nominal"
"""Parameter of a chip: its memory as the data sheet rounds it."""


def map_model(request: MappingRequest, catalog: Catalog, software: IpuSoftware) -> Mapping:
    """Return what a mapping comes to on a system of the catalogue."""
    system = catalog.system(known_id(catalog, "system", request.system, "system"))
    check_mapping(request, system)
    tensor, pipeline, sharding = request.tensor, request.pipeline, request.replicated_tensor_sharding
    weights = float(ipu.weights_per_device(request.parameters, tensor, pipeline))
    nominal = catalog.figure(system.chip, NOMINAL_MEMORY).si
    planned = float(
        ipu.planned_phases(
            request.parameters,
            request.layers,
            tensor,
            pipeline,
            sharding,
            catalog.ipu_chip(system.chip),
            software,
        )
    )
    minimum = int(ipu.minimum_phases(request.parameters, tensor, pipeline, nominal))
    return Mapping(
        system=system.id,
        devices=tensor * pipeline * request.replicas,
        devices_available=system.devices,
        devices_per_replica=tensor * pipeline,
        global_batch=request.replica_batch * request.replicas,
        weight_fraction=float(ipu.weight_fraction(tensor, pipeline)),
        resident_weight_fraction=float(ipu.resident_weight_fraction(tensor, pipeline, sharding)),
        layers_per_stage=float(ipu.layers_per_stage(request.layers, pipeline)),
        weights_per_device=weights,
        memory_per_device=nominal,
        memory_of_chip=memory_of(catalog.ipu_chip(system.chip)),
        needs_phased_execution=weights > nominal,
        minimum_phases=minimum,
        planned_phases=int(planned) if math.isfinite(planned) else None,
        warnings=mapping_warnings(request, minimum, planned),
    )


def check_mapping(request: MappingRequest, system: SystemEntry) -> None:
    """Refuse a mapping that the system, the model or arithmetic rules out."""
    if system.chip_kind is not ChipKind.IPU:
        raise BadInput.at("system", "{system} has no IPUs; this arithmetic is theirs", system=system.name)
    needed = request.tensor * request.pipeline * request.replicas
    if needed > system.devices:
        raise Conflict.at(
            "replicas",
            "{tensor} × {pipeline} × {replicas} needs {needed} IPUs; {system} has {available}",
            tensor=request.tensor,
            pipeline=request.pipeline,
            replicas=request.replicas,
            needed=needed,
            system=system.name,
            available=system.devices,
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
            "{sharding} must divide the {replicas} replicas it spreads over",
            sharding=request.replicated_tensor_sharding,
            replicas=request.replicas,
        )


def mapping_warnings(request: MappingRequest, minimum: int, planned: float) -> list[CheckWarning]:
    """Return what to beware of in a mapping."""
    uneven = stages_uneven(request.layers, request.pipeline)
    found = [] if uneven is None else [uneven]
    if planned > minimum:
        message = Message(
            "phases: {minimum} for the weights alone, {planned} for training, whose gradients, optimizer "
            "state, temporaries and program share the same memory; activations are not counted",
            {"minimum": minimum, "planned": planned if math.isfinite(planned) else Message("more than fit")},
        )
        found.append(CheckWarning.of("phases_lower_bound", "caution", message, "replicated_tensor_sharding"))
    return found
