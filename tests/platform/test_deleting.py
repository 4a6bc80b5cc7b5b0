"""What is deleted while others make something from it or change it, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from app.errors import AppError, Conflict, NotFound, VersionConflict
from app.features.accelerators import service as accelerators
from app.features.accelerators.model import AcceleratorPatch, AcceleratorRequest
from app.features.bills import service as bills
from app.features.bills.model import BillRequest
from app.features.comparisons import service as comparisons
from app.features.comparisons.model import ComparisonPatch
from app.features.estimates import service as estimates
from app.features.price_books import service as books
from app.features.price_books.model import PriceBookPatch, PriceBookRequest
from app.features.proposals import service as proposals
from app.features.proposals.model import ProposalPatch
from app.features.studies import service as studies
from app.features.studies.model import StudyContent, StudyFile
from app.features.sweeps import service as sweeps
from app.features.sweeps.model import SweepRequest
from app.features.uploads import service as uploads
from app.features.uploads.model import UploadPatch
from app.platform.deleting import delete
from app.platform.store.deletion_queries import DeletionQueries
from app.platform.store.document_queries import AcceleratorQueries, StudyQueries
from app.platform.store.proposal_queries import ProposalQueries
from app.platform.store.repository import Repository
from app.platform.store.tables import (
    AcceleratorRecord,
    BillRow,
    EstimateRow,
    OwnedRow,
    PriceBookRecord,
    ProposalRecord,
    StudyRecord,
    SweepRecord,
)
from app.platform.store.upload_queries import UploadQueries
from app.platform.web.examples import ACCELERATOR, BOOK, RESNET, STUDY
from app.platform.workspace import Workspace
from tests.platform.conftest import moment_before_saving
from tests.support.objects import LAYERS, ONE, comparison_of, proposal_of
from tests.support.sweeping import wide

Step = Callable[[], object]


def book_of(workspace: Workspace) -> str:
    return books.create_book(workspace, PriceBookRequest.model_validate(BOOK)).id


def study_of(book: str) -> StudyContent:
    base = {**STUDY["base"], "assumptions": {"price_book_id": book}}
    return StudyContent.model_validate({**STUDY, "base": base, "options": STUDY["options"][:1]})


def making(workspace: Workspace, kind: str) -> tuple[type[OwnedRow], str, type[OwnedRow], Step]:
    """Return table and identifier of what something is made from, the table of that, and how it is made."""
    if kind == "bill of estimate":
        estimate = estimates.create_estimate(workspace, estimates.EstimateRequest.model_validate(RESNET)).id
        asked = BillRequest(estimate_id=estimate)
        return EstimateRow, estimate, BillRow, lambda: bills.create_bill(workspace, asked)
    if kind == "proposal of comparison":
        comparison = comparison_of(workspace)
        return StudyRecord, comparison, ProposalRecord, lambda: proposal_of(workspace, comparison)
    book = book_of(workspace)
    if kind == "proposal with price book":
        comparison = comparison_of(workspace)
        make: Step = lambda: proposal_of(workspace, comparison, price_book_id=book)  # noqa: E731
        return PriceBookRecord, book, ProposalRecord, make
    if kind == "study with price book":
        content = study_of(book)
        return PriceBookRecord, book, StudyRecord, lambda: studies.create_study(workspace, content)
    if kind == "imported study":
        study = studies.create_study(
            workspace.installation.workspace("ws_two"), StudyContent.model_validate(STUDY)
        ).id
        file = studies.export_study(workspace.installation.workspace("ws_two"), study).model_copy(
            update={"study": study_of(book)}
        )
        brought = StudyFile.model_validate(file.model_dump(exclude_unset=True))
        return PriceBookRecord, book, StudyRecord, lambda: studies.import_study(workspace, brought)
    swept = wide(1).request.model_dump(exclude_unset=True)
    prices = [{"label": "Book", "price_book_id": book}]
    request = SweepRequest.model_validate(swept | {"prices": prices})
    return PriceBookRecord, book, SweepRecord, lambda: sweeps.create_sweep(workspace, request)


MADE = (
    "bill of estimate",
    "proposal of comparison",
    "proposal with price book",
    "study with price book",
    "imported study",
    "sweep with price book",
)


def count(workspace: Workspace, table: type[OwnedRow]) -> int:
    with workspace.transaction() as repository:
        return repository.count_rows(table)


@pytest.mark.parametrize("kind", MADE)
def test_nothing_is_kept_that_is_made_from_what_was_deleted_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source, identifier, table, make = making(workspace, kind)
    between = moment_before_saving(workspace, monkeypatch, lambda: delete(workspace, source, identifier))
    with between, pytest.raises(NotFound):
        make()
    assert (count(workspace, source), count(workspace, table)) == (0, 0)


@pytest.mark.parametrize("kind", MADE)
def test_who_deletes_waits_for_what_is_being_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source, identifier, table, make = making(workspace, kind)
    holds, deleting = Repository.holds, list[Future[None]]()

    def slowly(*asked: Any) -> bool | None:
        if not deleting:
            deleting.append(threads.submit(delete, workspace, source, identifier))
            assert not wait(deleting, timeout=0.5).done
        return holds(*asked)

    monkeypatch.setattr(Repository, "holds", slowly)
    with ThreadPoolExecutor(1) as threads:
        make()
        with pytest.raises(Conflict):
            deleting[0].result(30)
    assert (count(workspace, source), count(workspace, table)) == (1, 1)


def accelerator_in_study(workspace: Workspace) -> tuple[str, Step]:
    """Return an accelerator, and how a study with it is made."""
    accelerator = accelerators.create_accelerator(workspace, AcceleratorRequest.model_validate(ACCELERATOR))
    content = {**STUDY, "options": [{"label": "Own", "system": {"id": accelerator.id, "count": 1}}]}
    study = StudyContent.model_validate(content)
    return accelerator.id, lambda: studies.create_study(workspace.installation.workspace(ONE), study)


def test_a_study_is_not_kept_with_an_accelerator_that_was_deleted_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerator, make = accelerator_in_study(workspace)
    between = moment_before_saving(
        workspace, monkeypatch, lambda: accelerators.delete_accelerator(workspace, accelerator)
    )
    with between, pytest.raises(NotFound):
        make()
    assert (count(workspace, AcceleratorRecord), count(workspace, StudyRecord)) == (0, 0)


def test_an_accelerator_stays_for_a_study_that_is_being_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerator, make = accelerator_in_study(workspace)
    holds, deleting = Repository.holds, list[Future[None]]()

    def slowly(*asked: Any) -> bool | None:
        if not deleting:
            deleting.append(threads.submit(accelerators.delete_accelerator, workspace, accelerator))
            assert not wait(deleting, timeout=0.5).done
        return holds(*asked)

    monkeypatch.setattr(Repository, "holds", slowly)
    with ThreadPoolExecutor(1) as threads:
        make()
        deleting[0].result(30)
    assert (count(workspace, AcceleratorRecord), count(workspace, StudyRecord)) == (1, 1)


def test_a_comparison_that_is_deleted_while_it_is_read_is_not_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison, newest = comparison_of(workspace), StudyQueries.newest

    def late(queries: StudyQueries, identifiers: Iterable[str]) -> Any:
        (identifier,) = identifiers
        comparisons.delete_comparison(workspace, identifier)
        return newest(queries, [identifier])

    monkeypatch.setattr(StudyQueries, "newest", late)
    with pytest.raises(NotFound):
        proposal_of(workspace, comparison)


def test_a_draft_does_not_take_up_a_comparison_that_is_deleted_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, other = proposal_of(workspace, comparison_of(workspace)), comparison_of(workspace)
    between = moment_before_saving(
        workspace, monkeypatch, lambda: comparisons.delete_comparison(workspace, other)
    )
    with between, pytest.raises(NotFound):
        proposals.change_proposal(workspace, proposal, ProposalPatch(comparison_id=other))


def test_a_proposal_that_is_being_frozen_is_not_deleted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = proposal_of(workspace, comparison_of(workspace))
    add_artifact, deleting = ProposalQueries.add_artifact, list[Future[None]]()

    def slowly(*artifact: Any) -> None:
        deleting.append(threads.submit(proposals.delete_proposal, workspace, proposal))
        assert not wait(deleting, timeout=0.5).done
        add_artifact(*artifact)

    monkeypatch.setattr(ProposalQueries, "add_artifact", slowly)
    with ThreadPoolExecutor(1) as threads:
        proposals.freeze_proposal(workspace, proposal)
        with pytest.raises(Conflict):
            deleting[0].result(30)
    assert proposals.get_proposal(workspace, proposal).status == "frozen"


def changing(workspace: Workspace, kind: str) -> tuple[Step, Step]:
    """Return how an object is deleted, and how it is changed."""
    if kind in {"proposal", "freeze"}:
        proposal = proposal_of(workspace, comparison_of(workspace))
        change: Step = (
            (lambda: proposals.freeze_proposal(workspace, proposal))
            if kind == "freeze"
            else lambda: proposals.change_proposal(workspace, proposal, ProposalPatch(title="B"))
        )
        return lambda: proposals.delete_proposal(workspace, proposal), change
    if kind == "comparison":
        comparison, patch = comparison_of(workspace), ComparisonPatch(currency="KRW")
        return (
            lambda: comparisons.delete_comparison(workspace, comparison),
            lambda: comparisons.change_comparison(workspace, comparison, patch),
        )
    if kind == "price book":
        book = book_of(workspace)
        return (
            lambda: books.delete_price_book(workspace, book),
            lambda: books.change_book(workspace, book, PriceBookPatch(comment="B"), None),
        )
    if kind == "accelerator":
        stated = AcceleratorRequest.model_validate(ACCELERATOR)
        own = accelerators.create_accelerator(workspace, stated).id
        return (
            lambda: accelerators.delete_accelerator(workspace, own),
            lambda: accelerators.change_accelerator(workspace, own, AcceleratorPatch(name="B"), None),
        )
    if kind == "sample":
        sample = uploads.upload_workload(workspace, "lengths.csv", b"length\n12\n40\n").id
        return (
            lambda: uploads.delete_workload(workspace, sample),
            lambda: uploads.change_workload(workspace, sample, UploadPatch(name="B")),
        )
    profile = uploads.upload_profile(workspace, "layers.csv", LAYERS).id
    return (
        lambda: uploads.delete_profile(workspace, profile),
        lambda: uploads.change_profile(workspace, profile, UploadPatch(name="B")),
    )


@pytest.mark.parametrize(
    "kind", ["proposal", "freeze", "comparison", "price book", "accelerator", "model", "sample"]
)
def test_who_changes_what_is_being_deleted_is_told_so(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    remove, change = changing(workspace, kind)
    changes = list[Future[object]]()

    def slowly(step: Callable[..., Any]) -> Callable[..., Any]:
        def taken(*asked: Any) -> Any:
            if not changes:
                changes.append(threads.submit(change))
                assert not wait(changes, timeout=1).done
            return step(*asked)

        return taken

    for queries, name in (
        (DeletionQueries, "delete"),
        (AcceleratorQueries, "remove"),
        (UploadQueries, "delete_profile"),
        (UploadQueries, "delete_sample"),
    ):
        monkeypatch.setattr(queries, name, slowly(getattr(queries, name)))
    with ThreadPoolExecutor(1) as threads:
        remove()
        with pytest.raises(AppError) as caught:
            changes[0].result(30)
    assert isinstance(caught.value, NotFound | Conflict)


def test_who_is_too_late_at_a_row_is_told_so(workspace: Workspace) -> None:
    estimate = estimates.create_estimate(workspace, estimates.EstimateRequest.model_validate(RESNET)).id
    with pytest.raises(VersionConflict), workspace.transaction() as repository:
        row = repository.get(EstimateRow, estimate)
        assert row is not None
        delete(workspace, EstimateRow, estimate)
        row.label = "B"
