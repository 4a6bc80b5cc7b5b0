"""Proposals made by hand: what renderers are given, without a store behind them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from app.estimating.documents import Estimate
from app.estimating.names import STORED
from app.estimating.request import EstimateRequest, ModelInput, SystemInput
from app.features.proposals.content import NO_ANSWERS, build_content
from app.features.proposals.evidence import NamedAnswers
from app.features.proposals.lines import content_hash
from app.features.proposals.model import Logo, Proposal, ProposalContent, ProposalRequest
from app.features.studies.options import PublishedFigure
from app.features.studies.side_by_side import OptionEntry
from tests.conftest import sizing_context
from tests.support.documents import estimate

MOMENT = datetime.datetime(2026, 11, 2, 9, 30, tzinfo=datetime.UTC)

CLAIMED = [
    OptionEntry(PublishedFigure(label="1 × DGX A100", hours=69.5, kind="vendor", system="dgx-a100-320gb")),
    OptionEntry(PublishedFigure(label="3 × DGX A100", kind="linear", scaled_from="1 × DGX A100", factor=3)),
    OptionEntry(PublishedFigure(label="1 × IPU-POD64", hours=13.2, kind="vendor", system="ipu-pod64")),
]


def modelled(currency: str = "KRW") -> list[OptionEntry]:
    """Return options that were estimated: two that run and one that does not fit."""
    rows = [
        estimate("a", "128 × DGX A100", 34.2 * 86400, currency),
        estimate("b", "64 × DGX A100", 66.0 * 86400, currency),
        estimate("c", "1 × DGX A100", 1.0, currency, fits=False),
    ]
    return [OptionEntry(request_of(one), one) for one in rows]


def request_of(one: Estimate) -> EstimateRequest:
    system = SystemInput(id="dgx-a100-640gb", count=one.system.count)
    currency = "USD" if one.cost is None else one.cost.run.unit
    return EstimateRequest(
        model=ModelInput(preset="gpt3-175b"), system=system, label=one.name, currency=currency
    )


def content(
    options: Sequence[OptionEntry] = (),
    logo: Logo | None = None,
    answers: NamedAnswers = NO_ANSWERS,
    number: str | None = None,
    **asked: Any,
) -> ProposalContent:
    """Return what a proposal says."""
    body = {"comparison_id": "cmp_x", "customer": "하이퍼커넥트", "locale": "ko", "currency": "KRW"} | asked
    return build_content(
        # Names that were stored before invisible characters were refused are printed too.
        ProposalRequest.model_validate(body, context=STORED),
        options or CLAIMED,
        sizing_context(),
        title="BERT-Large",
        today=MOMENT.date(),
        logo=logo,
        number=number,
        answers=answers,
    )


def proposal(
    options: Sequence[OptionEntry] = (),
    logo: Logo | None = None,
    answers: NamedAnswers = NO_ANSWERS,
    **asked: Any,
) -> Proposal:
    """Return a frozen proposal."""
    said = content(options, logo, answers, **asked)
    return Proposal(
        id="prp_x",
        comparison_id="cmp_x",
        status="frozen",
        version=1,
        sha256=content_hash(said.model_dump(mode="json")),
        frozen_at=MOMENT,
        created_at=MOMENT,
        updated_at=MOMENT,
        share=None,
        content=said,
    )
