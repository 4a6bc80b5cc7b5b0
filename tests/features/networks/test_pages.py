"""The view of networks of a study: the advice first, errors beside their fields, and the switches below."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from bs4 import BeautifulSoup

from app.platform.web.examples import RESNET
from tests.support.application import Reader, narrowed

RUNS = {"runs-hdr-infiniband-8": "1003, 998, 999", "runs-roce-100-8": "985, 990, 980"}

TWENTY = {"nodes": "20", "ports_per_node": "8", "port_gbps": "200", "switch_ports": "40"}


def made(reader: Reader, *systems: dict[str, Any], model: str = "gpt2-355m") -> str:
    """Keep a study of a model on systems; return the address of its networks."""
    workload = {"samples": 1e8, "global_batch": 512, "seq_len": 1024, "precision": "bf16"}
    body = {
        "name": "GPT-2",
        "base": {"model": {"preset": model}, "workload": workload},
        "options": [{"system": system} for system in systems],
    }
    answer = reader.ask("POST", "/api/v1/studies", json=body)
    assert answer.status_code == 201, answer.text
    return f"/studies/{answer.json()['id']}/network"


@pytest.fixture(scope="module")
def path(reader: Reader) -> str:
    return made(reader, {"id": "dgx-a100-640gb", "count": 2})


@pytest.fixture(scope="module")
def usual(reader: Reader, path: str) -> BeautifulSoup:
    return reader.page(path)


def first(page: BeautifulSoup) -> str:
    found = page.select_one("#advice .answer-first")
    assert found is not None
    return found.get_text(strip=True)


def test_the_first_line_is_the_advice_of_the_twin(reader: Reader, path: str, usual: BeautifulSoup) -> None:
    data = reader.data(f"{path}.json")
    # Money is written shorter on the page; everything before it is word for word the same.
    assert first(usual).split(" saves ")[0] == data["advice"]["sentence"]["message"].split(" saves ")[0]
    rows = [row["id"] for row in usual.select("#networks tbody tr")]
    assert rows == [one["id"] for one in data["options"]]
    best = usual.select_one("#networks tr.best")
    assert best is not None and best["id"] == data["advice"]["recommendation"]
    assert len(usual.select("#rungs tbody tr")) == len(data["turning"]["rungs"])
    assert {row.th.get_text() for row in usual.select("#rungs tr.chosen")} == {data["turning"]["turns_at"]}


def test_measured_runs_stand_beside_what_was_predicted(reader: Reader, path: str) -> None:
    page = narrowed(reader, f"{path}?{urlencode(RUNS)}")
    assert "1.5 %" in first(page) and "16" in first(page)
    cells = [
        [cell.get_text(" ", strip=True) for cell in row.select("td")]
        for row in page.select("#measured tbody tr")
    ]
    assert [row[0] for row in cells] == ["985 samples/s", "1,000 samples/s"]
    assert [row[1] for row in cells] == ["5", "2.65"]
    assert page.select("#fitted tbody tr")
    assert [row.td.get_text() for row in page.select("#not-bought tbody tr")] == ["1", "16"]
    assert page.select_one("#not-bought a[href^='/catalog/sources/']") is not None
    assert page.find(id="runs-roce-100-8")["value"] == RUNS["runs-roce-100-8"]


def test_a_network_is_taken_over_into_the_option(reader: Reader, path: str, usual: BeautifulSoup) -> None:
    own = usual.find(id="hdr-infiniband-8")
    assert own.find(string="this option") is not None and own.select_one("a.under") is None
    link = str(usual.select_one("#roce-200-4 a.under")["href"])
    asked = parse_qs(urlsplit(link).query)
    assert (asked["fabric.a"], asked["ports.a"]) == (["roce-200"], ["4"])
    study = reader.get(link)
    while study.status_code == 303:
        study = reader.get(str(study.headers["location"]))
    page = BeautifulSoup(study.text, "lxml")
    changed = page.find(id="changes").get_text()
    assert "RoCE, 200 Gb/s" in changed and "ports per node" in changed.lower()
    state = str(page.select_one(".tabs a")["href"]).partition("?")[2]
    again = reader.page(f"{path}?{state}")
    assert again.find(id="roce-200-4").find(string="this option") is not None
    # The switches are those of the recommended network, which stays the same.
    best = again.select_one("#networks tr.best")
    assert best["id"] == usual.select_one("#networks tr.best")["id"]
    assert best["id"].endswith(f"-{again.find('input', id='ports_per_node')['value']}")


def test_terms_are_kept_in_the_state(reader: Reader, path: str) -> None:
    query = {"threshold": "0.1", "oversubscription": "2", "options": "hdr-infiniband-8,roce-100-4-4to1"}
    page = narrowed(reader, f"{path}?{urlencode(query)}")
    assert [row["id"] for row in page.select("#networks tbody tr")] == ["roce-100-4-4to1", "hdr-infiniband-8"]
    assert page.select_one("#oversubscription option[selected]")["value"] == "2"
    assert page.select_one("input[name=options][type=hidden]")["value"] == query["options"]
    data = reader.data(f"{path}.json?{urlencode(query)}")
    assert data["threshold"] == pytest.approx(0.001)
    assert data["options"][0]["oversubscription"] == 4


def test_empty_fields_leave_no_trace_in_the_address(reader: Reader, path: str) -> None:
    sent = reader.get(f"{path}?threshold=5&reference=&runs-roce-100-8=&oversubscription=1")
    assert sent.status_code == 303 and sent.headers["location"] == path


@pytest.mark.parametrize(
    ("name", "text", "status", "words"),
    [
        ("threshold", "-5", 400, "at least 0"),
        ("threshold", "much", 422, "percentage"),
        ("oversubscription", "0", 400, "at least 1"),
        ("reference", "carrier-pigeon-1", 404, "carrier-pigeon-1"),
        ("installed", "carrier-pigeon-1", 404, "carrier-pigeon-1"),
        ("runs-roce-100-8", "fast", 422, "number"),
        ("runs-roce-100-8", "985,990,980", 422, "985, 990, 980"),
        ("runs-roce-100-8", "0", 400, "at least"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    reader: Reader, path: str, name: str, text: str, status: int, words: str
) -> None:
    page = reader.page(f"{path}?{urlencode({name: text})}", status)
    field = page.find(id=name)
    assert field is not None and field["aria-invalid"] == "true"
    error = page.find(id=field["aria-describedby"])
    assert error is not None and words in error.get_text()
    assert "outdated-part" in page.find(id="advice")["class"]


@pytest.mark.parametrize(
    ("query", "status"), [("options=nothing", 400), ("options=roce-100-1", 400), ("runs-nobody=1", 404)]
)
def test_what_the_form_does_not_show_is_refused_too(
    reader: Reader, path: str, query: str, status: int
) -> None:
    assert reader.page(f"{path}?{query}", status).select_one('[role="alert"]') is not None
    assert reader.get(f"{path}.json?{query}").status_code == status


def test_pods_and_clouds_have_no_network_to_choose(reader: Reader) -> None:
    path = made(reader, {"id": "bow-pod16"}, {"id": "aws-p4d"}, model="bert-large")
    page = reader.page(path)
    assert page.select_one("#study .notice") is not None
    assert page.select_one('main form[method="get"]') is None
    assert reader.get(f"{path}.json").status_code == 404
    beside = reader.page(
        made(reader, {"id": "bow-pod16"}, {"id": "dgx-a100-640gb", "count": 2}, model="bert-large")
    )
    assert "Bow Pod16" in beside.find(id="built-in").get_text()
    assert beside.select("#networks tbody tr")


def test_a_bare_figure_has_switches_but_no_choice(reader: Reader) -> None:
    body = {
        "name": "Bare",
        "base": {"model": {"total_flop": 3.14e23}},
        "options": [{"system": {"id": "dgx-a100-640gb", "count": 20}}],
    }
    bare = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    page = reader.page(f"/studies/{bare}/network")
    assert page.select_one("[role=alert]") is not None
    assert headline(page)["Switches"] == "12"


def fabric(page: BeautifulSoup) -> dict[str, str]:
    return {
        str(row.th.find(string=True)): row.td.get_text(strip=True)
        for row in page.select("#fabric tr")
        if row.th
    }


def headline(page: BeautifulSoup) -> dict[str, str]:
    return {
        one.dt.get_text(strip=True): one.dd.get_text(" ", strip=True)
        for one in page.select("#result .headline > div")
    }


def test_switches_start_from_the_machines_of_the_option(reader: Reader) -> None:
    path = made(reader, {"id": "dgx-a100-640gb", "count": 20})
    page = reader.page(path)
    fields = {
        one["name"]: one["value"] for one in page.select('form[action*="/switches"] input:not([type=hidden])')
    }
    data = reader.data(f"{path}.json")
    taken = next(one for one in data["options"] if one["id"] == data["decision"]["recommended"])
    ports = str(taken["ports_per_node"])
    assert fields == {**TWENTY, "ports_per_node": ports, "oversubscription": "1", "declared_switches": ""}
    assert headline(page)["Switches"] == str(taken["network"]["switches"])


def test_fourteen_switches_are_asked_about(reader: Reader, path: str) -> None:
    study = path.removesuffix("/network")
    query = urlencode({**TWENTY, "declared_switches": "14"})
    page = narrowed(reader, f"{study}/switches?{query}")
    found = fabric(page)
    assert (found["Leaf switches"], found["Spine switches, minimum"]) == ("8", "4")
    assert headline(page)["Switches"] == "12"
    assert headline(page)["Line rate per node"] == "1.6 Tb/s"
    assert page.select_one('[data-code="switches_beyond_network"]') is not None
    data = reader.data(f"{study}/switches.json?{query}")
    assert (data["switches"], data["declared_switches"]) == (12, 14)


def test_refused_switches_stand_beside_their_field_and_the_previous_result_stays(
    reader: Reader, path: str, usual: BeautifulSoup
) -> None:
    study = path.removesuffix("/network")
    page = reader.page(f"{study}/switches?{urlencode({**TWENTY, 'switch_ports': '1'})}", status=400)
    assert page.find(id="switch_ports-error-1") is not None
    assert "stale" in page.find(id="result")["class"]
    assert fabric(page) == fabric(usual)
    assert page.find(id="switch_ports")["value"] == "1"
    assert first(page) == first(usual)


def test_drawings_can_be_had_as_files(reader: Reader, path: str) -> None:
    page = reader.page(path)
    files = {link.get_text(): link["href"] for link in page.select("figure.drawn a[download]")}
    assert set(files) == {"SVG", "PNG"}
    drawn, picture = reader.get(files["SVG"]), reader.get(files["PNG"])
    assert drawn.headers["content-type"] == "image/svg+xml" and drawn.content.startswith(b"<svg")
    assert picture.content.startswith(b"\x89PNG")
    assert reader.get(f"{path}?chart=topology.csv").status_code == 404


def test_an_estimate_leads_to_its_networks(reader: Reader) -> None:
    system = {"id": "dgx-a100-640gb", "count": 2}
    kept = reader.ask("POST", "/api/v1/estimates", json={**RESNET, "system": system}).json()["id"]
    link = reader.page(f"/estimates/{kept}").select_one('#plan-title a[href$="view=network"]')
    assert link is not None
    place = reader.landed(str(link["href"]))
    assert place.endswith("/network")
    page = reader.page(place)
    assert [one.get_text() for one in page.select("h1")] == [reader.data(f"/estimates/{kept}.json")["name"]]


def test_a_choice_leads_to_a_proposal(reader: Reader) -> None:
    path = made(reader, {"id": "dgx-a100-640gb", "count": 2})
    page = narrowed(reader, f"{path}?{urlencode(RUNS)}")
    link = page.select_one('.next-steps a[href*="/proposal?"]')
    assert link.get_text() == "Create proposal: 8 × RoCE, 100 Gb/s"
    form = reader.page(str(link["href"])).find("form", class_="proposal-form")
    assert form.select_one("#network_of option[selected][value]")["value"] == "a"
    fields = {"customer": "TEN", "locale": "en", "currency": "USD", "network_of": "a"}
    kept = reader.submit(str(form["action"]), fields)
    assert kept.status_code == 303, kept.text
    text = reader.page(str(kept.headers["location"])).get_text()
    assert "985" in text and "Not recommended" in text
    content = reader.data(f"{kept.headers['location']}.json")["content"]
    (row,) = content["comparison"]["rows"]
    assert row["estimate"]["system"]["fabric"] == "roce-100", "what is refused is not sold"
    assert [one["label"] for one in content["advice"]["avoid"]] == ["8 × HDR InfiniBand, 200 Gb/s"]
    assert "refused_network_recommended" not in str(content["warnings"])
