"""Answers as aligned lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.errors import Message
from app.estimating.documents import CheckWarning, Default, Estimate
from app.platform.wording.lines import estimate_rows, table
from app.platform.wording.voice import MISSING, Voice, stated, written

if TYPE_CHECKING:
    from app.estimating.validation.run import ErrorStatistics
    from app.features.bills.model import Bill
    from app.features.comparisons.model import Comparison
    from app.features.plans.model import Search
    from app.features.proposals.model import ProposalWarning
    from app.features.sizings.model import Sizing
    from app.features.uploads.model import ImportDocument, ProfileDocument


def estimate_text(answer: Estimate, speaker: Voice) -> list[str]:
    rows = estimate_rows(answer, speaker)
    if answer.plan is not None:
        plan = answer.plan.model_dump(exclude={"stage_layers", "searched"}, exclude_none=True)
        rows.append((speaker.gettext("Plan"), stated("plan", plan, speaker)))
    lines = [answer.name, "", *table(rows)]
    if answer.breakdown:
        total = sum(part.seconds for part in answer.breakdown)
        shares = sorted(answer.breakdown, key=lambda part: -part.seconds)
        lines += [
            "",
            *table(
                (speaker.label(part.part, "part"), speaker.percent(part.seconds / total)) for part in shares
            ),
        ]
    return [*lines, *remarks(answer.warnings, answer.defaults, speaker), *id_lines(answer)]


def remarks(
    warnings: Sequence[CheckWarning | ProposalWarning], defaults: Sequence[Default], speaker: Voice
) -> list[str]:
    colon = speaker.sign(": ")
    prefix = f"{speaker.gettext('default')}{colon}"
    default_lines = [
        f"{prefix}{default.field} = {stated(default.field, default.value, speaker)}{colon}"
        f"{speaker.say(default.text)}"
        for default in defaults
    ]
    warning_lines = []
    for warning in warnings:
        text = speaker.say(warning.text)
        # Not every sentence about options names them.
        options = [name for name in getattr(warning, "options", ()) if name not in text]
        subject = [" · ".join(options)] if options else []
        line = colon.join([speaker.label(warning.severity).lower(), *subject, text])
        warning_lines.append(f"{line} [{warning.code}]")
    return [line for part in (warning_lines, default_lines) if part for line in ("", *part)]


SEARCH_COLUMNS = (
    *("tensor", "pipeline", "data", "micro_batch", "interleave", "recompute", "sequence_parallel"),
    *("sharding", "offload", "offload_parameters", "offload_activations"),
    *("expert", "context", "rts", "rts_optimizer", "phases"),
)


def search_text(answer: Search, speaker: Voice) -> list[str]:
    """Return the best plans as aligned lines, without columns that are neutral in all."""
    _ = speaker.gettext
    plans = [entry.plan.model_dump() for entry in answer.plans]
    columns = [
        name
        for name in SEARCH_COLUMNS
        if any(plan[name] not in (None, 1, False, "none") for plan in plans) or name == "data"
    ]
    heads = (_("Step time"), _("Behind the first"), _("MFU"), _("Memory"))
    rows = [[*heads, *(speaker.label(name) for name in columns)]]
    for entry, plan in zip(answer.plans, plans, strict=True):
        figures = (
            speaker.quantity(entry.step_time),
            speaker.percent(entry.behind),
            speaker.percent(entry.mfu.value),
            speaker.percent(entry.memory_share),
        )
        rows.append([*figures, *(written(plan[name], speaker) for name in columns)])
    changes = [
        (f"{speaker.label(entry.change)} × {entry.factor:g}", f"−{speaker.percent(entry.gain)}")
        for entry in answer.what_if
    ]
    if changes:
        changes.insert(0, (_("Change of hardware"), _("Step time")))
    counted = Message(
        "{enumerated} combinations, {legal} legal plans, {feasible} fit; {seconds} s",
        {
            "enumerated": answer.enumerated,
            "legal": answer.evaluated,
            "feasible": answer.feasible,
            "seconds": round(answer.seconds, 3),
        },
    )
    return [
        f"{answer.model.name} · {answer.system.count} × {answer.system.name} · "
        f"{speaker.label('global_batch')} {speaker.number(answer.global_batch)}",
        speaker.say(counted),
        "",
        *(table(rows) if answer.plans else [_("no plan fits into memory")]),
        *(["", *table(changes)] if changes else []),
        *remarks(answer.warnings, [], speaker),
    ]


SHOWN_OPTIONS = 20
"""Most options of a sizing printed as text; JSON has all."""


def sizing_text(answer: Sizing, speaker: Voice) -> list[str]:
    _ = speaker.gettext
    head = (
        *(_("System"), _("Accelerators"), _("Idle machines"), _("Training time")),
        *(_("Purchase price"), _("Cost per run"), _("Outlay")),
        *(_("Probability"), _("Meets the requirements"), _("Pareto-optimal")),
    )
    rows = [
        (
            f"{option.count} × {option.system}",
            speaker.number(option.accelerators),
            speaker.number(option.idle_machines),
            speaker.quantity(option.time_to_train),
            *(
                speaker.quantity(cost)
                for cost in (option.costs.purchase, option.costs.run, option.costs.term)
            ),
            speaker.chance(option.probability),
            written(option.meets, speaker),
            written(option.on_front, speaker),
        )
        for option in answer.options[:SHOWN_OPTIONS]
    ]
    summary = [speaker.say(sentence) for sentence in answer.decision.sentences]
    if answer.scaling is not None and answer.scaling.knee_inside:
        knee = {"count": answer.scaling.knee, "system": answer.scaling.name}
        summary.append(speaker.say(Message("Adding machines stops paying at {count} × {system}", knee)))
    counts = {"considered": answer.considered, "shown": len(rows), "searched": answer.searched}
    counted = Message("{shown} of {considered} options shown; {searched} plan searches", counts)
    lines = [answer.name, "", *summary, "", *table([head, *rows]), "", speaker.say(counted)]
    return [*lines, *remarks(answer.warnings, answer.defaults, speaker), *id_lines(answer)]


def import_text(answer: ImportDocument, speaker: Voice) -> list[str]:
    _ = speaker.gettext
    facts = [
        *((f"workload.{name}", str(value)) for name, value in answer.read.workload.items()),
        *((f"plan.{name}", str(value)) for name, value in answer.read.plan.items()),
        *((line.item, f"{line.price:,.10g} {line.currency}") for line in answer.read.prices[:20]),
    ]
    remains = [
        (title, ", ".join(names))
        for title, names in (
            (_("Missing for an estimate"), answer.missing),
            (_("Not understood"), answer.not_understood),
        )
        if names
    ]
    return [
        speaker.sentence(answer.recognised),
        *table([*facts, *remains]),
        *remarks(answer.warnings, [], speaker),
        *(speaker.sentence(one) for one in answer.assumed),
    ]


def profile_text(answer: ProfileDocument, speaker: Voice) -> list[str]:
    _ = speaker.gettext
    facts = [
        (_("Model"), answer.name),
        (_("Kind"), speaker.label(answer.kind)),
        (_("Parameters"), speaker.number(answer.parameters)),
        (_("Forward pass"), speaker.value(answer.forward_flop_per_sample, "FLOP")),
        (_("Sequence length"), speaker.number(answer.seq_len)),
        (_("Image size"), speaker.number(answer.image_size)),
    ]
    heads = [_("Name"), _("Kind"), _("Count"), _("Parameters"), _("Forward pass")]
    rows = [
        (
            operator.name,
            speaker.label(operator.kind, "operator"),
            speaker.number(operator.count),
            speaker.number(operator.parameters),
            speaker.value(operator.forward_flop, "FLOP"),
        )
        for operator in answer.operators
    ]
    return [
        *table(facts),
        "",
        *table([heads, *rows]),
        *remarks(answer.warnings, [], speaker),
        *id_lines(answer),
    ]


def id_lines(answer: Estimate | Sizing | Comparison | Bill | ProfileDocument) -> list[str]:
    """Return the line with the identifier of a stored answer."""
    return ["", f"id: {answer.id}"] if answer.id else []


NOTHING_FITS = 1
"""Exit code of a negative answer: no plan fits, or no system meets the requirements."""

SUMMARY = ("family × chip", "rows", "supported", "groups", "median", "90 %", "in the band")


def summary_cells(part: ErrorStatistics) -> list[str]:
    shares = (part.median, part.ninetieth, part.coverage)
    return [
        part.name,
        *(plain(count) for count in (part.rows, part.supported, part.groups)),
        *("–" if share is None else f"{100 * share:.1f} %" for share in shares),
    ]


def plain(value: object) -> str:
    """Return a value as text; numbers in at most six digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(Message("{value}", {"value": MISSING if value is None else value}))
