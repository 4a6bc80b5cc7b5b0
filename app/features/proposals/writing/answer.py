"""Page 1 of a proposal: what to take, its exact price, when it is done, and what would change the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.engine.units import KILOWATT
from app.errors import Message
from app.estimating.decision import Decision, DecisionOption, Overturn
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.account import ProposalAccount
from app.features.proposals.model import ProposalContent
from app.features.proposals.writing.blocks import (
    Block,
    Flag,
    Flags,
    Grid,
    Head,
    Paragraph,
    Points,
    VerdictBlock,
    table,
)
from app.features.proposals.writing.options import charted, map_chart, scale_of_times, time_name, whole_time
from app.features.studies.common_basis import exchange_sentence
from app.platform.wording.amounts import in_words
from app.platform.wording.voice import MISSING, Voice

MOST_REASONS, MOST_TURNS = 3, 3
"""Reasons, and changes of the answer, on page 1."""


def rows_offered(content: ProposalContent) -> list[ComparisonRow]:
    return [row for row in content.comparison.rows if row.label in content.offered]


def answer(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the first page."""
    rows = rows_offered(content)
    sentence = voice.sentence(recommendation(content, rows))
    if content.decision is None or content.advice.recommended != content.decision.recommended:
        sentence = voice.ended(sentence)
    figures = headline(rows[0], content, voice) if len(rows) == 1 else ()
    blocks: list[Block] = [VerdictBlock(voice.gettext("Recommendation"), sentence, figures)]
    blocks += broken_limits(content, voice)
    blocks.append(Points(voice.gettext("Reasons"), main_reasons(content, rows, voice)))
    if rows:
        blocks += prices(content, voice)
    else:
        blocks += ways_out(content, voice)
        if "map" in charted(content):
            blocks.append(map_chart(content, voice))
    return [*blocks, questions(content, rows, voice)]


def headline(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[tuple[str, str, str]]:
    """Return outlay, time and certainty of the option that is offered."""
    scale, account = scale_of_times(content), content.account
    outlay, figures = None if account is None else account.of(row.label), []
    whole = content.outlay_of(row.label)
    if outlay is not None and whole is not None:
        name = voice.gettext("Outlay")
        figures.append((name, voice.exact(outlay.total, content.currency), voice.spread(whole)))
    elif whole is not None:
        figures.append((voice.gettext("Outlay"), voice.central(whole), voice.spread(whole)))
    time, option = whole_time(row, content), content.decided(row.label)
    if time is not None:
        name = time_name(row, content, voice)
        figures.append((name, voice.central(time, scale), voice.spread(time, scale)))
    if option is not None and option.probability is not None:
        name = voice.gettext("Probability of keeping all limits")
        figures.append((name, voice.chance(option.probability), ""))
    return figures


def recommendation(content: ProposalContent, rows: Sequence[ComparisonRow]) -> Text | Message:
    advice, decision = content.advice, content.decision
    if decision is not None and advice.recommended == decision.recommended:
        return decision.sentences[0]
    if not rows:
        return Message("none of the options is offered")
    if len(rows) > 1:
        both = {"options": ", ".join(row.label for row in rows)}
        return Message(
            "nothing separates {options}, so each of them is offered and the choice is yours", both
        )
    time = whole_time(rows[0], content)
    values: dict[str, object] = {"option": rows[0].label, "time": duration(time.value if time else 0.0)}
    whole = content.outlay_of(rows[0].label)
    if whole is None or content.term is None:
        return Message("we recommend {option}, which trains the model in {time}", values)
    values |= {"cost": money(whole.value, content.currency), "years": content.term.years}
    return Message(
        "we recommend {option}, which trains the model in {time} and costs {cost} in {years} years", values
    )


def broken_limits(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the limits that the author's own choice misses, and that of a rack where one draws more."""
    advice, word = content.advice, voice.label("serious")
    missed: list[tuple[str, Text | Message]] = []
    if advice.recommended is not None and advice.recommended != advice.by_rule:
        missed += [("author", one) for one in advice.reasons if isinstance(one.values.get("why"), dict)]
    racks = rack_over_limit(content)
    missed += [] if racks is None else [("rack_power_exceeded", racks)]
    flags = [Flag(code, "serious", word, voice.sentence(one), "") for code, one in missed]
    return [Flags(flags)] if flags else []


def rack_over_limit(content: ProposalContent) -> Message | None:
    """Return by how much the fullest rack exceeds the limit of a rack; None where none does."""
    racks = content.layout.racks if content.layout is not None else ()
    rack = max(racks, key=lambda rack: rack.power_max, default=None)
    if rack is None or rack.power_max <= rack.power_limit:
        return None
    powers = {
        "power": rack.power_max,
        "limit": rack.power_limit,
        "over": rack.power_max - rack.power_limit,
    }
    return Message(
        "a rack draws up to {power} kW, {over} kW above its limit of {limit} kW: its equipment must stay "
        "together, so the site has to allow the higher power",
        {name: round(watts / KILOWATT, 1) for name, watts in powers.items()},
    )


def main_reasons(content: ProposalContent, rows: Sequence[ComparisonRow], voice: Voice) -> list[str]:
    advice = content.advice
    if not rows:
        avoided = [(option.label, voice.sentence(text)) for option in advice.avoid for text in option.reasons]
        return [f"{label}{voice.sign(': ')}{reason}" for label, reason in avoided[:MOST_REASONS]]
    own = advice.recommended != advice.by_rule
    # Why an author's choice is not that by rule stands above, and is no reason for it.
    sentences = [] if own else [voice.sentence(reason) for reason in advice.reasons]
    estimate = rows[0].estimate
    if estimate is not None and estimate.memory is not None:
        memory = estimate.memory
        room = memory.usable or memory.capacity
        used = {"need": voice.central(memory.per_device), "have": voice.central(room)}
        fits = Message("the model fits: {need} of {have} of usable device memory", used)
        sentences.append(voice.sentence(fits))
    if estimate is not None and estimate.validation.family_error is not None:
        error = {"error": voice.percent(estimate.validation.family_error)}
        median = Message("published runs of its kind were predicted within {error} (median)", error)
        sentences.append(voice.sentence(median))
    return sentences[:MOST_REASONS]


def prices(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the exact price with tax, and the outlay, each with its amount in words."""
    account, currency = content.account, content.currency
    price = account.price if account is not None else None
    if account is None or price is None:
        unknown = voice.gettext("The cost is unknown: nobody publishes a price.")
        return [Paragraph(unknown)] if account is None and content.term is None else []
    supplied = voice.gettext("Purchase" if price.basis == "purchase" else "Rent of the demanded work")
    if not price.complete:
        supplied += f", {voice.gettext('at least')}"
    rows: list[tuple[str, str, str]] = [
        (
            f"{supplied}{voice.sign(': ')}{voice.gettext('supply value')}",
            voice.exact(price.supply, currency),
            "",
        )
    ]
    vat = tax_name(currency, voice)
    if price.vat is None or price.vat_rate is None or price.total is None:
        left_out = voice.gettext("That of the customer's country is added.")
        rows.append((vat, voice.gettext("to be agreed"), left_out))
    else:
        rows.append((f"{vat} {voice.percent(price.vat_rate)}", voice.exact(price.vat, currency), ""))
        said = in_words(price.total, currency, voice.language)
        rows.append((voice.gettext("Total with tax"), voice.exact(price.total, currency), said))
    outlay = account.of(price.option)
    if outlay is not None:
        rows.append(
            (outlay_name(account, voice), voice.exact(outlay.total, currency),
             in_words(outlay.total, currency, voice.language))
        )  # fmt: skip
    aged = older_prices(account)
    return [
        table(
            "price",
            voice.gettext("Price"),
            rows,
            (Head(voice.gettext("Amount"), width=2.3), lambda row: row[0]),
            (Head(currency, True, 1.3), lambda row: row[1]),
            (Head(voice.gettext("In words"), width=2.6), lambda row: row[2]),
            best=[len(rows) - 2] if price.total is not None else [],
        ),
        *([] if aged is None else [Paragraph(voice.sentence(aged), quiet=True)]),
    ]


def tax_name(currency: str, voice: Voice) -> str:
    """Return the name of the tax on a sale in a currency; a dollar does not tell which there is."""
    if currency == "JPY":
        return voice.gettext("Consumption tax")
    return voice.gettext("Tax") if currency == "USD" else voice.gettext("Value-added tax")


def older_prices(account: ProposalAccount) -> Message | None:
    """Return how many figures behind the outlay are older than a year; None if there are none."""
    days = [one.figure.as_of for one in account.assumptions if one.old]
    if not days:
        return None
    values = {"count": len(days), "day": min(days)}
    return Message(
        "prices and exchange rates behind the outlay that are older than a year: {count}, the oldest from "
        "{day}",
        values,
    )


def outlay_name(account: ProposalAccount, voice: Voice) -> str:
    values = {"years": account.years, "runs": account.runs}
    return voice.sentence(
        Message("outlay over {years} years for one run, without tax", values)
        if account.runs == 1
        else Message("outlay over {years} years for {runs} runs, without tax", values)
    )


def ways_out(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return what would be needed where nothing meets everything: another date, more money or less work."""
    decision, account, currency = content.decision, content.account, content.currency
    nearest = decision.nearest if decision is not None else None
    rows: list[tuple[str, str, str, str, str]] = []

    def add(name: str, label: str, needed: str, runs: int | None = None) -> None:
        option, outlay = content.decided(label), account.of(label) if account is not None else None
        time = MISSING if option is None else voice.central(option.time, scale_of_times(content))
        spent = MISSING
        if outlay is not None:
            spent = voice.exact(round(outlay.of_runs(runs), 2) if runs else outlay.total, currency)
        rows.append((name, label, needed, time, spent))

    if nearest is not None:
        if nearest.date is not None:
            add(voice.gettext("Later date"), nearest.date.id, voice.value(nearest.date.deadline_s, "s"))
        if nearest.money is not None:
            budget = voice.exact(nearest.money.budget, currency)
            add(voice.gettext("Larger budget"), nearest.money.id, budget)
        if nearest.work is not None:
            runs = nearest.work.runs
            add(voice.gettext("Fewer runs"), nearest.work.id, voice.number(runs), runs)
    title = voice.gettext("What would work instead")
    if not rows:
        return [Points(title, remedies(content, voice))]
    return [
        table(
            "ways-out",
            title,
            rows,
            (Head(voice.gettext("Change"), width=1.2), lambda row: row[0]),
            (Head(voice.gettext("Option"), width=1.6), lambda row: row[1]),
            (Head(voice.gettext("Needed"), True, 1.4), lambda row: row[2]),
            (Head(voice.gettext("Training time"), True), lambda row: row[3]),
            (Head(voice.gettext("Outlay"), True, 1.4), lambda row: row[4]),
        )
    ]


def remedies(content: ProposalContent, voice: Voice) -> list[str]:
    """Return what would fit instead of the options that do not."""
    decision = content.decision
    lines = [voice.sentence(text) for text in decision.sentences[1:]] if decision is not None else []
    for warning in content.warnings:
        remedy = warning.text.values.get("remedy")
        if isinstance(remedy, dict):
            lines.append(f"{' · '.join(warning.options)}{voice.sign(': ')}{voice.sentence(remedy)}")
    return lines or [voice.gettext("Other options, or wider limits.")]


def questions(content: ProposalContent, rows: Sequence[ComparisonRow], voice: Voice) -> Grid:
    """Return what else a reader asks first, each with its answer."""
    limited = content.decision is not None and content.decision.question.limited
    trained = voice.gettext("What is trained, and within which limits" if limited else "What is trained")
    asked = [(trained, " · ".join(basis(content, voice)))]
    if rows:
        times = " ".join(completion(row, content, voice) for row in rows)
        asked.append((voice.gettext("When it is done, and how sure"), times))
        asked.append((voice.gettext("Next best, and why not"), next_best(content, voice)))
    asked.append((voice.gettext("What would overturn it"), " · ".join(turns(content, voice))))
    asked.append((voice.gettext("What you sign"), signed(content, voice)))
    return table(
        "questions",
        voice.gettext("In short"),
        [row for row in asked if row[1]],
        (Head(voice.gettext("What is asked"), width=1.0), lambda row: row[0]),
        (Head(voice.gettext("Answer"), width=3.4), lambda row: row[1]),
    )


def basis(content: ProposalContent, voice: Voice) -> list[str]:
    """Return the workload, the customer's limits and the exchange rate."""
    advice, colon = content.advice, voice.sign(": ")
    estimates = [row.estimate for row in content.comparison.rows if row.estimate is not None]
    lines = []
    for estimate in estimates[:1]:
        amount = [] if estimate.trained is None else [voice.sentence(estimate.trained)]
        lines.append(
            f"{estimate.model.name}{colon}{voice.sign(', ').join(amount)}" if amount else estimate.model.name
        )
    if advice.deadline_s is not None:
        lines.append(f"{voice.gettext('Deadline')}{colon}{voice.say(duration(advice.deadline_s))}")
    if advice.budget is not None:
        budget = voice.full(advice.budget, content.currency)
        kind = advice.budget_kind
        paid = voice.label(kind) if kind else voice.gettext("purchase, or rented run")
        lines.append(f"{voice.gettext('Budget')} ({paid}){colon}{budget}{stated_budget(content, voice)}")
    lines += demanded(content, voice)
    rates = [estimate.cost.basis for estimate in estimates if estimate.cost is not None]
    if (content.currency != "USD" or advice.budget is not None) and rates and rates[0].get("exchange_rate"):
        lines.append(exchange_sentence(rates[0], voice).rstrip(".。"))
    return lines


def next_best(content: ProposalContent, voice: Voice) -> str:
    """Return the best other option, its outlay, and why it is not recommended."""
    decision = content.decision
    if decision is None:
        return ""
    chosen = content.advice.recommended
    others = [option for option in decision.options if option.id != chosen and option.time is not None]
    other = best_other(decision, others, chosen)
    if other is None:
        return voice.gettext("There is no other option that runs.")
    reasons = next((one.reasons for one in content.advice.avoid if one.label == other.id), [])
    if reasons:
        why = voice.sentence(reasons[0])
    elif other.id == decision.recommended:
        why = voice.gettext(
            "recommended by limits and outlay" if decision.question.limited else "recommended by outlay"
        )
    elif other.why_not is None:
        why = voice.gettext("its outlay cannot be told apart")
    else:
        why = voice.say(other.reason or "")
    outlay = content.account.of(other.id) if content.account is not None else None
    spent = [voice.exact(outlay.total, content.currency)] if outlay is not None else []
    return f"{' · '.join([other.id, *spent])}{voice.sign(': ')}{why}"


def best_other(
    decision: Decision, others: Sequence[DecisionOption], chosen: str | None
) -> DecisionOption | None:
    """Return the option that the decision names next to the chosen one, else the cheapest other."""
    named = [decision.recommended, *decision.tied, decision.margin.over if decision.margin else None]
    by_name = {option.id: option for option in others}
    first = next((by_name[name] for name in named if name in by_name and name != chosen), None)
    priced = [option for option in others if option.outlay is not None]
    cheapest = min(
        priced, key=lambda one: (not one.meets, one.outlay.value if one.outlay else 0.0), default=None
    )
    return first or cheapest or next(iter(others), None)


def turns(content: ProposalContent, voice: Voice) -> list[str]:
    """Return which change of an input would change the recommendation."""
    decision = content.decision
    if decision is None:
        return []
    chosen, rule = content.advice.recommended, decision.recommended
    own = chosen is not None and rule is not None and chosen != rule
    found = [turn for turn in decision.overturned_by if not own or turn.then == chosen]
    said = [voice.sentence(text) for turn in found for text in turn_of(turn, decision)][:MOST_TURNS]
    if own:
        pair = {"chosen": chosen, "rule": rule}
        said = said or [voice.sentence(Message("no single change of an input leads to {chosen}", pair))]
        return [voice.sentence(Message("{chosen} is the author's choice, {rule} that by rule", pair)), *said]
    unmoved = voice.gettext("No single input within its range: see the ranges of the options.")
    return said or ([unmoved] if rule is not None else [])


def turn_of(turn: Overturn, decision: Decision) -> Iterator[Message]:
    if turn.at is None or turn.then is None:
        return
    values: dict[str, object] = {"then": turn.then}
    if turn.input == "demand.runs":
        values["runs"] = round(turn.at.value)
        yield Message(
            "from {runs} runs on: {then}" if turn.at.value > decision.runs else "up to {runs} runs: {then}",
            values,
        )
    elif turn.input == "deadline_s":
        shorter = decision.question.deadline_s is None or turn.at.value < decision.question.deadline_s
        values["time"] = duration(turn.at.value)
        yield Message(
            "with a deadline below {time}: {then}" if shorter else "with a deadline above {time}: {then}",
            values,
        )
    elif turn.input.startswith("price."):
        priced = turn.input.removeprefix("price.")
        values |= {"option": priced, "price": money(turn.at.value, turn.at.unit)}
        dearer = priced == decision.recommended
        rented = any(option.id == priced and option.purchase is None for option in decision.options)
        if rented:
            yield Message(
                "if an hour of each system of {option} costs more than {price}: {then}"
                if dearer
                else "if an hour of each system of {option} costs less than {price}: {then}",
                values,
            )
        else:
            yield Message(
                "if the unit price of {option} is above {price}: {then}"
                if dearer
                else "if the unit price of {option} is below {price}: {then}",
                values,
            )


def signed(content: ProposalContent, voice: Voice) -> str:
    """Return what the customer agrees to by signing; nothing of an estimate."""
    account = content.account
    price = None if account is None else account.price
    if content.kind is None:
        return ""
    if content.kind == "estimate" or price is None:
        return voice.gettext(
            "Nothing: this is an estimate. Its prices rest on the sources named and may change; they bind "
            "nobody until an offer states them."
        )
    day = "" if content.valid_until is None else content.valid_until.isoformat()
    paid = price.supply if price.total is None else price.total
    values: dict[str, object] = {
        "option": price.option,
        "price": voice.exact(paid, content.currency),
        "day": voice.date(day),
    }
    return voice.sentence(
        Message(
            "the scope of {option}, its price of {price} without tax, and the acceptance criteria; the offer "
            "holds until {day}"
            if price.total is None
            else "the scope of {option}, its price of {price} with tax, and the acceptance criteria; the "
            "offer holds until {day}",
            values,
        )
    )


def stated_budget(content: ProposalContent, voice: Voice) -> str:
    """Return the budget as it was stated in another currency, with the rate and its date."""
    converted = content.converted
    if converted is None:
        return ""
    own, other, rate = content.currency, converted.stated.unit, converted.rate
    one, units, rate = (other, own, rate) if rate >= 1.0 else (own, other, 1.0 / rate)
    values: dict[str, object] = {
        "budget": voice.full(converted.stated.value, other),
        "one": one,
        "rate": voice.number(rate, 5),
        "currency": units,
        "day": voice.date(converted.as_of),
    }
    message = Message("stated as {budget}; 1 {one} = {rate} {currency}, {day}", values)
    return f" ({voice.say(message)})"


def demanded(content: ProposalContent, voice: Voice) -> list[str]:
    """Return the power at the site, the certainty of the limits, and how often the work is done."""
    decision, colon = content.decision, voice.sign(": ")
    if decision is None:
        return []
    question = decision.question
    lines = [f"{voice.gettext('Number of runs')}{colon}{voice.number(decision.runs)}"]
    if question.power_w is not None:
        lines.append(f"{voice.gettext('Power at the site')}{colon}{voice.value(question.power_w, 'W')}")
    if question.limited:
        lines.append(f"{voice.label('limits.probability')}{colon}{voice.percent(question.probability)}")
    return lines


def completion(row: ComparisonRow, content: ProposalContent, voice: Voice) -> str:
    """Return when an option finishes training, and with which probability."""
    time, scale, before = whole_time(row, content), scale_of_times(content), of_option(row, content, voice)
    values: dict[str, object] = {"time": voice.central(time, scale)}
    if time is None or time.low == time.high:
        unsure = Message("{time} after the start of training, without a known range", values)
        return before + voice.sentence(unsure)
    values["late"] = voice.value(time.high, "s", scale, exact=False)
    deadline = content.advice.deadline_s
    sure = Message(
        "{time} after the start of training, and within {late} with a probability of 90 % (P90)", values
    )
    if content.decision is not None and deadline is not None and time.high > deadline:
        values["limit"] = voice.value(deadline, "s")
        sure = Message(
            "{time} after the start of training; it may take longer than the {limit} asked", values
        )
    told = f"{before}{voice.ended(voice.sentence(sure))}"
    option = content.decided(row.label)
    kept = None if option is None else option.probability
    if kept is not None:
        likely = Message("all limits are kept with a probability of {chance}", {"chance": chance(kept)})
        return f"{told} {voice.sentence(likely)}"
    if deadline is None or content.decision is not None:
        return before + voice.sentence(sure)
    template = (
        "the deadline of {limit} is met with a probability of at least 90 %"
        if time.high <= deadline
        else "the deadline of {limit} is met with a probability of less than 90 %"
    )
    return f"{told} {voice.sentence(Message(template, {'limit': voice.value(deadline, 's')}))}"


def of_option(row: ComparisonRow, content: ProposalContent, voice: Voice) -> str:
    """Return the label of the option that prefixes a line if several are offered."""
    return f"{row.label}{voice.sign(': ')}" if len(content.offered) > 1 else ""
