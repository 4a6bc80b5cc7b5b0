"""Chips, machines, networks and software of the catalogue for the tests of the GPU engine."""

from functools import cache

from app.catalog.catalog import Catalog, load_catalog
from app.catalog.software import SoftwareCatalog, load_software
from app.engine.compiled import record
from app.engine.gpu.case import GpuCase
from app.engine.gpu.collectives import GradientCollectives, device_weights, gradient_collectives
from app.engine.gpu.plan_steps import memory_use, step_times
from app.engine.operators.table import OperatorTable
from app.engine.plans import MemoryUse, Plan, Plans, StepTime
from app.engine.records import GpuSoftware, GpuSystem, Precision
from app.profiles.presets import preset
from tests.conftest import DATA


@cache
def catalog() -> Catalog:
    return load_catalog(DATA)


@cache
def software_catalog() -> SoftwareCatalog:
    return load_software(DATA)


def software(name: str = "gpu-fused") -> GpuSoftware:
    return software_catalog().profile(name).gpu()


def dgx(fabric: str = "hdr-infiniband", ports: int = 8) -> GpuSystem:
    """Return DGX A100 machines with 80 GB GPUs."""
    return GpuSystem(
        chip=catalog().gpu_chip("a100-sxm-80gb"),
        kernels=software_catalog().kernels,
        machine=catalog().machine("dgx-a100-640gb"),
        fabric=catalog().fabric(fabric, ports),
        host_devices=8.0,
        host_memory=catalog().host_memory("dgx-a100-640gb") / 8,
        host_bandwidth=catalog().figure("pcie4-x16", "best_bus_bandwidth").si,
        host_memory_bandwidth=catalog().host_memory_bandwidth("dgx-a100-640gb") / 8,
    )


def table(name: str, seq_len: int | None = None) -> OperatorTable:
    profile = preset(name)
    return profile.operators(None if seq_len is None else profile.tokens(seq_len))


def gpu_case(model: OperatorTable, stack: GpuSoftware, system: GpuSystem) -> GpuCase:
    return GpuCase.of(model, system, stack, Precision.BF16, "adam")


def gpu_step(
    model: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    stack: GpuSoftware,
    precision: Precision,
    optimizer: str,
) -> StepTime:
    return step_times(GpuCase.of(model, system, stack, precision, optimizer), plans)


def gpu_memory(
    model: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    stack: GpuSoftware,
    precision: Precision,
    optimizer: str,
) -> MemoryUse:
    return memory_use(GpuCase.of(model, system, stack, precision, optimizer), plans)


def plan_of(**values: float) -> Plan:
    return record(Plan, Plans.of(**values).rows, 0)


def collectives(
    model: OperatorTable, stack: GpuSoftware, system: GpuSystem, **plan: float
) -> GradientCollectives:
    """Return what the copies of a device's weights exchange under one plan."""
    found = gpu_case(model, stack, system)
    case, one = found.case, plan_of(**plan)
    return gradient_collectives(case, one, device_weights(case, one), found.stack.network)
