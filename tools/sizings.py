"""Twenty sizings as their document shows them: what is asked, what wins, and what would overturn it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.engine.units import DAY
from app.estimating.context import SizingContext
from app.features.sizings.answering import size
from app.features.sizings.model import Sizing, SizingRequest
from app.platform.wording.voice import Voice, voice
from tools.markdown import table

IMAGES = {"epochs": 90, "dataset_samples": 1_281_167}

CONSIDERED: Mapping[str, Any] = {
    "systems": [
        *("dgx-a100-640gb", "dgx-a100-320gb", "a100-sxm-80gb", "a100-sxm-40gb", "bow-2000", "bow-pod16"),
        *("bow-pod64", "aws-p4d", "azure-nd96asr", "lambda-8xa100"),
    ],
    "counts": [1, 2, 4, 8, 16, 32, 64, 120, 240],
}
"""Systems that are offered today, at counts that are ordered."""

KOREA: Mapping[str, Any] = {**CONSIDERED, "currency": "KRW", "assumptions": {"region": "korea"}}
US: Mapping[str, Any] = {**CONSIDERED, "currency": "USD", "assumptions": {"region": "us"}}


def _case(
    region: Mapping[str, Any],
    model: str,
    workload: Mapping[str, Any],
    *,
    days: float | None = None,
    budget: float | None = None,
    kind: str | None = None,
) -> Mapping[str, Any]:
    limits = {"deadline_s": None if days is None else days * DAY, "budget": budget, "budget_kind": kind}
    return {"model": {"preset": model}, "workload": dict(workload), **limits, **region}


CASES = (
    _case(KOREA, "gpt3-175b", {"tokens": 300e9}, days=30, kind="purchase"),
    _case(KOREA, "gpt3-175b", {"tokens": 300e9}, days=30, budget=1e9),
    _case(KOREA, "gpt3-175b", {"tokens": 300e9}, days=60, kind="term"),
    _case(KOREA, "llama2-70b", {"tokens": 2e12}, days=60, budget=10e9),
    _case(KOREA, "llama2-70b", {"tokens": 2e12}, days=60, budget=80e9, kind="purchase"),
    _case(KOREA, "llama-13b", {"tokens": 1e12}, days=30, budget=20e9, kind="purchase"),
    _case(KOREA, "llama-7b", {"tokens": 1e12}, days=30, kind="run"),
    _case(KOREA, "gpt2-1.5b", {"tokens": 1e11}, budget=2e9, kind="purchase"),
    _case(KOREA, "bert-large", {"target": "mlperf-bert"}, days=1 / 24, kind="run"),
    _case(KOREA, "resnet50", IMAGES, days=0.5, kind="purchase"),
    _case(US, "gpt3-175b", {"tokens": 300e9}, days=30, kind="run"),
    _case(US, "llama2-70b", {"tokens": 2e12}, days=60, kind="term"),
    _case(US, "llama-65b", {"tokens": 1.4e12}, days=45, budget=5e6, kind="run"),
    _case(US, "llama-13b", {"tokens": 1e12}, days=30, budget=10e6),
    _case(US, "llama-7b", {"tokens": 1e12}, days=14, kind="purchase"),
    _case(US, "bloom-176b", {"tokens": 366e9}, days=90, kind="purchase"),
    _case(US, "t5-11b", {"tokens": 1e11}, days=14, kind="run"),
    _case(US, "bert-large", {"target": "mlperf-bert"}, budget=1e6, kind="purchase"),
    _case(US, "vit-large", IMAGES, days=2, kind="term"),
    _case(US, "resnet50", IMAGES, budget=300.0, kind="run"),
)
"""What is asked: ten in Korea and ten in the United States, by purchase, run and term."""

HEAD = """# Twenty sizings

Ten in Korea and ten in the United States: what wins, what it costs in each of the three senses a budget can
have, and what the page says about it, with the margin over the best other system and the price that would
overturn it ([sizing](methodology/17-sizing.md)). Written by
`python -m tools documents`.
"""

COLUMNS = ("", "asked", "answer", "time", "purchase", "run", "outlay", "next best costs more", "how surely")


def sizings_document(context: SizingContext) -> str:
    speaker = voice("en")
    answers = [size(SizingRequest.model_validate(case), context).document for case in CASES]
    rows = [_row(number, answer, speaker) for number, answer in enumerate(answers, 1)]
    lines = [HEAD, table(COLUMNS, rows), "", "## What the pages say", ""]
    for number, answer in enumerate(answers, 1):
        texts = [speaker.say(text) for text in answer.decision.sentences]
        lines += [f"{number}. **{_question(answer, speaker)}.** {' '.join(texts)}"]
    return "\n".join(lines) + "\n"


def _question(answer: Sizing, speaker: Voice) -> str:
    request = answer.request
    where = "Korea" if request.assumptions.region == "korea" else "US"
    parts = [where, answer.model.name]
    if request.deadline_s is not None:
        parts.append(speaker.value(request.deadline_s, "s"))
    if request.budget is not None:
        parts.append(speaker.value(request.budget, answer.currency))
    parts.append(request.budget_kind or "no kind")
    return ", ".join(parts)


def _row(number: int, answer: Sizing, speaker: Voice) -> tuple[str, ...]:
    margin = answer.margin
    option = next((entry for entry in answer.options if entry.id == answer.recommended), None)
    if option is None:
        return (str(number), _question(answer, speaker), "none", *("–" for _ in range(6)))
    costs = (option.costs.purchase, option.costs.run, option.costs.term)
    tie = bool(answer.decision.tied)
    return (
        str(number),
        _question(answer, speaker),
        f"{option.count} × {option.name}{', a tie' if tie else ''}",
        speaker.central(option.time_to_train),
        *(speaker.central(cost) for cost in costs),
        "–" if margin is None else speaker.percent(margin.share.value),
        "–" if margin is None else speaker.chance(margin.probability),
    )
