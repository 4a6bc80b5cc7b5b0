"""From a study to what is served: its model on the systems of its options."""

from __future__ import annotations

from app.catalog.entries import ChipKind
from app.errors import Message, Unprocessable
from app.estimating.inference import ServingTerms
from app.features.inference.answering import infer
from app.features.inference.model import Inference, InferenceRequest, ServingSystem
from app.features.studies.frame import StudyQuestion, question_of
from app.features.studies.model import StudyOption, stated
from app.platform.workspace import Workspace

USUAL_LENGTHS = {"prompt_tokens": "2048", "output_tokens": "256", "cache_precision": "bf16"}
"""Default fields of the form."""


def can_serve(workspace: Workspace, option: StudyOption) -> bool:
    """Tell whether an option is a system whose inference is computed: accelerators other than IPUs."""
    if option.system is None:
        return False
    return workspace.sizing.catalog.system(option.system.id).machine.chip.kind is not ChipKind.IPU


def serve_study(question: StudyQuestion, terms: ServingTerms) -> Inference:
    """Compute how the systems of a study serve its model, in the order of its options."""
    workspace = question.workspace
    options = [
        question_of(workspace, question.state, option.key)
        for option in question.content.options
        if can_serve(workspace, option)
    ]
    requests = [option.request for option in options if option.request is not None]
    if not requests:
        raise Unprocessable(Message("no option of this study is a system whose inference is computed"))
    systems = [
        ServingSystem.model_validate(
            {**stated(request.system), "label": option.label, "assumptions": stated(request.assumptions)}
        )
        for option, request in zip(options, requests, strict=True)
        # Options may have other models; only one is compared.
        if request.model == requests[0].model
    ]
    request = InferenceRequest.model_validate(
        {
            **stated(terms),
            "model": stated(requests[0].model),
            "systems": [stated(system) for system in systems],
            "currency": requests[0].currency,
        }
    )
    return infer(request, workspace.context())
