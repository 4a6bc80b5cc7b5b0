from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

ASKED = {
    "model.preset": "bert-large",
    "workload.target": "mlperf-bert",
    "system": ["dgx-a100-640gb", "ipu-pod16"],
    "count.dgx-a100-640gb": "2",
    "fabric.dgx-a100-640gb": "roce-200",
    "currency": "KRW",
}
CONFIG = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}


def parsed(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def test_form_becomes_a_comparison(reader: Reader) -> None:
    response = reader.submit("/", ASKED)
    assert response.status_code == 303
    data = reader.data(f"{response.headers['location']}.json")
    systems = [(row["estimate"]["system"]["id"], row["estimate"]["system"]["count"]) for row in data["rows"]]
    assert systems == [("dgx-a100-640gb", 2), ("ipu-pod16", 1)]
    assert data["rows"][0]["estimate"]["system"]["fabric"] == "roce-200"
    assert data["currency"] == data["rows"][0]["estimate"]["cost"]["run"]["unit"] == "KRW"
    assert data["title"] == "BERT-Large"


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"workload.target": "", "workload.tokens": "many"}, "workload-tokens", "must be a number"),
        ({"count.dgx-a100-640gb": "-1"}, "system-dgx-a100-640gb", "at least 1"),
        ({"count.ipu-pod16": "0"}, "system-ipu-pod16", "at least 1"),
        ({"fabric.dgx-a100-640gb": "ipu-fabric"}, "system-dgx-a100-640gb", "connects IPUs only"),
        ({"count.dgx-a100-640gb": "few"}, "system-dgx-a100-640gb", "whole number"),
        ({"count.dgx-a100-640gb": "-1", "system": ["dgx-a100-640gb"]}, "system-dgx-a100-640gb", "at least 1"),
        ({"model.preset": ""}, "model", "choose a preset"),
        ({"workload.target": "", "filled": "bert-large"}, "workload", "say how long to train"),
        ({"system": []}, "systems", "select at least one"),
    ],
)
def test_error_stands_beside_its_field_and_nothing_typed_is_lost(
    reader: Reader, changed: dict[str, object], field: str, words: str
) -> None:
    asked = ASKED | changed
    response = reader.submit("/", asked)
    assert response.status_code in {400, 404, 409, 422}
    page = parsed(response.text)
    assert page.select_one("[role=alert]") is not None
    messages = " ".join(error.get_text() for error in page.select(f"[id^={field}-error]"))
    assert words.lower() in messages.lower()
    ticked = [box["value"] for box in page.select("input[name=system][checked]")]
    assert ticked == asked["system"]
    for name, value in asked.items():
        box = page.find("input", attrs={"name": name, "type": None})
        if box is not None and isinstance(value, str):
            assert box["value"] == value
    chosen = page.select_one("select[name='workload.target'] option[selected]")
    if asked["workload.target"] == "mlperf-bert":
        assert chosen["value"] == "mlperf-bert"


def test_an_uploaded_model_is_kept_while_the_form_is_mended(reader: Reader) -> None:
    files = {"model_file": ("config.json", json.dumps(CONFIG).encode(), "application/json")}
    asked = {"system": "dgx-a100-640gb", "currency": "USD"}
    first = parsed(reader.submit("/", asked, files).text)
    kept = first.select_one("input[name='model.profile_id']")
    assert kept is not None
    mended = asked | {"model.profile_id": str(kept["value"]), "workload.tokens": "10B"}
    response = reader.submit("/", mended)
    assert response.status_code == 303, response.text
    estimate = reader.data(f"{response.headers['location']}.json")["rows"][0]["estimate"]
    assert estimate["model"]["parameters"] == pytest.approx(124e6, rel=0.01)
    assert estimate["samples"] == pytest.approx(10e9 / 1024, rel=0.01)


def test_a_file_that_cannot_be_read_is_refused_beside_its_field(reader: Reader) -> None:
    response = reader.submit(
        "/", ASKED | {"model.preset": ""}, {"model_file": ("notes.json", b"{", "text/plain")}
    )
    assert response.status_code == 400
    assert parsed(response.text).select_one("#model-file-error-1") is not None


def test_a_sample_of_the_data_sets_the_mean_length(reader: Reader) -> None:
    lines = "\n".join(json.dumps({"tokens": length}) for length in [100, 200, 300]).encode()
    asked = {"model.preset": "gpt2-124m", "workload.samples": "1e6", "system": "dgx-a100-640gb"}
    response = reader.submit("/", asked, {"workload_file": ("sample.jsonl", lines, "application/jsonl")})
    assert response.status_code == 303, response.text
    defaults = reader.data(f"{response.headers['location']}.json")["rows"][0]["estimate"]["defaults"]
    assert any(one["field"] == "workload.mean_tokens" for one in defaults)


def test_defaults_are_shown_as_defaults(reader: Reader) -> None:
    page = reader.page("/")
    batch = page.find("input", id="workload-global_batch")
    assert batch["placeholder"] == "chosen with the plan" and not batch["value"]
    label = page.find("label", attrs={"for": "workload-global_batch"})
    assert label.select_one(".tag.default") is not None


def test_every_field_has_a_label(reader: Reader) -> None:
    page = reader.page("/")
    labelled = {label.get("for") for label in page.find_all("label")}
    for field in page.select("input, select"):
        assert field.get("id") in labelled or field.find_parent("label"), field


@pytest.mark.parametrize("example", ["gpt3-175b", "bert-large", "resnet50", "vendor-claim"])
def test_examples_open(reader: Reader, example: str) -> None:
    assert len(reader.data(f"{reader.example(example)}.json")["rows"]) >= 2


def test_unknown_example_offers_the_known_ones(reader: Reader) -> None:
    response = reader.ask("POST", "/examples/gpt4")
    assert response.status_code == 404 and "gpt3-175b" in response.text


def test_twin_offers_the_same_models_and_systems(reader: Reader) -> None:
    page, data = reader.page("/"), reader.data("/index.json")
    offered = {option["value"] for option in page.select("#model-preset option") if option["value"]}
    assert offered == {model["id"] for model in data["models"]}
    assert {box["value"] for box in page.select("input[name=system]")} == {
        one["id"] for one in data["systems"]
    }


def test_the_first_comparison_of_the_readme_needs_only_a_model_and_systems(reader: Reader) -> None:
    asked = {"model.preset": "bert-large", "system": ["dgx-a100-640gb", "bow-pod16"], "currency": "USD"}
    response = reader.submit("/", asked)
    assert response.status_code == 303, response.text
    rows = reader.data(f"{response.headers['location']}.json")["rows"]
    assert all("trained to MLPerf BERT-Large" in row["estimate"]["trained"]["message"] for row in rows)
    question = reader.page(response.headers["location"]).select_one(".study-question")
    assert "to MLPerf BERT-Large" in question.get_text()


def test_choosing_a_model_fills_in_its_training(reader: Reader) -> None:
    page = reader.page("/?model.preset=gpt3-175b")
    assert page.select_one("#workload-tokens")["value"] == "300,000,000,000"
    assert page.select_one("#workload-seq_len")["value"] == "2,048"
    assert "300 billion tokens" in page.select_one("#filled").get_text()
    assert page.select_one("label[for='workload-tokens'] .tag.default") is not None
    images = reader.page("/?model.preset=swin-t")
    assert images.select_one("#workload-seq_len") is None
    assert images.select_one("#workload-image_size")["value"] == "224"


def test_another_model_takes_the_place_of_what_was_filled_in_and_nothing_else(reader: Reader) -> None:
    first = {"model.preset": "resnet50", "filled": "bert-large", "workload.target": "mlperf-bert"}
    page = parsed(reader.get("/", params=first).text)
    chosen = page.select_one("select[name='workload.target'] option[selected]")
    assert chosen["value"] == "mlperf-resnet50"
    own = first | {"workload.target": "", "workload.samples": "5,000"}
    kept = parsed(reader.get("/", params=own).text)
    assert kept.select_one("#workload-samples")["value"] == "5,000"
    assert kept.select_one("select[name='workload.target'] option[selected]") is None


def test_an_assumption_for_an_upload_is_shown_before_anything_is_calculated(reader: Reader) -> None:
    config = CONFIG | {"n_positions": 131072}
    files = {"model_file": ("config.json", json.dumps(config).encode(), "application/json")}
    response = reader.submit("/", {"system": "dgx-a100-640gb", "currency": "USD"}, files)
    assert response.status_code == 422
    page = parsed(response.text)
    assert page.select_one("#workload-seq_len")["value"] == "4,096"
    assert page.select_one("#workload-tokens")["value"]
    assert "20 per parameter" in page.select_one("#filled").get_text()
    longest = page.select_one("button[name=length]")
    assert longest["value"] == "131072"
    profile = page.select_one("input[name='model.profile_id']")["value"]
    longer = reader.get("/", params={"model.profile_id": profile, "filled": profile, "length": "131072"})
    assert parsed(longer.text).select_one("#workload-seq_len")["value"] == "131072"


def test_software_is_chosen_by_name_for_each_kind_of_chip(reader: Reader) -> None:
    page = reader.page("/")
    offered = {one["value"]: one.get_text(strip=True) for one in page.select('[name="software.gpu"] option')}
    assert offered[""] and "2022-04" in offered["hugectr"] and "dlrm" in offered["hugectr"].lower()
    assert not {"gpu-base", "poplar-3-popart"} & set(offered)
    asked = ASKED | {"software.gpu": "mlperf-bert", "software.ipu": "poplar-2.3-tf1"}
    response = reader.submit("/", asked)
    assert response.status_code == 303
    rows = reader.data(f"{response.headers['location']}.json")["rows"]
    assert [row["estimate"]["software"] for row in rows] == ["mlperf-bert", "poplar-2.3-tf1"]
    assert not any(row["estimate"]["validation"]["software_presumed"] for row in rows)


def test_software_left_out_is_the_default_with_its_reason(reader: Reader) -> None:
    response = reader.submit("/", ASKED | {"software.gpu": "", "software.ipu": ""})
    for row in reader.data(f"{response.headers['location']}.json")["rows"]:
        (taken,) = (one for one in row["estimate"]["defaults"] if one["field"] == "software")
        assert taken["value"] == row["estimate"]["software"]
        assert "language models" in taken["why"] or "models of this kind" in taken["why"]


def test_what_is_typed_takes_the_place_of_the_training_that_was_filled_in(reader: Reader) -> None:
    asked = {
        "model.preset": "bert-large",
        "filled": "bert-large",
        "system": "dgx-a100-640gb",
        "currency": "USD",
    }
    typed = asked | {"workload.target": "mlperf-bert", "workload.seq_len": "512", "workload.samples": "5,000"}
    response = reader.submit("/", typed)
    assert response.status_code == 303, response.text
    (row,) = reader.data(f"{response.headers['location']}.json")["rows"]
    assert row["estimate"]["samples"] == 5000
