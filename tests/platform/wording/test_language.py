from __future__ import annotations

import re

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.web.examples import (
    ACCELERATOR,
    BOOK,
    CALIBRATION,
    FABRIC_GAIN,
    PRICE_BOOK,
    STUDY,
)
from app.platform.wording import voice
from tests.support.application import ENGLISH, Reader, sentences
from tests.support.jobs import do_all
from tests.support.sweeping import Threads
from tests.support.views import ARTICLE, JOBS, MAPPED, SWITCHES, VIEWS
from tools import translations as keys

PLACES = re.compile(r"\{(\w+)\}|%\((\w+)\)s")


SUSPECT = {
    **CALIBRATION,
    "label": "BERT",
    "runs": [{"samples_per_s": speed, "system": {"count": 1}} for speed in (300, 900)],
}
"""A calibration with as many warnings as there can be."""

SWEPT = {
    **PRICE_BOOK,
    "title": "BERT",
    "systems": [*PRICE_BOOK["systems"], {"id": "dgx-a100-640gb", "count": 0}],
}
"""A sweep with points that are refused."""


def korean_catalog() -> Catalog:
    with (voice.folder() / "ko" / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale="ko")


def test_every_key_is_translated() -> None:
    known = {message.id for message in korean_catalog() if message.id and message.string}
    assert sorted(keys.every() - known) == []


@pytest.mark.parametrize("term", voice.terms(), ids=lambda term: str(term["english"]))
def test_one_thing_has_one_name(term: dict[str, str]) -> None:
    """Names of values stand for what is filled in; a longer term of the list is another thing."""
    longer = [one["english"] for one in voice.terms() if term["english"] in one["english"] and one != term]
    for message in korean_catalog():
        texts = (message.id, message.string)
        if not message.id or not all(isinstance(text, str) for text in texts):
            continue
        english, korean = (re.sub(r"\{\w+\}|%\(\w+\)s", "", str(text)) for text in texts)
        for other in longer:
            english = re.sub(other, "", english, flags=re.IGNORECASE)
        if re.search(rf"\b{term['english']}\b", english, re.IGNORECASE):
            assert term["ko"] in korean, english
            assert not any(word in korean for word in term["not"].split()), english


def test_no_message_calls_a_thing_by_another_name() -> None:
    own = {term["ko"] for term in voice.terms()}
    others = {word for term in voice.terms() for word in term["not"].split()} - own
    texts = [str(message.string) for message in korean_catalog() if message.id]
    assert others and [text for text in texts if any(word in text for word in others)] == []


def test_no_translation_is_left_over() -> None:
    known = {message.id for message in korean_catalog() if message.id}
    assert sorted(known - keys.every()) == []


def test_translations_keep_the_places_of_their_values() -> None:
    for message in korean_catalog():
        if message.id:
            assert set(PLACES.findall(str(message.id))) == set(PLACES.findall(str(message.string))), (
                message.id
            )


def test_templates_hold_no_bare_percent_sign() -> None:
    assert [key for key in keys.of_templates() if "%" in PLACES.sub("", key)] == []


def test_korean_pages_are_korean(korean: Reader, app: FastAPI) -> None:
    comparison, claim = korean.example("bert-large"), korean.example("vendor-claim")
    small = korean.example("gpt3-175b")
    estimates = [row["estimate"]["id"] for row in korean.data(f"{comparison}.json")["rows"]]
    unfit = korean.data(f"{small}.json")["rows"][1]["estimate"]["id"]
    scaling = str(korean.page(comparison).select_one("#scaling")["hx-get"])
    addresses = ["/", comparison, scaling, claim, small, "/catalog"]
    addresses += [korean.view(name) for name in VIEWS]
    addresses += [f"/estimates/{identifier}" for identifier in [*estimates, unfit]]
    made = korean.ask("POST", "/api/v1/calibrations", json=SUSPECT).json()
    swept = korean.ask("POST", "/api/v1/sweeps", json=SWEPT).json()
    do_all(app.state.installation, Threads)
    in_study = korean.get(f"/sweeps/{swept['id']}").headers["location"]
    addresses += [in_study, in_study.rpartition("/")[0]]
    addresses.append(f"/calibrations/{made['id']}")
    limited = korean.study({"id": "dgx-a100-640gb"})
    few = f"{limited}/systems?system=dgx-a100-640gb&system=bow-pod16"
    addresses += [f"{korean.landed(one)}&run=wait" for one in (few, f"{few}&deadline=1e-4&budget=1")]
    addresses.append(korean.view("queues", {**JOBS, "count": "2", "failures": "true"}))
    teams = {"requests.0.devices": "2", "requests.1.devices": "1"}
    addresses.append(korean.view("partitions", {**teams, "orchestrator": "gc-docker"}))
    sliced = {"system": "dgx-a100-640gb", "requests.0.devices": "2", "requests.0.slice": "1g.10gb"}
    addresses.append(korean.view("partitions", sliced))
    addresses += [
        "/catalog/chips",
        "/catalog/systems",
        "/catalog/chips/a100-sxm-80gb",
        "/catalog/systems/ipu-pod64",
        "/accuracy",
        "/accuracy?family=all&errors=software_unknown",
        "/accuracy?family=waveglow",
    ]
    many = {"nodes": "140", "ports_per_node": "8", "port_gbps": "200", "switch_ports": "40"}
    addresses.append(korean.view("switches", many))
    pod = korean.study(
        {"id": "ipu-pod64"}, {"id": "dgx-a100-640gb", "count": 140, "fabric": "ndr-infiniband"}
    )
    addresses += [f"{pod}/bill", f"{pod}/bill?option=b", f"{pod}/bill?other=b"]
    for address in addresses:
        assert untold(korean.page(korean.landed(address))) == [], address


NAMES = re.compile(r"[a-z]{2,4}_[a-z0-9]{6,}|(?<=/catalog/)[a-z]+/.+|(?<=/claims/).+|(?<=/docs/).+")
"""What in an address names one thing of a kind."""

ENGLISH_ALONE = {"/methodology", "/accuracy/report"}
"""Documents that are written in English and say so."""

FILE = re.compile(r"\.(?:json|csv|xlsx|pdf|svg|png)(?:\?|$)")

KEPT = re.compile(r"가능한 값: .*|\(scaling efficiency\)|Double binary tree of NCCL")
"""Identifiers that a refusal lists, names of the catalogue, and terms in English beside the Korean ones."""

OF_A_KIND = 2
"""Pages of one kind that are read. [-]"""


def kind_of(address: str) -> str:
    """Return what the addresses of pages of one kind have in common."""
    path = address.partition("?")[0]
    return NAMES.sub("…", path) + ("?" if "?" in address else "")


def made_for_the_walk(korean: Reader) -> list[str]:
    """Make one of everything that has a page, and return the addresses."""

    def made(kind: str, body: dict[str, object]) -> str:
        answered = korean.ask("POST", f"/api/v1/{kind}", json=body)
        assert answered.is_success, answered.text
        return str(answered.json()["id"])

    comparison = korean.example("bert-large")
    rows = korean.data(f"{comparison}.json")["rows"]
    estimate = next(row["estimate"]["id"] for row in rows if row["estimate"])
    asked = {"comparison_id": comparison.rpartition("/")[2], "customer": "하이퍼커넥트"}
    named = {"calibration_id": made("calibrations", FABRIC_GAIN)}
    draft, frozen = (made("proposals", {**asked, **named}) for _ in range(2))
    korean.ask("POST", f"/api/v1/proposals/{frozen}/freeze")
    shared = korean.ask("POST", f"/api/v1/proposals/{frozen}/share", json={}).json()["url"]
    return [
        *("/", comparison, shared),
        *(f"/estimates/{estimate}", f"/estimates/{estimate}/study", f"/estimates/{estimate}/costs"),
        *(f"/proposals/{draft}", f"/proposals/{frozen}", f"/proposals/{draft}/replay"),
        f"/calibrations/{made('calibrations', {**CALIBRATION, 'label': 'BERT'})}",
        f"/price-books/{made('price-books', BOOK)}",
        f"/accelerators/{made('accelerators', ACCELERATOR)}",
        f"/studies/{made('studies', STUDY)}",
    ]


def test_every_page_that_a_link_leads_to_is_korean(korean: Reader) -> None:
    """Walk from page to page, a few of every kind, and read what each says."""
    waiting, seen = made_for_the_walk(korean), dict[str, int]()
    leaks: dict[str, list[str]] = {}
    while waiting:
        address = waiting.pop(0)
        if seen.get(kind_of(address), 0) >= OF_A_KIND:
            continue
        seen[kind_of(address)] = seen.get(kind_of(address), 0) + 1
        answered = korean.get(address)
        if not answered.headers.get("content-type", "").startswith("text/html"):
            continue
        assert answered.status_code in (200, 303), (address, answered.status_code)
        page = BeautifulSoup(answered.text, "lxml")
        if said := [one for one in sentences(page) if ENGLISH.search(KEPT.sub("", one))]:
            leaks[address] = said
        links = [link["href"].partition("#")[0] for link in page.select("a[href^='/']")]
        waiting += [
            link
            for link in dict.fromkeys(links)
            if "lang=" not in link
            and "chart=" not in link
            and link not in ENGLISH_ALONE
            # A file says nothing to be read here, and that of a search takes as long as the search.
            and not FILE.search(link)
        ]
    assert leaks == {}, "\n".join(f"{where}: {said}" for where, said in leaks.items())
    assert len(seen) > 40


@pytest.mark.parametrize(
    ("method", "address", "fields", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/comparisons/cmp_nothing", {}, 404),
        ("GET", "/proposals/prp_nothing", {}, 404),
        ("GET", "/s/nothing", {}, 404),
        ("PUT", "/studies", {}, 405),
        ("GET", "/accuracy?family=nothing", {}, 400),
        ("POST", "/", {"system": "ipu-pod16"}, 422),
    ],
)
def test_every_refusal_is_told_in_korean(
    korean: Reader, method: str, address: str, fields: dict[str, str], status: int
) -> None:
    answered = korean.arrive(address) if method == "GET" else korean.ask(method, address, data=fields)
    assert 400 <= answered.status_code < 500, (answered.status_code, status)
    assert untold(BeautifulSoup(answered.text, "lxml")) == []


@pytest.mark.parametrize(
    ("view", "fields", "status"),
    [
        ("rent", {**ARTICLE, "cloud_monthly": "-5"}, 400),
        ("queues", {**JOBS, "days": "many"}, 422),
        ("partitions", {"requests.0.devices": "12", "orchestrator": "none"}, 409),
        ("switches", {**SWITCHES, "nodes": "0"}, 400),
        ("mapping", {**MAPPED, "replicas": "5"}, 409),
    ],
)
def test_every_refusal_of_a_view_is_told_in_korean(
    korean: Reader, view: str, fields: dict[str, str], status: int
) -> None:
    answered = korean.arrive(korean.view(view, fields))
    assert answered.status_code == status
    assert untold(BeautifulSoup(answered.text, "lxml")) == []


def untold(page: BeautifulSoup) -> list[str]:
    """Return what a Korean page says in English."""
    assert page.html is not None and page.html["lang"] == "ko"
    left = [KEPT.sub("", said) for said in sentences(page)]
    return [said for said in left if ENGLISH.search(said)]


def test_problem_is_told_in_korean(korean: Reader) -> None:
    page = korean.page("/catalog/systems/dgx-a100", status=404)
    assert page.h1.get_text() == "찾을 수 없음"
    assert re.search("비슷한 이름: .*dgx-a100-640gb", page.get_text())


def test_form_errors_are_told_in_korean(korean: Reader) -> None:
    page = BeautifulSoup(korean.submit("/", {"system": "ipu-pod16"}).text, "lxml")
    assert page.select_one("#model-error-1").get_text() == "프리셋을 고르거나 모델을 업로드하세요"


@pytest.mark.parametrize(
    ("headers", "path", "language"),
    [
        ({"accept-language": "en-US,en;q=0.9"}, "/catalog", "en"),
        ({"accept-language": "ko-KR"}, "/catalog", "ko"),
        ({"accept-language": "fr, en;q=0.3"}, "/catalog", "en"),
        ({"accept-language": "fr"}, "/catalog", "ko"),
        ({"accept-language": "en"}, "/catalog?lang=ko", "ko"),
        ({"accept-language": "en"}, "/catalog?lang=xx", "en"),
        ({"accept-language": "ko", "cookie": "rackline_language=en"}, "/catalog", "en"),
        ({"accept-language": "", "cookie": "rackline_language=../x"}, "/catalog", "ko"),
    ],
)
def test_language_is_asked_for_remembered_or_the_browsers(
    reader: Reader, headers: dict[str, str], path: str, language: str
) -> None:
    response = reader.get(path, headers=headers)
    assert response.headers["content-language"] == language


def test_asked_for_language_is_remembered(reader: Reader) -> None:
    assert "rackline_language=ko" in reader.get("/catalog?lang=ko").headers["set-cookie"]
    assert "set-cookie" not in reader.get("/catalog").headers


def test_numbers_are_the_same_in_both_languages(reader: Reader, korean: Reader, claimed: str) -> None:
    def numbers(who: Reader) -> list[str]:
        return re.findall(r"\d+\.\d+", who.page(claimed).select_one("#options").get_text())

    assert numbers(reader) == numbers(korean)
    assert {"69.5", "5.3", "23.2", "1.8", "13.2"} <= set(numbers(reader))
