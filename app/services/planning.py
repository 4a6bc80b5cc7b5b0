"""Arithmetic before anything is estimated: IPU mappings, checks of a plan."""

from __future__ import annotations

from app.services.workbench import Workbench
from app.sizing.mapping import map_model
from app.sizing.plan_checks import check_plan
from app.sizing.questions import Checks, ChecksRequest, Mapping, MappingRequest

IPU_SOFTWARE = "ipu-base"
"""What every IPU stack starts from: no SDK or framework changes how much memory a mapping takes."""


def map_onto_ipus(bench: Workbench, request: MappingRequest) -> Mapping:
    """Return what a mapping comes to on an IPU system."""
    software = bench.sizing.software.profile(IPU_SOFTWARE).ipu()
    return map_model(request, bench.sizing.catalog, software)


def run_checks(request: ChecksRequest) -> Checks:
    """Run the checks of a plan."""
    return check_plan(request)
