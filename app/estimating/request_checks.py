"""All errors of a request: an estimate stops at the first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from app.engine.records import IpuChip
from app.errors import AppError
from app.estimating.capital import check_assumptions
from app.estimating.context import SizingContext
from app.estimating.hardware import known_id
from app.estimating.request import EstimateRequest
from app.estimating.workload import resolve_model, resolve_training

Result = TypeVar("Result")


def request_errors(parts: Mapping[str, Any], context: SizingContext) -> list[AppError]:
    """Return the errors of the well-formed parts of a request, by field of :class:`EstimateRequest`.

    A part may be missing.
    """
    errors: list[AppError] = []

    def attempt(make: Callable[[], Result]) -> Result | None:
        try:
            return make()
        except AppError as error:
            errors.append(error)
            return None

    model, workload, system = (parts.get(name) for name in ("model", "workload", "system"))
    assumptions, software = parts.get("assumptions"), parts.get("software")
    profile = attempt(lambda: resolve_model(model, context)) if model is not None else None
    hardware = None
    if assumptions is not None:
        attempt(lambda: check_assumptions(assumptions))
        attempt(lambda: context.at_prices(assumptions))
    if system is not None:
        hardware = attempt(lambda: context.hardware.asked(system))
    if software is not None:
        attempt(lambda: context.software_profile(software))
    if workload is None:
        return errors
    if profile is not None and hardware is not None and profile.total_flop is None:
        request = EstimateRequest(model=model, workload=workload, system=system)
        chip = hardware.engine if isinstance(hardware.engine, IpuChip) else hardware.engine.chip
        attempt(lambda: resolve_training(request, profile, chip, context))
    elif workload.target is not None:
        attempt(lambda: known_id(context.catalog, "target", workload.target, "workload.target"))
    return errors
