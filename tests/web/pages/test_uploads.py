"""The page of uploads, and the question before something is deleted, without JavaScript."""

from __future__ import annotations

from app.platform.web.examples import STUDY
from tests.web.pages.conftest import Reader

TABLE = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def uploaded(reader: Reader, name: str = "layers.csv") -> str:
    response = reader.ask("POST", "/api/v1/profiles", files={"file": (name, TABLE)})
    return str(response.json()["id"])


def test_uploads_are_listed_saved_and_deleted(reader: Reader, korean: Reader) -> None:
    model = uploaded(reader, "<b>ours</b>.csv")
    files = {"file": ("lengths.csv", b"length\n7\n9\n")}
    sample = reader.ask("POST", "/api/v1/workloads", files=files).json()["id"]
    page = reader.page("/uploads")
    row = page.select_one(f'#models a[href="/uploads/{model}/file"]')
    assert row is not None and reader.get(str(row["href"])).content == TABLE
    assert "ours" in page.select_one("#models").text and page.select_one("#models b") is None  # type: ignore[union-attr]
    data = reader.data("/uploads.json")
    assert data["samples"]["items"][0]["id"] == sample
    assert data["models"]["items"][0]["size"] == len(TABLE)
    assert "길이만" in korean.page("/uploads").text
    for identifier in (model, sample):
        question = korean.page(f"/uploads/{identifier}/delete")
        form = question.select_one("form.decide")
        assert form is not None and form["method"] == "post"
        assert "되돌릴 수 없습니다" in question.text
        done = reader.submit(str(form["action"]), {})
        assert (done.status_code, done.headers["location"]) == (303, "/uploads")
        assert reader.get(f"/uploads/{identifier}/delete").status_code == 404
    assert model not in reader.get("/uploads").text


def test_what_cannot_be_deleted_says_why(reader: Reader) -> None:
    profile = uploaded(reader)
    workload = {"samples": 1e6, "global_batch": 256}
    base = {**STUDY["base"], "model": {"profile_id": profile}, "workload": workload}
    body = {**STUDY, "base": base, "options": STUDY["options"][:1]}
    study = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    refused = reader.submit(f"/uploads/{profile}/delete", {})
    assert refused.status_code == 409 and STUDY["name"] in refused.text
    early = reader.submit(f"/studies/{study}/delete", {})
    assert early.status_code == 409 and "archive it first" in early.text
    assert f"/studies/{study}/delete" not in reader.get(f"/studies/{study}").text
    reader.submit(f"/studies/{study}/archive", {})
    assert f"/studies/{study}/delete" in reader.get(f"/studies/{study}").text
    assert STUDY["name"] in reader.page(f"/studies/{study}/delete").text
    done = reader.submit(f"/studies/{study}/delete", {})
    assert done.status_code == 303
    assert reader.get(f"/studies/{study}").status_code == 404


def test_older_uploads_are_reached(reader: Reader) -> None:
    for number in range(51):
        uploaded(reader, f"model-{number:02}.csv")
    link = reader.page("/uploads").select_one('.pages a[href*="models="]')
    assert link is not None
    assert reader.page(str(link["href"])).select("#models tbody tr")
    assert reader.get("/uploads?models=nonsense").status_code == 400
    assert reader.get("/uploads/est_a2b3c4d5e6f7g2h3/delete").status_code == 404
