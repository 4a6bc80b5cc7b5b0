"""The first page: search, what is filled in, systems as rows, and the study that comes of it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from bs4 import BeautifulSoup

from app.main import create_app
from app.settings import Settings
from tests.support.application import Reader, sentences
from tests.support.views import QWEN2_7B

ASKED = {
    "model.preset": "bert-large",
    "workload.target": "mlperf-bert",
    "system": ["dgx-a100-640gb", "ipu-pod16"],
    "count.dgx-a100-640gb": "2",
    "fabric.dgx-a100-640gb": "roce-200",
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
    return BeautifulSoup(text, "lxml")


def fields_of(page: BeautifulSoup) -> dict[str, list[str]]:
    """Return what a browser sends of the form as it stands."""
    found: dict[str, list[str]] = {}
    for one in page.select("#compare input[name]:not([type=file]), #compare select"):
        if one.get("type") == "checkbox" and not one.has_attr("checked"):
            continue
        chosen = one.select_one("option[selected]") if one.name == "select" else one
        found.setdefault(str(one["name"]), []).append(str(chosen.get("value", "")) if chosen else "")
    return found


def systems(page: BeautifulSoup) -> dict[str, str]:
    rows = page.select(".chosen-system")
    return {row.select_one("[name=system]")["value"]: row.select_one(".count input")["value"] for row in rows}


def uploaded(reader: Reader, config: dict[str, object]) -> str:
    """Upload a model and return the address that goes on with it."""
    files = {"model_file": ("config.json", json.dumps(config).encode(), "application/json")}
    response = reader.submit("/model-file", {}, files)
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Somebody whose workspace is empty: models that were used come first."""
    return Reader(create_app(Settings.at(tmp_path_factory.mktemp("new"))))


@pytest.mark.parametrize(
    ("sought", "first"),
    [
        ("llama2 7b", "llama2-7b"),
        ("Llama-2-7B", "llama2-7b"),
        ("meta-llama/Llama-2-7b-hf", "llama2-7b"),
        ("bert-large-uncased", "bert-large"),
        ("gpt2", "gpt2-124m"),
        ("bert 340m", "bert-large"),
        ("t5 11b", "t5-11b"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b"),
    ],
)
def test_a_model_is_found_by_name_size_or_its_name_elsewhere(
    newcomer: Reader, sought: str, first: str
) -> None:
    page = parsed(newcomer.get("/choices", params={"find": sought}).text)
    assert page.select_one(".found a")["href"] == f"/?model.preset={first}"
    whole = parsed(newcomer.get("/", params={"find": sought}).text)
    assert whole.select_one("#model-results a")["href"] == f"/?model.preset={first}"


def test_a_size_finds_every_model_named_after_it(reader: Reader) -> None:
    page = reader.page("/choices?find=7b")
    names = {link["href"].partition("=")[2] for link in page.select(".found a")}
    assert {"llama2-7b", "mistral-7b", "falcon-7b"} <= names
    assert names.isdisjoint({"opt-1.3b", "gpt3-2.7b"})


def test_an_unknown_published_name_is_told_that_no_network_is_read(reader: Reader) -> None:
    page = reader.page("/?find=Qwen/Qwen1.5-7B")
    assert "reads no network" in page.select_one("#model-results .notice").get_text()
    assert page.select_one('#model-file[name="model_file"]') is not None
    assert "No model matches" in reader.page("/choices?find=zzz").get_text()


def test_a_model_used_last_stands_first(reader: Reader) -> None:
    base = {"model": {"preset": "swin-b"}, "workload": {"samples": 1e6}}
    body = {"name": "x", "base": base, "options": [{"system": {"id": "ipu-pod16"}}]}
    assert reader.ask("POST", "/api/v1/studies", json=body).status_code == 201
    first = reader.page("/?find=").select_one("#model-results .found a")
    assert "swin-b" in first["href"] and first.select_one(".tag").get_text() == "last used"


@pytest.mark.parametrize("model", ["bert-large", "resnet50", "llama2-7b", "vit-large", "gpt3-175b"])
def test_a_study_is_two_clicks_away(reader: Reader, model: str) -> None:
    page = reader.page(f"/?model.preset={model}")
    chosen = systems(page)
    assert len(chosen) == 2 and all(int(count) >= 1 for count in chosen.values())
    assert "Fits in memory from" in page.select_one("#least").get_text()
    opened = reader.submit("/", fields_of(page))
    assert opened.status_code == 303 and opened.headers["location"].startswith("/studies/stu_")
    assert len(reader.page(opened.headers["location"]).select(".study-option")) == 2


def test_memory_decides_the_least_count(reader: Reader) -> None:
    least = reader.data("/index.json?model.preset=gpt3-175b")["suggested"]["least"]
    assert least == {"dgx-a100-640gb": 2, "ipu-pod16": 8, "ipu-pod64": 2}
    body = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9, "seq_len": 2048}}
    for count, fits in ((1, False), (2, True)):
        asked = {**body, "system": {"id": "dgx-a100-640gb", "count": count}}
        assert reader.ask("POST", "/api/v1/estimates", json=asked).json()["fits"] is fits
    reader.page("/?model.preset=megatron-310.1b")
    start = time.process_time()
    reader.page("/?model.preset=megatron-1t")
    assert time.process_time() - start < 2.0


def test_form_becomes_a_study(reader: Reader, korean: Reader) -> None:
    response = reader.submit("/", ASKED)
    assert response.status_code == 303
    content = reader.data(f"{response.headers['location']}.json")["content"]
    assert content["name"] == "BERT-Large" and content["base"]["currency"] == "USD"
    first, second = (option["system"] for option in content["options"])
    assert (first["id"], first["count"], first["fabric"]) == ("dgx-a100-640gb", 2, "roce-200")
    assert second["id"] == "ipu-pod16"
    won = korean.submit("/", ASKED).headers["location"]
    assert korean.data(f"{won}.json")["content"]["base"]["currency"] == "KRW"


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"workload.target": "", "workload.tokens": "many"}, "workload-tokens", "“many”"),
        ({"count.dgx-a100-640gb": "-1"}, "system-dgx-a100-640gb", "at least 1"),
        ({"count.ipu-pod16": "0"}, "system-ipu-pod16", "at least 1"),
        ({"fabric.dgx-a100-640gb": "ipu-fabric"}, "system-dgx-a100-640gb", "connects IPUs only"),
        ({"count.dgx-a100-640gb": "few"}, "system-dgx-a100-640gb", "whole number"),
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
    assert all(page.find(id=link["href"].removeprefix("#")) for link in page.select("[role=alert] a"))
    assert page.select("[role=alert] a")
    messages = " ".join(error.get_text() for error in page.select(f"[id^={field}-error]"))
    assert words.lower() in messages.lower()
    assert list(systems(page)) == asked["system"]
    for name, value in asked.items():
        box = page.find("input", attrs={"name": name, "type": None})
        if box is not None and isinstance(value, str):
            assert box["value"] == value
    if field.startswith("workload"):
        assert page.select_one("#workload details").has_attr("open")


def test_a_refused_form_leads_to_the_field(reader: Reader) -> None:
    response = reader.submit("/", {**ASKED, "workload.target": "", "workload.tokens": "a lot"})
    assert response.status_code == 422
    page = parsed(response.text)
    link = page.select_one('[role="alert"][autofocus] a')
    assert link.get_text() == "Tokens" and page.select_one(link["href"])["name"] == "workload.tokens"


def test_amounts_may_be_written_in_words(reader: Reader) -> None:
    asked = {**ASKED, "workload.target": "", "workload.tokens": "100 billion"}
    made = reader.submit("/", asked).headers["location"]
    assert reader.data(f"{made}.json")["content"]["base"]["workload"]["tokens"] == 1e11


def test_an_unknown_model_is_refused_beside_the_search(reader: Reader) -> None:
    page = reader.page("/?model.preset=bert-largo", 404)
    assert "bert-large" in page.select_one("#model-error-1").get_text()
    assert parsed(reader.submit("/", {"system": "ipu-pod16"}).text).select_one("#model-error-1")


def test_systems_are_added_counted_and_removed_without_scripts(reader: Reader) -> None:
    page = reader.page("/?model.preset=bert-large")
    state = fields_of(page)
    found = parsed(reader.get("/", params=state | {"find_system": "hgx 40gb"}).text)
    button = found.select_one("#system-results button")
    assert "HGX A100 40GB (8 GPUs)" in button.get_text() and "NVIDIA A100-SXM4 40GB" in button.get_text()
    assert (button["name"], button["formmethod"]) == ("add", "get")
    added = parsed(reader.get("/", params=state | {"find_system": "hgx", "add": button["value"]}).text)
    assert list(systems(added)) == ["dgx-h100", "aws-p5", "a100-sxm-40gb"]
    assert added.select_one("#system-results button") is None
    more = parsed(reader.get("/", params=fields_of(added) | {"more": "aws-p5"}).text)
    assert systems(more)["aws-p5"] == "2"
    fewer = fields_of(more) | {"less": "dgx-h100"}
    assert systems(parsed(reader.get("/", params=fewer).text))["dgx-h100"] == "1"
    state = fields_of(more) | {"remove": "aws-p5"}
    left = parsed(reader.get("/", params=state).text)
    assert list(systems(left)) == ["dgx-h100", "a100-sxm-40gb"]
    # What the reader chose stays with another model; its counts are found anew.
    other = reader.get("/", params=fields_of(left) | {"find": "gpt3 175b"})
    link = parsed(other.text).select_one("#model-results a")["href"]
    large = systems(reader.page(link))
    assert list(large) == ["dgx-h100", "a100-sxm-40gb"] and int(large["dgx-h100"]) > 1


def test_counts_follow_what_is_trained_unless_they_were_typed(reader: Reader) -> None:
    """In 90 days, ten times the tokens need ten times the machines, where nobody chose their number."""
    state = fields_of(reader.page("/?model.preset=gpt3-175b"))
    first = {name: int(count) for name, count in systems(reader.page("/?model.preset=gpt3-175b")).items()}
    assert first["dgx-h100"] > 8
    more = state | {"workload.tokens": "3T", "count.aws-p5": "7"}
    counts = systems(parsed(reader.get("/", params=more).text))
    assert counts["aws-p5"] == "7" and int(counts["dgx-h100"]) > 5 * first["dgx-h100"]
    made = reader.submit("/", more).headers["location"]
    options = reader.data(f"{made}.json")["content"]["options"]
    assert [one["system"]["count"] for one in options] == [int(counts["dgx-h100"]), 7]


def test_a_study_of_a_preset_starts_with_the_fewest_machines_on_sale(reader: Reader) -> None:
    found = reader.data("/index.json?model.preset=gpt3-175b")["suggested"]["systems"]
    shelf = {one["id"]: one for one in reader.data("/index.json")["systems"]}
    assert all("used market" not in shelf[name]["availability"] for name in found)


@pytest.mark.parametrize(
    "query",
    [
        "system=zzz&count.zzz=3",
        "system=ipu-pod4&count.ipu-pod4=x&less=ipu-pod4",
        "suggested=x",
        "workload.tokens=1e400",
        "workload.kind=lora&workload.lora_modules=zz",
        "add=nothing&remove=nothing&length=x",
    ],
)
def test_an_address_that_makes_no_sense_still_shows_the_form(reader: Reader, query: str) -> None:
    assert reader.page(f"/?model.preset=bert-large&{query}").select_one("#compare") is not None
    assert reader.get(f"/index.json?model.preset=bert-large&{query}").status_code == 200


def test_enter_in_the_search_for_systems_searches(reader: Reader) -> None:
    response = reader.submit("/", ASKED | {"find_system": "bow"})
    assert response.status_code == 303 and response.headers["location"].startswith("/?")
    page = reader.page(response.headers["location"])
    assert "Bow Pod16" in page.select_one("#system-results").get_text()
    assert list(systems(page)) == ASKED["system"]


def test_at_most_eight_systems(reader: Reader) -> None:
    every = [one["id"] for one in reader.data("/index.json")["systems"]]
    page = parsed(reader.get("/", params={"model.preset": "resnet50", "system": every}).text)
    assert len(systems(page)) == 8 and page.select_one("#find_system") is None
    assert reader.submit("/", ASKED | {"system": every[:9]}).status_code == 400


def test_favourites_stand_first_in_the_search(reader: Reader) -> None:
    marked = reader.get("/?model.preset=bert-large&star=lambda-8xa100")
    cookie = marked.headers["set-cookie"].partition(";")[0]
    page = reader.get("/choices?find_system=", headers={"cookie": cookie})
    assert parsed(page.text).select_one(".found button")["value"] == "lambda-8xa100"
    left = reader.get("/?model.preset=bert-large&unstar=lambda-8xa100", headers={"cookie": cookie})
    assert "lambda" not in left.headers["set-cookie"].partition(";")[0]
    assert reader.get("/?star=nothing").headers["set-cookie"].startswith("rackline_favourites_ws_local=")


def test_no_server_is_named_like_its_chip(reader: Reader) -> None:
    data = reader.data("/index.json")
    chips = {one["name"] for one in reader.data("/catalog/chips.json")}
    assert chips.isdisjoint(one["name"] for one in data["systems"])


def test_qwen2_goes_from_its_config_to_a_study(reader: Reader) -> None:
    address = uploaded(reader, QWEN2_7B)
    page = reader.page(address)
    assert page.select_one("#workload-seq_len")["value"] == "4,096"
    assert "20 per parameter" in page.select_one("#filled").get_text()
    assert page.select_one("button[name=length]")["value"] == "131072"
    longer = parsed(reader.get("/", params=fields_of(page) | {"length": "131072"}).text)
    assert longer.select_one("#workload-seq_len")["value"] == "131072"
    made = reader.submit("/", fields_of(page))
    assert made.status_code == 303, made.text
    data = reader.data(f"{made.headers['location']}.json")
    assert data["content"]["name"] == "qwen2"
    estimates = [option["estimate"] for option in data["options"]]
    assert all(one["model"]["parameters"] == pytest.approx(7_615_616_512, rel=1e-3) for one in estimates)
    assert all(one["fits"] for one in estimates)


def test_a_file_that_cannot_be_read_is_refused_beside_its_field(reader: Reader) -> None:
    for files in ({"model_file": ("notes.json", b"{", "text/plain")}, {"model_file": ("", b"")}):
        response = reader.submit("/model-file", {"x": "y"}, files)
        assert response.status_code in {400, 422}
        assert parsed(response.text).select_one("#model-file-error-1") is not None


def test_a_sample_of_the_data_sets_the_mean_length(reader: Reader) -> None:
    lines = "\n".join(json.dumps({"tokens": length}) for length in [100, 200, 300]).encode()
    asked = {"model.preset": "gpt2-124m", "workload.samples": "1e6", "system": "dgx-a100-640gb"}
    response = reader.submit("/", asked, {"workload_file": ("sample.jsonl", lines, "application/jsonl")})
    assert response.status_code == 303, response.text
    defaults = reader.data(f"{response.headers['location']}.json")["options"][0]["estimate"]["defaults"]
    assert any(one["field"] == "workload.mean_tokens" for one in defaults)
    broken = reader.submit("/", asked, {"workload_file": ("sample.jsonl", b'{"text": 1}', "text/plain")})
    assert parsed(broken.text).select_one("#workload-file-error-1") is not None
    wrong = asked | {"workload.samples": "few"}
    kept = reader.submit("/", wrong, {"workload_file": ("sample.jsonl", lines, "application/jsonl")})
    assert "sample.jsonl" in parsed(kept.text).select_one(".kept").get_text()


def test_every_field_has_a_label_and_every_default_is_shown_as_one(reader: Reader) -> None:
    page = reader.page("/?model.preset=bert-large")
    labelled = {label.get("for") for label in page.find_all("label")}
    for field in page.select("input:not([type=hidden]), select"):
        assert field.get("id") in labelled or field.find_parent("label"), field
    batch = page.find("input", id="workload-global_batch")
    assert batch["placeholder"] == "chosen with the plan" and not batch["value"]
    assert page.select_one("label[for='workload-global_batch'] .tag.default") is not None


def answered(reader: Reader, line: str, **fields: str) -> dict[str, Any]:
    """Return the study that a line leads to."""
    response = reader.get("/ask", params={"ask": line, **fields})
    assert response.status_code == 303, response.text
    assert response.headers["location"].startswith("/studies/stu_"), response.headers["location"]
    return reader.data(f"{response.headers['location']}.json")


def test_a_line_is_answered_and_its_address_can_be_shared(reader: Reader) -> None:
    line = "7B, 2T tokens, 60 days, ₩5bn: buy or rent?"
    study = answered(reader, line)
    content = study["content"]
    assert content["name"] == line and content["base"]["currency"] == "KRW"
    assert content["limits"]["deadline_s"] == 60 * 86_400 and content["limits"]["budget"] == 5e9
    assert content["base"]["workload"]["tokens"] == 2e12
    assert study["decision"]["recommended"] is not None
    assert answered(reader, line)["id"] == study["id"]


@pytest.mark.parametrize(
    ("line", "rented"),
    [
        ("7B, 2T tokens, 60 days, buy", {False}),
        ("7B, 2T tokens, 60 days, rent for one run", {True}),
        ("7B, 2T tokens, 60 days, buy or rent?", {True, False}),
    ],
)
def test_what_is_asked_about_alone_is_suggested_alone(reader: Reader, line: str, rented: set[bool]) -> None:
    options = answered(reader, line)["content"]["options"]
    systems = {one["system"]["id"]: one["system"]["count"] for one in options}
    assert {name.startswith(("aws-", "azure-", "gcp-")) for name in systems} == rented


def test_a_line_names_systems_with_their_counts(reader: Reader) -> None:
    options = answered(reader, "BERT 3 DGX A100 vs Bow Pod64")["content"]["options"]
    named = [(one["system"]["id"], one["system"]["count"]) for one in options]
    assert named[0] == ("dgx-a100-640gb", 3) and named[1][0] == "bow-pod64"


def test_fields_beside_the_line_go_first(reader: Reader) -> None:
    fields = {"deadline": "30", "budget": "4m", "currency": "EUR", "demand": "runs_per_year=10"}
    content = answered(reader, "7B 1T tokens 60 days", **fields)["content"]
    assert content["limits"]["deadline_s"] == 30 * 86_400 and content["limits"]["budget"] == 4e6
    assert content["base"]["currency"] == "EUR"
    assert content["base"]["assumptions"]["demand"]["runs_per_year"] == 10


def test_the_search_among_systems_is_a_door_of_the_same_question(reader: Reader) -> None:
    response = reader.get("/ask", params={"ask": "BERT-Large 10 days", "view": "systems"})
    assert response.status_code == 303 and response.headers["location"].endswith("/systems")


def test_what_is_not_understood_is_said_and_kept(reader: Reader) -> None:
    line = "frobnicate BERT-Large in 3 days"
    response = reader.get("/ask", params={"ask": line})
    assert response.status_code == 303 and response.headers["location"].startswith("/?")
    page = reader.page(response.headers["location"])
    assert page.select_one("#ask")["value"] == line
    assert "frobnicate" in page.select_one(".not-understood").get_text()
    assert page.select_one("#deadline")["value"] == "3" and page.select_one("#compare") is not None
    anyway = page.select_one(".not-understood a")["href"]
    assert reader.get(anyway).headers["location"].startswith("/studies/")


def test_a_line_without_a_model_asks_for_one(reader: Reader) -> None:
    response = reader.get("/ask", params={"ask": "60 days, $2M"})
    page = reader.page(response.headers["location"])
    assert page.select_one(".chip.missing") is not None and page.select_one("#compare") is None
    assert reader.get("/ask").status_code == 303


def test_what_is_typed_is_shown_as_it_is_understood(reader: Reader) -> None:
    page = reader.page("/choices?ask=llama 3.1 8b LoRA 50M tokens")
    assert len(page.select(".chip")) == 3
    assert reader.page("/choices?ask=").select(".chip") == []


def test_the_first_page_proves_itself_and_shows_the_newest_studies(reader: Reader) -> None:
    answered(reader, "BERT-Large on dgx h100 vs bow pod16")
    page = reader.page("/")
    rows = page.select("#proof tbody tr")
    assert len(rows) >= 3 and "GPT-3" in rows[0].get_text()
    assert page.select_one(".recent li a")["href"].startswith("/studies/")
    assert [door.name for door in page.select(".door")] == ["a", "button", "a"]
    for field in ("deadline", "budget", "currency", "demand"):
        assert page.select_one(f"#question [name={field}]") is not None


def test_the_training_of_a_model_is_filled_in(reader: Reader) -> None:
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


def test_what_is_typed_takes_the_place_of_the_training_that_was_filled_in(reader: Reader) -> None:
    asked = {"model.preset": "bert-large", "filled": "bert-large", "system": "dgx-a100-640gb"}
    typed = asked | {"workload.target": "mlperf-bert", "workload.seq_len": "512", "workload.samples": "5,000"}
    response = reader.submit("/", typed)
    assert response.status_code == 303, response.text
    (option,) = reader.data(f"{response.headers['location']}.json")["options"]
    assert option["estimate"]["samples"] == 5000


def test_a_date_that_ends_with_a_stop_ends_its_sentence(reader: Reader, korean: Reader) -> None:
    for one, date in ((reader, "Jul 18, 2023."), (korean, "2023. 7. 18.")):
        filled = one.page("/?model.preset=llama2-7b").select_one("#filled")
        assert filled is not None and f"{date} " in filled.get_text()


def test_the_page_is_korean(korean: Reader) -> None:
    for path in ("/", "/?find=", "/?ask=7B 3 days foo", "/?ask=3 days", "/choices?ask=7B once foo",
                 "/?find=7b", "/?find=a/b", "/?find=zzz", "/?model.preset=llama2-7b&find_system=a100",
                 "/choices?find_system=zzz"):  # fmt: skip
        assert list(sentences(korean.page(path))) == [], path
