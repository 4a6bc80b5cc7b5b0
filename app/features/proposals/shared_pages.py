"""Links to one frozen proposal: no login, not for search engines, nothing else to be seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from app.features.proposals import sharing
from app.features.proposals.files import FILE_KINDS, FileKind, file_of
from app.features.proposals.model import Proposal
from app.features.proposals.sharing import Shared, WrongPassphrase
from app.features.proposals.views import LockedPage, SharedPage, paper_of
from app.platform.identity import token_hash
from app.platform.web.auth import reach_of
from app.platform.web.deps import BenchDep
from app.platform.web.forms import read_fields, typed
from app.platform.web.locale import language_of
from app.platform.web.needs import count_reading
from app.platform.web.problems import NotAllowed
from app.platform.web.rendering import render
from app.platform.web.rights import with_link
from app.platform.wording.voice import LANGUAGES, WRITTEN
from app.platform.workbench import Workbench

router = APIRouter(include_in_schema=False, dependencies=[Depends(with_link)])

FormDep = Annotated[FormData, Depends(read_fields)]

COOKIE = "rackline_link_{link}"
"""Name of the cookie that holds the proof of a passphrase; each link has its own."""

HEADERS = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "private, no-store",
    # The address is the secret: it must not be told to whoever a link in the page leads to.
    "Referrer-Policy": "no-referrer",
}


def private(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response


def cookie_of(token: str) -> str:
    return COOKIE.format(link=token_hash(token)[:16])


def count(request: Request, bench: Workbench, token: str) -> None:
    """Count what is asked of a link, before anything is done for it, and refuse it beyond the quota."""
    workspace, _ = sharing.led_to(bench, token)
    count_reading(request, workspace, sharing.link_of(token))


def opened(request: Request, bench: Workbench, token: str, form: str) -> Shared:
    """Return what a link shows to this browser, as often as a link may be asked."""
    count(request, bench, token)
    return sharing.open_share(bench, token, request.cookies.get(cookie_of(token)), form)


def unlocked(request: Request, bench: Workbench, token: str, form: str) -> tuple[Proposal, str]:
    """Return the proposal of a link and its workspace, or refuse before the passphrase is given."""
    found = opened(request, bench, token, form)
    if found.proposal is None:
        raise NotAllowed("open the link in a browser and enter its passphrase first")
    return found.proposal, found.workspace_id


@router.get("/s/{token}.json")
def shared_data(request: Request, bench: BenchDep, token: str) -> Response:
    proposal, _ = unlocked(request, bench, token, "json")
    # The link, its use and what is left to do are the author's business.
    unseen: dict[str, Any] = {
        "share": None,
        "steps": [],
        "opened": 0,
        "first_opened_at": None,
        "last_opened_at": None,
    }
    public = proposal.model_copy(update=unseen)
    return private(Response(public.model_dump_json(), media_type="application/json"))


def file_route(kind: FileKind) -> Callable[..., Response]:
    def shared_file(request: Request, bench: BenchDep, token: str) -> Response:
        proposal, workspace = unlocked(request, bench, token, kind)
        return private(file_of(bench, workspace, proposal, kind))

    return shared_file


for file_kind in FILE_KINDS:
    router.add_api_route(f"/s/{{token}}.{file_kind}", file_route(file_kind))


@router.get("/s/{token}", response_class=HTMLResponse)
def show_shared(request: Request, bench: BenchDep, token: str) -> Response:
    found = opened(request, bench, token, "page")
    if found.proposal is None:
        return locked(request, LockedPage(token=token, message=None))
    page = SharedPage(token=token, shared=found, paper=paper_of(found.proposal))
    own = found.proposal.content.locale
    # What is not a language of the pages is all the reader gets: the words around it are in it, too.
    return private(render(request, "proposals/shared.html", page, language=None if own in LANGUAGES else own))


def locked(request: Request, page: LockedPage, status: int = 200) -> Response:
    """Ask for the passphrase, in any language a proposal may be in: its own is not told yet."""
    language = language_of(request, WRITTEN)
    return private(render(request, "proposals/shared_locked.html", page, status=status, language=language))


@router.post("/s/{token}", response_class=HTMLResponse)
def unlock(request: Request, bench: BenchDep, form: FormDep, token: str) -> Response:
    """Take the passphrase of a link; the browser keeps a proof of it, for this link alone."""
    given = typed(form).get("passphrase", [""])[0]
    count(request, bench, token)
    try:
        proof = sharing.unlock_share(bench, token, given)
    except WrongPassphrase as error:
        return locked(request, LockedPage(token=token, message=error.message), error.status)
    response = RedirectResponse(f"/s/{token}", 303)
    secure = reach_of(request).https
    response.set_cookie(cookie_of(token), proof, path="/s/", secure=secure, httponly=True, samesite="lax")
    return private(response)
