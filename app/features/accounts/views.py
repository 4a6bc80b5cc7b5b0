"""What the templates of signing in, of accounts and of people are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.errors import Message
from app.features.accounts.people import AccountDocument, Open, People
from app.platform.web.contexts import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPage:
    """The form that asks for address and password."""

    form: Form
    message: Message | None
    """Why the last try was refused."""
    following: str
    """Address to go to then."""
    mails: bool
    """Whether a link to set a new password can be sent."""
    provider: bool = False
    """Whether people may sign in through a provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePage:
    """The form that asks for a code of the second factor."""

    form: Form
    following: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenPage:
    """The form that asks where to send a link for a new password."""

    sent: bool
    """Whether one was asked for."""
    message: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordPage:
    """The form that sets a password by a link."""

    token: str
    email: str
    form: Form
    least: int
    """Fewest characters of a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationPage:
    """An invitation, and the form that accepts it."""

    token: str
    offered: Open
    mine: bool
    """Whether the account it is for is signed in here."""
    form: Form
    message: Message | None
    sign_in_url: str
    least: int


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session in words."""

    id: str
    device: str
    address: str
    here: bool
    began: str
    failures: int
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """The account of the person who reads it."""

    account: AccountDocument
    sessions: Sequence[SessionLine]
    workspace_id: str
    """Where this browser works."""
    form: Form
    message: Message | None
    """What was refused."""
    done: str
    """What was done, as a key of its sentences; empty where nothing was."""
    codes: Sequence[str]
    """New recovery codes, shown once."""
    least: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactorPage:
    """A new second factor: what a device scans, and the form that proves it did."""

    picture: Markup
    secret: str
    sealed: str
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """The people of a workspace, for its owners."""

    people: People
    me: str
    """Account of the reader."""
    roles: Sequence[str]
    form: Form
    message: Message | None
    link: str
    """A new invitation's link, shown once; empty where there is none."""
    mailed: bool
