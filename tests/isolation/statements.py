"""Every statement that reaches the database: does it name the workspace whose rows it touches?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine
from sqlalchemy.sql import Delete, Select, Update, operators, visitors
from sqlalchemy.sql.elements import BinaryExpression

from app.platform.store.account_tables import Account

OWNED = {name for name, table in Account.metadata.tables.items() if "workspace_id" in table.c}
"""Tables whose rows belong to a workspace."""

ELSEWHERE = {
    "claim_job": "whoever does jobs takes on those of any workspace, by identifier",
    "watched_jobs": "whoever does jobs looks after those of every workspace",
    "take_back": "a job is taken from a runner that has fallen silent, by its identifier",
    "jobs_by_state": "the figures of the server count jobs, of which nothing else is told",
    "shared_by": "a link names its workspace by a secret; nothing else does",
    "key_of": "a key is found by its public part, and tells its workspace by its secret",
    "flush": "changes rows that were read within the workspace; the session refuses those of another",
    "seated": "a session names its account and workspace by a secret",
    "incomplete": "a session names its account by a secret",
    "memberships": "the workspaces of one account",
    "members": "the people of one workspace",
    "end_all": "a person's own sessions, by account",
}
"""Function that may ask otherwise → why."""


def unbound(statement: Any) -> list[str]:
    """Return the tables of workspaces that a statement touches without naming the workspace.

    Columns that are set count for nothing, criteria do: ``table.workspace_id = …``, with whatever else.
    """
    if not isinstance(statement, Select | Update | Delete):
        return []
    touched = {one.name for one in visitors.iterate(statement) if isinstance(one, sa.Table)} & OWNED
    if not isinstance(statement, Select):
        touched |= {statement.table.name} & OWNED
    bound = {
        one.left.table.name
        for one in visitors.iterate(statement)
        if isinstance(one, BinaryExpression)
        and one.operator is operators.eq
        and isinstance(one.left, sa.Column)
        and one.left.name == "workspace_id"
    }
    return sorted(touched - bound)


def excused() -> bool:
    """Tell whether a function that may ask otherwise is at work."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        inside = "/app/platform/store/" in path or (name == "flush" and "/orm/session.py" in path)
        if name in ELSEWHERE and inside:
            return True
        frame = frame.f_back
    return False


def called_by() -> str:
    """Return the function of the store that is at work."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if "/app/" in frame.f_code.co_filename:
            return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"


@contextmanager
def listening(engine: Engine) -> Iterator[set[str]]:
    """Collect the statements that do not name the workspace, with who asked; those of tests apart."""
    found: set[str] = set()

    def check(connection: Any, statement: Any, *_: Any) -> None:
        tables = unbound(statement)
        if tables and not excused() and called_by() != "?":
            found.add(f"{', '.join(tables)} by {called_by()}: {str(statement)[:300]}")

    sa.event.listen(engine, "before_execute", check)
    yield found
    sa.event.remove(engine, "before_execute", check)
