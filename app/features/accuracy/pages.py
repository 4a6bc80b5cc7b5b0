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
from app.features.accuracy.famous import FamousRun, FamousRuns, famous_runs
from app.features.accuracy.fitted import FittedFigure
from app.features.accuracy.predictions import IN_SAMPLE, Prediction
from app.features.accuracy.service import AccuracyFindings, allowed, choice_of, findings_of
from app.platform.catalogue import Catalogue
from app.platform.listing import start_of
from app.platform.web.contexts import Choice, FigureView
from app.platform.web.deps import CursorQuery, WorkspaceDep, workspace_of
from app.platform.web.documents import WrittenDocument, document_page, written
from app.platform.web.locale import voice_of
from app.platform.web.rendering import render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

ADDRESS = "/accuracy"

REPORT = f"{ADDRESS}/report"

FilterQuery = Annotated[str, Query(max_length=100)]

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
    chips: dict[str, str]
    """Names of chips by identifier."""
    report_url: str
    """The same at length, as a document."""


NAMES = {
    "bert": "BERT",
    "conformer": "Conformer",
    "deepvoice3": "Deep Voice 3",
    "diffusion": "Stable Diffusion",
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
"""Names of the families, the same in every language."""

DIGITS = 4
"""Significant digits of a predicted value."""

IN_ORDER = 1.0 - 1e-9


def accuracy_page(
    data: AccuracyFindings, allowed: Mapping[str, Sequence[str]], catalogue: Catalogue, voice: Voice
) -> AccuracyPage:
    choice = data.choice
    reasons = {missed.id: missed.reason for missed in data.worst}
    views = {run.id: run_view(run, choice.errors, reasons, voice) for run in data.runs}
    return AccuracyPage(
        findings=data,
        filters=filters(allowed, catalogue, voice),
        narrowed=choice != RunChoice(),
        figures=figures(data, voice),
        curves=[ChainView(chain, curve(chain)) for chain in scaled(data.chains)],
        in_order=sum(chain.rank >= IN_ORDER for chain in data.chains),
        worst=[views[identifier] for identifier in reasons],
        fitted=by_file(data.fitted),
        runs=list(views.values()),
        families=NAMES,
        chips={name: chip.name for name, chip in catalogue.chips.documents.items()},
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


def run_view(run: Prediction, kind: str, reasons: Mapping[str, str], voice: Voice) -> RunView:
    """Return a run with the chosen error, or with that in sample if it was never left out."""
    known = run.result(kind if run.error(kind) is not None else IN_SAMPLE)
    measured, predicted = run.measured, known.predicted
    return RunView(
        run=run,
        unit=voice.unit(UNITS.get(run.metric, run.metric)),
        predicted=rounded(predicted),
        low=rounded(known.low),
        high=rounded(known.high),
        ratio=predicted / measured if predicted is not None and measured else None,
        inside=(known.low or 0.0) <= (measured or 0.0) <= (known.high or 0.0),
        reason=reasons.get(run.id, ""),
    )


def rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def by_file(figures: Sequence[FittedFigure]) -> dict[str, list[FittedFigure]]:
    figures_by_file: dict[str, list[FittedFigure]] = {}
    for figure in figures:
        figures_by_file.setdefault(figure.file, []).append(figure)
    return figures_by_file


def figures(data: AccuracyFindings, voice: Voice) -> list[FigureView]:
    """Return the two charts with a mark per group of equal runs; the list of runs is their table."""
    known = [run for run in counted(data.runs) if run.error(data.choice.errors) is not None]
    runs = list({run.group: run for run in reversed(known)}.values())[::-1]
    if not runs:
        return []
    marks = [mark(run, data.choice.errors, voice) for run in runs]
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
            deferred=True,
        )
    ]
    rates = [index for index, run in enumerate(runs) if run.metric == "samples_per_s"]
    if rates:
        drawn.append(
            FigureView(
                "figure-throughputs",
                voice.gettext("Predicted and measured throughput"),
                throughputs([marks[index] for index in rates], families(marks), "samples/s", voice),
                voice.gettext("Runs measured in samples per second; dotted lines are ±10 %."),
                "runs",
                deferred=True,
            )
        )
    return drawn


def mark(run: Prediction, kind: str, voice: Voice) -> Mark:
    """Return a run as a mark, with times as rates so that more is always faster."""
    known = run.result(kind)
    measured, predicted = run.measured or 1.0, known.predicted or 1.0
    low, high = known.low or predicted, known.high or predicted
    unit = voice.unit(UNITS[run.metric])
    count = voice.gettext("{count} devices").format(count=voice.number(run.devices))
    tip = (
        f"{run.model} · {run.chip} · {count}",
        run.software,
        f"{voice.number(measured)}{unit}",
        f"{voice.number(predicted)}{unit} ({voice.number(low)}–{voice.number(high)})",
    )
    if run.is_duration:
        measured, predicted, low, high = (1.0 / value for value in (measured, predicted, high, low))
    return Mark(NAMES.get(run.family, run.family), tip, run.devices, measured, predicted, low, high)


class AccuracyData(AccuracyFindings, WrittenDocument):
    """How well measured runs are predicted, a hundred of them listed; title and sections are the report."""

    next: str | None
    """Cursor of the runs that follow; null at the end."""


class AccuracyQuery:
    """Which runs the address asks for."""

    def __init__(
        self,
        family: FilterQuery = "",
        chip: FilterQuery = "",
        scale: FilterQuery = "",
        errors: FilterQuery = "",
        run: FilterQuery = "",
        cursor: CursorQuery = None,
    ) -> None:
        self.choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
        self._run, self._cursor = run, cursor

    def start_in(self, runs: Sequence[str]) -> int:
        """Return the start of the cursor's page, or of the page with the requested run."""
        start = start_of(len(runs), self._cursor)
        if self._cursor is None and self._run in runs:
            start = runs.index(self._run) // RUNS * RUNS
        return start


QueryDep = Annotated[AccuracyQuery, Depends()]


def cursor_behind(start: int, count: int) -> str | None:
    """Return the cursor of the next page; None at the end."""
    return str(start + RUNS) if start + RUNS < count else None


@router.get(f"{ADDRESS}.json")
def show_accuracy_data(workspace: WorkspaceDep, query: QueryDep) -> AccuracyData:
    fields, report = dict(findings_of(query.choice, workspace.sizing)), written("accuracy")
    runs = fields["runs"]
    start = query.start_in([run.id for run in runs])
    fields |= {"runs": runs[start : start + RUNS], "next": cursor_behind(start, len(runs))}
    return AccuracyData.model_construct(**fields, title=report.title, sections=report.sections)


@router.get(ADDRESS, response_class=HTMLResponse)
def show_accuracy(request: Request, workspace: WorkspaceDep, query: QueryDep) -> Response:
    speaker = voice_of(request)

    def build() -> AccuracyPage:
        findings = findings_of(query.choice, workspace.sizing)
        return accuracy_page(findings, allowed(), workspace.catalogue, speaker)

    # The page depends on nothing but the catalogue and the choice.
    whole = workspace.installation.pages.get((ADDRESS, query.choice, speaker.language), build)
    start = query.start_in([view.run.id for view in whole.runs])
    page = replace(
        whole,
        runs=whole.runs[start : start + RUNS],
        start=start,
        earlier=(str(start - RUNS) if start > RUNS else "") if start else None,
        later=cursor_behind(start, len(whole.runs)),
    )
    return render(request, "accuracy/accuracy.html", page, lasting=workspace.installation.pages)


@dataclass(frozen=True, slots=True)
class FamousRunView:
    """A famous run as its row shows it."""

    one: FamousRun
    view: RunView
    chip: str
    """Name of the chip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamousPage:
    found: FamousRuns
    rows: Sequence[FamousRunView]


def famous_page(request: Request, found: FamousRuns) -> FamousPage:
    voice, chips = voice_of(request), workspace_of(request).catalogue.chips.documents
    rows = [
        FamousRunView(
            one,
            run_view(one.run, IN_SAMPLE, {}, voice),
            chips[one.run.chip].name if one.run.chip in chips else one.run.chip,
        )
        for one in found.runs
    ]
    return FamousPage(found=found, rows=rows)


@resource(router, f"{ADDRESS}/famous-runs", "accuracy/famous.html", famous_page)
def show_famous_runs() -> FamousRuns:
    """Show published runs with the plans of their authors beside their predictions."""
    return famous_runs()


@resource(router, REPORT, "document.html", lambda *_: document_page("accuracy"))
def show_report() -> WrittenDocument:
    return written("accuracy")
