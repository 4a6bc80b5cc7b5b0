"""The view of a study in which proposals are created."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError, Message, NotFound
from app.features.calibration.service import get_calibration, list_calibrations
from app.features.proposals import service as proposals
from app.features.proposals.forms import request_body, without_nulls
from app.features.proposals.model import Proposal, ProposalRequest, ProposalSummary
from app.features.studies.frame import OpenView, StudyFrame, open_view
from app.features.studies.knobs import labels_of
from app.features.studies.service import check_edit
from app.features.studies.states import save_state
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep, refusal, refused, typed
from app.platform.web.locale import language_of
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()

VIEW = "proposal"

TEMPLATE = "proposals/study_proposal.html"

PATH = f"/studies/{{identifier}}/{VIEW}"

LISTED = 30

NETWORK_OF = "network_of"
"""Field naming the option whose network the proposal advises on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProposalPage:
    """Proposals of a study, and the form for another."""

    frame: StudyFrame
    proposals: Sequence[ProposalSummary]
    form: Form
    message: Message | None
    """Error of the form as a whole."""
    labels: Sequence[str]
    """Options of the study."""
    calibrations: Sequence[Choice]
    """Measured runs of the study, and those named by the URL."""
    networks: Sequence[Choice]
    """Options with a purchased network, for which networks can be compared."""
    saves: bool
    """Whether a proposal saves the current state as a version of the study."""


def study_proposal_page(view: OpenView, form: Form, message: Message | None = None) -> StudyProposalPage:
    workspace, content = view.workspace, view.state.content
    labels = labels_of(content, workspace.sizing.catalog)
    return StudyProposalPage(
        frame=view.frame,
        proposals=proposals.list_proposals(workspace, LISTED, None, study=view.state.study.id).items,
        form=form,
        message=message,
        labels=list(labels.values()),
        calibrations=offered_runs(view, form.get("calibration_id")),
        networks=[Choice(key, labels[key]) for key in proposals.with_networks(workspace, content)],
        saves=not view.state.study.saved or bool(view.frame.query),
    )


def offered_runs(view: OpenView, requested: str) -> list[Choice]:
    workspace = view.workspace
    runs = list_calibrations(workspace, LISTED, None, view.state.study.id).items
    offered = {run.id: run.name for run in runs}
    if requested and requested not in offered:
        # Runs kept without a study are offered in the study made for them.
        with contextlib.suppress(NotFound):
            offered[requested] = get_calibration(workspace, requested).name
    return [Choice(identifier, label) for identifier, label in offered.items()]


def initial_values(request: Request, view: OpenView) -> dict[str, Sequence[str]]:
    """Return the initial form: the values of the study, and the sender of the last proposal."""
    content = view.state.content
    sender = proposals.latest_sender(view.workspace)
    networks = proposals.with_networks(view.workspace, content) if proposals.NETWORK in content.views else []
    return {
        "calibration_id": proposals.runs_of(view.workspace, view.state)[:1],
        NETWORK_OF: networks[:1],
        "locale": [view.stored.get("locale") or language_of(request)],
        "valid_until": [proposals.default_end().isoformat()],
        "confidential": ["yes"],
        "customer": [content.customer],
        "title": [content.name],
        "currency": [content.base.currency],
        "options": list(labels_of(content, view.workspace.sizing.catalog).values()),
        **{name: [value] for name, value in sender.items()},
    }


def filled_page(request: Request, _: Page[ProposalSummary]) -> StudyProposalPage:
    view = view_of(request)
    return study_proposal_page(view, Form({**initial_values(request, view), **typed(request.query_params)}))


def view_of(request: Request) -> OpenView:
    return open_view(request, workspace_of(request), request.path_params["identifier"], VIEW, None)


@resource(router, PATH, TEMPLATE, filled_page)
def show_proposals(shown: Annotated[OpenView, Depends(view_of)]) -> Page[ProposalSummary]:
    return proposals.list_proposals(shown.workspace, LISTED, None, study=shown.state.study.id)


@router.post(PATH, response_class=HTMLResponse)
@requires(Right.PROPOSE, CostClass.SEARCH)
def make_proposal(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Save the current state of the study and create a draft from it, or return the form with errors."""
    view = view_of(request)
    try:
        proposal = create_draft(workspace, view, form)
    except (AppError, ValidationError) as error:
        problem = refusal(error)
        page = study_proposal_page(view, refused(typed(form), problem, ()), problem.message)
        return render(request, TEMPLATE, page, status=problem.status)
    return RedirectResponse(f"/proposals/{proposal.id}", 303)


def create_draft(workspace: Workspace, view: OpenView, form: FormData) -> Proposal:
    """Return a draft of a study in its current state, which becomes a version of the study."""
    state = view.state
    body = {**without_nulls(request_body(form)), "study_id": state.study.id}
    body |= {"calibration_id": body.get("calibration_id"), "fabric_choice": None}
    body.pop("scaling_efficiency", None)
    request = ProposalRequest.model_validate(body)
    if key := typed(form).get(NETWORK_OF, [""])[0]:
        keys = proposals.with_networks(workspace, state.content)
        if key not in keys:
            raise NotFound.named("option", key, keys, NETWORK_OF)
        choice = proposals.network_choice(workspace, state, key)
        request = request.model_copy(update={"fabric_choice": choice})
    check_edit(workspace, state.study, None)
    proposal = proposals.create_proposal(workspace, request, state=state)
    # Last, so that a refused form leaves the study unchanged.
    heading = {} if state.content.customer else {"customer": request.customer}
    save_state(workspace, state, heading)
    return proposal
