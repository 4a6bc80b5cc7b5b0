"""Drawn studies with their proposals: every figure that both state is the same, in any currency."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from app.estimating.money import ExchangeRate
from app.features.proposals.model import ProposalContent, ProposalRequest
from app.features.proposals.service import create_proposal
from app.features.studies.model import StudyAnswer, StudyContent
from app.features.studies.service import create_study
from app.features.studies.states import answer_state, state_of
from app.platform.workspace import Workspace

DAY = 86_400.0

WORK: list[dict[str, Any]] = [
    {"model": {"preset": "bert-large"}, "workload": {"samples": 2e7, "seq_len": 128}},
    {"model": {"preset": "resnet50"}, "workload": {"samples": 1.2e8}},
    {"model": {"preset": "gpt2-1.5b"}, "workload": {"tokens": 4e10}},
    {"model": {"preset": "llama3-8b"}, "workload": {"kind": "lora", "tokens": 5e7}},
    {"model": {"preset": "llama-7b"}, "workload": {"tokens": 1e11}},
    {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 3e10}},
]

SYSTEMS = (
    *("dgx-a100-640gb", "dgx-h100", "dgx-b200", "mi300x-8", "gaudi3-8", "bow-pod16", "ipu-pod64"),
    *("aws-p4d", "aws-p5", "azure-nd-h100-v5", "gcp-a3-mega", "lambda-8xa100", "dgx1-v100"),
)

COUNTS = (1, 2, 3, 4, 8, 16)

CURRENCIES = ("USD", "KRW", "EUR", "JPY", "CNY")


def drawn_study(seed: int) -> StudyContent:
    """Return a study with two to four options, limits, a demand and at times a stated figure."""
    draw = random.Random(seed)
    base: dict[str, Any] = {**draw.choice(WORK), "currency": draw.choice(CURRENCIES)}
    demand = draw.choice([None, {"runs": 3}, {"runs_per_year": 10}, {"utilisation": 0.6}])
    base["assumptions"] = {} if demand is None else {"demand": demand}
    if draw.random() < 0.3:
        base["assumptions"]["utilisation"] = 0.5
    lora = base["workload"].get("kind") == "lora"
    known = [name for name in SYSTEMS if not (lora and "pod" in name)]
    names = draw.sample(known, draw.randint(2, 4))
    options: list[dict[str, Any]] = [
        {"system": {"id": name, "count": draw.choice(COUNTS)}, "assumptions": rented(name, draw)}
        for name in names
    ]
    if draw.random() < 0.3:
        options.append({"key": "p", "label": "Reported", "figure": {"hours": 90.0, "kind": "vendor"}})
        options.append(
            {"label": "Scaled", "figure": {"kind": "linear", "scaled_from": "p", "factor": 4}},
        )
        base["scaling_efficiency"] = 0.8
    limits: dict[str, Any] = {}
    if draw.random() < 0.7:
        limits["deadline_s"] = draw.choice([3, 10, 30, 90]) * DAY
    if draw.random() < 0.6:
        dollars = 10.0 ** draw.uniform(4.5, 7.0)
        limits["budget"] = dollars * {"KRW": 1400, "JPY": 150, "CNY": 7}.get(base["currency"], 1)
        limits["budget_kind"] = draw.choice(["purchase", "run", "term"])
    if draw.random() < 0.3:
        limits["power_w"] = draw.choice([3e4, 1e5, 3e5])
    if limits:
        limits["probability"] = draw.choice([0.5, 0.8, 0.9])
    return StudyContent.model_validate(
        {"name": f"Drawn {seed}", "base": base, "options": options, "limits": limits}
    )


def rented(system: str, draw: random.Random) -> dict[str, Any]:
    cloud = system.startswith(("aws", "azure", "gcp"))
    return {"rental": draw.choice(["on-demand", "reserved-1-year"])} if cloud and draw.random() < 0.5 else {}


def pair_of(workspace: Workspace, seed: int) -> Iterator[str]:
    """Yield every figure in which a study and its proposal differ, in its own and in another currency."""
    content = drawn_study(seed)
    study = create_study(workspace, content)
    answer = answer_state(workspace, state_of(workspace, study.id, {}))
    own = content.base.currency
    for currency in (own, CURRENCIES[(CURRENCIES.index(own) + 1 + seed) % len(CURRENCIES)]):
        body = {"study_id": study.id, "customer": "A customer", "locale": "en", "currency": currency}
        proposed = create_proposal(workspace, ProposalRequest.model_validate(body)).content
        catalog = workspace.context().catalog
        rate = ExchangeRate.of(catalog, currency).value / ExchangeRate.of(catalog, own).value
        for where in differences(answer, proposed, rate):
            yield f"study {seed} in {own}, proposal in {currency}: {where}"


def differences(answer: StudyAnswer, proposed: ProposalContent, rate: float) -> Iterator[str]:
    labels = {option.key: option.label for option in answer.options}
    asked = said(answer.decision.model_dump(mode="json"), labels)
    told = said(proposed.decision.model_dump(mode="json") if proposed.decision else {}, labels)
    yield from unlike("decision", asked, told, rate)
    yield from unlike(
        "by_demand",
        [said(one.model_dump(mode="json"), labels) for one in answer.by_demand],
        [one.model_dump(mode="json") for one in proposed.by_demand],
        rate,
    )
    for option, row in zip(answer.options, proposed.comparison.rows, strict=True):
        at = option.label
        yield from unlike(f"{at} label", option.label, row.label, rate)
        yield from unlike(f"{at} kind", option.kind, row.kind, rate)
        yield from unlike(f"{at} time", option.time and option.time.value / 3600, row.hours, rate)
        yield from unlike(
            f"{at} costs",
            [cost.model_dump(mode="json") for cost in option.costs],
            [cost.model_dump(mode="json") for cost in row.costs],
            rate,
        )
        if option.estimate is not None and row.estimate is not None:
            yield from unlike(f"{at} estimate", figures(option.estimate), figures(row.estimate), rate)
    for name in ("fastest", "cheapest"):
        key = getattr(answer, name)
        yield from unlike(name, key and labels[key], getattr(proposed.comparison, name), rate)
    chances = {
        (labels[one.first], labels[one.second]): one.probability
        for one in answer.contests
        if one.metric == "time"
    }
    for ratio in proposed.comparison.ratios:
        yield from unlike("ratio", chances[ratio.faster, ratio.slower], ratio.probability, rate)
    said_codes = {warning.code for warning in proposed.warnings}
    codes = {warning.code for warning in answer.warnings} - said_codes
    if codes:
        yield f"warnings {sorted(codes)} are not in the proposal"
    question = answer.decision.question
    for one in proposed.acceptance:
        if one.figure == "time_to_train" and question.deadline_s and one.committed > question.deadline_s:
            yield f"{one.option} is promised after the deadline"
    for bill in proposed.bills:
        option = proposed.decided(bill.label)
        if option is not None and option.purchase is not None and bill.total is not None and bill.complete:
            yield from unlike(f"{bill.label} bill", option.purchase.value, bill.total.value, 1.0)


ESTIMATED = (
    *("plan", "software", "precision_used", "fits", "memory", "step_time", "throughput", "mfu", "steps"),
    *("time_to_train", "energy", "breakdown", "validation", "sensitivity"),
)


def figures(estimate: Any) -> dict[str, Any]:
    whole: dict[str, Any] = estimate.model_dump(mode="json", include=set(ESTIMATED))
    whole["warnings"] = sorted(warning.code for warning in estimate.warnings)
    return whole


def said(document: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Return a decision with labels in place of keys, without its sentences."""

    def renamed(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: renamed(part, key) for key, part in value.items() if key not in ("sentences",)}
        if isinstance(value, list):
            return [renamed(part, name) for part in value]
        if name in ("recommended", "tied", "id", "over", "then") and isinstance(value, str):
            return labels.get(value, value)
        if name == "input" and isinstance(value, str) and value.startswith("price."):
            key = value.removeprefix("price.")
            return f"price.{labels.get(key, key)}"
        return value

    renamed_document: dict[str, Any] = renamed(document)
    return renamed_document


MONEY = frozenset(CURRENCIES)


def unlike(where: str, asked: Any, told: Any, rate: float) -> Iterator[str]:
    """Yield where two documents differ; amounts of money may be in two currencies."""
    if isinstance(asked, dict) and isinstance(told, dict):
        money = asked.get("unit") in MONEY or "budget" in asked
        for name in {**asked, **told}:
            if name in ("unit", "currency", "exchange_rate", "won_per_dollar", "exchange_rate_as_of"):
                continue
            mine, theirs = asked.get(name), told.get(name)
            if money and name in ("value", "low", "high", "budget") and mine is not None:
                mine = mine * rate
            if name in ("hourly", "over_term", "amount") and isinstance(mine, float):
                mine = mine * rate
            yield from unlike(f"{where}.{name}", mine, theirs, rate)
    elif isinstance(asked, list) and isinstance(told, list) and len(asked) == len(told):
        for index, (mine, theirs) in enumerate(zip(asked, told, strict=True)):
            yield from unlike(f"{where}.{index}", mine, theirs, rate)
    elif number(asked) and number(told):
        if not math.isclose(asked, told, rel_tol=1e-6, abs_tol=1e-9):
            yield f"{where}: {asked} against {told}"
    elif asked != told:
        yield f"{where}: {asked!r} against {told!r}"


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
