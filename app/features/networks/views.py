"""From network choices to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import AppError, Conflict, Message
from app.features.calibration.views import MovedView, moved_view
from app.features.estimates.model import EstimateSummary
from app.features.networks import charts as figures
from app.features.networks.forms import RUNS, Values, written_query
from app.features.networks.model import EXPOSED, Exposed, FabricChoice, FabricGain, FabricOption
from app.platform.charts.figures import Segment
from app.platform.web.contexts import (
    MOST_ROWS,
    Choice,
    Example,
    FigureView,
    Form,
    WarningGroup,
    grouped,
    view,
)
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """One network as it is shown."""

    option: FabricOption
    gain: FabricGain | None
    """Over the reference; None for the reference itself."""
    exposed: Sequence[Segment]
    """Exposed communication by kind, on a scale that all networks share."""
    taken: bool
    against: bool


@dataclass(frozen=True, slots=True)
class RunsInput:
    """Where measured runs of one network are typed."""

    name: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricsPage:
    """One workload on several networks."""

    estimate_id: str
    label: str
    path: str
    query: str
    """What the address asks besides; empty where nothing."""
    form: Form
    message: Message | None
    """What is wrong with the address as a whole."""
    asked_wrongly: bool
    """Whether another address would do; false where the estimate has no network to choose."""
    networks: Sequence[Choice]
    ratios: Sequence[Choice]
    """Oversubscriptions to choose from."""
    inputs: Sequence[RunsInput]
    some_measured: bool
    """Whether any runs were typed, so that their fields are shown open."""
    kept: Sequence[tuple[str, str]]
    """Parameters of the address that the form does not show."""
    choice: FabricChoice | None
    rows: Sequence[NetworkRow]
    reference: str
    """Label of the network that gains are stated over."""
    taken: FabricOption | None
    gains: FigureView | None
    exposed: FigureView | None
    ladder: FigureView | None
    accumulation: FigureView | None
    moved: Sequence[MovedView]
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricsNewPage:
    """Where a workload is chosen."""

    examples: Sequence[Example]
    estimates: Sequence[EstimateSummary]
    """Estimates of the workspace, the newest first."""


SHOWN = {"threshold", "oversubscription", "reference", "installed"}
"""Parameters that have a field of their own."""

RATIOS = ("1", "2", "4")

WIDTH = 100.0


def fabrics_page(
    *,
    estimate_id: str,
    label: str,
    values: Values,
    networks: Sequence[tuple[str, str]],
    choice: FabricChoice | None,
    error: AppError | None,
    voice: Voice,
) -> FabricsPage:
    """Return the page of a choice; the form alone where there is none."""
    path, query = f"/estimates/{estimate_id}/fabrics", written_query(values)
    advice = choice.advice if choice else None
    options = {option.id: option for option in choice.options} if choice else {}
    reference = options.get(choice.reference or "") if choice else None
    inputs = [RunsInput(f"{RUNS}{identifier}", name) for identifier, name in networks]
    shown = {*SHOWN, *(one.name for one in inputs)}
    turning = choice.turning if choice else None
    views = _views(choice, voice) if choice and turning else (None, None, None, None)
    return FabricsPage(
        estimate_id=estimate_id,
        label=label,
        path=path,
        query=query,
        form=Form(_fields(values), error.errors if error else ()),
        message=error.message if error else None,
        asked_wrongly=error is not None and not isinstance(error, Conflict),
        networks=[Choice(identifier, name) for identifier, name in networks],
        ratios=_ratios(values),
        inputs=inputs,
        some_measured=any(name.startswith(RUNS) for name in values),
        kept=[(name, text) for name, text in values.items() if name not in shown],
        choice=choice,
        rows=_rows(choice) if choice else [],
        reference=reference.label if reference else "",
        taken=options.get(advice.recommendation or "") if advice else None,
        gains=views[0],
        exposed=views[1],
        ladder=views[2],
        accumulation=views[3],
        moved=[moved_view(one, voice) for one in choice.fitted.moved] if choice and choice.fitted else [],
        warnings=grouped(("", one) for one in choice.warnings) if choice else [],
    )


def _fields(values: Values) -> dict[str, list[str]]:
    """Return the fields of the form: what was typed, else what is taken."""
    usual = {"threshold": "5", "oversubscription": "1"}
    fields = {**usual, **values}
    fields["threshold"] = fields["threshold"].removesuffix("%").strip()
    fields["oversubscription"] = fields["oversubscription"].removesuffix(":1")
    return {name: [text] for name, text in fields.items()}


def _ratios(values: Values) -> list[Choice]:
    typed = values.get("oversubscription", "").removesuffix(":1")
    known = [*RATIOS, *([typed] if typed and typed not in RATIOS else [])]
    return [Choice(one, f"{one}:1") for one in known]


def _rows(choice: FabricChoice) -> list[NetworkRow]:
    gains = {one.option: one for one in choice.gains}
    advice = choice.advice
    most = max((_exposed(option) for option in choice.options), default=0.0)
    return [
        NetworkRow(
            option=option,
            gain=gains.get(option.id),
            exposed=_segments(option.exposed, most),
            taken=advice is not None and option.id == advice.recommendation,
            against=advice is not None and option.id == advice.against,
        )
        for option in choice.options
    ]


def _exposed(option: FabricOption) -> float:
    return option.exposed.tensor + option.exposed.pipeline + option.exposed.data


def _segments(exposed: Exposed, most: float) -> list[Segment]:
    segments, start = [], 0.0
    total = exposed.tensor + exposed.pipeline + exposed.data
    for kind, part in EXPOSED.items():
        value = float(getattr(exposed, kind))
        if value > 0 and most > 0:
            width = WIDTH * value / most
            segments.append(Segment(part, start, width, value, value / total))
            start += width
    return segments


def _views(choice: FabricChoice, voice: Voice) -> tuple[FigureView | None, ...]:
    turning = choice.turning
    assert turning is not None, "views are of networks between machines"
    rows = len(choice.options)
    size = f"rows-{rows + 1}" if rows < MOST_ROWS else "tall"
    drawn = figures.gains(choice, voice)
    caption = voice.gettext("Gain range versus threshold")
    note = voice.gettext("Diamonds are measured, circles are modelled.")
    found: list[FigureView | None] = [view("gains", caption, size, drawn, "networks", note)]
    if not choice.gains:
        found = [None]
    caption = voice.gettext("Exposed communication by type")
    found.append(view("exposed", caption, size, figures.exposed(choice, voice), "networks"))
    caption = voice.gettext("Where the decision changes: machine bandwidth")
    drawn = figures.ladder(turning.rungs, choice.threshold, voice)
    found.append(view("ladder", caption, "square", drawn, "rungs"))
    caption = voice.gettext("Where the decision changes: gradient accumulation")
    drawn = figures.accumulation(turning.accumulation, choice.threshold, voice)
    found.append(view("accumulation", caption, "square", drawn, "accumulation"))
    return tuple(found)
