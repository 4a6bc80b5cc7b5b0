"""Proposals of every kind in Chinese, and what of them is left in English."""

from __future__ import annotations

import gettext
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoiceRequest
from app.features.proposals.evidence import NamedAnswers
from app.features.proposals.model import Proposal
from app.features.studies.side_by_side import OptionEntry
from app.platform.web.examples import BERT_ON_IPUS, BOW, FABRICS_MEASURED, OWN_MODEL, RESNET
from app.platform.wording.voice import Voice, translations, voice
from tests.conftest import sizing_context
from tests.features.proposals.conftest import CLAIMED, proposal

GPT3 = {
    "model": {"preset": "gpt3-175b"},
    "workload": {"samples": 1e8, "global_batch": 1536, "seq_len": 2048},
    "currency": "KRW",
}

FLOP = {"model": {"total_flop": 3.14e23}, "currency": "KRW"}

DGX = "dgx-a100-640gb"

KINDS = ("published", "GPT-3", "FLOP", "IPU", "priced")

ENGLISH = re.compile(r"[A-Za-z][a-z]+(?:[ ,;:]+[a-z]+){2,}")
"""Three words of English in a row, of which the last two begin small."""


class Misses(gettext.NullTranslations):
    """A catalogue of nothing that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: set[str] = set()

    def gettext(self, message: str) -> str:
        self.keys.add(message)
        return message


def attentive() -> tuple[Voice, Misses]:
    """Return a Chinese voice, and what it had no words for."""
    found = Misses()
    catalog = translations.__wrapped__("zh")
    catalog.add_fallback(found)
    return replace(voice("zh"), catalog=catalog), found


def asked() -> dict[str, list[dict[str, Any]]]:
    """Return requests that bring as many different warnings and assumptions as there are."""
    gpt2 = {
        "model": {"preset": "gpt2-355m"},
        "workload": {"samples": 1e8, "global_batch": 512, "seq_len": 1024},
    }
    own = {"assumptions": {"storage_tb": 100, "system_price": 150_000, "failures_per_1000_node_days": 5}}
    return {
        "GPT-3": [
            {**GPT3, "system": {"id": DGX, "count": 128}},
            {**GPT3, "system": {"id": DGX, "count": 130}},
            {**GPT3, "system": {"id": DGX, "count": 1}},
            {**GPT3, "system": {"id": "aws-p4d", "count": 128}},
        ],
        "FLOP": [{**FLOP, "system": {"id": DGX, "count": 20}}, {**FLOP, "system": {"id": DGX, "count": 40}}],
        "IPU": [BERT_ON_IPUS, RESNET, BOW, {**BERT_ON_IPUS, "system": {"id": "ipu-pod256"}, "label": "256"}],
        "priced": [
            {**gpt2, **own, "system": {"id": DGX, "count": 2}},
            {**gpt2, "system": {"id": DGX, "count": 4}, "plan": {"tensor": 8, "pipeline": 1}},
            {**gpt2, "system": {"id": "ipu-pod16"}},
            {**OWN_MODEL, "label": "own"},
        ],
    }


@cache
def options(name: str) -> Sequence[OptionEntry]:
    """Return the options of a proposal, estimated."""
    if name == "published":
        return CLAIMED
    made = []
    for place, body in enumerate(asked()[name]):
        request = EstimateRequest.model_validate({"label": f"{name} {place}", **body, "currency": "KRW"})
        made.append(OptionEntry(request, estimate(request, sizing_context())))
    return made


@cache
def networks() -> NamedAnswers:
    """Return networks with the customer's runs on both."""
    asked_of = FabricChoiceRequest.model_validate(FABRICS_MEASURED)
    return NamedAnswers(networks=choose_fabric(asked_of, sizing_context()))


def chinese(name: str) -> Proposal:
    """Return one proposal in Chinese."""
    limits = {"deadline_s": 30 * 86_400, "budget": 5e9} if name == "GPT-3" else {}
    answers = {"answers": networks()} if name == "published" else {}
    return proposal(options(name), customer="某某智算科技有限公司", locale="zh", **limits, **answers)
