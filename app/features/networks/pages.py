"""The network of an option of a study: which one is worth its price, and its switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request

from app.engine.units import GIGABYTE
from app.errors import AppError, Message
from app.estimating.documents import SystemSummary
from app.features.bills.drawings import topology
from app.features.bills.fabric import plan_fabric
from app.features.bills.model import FabricPlan, FabricRequest
from app.features.networks import charts
from app.features.networks.answering import usual_options, weigh_fabrics
from app.features.networks.forms import FORM, RUNS, USUAL_TERMS, VIEW, at_form_fields, choice_request
from app.features.networks.model import (
    EXPOSED,
    ExposedTime,
    FabricChoice,
    FabricGain,
    FabricOption,
    NetworkTerms,
)
from app.features.networks.options import NetworkOption, bill_of
from app.features.studies.frame import (
    OpenView,
    StudyFrame,
    StudyQuestion,
    state_query,
    study_view,
    view_address,
)
from app.features.studies.model import StudyOption
from app.features.studies.states import state_of
from app.platform.charts.figures import Segment
from app.platform.rates import CostClass
from app.platform.web.contexts import DrawingView, FigureView, Form, view
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace

router = page_router()


def switched(workspace: Workspace, option: StudyOption) -> bool:
    """Tell whether the network of an option is purchased; those of pods and clouds are built in."""
    system = workspace.catalogue.systems.documents.get(option.system.id) if option.system else None
    return system is not None and system.chip_kind == "gpu" and system.acquisition == "own"


def weigh(question: StudyQuestion, terms: NetworkTerms) -> FabricChoice:
    """Weigh networks; errors name the fields of the form."""
    try:
        return weigh_fabrics(question.workspace, choice_request(question, terms))
    except AppError as error:
        raise at_form_fields(error) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRow:
    """The row of one network."""

    option: FabricOption
    gain: FabricGain | None
    """Gain over the reference; None for the reference itself."""
    exposed: Sequence[Segment]
    """Its exposed communication by kind, on a scale that all networks share."""
    own: bool
    """Whether it is the network of the option."""
    use_url: str
    """Address of the study with this network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricChoiceView:
    """The part of the page that is derived from a choice."""

    rows: Sequence[NetworkRow]
    reference: str
    """Label of the network relative to which gains are stated."""
    taken: FabricOption | None
    use_url: str
    """Address of the study with the recommended network; empty if the option has it."""
    charts: Sequence[FigureView]
    turning_charts: Sequence[FigureView]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPart:
    """The switches and cables of a network by its nodes and ports."""

    result: FormOutcome[FabricPlan]
    general: Sequence[Message]
    """Errors that no field shows."""
    drawing: DrawingView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPage:
    """The workload of an option on several networks."""

    frame: StudyFrame
    form: Form
    general: Sequence[Message]
    """Errors that no field of the form shows."""
    stale: bool
    """Whether the choice is that of the previous question."""
    built_in: Sequence[str]
    """Names of options whose network is built in."""
    networks: Mapping[str, str]
    """Identifier → label."""
    some_measured: bool
    """Whether there are measured runs, so that their fields are shown open."""
    hidden_fields: Sequence[tuple[str, str]]
    """Fields of the view that the form does not show."""
    choice: FabricChoice | None
    answer: FabricChoiceView | None
    proposal_url: str
    """Address of a proposal with the recommended network; empty without a choice."""
    switches: SwitchPart | None


SHOWN = {"threshold", "oversubscription", "reference", "installed"}
"""Fields that the form always has."""

WIDTH = 100.0


def network_page(
    request: Request,
    view: OpenView,
    result: FormOutcome[FabricChoice] | None,
    switches: FormOutcome[FabricPlan] | None,
) -> NetworkPage:
    """Return the page of a choice, or of the previous one if this one is refused."""
    frame, question, voice = view.frame, view.question, voice_of(request)
    form = Form() if result is None else result.form
    choice = None if result is None else result.answer
    networks = {option.id: option.label for option in choice.options} if choice else {}
    if not networks and question is not None and question.request is not None:
        networks = dict(usual_options(view.workspace, question.request))
    fields = {*SHOWN, *(f"{RUNS}{network}" for network in networks)}
    values = form.firsts
    systems = view.workspace.catalogue.systems.documents
    options = [
        option
        for option in view.state.content.options
        if option.system and not switched(view.workspace, option)
    ]
    return NetworkPage(
        frame=frame,
        form=form,
        general=[error.message for error in form.errors if error.field not in fields],
        stale=result is not None and result.stale,
        built_in=[systems[option.system.id].name for option in options if option.system],
        networks=networks,
        some_measured=any(name.startswith(RUNS) for name in values),
        hidden_fields=[(name, text) for name, text in values.items() if name not in fields],
        choice=choice,
        answer=answer_view(choice, frame, voice) if choice else None,
        proposal_url=proposal_url(view, choice) if choice else "",
        switches=None if switches is None else switch_part(switches, voice),
    )


def network_view(request: Request, view: OpenView, result: FormOutcome[FabricChoice] | None) -> NetworkPage:
    """Return the page of a choice with the switches that the state holds."""
    return network_page(request, view, result, None if result is None else SWITCHED(view))


def switch_view(request: Request, view: OpenView, result: FormOutcome[FabricPlan] | None) -> NetworkPage:
    """Return the page of the switches with the choice that the state holds."""
    return network_page(request, view, WEIGHED(view), result)


def switch_part(result: FormOutcome[FabricPlan], voice: Voice) -> SwitchPart:
    """Return the part of the switches, or of the previous ones if these are refused."""
    plan = result.answer
    drawn = topology(plan, voice) if plan else None
    return SwitchPart(
        result=result,
        general=SWITCH_FORM.general_errors(result.form),
        drawing=DrawingView("topology", drawn.title, drawn, "fabric") if drawn else None,
    )


def answer_view(choice: FabricChoice, frame: StudyFrame, voice: Voice) -> FabricChoiceView:
    options = {option.id: option for option in choice.options}
    gains = {gain.option: gain for gain in choice.gains}
    longest = max((exposed_time(option.exposed) for option in choice.options), default=0.0)
    reference = options.get(choice.reference or "")
    taken = recommended(choice)
    return FabricChoiceView(
        rows=[
            NetworkRow(
                option=option,
                gain=gains.get(option.id),
                exposed=segments(option.exposed, longest),
                own=is_own(option, choice.system),
                use_url=frame.url_with(network_knobs(option, frame)),
            )
            for option in choice.options
        ],
        reference=reference.label if reference else "",
        taken=taken,
        use_url=frame.url_with(network_knobs(taken, frame))
        if taken and not is_own(taken, choice.system)
        else "",
        charts=gain_charts(choice, voice),
        turning_charts=turning_charts(choice, voice),
    )


def recommended(choice: FabricChoice) -> FabricOption | None:
    identifier = choice.advice.recommendation if choice.advice else None
    return next((option for option in choice.options if option.id == identifier), None)


def proposal_url(view: OpenView, choice: FabricChoice) -> str:
    """Return the address of a proposal with the recommended network, which is the one it must sell."""
    frame, state, query = view.frame, view.state, view.frame.query
    taken = recommended(choice)
    if taken is not None and not is_own(taken, choice.system):
        knobs = {**state.variant.knobs, **network_knobs(taken, frame)}
        study = state.study
        variant = state_of(view.workspace, study.id, knobs, study.version, state.views)
        query = state_query(view.workspace, variant, plain=False)
    return view_address(state.study.id, "proposal", [*query, ("network_of", frame.option)])


def is_own(option: FabricOption, system: SystemSummary) -> bool:
    return (option.fabric, option.ports_per_node) == (system.fabric, system.ports_per_node)


def network_knobs(option: FabricOption, frame: StudyFrame) -> dict[str, str]:
    return {f"fabric.{frame.option}": option.fabric, f"ports.{frame.option}": str(option.ports_per_node)}


def exposed_time(exposed: ExposedTime) -> float:
    return exposed.tensor + exposed.pipeline + exposed.data


def segments(exposed: ExposedTime, longest: float) -> list[Segment]:
    bars, start = [], 0.0
    for kind, part in EXPOSED.items():
        value = float(getattr(exposed, kind))
        if value > 0 and longest > 0:
            width = WIDTH * value / longest
            bars.append(Segment(part, start, width, value, value / exposed_time(exposed)))
            start += width
    return bars


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
    """Return the charts of where the decision changes: with bandwidth, and with accumulation."""
    turning = choice.turning
    if turning is None:
        return []
    ladder = charts.ladder(turning.rungs, choice.threshold, voice)
    accumulation = charts.accumulation(turning.accumulation, choice.threshold, voice)
    return [
        view("ladder", voice.gettext("Where the decision changes: machine bandwidth"), ladder, table="rungs"),
        view(
            "accumulation",
            voice.gettext("Where the decision changes: gradient accumulation"),
            accumulation,
            table="accumulation",
        ),
    ]


SWITCH_FORM = QueryForm(FabricRequest)


def usual_switches(question: StudyQuestion) -> dict[str, str]:
    """Return the nodes and ports of the recommended network, else of the option's own."""
    assert question.request is not None, "a stated figure has no network"
    context = question.workspace.sizing
    hardware = context.hardware.asked(question.request.system)
    network = NetworkOption(hardware.fabric, hardware.ports_per_node, 1.0, "")
    try:
        taken = recommended(weigh_fabrics(question.workspace, choice_request(question)))
    except AppError:
        taken = None
    if taken is not None:
        network = NetworkOption(taken.fabric, taken.ports_per_node, taken.oversubscription, taken.label)
    bill = bill_of(context.catalog, hardware, network)
    return {
        "nodes": str(hardware.machines),
        "ports_per_node": str(network.ports),
        "port_gbps": f"{8.0 * context.catalog.figure(network.fabric, 'line_rate').si / GIGABYTE:g}",
        "switch_ports": "" if bill is None else str(bill.switch_ports),
        "oversubscription": f"{network.oversubscription:g}",
    }


WEIGHED = study_view(
    router,
    VIEW,
    "networks/network.html",
    FORM,
    FabricChoice,
    usual=lambda _: USUAL_TERMS,
    answer=weigh,
    page=network_view,
    suits=switched,
    cost=CostClass.SEARCH,
)

SWITCHED = study_view(
    router,
    "switches",
    "networks/network.html",
    SWITCH_FORM,
    FabricPlan,
    usual=usual_switches,
    answer=lambda _, request: plan_fabric(request, shared=True),
    page=switch_view,
    suits=switched,
    cost=CostClass.SEARCH,
    part_of=VIEW,
)
