"""The first page: search, what is filled in, systems as rows, and the study that comes of it."""

from __future__ import annotations

import json
import time

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
    first = reader.page("/").select_one("#model-results .found a")
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
    assert list(systems(added)) == ["dgx-a100-640gb", "ipu-pod16", "a100-sxm-40gb"]
    assert added.select_one("#system-results button") is None
    more = parsed(reader.get("/", params=fields_of(added) | {"more": "ipu-pod16"}).text)
    assert systems(more)["ipu-pod16"] == "2"
    fewer = fields_of(more) | {"less": "dgx-a100-640gb"}
    assert systems(parsed(reader.get("/", params=fewer).text))["dgx-a100-640gb"] == "1"
    state = fields_of(more) | {"remove": "ipu-pod16"}
    left = parsed(reader.get("/", params=state).text)
    assert list(systems(left)) == ["dgx-a100-640gb", "a100-sxm-40gb"]
    # What the reader chose stays with another model; its counts are found anew.
    other = reader.get("/", params=fields_of(left) | {"find": "gpt3 175b"})
    link = parsed(other.text).select_one("#model-results a")["href"]
    large = systems(reader.page(link))
    assert list(large) == ["dgx-a100-640gb", "a100-sxm-40gb"] and int(large["dgx-a100-640gb"]) > 1


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


@pytest.mark.parametrize(
    "example", ["gpt3-175b", "bert-large", "resnet50", "newer-accelerators", "vendor-claim"]
)
def test_an_example_is_one_click_to_a_study(reader: Reader, example: str) -> None:
    made = reader.ask("POST", f"/examples/{example}")
    assert made.status_code == 303
    data = reader.data(f"{made.headers['location']}.json")
    assert len(data["options"]) >= 2
    if example == "newer-accelerators":
        assert all(one["time"] and one["estimate"]["energy"] for one in data["options"])
    if example == "vendor-claim":
        assert [one["kind"] for one in data["options"]] == ["vendor", "linear", "vendor"]
        assert data["content"]["options"][1]["figure"]["scaled_from"] == "a"
        assert data["options"][1]["time"]["value"] == pytest.approx(69.5 * 3600 / 3)


def test_unknown_example_offers_the_known_ones(reader: Reader) -> None:
    response = reader.ask("POST", "/examples/gpt4")
    assert response.status_code == 404 and "gpt3-175b" in response.text


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
    for path in ("/", "/?find=7b", "/?find=a/b", "/?find=zzz", "/?model.preset=llama2-7b&find_system=a100",
                 "/choices?find_system=zzz"):  # fmt: skip
        assert list(sentences(korean.page(path))) == [], path
