"""How often somebody may ask: counted in one process or by several, never beyond the quota."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import TooMany
from app.platform.rates import WINDOW, ClientKind, CostClass, Rates
from app.platform.store.database import Store
from app.platform.store.queries import now
from tests.support.objects import only_read
from tests.support.postgres import PostgresCluster

QUOTAS = {CostClass.READ: 10, CostClass.ESTIMATE: 4, CostClass.SEARCH: 2}

OF_KEYS = {ClientKind.KEY: QUOTAS}


@pytest.fixture(params=["process", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store | None]:
    if request.param == "process":
        yield None
        return
    if request.param == "sqlite":
        made = Store(f"sqlite:///{tmp_path / 'rates.sqlite3'}")
    else:
        server: PostgresCluster = request.getfixturevalue("postgres")
        made = Store(server.make())
    made.migrate()
    for workspace in ("ws_one", "ws_two"):
        with made.transaction(workspace) as repository:
            repository.ensure_workspace(workspace)
    yield made
    made.close()


def test_the_quota_is_granted_and_no_more(store: Store | None, clock: list[float]) -> None:
    rates = Rates(OF_KEYS, store)
    found = [rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE) for _ in range(6)]
    assert [one.granted for one in found] == [True] * 4 + [False] * 2
    assert [one.left for one in found] == [3, 2, 1, 0, 0, 0]
    assert found[0].seconds == WINDOW
    # All four fade with the next window: none of them before it begins.
    assert found[-1].seconds == WINDOW + 1


def test_what_was_refused_is_granted_after_the_time_told(store: Store | None, clock: list[float]) -> None:
    rates = Rates(OF_KEYS, store)
    clock[0] += 50
    for _ in range(4):
        assert rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE).granted
    refused = rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE)
    assert not refused.granted and refused.seconds == 11
    clock[0] += refused.seconds
    assert rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE).granted
    again = rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE)
    assert not again.granted
    clock[0] += again.seconds
    assert rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE).granted


def test_windows_slide_and_do_not_let_twice_the_quota_pass(store: Store | None, clock: list[float]) -> None:
    rates = Rates(OF_KEYS, store)
    clock[0] += WINDOW - 1
    granted = sum(rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.READ).granted for _ in range(20))
    clock[0] += 2
    granted += sum(rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.READ).granted for _ in range(20))
    assert granted <= QUOTAS[CostClass.READ] + 1


def test_keys_and_kinds_have_allowances_of_their_own(store: Store | None, clock: list[float]) -> None:
    rates = Rates(OF_KEYS, store)
    for workspace, key in (("ws_one", "key_a"), ("ws_one", "key_b"), ("ws_two", "key_c")):
        for effort, quota in QUOTAS.items():
            assert rates.count(workspace, ClientKind.KEY, key, effort).left == quota - 1


def test_servers_of_one_database_count_together(store: Store | None, clock: list[float]) -> None:
    granted: list[bool] = []

    def ask() -> None:
        rates = Rates(OF_KEYS, store)
        granted.extend(
            rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.READ).granted for _ in range(5)
        )

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Without a database each counts for itself.
    assert sum(granted) == (20 if store is None else QUOTAS[CostClass.READ])


@pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
def test_windows_that_count_no_longer_are_forgotten(store: Store) -> None:
    Rates(OF_KEYS, store).count("ws_one", ClientKind.KEY, "key_a", CostClass.READ)
    assert store.purge_rates(now()) == 0
    later = now().timestamp() + 3 * WINDOW
    assert store.purge_rates(now().fromtimestamp(later, now().tzinfo)) == 1


@pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
def test_what_cannot_be_counted_together_is_counted_by_each(
    store: Store, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    rates = Rates(OF_KEYS, store)
    assert rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE).left == 3
    with only_read(store):
        found = [rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE) for _ in range(6)]
    assert [one.granted for one in found] == [True] * 4 + [False] * 2
    assert [record.name for record in caplog.records].count("rackline.rates") == 1
    assert rates.count("ws_one", ClientKind.KEY, "key_a", CostClass.ESTIMATE).left == 2


def test_people_and_links_are_told_what_is_theirs(store: Store | None, clock: list[float]) -> None:
    rates = Rates({asker: {CostClass.ESTIMATE: 1} for asker in ClientKind}, store)
    for asker, who in (
        (ClientKind.KEY, "limit of this key"),
        (ClientKind.PERSON, "your limit"),
        (ClientKind.LINK, "this link can"),
    ):
        rates.count("ws_one", asker, f"the {asker}", CostClass.ESTIMATE).check()
        with pytest.raises(TooMany, match=f"^{who} .*wait 61 s") as refused:
            rates.count("ws_one", asker, f"the {asker}", CostClass.ESTIMATE).check()
        assert refused.value.retry_after == 61
