"""Serving as a view of a study: its model on the systems of its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request

from app.errors import Message
from app.estimating.inference import ServingTerms
from app.features.inference import charts
from app.features.inference.model import Inference
from app.features.inference.of_study import USUAL_LENGTHS, can_serve, serve_study
from app.features.studies.frame import OpenView, StudyFrame, study_view
from app.features.studies.knobs import labels_of
from app.platform.rates import CostClass
from app.platform.web.contexts import FigureView, Form, WarningGroup, grouped, view
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

FORM = QueryForm(ServingTerms)

FORMATS = ("bf16", "fp8", "mxfp8", "nvfp4")
"""Formats that are offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingPage:
    """The systems of a study as servers of its model."""

    frame: StudyFrame
    form: Form
    general: Sequence[Message]
    """Errors that no field of the form shows."""
    stale: bool
    """Whether the answer is that of the previous question."""
    suited: bool
    """Whether any option can serve."""
    refusal: Message | None
    """Why the model of the study is none that is served; None where it is."""
    left_out: Sequence[str]
    """Names of options that cannot serve or have another model."""
    formats: Mapping[str, str]
    answer: Inference | None
    chart: FigureView | None
    warnings: Sequence[WarningGroup]


def serving_page(request: Request, opened: OpenView, result: FormOutcome[Inference] | None) -> ServingPage:
    """Return the page of an answer, or of the previous one if this question is refused."""
    workspace, content = opened.workspace, opened.state.content
    form = Form() if result is None else result.form
    answer = None if result is None else result.answer
    labels = labels_of(content, workspace.sizing.catalog).values()
    served = set() if answer is None else {system.label for system in answer.systems}
    general = FORM.general_errors(form)
    if result is not None and result.message is not None and not form.errors:
        general = [result.message]
    return ServingPage(
        frame=opened.frame,
        form=form,
        general=general,
        stale=result is not None and result.stale,
        suited=any(can_serve(workspace, option) for option in content.options),
        refusal=next(iter(form.wrong("model")), None),
        left_out=[] if answer is None else [label for label in labels if label not in served],
        formats={name: name for name in FORMATS},
        answer=answer,
        chart=None if answer is None else trade_off_view(answer, voice_of(request)),
        warnings=[] if answer is None else warnings_of(answer),
    )


def trade_off_view(answer: Inference, voice: Voice) -> FigureView | None:
    if not any(system.serving for system in answer.systems):
        return None
    limit = answer.request.time_per_output_token_s
    note = voice.gettext("Each point is a batch: larger batches lie further right. Bands are 80 % intervals.")
    caption = voice.gettext("Throughput versus latency")
    return view("serving", caption, charts.trade_off(answer.systems, limit, voice), note, "served")


def warnings_of(answer: Inference) -> list[WarningGroup]:
    warnings = [("", warning) for warning in answer.warnings]
    warnings += [(system.label, warning) for system in answer.systems for warning in system.warnings]
    return grouped(warnings)


study_view(
    router,
    "serving",
    "inference/serving.html",
    FORM,
    Inference,
    usual=lambda _: USUAL_LENGTHS,
    answer=serve_study,
    page=serving_page,
    suits=None,
    cost=CostClass.SEARCH,
)
