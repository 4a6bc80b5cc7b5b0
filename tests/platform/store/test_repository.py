"""Every query sees one workspace only, and lists go on where they stopped."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from app.platform.store.database import Store
from app.platform.store.document_queries import RowSelection
from app.platform.store.queries import now
from app.platform.store.repository import AnswerExists, Repository
from app.platform.store.tables import (
    CalibrationRow,
    EstimateRow,
    JobRecord,
    Profile,
    SweepRecord,
    SweepRowRecord,
    WorkloadSample,
)
from app.platform.store.trail import ForeignRow

DAY_AGO = now() - timedelta(days=1)


STATED = {"name": "t", "options": []}


def fill(repository: Repository, suffix: str) -> None:
    repository.add(Profile(id=f"prf_{suffix}", name="model", kind="config", document={"of": suffix}))
    repository.add(WorkloadSample(id=f"wkl_{suffix}", name="sample", document={"of": suffix}))
    repository.add(EstimateRow(id=f"est_{suffix}", label="estimate", request={}, document={"of": suffix}))
    repository.add(
        CalibrationRow(
            id=f"cal_{suffix}",
            label="calibration",
            request={},
            document={"of": suffix},
            profile={"of": suffix},
        )
    )
    repository.comparisons.add(f"cmp_{suffix}", now(), STATED, estimates={"a": f"est_{suffix}"})
    sweep = SweepRecord(id=f"swp_{suffix}", workspace_id="", title="t", request={})
    job = JobRecord(id=sweep.id, workspace_id="", kind="sweep", status="queued", total=3)
    repository.add(sweep, job)
    repository.add_idempotent_answer("estimates", "key", f"sha-{suffix}", {"of": suffix}, DAY_AGO)


@pytest.fixture
def filled(store: Store) -> Store:
    for suffix in ("one", "two"):
        with store.transaction(f"ws_{suffix}") as repository:
            fill(repository, suffix)
    return store


def test_each_query_finds_its_own_rows(filled: Store) -> None:
    with filled.transaction("ws_one") as repository:
        for row in (
            repository.get(Profile, "prf_one"),
            repository.get(WorkloadSample, "wkl_one"),
            repository.get(EstimateRow, "est_one"),
            repository.get(CalibrationRow, "cal_one"),
            repository.get(SweepRecord, "swp_one"),
            repository.get(JobRecord, "swp_one"),
            repository.idempotent_answer("estimates", "key", DAY_AGO),
        ):
            assert row is not None
            assert row.workspace_id == "ws_one"
        comparison, version = repository.comparisons.newest(["cmp_one"])["cmp_one"]
        assert comparison.workspace_id == version.workspace_id == "ws_one"
        assert version.estimates == {"a": "est_one"}
        assert repository.studies.find("cmp_one") is None
        assert set(repository.named(EstimateRow, ["est_one", "est_two"])) == {"est_one"}


def test_no_query_finds_the_rows_of_another_workspace(filled: Store) -> None:
    with filled.transaction("ws_one") as repository:
        assert repository.get(Profile, "prf_two") is None
        assert repository.get(WorkloadSample, "wkl_two") is None
        assert repository.get(EstimateRow, "est_two") is None
        assert repository.get(CalibrationRow, "cal_two") is None
        assert repository.get(SweepRecord, "swp_two") is None
        assert repository.get(JobRecord, "swp_two") is None
        assert set(repository.named(JobRecord, ["swp_one", "swp_two"])) == {"swp_one"}
        assert not repository.of_job("swp_two").move(["queued"], "cancelled", now())
        assert repository.comparisons.find("cmp_two") is None
        assert repository.comparisons.newest(["cmp_two"]) == {}
        assert repository.named(EstimateRow, ["est_two"]) == {}
        answer = repository.idempotent_answer("estimates", "key", DAY_AGO)
        assert answer is not None and answer.answer == {"of": "one"}
        for listing in (
            repository.page(WorkloadSample, 10, None),
            repository.page(EstimateRow, 10, None),
            repository.page(CalibrationRow, 10, None),
            repository.page(SweepRecord, 10, None),
        ):
            assert [row.workspace_id for row in listing.rows] == ["ws_one"]


def test_only_the_newest_version_of_a_comparison_is_kept(filled: Store) -> None:
    with filled.transaction("ws_one") as repository:
        assert repository.comparisons.add_next("cmp_one", 1, STATED, [], {"b": "est_one"})
        repository.comparisons.forget_before("cmp_one", 2)
    with filled.transaction("ws_one") as repository:
        assert [row.version for row in repository.comparisons.versions("cmp_one")] == [2]
        assert repository.comparisons.newest(["cmp_one"])["cmp_one"][1].estimates == {"b": "est_one"}
    with filled.transaction("ws_two") as repository:
        assert repository.comparisons.newest(["cmp_two"])["cmp_two"][0].version == 1


def test_a_list_goes_on_where_it_stopped_without_repeating(store: Store) -> None:
    for number in range(7):
        with store.transaction("ws_one") as repository:
            repository.add(EstimateRow(id=f"est_{number}", label=str(number), request={}, document={}))
    seen, after = [], None
    with store.transaction("ws_one") as repository:
        for _ in range(4):
            listing = repository.page(EstimateRow, 2, after)
            seen += [row.label for row in listing.rows]
            after = listing.next
    assert seen == ["6", "5", "4", "3", "2", "1", "0"]
    assert after is None


def test_a_key_is_answered_once(filled: Store) -> None:
    with pytest.raises(AnswerExists), filled.transaction("ws_one") as repository:
        repository.add(EstimateRow(id="est_late", label="late", request={}, document={}))
        repository.add_idempotent_answer("estimates", "key", "sha", {}, DAY_AGO)
    with filled.transaction("ws_one") as repository:
        assert repository.get(EstimateRow, "est_late") is None


def row(position: int, time: float | None, workspace: str = "ws_one") -> SweepRowRecord:
    return SweepRowRecord(
        sweep_id="swp_one", position=position, workspace_id=workspace, key=f"key {position}",
        model="ab"[position % 2], system="s", price="", scenario="", refused=time is None,
        time_to_train=time, cost=None, document={"position": position},
    )  # fmt: skip


def test_rows_are_counted_narrowed_and_sorted(filled: Store) -> None:
    with filled.transaction("ws_one") as repository:
        rows = [row(position, time) for position, time in enumerate([3.0, None, 1.0, 2.0])]
        repository.of_sweep("swp_one").add(rows)
    with filled.transaction("ws_one") as repository:
        queries = repository.of_sweep("swp_one")
        assert queries.positions() == {0, 1, 2, 3}
        assert queries.refused() == 1
        by_time = RowSelection(order="time_to_train")
        assert [one["position"] for one in queries.rows(by_time, 10)] == [2, 3, 0, 1]
        assert [one["position"] for one in queries.rows(by_time, 2, 1)] == [3, 0]
        assert [one["position"] for one in queries.rows(RowSelection({"model": "b"}), 10)] == [1, 3]
        assert queries.count(RowSelection({"model": "b"}, answered=True)) == 1
        assert [one["position"] for one in queries.rows_after(0, 2)] == [1, 2]
    with filled.transaction("ws_two") as repository:
        assert repository.of_sweep("swp_one").positions() == set()


def test_a_row_cannot_be_kept_twice(filled: Store) -> None:
    with filled.transaction("ws_one") as repository:
        repository.of_sweep("swp_one").add([row(0, 1.0)])
    with pytest.raises(IntegrityError), filled.transaction("ws_one") as repository:
        repository.of_sweep("swp_one").add([row(0, 1.0)])


def test_a_row_belongs_to_the_workspace_of_its_sweep(filled: Store) -> None:
    with pytest.raises(ForeignRow), filled.transaction("ws_one") as repository:
        repository.of_sweep("swp_one").add([row(0, 1.0, "ws_two")])


def test_of_two_changes_of_one_version_only_one_is_made(filled: Store) -> None:
    together = threading.Barrier(8)

    def change(name: str) -> bool:
        together.wait()
        with filled.transaction("ws_one") as repository:
            return repository.comparisons.add_next("cmp_one", 1, {"name": name, "options": []}, [])

    with ThreadPoolExecutor(8) as pool:
        made = dict(zip("abcdefgh", pool.map(change, "abcdefgh"), strict=True))
    with filled.transaction("ws_one") as repository:
        found = repository.comparisons.find("cmp_one")
    assert found is not None
    assert [name for name, done in made.items() if done] == [found.name]
    with filled.transaction("ws_two") as repository:
        assert not repository.comparisons.add_next("cmp_one", 2, STATED, [])
