"""The people of a workspace, for its owners: members, roles, invitations."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, Conflict, Unprocessable
from app.services import people
from app.services.admission import Principal, Role
from app.services.identity import Identity
from app.services.people import People, Sent
from app.web.auth import IdentityDep, OwnerDep
from app.web.contexts import Form
from app.web.identity_contexts import PeoplePage
from app.web.locale import voice_of
from app.web.pages.documents import available
from app.web.pages.entrances import general
from app.web.pages.sign_in import FormDep, private, text_of
from app.web.redirects import go
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

ROLES = [role.value for role in (Role.CONSULTANT, Role.VIEWER, Role.OWNER)]


def role_of(form: FormData) -> Role:
    """Return the role that was chosen."""
    given = text_of(form, "role")
    if given not in ROLES:
        raise Unprocessable.at("role", "must be one of {roles}", roles=", ".join(ROLES))
    return Role(given)


def shown(
    request: Request,
    identity: Identity,
    owner: Principal,
    form: Form,
    error: AppError | None = None,
    sent: Sent | None = None,
) -> Response:
    """Return the page of the people of a workspace."""
    page = PeoplePage(
        data_url="/people.json",
        documents=available(),
        people=people.list_people(identity, owner.workspace_id),
        me=owner.account_id or "",
        roles=ROLES,
        form=form,
        message=general(error),
        link=sent.link if sent and not sent.mailed else "",
        mailed=sent is not None and sent.mailed,
    )
    return private(render(request, "people.html", page, status=error.status if error else 200))


@router.get("/people.json")
def show_people_data(identity: IdentityDep, owner: OwnerDep) -> People:
    """Return the people of the page of the same address."""
    return people.list_people(identity, owner.workspace_id)


@router.get("/people", response_class=HTMLResponse)
def show_people(request: Request, identity: IdentityDep, owner: OwnerDep) -> Response:
    """Show who works in the workspace and who is invited."""
    return shown(request, identity, owner, Form())


@router.post("/people/invitations", response_class=HTMLResponse)
def invite(request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep) -> Response:
    """Invite somebody; without mails the link is shown, once."""
    email = text_of(form, "email")
    try:
        language, asked_at = voice_of(request).language, str(request.base_url)
        sent = people.invite(identity, owner, email, role_of(form), language, asked_at)
    except (BadInput, Conflict) as error:
        kept = Form({"email": [email], "role": [text_of(form, "role")]}, error.errors)
        return shown(request, identity, owner, kept, error)
    return shown(request, identity, owner, Form(), sent=sent)


@router.post("/people/invitations/{identifier}/withdraw", response_class=HTMLResponse)
def withdraw(identity: IdentityDep, owner: OwnerDep, identifier: str) -> Response:
    """Take an invitation back."""
    people.withdraw(identity, owner.workspace_id, identifier)
    return go("/people")


@router.post("/people/members/{identifier}", response_class=HTMLResponse)
def change_role(
    request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep, identifier: str
) -> Response:
    """Let a member do more or less."""
    try:
        people.change_role(identity, owner.workspace_id, identifier, role_of(form))
    except (BadInput, Conflict) as error:
        return shown(request, identity, owner, Form(errors=error.errors), error)
    return go("/people")


@router.post("/people/members/{identifier}/remove", response_class=HTMLResponse)
def remove(request: Request, identity: IdentityDep, owner: OwnerDep, identifier: str) -> Response:
    """End a membership; what the person made stays."""
    try:
        people.remove(identity, owner.workspace_id, identifier)
    except Conflict as error:
        return shown(request, identity, owner, Form(), error)
    return go("/" if identifier == owner.account_id else "/people")


@router.post("/people/workspace", response_class=HTMLResponse)
def rename(request: Request, identity: IdentityDep, owner: OwnerDep, form: FormDep) -> Response:
    """Call the workspace something else."""
    try:
        people.rename_workspace(identity, owner.workspace_id, text_of(form, "name"))
    except BadInput as error:
        return shown(request, identity, owner, Form({"name": [text_of(form, "name")]}, error.errors), error)
    return go("/people")
