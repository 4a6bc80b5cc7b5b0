"""Studies as they are kept: versions, edits that meet, copies, files, and estimates kept in memory."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError, Conflict, NotFound
from app.estimating.documents import Estimate
from app.features.comparisons.model import ComparisonOfState
from app.features.comparisons.service import comparison_of_state
from app.features.operation.chores import purge
from app.features.studies import service as studies
from app.features.studies import states
from app.features.studies.model import (
    DuplicateRequest,
    Study,
    StudyAnswer,
    StudyContent,
    StudyFile,
    StudyPatch,
)
from app.platform.caches import LruCache
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.store.trail import TrailFilter
from app.platform.workspace import LOCAL_WORKSPACE, Installation, Workspace
from tests.conftest import answer, asked, sizing_context

CONTENT: dict[str, Any] = {
    "name": "BERT in Seoul",
    "base": {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
        "currency": "KRW",
    },
    "options": [
        {"system": {"id": "dgx-a100-640gb", "count": 2}},
        {"system": {"id": "bow-pod16"}},
        {"key": "p", "label": "Reported", "figure": {"hours": 2.0, "kind": "vendor"}},
    ],
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Installation(sizing_context(), Store(f"sqlite:///{tmp_path / 'store.sqlite3'}"))
    made.prepare()
    with made.store.transaction("ws_other") as repository:
        repository.ensure_workspace("Other")
    return made.workspace(LOCAL_WORKSPACE)


@pytest.fixture
def study(workspace: Workspace) -> Study:
    return studies.create_study(workspace, StudyContent.model_validate(CONTENT))


def answered(workspace: Workspace, identifier: str, **knobs: Any) -> StudyAnswer:
    named = {name.replace("__", "."): value for name, value in knobs.items()}
    return states.answer_state(workspace, states.state_of(workspace, identifier, named))


def test_every_version_is_kept_with_what_changed(workspace: Workspace, study: Study) -> None:
    second = studies.change_study(workspace, study.id, StudyPatch(knobs={"count.a": 4}), 1)
    third = studies.change_study(workspace, study.id, StudyPatch(name="BERT in Busan", notes="why"), 2)
    assert (second.version, third.version) == (2, 3)
    found = studies.list_versions(workspace, study.id)
    assert [one.version for one in found.items] == [3, 2, 1]
    assert [change.field for change in found.items[0].changes] == ["name", "notes"]
    assert found.items[1].changes[0].message == "option “a”, system.count: 2 → 4"
    assert studies.get_study(workspace, study.id, 1).content == study.content
    assert studies.get_study(workspace, study.id).content.name == "BERT in Busan"


def test_an_edit_without_a_difference_makes_no_version(workspace: Workspace, study: Study) -> None:
    patch = StudyPatch(name=study.content.name, knobs={"count.a": 2})
    assert studies.change_study(workspace, study.id, patch).version == 1


def test_an_older_version_can_be_made_the_newest(workspace: Workspace, study: Study) -> None:
    studies.change_study(workspace, study.id, StudyPatch(knobs={"count.a": 4}), 1)
    back = studies.change_study(workspace, study.id, StudyPatch(), 2, version=1)
    assert back.version == 3 and back.content == study.content


def test_of_two_edits_the_second_is_told_what_the_first_changed(workspace: Workspace, study: Study) -> None:
    studies.change_study(workspace, study.id, StudyPatch(knobs={"count.a": 4}), 1)
    with pytest.raises(Conflict) as caught:
        studies.change_study(workspace, study.id, StudyPatch(knobs={"batch": 2048}), 1)
    told = {one.field: str(one.message) for one in caught.value.errors}
    assert "version 2, not 1" in told["If-Match"]
    assert told["options.a.system.count"] == "option “a”, system.count: 2 → 4"
    assert studies.get_study(workspace, study.id).version == 2


def test_two_who_save_at_once_cannot_both_succeed(workspace: Workspace, study: Study) -> None:
    with workspace.transaction() as repository:
        tree = CONTENT
        assert repository.studies.add_next(study.id, 1, tree, [])
        assert not repository.studies.add_next(study.id, 1, tree, [])


def test_an_archived_study_leaves_the_list_and_refuses_edits(workspace: Workspace, study: Study) -> None:
    assert studies.archive_study(workspace, study.id, True).archived
    assert studies.list_studies(workspace, 10, None).items == []
    assert [one.id for one in studies.list_studies(workspace, 10, None, archived=True).items] == [study.id]
    with pytest.raises(Conflict):
        studies.change_study(workspace, study.id, StudyPatch(name="no"))
    assert not studies.archive_study(workspace, study.id, False).archived
    assert studies.change_study(workspace, study.id, StudyPatch(name="yes")).version == 2


def test_putting_away_again_changes_nothing(workspace: Workspace, study: Study) -> None:
    for archived in (True, True, False, False):
        assert studies.archive_study(workspace, study.id, archived).archived is archived
    with workspace.transaction() as repository:
        rows, _ = repository.trail.listing(TrailFilter({"object_id": study.id}), 50, None)
    moved = {"study.archived", "study.restored"}
    assert [row.action for row in rows if row.action in moved] == ["study.restored", "study.archived"]


def test_a_file_gives_the_same_answers_elsewhere(workspace: Workspace, study: Study) -> None:
    studies.change_study(workspace, study.id, StudyPatch(knobs={"count.a": 4, "utilisation.b": 0.5}))
    file = studies.export_study(workspace, study.id)
    written = file.model_dump_json(exclude_unset=True)
    assert written == studies.export_study(workspace, study.id).model_dump_json(exclude_unset=True)
    brought = studies.import_study(
        workspace.installation.workspace("ws_other"), StudyFile.model_validate(json.loads(written))
    )
    there = states.answer_state(
        workspace.installation.workspace("ws_other"),
        states.state_of(workspace.installation.workspace("ws_other"), brought.id, {}),
    )
    here = answered(workspace, study.id)
    apart = {"id", "version", "latest"}
    assert here.model_dump(exclude=apart) == there.model_dump(exclude=apart)


def test_a_file_that_names_what_is_not_here_is_refused_by_name(workspace: Workspace) -> None:
    base = {**CONTENT["base"], "model": {"profile_id": "prf_nobody"}}
    file = {"format": "rackline-study", "format_version": 1, "study": {**CONTENT, "base": base}}
    with pytest.raises(NotFound) as caught:
        studies.import_study(workspace, StudyFile.model_validate(file))
    assert caught.value.errors[0].field == "options.0.model.profile_id"


def test_a_copy_begins_anew_in_any_state(workspace: Workspace, study: Study) -> None:
    copy = states.duplicate_study(workspace, study.id, DuplicateRequest(knobs={"count.a": 4}))
    assert (copy.version, copy.content.name) == (1, "BERT in Seoul (2)")
    assert copy.content.options[0].system.count == 4
    assert studies.get_study(workspace, study.id).content.options[0].system.count == 2


def test_a_state_becomes_a_comparison_with_the_same_hours(workspace: Workspace, study: Study) -> None:
    made = comparison_of_state(workspace, study.id, ComparisonOfState(knobs={"count.a": 4}))
    state = answered(workspace, study.id, count__a=4)
    assert [row.label for row in made.rows] == [one.label for one in state.options]
    for row, one in zip(made.rows, state.options, strict=True):
        assert row.hours is not None and one.time is not None
        assert row.hours * 3600 == pytest.approx(one.time.value)


def test_only_the_turned_option_is_estimated_anew(workspace: Workspace, study: Study) -> None:
    answered(workspace, study.id)
    before = len(workspace.installation.estimates)
    answered(workspace, study.id, count__a=8)
    assert len(workspace.installation.estimates) == before + 1
    answered(workspace, study.id, count__a=8)
    assert len(workspace.installation.estimates) == before + 1


def test_a_study_that_names_what_has_gone_is_still_shown(workspace: Workspace, study: Study) -> None:
    """Strictly it is refused at the option; for the page the column says why."""
    state = states.state_of(workspace, study.id, {"software.a": "cal_gone"})
    with pytest.raises(AppError) as caught:
        states.answer_state(workspace, state)
    assert caught.value.errors[0].field == "software.a"
    loose = states.answer_state(workspace, state, strict=False)
    assert loose.options[0].refusal is not None and loose.options[0].time is None
    assert loose.fastest is not None


def test_memory_of_estimates_is_bounded_and_apart_by_workspace(workspace: Workspace) -> None:
    found, made = answer(), list[str]()
    cache = workspace.installation.estimates = LruCache(2)

    def make(name: str) -> Estimate:
        made.append(name)
        return found

    requests = [asked(system={"count": count}) for count in (1, 2, 3)]
    for number, request in enumerate(requests):
        workspace.estimate(request, lambda number=number: make(str(number)))
    assert len(cache) == 2
    workspace.estimate(requests[2], lambda: make("again"))
    workspace.installation.workspace("ws_other").estimate(requests[2], lambda: make("other"))
    workspace.estimate(requests[0], lambda: make("dropped"))
    priced = asked(assumptions={"price_book_id": "pb_a"})
    workspace.estimate(priced, lambda: make("priced"))
    workspace.estimate(priced, lambda: make("priced"))
    assert made == ["0", "1", "2", "other", "dropped", "priced", "priced"]


def test_a_state_has_one_short_name(workspace: Workspace, study: Study) -> None:
    state = states.StoredState(1, {"count.a": "4"}, {"network": {"threshold_percent": "7"}})
    token = states.store_state(workspace, study.id, state)
    assert token == states.store_state(workspace, study.id, state) and len(token) == 10
    assert states.stored_state(workspace, study.id, token) == state
    with pytest.raises(NotFound):
        states.stored_state(workspace, study.id, "aaaaaaaaaa")
    with pytest.raises(NotFound):
        states.stored_state(workspace.installation.workspace("ws_other"), study.id, token)


def test_what_nobody_saves_is_listed_apart_and_goes_after_a_time(workspace: Workspace) -> None:
    made = studies.create_study(workspace, StudyContent.model_validate(CONTENT), saved=False)
    assert not made.saved and made.id not in [
        one.id for one in studies.list_studies(workspace, 9, None).items
    ]
    apart = studies.list_studies(workspace, 9, None, saved=False).items
    assert [one.id for one in apart] == [made.id]
    kept = studies.create_study(workspace, StudyContent.model_validate(CONTENT), saved=False)
    states.store_state(workspace, made.id, states.StoredState(1, {"count.a": "4"}))
    assert studies.save_study(workspace, kept.id).saved
    purge(workspace.installation, now() + timedelta(days=29), at_once=True)
    assert studies.get_study(workspace, made.id)
    purge(workspace.installation, now() + timedelta(days=31), at_once=True)
    with pytest.raises(NotFound):
        studies.get_study(workspace, made.id)
    assert studies.get_study(workspace, kept.id).saved


def test_customers_and_tags_are_found(workspace: Workspace, study: Study) -> None:
    patch = StudyPatch.model_validate({"customer": "하이퍼커넥트", "tags": ["build or cloud"]})
    assert studies.change_study(workspace, study.id, patch).content.customer == "하이퍼커넥트"
    for sought in ("하이퍼", "cloud", "seoul"):
        assert [one.id for one in studies.list_studies(workspace, 9, None, sought).items] == [study.id]
    assert not studies.list_studies(workspace, 9, None, "graphcore").items
