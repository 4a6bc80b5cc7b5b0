"""Signing in and out: open to everybody, never to be stored on the way."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, FieldError, Message, TooMany
from app.services import sessions, sign_in
from app.services.sign_in import SignInRefused
from app.web.auth import (
    OpenIdentityDep,
    cookie_name,
    drop_session,
    keep_session,
    known_principal,
    visitor_of,
)
from app.web.contexts import Form
from app.web.identity_contexts import CodePage, SignInPage
from app.web.pages.start import read_fields
from app.web.redirects import go, local, to_code
from app.web.rendering import render

router = APIRouter(include_in_schema=False)

FormDep = Annotated[FormData, Depends(read_fields)]
NextQuery = Annotated[str, Query(alias="next")]

MOST_TYPED = 4000
"""Most characters of a field; longer ones are cut, and refused where that is too much."""


def private(response: Response) -> Response:
    """Keep an answer out of stores; its address, which may be a secret, leaves this server on no account."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def secret_of(form: FormData, name: str) -> str:
    """Return a field as it was typed, with its spaces, which may belong to a password."""
    value = form.get(name)
    return value[:MOST_TYPED] if isinstance(value, str) else ""


def text_of(form: FormData, name: str) -> str:
    """Return a field of one line without the spaces around it."""
    return secret_of(form, name).replace("\0", "").strip()


def shown(
    request: Request, form: Form, message: Message | None, following: str, mails: bool, status: int = 200
) -> Response:
    """Return the form that asks for address and password."""
    provider = request.app.state.single_sign_on is not None
    page = SignInPage(form=form, message=message, following=following, mails=mails, provider=provider)
    return private(render(request, "sign_in.html", page, status=status))


@router.get("/sign-in", response_class=HTMLResponse)
def show_sign_in(request: Request, identity: OpenIdentityDep, following: NextQuery = "/") -> Response:
    """Ask for address and password; who is signed in goes on."""
    if known_principal(request) is not None:
        return go(following)
    return shown(request, Form(), None, local(following), identity.mail is not None)


@router.post("/sign-in", response_class=HTMLResponse)
def enter(request: Request, identity: OpenIdentityDep, form: FormDep) -> Response:
    """Start a session, or ask for the second factor."""
    email, following = text_of(form, "email"), local(text_of(form, "next"))
    earlier = request.cookies.get(cookie_name(request))
    try:
        started = sign_in.sign_in(identity, email, secret_of(form, "password"), visitor_of(request), earlier)
    except (SignInRefused, TooMany) as error:
        kept = Form({"email": [email]})
        page = shown(request, kept, error.message, following, identity.mail is not None, error.status)
        return waiting(page, error)
    response = go(following) if started.complete else to_code(following)
    keep_session(request, response, started)
    return private(response)


@router.get("/sign-in/code", response_class=HTMLResponse)
def show_code(request: Request, identity: OpenIdentityDep, following: NextQuery = "/") -> Response:
    """Ask for a code of the second factor."""
    page = CodePage(form=Form(), following=local(following))
    return private(render(request, "sign_in_code.html", page))


@router.post("/sign-in/code", response_class=HTMLResponse)
def enter_code(request: Request, identity: OpenIdentityDep, form: FormDep) -> Response:
    """Complete a session by a code."""
    token, following = request.cookies.get(cookie_name(request), ""), local(text_of(form, "next"))
    try:
        started = sign_in.give_code(identity, token, text_of(form, "code"), visitor_of(request))
    except (BadInput, TooMany) as error:
        wrong = error.errors or [FieldError("code", error.message)]
        page = CodePage(form=Form(errors=wrong), following=following)
        return waiting(private(render(request, "sign_in_code.html", page, status=error.status)), error)
    except SignInRefused as error:
        return shown(request, Form(), error.message, following, identity.mail is not None, error.status)
    response = go(following)
    keep_session(request, response, started)
    return private(response)


def waiting(response: Response, error: AppError) -> Response:
    """Say when somebody who tried too often may try again."""
    if isinstance(error, TooMany):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


@router.post("/sign-out", response_class=HTMLResponse)
def leave(request: Request, identity: OpenIdentityDep) -> Response:
    """End this browser's session."""
    token = request.cookies.get(cookie_name(request))
    if token:
        sessions.sign_out(identity, token)
    response = go("/")
    drop_session(request, response)
    return private(response)
