"""The records that this package's worked examples use; an estimate takes its own from data/.

References
----------
.. [1] Graphcore, "Bow-2000 IPU-Machine datasheet" (tiles, clock, links, memory).
.. [2] Efficiencies fitted on data/validation/measured.csv.
"""

from app.engine.compiled import record
from app.engine.ipu.case import IpuCase, figures_of, model_of
from app.engine.ipu.operator import IpuOperator
from app.engine.operators.layers import dense_layer
from app.engine.operators.table import Operator, OperatorTable
from app.engine.records import IpuChip, IpuSoftware, Precision

BOW = IpuChip(
    name="Bow IPU",
    tiles=1472,
    clock=1.85e9,
    products_per_cycle=64.0,
    sram_per_tile=638976.0,
    exchange_bytes_per_cycle=4.0,
    streaming_bandwidth=5e9,
    streaming_capacity=32e9,
    host_bandwidth=5.5e9,
    machine_devices=4.0,
    host_devices=16.0,
    link_bandwidth=32e9,
    allreduce_bandwidth=22e9,
    gateway_bandwidth=6.25e9,
    exchange_multiplier=1.51,
    amp_efficiency=0.7,
    operation_cycles=4900.0,
    elementwise_operation_cycles=1320.0,
    element_cycles=0.6,
    host_return=0.104,
    update_overhead=0.0023,
    code_share=0.22,
    pod_size=64,
)
"""A Bow IPU."""

POPART = IpuSoftware(
    sdk_factor=1.0,
    framework_factor=1.0,
    host_returns_per_update=1.0,
    evaluation_overhead=0.0,
    available_memory=0.2,
    io_tiles=0,
    input_time_per_sample=0.0,
    input_bytes=1.0,
)
"""PopART on the reference SDK."""


def table(operator: Operator) -> OperatorTable:
    return OperatorTable.of([operator], depth=1, hidden=1024, tokens=1)


def case() -> IpuCase:
    """Return the figures of a Bow IPU with PopART that trains one dense layer."""
    model = model_of(table(dense_layer("a", 1024, 1024)))
    return figures_of(model, BOW, POPART, Precision.FP16_16, "lamb")


def row(operator: Operator) -> IpuOperator:
    return record(IpuOperator, model_of(table(operator)).operators, 0)
