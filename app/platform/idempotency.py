"""Idempotency: the same key with the same body gives the same answer, and stores once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel

from app.errors import BadInput, Conflict
from app.estimating.schema import Document
from app.platform.store.queries import now
from app.platform.store.repository import AlreadyAnswered, Repository
from app.platform.workbench import Workbench

MAX_KEY = 200

KEPT = timedelta(hours=24)
"""How long an answer is given again under its key; afterwards the key is free."""

_REPLAYS: ContextVar[list[str] | None] = ContextVar("replays", default=None)


@contextmanager
def noting_replays() -> Iterator[list[str]]:
    """Note under which keys answers are given again."""
    replays: list[str] = []
    token = _REPLAYS.set(replays)
    try:
        yield replays
    finally:
        _REPLAYS.reset(token)


Answer = TypeVar("Answer", bound=Document)

Save = Callable[[Repository], None]


@dataclass(frozen=True, slots=True)
class IdempotentCall:
    """A caller's key for one request."""

    endpoint: str
    key: str
    body_sha256: str

    @classmethod
    def of(cls, endpoint: str, key: str | None, body: BaseModel | bytes) -> IdempotentCall | None:
        """Return the key of a request; None where it has none.

        The body counts as understood: spacing and the order of its fields do not matter.
        """
        if key is None:
            return None
        if not 1 <= len(key) <= MAX_KEY or not key.isprintable():
            raise BadInput.at("Idempotency-Key", "must have 1 to {most} printable characters", most=MAX_KEY)
        content = body if isinstance(body, bytes) else body.model_dump_json(exclude_unset=True).encode()
        return cls(endpoint, key, hashlib.sha256(content).hexdigest())


def keep(
    bench: Workbench,
    workspace_id: str,
    once: IdempotentCall | None,
    kind: type[Answer],
    make: Callable[[], tuple[Answer, Save]],
) -> Answer:
    """Make an answer and save it in one transaction, or give the one its key already has."""
    earlier = earlier_answer(bench, workspace_id, once, kind)
    if earlier is not None:
        return earlier
    erasures = bench.erasures(workspace_id)
    answer, save = make()
    try:
        with bench.store.transaction(workspace_id, erasures) as repository:
            save(repository)
            if once is not None:
                document = answer.model_dump(mode="json")
                since = now() - KEPT
                repository.add_idempotent_answer(once.endpoint, once.key, once.body_sha256, document, since)
    except AlreadyAnswered:
        first = earlier_answer(bench, workspace_id, once, kind)
        assert first is not None, "a key that is taken has an answer"
        return first
    return answer


def earlier_answer(
    bench: Workbench, workspace_id: str, once: IdempotentCall | None, kind: type[Answer]
) -> Answer | None:
    if once is None:
        return None
    with bench.store.transaction(workspace_id) as repository:
        row = repository.idempotent_answer(once.endpoint, once.key, now() - KEPT)
    if row is None:
        return None
    if row.body_sha256 != once.body_sha256:
        raise Conflict.at("Idempotency-Key", "this key was used before with a different body; use a new key")
    noted = _REPLAYS.get()
    if noted is not None:
        noted.append(once.key)
    return kind.model_validate(row.answer)
