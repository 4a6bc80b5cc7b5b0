"""States of studies: a version with its knobs turned, answered, compared or copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.features.comparisons.model import Comparison, ComparisonRequest
from app.features.comparisons.service import keep_comparison
from app.features.studies.answering import State, answered, assumption_rows, rows_of
from app.features.studies.knobs import turn
from app.features.studies.model import (
    ComparisonOfState,
    DuplicateRequest,
    KnobValue,
    Study,
    StudyAnswer,
    StudyAssumptions,
    StudyContent,
    tree_of,
)
from app.features.studies.service import NAME_LENGTH, estimates_of, first_version, get_study
from app.platform.idempotency import IdempotentCall, Save, earlier_answer, keep
from app.platform.workbench import Workbench


def state_of(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    knobs: Mapping[str, KnobValue],
    version: int | None = None,
) -> State:
    study = get_study(bench, workspace_id, identifier, version)
    return State(study, turn(study.content, knobs))


def answer_state(
    bench: Workbench,
    workspace_id: str,
    state: State,
    pair: Sequence[str] | None = None,
    *,
    strict: bool = True,
) -> StudyAnswer:
    """Answer a state; nothing is stored.

    Where it need not be strict, an option that cannot be estimated is answered with the reason, as a study
    may name what has gone since.
    """
    requests, made = estimates_of(bench, workspace_id, state.content, state.turned.knobs, strict=strict)
    return answered(state, requests, made, bench.context(workspace_id), pair)


def assumptions_of(bench: Workbench, workspace_id: str, state: State) -> StudyAssumptions:
    content = state.content
    requests, made = estimates_of(bench, workspace_id, content, state.turned.knobs, strict=False)
    options = answered(state, requests, made, bench.context(workspace_id)).options
    estimates = [option.estimate for option in options if option.estimate is not None]
    said = {text.message: text for one in estimates for text in one.model.assumptions}
    return StudyAssumptions(
        id=state.study.id,
        version=state.study.version,
        name=content.name,
        knobs=dict(state.turned.knobs),
        labels={option.key: option.label for option in options if option.estimate is not None},
        rows=assumption_rows(requests, options),
        model=list(said.values()),
    )


def comparison_of_state(
    bench: Workbench, workspace_id: str, identifier: str, request: ComparisonOfState, key: str | None = None
) -> Comparison:
    # What was asked counts, not what the study says by now: a repeated request gets the same answer.
    once = IdempotentCall.of(f"studies/{identifier}/comparison", key, request)
    earlier = earlier_answer(bench, workspace_id, once, Comparison)
    if earlier is not None:
        return earlier
    state = state_of(bench, workspace_id, identifier, request.knobs, request.version)
    content = state.content
    requests, _ = estimates_of(bench, workspace_id, content, state.turned.knobs)
    asked = ComparisonRequest(
        title=request.title or content.name,
        locale=request.locale,
        currency=content.base.currency,
        rows=rows_of(content, requests, bench.sizing.catalog),
    )
    return keep_comparison(bench, workspace_id, asked, once)


def duplicate_study(
    bench: Workbench, workspace_id: str, identifier: str, request: DuplicateRequest, key: str | None = None
) -> Study:
    def make() -> tuple[Study, Save]:
        found = state_of(bench, workspace_id, identifier, request.knobs, request.version)
        name = request.name or f"{found.content.name[: NAME_LENGTH - 4]} (2)"
        content = StudyContent.model_validate({**tree_of(found.content), "name": name})
        estimates_of(bench, workspace_id, content, found.turned.knobs)
        return first_version(content)

    return keep(
        bench, workspace_id, IdempotentCall.of(f"studies/{identifier}/duplicate", key, request), Study, make
    )
