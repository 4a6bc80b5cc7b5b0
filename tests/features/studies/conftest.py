from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from app.estimating.estimate import estimate
from app.features.studies.answering import Outcomes, State, study_answer
from app.features.studies.knobs import StudyVariant, check, request_of
from app.features.studies.model import Study, StudyAnswer, StudyContent
from app.features.studies.options import PublishedFigure
from tests.conftest import sizing_context

BASE: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
}


OPTIONS: list[dict[str, Any]] = [
    {"system": {"id": "dgx-a100-640gb", "count": 2}},
    {"system": {"id": "bow-pod16"}},
    {"key": "p", "label": "Reported", "figure": {"hours": 2.0, "kind": "vendor"}},
    {"key": "q", "label": "Scaled", "figure": {"kind": "linear", "scaled_from": "p", "factor": 4}},
]


def study(options: list[dict[str, Any]] | None = None, **base: Any) -> StudyContent:
    return StudyContent.model_validate(
        {"name": "BERT", "base": {**BASE, **base}, "options": OPTIONS if options is None else options}
    )


def answer_of(content: StudyContent, pair: list[str] | None = None) -> StudyAnswer:
    context = sizing_context()
    check(content, context.catalog)
    requests = {option.key: request_of(content, option) for option in content.options}
    made: Outcomes = {
        key: None if isinstance(asked, PublishedFigure) else estimate(asked, context)
        for key, asked in requests.items()
    }
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    kept = Study(
        id="", version=1, latest=1, archived=False, created_at=moment, updated_at=moment, content=content
    )
    return study_answer(State(kept, StudyVariant(content, {})), requests, made, context, pair)
