"""The page of uploads, and the question before something is deleted, without JavaScript."""

from __future__ import annotations

import json

from bs4 import BeautifulSoup
from httpx import Response

from app.platform.web.examples import STUDY
from tests.conftest import problem_of
from tests.support.application import Reader, sentences
from tests.support.views import QWEN2_7B

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
    assert refused_by(refused.text) == ("conflict", "id")
    early = reader.submit(f"/studies/{study}/delete", {})
    assert early.status_code == 409 and refused_by(early.text) == ("conflict", "archived")
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


def test_a_model_shows_what_was_read_and_takes_a_name_and_a_customer(reader: Reader, korean: Reader) -> None:
    config = json.dumps(QWEN2_7B).encode()
    files = {"file": ("config.json", config)}
    model = reader.ask("POST", "/api/v1/profiles", files=files).json()["id"]
    page = reader.page(f"/uploads/{model}")
    read = page.select_one("#read").get_text(" ")  # type: ignore[union-attr]
    assert "7.616B" in read or "7.615B" in read
    assert "4,096" in read and "131,072" in page.get_text()
    assert page.select_one(f'a[href="/?model.profile_id={model}"]') is not None
    changed = {"name": "Qwen2-7B", "customer": "서울은행"}
    assert reader.submit(f"/uploads/{model}", changed).headers["location"] == f"/uploads/{model}"
    data = reader.data(f"/uploads/{model}.json")
    assert (data["name"], data["customer"]) == ("Qwen2-7B", "서울은행")
    assert "서울은행" in reader.page("/uploads").select_one("#models").text  # type: ignore[union-attr]
    assert "Qwen2-7B" in reader.page(f"/?model.profile_id={model}").select_one("#model").text  # type: ignore[union-attr]
    assert list(sentences(korean.page(f"/uploads/{model}"))) == []
    refused = reader.submit(f"/uploads/{model}", {"name": "", "customer": "x"})
    assert refused.status_code == 400 and 'id="name-error-1"' in refused.text
    assert reader.get("/uploads/prf_a2b3c4d5e6f7g2h3").status_code == 404


def test_a_sample_shows_its_lengths(reader: Reader, korean: Reader) -> None:
    files = {"file": ("lengths.csv", b"length\n7\n9\n400\n")}
    sample = reader.ask("POST", "/api/v1/workloads", files=files).json()["id"]
    page = reader.page(f"/uploads/{sample}")
    assert sum(int(cell.text) for cell in page.select("#histogram td.number")) == 3
    assert "400" in page.select_one("#read").text  # type: ignore[union-attr]
    assert reader.submit(f"/uploads/{sample}", {"name": "Chats"}).status_code == 303
    assert reader.data("/uploads.json")["samples"]["items"][0]["name"] == "Chats"
    assert list(sentences(korean.page(f"/uploads/{sample}"))) == []


def test_uploads_are_renamed_through_the_api(reader: Reader) -> None:
    model = uploaded(reader)
    path = f"/api/v1/profiles/{model}"
    answer = reader.ask("PATCH", path, json={"name": "Ours", "customer": "Customer A"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["name"], answer.json()["customer"]) == ("Ours", "Customer A")
    assert reader.ask("PATCH", path, json={"customer": ""}).json()["name"] == "Ours"
    assert reader.ask("PATCH", path, json={"name": " "}).status_code in {400, 422}
    assert problem_of(reader.ask("PATCH", path, json={"size": 3})) == (422, "unknown_field", "size")
    other = reader.ask("PATCH", "/api/v1/workloads/wkl_a2b3c4d5e6f7g2h3", json={"name": "x"})
    assert other.status_code == 404
    listed = reader.ask("GET", "/api/v1/profiles").json()["items"][0]
    assert (listed["name"], listed["customer"]) == ("Ours", "")
    events = reader.data("/audit.json")["items"]
    assert any(one["action"] == "profile.changed" for one in events)


def test_any_file_is_recognised_before_it_is_kept(reader: Reader) -> None:
    def sent(content: bytes, **fields: str) -> Response:
        return reader.submit("/uploads", fields, files={"file": ("file", content)})

    prices = BeautifulSoup(sent(b"item,quantity,unit price (USD)\nGPU server,2,250000\n").text, "html.parser")
    assert "GPU server" in prices.select_one("#prices").text  # type: ignore[union-attr]
    kept = sent(b'{"text": "one two three four"}\n', keep="1")
    assert kept.headers["location"].startswith("/uploads/wkl_")
    refused = sent(b'{"_class_name": "UNet3DConditionModel"}')
    assert refused.status_code == 422


def test_imports_are_parts_of_a_request(reader: Reader) -> None:
    files = {"file": ("config.json", json.dumps({"model_type": "mamba2", "num_hidden_layers": 4}).encode())}
    answer = reader.ask("POST", "/api/v1/imports", files=files).json()
    assert answer["kind"] == "config" and answer["parameters"] > 0
    made = reader.ask("POST", "/api/v1/profiles", json=answer["read"]["model"]).json()
    assert made["parameters"] == answer["parameters"]


def test_a_model_may_have_another_length(reader: Reader) -> None:
    files = {"file": ("config.json", json.dumps(QWEN2_7B).encode())}
    one, two = (
        reader.ask("POST", "/api/v1/profiles", files=files, data={"seq_len": str(length)}).json()
        for length in (128, 256)
    )
    assert (one["seq_len"], two["seq_len"]) == (128, 256)
    assert two["forward_flop_per_sample"] > 2 * one["forward_flop_per_sample"]


def refused_by(page: str) -> tuple[str, str]:
    """Return the kind of a problem that a page tells of, and its fields."""
    problem = BeautifulSoup(page, "lxml").select_one(".problem")
    assert problem is not None
    return str(problem["data-code"]), str(problem["data-fields"])
