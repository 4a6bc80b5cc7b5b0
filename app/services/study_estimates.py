"""Estimates of a study's options, those that are kept from memory, errors at the options or their knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from app.errors import AppError, FieldError
from app.services.estimates import make_estimate
from app.services.workbench import Workbench
from app.sizing.document import Estimate
from app.sizing.questions import PublishedFigure
from app.sizing.request import EstimateRequest
from app.sizing.study.answering import Made, OptionRefusal
from app.sizing.study.knobs import field_of_knobs
from app.sizing.study.merging import check, request_of
from app.sizing.study.request import StudyContent

Requests = dict[str, EstimateRequest | PublishedFigure]


def estimates_of(
    bench: Workbench,
    workspace_id: str,
    content: StudyContent,
    knobs: Mapping[str, str],
    *,
    strict: bool = True,
) -> tuple[Requests, Made]:
    """Return what each option asks and what came of it, estimates that are kept from memory."""
    with _at_knobs(content, knobs):
        check(content, bench.sizing.catalog)
    requests: Requests = {}
    made: dict[str, Estimate | OptionRefusal | None] = {}
    for place, option in enumerate(content.options):
        asked = requests[option.key] = request_of(content, option)
        if isinstance(asked, PublishedFigure):
            made[option.key] = None
            continue
        try:
            with _at_knobs(content, knobs, f"options.{place}."):
                made[option.key] = _estimate(bench, workspace_id, asked)
        except AppError as error:
            if strict:
                raise
            made[option.key] = OptionRefusal(error)
    return requests, made


def _estimate(bench: Workbench, workspace_id: str, request: EstimateRequest) -> Estimate:
    def make() -> Estimate:
        # Nothing is stored, so there is no identifier to give.
        return make_estimate(bench, workspace_id, request).model_copy(update={"id": ""})

    return bench.estimates.get(workspace_id, request, make)


@contextmanager
def _at_knobs(content: StudyContent, knobs: Mapping[str, str], prefix: str = "") -> Iterator[None]:
    """Name the option in the fields of what is wrong with it, or the knobs, where any were turned."""
    try:
        yield
    except AppError as error:
        found = [(f"{prefix}{one.field}", one.message) for one in error.errors]
        if knobs:
            found = [(field_of_knobs(field, content, knobs), message) for field, message in found]
        error.errors = tuple(FieldError(field, message) for field, message in found)
        raise
