"""How well measured runs are predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from app.estimating.validation.run import UNITS
from app.features.accuracy.agreement import SETS, Chain, RunChoice, counted, scaled
from app.features.accuracy.charts import ChainDrawing, Mark, curve, families, ratios, throughputs
from app.features.accuracy.evidence import FittedFigure
from app.features.accuracy.predictions import IN_SAMPLE, Prediction
from app.features.accuracy.service import AccuracyFindings, allowed, choice_of, findings_of
from app.platform.catalogue import Catalogue
from app.platform.listing import start_of
from app.platform.web.contexts import Choice, FigureView
from app.platform.web.deps import BenchDep, CursorQuery
from app.platform.web.documents import WrittenDocument, document_page, written
from app.platform.web.locale import voice_of
from app.platform.web.rendering import render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

ADDRESS = "/accuracy"

REPORT = f"{ADDRESS}/report"

Asked = Annotated[str, Query(max_length=100)]

RUNS = 100
"""Runs of one stretch of their list."""


@dataclass(frozen=True, slots=True)
class ChainView:
    """A scaling chain with its small drawing."""

    chain: Chain
    curve: ChainDrawing


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of the list, with the error that was chosen."""

    run: Prediction
    unit: str
    """Unit of its metric, as it stands after a number."""
    predicted: float | None
    low: float | None
    high: float | None
    ratio: float | None
    """Predicted over measured."""
    inside: bool
    """Whether the measured value is inside the range."""
    reason: str
    """Key of the likely reason where runs of this kind are missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyPage:
    """How well measured runs are predicted."""

    findings: AccuracyFindings
    filters: Mapping[str, Sequence[Choice]]
    """Fields of the address and their values."""
    narrowed: bool
    """Whether anything but the usual was chosen."""
    figures: Sequence[FigureView]
    curves: Sequence[ChainView]
    """Chains over more than one number of devices."""
    in_order: int
    """Chains in exact order."""
    worst: Sequence[RunView]
    fitted: Mapping[str, Sequence[FittedFigure]]
    """Fitted figures by their file."""
    runs: Sequence[RunView]
    """A stretch of the chosen runs."""
    run_count: int
    """All of them."""
    start: int = 0
    """Those before the stretch."""
    earlier: str | None = None
    """Cursor of the stretch before; empty for the first one."""
    later: str | None = None
    """Cursor of the stretch behind."""
    choice_query: str
    """What was chosen, as the query of an address."""
    families: dict[str, str]
    """What families are called, by code."""
    report_url: str
    """The same at length, as a document."""


NAMES = {
    "bert": "BERT",
    "conformer": "Conformer",
    "deepvoice3": "Deep Voice 3",
    "dlrm": "DLRM",
    "efficientnet": "EfficientNet",
    "gnmt": "GNMT",
    "gpt": "GPT",
    "llama": "LLaMA",
    "maskrcnn": "Mask R-CNN",
    "ncf": "NCF",
    "nnunet": "nnU-Net",
    "resnet50": "ResNet-50",
    "resnext101": "ResNeXt-101",
    "retinanet": "RetinaNet",
    "ssd": "SSD",
    "swin": "Swin",
    "t5": "T5",
    "tacotron2": "Tacotron 2",
    "tft": "TFT",
    "transformer-xl": "Transformer-XL",
    "efficientdet": "EfficientDet",
    "unet": "U-Net",
    "unet3d": "3D U-Net",
    "vit": "ViT",
    "waveglow": "WaveGlow",
}
"""Families as they are called; a name is the same in every language."""

DIGITS = 4
"""Significant digits of a predicted value."""

IN_ORDER = 1.0 - 1e-9


def accuracy_page(
    data: AccuracyFindings,
    allowed: Mapping[str, Sequence[str]],
    catalogue: Catalogue,
    voice: Voice,
) -> AccuracyPage:
    choice = data.choice
    reasons = {missed.id: missed.reason for missed in data.worst}
    views = {one.id: run_view(one, choice.errors, reasons, voice) for one in data.runs}
    return AccuracyPage(
        findings=data,
        filters=filters(allowed, catalogue, voice),
        narrowed=choice != RunChoice(),
        figures=figures(data, voice),
        curves=[ChainView(one, curve(one)) for one in scaled(data.chains)],
        in_order=sum(one.rank >= IN_ORDER for one in data.chains),
        worst=[views[identifier] for identifier in reasons],
        fitted=by_file(data.fitted),
        runs=list(views.values()),
        families=NAMES,
        run_count=len(views),
        choice_query=urlencode(asdict(choice)),
        report_url=REPORT,
    )


def filters(
    allowed: Mapping[str, Sequence[str]], catalogue: Catalogue, voice: Voice
) -> dict[str, list[Choice]]:
    chips = catalogue.chips.documents

    def called(field: str, value: str) -> str:
        if field == "family":
            return voice.label(value, "set") if value in SETS else NAMES.get(value, value)
        if field == "chip":
            return str(getattr(chips.get(value), "name", value)) if value else voice.gettext("all chips")
        if field == "scale":
            return written_scale(value) if value else voice.gettext("any size")
        return voice.label(value, "errors")

    return {
        field: [Choice(value, called(field, value)) for value in values] for field, values in allowed.items()
    }


def written_scale(code: str) -> str:
    """Return a class of size without words.

    >>> written_scale("9-64"), written_scale("513-")
    ('9–64', '≥ 513')
    """
    least, most = code.split("-")
    return f"{least}–{most}" if most else f"≥ {least}"


def run_view(one: Prediction, kind: str, reasons: Mapping[str, str], voice: Voice) -> RunView:
    """Return a run with the error that was chosen; one that was never left out shows that in sample."""
    known = one.result(kind if one.error(kind) is not None else IN_SAMPLE)
    measured, predicted = one.measured, known.predicted
    return RunView(
        run=one,
        unit=voice.unit(UNITS.get(one.metric, one.metric)),
        predicted=shown(predicted),
        low=shown(known.low),
        high=shown(known.high),
        ratio=predicted / measured if predicted is not None and measured else None,
        inside=(known.low or 0.0) <= (measured or 0.0) <= (known.high or 0.0),
        reason=reasons.get(one.id, ""),
    )


def shown(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def by_file(figures: Sequence[FittedFigure]) -> dict[str, list[FittedFigure]]:
    found: dict[str, list[FittedFigure]] = {}
    for one in figures:
        found.setdefault(one.file, []).append(one)
    return found


def figures(data: AccuracyFindings, voice: Voice) -> list[FigureView]:
    """Return the two charts, a mark for each group of equal runs; the list of runs is their table."""
    known = [one for one in counted(data.runs) if one.error(data.choice.errors) is not None]
    runs = list({one.group: one for one in reversed(known)}.values())[::-1]
    if not runs:
        return []
    marks = [mark(one, data.choice.errors, voice) for one in runs]
    drawn = [
        FigureView(
            "figure-ratios",
            voice.gettext("Predicted-to-measured ratio by number of devices"),
            ratios(marks, voice),
            voice.gettext(
                "One mark per group of equal runs, its 80 % interval as a line; the grey band is ±10 %. "
                "Above 1×, the prediction is too fast. Runs of the same size are side by side."
            ),
            "runs",
            apart=True,
        )
    ]
    rates = [place for place, one in enumerate(runs) if one.metric == "samples_per_s"]
    if rates:
        drawn.append(
            FigureView(
                "figure-throughputs",
                voice.gettext("Predicted and measured throughput"),
                throughputs([marks[place] for place in rates], families(marks), "samples/s", voice),
                voice.gettext("Runs measured in samples per second; dotted lines are ±10 %."),
                "runs",
                apart=True,
            )
        )
    return drawn


def mark(one: Prediction, kind: str, voice: Voice) -> Mark:
    """Return a run as a mark; times are turned into rates, so that more is faster everywhere."""
    known = one.result(kind)
    measured, predicted = one.measured or 1.0, known.predicted or 1.0
    low, high = known.low or predicted, known.high or predicted
    unit = voice.unit(UNITS[one.metric])
    count = voice.gettext("{count} devices").format(count=voice.number(one.devices))
    said = (
        f"{one.model} · {one.chip} · {count}",
        one.software,
        f"{voice.number(measured)}{unit}",
        f"{voice.number(predicted)}{unit} ({voice.number(low)}–{voice.number(high)})",
    )
    if one.is_duration:
        measured, predicted, low, high = (1.0 / value for value in (measured, predicted, high, low))
    return Mark(NAMES.get(one.family, one.family), said, one.devices, measured, predicted, low, high)


class AccuracyData(AccuracyFindings, WrittenDocument):
    """How well measured runs are predicted, a hundred of them listed; title and sections are the report."""

    next: str | None
    """Cursor of the runs that follow; null at the end."""


class AccuracyQuery:
    """Which runs the address asks for."""

    def __init__(
        self,
        family: Asked = "",
        chip: Asked = "",
        scale: Asked = "",
        errors: Asked = "",
        run: Asked = "",
        cursor: CursorQuery = None,
    ) -> None:
        self.choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
        self._run, self._cursor = run, cursor

    def start_in(self, runs: Sequence[str]) -> int:
        """Return where the stretch of the cursor begins, or the one with the run in it."""
        start = start_of(len(runs), self._cursor)
        if self._cursor is None and self._run in runs:
            start = runs.index(self._run) // RUNS * RUNS
        return start


QueryDep = Annotated[AccuracyQuery, Depends()]


def cursor_behind(start: int, count: int) -> str | None:
    """Return the cursor of the stretch that follows; None at the end."""
    return str(start + RUNS) if start + RUNS < count else None


@router.get(f"{ADDRESS}.json")
def show_accuracy_data(bench: BenchDep, query: QueryDep) -> AccuracyData:
    found, report = dict(findings_of(query.choice, bench.sizing)), written("accuracy")
    runs = found["runs"]
    start = query.start_in([one.id for one in runs])
    found |= {"runs": runs[start : start + RUNS], "next": cursor_behind(start, len(runs))}
    return AccuracyData.model_construct(**found, title=report.title, sections=report.sections)


@router.get(ADDRESS, response_class=HTMLResponse)
def show_accuracy(request: Request, bench: BenchDep, query: QueryDep) -> Response:
    speaker = voice_of(request)

    def made() -> AccuracyPage:
        found = findings_of(query.choice, bench.sizing)
        return accuracy_page(found, allowed(), bench.catalogue, speaker)

    # Everything on it follows from the catalogue and what was chosen.
    kept = bench.pages.get((ADDRESS, query.choice, speaker.language), made)
    start = query.start_in([view.run.id for view in kept.runs])
    page = replace(
        kept,
        runs=kept.runs[start : start + RUNS],
        start=start,
        earlier=(str(start - RUNS) if start > RUNS else "") if start else None,
        later=cursor_behind(start, len(kept.runs)),
    )
    return render(request, "accuracy/accuracy.html", page, lasting=bench.pages)


@resource(router, REPORT, "document.html", lambda *_: document_page("accuracy"))
def show_report() -> WrittenDocument:
    return written("accuracy")
