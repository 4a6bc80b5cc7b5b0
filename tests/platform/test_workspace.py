"""Use cases below the web: workspaces kept apart, uploads kept in memory, one faster than the other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.errors import NotFound
from app.estimating.context import SizingContext, load_context
from app.estimating.request import EstimateRequest
from app.features.comparisons.model import ComparisonPatch, ComparisonRequest
from app.features.comparisons.service import change_comparison, create_comparison, get_comparison
from app.features.estimates.service import create_estimate, get_estimate, get_estimate_request, list_estimates
from app.features.uploads.service import (
    get_profile,
    get_workload,
    list_profiles,
    upload_profile,
    upload_workload,
)
from app.platform.store.database import Store
from app.platform.workspace import LOCAL_WORKSPACE, Installation, Workspace
from app.profiles.presets import data_directory

OTHER = "ws_other"

CONFIG = b'{"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "vocab_size": 50257}'

SYSTEM = {"id": "dgx-a100-640gb"}

RESNET = EstimateRequest.model_validate(
    {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}, "system": SYSTEM}
)

FIGURES = ComparisonRequest.model_validate({"rows": [{"label": "a", "hours": 1, "kind": "measured"}]})


@pytest.fixture(scope="module")
def context() -> SizingContext:
    return load_context(data_directory())


@pytest.fixture
def workspace(context: SizingContext, tmp_path: Path) -> Iterator[Workspace]:
    made = Installation(context, Store(f"sqlite:///{tmp_path / 'services.sqlite3'}"))
    made.prepare()
    with made.store.transaction(OTHER) as repository:
        repository.ensure_workspace("Other")
    yield made.workspace(LOCAL_WORKSPACE)
    made.store.close()


def test_what_one_workspace_keeps_another_does_not_find(workspace: Workspace) -> None:
    estimate = create_estimate(workspace, RESNET)
    comparison = create_comparison(workspace, FIGURES)
    profile = upload_profile(workspace, "config.json", CONFIG)
    sample = upload_workload(workspace, "a.txt", b"one two\n")
    assert get_estimate(workspace, estimate.id) == estimate
    for find, identifier in (
        (get_estimate, estimate.id),
        (get_estimate_request, estimate.id),
        (get_comparison, comparison.id),
        (get_profile, profile.id),
        (get_workload, sample.id),
    ):
        find(workspace, identifier)
        with pytest.raises(NotFound):
            find(workspace.installation.workspace(OTHER), identifier)
    with pytest.raises(NotFound):
        change_comparison(
            workspace.installation.workspace(OTHER), comparison.id, ComparisonPatch(title="theirs")
        )
    assert list_estimates(workspace.installation.workspace(OTHER), 10, None).items == []
    assert list_profiles(workspace.installation.workspace(OTHER), 10, None).items == []


def test_a_request_cannot_size_the_upload_of_another_workspace(workspace: Workspace) -> None:
    profile = upload_profile(workspace.installation.workspace(OTHER), "config.json", CONFIG)
    asked = RESNET.model_validate(
        {"model": {"profile_id": profile.id}, "workload": {"tokens": 1e9}, "system": SYSTEM}
    )
    assert create_estimate(workspace.installation.workspace(OTHER), asked).fits
    with pytest.raises(NotFound) as caught:
        create_estimate(workspace, asked)
    assert [error.field for error in caught.value.errors] == ["model.profile_id"]


def test_the_same_key_in_two_workspaces_is_two_requests(workspace: Workspace) -> None:
    first = create_estimate(workspace, RESNET, "key")
    second = create_estimate(workspace.installation.workspace(OTHER), RESNET, "key")
    assert first.id != second.id


def test_requests_that_race_with_one_key_get_one_answer(workspace: Workspace) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: create_estimate(workspace, RESNET, "key"), range(8)))
    assert len({answer.id for answer in answers}) == 1
    assert len(list_estimates(workspace, 10, None).items) == 1


def test_many_writers_wait_for_each_other(workspace: Workspace) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: create_estimate(workspace, RESNET), range(24)))
    assert len({answer.id for answer in answers}) == 24
    assert len(list_estimates(workspace, 50, None).items) == 24


def test_what_was_asked_is_kept_as_it_was_asked(workspace: Workspace) -> None:
    estimate = create_estimate(workspace, RESNET)
    found = get_estimate_request(workspace, estimate.id)
    assert found == RESNET
    assert found.model_dump(exclude_unset=True) == RESNET.model_dump(exclude_unset=True)


def test_an_upload_survives_a_restart(workspace: Workspace, context: SizingContext) -> None:
    profile = upload_profile(workspace, "config.json", CONFIG)
    again = Installation(context, workspace.installation.store)
    again.prepare()
    assert get_profile(again.workspace(LOCAL_WORKSPACE), profile.id) == profile
