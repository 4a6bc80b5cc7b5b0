"""The options of a proposal side by side: figures, derivation and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.errors import Message
from app.estimating.documents import Estimate
from app.estimating.money import Cost
from app.estimating.schema import Quantity
from app.features.comparisons.model import Comparison, ComparisonRow, Ratio
from app.features.proposals.lines import PLANNED
from app.features.proposals.model import ProposalContent
from app.features.proposals.naming import display_value
from app.features.proposals.writing.blocks import (
    Block,
    Cell,
    ChartBlock,
    Grid,
    Head,
    Paragraph,
    chart,
    figure,
    table,
)
from app.features.studies.options import BasisCost
from app.platform.charts.figures import time_scale
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice, words, written

COLUMNS = 4
"""Options side by side in one table with options as columns."""

MOST_RATIOS = 5

NAMED_PARTS, NAMED_INPUTS = 3, 8
"""Parts per option, and inputs, named in the text of a chart."""

Titled = tuple[str, Cell]
"""One cell of a table in which options are columns, with the title of its row."""


def scale_of_times(content: ProposalContent) -> Scale:
    """Return one unit for the times of all options."""
    return time_scale([row.time for row in content.comparison.rows])


def whole_time(row: ComparisonRow, content: ProposalContent) -> Quantity | None:
    """Return the time until a run is done, with start-up where the decision counts it. [s]"""
    option = content.decided(row.label)
    return row.time if option is None or option.time is None else option.time


def time_name(row: ComparisonRow, content: ProposalContent, voice: Voice) -> str:
    """Return what the time until a run is done is called: with start-up where that can be seen."""
    training, whole, scale = row.time, whole_time(row, content), scale_of_times(content)
    with_startup = voice.central(whole, scale) != voice.central(training, scale)
    return voice.gettext("Training time with start-up" if with_startup else "Training time")


def running_estimates(content: ProposalContent) -> list[tuple[str, Estimate]]:
    """Return the labels and estimates of the options that run."""
    return [
        (row.label, row.estimate)
        for row in content.comparison.rows
        if row.estimate is not None and row.estimate.time_to_train is not None
    ]


def leading_estimates(content: ProposalContent) -> list[tuple[str, Estimate]]:
    """Return as many estimates as stand side by side: of what is offered, then of the least outlay."""
    estimates = running_estimates(content)

    def rank(one: tuple[str, Estimate]) -> tuple[bool, bool, float]:
        option = content.decided(one[0])
        outlay = None if option is None else option.outlay
        missed = option is not None and not option.meets
        return one[0] not in content.offered, missed, math.inf if outlay is None else outlay.value

    leading = {label for label, _ in sorted(estimates, key=rank)[:COLUMNS]}
    return [one for one in estimates if one[0] in leading]


def recommended_estimate(content: ProposalContent) -> Estimate | None:
    """Return the estimate of the recommended option, labelled as its row; by default the first estimate."""
    estimates = dict(running_estimates(content))
    name = next((label for label in [*content.offered, *estimates] if label in estimates), None)
    return None if name is None else estimates[name].model_copy(update={"label": name})


def charted(content: ProposalContent) -> set[str]:
    """Return the names of the charts that have something to show: no lonely bar, no empty row."""
    timed = [row for row in content.comparison.rows if row.hours is not None]
    options = content.decision.options if content.decision is not None else ()
    placed = [option for option in options if option.time is not None and option.outlay is not None]
    estimates, best = running_estimates(content), recommended_estimate(content)
    account, layout = content.account, content.layout
    has_content = {
        "map": len(placed) > 1,
        "time": len(timed) > 1 and len(placed) < 2,
        "breakdown": any(estimate.breakdown for _, estimate in estimates),
        "sensitivity": best is not None and len(best.sensitivity) > 1,
        "roofline": best is not None and best.roof is not None and len(best.roofline) > 1,
        "break-even": account is not None and account.break_even is not None,
        "term": account is None and content.term is not None and len(content.term.asked) > 1,
        "racks": layout is not None and bool(layout.racks),
        "feeds": layout is not None and any(rack.feeds for rack in layout.racks),
        "network": layout is not None and layout.network is not None,
    }
    return {name for name, known in has_content.items() if known}


def comparison(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the options as a table, their ratios, and their charts."""
    rows = content.comparison.rows
    heads = [
        Head(voice.gettext("Option"), width=2.0),
        Head(voice.gettext("Training time"), True, 1.35),
        Head(voice.gettext("Relative to the fastest"), True, 0.95),
        Head(voice.gettext("Cost per run"), True, 1.75),
        Head(voice.gettext("Throughput"), True, 1.6),
        Head(voice.gettext("MFU"), True, 1.4),
        Head(voice.gettext("Memory per device"), True, 1.2),
        Head(voice.gettext("Power in this training"), True, 1.2),
    ]
    # Without estimates, options have only a time.
    column_count = len(heads) if any(row.estimate is not None for row in rows) else 3
    cells = [option_row(row, content, voice)[:column_count] for row in rows]
    best = [index for index, row in enumerate(rows) if row.label in content.offered]
    caption = voice.gettext("Options side by side, with ranges in brackets")
    blocks: list[Block] = [Grid("options", caption, heads[:column_count], cells, best=best)]
    charts = charted(content)
    if "time" in charts:
        blocks.append(time_chart(content, voice))
    # Where nothing is offered, the map stands on the first page.
    if "map" in charts and content.offered:
        blocks.append(map_chart(content, voice))
    if content.comparison.ratios:
        blocks.append(ratios(content, voice))
    if any(row.kind == "linear" for row in rows):
        share = {"share": 100.0 * content.comparison.scaling_efficiency}
        message = Message("rows scaled from another row assume {share} % of linear scaling", share)
        blocks.append(Paragraph(voice.sentence(message), quiet=True))
    return blocks


def map_chart(content: ProposalContent, voice: Voice) -> ChartBlock:
    scale = scale_of_times(content)
    options = content.decision.options if content.decision is not None else ()
    entries = [
        f"{option.id} {voice.central(option.time, scale)}, {voice.central(option.outlay)}"
        for option in options
        if option.time is not None
    ]
    what = voice.gettext("Map of the options by training time and money, with the limits as lines")
    return chart("map", voice.gettext("Time against money"), what, entries)


def time_chart(content: ProposalContent, voice: Voice) -> ChartBlock:
    scale = scale_of_times(content)
    entries = [
        f"{row.label} {voice.quantity(row.time, scale)} ({voice.label(row.kind)})"
        for row in content.comparison.rows
        if row.hours is not None
    ]
    what = voice.gettext("Bar chart of training time by option")
    return chart("time", voice.gettext("Training time"), what, entries)


def option_row(row: ComparisonRow, content: ProposalContent, voice: Voice) -> list[Cell]:
    """Return the cells of an option; the first three need no estimate."""
    estimate = row.estimate
    under = [voice.label(row.kind)]
    if estimate is not None:
        under.append(voice.say(Message("{count} devices", {"count": estimate.system.devices})))
    elif row.system is not None:
        under.append(content.names.get(row.system, row.system))
    time, relative = Cell(voice.gettext("does not fit")), MISSING
    if row.hours is not None:
        time = figure(row.time, voice, scale_of_times(content))
        relative = relative_speed(row, content.comparison, voice)
    cells = [Cell(row.label, " · ".join(under)), time, Cell(relative)]
    if estimate is None:
        return cells + [Cell(MISSING)] * 5
    used = Cell(MISSING)
    if (memory := estimate.memory) is not None:
        used = Cell(voice.central(memory.per_device), f"/ {voice.central(memory.capacity)}")
    return [
        *cells,
        figure(row.run_cost, voice),
        figure(estimate.throughput, voice),
        figure(estimate.mfu, voice),
        used,
        figure(estimate.system.power, voice),
    ]


def relative_speed(row: ComparisonRow, comparison: Comparison, voice: Voice) -> str:
    """Return “fastest”, “tie” or the ratio to the fastest for a row that runs."""
    if row.label == comparison.fastest:
        return voice.gettext("fastest")
    if row.label in comparison.fastest_tied:
        return voice.gettext("tie")
    best = min((other.hours for other in comparison.rows if other.hours), default=None)
    hours = row.hours or 0.0
    return voice.ratio(hours / (best or hours))


def ratios(content: ProposalContent, voice: Voice) -> Grid:
    def pair(ratio: Ratio) -> str:
        return voice.say(Message("{faster} vs. {slower}", {"faster": ratio.faster, "slower": ratio.slower}))

    def between(ratio: Ratio) -> str:
        if ratio.low is None or ratio.high is None or ratio.probability is None:
            return MISSING
        return f"{voice.ratio(ratio.low)}–{voice.ratio(ratio.high)}"

    def likely(ratio: Ratio) -> str:
        same = (
            ratio.low is not None
            and ratio.high is not None
            and voice.ratio(ratio.low) == voice.ratio(ratio.high)
        )
        return voice.gettext("tie") if same else voice.chance(ratio.probability)

    return table(
        "ratios",
        voice.gettext("How they compare"),
        content.comparison.ratios[:MOST_RATIOS],
        (Head(voice.gettext("Relative speed of the options"), width=3.4), pair),
        (Head(voice.gettext("Ratio"), True), lambda ratio: voice.ratio(ratio.ratio)),
        (Head(voice.gettext("80 % interval"), True, 1.4), between),
        (Head(voice.gettext("Probability"), True), likely),
    )


def columns(
    name: str, caption: str, head: str, options: Sequence[tuple[str, Sequence[Titled]]]
) -> list[Block]:
    """Return tables with options as columns, split so that they stay readable."""
    blocks: list[Block] = []
    for start in range(0, len(options), COLUMNS):
        group = options[start : start + COLUMNS]
        heads = [Head(head, width=1.6), *(Head(label, True, 1.5) for label, _ in group)]
        rows = [
            [Cell(across[0][0]), *(cell for _, cell in across)]
            for across in zip(*(cells for _, cells in group), strict=True)
            if any(cell.text != MISSING for _, cell in across)
        ]
        blocks.append(Grid(name if start == 0 else f"{name}-{start}", caption, heads, rows))
    return blocks


def logic(content: ProposalContent, voice: Voice) -> list[Block]:
    """Return the derivation of the times from the models."""
    every, estimates = running_estimates(content), leading_estimates(content)
    if not estimates:
        return []
    scale = scale_of_times(content)
    costs = {row.label: row.own_cost for row in content.comparison.rows}
    # If all models are trained whole, from scratch, the trained share needs no row.
    partly = any(estimate.model.kind != "pretrain" for _, estimate in estimates)
    chain = [(label, steps_of(estimate, costs[label], partly, scale, voice)) for label, estimate in estimates]
    text = voice.gettext(
        "Training time is the number of steps times the step time, plus evaluations, "
        "checkpoints and failures. The step time is the sum of its parts, each computed from "
        "chip, network and software figures."
    )
    times = parts(estimates, scale, voice)
    blocks: list[Block] = [
        Paragraph(text),
        *columns("logic", voice.gettext("From the model to the time"), voice.gettext("Figure"), chain),
        *columns("parts", voice.gettext("Training time breakdown"), voice.gettext("Part"), times),
    ]
    charts, recommended = charted(content), recommended_estimate(content)
    if len(estimates) < len(every):
        fewer = voice.gettext("Tables show the leading options; CSV and XLSX list every one.")
        blocks.append(Paragraph(fewer, quiet=True))
    if "breakdown" in charts:
        blocks.append(breakdown_chart(every, voice))
    if recommended is not None and "sensitivity" in charts:
        blocks.append(sensitivity_chart(recommended, voice))
    if recommended is not None and "roofline" in charts:
        blocks.append(roofline_chart(recommended, voice))
    return blocks


def steps_of(
    estimate: Estimate, cost: BasisCost | Cost | None, partly: bool, scale: Scale, voice: Voice
) -> list[Titled]:
    """Return the derivation of one option's time, row by row."""
    model = estimate.model
    trained = model.trained_parameters or model.parameters
    kind = voice.gettext(words(model.kind, "training"))
    carbon = None if estimate.cost is None else estimate.cost.carbon
    samples = MISSING if estimate.samples is None else voice.count(estimate.samples)
    batch = MISSING if estimate.plan is None else voice.number(estimate.plan.global_batch)
    software = Cell(display_value(estimate.software, voice), estimate.precision_used or "")
    return [
        (voice.gettext("Model"), Cell(model.name)),
        (voice.gettext("Parameters"), Cell(voice.count(model.parameters))),
        *([(voice.gettext("Trained parameters"), Cell(voice.count(trained), kind))] if partly else []),
        (voice.gettext("Accelerators"), Cell(voice.number(estimate.system.devices))),
        (voice.gettext("Software profile"), software),
        (voice.gettext("Samples"), Cell(samples)),
        (voice.gettext("Global batch"), Cell(batch)),
        (voice.gettext("Steps"), Cell(voice.number(estimate.steps))),
        (voice.gettext("Step time"), figure(estimate.step_time, voice)),
        (voice.gettext("Share of peak (MFU)"), figure(estimate.mfu, voice)),
        (voice.gettext("Training time"), figure(estimate.time_to_train, voice, scale)),
        (voice.gettext("Throughput"), figure(estimate.throughput, voice)),
        (voice.gettext("Tokens per second"), figure(estimate.tokens_per_second, voice)),
        (
            voice.gettext("Purchase with freight and installation"),
            figure(cost.capex if cost else None, voice),
        ),
        (voice.gettext("Cost per useful hour"), figure(cost.hourly if cost else None, voice)),
        (voice.gettext("Energy"), figure(estimate.energy, voice)),
        (voice.gettext("Carbon dioxide per run"), figure(carbon.run if carbon else None, voice)),
    ]


def parts(
    estimates: Sequence[tuple[str, Estimate]], scale: Scale, voice: Voice
) -> list[tuple[str, list[Titled]]]:
    """Return the parts of the time of each option, largest share first."""
    seconds_by_part = [
        {part.part: part.seconds for part in estimate.breakdown or ()} for _, estimate in estimates
    ]
    totals = [sum(seconds.values()) or 1.0 for seconds in seconds_by_part]
    shares = [
        {name: seconds / total for name, seconds in times.items() if seconds}
        for times, total in zip(seconds_by_part, totals, strict=True)
    ]
    names = dict.fromkeys(name for share in shares for name in share)
    heaviest = sorted(names, key=lambda name: -max(share.get(name, 0.0) for share in shares))

    def cell(name: str, option: int) -> Cell:
        if name not in shares[option]:
            return Cell(MISSING)
        seconds = voice.part(seconds_by_part[option][name], scale, totals[option])
        return Cell(f"{seconds} ({voice.share(shares[option][name])})")

    return [
        (label, [(voice.label(name, "part"), cell(name, option)) for name in heaviest])
        for option, (label, _) in enumerate(estimates)
    ]


def breakdown_chart(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> ChartBlock:
    entries = []
    for label, estimate in estimates:
        total = sum(part.seconds for part in estimate.breakdown or ()) or 1.0
        heaviest = sorted(estimate.breakdown or (), key=lambda part: -part.seconds)[:NAMED_PARTS]
        shares = ", ".join(
            f"{voice.label(part.part, 'part')} {voice.share(part.seconds / total)}" for part in heaviest
        )
        entries.append(f"{label} {shares}")
    what = voice.gettext("Stacked bar chart of training time by option, largest parts")
    return chart("breakdown", voice.gettext("Share of training time by part"), what, entries)


def roofline_chart(estimate: Estimate, voice: Voice) -> ChartBlock:
    option = {"option": estimate.name}
    entries = [
        f"{voice.label(point.operator, 'operator')} {voice.label(point.bound, 'bound')}"
        for point in sorted(estimate.roofline, key=lambda point: -point.seconds)[:NAMED_INPUTS]
    ]
    what = voice.say(Message("Operators of the model under the roof of a chip of {option}", option))
    return chart("roofline", voice.say(Message("What limits {option}", option)), what, entries)


def sensitivity_chart(estimate: Estimate, voice: Voice) -> ChartBlock:
    option = {"option": estimate.name}
    entries = [
        f"{voice.label(factor.input)} {voice.value(factor.low, 's', exact=False)}–"
        f"{voice.value(factor.high, 's', exact=False)}"
        for factor in estimate.sensitivity[:NAMED_INPUTS]
    ]
    what = Message("Bar chart of the share each uncertain input has in the range of {option}", option)
    caption = Message("What drives the training time of {option}", option)
    return chart("sensitivity", voice.say(caption), voice.say(what), entries)


def plans(content: ProposalContent, voice: Voice) -> list[Block]:
    estimates = [
        (label, estimate) for label, estimate in leading_estimates(content) if estimate.plan is not None
    ]
    if not estimates:
        return []
    options = [
        (label, [(voice.label(name), Cell(text)) for name, text in choices(estimate, PLANNED, voice)])
        for label, estimate in estimates
    ]
    caption = voice.gettext("All plan settings")
    blocks: list[Block] = columns("plan", caption, voice.gettext("Choice"), options)
    silent = {text.message: text for _, estimate in estimates for text in estimate.model.assumptions}
    if silent:
        blocks.append(Paragraph(voice.gettext("Not given in the model description:")))
        blocks += [Paragraph(voice.sentence(text), quiet=True) for text in silent.values()]
    return blocks


def choices(estimate: Estimate, names: Sequence[str], voice: Voice) -> list[tuple[str, str]]:
    plan = {} if estimate.plan is None else estimate.plan.model_dump()
    return [(name, written(plan[name], voice, "plan")) for name in names if name in plan]


def commitment_basis(row: ComparisonRow, voice: Voice) -> str:
    """Return the basis of committed figures: model, workload, network, software and plan."""
    estimate = row.estimate
    if estimate is None or estimate.plan is None:
        return ""
    system = estimate.system
    names = (*COMMITTED_CHOICES, *(REPLICA_SHARDS if estimate.plan.rts_optimizer > 1 else ("sharding",)))
    facts = [
        (voice.gettext("Model"), estimate.model.name),
        (voice.gettext("System"), f"{voice.number(system.count)} × {system.name}"),
        (voice.label("system.fabric"), display_value(system.fabric, voice)),
        (voice.gettext("Software profile"), display_value(estimate.software, voice)),
        (voice.gettext("Precision"), estimate.precision_used or ""),
        *((voice.label(name), text) for name, text in choices(estimate, names, voice)),
    ]
    colon = voice.sign(": ")
    return " · ".join(f"{name}{colon}{text}" for name, text in facts if text)


COMMITTED_CHOICES = (
    "global_batch", "tensor", "pipeline", "data", "micro_batch", "accumulation", "recompute",
)  # fmt: skip
"""Choices of the plan that are stated beside committed figures, with how it shards; the appendix has all."""
REPLICA_SHARDS = ("rts", "rts_optimizer")
"""What replicas of IPUs share, in place of the sharding of GPUs."""
