"""What must hold when requests come at the same time, on SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import count
from typing import Any

import pytest

from app.errors import Conflict, NotFound, TooMany
from app.features.accelerators import service as accelerators
from app.features.accelerators.model import AcceleratorRequest
from app.features.integrations import keys, webhooks
from app.features.integrations.model import KeyRequest, NewWebhook, WebhookRequest
from app.features.studies.service import create_study, list_studies
from app.features.sweeps.service import create_sweep, get_state
from app.features.uploads import service as uploads
from app.platform.job_running import TURN_SECONDS, JobClaim, Turns
from app.platform.rates import ClientKind, CostClass, Rates
from app.platform.store import trail
from app.platform.store.document_queries import StudyQueries
from app.platform.store.queries import now
from app.platform.store.trail import Actor, acting
from app.platform.web.examples import ACCELERATOR
from app.platform.workspace import Workspace
from tests.platform.conftest import moment_before_saving
from tests.support.objects import LAYERS, at_once, study_of
from tests.support.receiving import Pen, deliver_due
from tests.support.sweeping import wide


def key_of(workspace: Workspace, number: int) -> object:
    return keys.create_key(workspace, KeyRequest(name=f"Key {number}", scopes=["read"]))


def webhook_of(workspace: Workspace, number: int) -> NewWebhook:
    request = WebhookRequest(url=f"https://example.com/{number}", events=["*"])
    return webhooks.create_webhook(workspace, request)


def accelerator_of(workspace: Workspace, number: int) -> object:
    request = AcceleratorRequest.model_validate({**ACCELERATOR, "name": f"Accelerator {number}"})
    return accelerators.create_accelerator(workspace, request)


@pytest.mark.parametrize(
    ("module", "most", "make"),
    [
        (keys, "MOST_KEYS", key_of),
        (webhooks, "MOST_WEBHOOKS", webhook_of),
        (accelerators, "MOST", accelerator_of),
    ],
)
def test_a_full_workspace_is_not_overfilled_at_the_same_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, module: Any, most: str, make: Callable[..., object]
) -> None:
    monkeypatch.setattr(module, most, 3)
    refused = at_once(lambda number: make(workspace, number), 8)
    assert len(refused) == 5
    assert all(isinstance(error, Conflict) for error in refused)


def test_an_upload_does_not_vanish_under_a_study_that_is_being_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = uploads.upload_profile(workspace, "layers.csv", LAYERS).id
    between = moment_before_saving(workspace, monkeypatch, lambda: uploads.delete_profile(workspace, profile))
    with between, pytest.raises(NotFound):
        create_study(workspace, study_of(profile))
    assert list_studies(workspace, 10, None).items == []


def test_who_deletes_an_upload_waits_for_a_study_that_is_being_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = uploads.upload_profile(workspace, "layers.csv", LAYERS).id
    refused: list[type[Exception]] = []

    def delete() -> None:
        with pytest.raises(Conflict) as caught:
            uploads.delete_profile(workspace, profile)
        refused.append(caught.type)

    deleting, add = threading.Thread(target=delete), StudyQueries.add

    def slowly(queries: StudyQueries, *values: Any, **options: Any) -> None:
        deleting.start()
        deleting.join(0.5)
        add(queries, *values, **options)

    monkeypatch.setattr(StudyQueries, "add", slowly)
    create_study(workspace, study_of(profile))
    deleting.join(10)
    assert refused == [Conflict]


def keep_study(workspace: Workspace, hook: str) -> object:
    profile = uploads.upload_profile(workspace, "layers.csv", LAYERS).id
    return create_study(workspace, study_of(profile))


def send_test(workspace: Workspace, hook: str) -> object:
    return webhooks.send_test(workspace, hook)


@pytest.mark.parametrize(
    ("module", "look", "write"), [(trail, "messages_of", keep_study), (webhooks, "found", send_test)]
)
def test_who_deletes_a_webhook_waits_for_a_message_that_is_being_written(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    look: str,
    write: Callable[..., object],
) -> None:
    hook, looked = webhook_of(workspace, 0).id, getattr(module, look)
    removing: list[Future[None]] = []

    def slowly(*values: Any) -> Any:
        found = looked(*values)
        removing.append(threads.submit(webhooks.remove_webhook, workspace, hook))
        wait(removing, timeout=0.5)
        return found

    with ThreadPoolExecutor(1) as threads:
        with monkeypatch.context() as patched:
            patched.setattr(module, look, slowly)
            write(workspace, hook)
        removing[0].result(30)
    assert webhooks.list_webhooks(workspace, 5, None).items == []


def test_a_webhook_may_be_deleted_while_messages_are_written_and_sent(workspace: Workspace) -> None:
    profile = uploads.upload_profile(workspace, "layers.csv", LAYERS).id
    for _ in range(4):
        hook = webhook_of(workspace, 0).id
        send_test(workspace, hook)
        together = (
            partial(create_study, workspace, study_of(profile)),
            partial(send_test, workspace, hook),
            partial(deliver_due, workspace.installation, now(), Pen()),
            partial(webhooks.remove_webhook, workspace, hook),
        )
        refused = at_once(lambda number, asked=together: asked[number // 2](), 8)  # type: ignore[misc]
        assert {type(error) for error in refused} == {NotFound}
    assert len(list_studies(workspace, 10, None).items) == 8


def test_a_revoked_key_ends_the_jobs_it_has_asked_for(workspace: Workspace) -> None:
    made = keys.create_key(workspace, KeyRequest(name="Robot", scopes=["read", "estimate"]))
    with acting(Actor("key", made.id, "Robot")):
        own, running = (create_sweep(workspace, wide(4).request).id for _ in range(2))
    with acting(Actor("person", "acc_1", "Ann")):
        hers = create_sweep(workspace, wide(4).request).id
    claim = JobClaim.take(workspace.installation, running, lambda: False)
    assert claim is not None
    keys.revoke_key(workspace, made.id)
    assert [get_state(workspace, one).status for one in (own, running, hers)] == [
        "cancelled",
        "cancelled",
        "queued",
    ]
    claim.beaten = 0.0
    assert claim.cancelled(), "its runner is told within a second"


def test_a_person_has_one_allowance_in_all_workspaces(workspace: Workspace, clock: list[float]) -> None:
    rates = Rates(
        {ClientKind.PERSON: {CostClass.READ: 4}, ClientKind.KEY: {CostClass.READ: 4}},
        workspace.installation.store,
    )
    asked = [
        rates.count(identifier, ClientKind.PERSON, "acc_1", CostClass.READ).granted
        for identifier in ("ws_one", "ws_two") * 3
    ]
    assert asked.count(True) == 4
    assert rates.count("ws_two", ClientKind.PERSON, "acc_2", CostClass.READ).granted


def test_processor_time_is_counted_by_all_servers_and_of_each_workspace(
    workspace: Workspace, clock: list[float]
) -> None:

    servers = [Rates({}, workspace.installation.store, processor=2) for _ in range(2)]
    for server in servers:
        server.check_processor("ws_one")
        server.charge("ws_one", 1.2)
    with pytest.raises(TooMany) as caught:
        servers[0].check_processor("ws_one")
    assert 0 < caught.value.retry_after <= 120
    servers[0].check_processor("ws_two")


def test_the_next_job_is_of_who_has_used_least(workspace: Workspace) -> None:
    many = [create_sweep(workspace, wide(4).request).id for _ in range(3)]
    other = create_sweep(workspace.installation.workspace("ws_two"), wide(4).request).id
    shown = [0.0]
    turns = Turns(workspace.installation.store, lambda: shown[0])
    first = turns.next()
    assert first is not None and first.id == many[0], "the oldest, where nobody has used anything"
    claim = JobClaim.take(workspace.installation, first.id, lambda: False)
    assert claim is not None
    first.charge(30.0)
    assert not first.over(), "a turn lasts its time"
    shown[0] += TURN_SECONDS
    assert first.over(), "then others come who have used less"
    second = turns.next()
    assert second is not None and second.id == other
    claim = JobClaim.take(workspace.installation, other, lambda: False)
    assert claim is not None
    second.charge(5.0)
    shown[0] += 2 * TURN_SECONDS
    assert not second.over(), "who has used more waits on"
    third = turns.next()
    assert third is not None and third.id == many[1]


def test_a_turn_lasts_while_only_its_own_workspace_waits(workspace: Workspace) -> None:
    for _ in range(2):
        create_sweep(workspace, wide(4).request)
    moments = count(0.0, TURN_SECONDS)
    turns = Turns(workspace.installation.store, lambda: next(moments))
    turn = turns.next()
    assert turn is not None and JobClaim.take(workspace.installation, turn.id, lambda: False) is not None
    turn.charge(30.0)
    # Between any two looks at the clock time passes, and what was used counts for less.
    assert not any(turn.over() for _ in range(5))
