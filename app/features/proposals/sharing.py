"""Links that show one frozen proposal to whoever has them."""

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
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.store.tables import ProposalShare
from app.platform.workbench import Workbench

SCRYPT = {"n": 2**14, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024}
"""Cost of one guess at a passphrase: about 16 MB and some hundredths of a second (RFC 7914)."""

MOST_FAILURES, PAUSE = 5, timedelta(minutes=15)
"""After so many wrong passphrases in a row, none is looked at for so long."""

NOTED_EVERY = timedelta(hours=1)
"""Openings within this time are one event, as are readings of one form and passphrases that were given: a
link may be asked for again and again, and no event is ever dropped."""


class WrongPassphrase(AppError):
    """The passphrase is not that of the link."""

    status = 403
    slug = "wrong-passphrase"
    title = "Wrong passphrase"


@dataclass(frozen=True, slots=True)
class Shared:
    """What a link shows: the proposal, or nothing before the passphrase is given."""

    proposal: Proposal | None
    workspace_id: str
    expires_at: datetime


def create_share(
    bench: Workbench, workspace_id: str, identifier: str, request: ShareRequest, key: str | None = None
) -> Share:
    """Make a link to a frozen proposal; the one there was stops working.

    The token is not kept, only its hash. A repeated key therefore gives the answer without it.
    """
    endpoint = f"shares/{identifier}"
    # Another passphrase is another body; what is kept with the key lets nobody try guesses at it.
    known = None
    if key is not None and request.passphrase is not None:
        known = bench.sealer.mark(endpoint, request.passphrase)
    once = IdempotentCall.of(endpoint, key, request.model_copy(update={"passphrase": known}))
    token = new_token()

    def make() -> tuple[Share, Save]:
        with bench.store.transaction(workspace_id) as repository:
            record = existing(repository, identifier)
        if record.frozen_at is None:
            raise Conflict("only a frozen proposal can be shared: freeze it first")
        if status_of(record) == "expired":
            raise Conflict("the validity date of the proposal has passed; it can no longer be shared")
        moment = now()
        expires = moment + timedelta(days=request.expires_in_days)
        salt = None if request.passphrase is None else secrets.token_bytes(16).hex()
        share = ProposalShare(
            token_sha256=token_hash(token),
            workspace_id=workspace_id,
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

    answer = keep(bench, workspace_id, once, Share, make)
    with bench.store.transaction(workspace_id) as repository:
        mine = repository.of_proposal(identifier).share_of(token_hash(token), now())
    return answer if mine is None else answer.model_copy(update={"path": f"/s/{token}", "token": token})


def revoke_share(bench: Workbench, workspace_id: str, identifier: str) -> None:
    """Revoke link; where there is none, nothing happens."""
    moment = now()
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, identifier)
        queries = repository.of_proposal(identifier)
        if queries.revoke_shares(moment):
            queries.add_event("unshared", moment, {})


def open_share(bench: Workbench, token: str, proof: str | None = None, form: str = "page") -> Shared:
    workspace_id, identifier = led_to(bench, token)
    moment = now()
    with bench.store.transaction(workspace_id) as repository:
        queries = repository.of_proposal(identifier)
        share = queries.share_of(token_hash(token), moment)
        if share is None:
            raise no_link()
        if share.passphrase_hash is not None and not proves(proof, token, share.passphrase_hash):
            return Shared(None, workspace_id, share.expires_at)
        if form == "page":
            queries.count_visit(moment)
        share = queries.count_opening(token_hash(token))
        if share is None:
            raise no_link()
        # A clock that was put back must not silence the events until it has caught up.
        if share.noted_at is None or abs(moment - share.noted_at) >= NOTED_EVERY:
            share.noted_at = moment
            queries.add_event("opened", moment, {})
        repository.trail.note_once(
            NOTED_EVERY, "proposal.read", "proposal", identifier, form=form, link=link_of(token)
        )
        expires = share.expires_at
    return Shared(get_proposal(bench, workspace_id, identifier), workspace_id, expires)


def unlock_share(bench: Workbench, token: str, passphrase: str) -> str:
    """Return the proof that a passphrase is the right one, to be shown again by the reader's browser."""
    workspace_id, identifier = led_to(bench, token)
    moment = now()
    with bench.store.transaction(workspace_id) as repository:
        queries = repository.of_proposal(identifier)
        queries.count_attempt(token_hash(token))
        share = queries.share_of(token_hash(token), moment)
        if share is None:
            raise no_link()
        if share.passphrase_hash is None or share.passphrase_salt is None:
            return ""
        kept, salt = share.passphrase_hash, share.passphrase_salt
        left = pause_left(share, moment)
        if not left:
            # Wrong until it has been found right: of guesses at the same time, no more are looked at.
            share.failed_at = moment
        counted = share.failures
    if left:
        raise TooMany(
            Message(
                "too many wrong passphrases; try again in {minutes} minutes", {"minutes": -(-left // 60)}
            ),
            retry_after=left,
        )
    # Between two transactions: whoever else writes does not wait for what is slow on purpose.
    right = hmac.compare_digest(passphrase_hash(passphrase, salt), kept)
    with bench.store.transaction(workspace_id) as repository:
        repository.of_proposal(identifier).settle_attempts(token_hash(token), counted if right else 0)
        action = "proposal.unlocked" if right else "proposal.refused"
        repository.trail.note_once(NOTED_EVERY, action, "proposal", identifier, link=link_of(token))
    if not right:
        raise WrongPassphrase("the passphrase is wrong")
    return proof_of(token, kept)


def pause_left(share: ProposalShare, moment: datetime) -> int:
    """Return for how many seconds no passphrase is looked at; once they are over, counting begins anew."""
    if share.failed_at is None or share.failures <= MOST_FAILURES:
        return 0
    # A clock that was put back must not make the pause longer than it is.
    share.failed_at = min(share.failed_at, moment)
    left = PAUSE - (moment - share.failed_at)
    if left > timedelta(0):
        return math.ceil(left.total_seconds())
    share.failures = 1
    return 0


def led_to(bench: Workbench, token: str) -> tuple[str, str]:
    shared = bench.store.shared_by(token_hash(token)) if len(token) <= MOST_TOKEN else None
    if shared is None:
        raise no_link()
    return shared.workspace_id, shared.proposal_id


def no_link() -> NotFound:
    return NotFound(Message("this link is not valid: it was revoked, has expired or never existed"))


def link_of(token: str) -> str:
    """Return by what the trail tells links apart: the beginning of the hash, which opens nothing."""
    return token_hash(token)[:12]


def passphrase_hash(passphrase: str, salt: str) -> str:
    """Return what is kept of a passphrase: slow to guess (scrypt, RFC 7914)."""
    return hashlib.scrypt(passphrase.encode(), salt=bytes.fromhex(salt), dklen=32, **SCRYPT).hex()


def proof_of(token: str, kept: str) -> str:
    """Return what a browser shows instead of the passphrase; it ends with the link or its passphrase."""
    return hmac.new(kept.encode(), token.encode(), hashlib.sha256).hexdigest()


def proves(proof: str | None, token: str, kept: str) -> bool:
    return proof is not None and hmac.compare_digest(proof.encode(), proof_of(token, kept).encode())
