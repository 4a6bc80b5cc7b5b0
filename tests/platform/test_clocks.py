"""A clock that is put back or forward: nothing is stuck, nothing is lost."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from app.errors import TooMany
from app.estimating.context import load_context
from app.features.integrations.model import WebhookRequest
from app.features.integrations.webhooks import LEASE, create_webhook
from app.features.proposals.sharing import (
    MOST_FAILURES,
    WrongPassphrase,
    open_share,
    passphrase_hash,
    unlock_share,
)
from app.platform.identity import token_hash
from app.platform.passwords import begin_attempt, of_account
from app.platform.sealing import Sealer
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.store.tables import ProposalRecord, ProposalShare
from app.platform.workspace import Installation
from app.profiles.presets import data_directory
from tests.support.objects import ShiftedClock, moved_clock
from tests.support.receiving import Pen, deliver_due


def shared(installation: Installation, clock: ShiftedClock) -> str:
    """Share a proposal behind a passphrase for a day and return the token."""
    token = "t" * 43
    with installation.workspace("ws_one").transaction() as repository:
        repository.add(
            ProposalRecord(
                id="prp_a", workspace_id="", title="t", customer="c", request={}, content={},
                valid_until=None, version=1, sha256="0" * 64, frozen_at=now(),
            )
        )  # fmt: skip
    with installation.workspace("ws_one").transaction() as repository:
        row = ProposalShare(
            token_sha256=token_hash(token), workspace_id="ws_one", proposal_id="prp_a", passphrase_salt="00",
            passphrase_hash=passphrase_hash("open sesame", "00"), created_at=now(),
            expires_at=now() + timedelta(days=1), revoked_at=None, opened=0, noted_at=None, failures=0,
            failed_at=None,
        )  # fmt: skip
        repository.of_proposal("prp_a").add_share(row)
    return token


@pytest.fixture(scope="module")
def sizing() -> object:
    return load_context(data_directory())


def test_a_pause_after_wrong_passphrases_does_not_grow(store: Store, sizing) -> None:  # type: ignore[no-untyped-def]
    installation = Installation(sizing, store)
    with moved_clock() as clock:
        clock.by = timedelta(days=0)
        token = shared(installation, clock)
        for _ in range(MOST_FAILURES):
            with pytest.raises(WrongPassphrase):
                unlock_share(installation, token, "wrong")
        with pytest.raises(TooMany):
            unlock_share(installation, token, "open sesame")
        clock.by -= timedelta(days=2)
        with pytest.raises(TooMany) as caught:
            unlock_share(installation, token, "open sesame")
        assert caught.value.retry_after <= 15 * 60
        clock.by += timedelta(minutes=14)
        with pytest.raises(TooMany) as caught:
            unlock_share(installation, token, "open sesame")
        assert caught.value.retry_after <= 60
        clock.by += timedelta(minutes=2)
        assert unlock_share(installation, token, "open sesame")


def test_a_link_that_a_fast_clock_ended_works_again(store: Store, sizing) -> None:  # type: ignore[no-untyped-def]
    installation = Installation(sizing, store)
    with moved_clock() as clock:
        token = shared(installation, clock)
        assert open_share(installation, token).proposal is None
        clock.by += timedelta(days=400)
        with pytest.raises(Exception, match="not valid"):
            open_share(installation, token)
        clock.by -= timedelta(days=400)
        assert open_share(installation, token).proposal is None
    with store.transaction("ws_one") as repository:
        assert repository.of_proposal("prp_a").share_of(token_hash(token), now()) is not None


@pytest.mark.parametrize("days", [1, 365])
def test_a_failure_under_a_clock_that_was_ahead_shuts_nobody_out(store: Store, days: int) -> None:
    subject = of_account("ann@example.com")
    for _ in range(9):
        with suppress(TooMany):
            begin_attempt(store, [subject], now() + timedelta(days=days))
    begin_attempt(store, [subject], now())
    with pytest.raises(TooMany) as caught:
        for _ in range(9):
            begin_attempt(store, [subject], now())
    assert caught.value.retry_after <= 15 * 60


@pytest.mark.parametrize("days", [1, 365])
def test_messages_of_a_clock_that_was_ahead_are_sent(store: Store, sizing, days: int) -> None:  # type: ignore[no-untyped-def]
    installation, pen = Installation(sizing, store), Pen()
    installation.sealer = Sealer(lambda: b"s" * 32)
    create_webhook(installation.workspace("ws_one"), WebhookRequest(url="https://a.example/in"))
    with moved_clock() as clock:
        clock.by = timedelta(days=days)
        shared(installation, clock)
        for _ in range(2):
            with store.transaction("ws_one") as repository:
                repository.of_proposal("prp_a").add_event("frozen", now(), {})
        # One is on its way with a server that does not come back.
        assert store.claim_message(now(), now() + LEASE) is not None
        clock.by = timedelta(0)
        assert deliver_due(installation, now(), pen) == 2
