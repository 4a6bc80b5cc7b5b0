"""An erased name comes back neither from memory, of whichever server, nor from work under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import Overtaken
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.accelerators import service as accelerators
from app.features.accelerators.model import AcceleratorPatch, AcceleratorRequest
from app.features.accelerators.service import create_accelerator
from app.features.calibration.model import CalibrationRequest
from app.features.calibration.service import create_calibration
from app.features.comparisons import service as comparisons
from app.features.comparisons.model import ComparisonPatch, ComparisonRequest
from app.features.comparisons.service import create_comparison
from app.features.erasure.model import Erasure, ErasureRequest
from app.features.erasure.service import erase_customer
from app.features.estimates import service as estimates
from app.features.price_books import service as books
from app.features.price_books.model import PriceBookPatch, PriceBookRequest
from app.features.price_books.service import create_book
from app.features.proposals import service as proposals
from app.features.proposals.model import Proposal, ProposalPatch, ProposalRequest
from app.features.sizings import service as sizings
from app.features.sizings.model import SizingRequest
from app.features.sizings.search import nobody
from app.features.studies import service as studies
from app.features.studies import states
from app.features.studies.model import StudyContent, StudyPatch
from app.features.sweeps import service as sweeps
from app.features.sweeps.model import SweepRequest
from app.features.uploads import service as uploads
from app.features.uploads.model import ProfileRequest, UploadPatch
from app.features.uploads.service import describe_profile
from app.platform.store.database import Store
from app.platform.web.examples import (
    ACCELERATOR,
    BOOK,
    CALIBRATION,
    GPT3,
    HEAD_TO_HEAD,
    SIZING,
    STUDY,
    TRANSFORMER,
)
from app.platform.workbench import LOCAL_WORKSPACE, Workbench
from tests.jobs import do_next
from tests.sizing.asking import sizing_context
from tests.sizing.sweeping import BERT, Threads, wide


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Workbench]]:
    """Two servers of one database."""
    url = f"sqlite:///{tmp_path / 'erasures.sqlite3'}"
    both = [Workbench(sizing_context(), Store(url)) for _ in range(2)]
    both[0].prepare()
    yield both
    for bench in both:
        bench.store.close()


def erase(bench: Workbench, name: str) -> Erasure:
    request = ErasureRequest(customer=name, replacement="Erased", dry_run=False)
    return erase_customer(bench, LOCAL_WORKSPACE, request)


def test_no_server_finds_in_memory_what_was_erased(servers: list[Workbench]) -> None:
    bench = servers[0]
    book = create_book(bench, LOCAL_WORKSPACE, PriceBookRequest.model_validate(BOOK | {"name": "Zanfor"})).id
    stated = AcceleratorRequest.model_validate(ACCELERATOR | {"name": "Zanfor X1"})
    own = create_accelerator(bench, LOCAL_WORKSPACE, stated).id
    fitted = CalibrationRequest.model_validate(CALIBRATION | {"label": "Runs of Zanfor"})
    calibration = create_calibration(bench, LOCAL_WORKSPACE, fitted).id
    described = ProfileRequest.model_validate(TRANSFORMER | {"name": "Zanfor 7B"})
    profile = describe_profile(bench, LOCAL_WORKSPACE, described).id

    def read(server: Workbench) -> list[str]:
        context, catalogue = server.context(LOCAL_WORKSPACE), server.of(LOCAL_WORKSPACE).catalogue
        found = (
            context.find_book(book),
            context.find_profile(profile),
            context.find_calibration(calibration),
        )
        return [repr(part).casefold() for part in (*found, catalogue.systems.documents[own].name)]

    for server in servers:
        assert [text for text in read(server) if "zanfor" not in text] == []
    erase(bench, "Zanfor")
    for server in servers:
        assert not any("zanfor" in text for text in read(server))


def test_a_freeze_under_way_does_not_write_the_name_back(
    servers: list[Workbench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, other = servers
    comparison = create_comparison(bench, LOCAL_WORKSPACE, ComparisonRequest.model_validate(HEAD_TO_HEAD)).id
    request = ProposalRequest.model_validate({"comparison_id": comparison, "customer": "Zorblatt"})
    proposal = proposals.create_proposal(bench, LOCAL_WORKSPACE, request)
    rendered = proposals.proposal_pdf

    def slowly(draft: Proposal) -> bytes:
        erase(other, "Zorblatt")
        return rendered(draft)

    monkeypatch.setattr(proposals, "proposal_pdf", slowly)
    with pytest.raises(Overtaken):
        proposals.freeze_proposal(bench, LOCAL_WORKSPACE, proposal.id)
    found = proposals.get_proposal(bench, LOCAL_WORKSPACE, proposal.id)
    assert (found.status, found.version) == ("draft", proposal.version + 1)
    assert "Zorblatt" not in found.model_dump_json()


def test_a_running_sweep_goes_on_without_the_name(
    servers: list[Workbench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.features.sweeps.service.installed_context", sizing_context)
    bench, other = servers
    labelled = wide(40).request.model_dump(exclude_unset=True) | {"models": [BERT | {"label": "Zorblatt"}]}
    sweep = sweeps.create_sweep(bench, LOCAL_WORKSPACE, SweepRequest.model_validate(labelled)).id
    erased: list[Erasure] = []

    def meanwhile() -> bool:
        if not erased and sweeps.get_state(other, LOCAL_WORKSPACE, sweep).done:
            erased.append(erase(other, "Zorblatt"))
        return False

    assert do_next(bench, Threads, meanwhile)
    left = sweeps.get_state(bench, LOCAL_WORKSPACE, sweep)
    assert left.status == "queued" and 0 < left.done < 40
    assert do_next(bench, Threads)
    found = sweeps.get_sweep(bench, LOCAL_WORKSPACE, sweep, limit=50)
    assert (found.status, found.done) == ("done", 40)
    assert {row.model for row in found.rows} == {"Erased"}
    assert [row.position for row in found.rows] == list(range(40))


def test_an_answer_made_before_is_not_kept_afterwards(
    servers: list[Workbench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, other = servers
    described = ProfileRequest.model_validate(TRANSFORMER | {"name": "Zanfor 7B"})
    profile = describe_profile(bench, LOCAL_WORKSPACE, described).id
    asked = {"model": {"profile_id": profile}, "workload": GPT3["workload"], "system": GPT3["system"]}
    request = EstimateRequest.model_validate(asked)
    made = estimates.make_estimate

    def slowly(*asked: Any) -> Estimate:
        answer = made(*asked)
        assert "Zanfor" in answer.model_dump_json()
        erase(other, "Zanfor")
        return answer

    monkeypatch.setattr(estimates, "make_estimate", slowly)
    with pytest.raises(Overtaken):
        estimates.create_estimate(bench, LOCAL_WORKSPACE, request, "once")
    monkeypatch.undo()
    assert estimates.list_estimates(bench, LOCAL_WORKSPACE, 5, None).items == []
    assert (
        "Zanfor" not in estimates.create_estimate(bench, LOCAL_WORKSPACE, request, "once").model_dump_json()
    )


def test_a_sweep_is_read_though_erasing_made_labels_equal(servers: list[Workbench]) -> None:
    bench = servers[0]
    models = [BERT | {"label": label} for label in ("Zorblatt", "zorblatt")]
    labelled = wide(1).request.model_dump(exclude_unset=True) | {"models": models}
    sweep = sweeps.create_sweep(bench, LOCAL_WORKSPACE, SweepRequest.model_validate(labelled)).id
    erase(bench, "Zorblatt")
    assert sweeps.get_sweep(bench, LOCAL_WORKSPACE, sweep, limit=5).labels["model"] == ["Erased", "Erased"]


Edit = Callable[[Workbench], object]


def edits(bench: Workbench) -> dict[str, tuple[Any, str, Edit]]:
    """Return what is read on the way of each edit: its module and name there, and the edit."""
    ws = LOCAL_WORKSPACE
    content = StudyContent.model_validate(STUDY | {"name": "Zorblatt"})
    study = studies.create_study(bench, ws, content).id
    titled = ComparisonRequest.model_validate(HEAD_TO_HEAD | {"title": "Zorblatt"})
    comparison = comparisons.create_comparison(bench, ws, titled).id
    book = books.create_book(bench, ws, PriceBookRequest.model_validate(BOOK)).id
    stated = AcceleratorRequest.model_validate(ACCELERATOR | {"name": "Zorblatt X1"})
    own = create_accelerator(bench, ws, stated).id
    asked = ProposalRequest.model_validate({"comparison_id": comparison, "customer": "Somebody"})
    proposal = proposals.create_proposal(bench, ws, asked).id
    described = ProfileRequest.model_validate(TRANSFORMER | {"name": "Zorblatt 7B"})
    profile = describe_profile(bench, ws, described).id
    named = SizingRequest.model_validate(SIZING | {"label": "Zorblatt"})
    return {
        "study": (
            studies, "estimates_of",
            lambda at: studies.change_study(at, ws, study, StudyPatch(customer="A")),
        ),
        "comparison": (
            comparisons, "get_comparison",
            lambda at: comparisons.change_comparison(at, ws, comparison, ComparisonPatch(locale="ko")),
        ),
        "price book": (
            books, "edited",
            lambda at: books.change_book(at, ws, book, PriceBookPatch(comment="A"), None),
        ),
        "accelerator": (
            accelerators, "patched",
            lambda at: accelerators.change_accelerator(at, ws, own, AcceleratorPatch(name="A"), None),
        ),
        "proposal": (
            proposals, "compile_content",
            lambda at: proposals.change_proposal(at, ws, proposal, ProposalPatch(customer="A")),
        ),
        "model": (
            uploads, "existing",
            lambda at: uploads.change_profile(at, ws, profile, UploadPatch(customer="A")),
        ),
        "sizing": (sizings, "size", lambda at: sizings.keep_found(at, ws, "siz_a", named, nobody)),
    }  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["study", "comparison", "price book", "accelerator", "proposal", "model", "sizing"]
)
def test_an_edit_under_way_does_not_write_the_name_back(
    servers: list[Workbench], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    bench, other = servers
    module, name, edit = edits(bench)[kind]
    read = getattr(module, name)

    def slowly(*asked: Any, **named: Any) -> Any:
        found = read(*asked, **named)
        monkeypatch.undo()
        erase(other, "Zorblatt")
        return found

    monkeypatch.setattr(module, name, slowly)
    with pytest.raises(Overtaken):
        edit(bench)
    with bench.store.transaction(LOCAL_WORKSPACE) as repository:
        assert repository.erasure.erase("Zorblatt", "x", dry_run=True) == {}


def test_labels_that_erasing_made_equal_are_told_apart(servers: list[Workbench]) -> None:
    bench = servers[0]
    labels = ("Zorblatt", "zorblatt")
    first, _, third = HEAD_TO_HEAD["rows"]
    rows = [row | {"label": label} for row, label in zip((first, third), labels, strict=True)]
    compared = ComparisonRequest.model_validate(HEAD_TO_HEAD | {"rows": rows})
    comparison = comparisons.create_comparison(bench, LOCAL_WORKSPACE, compared).id
    options = [option | {"label": label} for option, label in zip(STUDY["options"], labels, strict=False)]
    content = StudyContent.model_validate(STUDY | {"options": options})
    study = studies.create_study(bench, LOCAL_WORKSPACE, content).id
    erase(bench, "Zorblatt")
    found = comparisons.get_comparison(bench, LOCAL_WORKSPACE, comparison).comparison
    assert [row.label for row in found.rows] == ["Erased", "Erased (2)"]
    patch = ComparisonPatch(title="Two")
    assert comparisons.change_comparison(bench, LOCAL_WORKSPACE, comparison, patch).comparison.title == "Two"
    state = states.state_of(bench, LOCAL_WORKSPACE, study, {})
    answered = states.answer_state(bench, LOCAL_WORKSPACE, state)
    assert [option.label for option in answered.options] == ["Erased", f"Erased ({options[1]['key']})"]
    studies.change_study(bench, LOCAL_WORKSPACE, study, StudyPatch(customer="A"))
