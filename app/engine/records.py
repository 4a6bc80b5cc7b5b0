"""The inputs of the formulas: chip, machine, fabric, software stack and workload.

One frozen record each, in SI units. Every number in a chip, machine, fabric or software record is
a figure of data/ (the catalogue builds the records); nothing here carries a default of its own.
Fields of :class:`GpuSoftware` and :class:`IpuSoftware` may be arrays of samples: every formula
broadcasts, so the single estimate, the plan search and the uncertainty samples are one code path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.engine.compiled import Matrix

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
FloatLike: TypeAlias = float | Floats


class Precision(StrEnum):
    """Number format of the matrix arithmetic."""

    BF16 = "bf16"
    FP16 = "fp16"
    TF32 = "tf32"
    FP32 = "fp32"
    FP16_16 = "fp16.16"
    FP8 = "fp8"
    MXFP8 = "mxfp8"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    INT8 = "int8"


class Intra(StrEnum):
    """How the accelerators of one machine reach each other."""

    NVSWITCH = "nvswitch"
    NVLINK = "nvlink"
    PCIE = "pcie"
    MESH = "mesh"
    """Every pair has links of its own: Infinity Fabric, Ethernet on the chip."""
    TORUS = "torus"
    """Links to neighbours alone, in rings along two or three axes."""
    IPU_LINK = "ipu-link"


@dataclass(frozen=True, slots=True)
class GpuChip:
    """A GPU with matrix units and off-chip memory."""

    name: str
    matrix_peak: Mapping[Precision, float]
    """Dense matrix rate by precision. [FLOP/s]"""
    sustained_clock: float
    """Share of the peak clock held under a matrix load (power limit). [-]"""
    narrow_clock: float
    """The same of products in 8 or 4 bit. [-]"""
    older_kernels_share: float
    """Share of the matrix rate that kernels written for an earlier generation can reach. [-]"""
    multiprocessors: int
    memory_bandwidth: float
    """[B/s]"""
    achieved_bandwidth: float
    """Share of the bandwidth that streaming kernels reach. [-]"""
    memory_capacity: float
    """[B]"""
    kernel_overhead: float
    """Launch and drain of one kernel. [s]"""
    matrix_units: bool
    """False where the half-precision rate is that of the vector units (P100)."""


class IpuChip(NamedTuple):
    """An IPU: tiles with their own SRAM, run in bulk-synchronous supersteps."""

    name: str
    tiles: int
    clock: float
    """[1/s]"""
    products_per_cycle: float
    """Fused multiply-adds per tile and cycle in fp16.16; fp32 runs at a quarter. [-]"""
    sram_per_tile: float
    """[B]"""
    exchange_bytes_per_cycle: float
    """On-chip exchange per tile and cycle. [B]"""
    streaming_bandwidth: float
    """Share of one IPU of its machine's streaming memory bandwidth, as achieved. [B/s]"""
    streaming_capacity: float
    """Share of one IPU of its machine's streaming memory. [B]"""
    host_bandwidth: float
    """Of one machine from its host, as achieved. [B/s]"""
    machine_devices: float
    """IPUs of one machine, which share that. [-]"""
    host_devices: float
    """IPUs whose samples one host prepares. [-]"""
    link_bandwidth: float
    """IPU-Links of one IPU towards the next pipeline stage, one direction. [B/s]"""
    allreduce_bandwidth: float
    """All-reduce over IPU-Links, per IPU, as achieved. [B/s]"""
    gateway_bandwidth: float
    """GW-Link between racks, per IPU, one direction. [B/s]"""
    exchange_multiplier: float
    """Exchanged bytes over the structural minimum. [-]"""
    amp_efficiency: float
    """Matrix unit cycles: ideal over spent. [-]"""
    operation_cycles: float
    """Synchronisation and control of one matrix operation. [cycles]"""
    elementwise_operation_cycles: float
    """The same for one elementwise operation. [cycles]"""
    element_cycles: float
    """One pass over one element on one tile. [cycles]"""
    host_return: float
    """One return to the host program. [s]"""
    update_overhead: float
    """Fixed part of one weight update. [s]"""
    code_share: float
    """Share of SRAM that code and vertex state take. [-]"""
    pod_size: int
    """IPUs joined by IPU-Links alone; beyond it all-reduce crosses GW-Links. [-]"""


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its accelerators and the links between them."""

    name: str
    devices: int
    """Accelerators that its fast links join, those of other machines included where links reach further."""
    intra: Intra
    allreduce_bytes: Floats
    """Message sizes of the measured all-reduce sweep over all devices, rising. [B]"""
    allreduce_seconds: Floats
    """Time of each, rising. [s]"""
    bus_bandwidth: float
    """Bus bandwidth of an all-reduce inside the node at large messages. [B/s]"""
    latency: float
    """Start-up of a collective inside the node. [s]"""
    torus_axes: int = 0
    """Axes of a torus; 0 where links are of another kind. [-]"""
    hop_latency: float = 0.0
    """From one accelerator of a torus to the next. [s]"""


@dataclass(frozen=True, slots=True)
class ScaleOutFabric:
    """The scale-out network as one node sees it. Fields may be arrays of samples or of several networks."""

    name: str
    port_bandwidth: FloatLike
    """One port, one direction, as achieved by collectives. [B/s]"""
    ports_per_node: FloatLike
    hop_latency: FloatLike
    """One inter-node step of a ring. [s]"""
    tree_latency: FloatLike
    """One inter-node level of a tree. [s]"""
    message_latency: FloatLike
    """One point-to-point message or the start of one collective. [s]"""
    oversubscription: FloatLike
    """Downlinks over uplinks; 1 is non-blocking. [-]"""
    tree_share: float
    """Bandwidth of a double binary tree over that of a ring. [-]"""
    in_network_reduction: bool = False
    """Whether the switches sum what an all-reduce sends."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the samples or networks it stands for; empty for a single one."""
        latencies = (self.hop_latency, self.tree_latency, self.message_latency)
        rates = (self.port_bandwidth, self.ports_per_node, self.oversubscription)
        return np.broadcast_shapes(*(np.shape(figure) for figure in (*rates, *latencies)))


class GpuSoftware(NamedTuple):
    """Efficiencies and overheads of a GPU software stack. Fields may be arrays of samples."""

    matrix_efficiency: float
    """Share of the tile-quantised matrix rate that long kernels reach. [-]"""
    attention_efficiency: float
    """Share of the matrix peak that fused attention reaches. [-]"""
    elementwise_factor: float
    """Memory traffic over that of well-fused kernels. [-]"""
    overlap: float
    """Share of data-parallel communication that may hide under computation. [-]"""
    layer_overlap: float
    """Share of the communication inside layers, of tensor ranks and experts, that may hide. [-]"""
    step_overhead: float
    """Fixed time of one step. [s]"""
    dispatch_interval: float
    """Time the host takes from one kernel launch to the next; 0 with recorded graphs. [s]"""
    micro_batch_overhead: float
    """Fixed time of one micro-batch of a pipeline. [s]"""
    expert_overhead: float
    """Fixed time of one layer of experts and micro-batch, in which the host waits for the counts of tokens
    that each expert was sent, and launches their products one by one. [s]"""
    multi_device_overhead: float
    """Extra fixed time of one step on more than one device. [s]"""
    network_efficiency: float
    """Share of the fabric's bandwidth that the stack reaches. [-]"""
    evaluation_overhead: float
    """Fixed time of one evaluation during training. [s]"""
    broadcast_latency: float
    """Extra time per rank of a sharded optimizer's per-rank parameter broadcast. [s]"""
    fused_attention: float
    native_attention: float
    """1 where the fused kernels use the matrix instructions of the chip's own generation."""
    kernels_per_layer: float
    """Forward and backward of one transformer layer. [-]"""
    kernels_per_convolution: float
    """Forward and backward of one convolution with its norm and activation. [-]"""
    optimizer_kernels: float
    """Kernels of one update per parameter tensor; 0 where few kernels take all tensors. [-]"""
    optimizer_bytes: float
    """Memory traffic of the optimizer per parameter where the stack departs from the usual, else 0. [B]"""
    row_exchange: float
    """Share of the looked-up rows that come from another device; the rest is copied on all. [-]"""
    balanced_head: float
    """1 where the logits are spread over the pipeline stages."""
    blocking_pipeline: float
    """1 where sends between stages block both ways."""
    scattered_pipeline: float
    """1 where tensor ranks each send their share between stages."""
    gradient_bytes: float
    """Bytes of one gradient element in the data-parallel reduction. [B]"""
    kept_gradient_bytes: float
    """Bytes of one gradient element as it is kept between micro-batches. [B]"""
    flat_copy_bytes: float
    """Bytes per weight of the one array that gradients are sharded by, beside the weights themselves. [B]"""
    logit_bytes: float
    """Bytes that the loss keeps of one logit, all its copies together. [B]"""
    adapter_input_bytes: float
    """Bytes of the copy that each adapter keeps of its input; 0 where it reads that of the product. [B]"""
    activation_input_bytes: float
    """Bytes of the kept input of a gated activation function; 0 where it is kept as it comes. [B]"""
    fused_norms: float
    """1 where a norm and the activation function after it are one kernel, which keeps one input."""
    narrow_weights: float
    """1 where trained weights lie in the format of products in 8 or 4 bit, beside their master copy."""
    allocator_reserve: float
    """Memory that the allocator reserves over what is live. [-]"""
    layout_passes: float
    """Memory passes that bring a convolution's input and output from the framework's layout into that of the
    matrix units and back, in half precision; 0 where the framework keeps channels last. [-]"""
    layout_passes_tf32: float
    """The same in tf32. [-]"""
    host_time_per_sample: float
    """Host time of one process per sample, beside its device. [s]"""
    input_time_per_sample: float
    """Time in which the processors of one machine prepare a sample for any of its devices. [s]"""


class IpuSoftware(NamedTuple):
    """Efficiencies and overheads of an IPU software stack. Fields may be arrays of samples."""

    sdk_factor: float
    """Slot time over that of the reference SDK. [-]"""
    framework_factor: float
    """Slot time over that of the reference framework. [-]"""
    host_returns_per_update: float
    """Returns to the host program per weight update. [-]"""
    evaluation_overhead: float
    """Fixed time of one evaluation that the machine waits for, beside its forward passes. [s]"""
    available_memory: float
    """Cap on a matrix operation's temporaries (availableMemoryProportion). [-]"""
    io_tiles: int
    """Tiles set aside for overlapped input and output. [-]"""
    input_time_per_sample: float
    """Time in which the processors of one host prepare a sample for any of its devices. [s]"""
    input_bytes: float
    """One element of the input on its way from the host. [B]"""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Lengths of the samples as the kernels see them.

    ``rows`` is the padded length, ``mean`` the tokens a sample costs in dense layers (all of
    ``rows`` when padded), ``squared`` the mean square that attention costs, ``scored`` the tokens
    the output layer scores.
    """

    rows: float
    mean: float
    squared: float
    scored: float


TILE_ROWS, TILE_COLUMNS, TILE_EFFICIENCY = range(3)
"""Rows of the output tiles that a product may be cut into: their sides, and their rate over that of the
largest."""


class GpuKernels(NamedTuple):
    """What the kernel libraries of a GPU cost beyond the roofline, shared by all software."""

    tiles: Matrix
    """Rows :data:`TILE_ROWS`, :data:`TILE_COLUMNS` and :data:`TILE_EFFICIENCY`, (3, T). [-]"""
    tile_prologue: float
    """Inner positions of start and end that each tile costs beside its own. [-]"""
    split_bandwidth: float
    """Rate at which the partial sums of a split inner dimension are added. [B/s]"""
    misaligned_8: float
    """Slow-down where columns or inner positions are no multiple of 8. [-]"""
    batched_efficiency: float
    """Rate of the batched products of unfused attention over that of single products. [-]"""
    batched_misaligned_8: float
    """Slow-down of the same where the head dimension is no multiple of 8. [-]"""
    fused_head_penalty: float
    """Slow-down of fused attention where the head dimension is neither 64 nor 128. [-]"""
    depthwise_traffic: float
    """Traffic of a depthwise convolution over its input and output. [-]"""
    depthwise_area: float
    """Kernel area at which a depthwise convolution costs twice its traffic. [-]"""
    grouped_factor: float
    """Time of a grouped convolution over that of its padded products. [-]"""
    grouped_traffic: float
    """Traffic of a grouped convolution over its input, output and weights. [-]"""
    overlap_window: float
    """Share of a micro-batch's time under which gradients can travel. [-]"""
    bucket_bytes: float
    """Size of one gradient bucket. [B]"""
    most_buckets: float
    """Buckets at most. [-]"""
    recompute_kernels: float
    """Launches that full recomputation adds to one transformer layer. [-]"""
    cross_entropy_bytes: float
    """Traffic of the loss per logit, forward and backward. [B]"""
    cross_entropy_ceiling: float
    """Largest elementwise factor that applies to the loss. [-]"""
    sequence_parallel_volume: float
    """Volume of tensor-parallel collectives with sequence parallelism over that without. [-]"""
    framework_memory: float
    """Memory of the driver, the libraries and their buffers on one device. [B]"""
    memory_margin: float
    """Share of the memory left free where nothing else is asked. [-]"""
    dequantise_factor: float
    """Time to turn weights from 4 bit over that of reading and writing them. [-]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSystem:
    """The hardware of a step: chip, kernel libraries, machine and fabric."""

    chip: GpuChip
    kernels: GpuKernels
    machine: Node
    fabric: ScaleOutFabric
    """As all devices of the machine's fast links see it."""
    host_devices: float
    """Devices that one host feeds. [-]"""
    host_memory: float
    """Share of one device of its host's memory; 0 where it is not known. [B]"""
    host_bandwidth: float
    """Between one device and that memory, one direction, as achieved. [B/s]"""
    host_memory_bandwidth: float
    """Share of one device of the bandwidth of that memory; infinite where it is not known. [B/s]"""
