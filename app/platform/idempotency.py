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
from app.platform.store.repository import AnswerExists, Repository
from app.platform.workspace import Workspace

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
    workspace: Workspace,
    once: IdempotentCall | None,
    kind: type[Answer],
    make: Callable[[], tuple[Answer, Save]],
) -> Answer:
    """Make an answer and save it in one transaction, or give the one its key already has."""
    earlier = earlier_answer(workspace, once, kind)
    if earlier is not None:
        return earlier
    try:
        answer, save = make()
        with workspace.transaction() as repository:
            save(repository)
            if once is not None:
                document = answer.model_dump(mode="json")
                since = now() - KEPT
                repository.add_idempotent_answer(once.endpoint, once.key, once.body_sha256, document, since)
    except AnswerExists:
        first = earlier_answer(workspace, once, kind)
        if first is None:
            # It has failed since, and its key is free again.
            raise not_ended() from None
        return first
    return answer


@contextmanager
def claimed(workspace: Workspace, once: IdempotentCall | None, begin: Save, undo: Save) -> Iterator[None]:
    """Let one request alone, of several with a key, do what cannot be taken back, such as sending a mail.

    The key and what ``begin`` saves are kept before, and taken back only if it fails: where a server stops
    in between, the key has no answer, and nothing is done twice. The request saves its answer after
    :func:`free`.
    """
    with workspace.transaction() as repository:
        if once is not None:
            repository.add_idempotent_answer(once.endpoint, once.key, once.body_sha256, {}, now() - KEPT)
        begin(repository)
    try:
        yield
    except Exception:
        with workspace.transaction() as repository:
            free(repository, once)
            undo(repository)
        raise


def free(repository: Repository, once: IdempotentCall | None) -> None:
    if once is not None:
        repository.drop_idempotent_answer(once.endpoint, once.key)


def not_ended() -> Conflict:
    return Conflict.at(
        "Idempotency-Key",
        "a request with this key has not ended; look at what it did before you repeat it with a new key",
    )


def earlier_answer(workspace: Workspace, once: IdempotentCall | None, kind: type[Answer]) -> Answer | None:
    if once is None:
        return None
    with workspace.transaction() as repository:
        row = repository.idempotent_answer(once.endpoint, once.key, now() - KEPT)
    if row is None:
        return None
    if row.body_sha256 != once.body_sha256:
        raise Conflict.at("Idempotency-Key", "this key was used before with a different body; use a new key")
    if not row.answer:
        raise not_ended()
    noted = _REPLAYS.get()
    if noted is not None:
        noted.append(once.key)
    return kind.model_validate(row.answer)
