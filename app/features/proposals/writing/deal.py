"""The deal of a proposal: acceptance procedure, schedule, conditions, risks, and claims that were checked."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.units import DAY
from app.errors import Message
from app.estimating.money import CostFigure
from app.features.comparisons.model import ComparisonRow
from app.features.proposals.account import WeightyAssumption
from app.features.proposals.conditions import Conditions
from app.features.proposals.model import ProposalContent, ProposalWarning, Sender
from app.features.proposals.naming import source_title
from app.features.proposals.texts import CONTRADICTION, supply_of
from app.features.proposals.writing.answer import rack_over_limit
from app.features.proposals.writing.blocks import Block, Cell, Head, Paragraph, Points, chart, table
from app.features.proposals.writing.options import scale_of_times, whole_time
from app.platform.charts.svg import Box, Drawing, Label, Line
from app.platform.wording.voice import MISSING, Voice

WEEK = 7 * DAY


def procedure(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the phases of the acceptance: what is tested, who measures, and what follows a failure."""
    if content.kind is None or content.advice.recommended is None:
        return []
    both = voice.gettext("Supplier, with the customer")
    supplier, repeat = (
        voice.gettext("Supplier"),
        voice.gettext("Faulty parts are replaced and the phase repeated."),
    )
    changed = voice.gettext(
        "Other instances are provided and the phase is repeated; faulty hours are not paid."
    )
    steps = [
        (
            voice.gettext("Network"),
            voice.gettext("Bandwidth and errors of every link, and a collective over all accelerators."),
            supplier,
        ),
        (
            voice.gettext("Storage"),
            voice.gettext("Reading the training data, and writing and reading a checkpoint."),
            supplier,
        ),
        (
            voice.gettext("Training"),
            voice.gettext(
                "The customer's model with the plan below: step time over several hours after warm-up."
            ),
            both,
        ),
    ]
    if supply_of(content) == "owned":
        steps = [
            (
                voice.gettext("Delivery"),
                voice.gettext("Parts and serial numbers against the bill of materials."),
                both,
            ),
            (
                voice.gettext("Burn-in"),
                voice.gettext("All accelerators, memories and links under full load without errors."),
                supplier,
            ),
            *steps,
        ]
    else:
        steps = [
            (
                voice.gettext("Provision"),
                voice.gettext("All instances of the offer are available at once."),
                supplier,
            ),
            *steps,
        ]
    after = repeat if supply_of(content) == "owned" else changed
    last = voice.gettext(
        "The figure is analysed and corrected, then measured again; after that the customer may withdraw."
    )
    rows = [(*step, last if step[0] == voice.gettext("Training") else after) for step in steps]
    return [
        table(
            "procedure",
            voice.gettext("Acceptance procedure"),
            [(f"{number}. {row[0]}", *row[1:]) for number, row in enumerate(rows, start=1)],
            (Head(voice.gettext("Phase"), width=1.0), lambda row: row[0]),
            (Head(voice.gettext("What is tested"), width=2.4), lambda row: row[1]),
            (Head(voice.gettext("Who measures"), width=1.1), lambda row: row[2]),
            (Head(voice.gettext("On failure"), width=2.0), lambda row: row[3]),
        )
    ]


Step = tuple[str, float | None, str]
"""Name, length [s], and who does it."""


def steps_of(content: ProposalContent, voice: Voice) -> list[Step]:
    """Return the steps from the order to the end of the first run; lengths that nobody stated are None."""
    stated, rows = content.conditions or Conditions(), content.comparison.rows
    row = next((row for row in rows if row.label == content.advice.recommended), None)
    time = None if row is None else whole_time(row, content)
    weeks = {
        "lead": stated.lead_weeks,
        "installation": stated.installation_weeks,
        "acceptance": stated.acceptance_weeks,
    }
    lengths = {name: None if value is None else value * WEEK for name, value in weeks.items()}
    supplier, customer = voice.gettext("Supplier"), voice.gettext("Customer")
    bought: list[Step] = [
        (voice.gettext("Delivery"), lengths["lead"], supplier),
        (voice.gettext("Installation"), lengths["installation"], supplier),
    ]
    return [
        *(
            bought
            if supply_of(content) == "owned"
            else [(voice.gettext("Provision"), lengths["lead"], supplier)]
        ),
        (voice.gettext("Acceptance"), lengths["acceptance"], f"{supplier}, {customer}"),
        (voice.gettext("First run"), None if time is None else time.value, customer),
    ]


def schedule(content: ProposalContent, voice: Voice) -> list[Block]:
    if content.kind is None or content.advice.recommended is None:
        return []
    steps = steps_of(content, voice)
    if content.kind == "estimate" and all(length is None for _, length, _ in steps[:-1]):
        return []
    rows, begin, known = [], 0.0, True
    for name, length, who in steps:
        start = voice.gettext("to be agreed") if not known else when(begin, voice)
        rows.append((name, start, MISSING if length is None else lasting(length, voice), who))
        known = known and length is not None
        begin += length or 0.0
        if length is None:
            rows[-1] = (name, start, voice.gettext("to be agreed"), who)
    grid = table(
        "schedule",
        voice.gettext("From the order to the result"),
        rows,
        (Head(voice.gettext("Step"), width=1.4), lambda row: row[0]),
        (Head(voice.gettext("Start"), True, 1.2), lambda row: row[1]),
        (Head(voice.gettext("Length"), True, 1.2), lambda row: row[2]),
        (Head(voice.gettext("Who"), width=1.4), lambda row: row[3]),
    )
    drawing = gantt(content, voice)
    if drawing is None:
        return [grid]
    return [grid, chart("gantt", drawing.title, drawing.description, ())]


def when(seconds: float, voice: Voice) -> str:
    if not seconds:
        return voice.gettext("Order")
    return voice.say(Message("week {week}", {"week": int(seconds / WEEK) + 1}))


def lasting(seconds: float, voice: Voice) -> str:
    if seconds < WEEK:
        return voice.value(seconds, "s")
    return voice.say(Message("{weeks} weeks", {"weeks": voice.decimal(seconds / WEEK, 1, trim=True)}))


WIDTH, NAME, ROW, BAR = 640.0, 130.0, 24.0, 14.0
"""Of a plan: its width, that of the names, and the heights of a row and of its bar. [px]"""

MOST_TICKS = 12


def gantt(content: ProposalContent, voice: Voice) -> Drawing | None:
    """Return the steps as bars over weeks; None where a length before the first run is not known."""
    steps = steps_of(content, voice)
    if any(length is None for _, length, _ in steps):
        return None
    lengths = [length or 0.0 for _, length, _ in steps]
    whole = sum(lengths)
    per_pixel = whole / (WIDTH - NAME - 20.0)
    bottom = 20.0 + ROW * len(steps)
    shapes: list[Box | Line | Label] = []
    weeks = max(1, round(whole / WEEK / MOST_TICKS))
    for week in range(0, int(whole / WEEK) + 1, weeks):
        x = NAME + week * WEEK / per_pixel
        shapes += [Line(x, 14.0, x, bottom), Label(x, 10.0, str(week), 9.0, "middle", "quiet")]
    begin = 0.0
    for place, ((name, _, _), length) in enumerate(zip(steps, lengths, strict=True)):
        top = 18.0 + ROW * place
        kind = "machine" if place == len(steps) - 1 else "leaf"
        shapes.append(Label(0.0, top + 12.0, name, 11.0, "start"))
        shapes.append(Box(NAME + begin / per_pixel, top, max(length / per_pixel, 2.0), BAR, kind))
        begin += length
    told = ", ".join(
        f"{name} {lasting(length, voice)}" for (name, _, _), length in zip(steps, lengths, strict=True)
    )
    return Drawing(
        WIDTH, bottom + 6.0, voice.gettext("Schedule in weeks from the order"), told, tuple(shapes)
    )


def conditions(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the conditions of the deal; what nobody stated is to be agreed."""
    if content.kind is None:
        return []
    stated = content.conditions or Conditions()
    rows = [
        (voice.gettext("Payment"), stated.payment),
        (voice.gettext("Warranty"), stated.warranty),
        (voice.gettext("Service level"), stated.service_level),
        (voice.gettext("Penalty for delay"), stated.delay_penalty),
        (voice.gettext("End of support"), stated.support_end),
        (voice.gettext("References"), stated.references),
    ]
    over = rack_over_limit(content)
    if over is not None:
        rows.insert(0, (voice.gettext("Power of a rack"), voice.ended(voice.sentence(over))))
    # An estimate leaves open what an offer has to say.
    agreed = voice.gettext("to be agreed") if content.kind == "offer" else ""
    shown = [(name, text or agreed) for name, text in rows if text or (agreed and name != rows[-1][0])]
    company = company_of(content.sender, voice)
    if company:
        shown.append((voice.gettext("Supplier"), company))
    grid = table(
        "conditions",
        voice.gettext("Conditions"),
        shown,
        (Head(voice.gettext("Condition"), width=1.0), lambda row: row[0]),
        (Head(voice.gettext("Content"), width=3.4), lambda row: row[1]),
    )
    return [Paragraph(binding(content, voice)), *([grid] if shown else [])]


def binding(content: ProposalContent, voice: Voice) -> str:
    """Return whether the prices bind."""
    if content.kind == "offer" and content.valid_until is not None:
        day = {"day": voice.date(content.valid_until.isoformat())}
        return voice.sentence(
            Message("this is an offer: its prices hold until {day} and are agreed by signature.", day)
        )
    return voice.gettext(
        "This is an estimate: its prices rest on the sources named and are not agreed by it."
    )


def company_of(sender: Sender | None, voice: Voice) -> str:
    if sender is None:
        return ""
    colon = voice.sign(": ")
    more = [
        (voice.gettext("Representative"), sender.representative),
        (voice.gettext("Registration number"), sender.registration),
        (voice.gettext("Address"), sender.address),
    ]
    known = [f"{name}{colon}{value}" for name, value in more if value]
    return " · ".join([sender.organization or "", *known]) if known else ""


PRICES = frozenset(
    {"price_is_estimate", "prices_estimated", "price_unknown", "exchange_rate_dated", "network_price_unknown",
     "network_price_incomplete", "storage_not_counted", "bill_extras_not_counted", "cost_bases_differ"}
)  # fmt: skip
SUPPLY = frozenset({"not_sold_new", "refused_network_recommended"})
SITE = frozenset({"rack_power_exceeded", "weight_unknown", "switches_uneven", "network_oversubscribed"})


def risks(content: ProposalContent, voice: Voice, draft: bool) -> list[Block]:
    """Return what may go wrong, how likely, with which effect, who answers for it and how."""
    warnings = [one for one in content.warnings if draft or one.code != CONTRADICTION]
    grave = [one for one in warnings if one.severity != "info"]
    rows = [*late(content, voice), *(risk(one, content, voice) for one in grave)]
    blocks: list[Block] = []
    if rows:
        blocks.append(
            table(
                "risks",
                voice.gettext("Risks"),
                rows,
                (Head(voice.gettext("Risk"), width=3.0), lambda row: Cell(row[0], row[1])),
                (Head(voice.gettext("Likelihood"), width=0.9), lambda row: row[2]),
                (Head(voice.gettext("Effect"), width=0.9), lambda row: row[3]),
                (Head(voice.gettext("Responsible"), width=0.9), lambda row: row[4]),
                (Head(voice.gettext("Response"), width=2.2), lambda row: row[5]),
            )
        )
    notes = [one for one in warnings if one.severity == "info"]
    if notes:
        told = dict.fromkeys(about(one, content, voice) for one in notes)
        blocks.append(Points(voice.gettext("Notes"), list(told)))
    calm = Paragraph(voice.gettext("No check raised a warning."))
    return blocks or [calm]


def about(warning: ProposalWarning, content: ProposalContent, voice: Voice) -> str:
    options = concerned(warning, content)
    said = voice.sentence(warning.text)
    return f"{options}{voice.sign(': ')}{said}" if options else said


def concerned(warning: ProposalWarning, content: ProposalContent) -> str:
    return " · ".join(warning.options) if len(warning.options) < len(content.comparison.rows) else ""


Risk = tuple[str, str, str, str, str, str]
"""Sentence, options concerned, likelihood, effect, owner, answer."""


def late(content: ProposalContent, voice: Voice) -> list[Risk]:
    """Return the risk that the offered option misses a limit, with its probability."""
    option = content.decided(content.advice.recommended)
    if option is None or option.probability is None:
        return []
    return [
        (
            voice.gettext("The limits of time and money are missed."),
            option.id,
            voice.chance(1.0 - option.probability),
            voice.gettext("time"),
            voice.gettext("Supplier"),
            voice.gettext("Only the committed figures are promised; three measured steps narrow the range."),
        )
    ]


def risk(warning: ProposalWarning, content: ProposalContent, voice: Voice) -> Risk:
    code, supplier, customer = warning.code, voice.gettext("Supplier"), voice.gettext("Customer")
    if code in PRICES:
        kind = (
            voice.gettext("price"),
            supplier,
            voice.gettext("Stated as a binding price before the order."),
        )
    elif code in SUPPLY:
        kind = (voice.gettext("delivery"), supplier, voice.gettext("Confirmed in writing before the order."))
    elif code in SITE:
        kind = (voice.gettext("site"), customer, voice.gettext("Survey of the site before delivery."))
    elif code == CONTRADICTION:
        kind = (
            voice.gettext("text"),
            supplier,
            voice.gettext("Correct the text of the section before freezing."),
        )
    else:
        kind = (
            voice.gettext("time"),
            f"{supplier}, {customer}",
            voice.gettext("A short measurement with the customer's model before the order."),
        )
    likely = voice.label(warning.severity, "likelihood")
    return (voice.sentence(warning.text), concerned(warning, content), likely, *kind)


def claims(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the stated times beside estimates of the same system, where there are both."""
    rows = content.comparison.rows
    checked = [
        (row, estimate)
        for row in rows
        if row.estimate is None and row.hours is not None and row.system is not None
        for estimate in [same_system(row, rows)]
    ]
    if not any(estimate is not None for _, estimate in checked):
        return []
    scale = scale_of_times(content)

    def estimated(pair: tuple[ComparisonRow, ComparisonRow | None]) -> str:
        return voice.gettext("not checked") if pair[1] is None else voice.quantity(pair[1].time, scale)

    def ratio(pair: tuple[ComparisonRow, ComparisonRow | None]) -> str:
        stated, own = pair[0].hours, None if pair[1] is None else pair[1].hours
        return MISSING if not stated or not own else voice.ratio(own / stated)

    return [
        table(
            "claims",
            voice.gettext("Vendor claims checked"),
            checked,
            (
                Head(voice.gettext("Claim"), width=2.0),
                lambda pair: Cell(pair[0].label, voice.label(pair[0].kind)),
            ),
            (Head(voice.gettext("Stated"), True), lambda pair: voice.central(pair[0].time, scale)),
            (Head(voice.gettext("Estimated"), True, 1.6), estimated),
            (Head(voice.gettext("Estimated / stated"), True), ratio),
        )
    ]


def same_system(stated: ComparisonRow, rows: Sequence[ComparisonRow]) -> ComparisonRow | None:
    for row in rows:
        if row.estimate is not None and row.hours is not None and row.system == stated.system:
            count = round(stated.factor) if stated.factor is not None else 1
            if row.estimate.system.count == count:
                return row
    return None


def weighty(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the figures that carry more than a fiftieth of the outlay, with source and date."""
    account = content.account
    if account is None or not account.assumptions:
        return []
    statuses = {
        "book": voice.gettext("our own price"),
        "stated": voice.gettext("stated by the customer or author"),
    }

    def source(one: WeightyAssumption) -> Cell:
        figure = one.figure
        said = statuses.get(figure.status) or (
            MISSING
            if figure.source is None
            else figure.source.publisher or source_title(figure.source, voice)
        )
        old = voice.gettext("older than a year") if one.old else ""
        return Cell(said, old)

    note = voice.gettext(
        "Every figure behind a line that carries more than 2 % of the outlay, with source and date; those "
        "without a share bear on all lines."
    )
    return [
        Paragraph(note),
        table(
            "weighty",
            voice.gettext("What the outlay rests on"),
            account.assumptions,
            (
                Head(voice.gettext("Figure"), width=2.0),
                lambda one: Cell(
                    voice.label(one.figure.name, "figure"), voice.label(one.item, "cost") if one.item else ""
                ),
            ),
            (
                Head(voice.gettext("Value"), True, 1.8),
                lambda one: figure_value(one.figure, voice),
            ),
            (
                Head(voice.gettext("Share of the outlay"), True, 1.0),
                lambda one: MISSING if one.share is None else voice.percent(one.share),
            ),
            (Head(voice.gettext("Source"), width=2.1), source),
            (
                Head(voice.gettext("Date"), True, 1.0),
                lambda one: voice.date(one.figure.as_of) if one.figure.as_of else MISSING,
            ),
        ),
    ]


def figure_value(figure: CostFigure, voice: Voice) -> str:
    """Return a figure as its source states it; yearly rates and shares in per cent."""
    if figure.unit == "1/year" or (figure.unit == "1" and figure.name.endswith(("share", "residual"))):
        return voice.percent(figure.value)
    unit = "" if figure.unit == "1" else f" {voice.label(figure.unit, 'unit')}"
    return f"{voice.number(figure.value, 6)}{unit}"
