"""Answers as aligned lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.errors import Message
from app.estimating.documents import CheckWarning, Default, Estimate
from app.features.sizings.words import sentences
from app.platform.wording.lines import estimate_rows, table
from app.platform.wording.voice import MISSING, Voice, stated, written

if TYPE_CHECKING:
    from app.estimating.validation.run import ErrorSummary
    from app.features.bills.model import Bill
    from app.features.comparisons.model import Comparison
    from app.features.plans.model import Search
    from app.features.proposals.model import SaidWarning
    from app.features.sizings.model import Sizing
    from app.features.uploads.model import KeptProfile


def estimate_text(answer: Estimate, speaker: Voice) -> list[str]:
    rows = estimate_rows(answer, speaker)
    if answer.plan is not None:
        plan = answer.plan.model_dump(exclude={"stage_layers", "searched"}, exclude_none=True)
        rows.append((speaker.gettext("Plan"), stated("plan", plan, speaker)))
    lines = [answer.label, "", *table(rows)]
    if answer.breakdown:
        total = sum(part.seconds for part in answer.breakdown)
        shares = sorted(answer.breakdown, key=lambda part: -part.seconds)
        lines += [
            "",
            *table(
                (speaker.label(part.part, "part"), speaker.percent(part.seconds / total)) for part in shares
            ),
        ]
    return [*lines, *remarks(answer.warnings, answer.defaults, speaker), *kept(answer)]


def remarks(
    warnings: Sequence[CheckWarning | SaidWarning], defaults: Sequence[Default], speaker: Voice
) -> list[str]:
    """Return what to beware of, and what was taken where the request says nothing."""
    colon = speaker.sign(": ")
    default = f"{speaker.gettext('default')}{colon}"
    values = [(one.field, stated(one.field, one.value, speaker), speaker.say(one.text)) for one in defaults]
    taken = [f"{default}{field} = {value}{colon}{why}" for field, value, why in values]
    found = []
    for one in warnings:
        said = speaker.say(one.text)
        # Of what is said of options, not every sentence names them.
        about = [name for name in getattr(one, "options", ()) if name not in said]
        said = colon.join(
            [speaker.label(one.severity).lower(), *([" · ".join(about)] if about else []), said]
        )
        found.append(f"{said} [{one.code}]")
    return [line for part in (found, taken) if part for line in ("", *part)]


SEARCH_COLUMNS = (
    *("tensor", "pipeline", "data", "micro_batch", "interleave", "recompute", "sequence_parallel"),
    *("sharding", "offload", "expert", "context", "rts", "rts_optimizer", "phases"),
)


def search_text(answer: Search, speaker: Voice) -> list[str]:
    """Return the best plans as aligned lines, without the columns in which they are all alike and neutral."""
    _ = speaker.gettext
    plans = [entry.plan.model_dump() for entry in answer.plans]
    shown = [
        name
        for name in SEARCH_COLUMNS
        if any(plan[name] not in (None, 1, False, "none") for plan in plans) or name == "data"
    ]
    heads = (_("Step time"), _("Behind the first"), _("MFU"), _("Memory"))
    rows = [[*heads, *(speaker.label(name) for name in shown)]]
    for entry, plan in zip(answer.plans, plans, strict=True):
        figures = (
            speaker.quantity(entry.step_time),
            speaker.percent(entry.behind),
            speaker.percent(entry.mfu.value),
            speaker.percent(entry.memory_share),
        )
        rows.append([*figures, *(written(plan[name], speaker) for name in shown)])
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
"""Options of a sizing that are written as text; JSON has them all."""


def sizing_text(answer: Sizing, speaker: Voice) -> list[str]:
    """Return a sizing as aligned lines: the answer in a sentence, then the options."""
    _ = speaker.gettext
    paid = {"purchase": _("Purchase price"), "run": _("Cost per run"), "term": _("Over the term")}
    head = (
        *(_("System"), _("Accelerators"), _("Idle machines"), _("Training time")),
        *(*paid.values(), _("Budget")),
        *(_("Probability"), _("Meets the requirements"), _("Pareto-optimal")),
    )
    rows = [
        (
            f"{option.count} × {option.system}",
            speaker.number(option.accelerators),
            speaker.number(option.idle_machines),
            speaker.quantity(option.time_to_train),
            *(speaker.quantity(one) for one in (option.costs.purchase, option.costs.run, option.costs.term)),
            MISSING if option.budget_kind is None else paid[option.budget_kind],
            speaker.chance(option.probability),
            written(option.meets, speaker),
            written(option.on_front, speaker),
        )
        for option in answer.options[:SHOWN_OPTIONS]
    ]
    said = [speaker.sentence(sentence) for sentence in sentences(answer)]
    if answer.scaling is not None and answer.scaling.knee_inside:
        knee = {"count": answer.scaling.knee, "system": answer.scaling.name}
        said.append(speaker.say(Message("Adding machines stops paying at {count} × {system}", knee)))
    counts = {"considered": answer.considered, "shown": len(rows), "searched": answer.searched}
    counted = Message("{shown} of {considered} options shown; {searched} plan searches", counts)
    lines = [answer.label, "", *said, "", *table([head, *rows]), "", speaker.say(counted)]
    return [*lines, *remarks(answer.warnings, answer.defaults, speaker), *kept(answer)]


def profile_text(answer: KeptProfile, speaker: Voice) -> list[str]:
    """Return a model as it was understood: its size, then its operators."""
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
            one.name,
            speaker.label(one.kind, "operator"),
            speaker.number(one.count),
            speaker.number(one.parameters),
            speaker.value(one.forward_flop, "FLOP"),
        )
        for one in answer.operators
    ]
    return [*table(facts), "", *table([heads, *rows]), *remarks(answer.warnings, [], speaker), *kept(answer)]


def kept(answer: Estimate | Sizing | Comparison | Bill | KeptProfile) -> list[str]:
    """Return the identifier of what is stored, which other requests name it by."""
    return ["", f"id: {answer.id}"] if answer.id else []


NOTHING_FITS = 1
"""Exit code where no plan fits into memory, or no system meets what is asked."""

SUMMARY = ("family × chip", "rows", "supported", "groups", "median", "90 %", "in the band")


def summary_cells(part: ErrorSummary) -> list[str]:
    """Return one line of the summary of a validation."""
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
