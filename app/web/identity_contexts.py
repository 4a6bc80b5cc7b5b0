"""What the templates of signing in, of accounts and of people are given."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import Message
from app.web.contexts import Form, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPage(Page):
    """The form that asks for address and password."""

    form: Form
    message: Message | None
    """Why the last try was refused."""
    following: str
    """Address to go to then."""
    mails: bool
    """Whether a link to set a new password can be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePage(Page):
    """The form that asks for a code of the second factor."""

    form: Form
    following: str
