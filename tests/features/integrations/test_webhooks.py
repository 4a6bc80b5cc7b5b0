"""Messages of webhooks: written with their event, tried again, given up; on each database."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from standardwebhooks import Webhook as Signer

from app.errors import Conflict, NotFound
from app.features.integrations import webhooks
from app.features.integrations.model import (
    Delivery,
    NewWebhook,
    RotationRequest,
    WebhookPatch,
    WebhookRequest,
)
from app.features.integrations.webhooks import DELAYS, KEPT, LEASE
from app.features.operation.secret_rotation import rotate_secret
from app.features.proposals.service import note_expired
from app.jobs import Jobs
from app.main import create_app, make_installation
from app.platform import idempotency, outgoing
from app.platform.outgoing import HttpSender, Receipt
from app.platform.sealing import Sealer
from app.platform.store.database import Store
from app.platform.store.integration_queries import MOST_OF_WORKSPACE
from app.platform.store.queries import now
from app.platform.store.tables import AuditEvent, ProposalRecord
from app.platform.store.trail import Actor, TrailFilter, acting
from app.platform.workspace import LOCAL_WORKSPACE, Installation, Workspace
from app.settings import Settings
from tests.conftest import until
from tests.support.postgres import PostgresCluster
from tests.support.receiving import LOOPBACK, Pen, deliver_due, receiving
from tests.support.sweeping import Threads

ONE = "ws_one"


@pytest.fixture(params=["sqlite", "postgresql"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    if request.param == "sqlite":
        store = Store(f"sqlite:///{tmp_path / 'hooks.sqlite3'}")
    else:
        server: PostgresCluster = request.getfixturevalue("postgres")
        store = Store(server.make())
    store.migrate()
    for identifier in (ONE, "ws_two"):
        with store.transaction(identifier) as repository:
            repository.ensure_workspace(identifier)
    secret = secrets.token_bytes(32)
    # Messages need no catalogue.
    made = Installation(cast(Any, None), store)
    made.sealer, made.sender = Sealer(lambda: secret), Pen()
    yield made.workspace(ONE)
    store.close()


def is_signed(sent: tuple[str, dict[str, str], bytes], *wanted: str | None) -> bool:
    """Tell whether a message that was sent is signed with these secrets, and in their order."""
    _, headers, body = sent
    moment = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signed = [Signer(str(one)).sign(headers["webhook-id"], moment, body.decode()) for one in wanted]
    return headers["webhook-signature"] == " ".join(signed)


def made(workspace: Workspace, url: str = "https://a.example/in", **values: Any) -> NewWebhook:
    return webhooks.create_webhook(workspace, WebhookRequest(url=url, **values))


def log(workspace: Workspace, identifier: str) -> list[Delivery]:
    return webhooks.list_deliveries(workspace, identifier, 50, None).items


def propose(workspace: Workspace, identifier: str = "prp_a", **values: Any) -> None:
    """Keep a proposal, without what it says."""
    moment = now()
    usual: dict[str, Any] = {
        "title": "t", "customer": "c", "request": {}, "content": {}, "valid_until": None, "version": 1,
        "sha256": None, "frozen_at": None, "created_at": moment, "updated_at": moment,
    }  # fmt: skip
    with workspace.transaction() as repository:
        repository.add(ProposalRecord(id=identifier, workspace_id=ONE, **(usual | values)))


def happen(workspace: Workspace, kind: str = "frozen", **detail: Any) -> None:
    with workspace.transaction() as repository:
        repository.of_proposal("prp_a").add_event(kind, now(), detail)


def test_events_at_one_moment_each_have_their_place(workspace: Workspace) -> None:
    propose(workspace)
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(happen, workspace, "replayed", number=number) for number in range(40)]:
            done.result()
    with workspace.transaction() as repository:
        events = repository.of_proposal("prp_a").events()
        assert [event.position for event in events] == list(range(40))
        assert sorted(event.detail["number"] for event in events) == list(range(40))


def test_an_event_is_told_to_those_who_want_it(workspace: Workspace) -> None:
    propose(workspace)
    wanted, other = made(workspace), made(workspace, "https://b.example/", events=["proposal.shared"])
    off = made(workspace, "https://c.example/")
    webhooks.change_webhook(workspace, off.id, WebhookPatch(active=False))
    happen(workspace, "frozen", sha256="ab")
    pen = Pen()
    assert deliver_due(workspace.installation, now(), pen) == 1
    ((url, headers, body),) = pen.sent
    assert url == "https://a.example/in"
    told = json.loads(body)
    assert told["type"] == "proposal.frozen"
    assert told["data"] == {"proposal_id": "prp_a", "position": 0, "detail": {"sha256": "ab"}}
    assert datetime.fromisoformat(told["timestamp"]).tzinfo is not None
    assert is_signed(pen.sent[0], wanted.secret)
    (delivery,) = log(workspace, wanted.id)
    assert (delivery.status, delivery.attempts, delivery.response_status) == ("delivered", 1, 200)
    assert delivery.id == headers["webhook-id"]
    assert log(workspace, other.id) == log(workspace, off.id) == []
    assert webhooks.get_webhook(workspace, wanted.id).succeeded_at is not None
    assert deliver_due(workspace.installation, now() + timedelta(days=1), pen) == 0


def test_names_addresses_and_notes_are_told_to_nobody(workspace: Workspace) -> None:
    propose(workspace)
    made(workspace, events=["proposal.sent"])
    with acting(Actor("person", "acc_1", "Ann")):
        happen(workspace, "sent", note="our lowest price", to="kim@customer.example", sha256="ab")
    pen = Pen()
    assert deliver_due(workspace.installation, now(), pen) == 1
    assert json.loads(pen.sent[0][2])["data"]["detail"] == {"sha256": "ab"}
    with workspace.transaction() as repository:
        (event,) = repository.of_proposal("prp_a").events()
    assert set(event.detail) == {"note", "to", "sha256", "by"}


def test_what_is_taken_back_is_not_told(workspace: Workspace) -> None:
    propose(workspace)
    hook = made(workspace)
    with pytest.raises(RuntimeError), workspace.transaction() as repository:
        repository.of_proposal("prp_a").add_event("frozen", now(), {})
        raise RuntimeError
    assert log(workspace, hook.id) == []


def test_another_workspace_is_told_nothing(workspace: Workspace) -> None:
    propose(workspace)
    theirs = webhooks.create_webhook(
        workspace.installation.workspace("ws_two"), WebhookRequest(url="https://two.example/")
    )
    happen(workspace)
    assert deliver_due(workspace.installation, now(), Pen()) == 0
    with pytest.raises(NotFound):
        webhooks.get_webhook(workspace, theirs.id)
    with pytest.raises(NotFound):
        webhooks.list_deliveries(workspace, theirs.id, 5, None)
    with pytest.raises(NotFound):
        webhooks.remove_webhook(workspace, theirs.id)


def test_eight_tries_over_about_a_day_then_the_webhook_is_off_and_says_why(workspace: Workspace) -> None:
    propose(workspace)
    hook = made(workspace)
    happen(workspace)
    start = moment = now()
    pen, tries = Pen(503), 0
    while webhooks.get_webhook(workspace, hook.id).active:
        assert deliver_due(workspace.installation, moment, pen) == 1
        tries += 1
        (delivery,) = log(workspace, hook.id)
        assert delivery.reason is not None and "503" in delivery.reason.message
        if delivery.next_try_at is not None:
            assert deliver_due(workspace.installation, delivery.next_try_at - timedelta(seconds=1), pen) == 0
            moment = delivery.next_try_at
    assert tries == len(DELAYS) + 1 == 8
    assert timedelta(hours=24) < moment - start < timedelta(hours=28)
    assert len({headers["webhook-id"] for _, headers, _ in pen.sent}) == 1
    assert len({headers["webhook-timestamp"] for _, headers, _ in pen.sent}) == 8
    assert (delivery.status, delivery.next_try_at) == ("failed", None)
    found = webhooks.get_webhook(workspace, hook.id)
    assert found.disabled_because is not None
    assert "8 attempts" in found.disabled_because.message
    happen(workspace)
    assert deliver_due(workspace.installation, moment, pen) == 0
    back = webhooks.change_webhook(workspace, hook.id, WebhookPatch(active=True))
    assert back.active and back.disabled_because is None


def test_a_webhook_that_something_reaches_stays_on(workspace: Workspace) -> None:
    propose(workspace)
    hook = made(workspace)
    happen(workspace)
    moment = now()
    pen = Pen(500)
    for _ in range(7):
        deliver_due(workspace.installation, moment, pen)
        moment = log(workspace, hook.id)[-1].next_try_at or moment
    happen(workspace, "opened")
    pen.status = 200
    assert deliver_due(workspace.installation, moment - timedelta(hours=1), pen) == 1
    pen.status = 500
    assert deliver_due(workspace.installation, moment, pen) == 1
    assert [one.status for one in log(workspace, hook.id)] == ["delivered", "failed"]
    assert webhooks.get_webhook(workspace, hook.id).active


def test_a_message_that_arrives_is_nothing_anybody_did_and_being_switched_off_is(
    workspace: Workspace,
) -> None:
    hook = made(workspace)
    pen = Pen()
    for pen.status in (200, 410):
        webhooks.send_test(workspace, hook.id)
        deliver_due(workspace.installation, now(), pen)
    with workspace.installation.store.engine.connect() as connection:
        query = sa.select(AuditEvent.action, AuditEvent.detail).where(AuditEvent.object_kind == "webhook")
        found = list(connection.execute(query.order_by(AuditEvent.at)))
    assert [action for action, _ in found] == ["webhook.created", "webhook.changed"]
    assert found[1][1]["fields"] == ["active", "disabled"]
    assert hook.secret is not None and hook.secret[6:] not in str(found)


def test_who_is_gone_is_sent_nothing_more(workspace: Workspace) -> None:
    propose(workspace)
    hook = made(workspace)
    happen(workspace)
    happen(workspace)
    deliver_due(workspace.installation, now(), Pen(410))
    found = webhooks.get_webhook(workspace, hook.id)
    assert not found.active and "410" in str(found.disabled_because)
    assert sorted(one.status for one in log(workspace, hook.id)) == ["dropped", "failed"]


def test_whatever_goes_wrong_is_tried_again(workspace: Workspace) -> None:
    propose(workspace)
    hook = made(workspace)
    happen(workspace)
    pen = Pen()
    pen.error = ZeroDivisionError()
    deliver_due(workspace.installation, now(), pen)
    (delivery,) = log(workspace, hook.id)
    assert (delivery.status, delivery.attempts) == ("waiting", 1)
    assert delivery.reason is not None and delivery.response_status is None


def test_two_runners_never_send_the_same_try(workspace: Workspace) -> None:
    propose(workspace)
    for number in range(12):
        made(workspace, f"https://{number}.example/")
    happen(workspace)
    pens = [Pen() for _ in range(3)]
    moment = now()

    def run(pen: Pen) -> None:
        while deliver_due(workspace.installation, moment, pen):
            pass

    threads = [threading.Thread(target=run, args=(pen,)) for pen in pens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = [url for pen in pens for url, _, _ in pen.sent]
    assert sorted(sent) == sorted(f"https://{number}.example/" for number in range(12))


def test_what_a_killed_runner_took_on_is_sent_after_its_lease(workspace: Workspace) -> None:
    propose(workspace)
    hook = made(workspace)
    happen(workspace)
    moment = now()
    lost = workspace.installation.store.claim_message(moment, moment + LEASE)
    assert lost is not None
    pen = Pen()
    assert deliver_due(workspace.installation, moment, pen) == 0
    assert deliver_due(workspace.installation, moment + LEASE, pen) == 1
    assert pen.sent[0][1]["webhook-id"] == lost.id
    # What the lost runner still has to say counts no longer.
    workspace.installation.sender = Pen(500)
    webhooks.deliver(workspace.installation, lost)
    assert [one.status for one in log(workspace, hook.id)] == ["delivered"]


def test_of_a_webhook_one_message_is_sent_at_a_time_and_of_a_workspace_a_few(workspace: Workspace) -> None:
    propose(workspace)
    hooks = [made(workspace, f"https://{number}.example/") for number in range(MOST_OF_WORKSPACE + 1)]
    for _ in range(2):
        happen(workspace)
    theirs = webhooks.create_webhook(
        workspace.installation.workspace("ws_two"), WebhookRequest(url="https://quick.example/")
    )
    webhooks.send_test(workspace.installation.workspace("ws_two"), theirs.id)
    moment = now()
    with ThreadPoolExecutor(8) as pool:
        claims = list(
            pool.map(lambda _: workspace.installation.store.claim_message(moment, moment + LEASE), range(8))
        )
    taken = [claim for claim in claims if claim is not None]
    assert Counter(claim.workspace_id for claim in taken) == {ONE: MOST_OF_WORKSPACE, "ws_two": 1}
    assert len({claim.webhook_id for claim in taken}) == len(taken)
    slow = next(claim for claim in taken if claim.workspace_id == ONE)
    webhooks.deliver(workspace.installation, slow)
    following = workspace.installation.store.claim_message(moment, moment + LEASE)
    assert following is not None and following.workspace_id == ONE
    pen = Pen()
    assert deliver_due(workspace.installation, moment + LEASE, pen) == 2 * len(hooks)
    for hook in hooks:
        sent = [headers["webhook-id"] for url, headers, _ in pen.sent if url == hook.url]
        assert sent == [one.id for one in log(workspace, hook.id)][::-1][-len(sent) :]


def test_a_slow_receiver_holds_up_nobody_and_messages_are_sent_at_once(workspace: Workspace) -> None:
    slow, theirs = (
        made(workspace, "https://slow.example/"),
        webhooks.create_webhook(
            workspace.installation.workspace("ws_two"), WebhookRequest(url="https://quick.example/")
        ),
    )
    go_on, arrived = threading.Event(), list[float]()

    class Busy(Pen):
        def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
            if url == slow.url:
                assert go_on.wait(30)
            else:
                arrived.append(time.monotonic())
            return super().send(url, headers, body)

    workspace.installation.sender = Busy()
    background = Jobs(workspace.installation, Threads)
    background.start()
    webhooks.send_test(workspace, slow.id)
    for count in range(1, 4):
        begun = time.monotonic()
        webhooks.send_test(workspace.installation.workspace("ws_two"), theirs.id)
        until(lambda count=count: len(arrived) == count)  # type: ignore[misc]
        assert arrived[-1] - begun < 1
    assert [one.status for one in log(workspace, slow.id)] == ["waiting"]
    go_on.set()
    background.stop()
    assert [one.status for one in log(workspace, slow.id)] == ["delivered"]


def test_of_two_new_secrets_at_once_one_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, keep, other = made(workspace), idempotency.keep, []

    def overtaken(*values: Any) -> Any:
        monkeypatch.undo()
        other.append(webhooks.rotate_secret(workspace, hook.id, RotationRequest(grace_hours=2)))
        return keep(*values)

    monkeypatch.setattr(webhooks, "keep", overtaken)
    with pytest.raises(Conflict):
        webhooks.rotate_secret(workspace, hook.id, RotationRequest(grace_hours=2))
    webhooks.send_test(workspace, hook.id)
    pen = Pen()
    deliver_due(workspace.installation, now(), pen)
    assert is_signed(pen.sent[0], other[0].secret, hook.secret)


def test_a_new_secret_signs_beside_the_old_one_until_the_grace_is_over(workspace: Workspace) -> None:
    hook = made(workspace)
    new = webhooks.rotate_secret(workspace, hook.id, RotationRequest(grace_hours=2))
    assert new.secret and hook.secret and new.secret != hook.secret
    assert new.old_secret_until is not None
    pen = Pen()
    for hours, wanted in ((0, [new.secret, hook.secret]), (3, [new.secret])):
        webhooks.send_test(workspace, hook.id)
        deliver_due(workspace.installation, now() + timedelta(hours=hours), pen)
        assert is_signed(pen.sent[-1], *wanted)


def test_a_secret_of_another_server_is_said_and_not_guessed(workspace: Workspace) -> None:
    hook = made(workspace)
    webhooks.send_test(workspace, hook.id)
    workspace.installation.sealer = Sealer(lambda: secrets.token_bytes(32))
    pen = Pen()
    deliver_due(workspace.installation, now(), pen)
    assert pen.sent == []
    reason = log(workspace, hook.id)[0].reason
    assert reason is not None and "create a new one" in reason.message


def test_a_new_secret_of_the_server_leaves_those_of_webhooks_as_they_are(workspace: Workspace) -> None:
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    workspace.installation.sealer = Sealer(lambda: old)
    hook, other = made(workspace), made(workspace)
    renewed = webhooks.rotate_secret(workspace, hook.id, RotationRequest(grace_hours=2))
    wanted = [one.secret for one in (renewed, hook) if one.secret]
    with workspace.transaction() as repository:
        events = repository.trail.listing(TrailFilter(), 50, None)[0]
    # A server that is restarted later knows the new secret already, and one that was restarted the old one.
    for main, fallback in ((old, new), (new, old)):
        workspace.installation.sealer = Sealer(lambda main=main: main, [fallback])  # type: ignore[misc]
        assert signed_with(workspace, hook.id, wanted)
        if main is old:
            webhooks.rotate_secret(workspace, other.id, RotationRequest(grace_hours=0))
    workspace.installation.sealer = Sealer(lambda: new)
    assert len(rotate_secret(workspace.installation).lost) == 3, (
        "the earlier secret of the other one is used no more"
    )
    workspace.installation.sealer = Sealer(lambda: new, [b"x" * 32, old])
    assert (
        rotate_secret(workspace.installation, dry_run=True).resealed
        == rotate_secret(workspace.installation).resealed
        == 3
    )
    assert (
        (again := rotate_secret(workspace.installation)).current == 3
        and not again.resealed
        and not again.lost
    )
    workspace.installation.sealer = Sealer(lambda: new)
    assert signed_with(workspace, hook.id, wanted)
    with workspace.transaction() as repository:
        after = repository.trail.listing(TrailFilter(), 50, None)[0]
    assert [one.action for one in after[: -len(events)]] == ["webhook.changed"], (
        "what nobody changed is not told"
    )


def signed_with(workspace: Workspace, hook_id: str, wanted: list[str]) -> bool:
    """Tell whether a message is signed with these secrets."""
    pen = Pen()
    webhooks.send_test(workspace, hook_id)
    deliver_due(workspace.installation, now(), pen)
    return is_signed(pen.sent[-1], *wanted)


def test_a_worker_signs_with_the_secret_that_the_server_has_sealed(tmp_path: Path) -> None:
    settings = Settings.at(tmp_path, jobs="elsewhere")
    server: Installation = create_app(settings).state.installation
    hook = webhooks.create_webhook(
        server.workspace(LOCAL_WORKSPACE), WebhookRequest(url="https://a.example/in")
    )
    webhooks.send_test(server.workspace(LOCAL_WORKSPACE), hook.id)
    worker, pen = make_installation(settings), Pen()
    assert deliver_due(worker, now(), pen) == 1
    assert is_signed(pen.sent[0], hook.secret)
    for one in (server, worker):
        one.store.close()


def test_what_ended_can_be_sent_again(workspace: Workspace) -> None:
    hook = made(workspace)
    first = webhooks.send_test(workspace, hook.id)
    pen = Pen()
    deliver_due(workspace.installation, now(), pen)
    assert webhooks.send_again(workspace, hook.id, first.id).status == "waiting"
    deliver_due(workspace.installation, now(), pen)
    assert [headers["webhook-id"] for _, headers, _ in pen.sent] == [first.id] * 2
    with pytest.raises(NotFound):
        webhooks.send_again(workspace, hook.id, "msg_none")
    webhooks.change_webhook(workspace, hook.id, WebhookPatch(active=False))
    with pytest.raises(Conflict):
        webhooks.send_again(workspace, hook.id, first.id)
    with pytest.raises(Conflict):
        webhooks.send_test(workspace, hook.id)


def test_a_repeated_test_is_sent_once(workspace: Workspace) -> None:
    hook = made(workspace)
    assert webhooks.send_test(workspace, hook.id, "k") == webhooks.send_test(workspace, hook.id, "k")
    assert len(log(workspace, hook.id)) == 1


def test_old_messages_are_forgotten_and_those_that_wait_are_not(workspace: Workspace) -> None:
    hook = made(workspace)
    webhooks.send_test(workspace, hook.id)
    deliver_due(workspace.installation, now(), Pen())
    webhooks.send_test(workspace, hook.id)
    assert workspace.installation.store.purge_messages(now() - KEPT) == 0
    assert workspace.installation.store.purge_messages(now() + timedelta(seconds=1)) == 1
    assert [one.status for one in log(workspace, hook.id)] == ["waiting"]


def test_a_removed_webhook_leaves_nothing(workspace: Workspace) -> None:
    hook = made(workspace)
    webhooks.send_test(workspace, hook.id)
    webhooks.remove_webhook(workspace, hook.id)
    assert deliver_due(workspace.installation, now(), Pen()) == 0
    with pytest.raises(NotFound):
        webhooks.get_webhook(workspace, hook.id)


def test_the_log_goes_on_where_it_stopped(workspace: Workspace) -> None:
    hook = made(workspace)
    sent = [webhooks.send_test(workspace, hook.id).id for _ in range(5)]
    found, cursor = [], None
    while True:
        page = webhooks.list_deliveries(workspace, hook.id, 2, cursor)
        found += [one.id for one in page.items]
        cursor = page.next
        if cursor is None:
            break
        webhooks.send_test(workspace, hook.id)
    assert found == sent[::-1]


def test_that_a_last_day_is_over_is_noted_once_and_told(workspace: Workspace) -> None:
    today = now().date()
    propose(workspace, frozen_at=now(), valid_until=(today - timedelta(days=1)).isoformat())
    propose(workspace, "prp_today", frozen_at=now(), valid_until=today.isoformat())
    propose(workspace, "prp_draft", valid_until="2020-01-01")
    propose(workspace, "prp_open", frozen_at=now())
    hook = made(workspace)
    assert note_expired(workspace.installation, now()) == 1
    assert note_expired(workspace.installation, now()) == 0
    assert [one.event for one in log(workspace, hook.id)] == ["proposal.expired"]
    with workspace.transaction() as repository:
        assert [event.kind for event in repository.of_proposal("prp_a").events()] == ["expired"]
    assert note_expired(workspace.installation, now() + timedelta(days=1)) == 1


@pytest.mark.parametrize("allowed", [[], ["127.0.0.0/8"]])
def test_a_real_receiver_gets_what_was_signed_where_it_may_be_reached(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, allowed: list[str]
) -> None:
    monkeypatch.setattr(outgoing, "resolved", lambda host, port: [LOOPBACK])
    with receiving() as receiver:
        hook = made(workspace, f"http://crm.example.com:{receiver.port}/in")
        webhooks.send_test(workspace, hook.id)
        assert deliver_due(workspace.installation, now(), HttpSender.of(allowed, http=True)) == 1
    (delivery,) = log(workspace, hook.id)
    if allowed:
        assert is_signed(receiver.received[0], hook.secret) and receiver.received[0][0] == "/in"
        Signer(str(hook.secret)).verify(receiver.received[0][2], receiver.received[0][1])
        assert (delivery.status, delivery.response_text) == ("delivered", "thank you")
    else:
        assert receiver.received == []
        assert delivery.reason is not None and "not public" in delivery.reason.message
