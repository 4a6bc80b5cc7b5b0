"""States of studies, versions with knobs applied: stored, answered, compared or copied."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from app.errors import AppError, FieldError, Message, NotFound
from app.estimating.decision import Decision
from app.features.studies.answering import State, assumption_rows, study_answer
from app.features.studies.knobs import StudyVariant, apply_knobs
from app.features.studies.model import (
    DuplicateRequest,
    KnobValue,
    Study,
    StudyAnswer,
    StudyAssumptions,
    StudyContent,
    StudyPatch,
    tree_of,
)
from app.features.studies.service import (
    NAME_LENGTH,
    change_study,
    estimates_of,
    existing,
    first_version,
    get_study,
    save_study,
)
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.json_bodies import checked
from app.platform.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StoredState:
    """Differences from a version of a study: knobs, and fields of its views."""

    version: int | None = None
    knobs: Mapping[str, KnobValue] = field(default_factory=dict)
    views: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def store_state(workspace: Workspace, identifier: str, state: StoredState) -> str:
    """Store a state under a short hash of its content; return the hash."""
    document = asdict(state)
    content = json.dumps(document, sort_keys=True, ensure_ascii=False).encode()
    token = base64.b32encode(hashlib.sha256(content).digest())[:10].decode().lower()
    with workspace.transaction() as repository:
        existing(repository, identifier)
        repository.studies.keep_state(identifier, token, document)
    return token


def stored_state(workspace: Workspace, identifier: str, token: str) -> StoredState:
    with workspace.transaction() as repository:
        existing(repository, identifier)
        row = repository.studies.state(identifier, token)
    if row is None:
        message = Message("this study has no such state; open the study without it")
        raise NotFound(message, [FieldError("state", message)])
    return StoredState(**row.document)


def save_state(
    workspace: Workspace, state: State, heading: Mapping[str, Any], expected: int | None = None
) -> Study:
    """Save a study in a state and with a new heading, unless somebody has changed it since."""
    body = {**heading, "knobs": dict(state.variant.knobs)}
    if state.views:
        body["views"] = state.content.views
    identifier, version = state.study.id, state.study.version
    change_study(workspace, identifier, checked(StudyPatch, body), expected, version)
    return save_study(workspace, identifier)


def state_of(
    workspace: Workspace,
    identifier: str,
    knobs: Mapping[str, KnobValue],
    version: int | None = None,
    views: Mapping[str, Mapping[str, str]] | None = None,
) -> State:
    study = get_study(workspace, identifier, version)
    variant = apply_knobs(study.content, knobs)
    if views:
        content: dict[str, Any] = {"views": {**study.content.views, **views}}
        variant = StudyVariant(variant.content.model_copy(update=content), variant.knobs)
    return State(study, variant, views or {})


def answer_state(
    workspace: Workspace, state: State, pair: Sequence[str] | None = None, *, strict: bool = True
) -> StudyAnswer:
    """Answer a state; unless ``strict``, an option that cannot be estimated gets the reason instead."""

    def make() -> StudyAnswer:
        requests, outcomes = estimates_of(workspace, state.content, state.variant.knobs, strict=strict)
        return study_answer(state, requests, outcomes, workspace.context(), pair)

    asked = state.content.model_dump_json(exclude_unset=True)
    if not strict or "price_book_id" in asked:
        # Books change, and so does what stands in the way of an estimate.
        return make()
    study = state.study.model_dump_json(exclude_unset=True)
    key = workspace.id, workspace.own_state, study, asked, *state.variant.knobs.items(), *(pair or ())
    answer: StudyAnswer = workspace.installation.answers.get(key, make)
    return answer


def decision_before(workspace: Workspace, state: State) -> Decision:
    """Return the decision of the version whose knobs were turned."""
    before = State(state.study, apply_knobs(state.study.content, {}))
    try:
        return answer_state(workspace, before).decision
    except AppError:
        return answer_state(workspace, before, strict=False).decision


def assumptions_of(workspace: Workspace, state: State) -> StudyAssumptions:
    content = state.content
    requests, outcomes = estimates_of(workspace, content, state.variant.knobs, strict=False)
    options = study_answer(state, requests, outcomes, workspace.context()).options
    estimates = [option.estimate for option in options if option.estimate is not None]
    texts = {text.message: text for estimate in estimates for text in estimate.model.assumptions}
    return StudyAssumptions(
        id=state.study.id,
        version=state.study.version,
        name=content.name,
        knobs=dict(state.variant.knobs),
        labels={option.key: option.label for option in options if option.estimate is not None},
        rows=assumption_rows(requests, options),
        model=list(texts.values()),
    )


def duplicate_study(
    workspace: Workspace, identifier: str, request: DuplicateRequest, key: str | None = None
) -> Study:
    def make() -> tuple[Study, Save]:
        state = state_of(workspace, identifier, request.knobs, request.version)
        name = request.name or f"{state.content.name[: NAME_LENGTH - 4]} (2)"
        content = StudyContent.model_validate({**tree_of(state.content), "name": name})
        estimates_of(workspace, content, state.variant.knobs)
        return first_version(content)

    call = IdempotentCall.of(f"studies/{identifier}/duplicate", key, request)
    return keep(workspace, call, Study, make)
