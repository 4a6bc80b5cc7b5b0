"""Pages of share links: one frozen proposal, without login and hidden from search engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError
from app.features.proposals import sharing
from app.features.proposals.customers import act_on_link, seen_by_customer
from app.features.proposals.files import FILE_KINDS, FileKind, file_of
from app.features.proposals.model import CustomerAct, Proposal
from app.features.proposals.sharing import SharedProposal, WrongPassphrase
from app.features.proposals.views import LockedPage, shared_page
from app.platform.identity import token_hash
from app.platform.web.auth import reach_of
from app.platform.web.contexts import Form
from app.platform.web.deps import InstallationDep
from app.platform.web.forms import read_fields, refusal, refused, typed
from app.platform.web.locale import language_of
from app.platform.web.problems import Forbidden
from app.platform.web.rendering import render
from app.platform.web.requirements import count_reading
from app.platform.web.rights import with_link
from app.platform.wording.voice import WRITTEN
from app.platform.workspace import Installation, Workspace

router = APIRouter(include_in_schema=False, dependencies=[Depends(with_link)])

FormDep = Annotated[FormData, Depends(read_fields)]

COOKIE = "rackline_link_{link}"
"""Name of the cookie that holds the proof of a passphrase; each link has its own."""

HEADERS = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "private, no-store",
    # The address is a secret that must not be sent to sites that the page links to.
    "Referrer-Policy": "no-referrer",
}


def private(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response


def cookie_of(token: str) -> str:
    return COOKIE.format(link=token_hash(token)[:16])


def count(request: Request, installation: Installation, token: str) -> None:
    """Count a request against the quota of a link; raises an error beyond it."""
    workspace, _ = sharing.link_target(installation, token)
    count_reading(request, workspace.id, sharing.link_id(token))


def open_link(request: Request, installation: Installation, token: str, form: str) -> SharedProposal:
    """Return the proposal of a link, as far as this browser has unlocked it."""
    count(request, installation, token)
    return sharing.open_share(installation, token, request.cookies.get(cookie_of(token)), form)


def unlocked_proposal(
    request: Request, installation: Installation, token: str, form: str
) -> tuple[Proposal, Workspace]:
    """Return the proposal of a link and its workspace; raises an error before it is unlocked."""
    shared = open_link(request, installation, token, form)
    if shared.proposal is None:
        raise Forbidden("open the link in a browser and enter its passphrase first")
    return shared.proposal, shared.workspace


PRIVATE: dict[str, Any] = {
    **dict.fromkeys(("comparison_id", "study_id", "share", "first_opened_at", "last_opened_at")),
    "steps": [],
    "opened": 0,
}
"""What is the author's: where a proposal comes from, the next steps, its link and the use of it."""


@router.get("/s/{token}.json")
def shared_data(request: Request, installation: InstallationDep, token: str) -> Response:
    proposal, workspace = unlocked_proposal(request, installation, token, "json")
    events = [event.model_dump(mode="json") for event in seen_by_customer(workspace, proposal.id)]
    return private(JSONResponse(proposal.model_dump(mode="json") | PRIVATE | {"events": events}))


def file_route(kind: FileKind) -> Callable[..., Response]:
    def shared_file(request: Request, installation: InstallationDep, token: str) -> Response:
        proposal, workspace = unlocked_proposal(request, installation, token, kind)
        return private(file_of(workspace, proposal, kind))

    return shared_file


for file_kind in FILE_KINDS:
    router.add_api_route(f"/s/{{token}}.{file_kind}", file_route(file_kind))


@router.get("/s/{token}", response_class=HTMLResponse)
def show_shared(request: Request, installation: InstallationDep, token: str) -> Response:
    shared = open_link(request, installation, token, "page")
    if shared.proposal is None:
        return render_locked(request, LockedPage(token=token, message=None))
    return render_shared(request, token, shared, shared.proposal)


def render_shared(
    request: Request,
    token: str,
    shared: SharedProposal,
    proposal: Proposal,
    form: Form | None = None,
    error: AppError | None = None,
) -> Response:
    """Show the answer first, what the customer can do, and then the document, all in its language."""
    events = seen_by_customer(shared.workspace, proposal.id)
    message = None if error is None else error.message
    page = shared_page(token, proposal, shared.expires_at, events, form or Form(), message)
    status, language = error.status if error else 200, proposal.content.locale
    return private(render(request, "proposals/shared.html", page, status=status, language=language))


@router.post("/s/{token}/answer", response_class=HTMLResponse)
def answer(request: Request, installation: InstallationDep, form: FormDep, token: str) -> Response:
    """Take the customer's acceptance, refusal or question, or show the page with what is wrong."""
    count(request, installation, token)
    values, proof = typed(form), request.cookies.get(cookie_of(token))
    try:
        act = CustomerAct.model_validate({name: texts[0] for name, texts in values.items()})
        act_on_link(installation, token, proof, act)
    except (AppError, ValidationError) as error:
        shared = sharing.open_share(installation, token, proof, "answer")
        if shared.proposal is None:
            raise
        again = refused(values, error, ())
        return render_shared(request, token, shared, shared.proposal, again, refusal(error))
    return private(RedirectResponse(f"/s/{token}#answer", 303))


def render_locked(request: Request, page: LockedPage, status: int = 200) -> Response:
    """Ask for the passphrase in the language of the browser, since that of the proposal is still secret."""
    language = language_of(request, WRITTEN)
    return private(render(request, "proposals/shared_locked.html", page, status=status, language=language))


@router.post("/s/{token}", response_class=HTMLResponse)
def unlock(request: Request, installation: InstallationDep, form: FormDep, token: str) -> Response:
    """Check the passphrase of a link; the browser stores a proof of it for this link."""
    passphrase = typed(form).get("passphrase", [""])[0]
    count(request, installation, token)
    try:
        proof = sharing.unlock_share(installation, token, passphrase)
    except WrongPassphrase as error:
        return render_locked(request, LockedPage(token=token, message=error.message), error.status)
    response = RedirectResponse(f"/s/{token}", 303)
    secure = reach_of(request).https
    response.set_cookie(cookie_of(token), proof, path="/s/", secure=secure, httponly=True, samesite="lax")
    return private(response)
