"""API keys: create, list, rotate, revoke, and authenticate."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from app.errors import Conflict, Unavailable
from app.estimating.schema import filled
from app.features.integrations.model import (
    ApiKey,
    KeyRequest,
    KeyScope,
    KeyStatus,
    NewApiKey,
    RotationRequest,
)
from app.platform.admission import Admission, Credentials, Principal, Role, Scope
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.identity import checked_name, new_token, token_hash
from app.platform.listing import Page, page_of
from app.platform.references import existing
from app.platform.store.account_tables import ApiKeyRecord
from app.platform.store.database import Store
from app.platform.store.integration_queries import ends_at
from app.platform.store.queries import new_id, now
from app.platform.store.repository import Repository
from app.platform.workspace import Workspace

logger = logging.getLogger("rackline.keys")

MARK = "rk_"
"""Prefix of every key, by which scanners find leaked keys."""

PREFIX_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"

PREFIX_LENGTH = 8

FORM = re.compile(rf"(?P<prefix>{MARK}[{PREFIX_LETTERS}]{{{PREFIX_LENGTH}}})_(?P<secret>[A-Za-z0-9_-]{{43}})")
"""``rk_``, eight public characters, ``_`` and 32 random bytes in base64url."""

NOTED_EVERY = timedelta(minutes=1)
"""Shortest time between two records of the use of a key."""

MOST_KEYS = 200
"""Most active keys of a workspace."""

NOBODY = token_hash("")
"""Compared with the hash of an unknown key, so that refusing it takes as long."""


class KeyAdmission:
    """Admits requests with a key; passes others to another admission."""

    def __init__(self, store: Store, otherwise: Admission) -> None:
        self._store = store
        self._otherwise = otherwise

    def principal(self, credentials: Credentials) -> Principal | None:
        """Return the principal of a request; an invalid key is refused whatever else it brings."""
        if credentials.bearer is None:
            return self._otherwise.principal(credentials)
        return principal_of(self._store, credentials.bearer, now())


def principal_of(store: Store, key: str, moment: datetime) -> Principal | None:
    """Return the principal of a key; None if it is unknown, expired or revoked."""
    form = FORM.fullmatch(key)
    if form is None:
        return None
    record = store.key_of(form["prefix"])
    matches = hmac.compare_digest(token_hash(key), NOBODY if record is None else record.secret_sha256)
    end = None if record is None else ends_at(record)
    if record is None or not matches or (end is not None and end <= moment):
        return None
    if record.last_used_at is None or moment - record.last_used_at >= NOTED_EVERY:
        note_use(store, record.workspace_id, record.id, moment)
    scopes = frozenset(Scope(scope) for scope in record.scopes)
    # A key never has an owner's rights: people, keys and webhooks are the business of people.
    role = Role.VIEWER if scopes <= {Scope.READ} else Role.CONSULTANT
    return Principal(record.workspace_id, record.name, role, key_id=record.id, scopes=scopes)


def note_use(store: Store, workspace_id: str, identifier: str, moment: datetime) -> None:
    """Record the use of a key; a failure does not stop the request."""
    try:
        with store.transaction(workspace_id) as repository:
            repository.keys.used(identifier, moment, moment - NOTED_EVERY)
    except (SQLAlchemyError, Unavailable):
        logger.warning("the use of key %s could not be written down", identifier)


def create_key(workspace: Workspace, request: KeyRequest, idempotency: str | None = None) -> NewApiKey:
    """Create a key. Only the hash of its secret is stored: a repeated request gets the answer without it."""
    once = IdempotentCall.of("keys", idempotency, request)
    name = checked_name(request.name)
    secret, record = new_key(workspace.installation.store, workspace.id, name, sorted(set(request.scopes)))
    if request.expires_in_days is not None:
        record.expires_at = record.created_at + timedelta(days=request.expires_in_days)

    def make() -> tuple[NewApiKey, Save]:
        def save(repository: Repository) -> None:
            check_room(repository, record.created_at)
            repository.add(record)

        return filled(NewApiKey, document_of(record, record.created_at), secret=None), save

    answer = keep(workspace, once, NewApiKey, make)
    return answer.model_copy(update={"secret": secret}) if answer.id == record.id else answer


def check_room(repository: Repository, moment: datetime) -> None:
    repository.hold()
    if repository.keys.count(moment) >= MOST_KEYS:
        raise Conflict.at(
            "name", "a workspace can have at most {most} active keys; revoke one first", most=MOST_KEYS
        )


def new_key(store: Store, workspace_id: str, name: str, scopes: list[KeyScope]) -> tuple[str, ApiKeyRecord]:
    prefix = new_prefix()
    while store.key_of(prefix) is not None:
        prefix = new_prefix()
    secret = f"{prefix}_{new_token()}"
    record = ApiKeyRecord(
        id=new_id("key"),
        workspace_id=workspace_id,
        name=name,
        prefix=prefix,
        secret_sha256=token_hash(secret),
        scopes=list(scopes),
        created_at=now(),
        expires_at=None,
    )
    return secret, record


def new_prefix() -> str:
    return MARK + "".join(secrets.choice(PREFIX_LETTERS) for _ in range(PREFIX_LENGTH))


def list_keys(workspace: Workspace, limit: int, cursor: str | None) -> Page[ApiKey]:
    """Return keys without their secrets, newest first."""
    with workspace.transaction() as repository:
        return page_of(repository, ApiKeyRecord, partial(document_of, moment=now()), limit, cursor)


def get_key(workspace: Workspace, identifier: str) -> ApiKey:
    with workspace.transaction() as repository:
        return document_of(existing(repository, ApiKeyRecord, identifier, "key"), now())


def revoke_key(workspace: Workspace, identifier: str) -> ApiKey:
    """Revoke a key at once and cancel its open jobs."""
    moment = now()
    with workspace.transaction() as repository:
        existing(repository, ApiKeyRecord, identifier, "key")
        repository.keys.revoke(identifier, moment)
        for job in repository.open_jobs_of("key", identifier):
            repository.of_job(job).move({"queued", "running"}, "cancelled", moment)
    return get_key(workspace, identifier)


def rotate_key(
    workspace: Workspace, identifier: str, request: RotationRequest, idempotency: str | None = None
) -> NewApiKey:
    """Replace a key, which works beside the new one until the grace period ends.

    The new key has the same scopes and validity period.
    """
    once = IdempotentCall.of(f"keys/{identifier}/rotate", idempotency, request)
    with workspace.transaction() as repository:
        before = existing(repository, ApiKeyRecord, identifier, "key")
    secret, record = new_key(workspace.installation.store, workspace.id, before.name, before.scopes)  # type: ignore[arg-type]
    moment = record.created_at
    if before.expires_at is not None:
        record.expires_at = moment + (before.expires_at - before.created_at)

    def make() -> tuple[NewApiKey, Save]:
        if status_of(before, moment) in {"revoked", "expired"}:
            raise Conflict.at("id", "the key is no longer active; create a new one")

        def save(repository: Repository) -> None:
            if not repository.keys.replace(
                identifier, record.id, moment + timedelta(hours=request.grace_hours)
            ):
                raise Conflict.at("id", "the key already has a successor; replace that one")
            # Without a grace period the old key no longer counts.
            check_room(repository, moment)
            repository.add(record)

        return filled(NewApiKey, document_of(record, moment), secret=None), save

    answer = keep(workspace, once, NewApiKey, make)
    return answer.model_copy(update={"secret": secret}) if answer.id == record.id else answer


def document_of(record: ApiKeyRecord, moment: datetime) -> ApiKey:
    return filled(ApiKey, record, status=status_of(record, moment), expires_at=ends_at(record))


def status_of(record: ApiKeyRecord, moment: datetime) -> KeyStatus:
    if record.revoked_at is not None:
        return "revoked"
    end = ends_at(record)
    if end is not None and end <= moment:
        return "expired"
    return "active" if record.successor_id is None else "replaced"
