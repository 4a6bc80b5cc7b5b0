"""A proposal in words in its language, with numbers formatted as on the pages."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from app.engine.units import HOUR
from app.errors import Message
from app.estimating.decision import Decision, DecisionOption
from app.estimating.documents import Text
from app.estimating.ranges import chance, duration, money
from app.estimating.schema import Quantity
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.lines import ProposalLine
from app.features.proposals.model import Commitment, Proposal, ProposalContent, SectionInput, Sender
from app.features.proposals.texts import templates
from app.features.proposals.writing import costs, evidence, options
from app.features.proposals.writing.blocks import (
    Against,
    Block,
    Cell,
    ChartBlock,
    Grid,
    Head,
    Paragraph,
    Points,
    SectionBlock,
    Signatures,
    VerdictBlock,
    View,
    figure,
    table,
)
from app.features.proposals.writing.evidence import measured_rate, measured_run
from app.features.proposals.writing.options import recommended_estimate, scale_of_times
from app.features.studies.common_basis import exchange_sentence
from app.features.studies.options import DemandAnswer
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice, written

RANGE, PART = ".range", "part."

PLACES = {
    "plan": "plan",
    **dict.fromkeys(("comparison", "logic", "term", "bill", "advice", "measured"), "line"),
}
"""Section of a line → context in which its name is looked up."""


def line_name(section: str, name: str, voice: Voice) -> str:
    if name.endswith(RANGE):
        return f"{line_name(section, name.removesuffix(RANGE), voice)} ({voice.gettext('80 % interval')})"
    if section == "acceptance":
        return voice.label(name.removeprefix("acceptance."), "line")
    if section in {"warnings", "assumptions"}:
        return voice.label(name)
    for prefix, context in ((PART, "part"), ("term.line.", "cost"), ("bill.group.", "bill")):
        if name.startswith(prefix):
            return voice.label(name.removeprefix(prefix), context)
    if name.startswith(("runs.run.", "networks.run.")):
        return f"{voice.gettext('Measured run')} {name.rpartition('.')[2]}"
    if name.startswith(("runs.", "networks.", "fit.")):
        return voice.label(name.partition(".")[2], "measured")
    if name.startswith("left_out.") or (name.startswith("bill.") and name.count(".") > 1):
        # left_out.0.part.what, bill.part.what
        item, _, what = name.removeprefix("left_out.").partition(".")[2].rpartition(".")
        return f"{item} · {voice.label(what, 'line')}"
    return voice.label(name, PLACES.get(section, "line"))


def line_value(line: ProposalLine, content: ProposalContent, voice: Voice) -> str:
    """Return the value of a line as printed in the document's tables, without its range."""
    if line.name == "avoid":
        # The line has the reason in English, for programs.
        return voice.sentence(content.advice.avoid[int(line.path.split(".")[2])].reasons[0])
    if line.name == "basis":
        estimate = content.comparison.rows[int(line.path.split(".")[2])].estimate
        assert estimate is not None and estimate.validation.basis_text is not None, "the line is of it"
        return voice.sentence(estimate.validation.basis_text)
    if line.section == "acceptance":
        return committed_value(content.acceptance[int(line.path.split(".")[1])], content, voice)
    if line.name.startswith(PART) and isinstance(line.value, int | float):
        return voice.part(line.value, scale_of_times(content), whole_of(line.option, content))
    return value_written(line.section, line.name, line.value, line.unit, line.low is None, content, voice)


def whole_of(option: str | None, content: ProposalContent) -> float:
    """Return the sum of the parts of an option's time. [s]"""
    row = next((row for row in content.comparison.rows if row.label == option), None)
    parts = row.estimate.breakdown if row is not None and row.estimate is not None else None
    return sum(part.seconds for part in parts or ()) or 1.0


def value_written(
    section: str, name: str, value: JsonValue, unit: str, exact: bool, content: ProposalContent, voice: Voice
) -> str:
    if isinstance(value, list):
        ends = (end for end in value if end is not None)
        return "–".join(value_written(section, name, end, unit, exact, content, voice) for end in ends)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return written(value, voice, PLACES.get(section, "")) if value is not None else voice.gettext("none")
    if name == "ratio":
        return voice.ratio(value)
    if section == "measured" and unit == "1":
        return voice.percent(value)
    if section == "measured" and ".run." in name:
        return measured_run(value, voice)
    if section == "measured" and name.endswith((".mean", ".rate")):
        return measured_rate(value, voice)
    if name == "samples":
        return voice.count(value)
    if (unit == "h" and name == "hours") or name == "time_to_train" or name.startswith(PART):
        seconds = value * HOUR if unit == "h" else value
        quantity = Quantity(value=seconds, low=seconds, high=seconds * (1.0 if exact else 1.01), unit="s")
        return voice.central(quantity, scale_of_times(content))
    if unit in {"", "a"} or name == "term.useful_hours_per_year":
        return voice.number(value)
    quantity = Quantity(value=value, low=value, high=value if exact else value + abs(value), unit=unit)
    return voice.central(quantity)


FINGERPRINT = 12
"""Digits of the hash that are printed on every page."""

OFFER = frozenset({"scope", "acceptance", "bill", "term", "exclusions", "terms", "signature"})
"""Sections about the offer, left out if no option is offered."""


def write_proposal(proposal: Proposal, voice: Voice) -> View:
    """Return a proposal in words; sections that are not shown are marked."""
    content = proposal.content
    first = summary(content, voice)
    charted = any(isinstance(block, ChartBlock) for block in first)
    computed = {
        "summary": first,
        "reasons": reasons(content, voice),
        "comparison": options.comparison(content, voice, charted),
        "measured": evidence.measured(content, voice),
        "logic": options.logic(content, voice),
        "bill": costs.bill(content, voice),
        "term": costs.term(content, voice),
        "acceptance": acceptance(content, voice),
        "risks": evidence.risks(content, voice),
        "assumptions": evidence.assumptions(content, voice),
        "sources": evidence.sources(content, voice),
        "method": evidence.method(proposal, voice),
        "plan": options.plans(content, voice),
        "signature": signatures(content, voice),
    }
    # Proposals frozen before sections could be chosen have the computed ones.
    chosen = content.sections or [SectionInput.model_validate({"id": name}) for name in computed]
    sections = [
        SectionBlock(s.id, voice.label(s.id, "document"), computed.get(s.id, ()), s.text or "", s.shown)
        for s in chosen
        if content.offered or s.id not in OFFER
    ]
    return View(
        language=voice.language,
        title=content.title,
        kicker=voice.gettext("Infrastructure proposal"),
        customer=content.customer,
        facts=facts(proposal, voice),
        confidential=voice.gettext("Confidential") if content.confidential else "",
        footer=content.branding.footer or "",
        fingerprint=fingerprint(proposal) or voice.gettext("Draft"),
        # Empty sections are left out, unless they are hidden or have a template.
        sections=[s for s in sections if s.printed or not s.shown or s.id in templates(voice.language)],
    )


def fingerprint(proposal: Proposal) -> str:
    return proposal.sha256[:FINGERPRINT] if proposal.sha256 else ""


def facts(proposal: Proposal, voice: Voice) -> list[tuple[str, str]]:
    content, until = proposal.content, proposal.content.valid_until
    sender = content.sender or Sender()
    day = (proposal.frozen_at or proposal.updated_at).date().isoformat()
    unlimited = voice.gettext("not limited")
    rows = [
        (voice.gettext("Customer"), content.customer),
        (voice.gettext("Sender"), sender.organization or ""),
        (voice.gettext("Contact"), " · ".join(filter(None, (sender.contact, sender.email, sender.phone)))),
        (voice.gettext("Reference number"), content.number or ""),
        (voice.gettext("Date"), voice.date(day)),
        (voice.gettext("Valid until"), voice.date(until.isoformat()) if until else unlimited),
        (voice.gettext("Currency"), content.currency),
        (voice.gettext("Hash"), fingerprint(proposal) or voice.gettext("not frozen yet")),
    ]
    return [(name, value) for name, value in rows if value]


MOST_REASONS, MOST_CHANGES, MOST_CHARTED = 3, 3, 5
"""Reasons, inputs that could change the result, and options in the chart of a summary of one page."""


def rows_offered(content: ProposalContent) -> list[ComparisonRow]:
    return [row for row in content.comparison.rows if row.label in content.offered]


def summary(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the summary page: what to take, why, its price and when it finishes."""
    rows = rows_offered(content)
    sentence = voice.sentence(recommendation(content, rows))
    if content.decision is None or content.advice.recommended != content.decision.recommended:
        sentence = voice.ended(sentence)
    figures = headline(rows[0], content, voice) if len(rows) == 1 else ()
    costs = [line for row in rows for line in paid(row, content, voice)]
    times = [completion(row, content, voice) for row in rows]
    offer = [Points(voice.gettext("Cost"), costs), Points(voice.gettext("Completion"), times)]
    blocks: list[Block] = [
        VerdictBlock(voice.gettext("Recommendation"), sentence, figures),
        Points(
            voice.gettext(
                "What is trained, and within which limits" if limited(content) else "What is trained"
            ),
            basis(content, voice),
        ),
        Points(voice.gettext("Reasons"), main_reasons(content, rows, voice)),
        *(offer if rows else [Points(voice.gettext("What would fit"), remedies(content, voice))]),
        Points(voice.gettext("What could change this"), possible_changes(content, voice)),
    ]
    if len(rows) == 1 and len(content.comparison.rows) <= MOST_CHARTED:
        blocks.append(options.time_chart(content, voice))
    return blocks


def limited(content: ProposalContent) -> bool:
    if content.decision is not None:
        return content.decision.question.limited
    return content.advice.deadline_s is not None or content.advice.budget is not None


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
        lines.append(f"{voice.gettext('Deadline')}{colon}{voice.value(advice.deadline_s, 's')}")
    if advice.budget is not None:
        budget = voice.full(advice.budget, content.currency)
        kind = advice.budget_kind
        paid = voice.label(kind) if kind else voice.gettext("purchase, or the run if rented")
        lines.append(f"{voice.gettext('Budget')} ({paid}){colon}{budget}{stated_budget(content, voice)}")
    lines += demanded(content, voice)
    rates = [estimate.cost.basis for estimate in estimates if estimate.cost is not None]
    if (content.currency != "USD" or advice.budget is not None) and rates and rates[0].get("exchange_rate"):
        lines.append(exchange_sentence(rates[0], voice).rstrip(".。"))
    return lines


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
    values: dict[str, object] = {"option": rows[0].label, "time": duration((rows[0].hours or 0.0) * HOUR)}
    whole = content.outlay_of(rows[0].label)
    if whole is None or content.term is None:
        return Message("we recommend {option}, which trains the model in {time}", values)
    values |= {"cost": money(whole.value, content.currency), "years": content.term.years}
    return Message(
        "we recommend {option}, which trains the model in {time} and costs {cost} in {years} years", values
    )


def main_reasons(content: ProposalContent, rows: Sequence[ComparisonRow], voice: Voice) -> list[str]:
    advice = content.advice
    if not rows:
        avoided = [(option.label, voice.sentence(text)) for option in advice.avoid for text in option.reasons]
        return [f"{label}{voice.sign(': ')}{reason}" for label, reason in avoided[:MOST_REASONS]]
    sentences = [voice.sentence(reason) for reason in advice.reasons]
    estimate = rows[0].estimate
    if estimate is not None and estimate.memory is not None:
        memory = estimate.memory
        usable = voice.central(memory.usable or memory.capacity)
        used = {"need": voice.central(memory.per_device), "have": usable}
        fits = Message("the model fits: {need} of {have} usable memory per device", used)
        sentences.append(voice.sentence(fits))
    if estimate is not None and estimate.validation.family_error is not None:
        error = {"error": voice.percent(estimate.validation.family_error)}
        median = Message("published runs of its kind were predicted within {error} (median)", error)
        sentences.append(voice.sentence(median))
    return sentences[:MOST_REASONS]


def remedies(content: ProposalContent, voice: Voice) -> list[str]:
    """Return what would fit instead of the options that do not."""
    decision = content.decision
    lines = [voice.sentence(text) for text in decision.sentences[1:]] if decision is not None else []
    for warning in content.warnings:
        remedy = warning.text.values.get("remedy")
        if isinstance(remedy, dict):
            lines.append(f"{' · '.join(warning.options)}{voice.sign(': ')}{voice.sentence(remedy)}")
    return lines or [voice.gettext("Other options, or wider limits: see the comparison of the options.")]


def paid(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[str]:
    """Return the costs of an option: purchase, over the term and per run."""
    bill = next((bill for bill in content.bills if bill.label == row.label), None)
    messages = []
    if bill is not None and bill.total is not None and bill.groups:
        template = (
            "bill of materials total: {cost}, with installation and excluding VAT"
            if bill.complete
            else "bill of materials total: at least {cost}, with installation and excluding VAT"
        )
        messages.append(Message(template, {"cost": voice.quantity(bill.total)}))
    whole, decision = content.outlay_of(row.label), content.decision
    if whole is not None and content.term is not None:
        over: dict[str, object] = {"years": content.term.years, "cost": voice.quantity(whole)}
        if decision is None:
            messages.append(Message("over {years} years, operation included: {cost}, excluding VAT", over))
        else:
            over["runs"] = decision.runs
            template = (
                "outlay over {years} years for one run, operation included: {cost}, excluding VAT"
                if decision.runs == 1
                else "outlay over {years} years for {runs} runs, operation included: {cost}, excluding VAT"
            )
            messages.append(Message(template, over))
    if row.run_cost is not None:
        messages.append(Message("per training run: {cost}", {"cost": voice.quantity(row.run_cost)}))
    if not messages:
        messages.append(Message("the cost is unknown: nobody publishes a price"))
    return [of_option(row, content, voice) + voice.sentence(message) for message in messages]


def of_option(row: ComparisonRow, content: ProposalContent, voice: Voice) -> str:
    """Return the label of the option that prefixes a line if several are offered."""
    return f"{row.label}{voice.sign(': ')}" if len(content.offered) > 1 else ""


def completion(row: ComparisonRow, content: ProposalContent, voice: Voice) -> str:
    """Return when an option finishes training, and with which probability."""
    time, scale, before = hours_of(row), scale_of_times(content), of_option(row, content, voice)
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


def possible_changes(content: ProposalContent, voice: Voice) -> list[str]:
    """Return what could change the result: the most influential inputs, and the warnings."""
    sentences, estimate, scale = [], recommended_estimate(content), scale_of_times(content)
    ranked = sorted(estimate.sensitivity if estimate else (), key=lambda f: -abs(f.high - f.low))
    for factor in ranked[:MOST_CHANGES]:
        ends = {name: voice.value(getattr(factor, name), "s", scale, exact=False) for name in ("low", "high")}
        values = {"input": voice.label(factor.input), **ends}
        sentences.append(voice.sentence(Message("{input}: training time between {low} and {high}", values)))
    severities = [warning.severity for warning in content.warnings]
    counted = Message(
        "serious warnings: {serious}, cautions: {cautions}; all are listed under “Risks and "
        "warnings”. Ranges are 80 % intervals, from the 10th to the 90th percentile.",
        {"serious": severities.count("serious"), "cautions": severities.count("caution")},
    )
    return [*sentences, voice.sentence(counted)]


HEADLINES = 4


def headline(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[tuple[str, str, str]]:
    estimate, scale = row.estimate, scale_of_times(content)
    bought = next((bill.total for bill in content.bills if bill.label == row.label and bill.groups), None)
    figures = [
        (voice.gettext("Training time"), hours_of(row)),
        (voice.gettext("Cost per run"), row.run_cost if estimate and estimate.cost else None),
        (voice.gettext("Bill of materials total"), bought),
        (voice.gettext("Outlay" if content.decision else "Cost over the term"), content.outlay_of(row.label)),
        (voice.gettext("Power in this training"), estimate.system.power if estimate and bought else None),
    ]
    known = [(name, q, scale if q.unit == "s" else None) for name, q in figures if q is not None]
    return [(name, voice.central(q, size), voice.spread(q, size)) for name, q, size in known[:HEADLINES]]


def reasons(content: ProposalContent, voice: Voice) -> list[Block]:
    advice = content.advice
    why = [voice.sentence(reason) for reason in advice.reasons] if content.offered else []
    blocks: list[Block] = [Points(voice.gettext("Why this choice"), why)] if why else []
    if content.decision is not None:
        blocks.append(decided(content.decision, voice))
    if any(answer.recommended for answer in content.by_demand):
        demands = [demand_line(answer, voice) for answer in content.by_demand]
        blocks.append(Points(voice.gettext("For other demands"), demands))
    if advice.avoid:
        avoided = [(a.label, [voice.sentence(reason) for reason in a.reasons]) for a in advice.avoid]
        blocks.append(Against(voice.gettext("What not to buy"), avoided))
    return blocks


def demand_line(answer: DemandAnswer, voice: Voice) -> str:
    """Return what is recommended for one demand, and from how many runs on another option is."""
    demand, colon = answer.demand, voice.sign(": ")
    if demand.runs == 1:
        name = voice.gettext("Once")
    elif demand.runs_per_year is not None:
        name = voice.gettext("%(runs)s a year") % {"runs": voice.number(demand.runs_per_year)}
    else:
        name = voice.gettext("Always busy")
    if answer.recommended is None:
        return f"{name}{colon}{voice.gettext('nothing meets what is asked')}"
    line = f"{name}{colon}{answer.recommended} · {voice.central(answer.outlay)}"
    turn = answer.overturn
    if turn is None or turn.at is None or turn.then is None:
        return line
    key = (
        "from %(runs)s runs on: %(option)s"
        if turn.at.value > answer.runs
        else "up to %(runs)s runs: %(option)s"
    )
    return f"{line} · {voice.gettext(key) % {'runs': voice.number(turn.at.value), 'option': turn.then}}"


def decided(decision: Decision, voice: Voice) -> Grid:
    """Return the options of the decision as a table."""

    def verdict(option: DecisionOption) -> str:
        if option.id == decision.recommended:
            return voice.gettext("recommended")
        return voice.label(option.why_not, "why_not") if option.why_not else voice.gettext("a tie")

    def share(value: float | None) -> str:
        return MISSING if value is None else voice.percent(value)

    limited = [(Head(voice.gettext("Probability"), True), lambda o: share(o.probability))]
    return table(
        "decision",
        voice.gettext("Options of the decision"),
        decision.options,
        (Head(voice.gettext("Option"), width=1.8), lambda option: option.id),
        (Head(voice.gettext("Verdict"), width=1.3), verdict),
        (Head(voice.gettext("Outlay"), True, 1.5), lambda option: figure(option.outlay, voice)),
        (Head(voice.gettext("Purchase"), True, 1.2), lambda option: voice.central(option.purchase)),
        (Head(voice.gettext("Idle share of the term"), True), lambda option: share(option.idle_share)),
        *(limited if decision.question.limited else ()),
        best=[i for i, option in enumerate(decision.options) if option.id == decision.recommended],
    )


def committed_value(commitment: Commitment, content: ProposalContent, voice: Voice) -> str:
    scale = scale_of_commitment(commitment, content)
    return voice.value(commitment.committed, commitment.expected.unit, scale, exact=False)


def scale_of_commitment(commitment: Commitment, content: ProposalContent) -> Scale | None:
    return scale_of_times(content) if commitment.figure == "time_to_train" else None


def acceptance(content: ProposalContent, voice: Voice) -> list[Block]:
    bounds = {"at_most": voice.gettext("at most"), "at_least": voice.gettext("at least")}
    value = Head(voice.gettext("Committed value"), True, 1.6)
    blocks: list[Block] = []
    for index, row in enumerate(rows_offered(content)):
        commitments = [commitment for commitment in content.acceptance if commitment.option == row.label]
        if not commitments:
            option = {"option": row.label}
            none = Message(
                "{option}: no figure is committed to; none of them has a range that can be kept", option
            )
            blocks.append(Paragraph(voice.sentence(none)))
            continue
        grid = table(
            f"acceptance-{index}",
            row.label,
            commitments,
            (Head(voice.gettext("Figure"), width=1.8), lambda c: voice.label(c.figure, "line")),
            (
                Head(voice.gettext("Estimate"), True, 1.8),
                lambda c: figure(c.expected, voice, scale_of_commitment(c, content)),
            ),
            (value, lambda c: Cell(committed_value(c, content, voice), bounds[c.bound])),
            (Head(voice.gettext("Commitment level"), True), lambda c: f"P{round(100 * c.level)}"),
        )
        blocks += [grid, Paragraph(options.commitment_basis(row, voice))]
    if content.acceptance:
        note = voice.gettext(
            "P90 is the value that is kept with a probability of 90 %, not the middle of the estimate: the "
            "worse end of its 80 % interval, which runs from the 10th to the 90th percentile."
        )
        blocks.append(Paragraph(note, quiet=True))
    return blocks


def signatures(content: ProposalContent, voice: Voice) -> list[Block]:
    sender = (content.sender.organization if content.sender else None) or ""
    parties = [(voice.gettext("Supplier"), sender), (voice.gettext("Customer"), content.customer)]
    person = [voice.gettext("Name"), voice.gettext("Job title")]
    return [Signatures(parties, [*person, voice.gettext("Signature"), voice.gettext("Date")])]
