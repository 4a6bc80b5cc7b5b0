"""What must hold when requests come at the same time, on SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest
from sqlmodel import Session

from app.errors import AppError, Conflict, NotFound, Overtaken, TooMany
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.accelerators import service as accelerators
from app.features.accelerators.model import AcceleratorRequest
from app.features.erasure.model import ErasureRequest
from app.features.erasure.service import erase_customer
from app.features.estimates import service as estimates
from app.features.integrations import keys, webhooks
from app.features.integrations.model import KeyRequest, NewWebhook, WebhookRequest
from app.features.proposals import service as proposals
from app.features.studies.service import create_study, list_studies
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.service import create_sweep, get_state
from app.features.uploads import service as uploads
from app.platform.job_running import TURN_SECONDS, JobClaim, Turns
from app.platform.rates import ClientKind, CostClass, Rates
from app.platform.store import erasure_queries, trail
from app.platform.store.database import Store
from app.platform.store.document_queries import StudyQueries
from app.platform.store.job_queries import ClaimedJob
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.store.tables import SweepRowRecord
from app.platform.store.trail import Actor, acting
from app.platform.web.examples import ACCELERATOR, GPT3
from app.platform.workbench import LOCAL_WORKSPACE, Workbench
from tests.services.test_rates import clock as clock
from tests.services.test_storage import LAYERS, study_of
from tests.services.test_webhooks import Pen
from tests.sizing.asking import sizing_context
from tests.sizing.sweeping import BERT, wide
from tests.store.conftest import migrated as migrated
from tests.store.conftest import migrated_file as migrated_file
from tests.store.conftest import store as store

ONE = "ws_one"


@pytest.fixture
def bench(store: Store) -> Workbench:
    with store.transaction(LOCAL_WORKSPACE) as repository:
        repository.ensure_workspace("Local")
    return Workbench(sizing_context(), store)


def at_once(asked: Callable[[int], object], times: int) -> list[AppError]:
    """Ask so many times at the same time; return what was refused."""
    together = threading.Barrier(times)

    def ask(number: int) -> AppError | None:
        together.wait(30)
        try:
            asked(number)
        except AppError as error:
            return error
        return None

    with ThreadPoolExecutor(times) as threads:
        return [found for found in threads.map(ask, range(times)) if found is not None]


def key_of(bench: Workbench, number: int) -> object:
    return keys.create_key(bench, ONE, KeyRequest(name=f"Key {number}", scopes=["read"]))


def webhook_of(bench: Workbench, number: int) -> NewWebhook:
    request = WebhookRequest(url=f"https://example.com/{number}", events=["*"])
    return webhooks.create_webhook(bench, ONE, request)


def accelerator_of(bench: Workbench, number: int) -> object:
    request = AcceleratorRequest.model_validate({**ACCELERATOR, "name": f"Accelerator {number}"})
    return accelerators.create_accelerator(bench, ONE, request)


@pytest.mark.parametrize(
    ("module", "most", "make"),
    [
        (keys, "MOST_KEYS", key_of),
        (webhooks, "MOST_WEBHOOKS", webhook_of),
        (accelerators, "MOST", accelerator_of),
    ],
)
def test_a_full_workspace_is_not_overfilled_at_the_same_time(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, module: Any, most: str, make: Callable[..., object]
) -> None:
    monkeypatch.setattr(module, most, 3)
    refused = at_once(lambda number: make(bench, number), 8)
    assert len(refused) == 5
    assert all(isinstance(error, Conflict) for error in refused)


def test_an_upload_does_not_vanish_under_a_study_that_is_being_kept(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = uploads.upload_profile(bench, ONE, "layers.csv", LAYERS).id
    between = moment_before_saving(bench, monkeypatch, lambda: uploads.delete_profile(bench, ONE, profile))
    with between, pytest.raises(NotFound):
        create_study(bench, ONE, study_of(profile))
    assert list_studies(bench, ONE, 10, None).items == []


def test_who_deletes_an_upload_waits_for_a_study_that_is_being_kept(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = uploads.upload_profile(bench, ONE, "layers.csv", LAYERS).id
    refused: list[type[Exception]] = []

    def delete() -> None:
        with pytest.raises(Conflict) as caught:
            uploads.delete_profile(bench, ONE, profile)
        refused.append(caught.type)

    deleting, add = threading.Thread(target=delete), StudyQueries.add

    def slowly(queries: StudyQueries, *values: Any) -> None:
        deleting.start()
        deleting.join(0.5)
        add(queries, *values)

    monkeypatch.setattr(StudyQueries, "add", slowly)
    create_study(bench, ONE, study_of(profile))
    deleting.join(10)
    assert refused == [Conflict]


def keep_study(bench: Workbench, hook: str) -> object:
    profile = uploads.upload_profile(bench, ONE, "layers.csv", LAYERS).id
    return create_study(bench, ONE, study_of(profile))


def send_test(bench: Workbench, hook: str) -> object:
    return webhooks.send_test(bench, ONE, hook)


@pytest.mark.parametrize(
    ("module", "look", "write"), [(trail, "messages_of", keep_study), (webhooks, "existing", send_test)]
)
def test_who_deletes_a_webhook_waits_for_a_message_that_is_being_written(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, module: Any, look: str, write: Callable[..., object]
) -> None:
    hook, looked = webhook_of(bench, 0).id, getattr(module, look)
    removing: list[Future[None]] = []

    def slowly(*values: Any) -> Any:
        found = looked(*values)
        removing.append(threads.submit(webhooks.remove_webhook, bench, ONE, hook))
        wait(removing, timeout=0.5)
        return found

    with ThreadPoolExecutor(1) as threads:
        with monkeypatch.context() as patched:
            patched.setattr(module, look, slowly)
            write(bench, hook)
        removing[0].result(30)
    assert webhooks.list_webhooks(bench, ONE, 5, None).items == []


def test_a_webhook_may_be_deleted_while_messages_are_written_and_sent(bench: Workbench) -> None:
    profile = uploads.upload_profile(bench, ONE, "layers.csv", LAYERS).id
    for _ in range(4):
        hook = webhook_of(bench, 0).id
        send_test(bench, hook)
        together = (
            partial(create_study, bench, ONE, study_of(profile)),
            partial(send_test, bench, hook),
            partial(webhooks.deliver_due, bench, now(), Pen()),
            partial(webhooks.remove_webhook, bench, ONE, hook),
        )
        refused = at_once(lambda number, asked=together: asked[number // 2](), 8)  # type: ignore[misc]
        assert {type(error) for error in refused} == {NotFound}
    assert len(list_studies(bench, ONE, 10, None).items) == 8


@contextmanager
def moment_before_saving(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]
) -> Iterator[None]:
    """Let something happen once, between what an object is computed from and its transaction."""
    transaction, done = bench.store.transaction, list[bool]()

    def begun(workspace_id: str, erasures: int | None = None) -> AbstractContextManager[Repository]:
        # What follows from rows read before is kept by such a transaction alone.
        if erasures is not None and not done:
            done.append(True)
            do()
        return transaction(workspace_id, erasures)

    monkeypatch.setattr(bench.store, "transaction", begun)
    yield
    assert done


def test_a_revoked_key_ends_the_jobs_it_has_asked_for(bench: Workbench) -> None:
    made = keys.create_key(bench, ONE, KeyRequest(name="Robot", scopes=["read", "estimate"]))
    with acting(Actor("key", made.id, "Robot")):
        own, running = (create_sweep(bench, ONE, wide(4).request).id for _ in range(2))
    with acting(Actor("person", "acc_1", "Ann")):
        hers = create_sweep(bench, ONE, wide(4).request).id
    claim = JobClaim.take(bench, running, lambda: False)
    assert claim is not None
    keys.revoke_key(bench, ONE, made.id)
    assert [get_state(bench, ONE, one).status for one in (own, running, hers)] == [
        "cancelled",
        "cancelled",
        "queued",
    ]
    claim.beaten = 0.0
    assert claim.cancelled(), "its runner is told within a second"


def test_a_person_has_one_allowance_in_all_workspaces(bench: Workbench, clock: list[float]) -> None:
    rates = Rates({ClientKind.PERSON: {CostClass.READ: 4}, ClientKind.KEY: {CostClass.READ: 4}}, bench.store)
    asked = [
        rates.count(workspace, ClientKind.PERSON, "acc_1", CostClass.READ).granted
        for workspace in ("ws_one", "ws_two") * 3
    ]
    assert asked.count(True) == 4
    assert rates.count("ws_two", ClientKind.PERSON, "acc_2", CostClass.READ).granted


def test_processor_time_is_counted_by_all_servers_and_of_each_workspace(
    bench: Workbench, clock: list[float]
) -> None:

    servers = [Rates({}, bench.store, processor=2) for _ in range(2)]
    for server in servers:
        server.check_processor("ws_one")
        server.charge("ws_one", 1.2)
    with pytest.raises(TooMany) as caught:
        servers[0].check_processor("ws_one")
    assert 0 < caught.value.retry_after <= 120
    servers[0].check_processor("ws_two")


def test_the_next_job_is_of_who_has_used_least(bench: Workbench) -> None:
    many = [create_sweep(bench, "ws_one", wide(4).request).id for _ in range(3)]
    other = create_sweep(bench, "ws_two", wide(4).request).id
    shown = [0.0]
    turns = Turns(bench.store, lambda: shown[0])
    first = turns.next(many[0])
    assert first.id == many[0], "the oldest, where nobody has used anything"
    claim = JobClaim.take(bench, first.id, lambda: False)
    assert claim is not None
    first.charge(30.0)
    assert not first.over(), "a turn lasts its time"
    shown[0] += TURN_SECONDS
    assert first.over(), "then others come who have used less"
    second = turns.next(many[1])
    assert second.id == other
    claim = JobClaim.take(bench, other, lambda: False)
    assert claim is not None
    second.charge(5.0)
    shown[0] += 2 * TURN_SECONDS
    assert not second.over(), "who has used more waits on"
    assert turns.next(other).id == many[1]


def test_a_turn_lasts_while_only_its_own_workspace_waits(bench: Workbench) -> None:
    many = [create_sweep(bench, "ws_one", wide(4).request).id for _ in range(2)]
    moments = count(0.0, TURN_SECONDS)
    turns = Turns(bench.store, lambda: next(moments))
    turn = turns.next(many[0])
    assert JobClaim.take(bench, turn.id, lambda: False) is not None
    turn.charge(30.0)
    # Between any two looks at the clock time passes, and what was used counts for less.
    assert not any(turn.over() for _ in range(5))


def test_nothing_with_a_name_is_kept_while_it_is_erased(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = EstimateRequest.model_validate({**GPT3, "label": "For Zanfor"})
    estimates.create_estimate(bench, LOCAL_WORKSPACE, request)
    hash_anew, kept = proposals.hash_anew, list[bool]()

    def slowly(*changed: Any) -> list[str]:
        # Everything has been looked through, and nothing is written yet.
        keeping.extend(
            threads.submit(estimates.create_estimate, bench, workspace, request)
            for workspace in (LOCAL_WORKSPACE, ONE)
        )
        wait(keeping, timeout=2)
        kept.extend(future.done() for future in keeping)
        return hash_anew(*changed)

    monkeypatch.setattr(proposals, "hash_anew", slowly)
    keeping: list[Future[Estimate]] = []
    with ThreadPoolExecutor(2) as threads:
        assert erase_customer(bench, LOCAL_WORKSPACE, NAMED).rows["estimate"] == 1
        with pytest.raises(Overtaken):
            keeping[0].result(30)
    # SQLite has one writer, whoever it writes for.
    assert kept == [False, bench.store.engine.dialect.name == "postgresql"]
    listed = estimates.list_estimates(bench, LOCAL_WORKSPACE, 5, None).items
    assert [row.name for row in listed] == ["For Erased"]


def labelled_sweep(bench: Workbench) -> str:
    models = [BERT | {"label": "Zanfor"}]
    body = wide(1).request.model_dump(exclude_unset=True) | {"models": models}
    return create_sweep(bench, LOCAL_WORKSPACE, SweepRequest.model_validate(body)).id


NAMED = ErasureRequest(customer="Zanfor", replacement="Erased", dry_run=False)


def test_an_erasure_waits_for_a_runner_that_keeps_its_results(bench: Workbench) -> None:
    sweep = labelled_sweep(bench)
    job = bench.store.claim_job(sweep, "runner", now())
    assert job is not None
    erasing: list[Future[object]] = []

    def keep(repository: Repository) -> None:
        erasing.append(threads.submit(erase_customer, bench, LOCAL_WORKSPACE, NAMED))
        wait(erasing, timeout=1)
        row = SweepRowRecord(
            sweep_id=sweep, position=0, key="k", model="Zanfor", system="x", price="", scenario="",
            refused=False, document={"model": "Zanfor"}, workspace_id=LOCAL_WORKSPACE,
        )  # fmt: skip
        repository.of_sweep(sweep).add([row])

    with ThreadPoolExecutor(1) as threads:
        JobClaim(bench, job, lambda: False, lambda *_: None).advance(1, keep)
        erasing[0].result(30)
    with bench.store.transaction(LOCAL_WORKSPACE) as repository:
        assert repository.values(SweepRowRecord, SweepRowRecord.model) == ["Erased"]


def test_no_job_begins_while_a_name_is_erased(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep, hash_anew, claims = labelled_sweep(bench), proposals.hash_anew, list[Future[ClaimedJob | None]]()

    def slowly(*changed: Any) -> list[str]:
        claims.append(threads.submit(bench.store.claim_job, sweep, "runner", now()))
        assert not wait(claims, timeout=1).done
        return hash_anew(*changed)

    monkeypatch.setattr(proposals, "hash_anew", slowly)
    with ThreadPoolExecutor(1) as threads:
        erase_customer(bench, LOCAL_WORKSPACE, NAMED)
        assert claims[0].result(30) is not None


def test_two_names_are_erased_at_the_same_time(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    names, hold, together = ("Zanfor", "Yorblat"), erasure_queries.hold, threading.Barrier(2)

    def take_together(session: Session, lock: Callable[..., Any], workspace: str) -> None:
        if lock(1, 2).name == "pg_advisory_xact_lock":
            together.wait(30)
        hold(session, lock, workspace)

    for name in names:
        request = EstimateRequest.model_validate({**GPT3, "label": f"For {name}"})
        estimates.create_estimate(bench, LOCAL_WORKSPACE, request)

    def erase(number: int) -> object:
        named = ErasureRequest(customer=names[number], replacement="Erased", dry_run=False)
        return erase_customer(bench, LOCAL_WORKSPACE, named)

    monkeypatch.setattr(erasure_queries, "hold", take_together)
    assert at_once(erase, 2) == []
    listed = estimates.list_estimates(bench, LOCAL_WORKSPACE, 5, None).items
    assert [row.name for row in listed] == ["For Erased"] * 2
