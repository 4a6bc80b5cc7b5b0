"""Names and values of the lines of a proposal, as its tables write them."""

from __future__ import annotations

from pydantic import JsonValue

from app.engine.units import HOUR
from app.reports.wording.proposals.evidence import measured_rate, measured_run
from app.reports.wording.proposals.options import scale_of_times
from app.reports.wording.values import written
from app.reports.wording.voice import Voice
from app.sizing.document import Quantity
from app.sizing.proposal.documents import ProposalContent, ProposalLine

RANGE = ".range"
PART = "part."
MEASURED_RATES = {"mean", "rate"}
"""Names of throughputs somebody measured, as against predicted ones."""

PLACES = {
    "plan": "plan",
    "comparison": "line",
    "logic": "line",
    "term": "line",
    "bill": "line",
    "advice": "line",
    "measured": "line",
}
"""Section of a line → place by which its name is looked up."""


def line_name(section: str, name: str, voice: Voice) -> str:
    """Return what a line is about, in words."""
    if name.endswith(RANGE):
        return f"{line_name(section, name.removesuffix(RANGE), voice)} ({voice.gettext('80 % band')})"
    if section in {"warnings", "assumptions"}:
        return voice.label(name)
    if name.startswith(PART):
        return voice.label(name.removeprefix(PART), "part")
    if name.startswith("term.line."):
        return voice.label(name.removeprefix("term.line."), "cost")
    if name.startswith("bill.group."):
        return voice.label(name.removeprefix("bill.group."), "bill")
    if name.startswith(("runs.run.", "networks.run.")):
        return f"{voice.gettext('Measured run')} {name.rpartition('.')[2]}"
    if name.startswith("left_out."):
        item, _, what = name.removeprefix("left_out.").partition(".")[2].rpartition(".")
        return f"{item} · {voice.label(what, 'line')}"
    if name.startswith(("runs.", "networks.", "fit.")):
        return voice.label(name.partition(".")[2], "measured")
    if name.startswith("bill.") and name.count(".") > 1:
        item, _, what = name.removeprefix("bill.").rpartition(".")
        return f"{item} · {voice.label(what, 'line')}"
    return voice.label(name, PLACES.get(section, "line"))


def line_value(line: ProposalLine, content: ProposalContent, voice: Voice) -> str:
    """Return the value of a line as the tables of the document write it, without its range."""
    if line.name == "avoid":
        # The line has the reason in English, for programs; people read it in their own words.
        return voice.sentence(content.advice.avoid[int(line.path.split(".")[2])].reasons[0])
    if line.name.startswith(PART) and isinstance(line.value, int | float):
        return voice.part(line.value, scale_of_times(content), whole_of(line.option, content))
    return value_written(line.section, line.name, line.value, line.unit, line.low is None, content, voice)


def whole_of(option: str | None, content: ProposalContent) -> float:
    """Return the time that the parts of an option add up to. [s]"""
    row = next((row for row in content.comparison.rows if row.label == option), None)
    parts = row.estimate.breakdown if row is not None and row.estimate is not None else None
    return sum(part.seconds for part in parts or ()) or 1.0


def value_written(
    section: str,
    name: str,
    value: JsonValue,
    unit: str,
    exact: bool,
    content: ProposalContent,
    voice: Voice,
) -> str:
    """Return a value of a line as the tables of the document write it."""
    if isinstance(value, list):
        return "–".join(
            value_written(section, name, one, unit, exact, content, voice) for one in value if one is not None
        )
    if not isinstance(value, int | float) or isinstance(value, bool):
        return written(value, voice, PLACES.get(section, "")) if value is not None else voice.gettext("none")
    if name == "ratio":
        return voice.ratio(value)
    if section == "measured" and unit == "1":
        return voice.percent(value)
    if section == "measured" and ".run." in name:
        return measured_run(value, voice)
    if section == "measured" and name.partition(".")[2] in MEASURED_RATES:
        return measured_rate(value, voice)
    if name == "samples":
        return voice.count(value)
    if (unit == "h" and name == "hours") or name == "time_to_train" or name.startswith(PART):
        seconds = value * HOUR if unit == "h" else value
        shown = Quantity(value=seconds, low=seconds, high=seconds * (1.0 if exact else 1.01), unit="s")
        return voice.central(shown, scale_of_times(content))
    if unit in {"", "a"} or name == "term.useful_hours_per_year":
        return voice.number(value)
    shown = Quantity(value=value, low=value, high=value if exact else value + abs(value), unit=unit)
    return voice.central(shown)
