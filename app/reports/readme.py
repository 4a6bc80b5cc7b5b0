"""Parts of both READMEs that the program writes: agreement with measured runs, and real answers."""

from __future__ import annotations

import re

from app.errors import CatalogError
from app.reports.accuracy import accuracy_sentence, korean_accuracy_sentence
from app.reports.evidence import AccuracyEvidence
from app.reports.wording import voice
from app.sizing.context import SizingContext
from app.sizing.document import CheckWarning, Estimate
from app.sizing.estimate import estimate
from app.sizing.plan_checks import check_plan
from app.sizing.questions import ChecksRequest
from app.sizing.request import EstimateRequest

PART = re.compile(r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
REQUEST = re.compile(r"```json\n(?P<text>.*?)```", re.DOTALL)
"""The first request shown is the one that is answered."""

NETWORKS = ("hdr-infiniband", "roce-100")
NODES = 4
WIDTH = len("model FLOP utilisation") + 2

GPT3 = {
    "model": {"preset": "gpt3-175b"},
    "workload": {"tokens": 300e9},
    "system": {"id": "dgx-a100-640gb"},
}
GPT3_BARE = {
    "model": {"total_flop": 3.14e23},
    "system": {"id": "dgx-a100-320gb"},
    "assumptions": {"peak_flops": 5e15},
}
"""The compute of GPT-3 over the peak that a data sheet prints for one DGX A100."""


HEADLINES = {"README.md": accuracy_sentence, "README.ko.md": korean_accuracy_sentence}
"""Page → what it begins with of the agreement with measured runs."""


def with_answers(
    text: str, context: SizingContext, evidence: AccuracyEvidence, page: str = "README.md"
) -> str:
    """Return a README with its generated parts brought up to date."""
    request = request_shown(text, page)
    parts = {"accuracy": HEADLINES[page](evidence), "estimate": printed(estimate(request, context))}
    if page == "README.md":
        parts["advice"] = advice(request, context)
    return filled(text, parts, page)


def request_shown(text: str, page: str) -> EstimateRequest:
    """Return the first request that a page shows."""
    shown = REQUEST.search(text)
    if shown is None:
        raise CatalogError(f"{page} shows no request")
    return EstimateRequest.model_validate_json(shown["text"])


def filled(text: str, parts: dict[str, str], page: str) -> str:
    """Return a page with each of its generated parts put in."""
    unknown = {found["name"] for found in PART.finditer(text)} ^ set(parts)
    if unknown:
        raise CatalogError(f"{page}: generated parts do not match: {', '.join(sorted(unknown))}")
    return PART.sub(lambda found: f"{found[1]}{parts[found['name']]}\n{found[3]}", text)


def printed(answer: Estimate) -> str:
    """Return the lines of an estimate that matter most, as the command prints them."""
    speaker = voice("en")
    lines = {
        "fits": "yes" if answer.fits else "no",
        "memory per device": speaker.quantity(answer.memory.per_device if answer.memory else None),
        "step time": speaker.quantity(answer.step_time),
        "throughput": speaker.quantity(answer.throughput),
        "model FLOP utilisation": speaker.quantity(answer.mfu),
        "time to train": speaker.quantity(answer.time_to_train),
        "energy": speaker.quantity(answer.energy),
        "cost of the run": speaker.quantity(answer.cost.run if answer.cost else None),
        "validation": answer.validation.status,
    }
    table = "\n".join(f"{name:<{WIDTH}}{value}" for name, value in lines.items())
    return f"```text\n{table}\n```"


def advice(request: EstimateRequest, context: SizingContext) -> str:
    """Return what Rackline advises against, as it says it today."""
    small = estimate(EstimateRequest.model_validate(GPT3), context)
    bare = estimate(EstimateRequest.model_validate(GPT3_BARE), context)
    plan = check_plan(ChecksRequest.model_validate({"devices": 160, "global_batch": 8192}))
    return "\n".join(
        (
            f"- GPT-3 175B on one DGX A100 640GB: {said('does_not_fit', small.warnings)}.",
            f"- A batch of 8,192 on 20 DGX A100: {said('batch_not_divisible', plan.warnings)}.",
            f"- 3.14e23 FLOP over “5 PFLOP/s”: {said('sparse_peak', bare.warnings)}.",
            f"- {network_gain(request, context)}",
        )
    )


def said(code: str, warnings: list[CheckWarning]) -> str:
    """Return the sentence of a warning, with its code."""
    message = next(warning.message for warning in warnings if warning.code == code)
    return f"{message} (`{code}`)"


def network_gain(request: EstimateRequest, context: SizingContext) -> str:
    """Return what the faster of two networks gains on the request shown."""
    speaker = voice("en")
    answers = []
    for fabric in NETWORKS:
        system = request.system.model_copy(update={"count": NODES, "fabric": fabric})
        answers.append(estimate(request.model_copy(update={"system": system}), context))
    times = [answer.time_to_train for answer in answers if answer.time_to_train is not None]
    if len(times) < len(NETWORKS):
        raise CatalogError("README.md: the request shown does not fit on every network")
    first, second = times
    names = [context.catalog.fabric_entry(fabric).name for fabric in NETWORKS]
    gain = speaker.percent(second.value / first.value - 1.0, 2)
    return (
        f"BERT-Large on {NODES} × DGX A100 640GB takes {speaker.central(first)} on {names[0]} and "
        f"{speaker.central(second)} on {names[1]}: {gain} is all the faster network gains."
    )
