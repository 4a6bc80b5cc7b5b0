"""From an option of a study to the amounts of build or rent: purchase, running cost and cloud bill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.defaults import YEARLY_SHARES
from app.catalog.entries import Acquisition, ChipKind, SystemEntry
from app.engine.units import HOUR, KILOWATT, MONTHS
from app.errors import Message, Unprocessable
from app.estimating.documents import CheckWarning, Default, Estimate, Text
from app.estimating.prices import staff_posts
from app.estimating.ranges import money, quantity, significant
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.break_even.deciding import decide
from app.features.break_even.model import (
    BreakEven,
    BreakEvenRequest,
    RangeInput,
    RangesInput,
    RunningInput,
)
from app.features.break_even.words import written
from app.features.comparisons.compare import ComparisonEntry
from app.features.comparisons.model import BasisCost, PublishedFigure
from app.features.comparisons.one_basis import WAYS, BasisAsked, costs_on_one_basis
from app.features.studies.frame import StudyQuestion
from app.features.studies.knobs import labels_of
from app.features.studies.model import StudyOption, free_keys
from app.features.studies.service import estimates_of
from app.platform.workbench import Workbench

RUNNING = ("power", "space", "staff", *YEARLY_SHARES)
"""Lines of a cost that are paid month by month; the others pay for what is bought."""


@dataclass(frozen=True, slots=True)
class CloudBill:
    """What the runs of an owned option cost in the cloud."""

    key: str
    """Of the option; empty where the study has none and the closest system of the catalogue stands in."""
    label: str
    system: str
    count: int
    run: Quantity
    """Cost of one run."""
    monthly: Quantity
    """Cost of the runs of a month."""
    rental: str
    """Way in which it is paid."""
    commitment: BasisCost | None
    """The cheapest published commitment for the same system; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionAmounts:
    """What a study says of owning an option, on the basis that all its options share."""

    equipment: Quantity
    purchase: Quantity
    """Equipment with freight and installation."""
    running: Mapping[str, float]
    """Running cost of a month by line. [currency/month]"""
    utilisation: float
    """Share of the time in which the option is in use."""
    months: float
    """Term over which it is written off."""
    discount_rate: float
    residual_share: float
    runs: float
    """Runs of a month."""
    cloud: CloudBill | None
    """None where nothing that can be rented runs the model."""
    used: RangeInput | None
    """Range of the utilisation where it is the catalogue's; None where the study states it."""
    term: float
    """Cost over the term as Compare shows it. [currency]"""

    @property
    def running_monthly(self) -> float:
        return sum(self.running.values())

    def share_of(self, bill: float) -> float:
        """Return the share of the time for which the runs that a cloud bill pays for use the option.

        Above 1 they are more than the option can do.
        """
        assert self.cloud is not None, "only runs that can be rented are paid for by a bill"
        return bill / self.cloud.monthly.value * self.utilisation


def is_owned(bench: Workbench, option: StudyOption) -> bool:
    """Tell whether an option is bought rather than rented."""
    if option.system is None:
        return False
    entry = bench.sizing.catalog.system(option.system.id)
    return (option.assumptions.acquisition or entry.acquisition.value) == Acquisition.OWN.value


def amounts_of(question: StudyQuestion) -> OptionAmounts | None:
    """Return the amounts of an option; None where it has no price, or does not run."""
    bench, content, own = question.bench, question.content, question.option
    catalog = bench.context(question.workspace).priced(content.base.assumptions.price_book_id).catalog
    others = [one for one in content.options if one.system is not None and not is_owned(bench, one)]
    stand_ins = [] if others else list(closest_clouds(catalog, own))
    for offered in [[one] for one in stand_ins] or [others]:
        asked = content.model_copy(update={"options": [own, *offered]})
        requests, made = estimates_of(bench, question.workspace, asked, {}, strict=False)
        entries = {
            key: ComparisonEntry(request, found)
            for key, request in requests.items()
            if isinstance(found := made[key], Estimate) and found.cost is not None
        }
        if any(one.key in entries for one in offered) or own.key not in entries:
            break
    priced = costs_on_one_basis(entries, bench.context(question.workspace), BasisAsked())
    if priced is None or priced.purchases.get(own.key) is None:
        return None
    estimate, cost, bought = entries[own.key].estimate, priced.costs[own.key][0], priced.purchases[own.key]
    assert estimate is not None and estimate.cost is not None and estimate.time_to_train is not None
    assert bought is not None and cost.capex is not None, "what is owned has been bought"
    currency, basis = content.base.currency, estimate.cost.basis
    hours = priced.basis.useful_hours_per_year / MONTHS
    times = np.asarray(estimate.time_samples or estimate.time_to_train.value)
    runs = hours * HOUR / times
    labels = labels_of(asked, catalog)
    bills = []
    for one in offered:
        run = priced.amounts.get(one.key)
        if one.system is None or run is None:
            continue
        central = run.value * hours * HOUR / estimate.time_to_train.value
        ways = priced.costs[one.key]
        committed = [way for way in ways if (way.rental or "").startswith("reserved")]
        bills.append(
            CloudBill(
                key="" if stand_ins else one.key,
                label=labels[one.key],
                system=one.system.id,
                count=one.system.count,
                run=quantity(run.value, np.asarray(run.drawn), currency),
                monthly=quantity(central, np.asarray(run.drawn * runs), currency),
                rental=ways[0].rental or "",
                commitment=min(committed, key=lambda way: way.run.value, default=None),
            )
        )
    return OptionAmounts(
        equipment=cost.capex,
        purchase=quantity(bought.value, np.asarray(bought.drawn), currency),
        running={line.item: line.hourly * hours for line in cost.lines if line.item in RUNNING},
        utilisation=priced.basis.utilisation,
        months=priced.basis.term_years * MONTHS,
        discount_rate=float(str(basis.get("discount_rate") or 0.0)),
        residual_share=float(str(basis.get("residual_share") or 0.0)),
        runs=hours * HOUR / estimate.time_to_train.value,
        cloud=min(bills, key=lambda bill: bill.monthly.value, default=None),
        used=used_range(priced.basis.utilisation, list(requests.values()), catalog),
        term=cost.over_term.value,
    )


def used_range(
    share: float, requests: Sequence[EstimateRequest | PublishedFigure], catalog: Catalog
) -> RangeInput | None:
    """Return the range of the utilisation; None where a study states it."""
    stated = [one.assumptions.utilisation for one in requests if isinstance(one, EstimateRequest)]
    figure = catalog.cost_defaults(ChipKind.GPU).utilisation
    if any(one is not None for one in stated) or not figure.si_low < share < figure.si_high:
        return None
    return RangeInput(low=figure.si_low, high=figure.si_high)


def closest_clouds(catalog: Catalog, own: StudyOption) -> Iterator[StudyOption]:
    """Give what of the catalogue can be rented on demand in place of a system, as much as runs the model.

    The same accelerator comes first, else the one whose dense peak is closest; of those the cheapest. The
    count has as many operations a second, or several times as many where so little has too little memory.
    """
    assert own.system is not None, "only systems are owned"
    entry, bought = catalog.system(own.system.id), own.system.count

    def rank(other: SystemEntry) -> tuple[bool, float, float]:
        distance = abs(math.log(peak_of(catalog, other) / other.devices / (ours / entry.devices)))
        return other.chip != entry.chip, distance, catalog.rents(other.id)[-1].si / other.devices

    ours = peak_of(catalog, entry)
    offered = [
        other
        for name in catalog.names("system")
        if (other := catalog.system(name)).acquisition is Acquisition.RENT
        and other.chip_kind is ChipKind.GPU
        and any(rent.value for rent in catalog.rents(name)[-1:])
    ]
    if not offered:
        return
    best = min(offered, key=rank)
    count = math.ceil(ours * bought / peak_of(catalog, best) - ROUNDING)
    kept = own.model_dump(mode="json", exclude_unset=True, include={"model", "workload"})
    for times in MULTIPLES:
        chosen = {"key": next(free_keys({own.key})), "system": {"id": best.id, "count": count * times}}
        yield StudyOption.model_validate({**kept, **chosen})


ROUNDING = 1e-9

MULTIPLES = (1, 2, 4)
"""Times as many systems as are owned that are tried."""


def peak_of(catalog: Catalog, entry: SystemEntry) -> float:
    """Return the dense peak of a system. [FLOP/s]"""
    return catalog.usual_peak(entry.chip).value * entry.devices


def is_unpriced(question: StudyQuestion) -> bool:
    """Tell whether an option runs, and only its price is missing."""
    own = question.option
    asked = question.content.model_copy(update={"options": [own]})
    made = estimates_of(question.bench, question.workspace, asked, {}, strict=False)[1][own.key]
    return isinstance(made, Estimate) and made.fits and made.cost is None


def usual_fields(question: StudyQuestion) -> dict[str, str]:
    """Return the fields of the form that the study fills in."""
    found = amounts_of(question)
    fields: dict[str, str] = {"currency": question.content.base.currency}
    if found is None:
        return fields
    fields |= {
        "capex": whole(found.purchase.value),
        "onprem_monthly": whole(found.running_monthly),
        "horizon_months": f"{found.months:g}",
        "discount_percent": f"{100 * found.discount_rate:g}",
        "residual_percent": f"{100 * found.residual_share:g}",
    }
    return fields if found.cloud is None else {**fields, "cloud_monthly": whole(found.cloud.monthly.value)}


def whole(amount: float) -> str:
    """Return an amount as a field shows it."""
    return f"{round(amount):,}"


def decide_of_study(question: StudyQuestion, asked: BreakEvenRequest) -> BreakEven:
    """Return when owning an option is cheaper, with the amounts of the study where nothing else is stated."""
    found = amounts_of(question)
    body = completed_by(question, asked, found)
    answer = decide(body, question.bench.context(question.workspace))
    warnings = [one for one in answer.warnings if one.code != "capacity_not_checked"]
    more: dict[str, object] = {"warnings": [*capacity(question, body, answer, found), *warnings]}
    bill = None if found is None or found.cloud is None or asked.cloud is not None else found.cloud.monthly
    if found is not None and is_of_study(asked.cloud_monthly, bill):
        more["sentences"] = [*answer.sentences, *map(Text.of, ways_of_bill(question, body, found))]
    if found is not None and body.utilisation != asked.utilisation:
        why = Message("share of the time for which the runs that the cloud bill pays for use the system")
        more["defaults"] = [*answer.defaults, Default.of("utilisation", body.utilisation, why)]
    return answer.model_copy(update=more)


def ways_of_bill(question: StudyQuestion, body: BreakEvenRequest, of: OptionAmounts) -> Iterator[Message]:
    """Say how the cloud bill of a study is paid, and when owning pays off against a commitment."""
    cloud = of.cloud
    assert cloud is not None, "the bill is that of the study"
    values: dict[str, object] = {"cloud": cloud.label, "way": WAYS[cloud.rental]}
    yield Message("The cloud bill is that of {cloud} {way}.", values)
    if cloud.commitment is None or cloud.commitment.rental == cloud.rental:
        return
    bill = cloud.commitment.run.value * of.runs
    committed = {"cloud_monthly": bill, "utilisation": None, "ranges": None, "growth": None}
    found = decide(body.model_copy(update=committed), question.bench.context(question.workspace))
    values = {
        "way": WAYS[cloud.commitment.rental or ""],
        "bill": money(bill, question.content.base.currency),
        "months": written(found.months),
    }
    template = (
        "Against the cheapest published commitment, {way} at {bill} a month, owning pays off after {months} "
        "months."
        if found.months is not None
        else "Against the cheapest published commitment, {way} at {bill} a month, owning never pays off."
    )
    yield Message(template, values)


def is_of_study(stated: float | None, found: Quantity | None) -> bool:
    """Tell whether an amount is that of the study: left as it was filled in, or left out."""
    return found is not None and (stated is None or stated == round(found.value))


def completed_by(
    question: StudyQuestion, asked: BreakEvenRequest, found: OptionAmounts | None
) -> BreakEvenRequest:
    """Return a request with the amounts of a study, and their ranges, where no others are stated."""
    more: dict[str, object] = {}
    ranges: dict[str, RangeInput] = {}
    given = asked.ranges or RangesInput()
    bill = None if found is None or found.cloud is None or asked.cloud is not None else found.cloud.monthly
    for name, amount in (("capex", None if found is None else found.purchase), ("cloud_monthly", bill)):
        if amount is not None and is_of_study(getattr(asked, name), amount):
            times = 1.0
            if name == "cloud_monthly" and found is not None and asked.utilisation is not None:
                # The study's bill is for the runs of the study's utilisation.
                times = asked.utilisation / found.utilisation
            value = float(round(amount.value * times))
            more[name] = value
            if getattr(given, name) is None and amount.low < amount.high:
                ranges[name] = RangeInput(
                    low=min(amount.low * times, value), high=max(amount.high * times, value)
                )
    if "capex" in more and asked.capex_includes_fabric is None:
        more["capex_includes_fabric"] = True
    if found is not None and bill is not None and asked.utilisation is None:
        typed = None if "cloud_monthly" in more else asked.cloud_monthly
        if typed is None:
            more["utilisation"] = found.utilisation
            if given.utilisation is None and found.used is not None:
                ranges["utilisation"] = found.used
        elif "capex" in more:
            # What the study buys can do only so much; a purchase that is typed may be of anything.
            more["utilisation"] = found.share_of(typed)
    if asked.onprem is not None:
        more["onprem"] = running_of(question, asked)
    elif asked.onprem_monthly is None and found is not None:
        more["onprem_monthly"] = found.running_monthly
    if ranges:
        more["ranges"] = given.model_copy(update=ranges)
    body = asked.model_copy(update=more)
    for name, parts in (("capex", None), ("onprem_monthly", body.onprem), ("cloud_monthly", body.cloud)):
        if getattr(body, name) is None and parts is None:
            raise Unprocessable.at(
                name, "enter an amount; the study has none for {option}", option=question.label
            )
    return body


def running_of(question: StudyQuestion, asked: BreakEvenRequest) -> RunningInput:
    """Return the parts of a running cost with those that follow from the machines."""
    assert asked.onprem is not None and question.request is not None
    system = question.request.system
    entry = question.bench.sizing.catalog.system(system.id)
    rates = question.bench.sizing.catalog.cost_defaults(entry.chip_kind)
    usual = {
        "power_kw": entry.power_typical.value * system.count / KILOWATT,
        "staff": staff_posts(entry, system.count, rates),
    }
    missing = {name: value for name, value in usual.items() if getattr(asked.onprem, name) is None}
    return asked.onprem.model_copy(update=missing)


def capacity(
    question: StudyQuestion, body: BreakEvenRequest, answer: BreakEven, found: OptionAmounts | None
) -> Iterator[CheckWarning]:
    """Give what the bill pays for, against what the owned option can do."""
    if found is None or found.cloud is None:
        message = Message("the capacity of the cluster is not checked against the work behind the cloud bill")
        yield CheckWarning.of("capacity_not_checked", "caution", message, "cloud_monthly")
        return
    share = found.share_of(answer.cloud_monthly)
    values = {
        "own": question.label,
        "cloud": found.cloud.label,
        "share": round(100 * share),
        "times": significant(share),
        "part": round(100 / share),
    }
    if share > 1.0:
        message = Message(
            "on {cloud} the bill pays for {times} times the work that {own} can do in a whole month; "
            "{own} replaces at most {part} % of the bill",
            values,
        )
        yield CheckWarning.of("capacity_short", "serious", message, "cloud_monthly")
        return
    message = Message(
        "on {cloud} the bill pays for the work that keeps {own} in use {share} % of the time", values
    )
    yield CheckWarning.of("capacity_compared", "info", message, "cloud_monthly")
