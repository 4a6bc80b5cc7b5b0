"""From accounts to what their pages show."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from app.errors import Message
from app.services.passwords import LEAST
from app.services.profile import AccountDocument, SessionDocument
from app.services.second_factor import Enrolment
from app.web.contexts import Form
from app.web.identity_contexts import AccountPage, SecondFactorPage, SessionLine
from app.web.pages.documents import available

DONE = frozenset({"name", "password", "factor", "session"})

BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Whale/", "Whale"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""What a browser's description holds → its name; the special ones before those they claim to be."""

PLATFORMS = (
    ("Windows", "Windows"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def device(user_agent: str) -> str:
    """Return a browser and where it runs in two words, as far as it says so.

    >>> device("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0")
    'Edge, Windows'
    >>> device("curl/8.5.0"), device("")
    ('curl/8.5.0', '–')
    """
    found = [
        next((name for mark, name in table if mark in user_agent), "") for table in (BROWSERS, PLATFORMS)
    ]
    return ", ".join(one for one in found if one) or user_agent[:40] or "–"


def line_of(session: SessionDocument) -> SessionLine:
    """Return a session in words."""
    return SessionLine(
        id=session.id,
        device=device(session.user_agent),
        address=session.address,
        here=session.here,
        began=session.created_at.date().isoformat(),
        failures=session.failures,
        seen=session.seen_at.date().isoformat(),
    )


def account_page(
    account: AccountDocument,
    workspace_id: str,
    *,
    form: Form | None = None,
    message: Message | None = None,
    done: str = "",
    codes: Sequence[str] = (),
) -> AccountPage:
    """Return the page of an account."""
    return AccountPage(
        data_url="/account.json",
        documents=available(),
        account=account,
        sessions=[line_of(one) for one in account.sessions],
        workspace_id=workspace_id,
        form=form or Form(),
        message=message,
        done=done if done in DONE else "",
        codes=codes,
        least=LEAST,
    )


def second_factor_page(offered: Enrolment, form: Form) -> SecondFactorPage:
    """Return the page that offers a second factor; the picture is drawn here and leaves no trace."""
    import segno

    picture = segno.make(offered.uri, error="m", micro=False)
    secret = offered.secret
    return SecondFactorPage(
        documents=available(),
        picture=Markup(picture.svg_inline(scale=5, border=3, dark="#14181f", light="#fff")),
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        sealed=offered.sealed,
        form=form,
    )
