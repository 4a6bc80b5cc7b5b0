"""The journeys of sales tooling, through the client as a script would go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from rackline_client import (
    AsyncRackline,
    BadRequest,
    Conflicting,
    File,
    Invalid,
    Missing,
    Outdated,
    Rackline,
    StillRunning,
    Unreachable,
)
from rackline_client.documents import EstimateRequest, ProposalRequest
from rackline_client.wire import States

from app.platform.web.examples import CONFIG, PARTITIONS, PRICE_BOOK, RESNET
from tests.conftest import run
from tests.support.jobs import do_all
from tests.support.sweeping import Threads

PUBLISHED = [
    {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    {"label": "3 × DGX A100", "kind": "linear", "scaled_from": "1 × DGX A100", "factor": 3},
    {"label": "1 × IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
]


@pytest.fixture(scope="module")
def swept(application: FastAPI, rackline: Rackline) -> str:
    """Identifier of a sweep that is complete."""
    sweep = rackline.create_sweep(PRICE_BOOK)
    assert sweep.status == "queued"
    with pytest.raises(StillRunning, match=f"{sweep.id} has done 0 of {sweep.total}"):
        rackline.wait(sweep.id, timeout=0)
    do_all(application.state.installation, Threads)
    return sweep.id


def test_sales_tooling_freezes_a_korean_proposal(rackline: Rackline) -> None:
    assert rackline.check_plan({"devices": 160, "global_batch": 8192}).suggested_devices == 128
    comparison = rackline.create_comparison({"title": "BERT-Large", "locale": "ko", "rows": PUBLISHED})
    asked = ProposalRequest(comparison_id=comparison.id, customer="하이퍼커넥트", locale="ko", currency="KRW")
    first, second = (rackline.create_proposal(asked, key="hyperconnect-1") for _ in range(2))
    assert first == second
    assert [one.id for one in rackline.each(rackline.list_proposals, limit=1)].count(first.id) == 1

    frozen = rackline.freeze_proposal(first.id)
    assert frozen.status == "frozen" and frozen == rackline.freeze_proposal(first.id)
    pdf = rackline.proposal_pdf(first.id)
    assert pdf.startswith(b"%PDF-") and pdf == rackline.proposal_pdf(first.id)
    assert rackline.proposal_workbook(first.id).startswith(b"PK")
    assert "하이퍼커넥트" in rackline.proposal_csv(first.id)
    with pytest.raises(Conflicting):
        rackline.change_proposal(first.id, {"customer": "x"})
    assert rackline.share_proposal(first.id).token
    rackline.revoke_share(first.id)
    assert rackline.replay_proposal(first.id).changes == []
    kinds = [event.kind for event in rackline.list_events(first.id).items]
    assert kinds == ["created", "frozen", "shared", "unshared", "replayed"]


def test_scaling_that_is_not_linear_is_restated(rackline: Rackline) -> None:
    comparison = rackline.create_comparison({"rows": PUBLISHED})
    restated = rackline.get_comparison(comparison.id, scaling_efficiency=0.85)
    assert restated.rows[1].hours == pytest.approx(27.25, abs=0.005)
    read = rackline.get_comparison.answer(comparison.id)
    changed = rackline.change_comparison.answer(comparison.id, {"title": "Mine"}, tag=read.tag)
    assert (read.value, changed.value.title) == (comparison, "Mine")
    assert changed.tag == rackline.get_comparison.answer(comparison.id).tag
    with pytest.raises(Outdated) as late:
        rackline.change_comparison(comparison.id, {"title": "Theirs"}, tag=read.tag)
    assert [field.field for field in late.value.fields] == ["If-Match"]


def test_a_model_and_a_sample_of_the_data_are_sized(rackline: Rackline, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG), encoding="utf-8")
    profile = rackline.create_profile(config)
    assert (profile.name, profile.kind) == ("llama", "config")
    sample = rackline.create_workload(File("notes.txt", b"one two three\n" * 20), seq_len=128)
    assert (sample.samples, sample.seq_len) == (20, 128)
    body = {**RESNET, "model": {"profile_id": profile.id}, "workload": {"tokens": 1e9}}
    estimate = rackline.create_estimate(EstimateRequest.model_validate(body))
    assert estimate.model.parameters == profile.parameters
    assert rackline.get_estimate(estimate.id) == estimate


def test_refusals_come_as_what_they_are(rackline: Rackline) -> None:
    with pytest.raises(Missing, match="dgx-a100-640gb"):
        rackline.create_estimate({**RESNET, "system": {"id": "dgx-a100"}})
    with pytest.raises(Invalid) as unknown:
        rackline.create_estimate({**RESNET, "colour": "red"})
    assert [field.field for field in unknown.value.fields] == ["colour"]
    with pytest.raises(BadRequest):
        rackline.check_plan({"devices": 0, "global_batch": 8})
    asked = {"team": "late", "devices": 12}
    with pytest.raises(Conflicting, match="16"):
        rackline.plan_partitions({**PARTITIONS, "requests": [*PARTITIONS["requests"], asked]})


def test_prices_are_replaced_by_a_file(rackline: Rackline) -> None:
    rows = "item,parameter,condition,value,unit,note\ndgx-a100-640gb,price,,150000,USD,Offer\n"
    book = rackline.create_price_book(File("offers.csv", rows.encode()), name="Spring")
    assert (book.name, book.rows[0].value) == ("Spring", 150_000)
    assert "150000" in rackline.get_price_book_csv(book.id)


def test_a_sweep_is_waited_for_and_read_to_its_end(rackline: Rackline, swept: str) -> None:
    job = rackline.wait(swept)
    assert (job.status, job.done) == ("done", job.total)
    assert len(list(rackline.rows(swept, limit=3))) == job.total
    assert [state.status for state in rackline.follow_sweep(swept)] == ["done"]
    assert rackline.get_sweep_csv(swept).count("\n") == job.total + 1
    with pytest.raises(Missing):
        list(rackline.follow_sweep("swp_nosuch"))


def test_the_same_is_awaited(asynchronous: AsyncRackline, swept: str) -> None:
    async def go() -> None:
        async with asynchronous as rackline:
            made = await asyncio.gather(*(rackline.create_comparison({"rows": PUBLISHED}) for _ in range(3)))
            listed = [one.id async for one in rackline.each(rackline.list_comparisons, limit=2)]
            assert {one.id for one in made} <= set(listed)
            read = await rackline.get_comparison.answer(made[0].id)
            await rackline.change_comparison(made[0].id, {"title": "Mine"}, tag=read.tag)
            with pytest.raises(Outdated):
                await rackline.change_comparison(made[0].id, {"title": "Theirs"}, tag=read.tag)
            job = await rackline.wait(swept)
            assert len([row async for row in rackline.rows(swept)]) == job.total
            assert [state.status async for state in rackline.follow_sweep(swept)] == ["done"]

    run(go())


def test_events_come_out_of_a_stream_line_by_line() -> None:
    def states(lines: list[str]) -> Iterator[str]:
        for line in lines:
            yield from (state.status for state in reader.of_line(line))

    reader = States()
    running = (
        '{"id": "swp_x", "name": "t", "title": "t", "status": "running", "total": 2, "done": 1, '
        '"created_at": "2026-11-02T09:30:00Z", "updated_at": "2026-11-02T09:30:00Z"}'
    )
    lines = ["event: progress", f"data: {running}", "", ": nothing new", "", "event: end", "data: done", ""]
    assert list(states(lines)) == ["running"]
    assert reader.ended


def test_events_that_break_off_say_so() -> None:
    stream = httpx.MockTransport(lambda _: httpx.Response(200, text=": nothing new\n\n"))
    with pytest.raises(Unreachable, match="broke off"):
        list(Rackline(transport=stream).follow_sweep("swp_x"))


def test_a_part_of_an_answer_is_plain_values(rackline: Rackline, asynchronous: AsyncRackline) -> None:
    whole = rackline.create_estimate(RESNET)
    part = rackline.get_estimate.narrowed("id", "cost.run")(whole.id)
    assert whole.cost is not None
    assert part == {"id": whole.id, "cost": {"run": whole.cost.run.model_dump()}}

    async def short() -> dict[str, object]:
        return await asynchronous.get_estimate.narrowed(view="summary")(whole.id)

    assert {"trace", "time_to_train"} & run(short()).keys() == {"time_to_train"}
