"""The options of a proposal side by side: figures, how they were sized, how they are laid out."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import Message
from app.estimating.documents import Estimate, ModelSummary, Text
from app.estimating.schema import Quantity
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import Comparison, ComparisonRow
from app.features.proposals.lines import PLANNED
from app.features.proposals.model import ProposalContent
from app.features.proposals.writing.blocks import Block, Cell, ChartBlock, Grid, Head, Paragraph, SectionBlock
from app.platform.charts.figures import time_scale
from app.platform.wording.labels import words
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice, written

NAMED_PARTS = 3
"""Parts of the time that are named per option."""


def told(what: str, entries: Sequence[str]) -> str:
    """Return what a chart shows, entry by entry."""
    return f"{what}: {'; '.join(entries)}" if entries else what


def time(content: ProposalContent, scale: Scale, voice: Voice) -> str:
    """Return the time to train by option."""
    entries = [
        f"{row.label} {voice.quantity(hours_of(row), scale)} ({voice.label(row.kind)})"
        for row in content.comparison.rows
        if row.hours is not None
    ]
    return told(voice.gettext("Bar chart of training time by option"), entries)


def cost(content: ProposalContent, voice: Voice) -> str:
    """Return the cost of a run by option."""
    entries = [
        f"{row.label} {voice.quantity(row.run_cost)}"
        for row in content.comparison.rows
        if row.run_cost is not None
    ]
    return told(voice.gettext("Bar chart of cost per run by option"), entries)


def breakdown(found: Sequence[tuple[str, Estimate]], voice: Voice) -> str:
    """Return where the time of each option goes."""
    entries = []
    for label, one in found:
        total = sum(part.seconds for part in one.breakdown or ()) or 1.0
        heaviest = sorted(one.breakdown or (), key=lambda part: -part.seconds)[:NAMED_PARTS]
        shares = ", ".join(
            f"{voice.label(part.part, 'part')} {voice.share(part.seconds / total)}" for part in heaviest
        )
        entries.append(f"{label} {shares}")
    return told(voice.gettext("Stacked bar chart of training time by option, largest parts"), entries)


def sensitivity(estimate: Estimate, voice: Voice) -> str:
    """Return what the time of an option hangs on."""
    entries = [
        f"{voice.label(one.input)} {voice.value(one.low, 's', exact=False)}–"
        f"{voice.value(one.high, 's', exact=False)}"
        for one in estimate.sensitivity[:8]
    ]
    named = voice.say(
        Message(
            "Bar chart of the share each uncertain input has in the range of {option}",
            {"option": estimate.label},
        )
    )
    return told(named, entries)


def term(content: ProposalContent, voice: Voice) -> str:
    """Return the cost over the term by option."""
    entries = [
        f"{one.label} {voice.quantity(one.over_term)}" for one in (content.term.asked if content.term else ())
    ]
    return told(voice.gettext("Stacked bar chart of cost over the term by option"), entries)


COLUMNS = 4
"""Options that stand side by side in one table where options are columns."""

time_of = hours_of


def scale_of_times(content: ProposalContent) -> Scale:
    """Return one unit for the times of all options."""
    return time_scale([time_of(row) for row in content.comparison.rows])


def figure(one: Quantity | None, voice: Voice, scale: Scale | None = None) -> Cell:
    """Return a quantity with its range below."""
    return Cell(voice.central(one, scale), voice.spread(one, scale))


def comparison(content: ProposalContent, voice: Voice) -> SectionBlock:
    """Return the options as a table, the ratios between them and their charts."""
    rows = content.comparison.rows
    modelled = [row.estimate for row in rows if row.estimate is not None]
    scale = scale_of_times(content)
    best = min((row.hours for row in rows if row.hours), default=None)
    heads = [
        Head(voice.gettext("Option"), width=2.0),
        Head(voice.gettext("Training time"), True, 1.35),
        Head(voice.gettext("Relative to the fastest"), True, 0.95),
    ]
    if modelled:
        heads += [
            Head(voice.gettext("Cost per run"), True, 1.75),
            Head(voice.gettext("Throughput"), True, 1.6),
            Head(voice.gettext("MFU"), True, 1.4),
            Head(voice.gettext("Memory per device"), True, 1.2),
            Head(voice.gettext("Power"), True, 1.2),
        ]
    grid = Grid(
        "options",
        voice.gettext("Options side by side, with ranges in brackets"),
        heads,
        [option_row(row, content, bool(modelled), best, scale, voice) for row in rows],
        best=next((index for index, row in enumerate(rows) if row.label == content.advice.recommended), None),
    )
    blocks: list[Block] = [grid]
    if content.comparison.ratios:
        blocks.append(ratios(content, voice))
    if any(row.kind == "linear" for row in rows):
        said = Message(
            "rows scaled from another row assume {share} % of linear scaling",
            {"share": 100.0 * content.comparison.scaling_efficiency},
        )
        blocks.append(Paragraph(voice.sentence(said), quiet=True))
    if any(row.estimate is not None and row.estimate.cost is not None for row in rows):
        blocks.append(ChartBlock("cost", voice.gettext("Cost per run"), cost(content, voice)))
    return SectionBlock("comparison", voice.gettext("Comparison of the options"), blocks)


def time_chart(content: ProposalContent, voice: Voice) -> ChartBlock:
    """Return the chart of the times."""
    told = time(content, scale_of_times(content), voice)
    return ChartBlock("time", voice.gettext("Training time"), told)


def standing(row: ComparisonRow, comparison: Comparison, voice: Voice) -> str:
    """Return that a row is the fastest or ties for it; nothing for all others."""
    if row.label == comparison.fastest:
        return voice.gettext("fastest")
    return voice.gettext("tie") if row.label in comparison.fastest_tied else ""


def option_row(
    row: ComparisonRow,
    content: ProposalContent,
    modelled: bool,
    best: float | None,
    scale: Scale,
    voice: Voice,
) -> list[Cell]:
    """Return one option as a row."""
    one = row.estimate
    under = [voice.label(row.kind)]
    if one is not None:
        under.append(voice.say(Message("{count} devices", {"count": one.system.devices})))
    elif row.system is not None:
        under.append(row.system)
    if row.hours is None:
        time, against = Cell(voice.gettext("does not fit")), Cell(MISSING)
    else:
        time = figure(time_of(row), voice, scale)
        against = Cell(
            standing(row, content.comparison, voice) or voice.ratio(row.hours / (best or row.hours))
        )
    cells = [Cell(row.label, " · ".join(under)), time, against]
    if not modelled:
        return cells
    if one is None:
        return [*cells, *(Cell(MISSING) for _ in range(5))]
    memory = one.memory
    return [
        *cells,
        figure(row.run_cost, voice),
        figure(one.throughput, voice),
        figure(one.mfu, voice),
        Cell(MISSING)
        if memory is None
        else Cell(voice.central(memory.per_device), f"/ {voice.central(memory.usable or memory.capacity)}"),
        figure(one.system.power, voice),
    ]


def ratios(content: ProposalContent, voice: Voice) -> Grid:
    """Return how many times as long one option takes as another."""
    rows = [
        [
            Cell(voice.say(Message("{faster} vs. {slower}", {"faster": one.faster, "slower": one.slower}))),
            Cell(voice.ratio(one.ratio)),
            Cell(
                MISSING
                if one.low is None or one.high is None or one.probability is None
                else f"{voice.ratio(one.low)}–{voice.ratio(one.high)}"
            ),
            Cell(voice.chance(one.probability)),
        ]
        for one in content.comparison.ratios[:10]
    ]
    heads = [
        Head(voice.gettext("Relative speed of the options"), width=3.4),
        Head(voice.gettext("Ratio"), True),
        Head(voice.gettext("80 % interval"), True, 1.4),
        Head(voice.gettext("Probability"), True),
    ]
    return Grid("ratios", voice.gettext("How they compare"), heads, rows)


def running(content: ProposalContent) -> list[tuple[str, Estimate]]:
    """Return the estimates that run."""
    return [
        (row.label, row.estimate)
        for row in content.comparison.rows
        if row.estimate is not None and row.estimate.time_to_train is not None
    ]


def columns(
    name: str, caption: str, head: str, rows: Sequence[tuple[str, Sequence[Cell]]], labels: Sequence[str]
) -> list[Block]:
    """Return tables in which options are columns, so many at a time that they can be read."""
    blocks: list[Block] = []
    for start in range(0, len(labels), COLUMNS):
        stop = start + COLUMNS
        heads = [Head(head, width=1.6), *(Head(label, True, 1.5) for label in labels[start:stop])]
        body = [[Cell(title), *cells[start:stop]] for title, cells in rows]
        blocks.append(Grid(name if start == 0 else f"{name}-{start}", caption, heads, body))
    return blocks


def _trained(models: Sequence[ModelSummary], voice: Voice) -> list[tuple[str, list[Cell]]]:
    """Return the row of what is trained; none where all models are trained whole, from scratch."""
    if all(model.kind == "pretrain" for model in models):
        return []
    cells = [
        Cell(
            voice.count(model.trained_parameters or model.parameters),
            voice.gettext(words(model.kind, "training")),
        )
        for model in models
    ]
    return [(voice.gettext("Trained parameters"), cells)]


def logic(content: ProposalContent, voice: Voice) -> SectionBlock | None:
    """Return the chain from the model to the time: what was multiplied with what."""
    found = running(content)
    costs = {row.label: cost for row in content.comparison.rows if (cost := row.own_cost) is not None}
    if not found:
        return None
    scale = scale_of_times(content)
    rows: list[tuple[str, list[Cell]]] = [
        (voice.gettext("Model"), [Cell(one.model.name) for _, one in found]),
        (voice.gettext("Parameters"), [Cell(voice.count(one.model.parameters)) for _, one in found]),
        *_trained([one.model for _, one in found], voice),
        (voice.gettext("Accelerators"), [Cell(voice.number(one.system.devices)) for _, one in found]),
        (
            voice.gettext("Software profile"),
            [Cell(one.software or MISSING, one.precision_used or "") for _, one in found],
        ),
        (voice.gettext("Samples"), [Cell(number_or_missing(one.samples, voice)) for _, one in found]),
        (
            voice.gettext("Global batch"),
            [Cell(MISSING if one.plan is None else voice.number(one.plan.global_batch)) for _, one in found],
        ),
        (voice.gettext("Steps"), [Cell(voice.number(one.steps)) for _, one in found]),
        (voice.gettext("Step time"), [figure(one.step_time, voice) for _, one in found]),
        (voice.gettext("Share of peak (MFU)"), [figure(one.mfu, voice) for _, one in found]),
        (voice.gettext("Training time"), [figure(one.time_to_train, voice, scale) for _, one in found]),
        (voice.gettext("Throughput"), [figure(one.throughput, voice) for _, one in found]),
        (voice.gettext("Tokens per second"), [figure(one.tokens_per_second, voice) for _, one in found]),
        (
            voice.gettext("Purchase price"),
            [figure(costs[label].capex if label in costs else None, voice) for label, _ in found],
        ),
        (
            voice.gettext("Cost per useful hour"),
            [figure(costs[label].hourly if label in costs else None, voice) for label, _ in found],
        ),
        (voice.gettext("Energy"), [figure(one.energy, voice) for _, one in found]),
        (
            voice.gettext("Carbon dioxide per run"),
            [
                figure(one.cost.carbon.run if one.cost is not None and one.cost.carbon else None, voice)
                for _, one in found
            ],
        ),
    ]
    labels = [label for label, _ in found]
    said = voice.gettext(
        "Training time is the number of steps times the step time, plus evaluations, "
        "checkpoints and failures. The step time is the sum of its parts, each computed from "
        "chip, network and software figures."
    )
    blocks: list[Block] = [Paragraph(said)]
    blocks += columns(
        "logic", voice.gettext("From the model to the time"), voice.gettext("Quantity"), rows, labels
    )
    blocks += columns(
        "parts",
        voice.gettext("Training time breakdown"),
        voice.gettext("Part"),
        parts(found, scale, voice),
        labels,
    )
    if any(one.breakdown for _, one in found):
        caption = voice.gettext("Share of training time by part")
        blocks.append(ChartBlock("breakdown", caption, breakdown(found, voice)))
    shown = weighed(content)
    if shown is not None and shown.sensitivity:
        said = voice.say(Message("What drives the training time of {option}", {"option": shown.label}))
        blocks.append(ChartBlock("sensitivity", said, sensitivity(shown, voice)))
    return SectionBlock("logic", voice.gettext("Sizing logic"), blocks)


def number_or_missing(value: float | None, voice: Voice) -> str:
    """Return a count as it is spoken."""
    return MISSING if value is None else voice.count(value)


def weighed(content: ProposalContent) -> Estimate | None:
    """Return the estimate whose sensitivities are shown: the recommended one, under the name of its row."""
    found = dict(running(content))
    label = content.advice.recommended
    name = label if label in found else next(iter(found), None)
    return None if name is None else found[name].model_copy(update={"label": name})


def parts(
    found: Sequence[tuple[str, Estimate]], scale: Scale, voice: Voice
) -> list[tuple[str, Sequence[Cell]]]:
    """Return the parts of the time, the largest first."""
    held = [{part.part: part.seconds for part in one.breakdown or ()} for _, one in found]
    totals = [sum(one.values()) or 1.0 for one in held]
    names = dict.fromkeys(name for one in held for name, seconds in one.items() if seconds)
    heaviest = sorted(
        names,
        key=lambda name: -max(one.get(name, 0.0) / total for one, total in zip(held, totals, strict=True)),
    )
    return [
        (
            voice.label(name, "part"),
            [
                Cell(voice.part(seconds, scale, total), voice.share(seconds / total))
                if (seconds := one.get(name, 0.0))
                else Cell(MISSING)
                for one, total in zip(held, totals, strict=True)
            ],
        )
        for name in heaviest
    ]


def plans(content: ProposalContent, voice: Voice) -> SectionBlock | None:
    """Return how each option is laid out, choice by choice."""
    found = [(label, one) for label, one in running(content) if one.plan is not None]
    if not found:
        return None
    rows = [
        (
            voice.label(name),
            [
                Cell(written(one.plan.model_dump()[name], voice, "plan") if one.plan is not None else MISSING)
                for _, one in found
            ],
        )
        for name in PLANNED
    ]
    blocks: list[Block] = columns(
        "plan",
        voice.gettext("All plan settings"),
        voice.gettext("Choice"),
        rows,
        [label for label, _ in found],
    )
    silent = {said.message: said for _, one in found for said in one.model.assumptions}
    if silent:
        blocks.append(Paragraph(voice.gettext("Not given in the model description:")))
        blocks += [Paragraph(said_of(text, voice), quiet=True) for text in silent.values()]
    return SectionBlock("plan", voice.gettext("Appendix: the plan"), blocks)


def said_of(text: Text, voice: Voice) -> str:
    """Return a sentence of a document."""
    return voice.sentence(text)
