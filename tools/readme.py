"""The generated parts of README.md and README.ko.md: accuracy, an estimate, what is advised against."""

from __future__ import annotations

import re

from app.errors import CatalogError
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.plans.mapping import check_plan
from app.features.plans.model import ChecksRequest
from app.platform.wording.lines import estimate_rows, table
from app.platform.wording.voice import voice
from tools.accuracy import (
    accuracy_sentence,
    korean_accuracy_sentence,
    korean_newer_chips_sentence,
    newer_chips_sentence,
)
from tools.evidence import AccuracyEvidence
from tools.markdown import filled

REQUEST = re.compile(r"```json\n(?P<text>.*?)```", re.DOTALL)
"""The first request shown is the one that is answered."""
NETWORKS = ("hdr-infiniband", "roce-100")
NODES = 4
NAMES = 4
"""Lines of an estimate that say what was asked; the figures follow."""

GPT3 = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}, "system": {"id": "dgx-a100-640gb"}}

GPT3_BARE = {
    "model": {"total_flop": 3.14e23},
    "system": {"id": "dgx-a100-320gb"},
    "assumptions": {"peak_flops": 5e15},
}
"""The compute of GPT-3 over the peak that a data sheet prints for one DGX A100."""

README = "README.md"

HEADLINES = {
    README: (accuracy_sentence, newer_chips_sentence),
    "README.ko.md": (korean_accuracy_sentence, korean_newer_chips_sentence),
}
"""Page → what it begins with of the agreement with measured runs."""


def with_answers(text: str, context: SizingContext, evidence: AccuracyEvidence, page: str = README) -> str:
    """Return a README with its generated parts brought up to date."""
    request = request_shown(text, page)
    fitted, newer = HEADLINES[page]
    accuracy = f"{fitted(evidence)}\n{newer(context.left_out)}"
    parts = {"accuracy": accuracy, "estimate": printed(estimate(request, context))}
    if page == README:
        parts["advice"] = advice(request, context)
    return filled(text, parts, page)


def request_shown(text: str, page: str) -> EstimateRequest:
    match = REQUEST.search(text)
    if match is None:
        raise CatalogError(f"{page} shows no request")
    return EstimateRequest.model_validate_json(match["text"])


def printed(answer: Estimate) -> str:
    """Return the main figures of an estimate as the command prints them."""
    figures = table(estimate_rows(answer, voice("en")))[NAMES:]
    return "\n".join(["```text", *figures, "```"])


def advice(request: EstimateRequest, context: SizingContext) -> str:
    """Return current examples of what Rackline advises against."""
    small = estimate(EstimateRequest.model_validate(GPT3), context)
    bare = estimate(EstimateRequest.model_validate(GPT3_BARE), context)
    plan = check_plan(ChecksRequest.model_validate({"devices": 160, "global_batch": 8192}))
    return "\n".join(
        (
            f"- GPT-3 175B on one DGX A100 640GB: {quoted('does_not_fit', small.warnings)}.",
            f"- A batch of 8,192 on 20 DGX A100: {quoted('batch_not_divisible', plan.warnings)}.",
            f"- 3.14e23 FLOP over “5 PFLOP/s”: {quoted('sparse_peak', bare.warnings)}.",
            f"- {network_gain(request, context)}",
        )
    )


def quoted(code: str, warnings: list[CheckWarning]) -> str:
    message = next(warning.message for warning in warnings if warning.code == code)
    return f"{message} (`{code}`)"


def network_gain(request: EstimateRequest, context: SizingContext) -> str:
    """Return the gain of the faster of two networks for the request shown."""
    speaker = voice("en")
    answers = []
    for fabric in NETWORKS:
        system = request.system.model_copy(update={"count": NODES, "fabric": fabric})
        answers.append(estimate(request.model_copy(update={"system": system}), context))
    times = [answer.time_to_train for answer in answers if answer.time_to_train is not None]
    if len(times) < len(NETWORKS):
        raise CatalogError("the example request does not fit on every network")
    first, second = times
    names = [context.catalog.fabric_entry(fabric).name for fabric in NETWORKS]
    gain = speaker.percent(second.value / first.value - 1.0, 2)
    return (
        f"BERT-Large on {NODES} × DGX A100 640GB takes {speaker.central(first)} on {names[0]} and "
        f"{speaker.central(second)} on {names[1]}: {gain} is all the faster network gains."
    )
