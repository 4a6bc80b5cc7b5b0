"""Checks of a plan by arithmetic alone: does the batch divide, do stages and shards come out even?"""

from __future__ import annotations

import math

from app.errors import Message
from app.sizing.document import CheckWarning
from app.sizing.questions import Checks, ChecksRequest


def check_plan(request: ChecksRequest) -> Checks:
    """Run every check of a plan."""
    found = (
        devices_not_divisible(request),
        batch_not_divisible(request),
        tensor_across_nodes(request),
        None if request.layers is None else stages_uneven(request.layers, request.pipeline),
        heads_not_divisible(request),
    )
    return Checks(
        warnings=[warning for warning in found if warning is not None],
        suggested_devices=suggested_devices(request),
    )


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


def devices_not_divisible(request: ChecksRequest) -> CheckWarning | None:
    """Devices that no copy of the model can use."""
    copy = request.tensor * request.pipeline
    if request.devices % copy == 0:
        return None
    message = Message(
        "a copy of the model takes {tensor} × {pipeline} = {copy} devices, which does not divide {devices}; "
        "{idle} would idle",
        {
            "tensor": request.tensor,
            "pipeline": request.pipeline,
            "copy": copy,
            "devices": request.devices,
            "idle": request.devices % copy,
        },
    )
    return CheckWarning.of("devices_not_divisible", "serious", message, "devices", "tensor", "pipeline")


def batch_not_divisible(request: ChecksRequest) -> CheckWarning | None:
    """Batches that leave some copies of the model with more work than others."""
    copies = request.devices // (request.tensor * request.pipeline)
    if copies and request.global_batch % (copies * request.micro_batch) == 0:
        return None
    suggested = suggested_devices(request)
    advice: Message | str = ""
    if suggested is not None:
        advice = Message("; {suggested} devices would", {"suggested": suggested})
    message = Message(
        "{global_batch} samples do not divide over {copies} copies in micro-batches of {micro_batch} "
        "({each} each){advice}",
        {
            "global_batch": request.global_batch,
            "copies": copies,
            "micro_batch": request.micro_batch,
            "each": request.global_batch / copies if copies else 0,
            "advice": advice,
        },
    )
    return CheckWarning.of("batch_not_divisible", "serious", message, "global_batch", "devices")


def tensor_across_nodes(request: ChecksRequest) -> CheckWarning | None:
    """Tensor parallelism over the network, whose traffic it multiplies."""
    if request.devices_per_node is None or request.tensor <= request.devices_per_node:
        return None
    message = Message(
        "tensor parallelism over {tensor} devices leaves the node of {node}: layers wait for the network",
        {"tensor": request.tensor, "node": request.devices_per_node},
    )
    return CheckWarning.of("tensor_across_nodes", "caution", message, "tensor", "devices_per_node")


def stages_uneven(layers: int, pipeline: int) -> CheckWarning | None:
    """Layers that do not divide over the stages: all wait for the longest."""
    if layers % pipeline == 0:
        return None
    message = Message(
        "{layers} layers do not divide over {pipeline} stages; the longest has {longest}",
        {"layers": layers, "pipeline": pipeline, "longest": math.ceil(layers / pipeline)},
    )
    return CheckWarning.of("stages_uneven", "info", message, "layers", "pipeline")


def heads_not_divisible(request: ChecksRequest) -> CheckWarning | None:
    """Attention heads that tensor parallelism cannot split evenly."""
    if request.heads is None or request.heads % request.tensor == 0:
        return None
    message = Message(
        "{heads} attention heads do not divide over tensor parallelism of {tensor}",
        {"heads": request.heads, "tensor": request.tensor},
    )
    return CheckWarning.of("heads_not_divisible", "serious", message, "heads", "tensor")
