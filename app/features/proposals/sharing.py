"""Share links, each of which shows one frozen proposal."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.errors import AppError, Conflict, Message, NotFound, TooMany
from app.features.proposals.model import Proposal, Share, ShareRequest
from app.features.proposals.service import existing, get_proposal, status_of
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.identity import MOST_TOKEN, new_token, token_hash
from app.platform.passwords import check_not_blank
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.store.tables import ProposalShare
from app.platform.workspace import Installation, Workspace

SCRYPT = {"n": 2**14, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024}
"""Cost of one guess at a passphrase: about 16 MB and some hundredths of a second (RFC 7914)."""

MOST_FAILURES, PAUSE = 5, timedelta(minutes=15)
"""After this many wrong passphrases in a row, none is checked for this long."""

NOTED_EVERY = timedelta(hours=1)
"""Openings within this time are one event, as are views of the form and passphrases entered, since links may
be requested again and again while events are never dropped."""


class WrongPassphrase(AppError):
    """The passphrase is not that of the link."""

    status = 403
    slug = "wrong-passphrase"
    title = "Wrong passphrase"


@dataclass(frozen=True, slots=True)
class SharedProposal:
    """The proposal behind a link; None before the passphrase is entered."""

    proposal: Proposal | None
    workspace: Workspace
    expires_at: datetime


def create_share(
    workspace: Workspace, identifier: str, request: ShareRequest, key: str | None = None
) -> Share:
    """Create a link to a frozen proposal; an earlier one stops working.

    Only the hash of the token is stored, so the answer repeated for a key omits it.
    """
    endpoint = f"shares/{identifier}"
    # A different passphrase is a different body; its seal cannot be used to test guesses.
    mark = None
    if request.passphrase is not None:
        check_not_blank(request.passphrase, "passphrase")
    if key is not None and request.passphrase is not None:
        mark = workspace.installation.sealer.mark(endpoint, request.passphrase)
    call = IdempotentCall.of(endpoint, key, request.model_copy(update={"passphrase": mark}))
    token = new_token()

    def make() -> tuple[Share, Save]:
        with workspace.transaction() as repository:
            record = existing(repository, identifier)
        if record.frozen_at is None:
            raise Conflict.at("status", "only a frozen proposal can be shared: freeze it first")
        if status_of(record) == "expired":
            raise Conflict.at(
                "valid_until", "the validity date of the proposal has passed; it can no longer be shared"
            )
        moment = now()
        expires = moment + timedelta(days=request.expires_in_days)
        salt = None if request.passphrase is None else secrets.token_bytes(16).hex()
        share = ProposalShare(
            token_sha256=token_hash(token),
            workspace_id=workspace.id,
            proposal_id=identifier,
            passphrase_salt=salt,
            passphrase_hash=salt and passphrase_hash(str(request.passphrase), salt),
            created_at=moment,
            expires_at=expires,
            revoked_at=None,
            opened=0,
            noted_at=None,
            failures=0,
            failed_at=None,
        )
        answer = Share(url=None, token=None, expires_at=expires, passphrase=salt is not None)
        detail = {"expires_at": expires.isoformat(), "passphrase": answer.passphrase}

        def save(repository: Repository) -> None:
            queries = repository.of_proposal(identifier)
            queries.revoke_shares(moment)
            queries.add_share(share)
            queries.add_event("shared", moment, detail)

        return answer, save

    answer = keep(workspace, call, Share, make)
    with workspace.transaction() as repository:
        created = repository.of_proposal(identifier).share_of(token_hash(token), now())
    # An answer repeated for a key belongs to the token of the first request.
    return answer if created is None else answer.model_copy(update={"path": f"/s/{token}", "token": token})


def revoke_share(workspace: Workspace, identifier: str) -> None:
    moment = now()
    with workspace.transaction() as repository:
        existing(repository, identifier)
        queries = repository.of_proposal(identifier)
        if queries.revoke_shares(moment):
            queries.add_event("unshared", moment, {})


def open_share(
    installation: Installation, token: str, proof: str | None = None, form: str = "page"
) -> SharedProposal:
    workspace, identifier = link_target(installation, token)
    moment = now()
    with workspace.transaction() as repository:
        queries = repository.of_proposal(identifier)
        share = queries.share_of(token_hash(token), moment)
        if share is None:
            raise no_link()
        if is_locked(share, token, proof):
            return SharedProposal(None, workspace, share.expires_at)
        if form == "page":
            queries.count_visit(moment)
        share = queries.count_opening(token_hash(token))
        if share is None:
            raise no_link()
        # If the clock was set back, events must not be missing until it has caught up.
        if share.noted_at is None or abs(moment - share.noted_at) >= NOTED_EVERY:
            share.noted_at = moment
            queries.add_event("opened", moment, {})
        repository.trail.note_once(
            NOTED_EVERY, "proposal.read", "proposal", identifier, form=form, link=link_id(token)
        )
        expires = share.expires_at
    return SharedProposal(get_proposal(workspace, identifier), workspace, expires)


def unlock_share(installation: Installation, token: str, passphrase: str) -> str:
    """Return the proof of a correct passphrase, which the browser sends from then on."""
    workspace, identifier = link_target(installation, token)
    moment = now()
    with workspace.transaction() as repository:
        queries = repository.of_proposal(identifier)
        queries.count_attempt(token_hash(token))
        share = queries.share_of(token_hash(token), moment)
        if share is None:
            raise no_link()
        if share.passphrase_hash is None or share.passphrase_salt is None:
            return ""
        expected, salt = share.passphrase_hash, share.passphrase_salt
        wait_seconds = pause_seconds(share, moment)
        if not wait_seconds:
            # Wrong until verified, so that concurrent guesses count as well.
            share.failed_at = moment
        failures = share.failures
    if wait_seconds:
        minutes = math.ceil(wait_seconds / 60)
        message = Message("too many wrong passphrases; try again in {minutes} minutes", {"minutes": minutes})
        raise TooMany(message, retry_after=wait_seconds)
    # Between two transactions, so that other writers do not wait for the slow hash.
    correct = hmac.compare_digest(passphrase_hash(passphrase, salt), expected)
    with workspace.transaction() as repository:
        repository.of_proposal(identifier).settle_attempts(token_hash(token), failures if correct else 0)
        action = "proposal.unlocked" if correct else "proposal.refused"
        repository.trail.note_once(NOTED_EVERY, action, "proposal", identifier, link=link_id(token))
    if not correct:
        raise WrongPassphrase("the passphrase is wrong")
    return proof_of(token, expected)


def pause_seconds(share: ProposalShare, moment: datetime) -> int:
    """Return how long passphrases are still refused; after a pause the count restarts. [s]"""
    if share.failed_at is None or share.failures <= MOST_FAILURES:
        return 0
    # If the clock was set back, the pause must not become longer.
    share.failed_at = min(share.failed_at, moment)
    left = PAUSE - (moment - share.failed_at)
    if left > timedelta(0):
        return math.ceil(left.total_seconds())
    share.failures = 1
    return 0


def link_target(installation: Installation, token: str) -> tuple[Workspace, str]:
    """Return workspace and proposal of a link."""
    share = installation.store.shared_by(token_hash(token)) if len(token) <= MOST_TOKEN else None
    if share is None:
        raise no_link()
    return installation.workspace(share.workspace_id), share.proposal_id


def no_link() -> NotFound:
    return NotFound(Message("this link is not valid: it was revoked, has expired or never existed"))


def link_id(token: str) -> str:
    """Return the start of the hash, which identifies a link in the audit trail but does not open it."""
    return token_hash(token)[:12]


def passphrase_hash(passphrase: str, salt: str) -> str:
    """Return the stored hash of a passphrase (scrypt, RFC 7914)."""
    return hashlib.scrypt(passphrase.encode(), salt=bytes.fromhex(salt), dklen=32, **SCRYPT).hex()


def proof_of(token: str, expected: str) -> str:
    """Return the proof that a browser sends instead of the passphrase, valid for one link."""
    return hmac.new(expected.encode(), token.encode(), hashlib.sha256).hexdigest()


def is_locked(share: ProposalShare, token: str, proof: str | None) -> bool:
    """Return whether a link has a passphrase of which this is no proof."""
    expected = share.passphrase_hash
    if expected is None:
        return False
    return proof is None or not hmac.compare_digest(proof.encode(), proof_of(token, expected).encode())
