"""Which network a workload is worth: a page under each estimate, and one where a workload is chosen.

Nothing is kept and every state is an address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, Conflict, NotFound
from app.estimating.request import EstimateRequest
from app.features.calibration.views import MovedView, moved_view
from app.features.estimates.model import EstimateSummary
from app.features.estimates.service import create_estimate, get_estimate, get_estimate_request, list_estimates
from app.features.networks import charts
from app.features.networks.answering import usual_options, weigh_fabrics
from app.features.networks.forms import RUNS, Values, asked, placed, read_query, written_query
from app.features.networks.model import EXPOSED, Exposed, FabricChoice, FabricGain, FabricOption
from app.platform.charts.figures import Segment
from app.platform.rates import CostClass
from app.platform.web.contexts import Example, FigureView, Form, view
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import FormDep
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

OF_ESTIMATE = "/estimates/{identifier}/fabrics"

NEW = "/fabric-choices/new"

LATEST = 20
"""Estimates offered."""

EXAMPLES = {
    "bert-large": (
        Example("bert-large", "BERT-Large, 4 × DGX A100", "batch size 1,024, sequences of 512 tokens"),
        {
            "model": {"preset": "bert-large"},
            "workload": {"samples": 1e8, "global_batch": 1024, "seq_len": 512, "precision": "fp16"},
            "system": {"id": "dgx-a100-640gb", "count": 4},
        },
    ),
    "resnet50": (
        Example("resnet50", "ResNet-50, 8 × DGX A100", "90 epochs of ImageNet at a batch size of 4,096"),
        {
            "model": {"preset": "resnet50"},
            "workload": {"epochs": 90, "dataset_samples": 1281167, "global_batch": 4096},
            "system": {"id": "dgx-a100-640gb", "count": 8},
        },
    ),
    "gpt2": (
        Example("gpt2", "GPT-2 355M, 2 × DGX A100", "batch size 512, sequences of 1,024 tokens"),
        {
            "model": {"preset": "gpt2-355m"},
            "workload": {"samples": 1e8, "global_batch": 512, "seq_len": 1024, "precision": "bf16"},
            "system": {"id": "dgx-a100-640gb", "count": 2},
        },
    ),
    "gpt3": (
        Example("gpt3", "GPT-3 175B, 128 × DGX A100", "300 billion tokens at a batch size of 1,536"),
        {
            "model": {"preset": "gpt3-175b"},
            "workload": {"tokens": 300e9, "global_batch": 1536, "seq_len": 2048, "precision": "bf16"},
            "system": {"id": "dgx-a100-640gb", "count": 128},
        },
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricsNewPage:
    """Where a workload is chosen."""

    examples: Sequence[Example]
    estimates: Sequence[EstimateSummary]
    """Estimates of the workspace, the newest first."""


@router.get(NEW, response_class=HTMLResponse)
def show_workloads(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show examples and the latest estimates."""
    page = FabricsNewPage(
        examples=[example for example, _ in EXAMPLES.values()],
        estimates=list_estimates(bench, workspace, LATEST, None).items,
    )
    return render(request, "networks/fabric_choice_new.html", page)


@router.post(NEW)
@needs(Right.MAKE)
def open_example(bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make the estimate of an example and show its networks."""
    name = form.get("example")
    if not isinstance(name, str) or name not in EXAMPLES:
        raise NotFound.named("example", str(name), EXAMPLES, "example")
    body = EstimateRequest.model_validate(EXAMPLES[name][1])
    return RedirectResponse(f"/estimates/{create_estimate(bench, workspace, body).id}/fabrics", 303)


@router.get(f"{OF_ESTIMATE}.json")
@needs(cost=CostClass.SEARCH)
def show_fabrics_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> FabricChoice:
    """Return the choice of the page of the same address."""
    kept = get_estimate_request(bench, workspace, identifier)
    return weighed(bench, workspace, read_query(request.query_params), kept)


@router.get(OF_ESTIMATE, response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_fabrics(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the networks for a kept estimate, or the form with what is wrong beside its fields."""
    label = get_estimate(bench, workspace, identifier).label
    values = read_query(request.query_params)
    path, query = OF_ESTIMATE.format(identifier=identifier), written_query(values)
    if any(not text.strip() for text in request.query_params.values()):
        # A form sends empty fields too; a state has one address, without them.
        return RedirectResponse(f"{path}?{query}" if query else path, 303)
    kept = get_estimate_request(bench, workspace, identifier)
    choice, error = None, None
    try:
        choice = weighed(bench, workspace, values, kept)
        networks = {option.id: option.label for option in choice.options}
    except AppError as refused:
        error = refused
        networks = dict(usual_options(bench, kept))
    page = FabricsPage(
        estimate_id=identifier,
        label=label,
        path=path,
        query=query,
        form=Form(fields(values), error.errors if error else ()),
        error=error,
        asked_wrongly=error is not None and not isinstance(error, Conflict),
        networks=networks,
        some_measured=any(name.startswith(RUNS) for name in values),
        kept=hidden_inputs(values, networks),
        choice=choice,
        answer=answer_view(choice, voice_of(request)) if choice else None,
    )
    return render(request, "networks/fabric_choice.html", page, status=error.status if error else 200)


def weighed(bench: Workbench, workspace: str, values: Values, kept: EstimateRequest) -> FabricChoice:
    """Weigh networks; errors name the parameters of the address."""
    try:
        return weigh_fabrics(bench, workspace, asked(values, kept))
    except AppError as error:
        raise placed(error) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricChoiceView:
    """What a page shows of a choice besides the choice itself."""

    rows: Sequence[tuple[FabricOption, FabricGain | None, Sequence[Segment]]]
    """Each network, what it gains over the reference, and its exposed communication by kind, on a scale
    that all share."""
    reference: str
    """Label of the network that gains are stated over."""
    taken: FabricOption | None
    charts: Sequence[FigureView]
    turning_charts: Sequence[FigureView]
    moved: Sequence[MovedView]


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricsPage:
    """One workload on several networks."""

    estimate_id: str
    label: str
    path: str
    query: str
    """What the address asks besides; empty where nothing."""
    form: Form
    error: AppError | None
    """What is wrong with the address as a whole."""
    asked_wrongly: bool
    """Whether another address would do; false where the estimate has no network to choose."""
    networks: Mapping[str, str]
    """Identifier → label."""
    some_measured: bool
    """Whether any runs were typed, so that their fields are shown open."""
    kept: Sequence[tuple[str, str]]
    """Parameters of the address that the form does not show."""
    choice: FabricChoice | None
    answer: FabricChoiceView | None


SHOWN = {"threshold", "oversubscription", "reference", "installed"}
"""Parameters that have a field of their own."""

WIDTH = 100.0


def fields(values: Values) -> dict[str, list[str]]:
    """Return the fields of the form: what was typed, else what is taken."""
    found = {"threshold": "5", "oversubscription": "1", **values}
    found["threshold"] = found["threshold"].removesuffix("%").strip()
    found["oversubscription"] = found["oversubscription"].removesuffix(":1")
    return {name: [text] for name, text in found.items()}


def hidden_inputs(values: Values, networks: Iterable[str]) -> list[tuple[str, str]]:
    """Return the parameters of the address that the form does not show."""
    shown = {*SHOWN, *(f"{RUNS}{network}" for network in networks)}
    return [(name, text) for name, text in values.items() if name not in shown]


def answer_view(choice: FabricChoice, voice: Voice) -> FabricChoiceView:
    options = {option.id: option for option in choice.options}
    gains = {gain.option: gain for gain in choice.gains}
    longest = max((exposed_time(option.exposed) for option in choice.options), default=0.0)
    reference = options.get(choice.reference or "")
    return FabricChoiceView(
        rows=[(option, gains.get(option.id), segments(option.exposed, longest)) for option in choice.options],
        reference=reference.label if reference else "",
        taken=options.get(choice.advice.recommendation or "") if choice.advice else None,
        charts=gain_charts(choice, voice),
        turning_charts=turning_charts(choice, voice),
        moved=[moved_view(figure, voice) for figure in choice.fitted.moved] if choice.fitted else [],
    )


def exposed_time(exposed: Exposed) -> float:
    """Return all exposed communication of a step. [s]"""
    return exposed.tensor + exposed.pipeline + exposed.data


def segments(exposed: Exposed, longest: float) -> list[Segment]:
    found, start = [], 0.0
    for kind, part in EXPOSED.items():
        value = float(getattr(exposed, kind))
        if value > 0 and longest > 0:
            width = WIDTH * value / longest
            found.append(Segment(part, start, width, value, value / exposed_time(exposed)))
            start += width
    return found


def gain_charts(choice: FabricChoice, voice: Voice) -> list[FigureView]:
    """Return gain and exposed communication by network; none on one machine."""
    if choice.turning is None:
        return []
    caption = voice.gettext("Exposed communication by type")
    exposed = view("exposed", caption, charts.exposed(choice, voice), table="networks")
    if not choice.gains:
        return [exposed]
    caption = voice.gettext("Gain range versus threshold")
    note = voice.gettext("Diamonds are measured, circles are modelled.")
    return [view("gains", caption, charts.gains(choice, voice), note, "networks"), exposed]


def turning_charts(choice: FabricChoice, voice: Voice) -> list[FigureView]:
    """Return where the decision changes: along the bandwidth of a machine, and along accumulation."""
    turning = choice.turning
    if turning is None:
        return []
    ladder = charts.ladder(turning.rungs, choice.threshold, voice)
    accumulation = charts.accumulation(turning.accumulation, choice.threshold, voice)
    return [
        view(
            "ladder",
            voice.gettext("Where the decision changes: machine bandwidth"),
            ladder,
            table="rungs",
        ),
        view(
            "accumulation",
            voice.gettext("Where the decision changes: gradient accumulation"),
            accumulation,
            table="accumulation",
        ),
    ]
