from collections.abc import Iterator
from typing import Any

from app.estimating.deciding import decide
from app.estimating.scenario import Scenario
from app.estimating.workload import resolve_model
from tests.conftest import asked, sizing_context


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from numbers(part, f"{path}.{name}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from numbers(part, f"{path}[{place}]")


def quantities(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        if value.keys() == {"value", "low", "high", "unit"}:
            yield path, value
        for name, part in value.items():
            yield from quantities(part, f"{path}.{name}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from quantities(part, f"{path}[{place}]")


def scenario_of(model: str, system: str = "dgx-a100-640gb", count: int = 2, seq_len: int = 512) -> Scenario:
    context = sizing_context()
    request = asked(
        model={"preset": model},
        workload={"seq_len": None if model == "resnet50" else seq_len, "global_batch": 256},
    )
    hardware = context.hardware.system(system, count)
    return decide(request, resolve_model(request.model, context), hardware, context).scenario
