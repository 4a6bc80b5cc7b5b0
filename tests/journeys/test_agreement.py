"""Every journey ends in a proposal whose page, JSON, PDF, workbook and CSV agree on every number.

Before that the pages of the journeys are held against the data of the same address.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from bs4 import BeautifulSoup

from app.estimating.schema import Quantity
from app.features.proposals.model import Proposal
from app.main import create_app
from app.platform.web.examples import STUDY
from app.platform.wording.voice import voice
from app.settings import Settings
from tests.journeys.conftest import POD, TEAMS
from tests.support.application import Reader
from tests.support.renderings import Renderings, hold, hold_warnings, squeezed, text_of
from tests.support.views import PUBLISHED

DGX = "dgx-a100-640gb"

GPT2 = {
    "model": {"preset": "gpt2-355m"},
    "workload": {"samples": 1e8, "global_batch": 512, "seq_len": 1024, "precision": "bf16"},
    "system": {"id": DGX, "count": 2},
}

RUNS = {"infiniband": [1003, 998, 999], "roce": [985, 990, 980]}

NETWORKS = [
    {"fabric": "hdr-infiniband", "ports_per_node": 8, "label": "infiniband"},
    {"fabric": "roce-100", "ports_per_node": 8, "label": "roce"},
]

FLOP = {"model": {"total_flop": 3.14e23}, "currency": "KRW"}

BERT = {"model": {"preset": "bert-large"}, "workload": {"samples": 1e7, "seq_len": 128, "global_batch": 8192}}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(create_app(Settings.at(tmp_path_factory.mktemp("agreement"))))


def stored(reader: Reader, path: str, body: Any) -> Any:
    answered = reader.ask("POST", f"/api/v1{path}", json=body)
    assert answered.status_code in (200, 201), answered.text
    return answered.json()


def on_fabric(fabric: str) -> dict[str, Any]:
    return {**GPT2, "label": fabric, "system": {**GPT2["system"], "fabric": fabric, "ports_per_node": 8}}


def mapped(pipeline: int, data: int) -> dict[str, Any]:
    plan = {"tensor": 1, "pipeline": pipeline, "data": data}
    return {**BERT, "system": {"id": "ipu-pod16"}, "plan": plan, "label": f"p = {pipeline}"}


JOURNEYS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "J1": (
        [on_fabric("hdr-infiniband"), on_fabric("roce-100")],
        {"fabric_choice": {"estimate": GPT2, "options": NETWORKS, "reference": "roce", "measured": RUNS}},
    ),
    "J2": (
        [
            {**FLOP, "system": {"id": DGX, "count": 20}, "label": f"{share:.0%}", "assumptions": assumed}
            for share in (0.3, 0.5)
            for assumed in [{"utilization": share}]
        ],
        {"term_years": 3},
    ),
    "J3": ([mapped(4, 4), mapped(8, 2)], {}),
    "J4": (PUBLISHED, {"scaling_efficiency": 0.85}),
    "J5": ([{**BERT, "system": {"id": "bow-pod64"}}, {**BERT, "system": {"id": "bow-pod16"}}], {}),
    "J6": (PUBLISHED, {"valid_until": "2099-03-31", "recommended": "1 × IPU-POD64"}),
}


@pytest.fixture(scope="module", params=list(JOURNEYS))
def journey(request: pytest.FixtureRequest, reader: Reader) -> tuple[str, Proposal, Renderings]:
    """A frozen proposal of one journey, in Korean where its number is even, read back from its files."""
    name = str(request.param)
    rows, more = JOURNEYS[name]
    locale = "ko" if int(name[1]) % 2 == 0 else "en"
    body = {"title": name, "locale": locale, "currency": "KRW", "rows": rows}
    comparison = stored(reader, "/comparisons", body)
    asked = {"comparison_id": comparison["id"], "customer": "하이퍼커넥트", "locale": locale, **more}
    made = stored(reader, "/proposals", asked)
    address = f"/proposals/{made['id']}"
    stored(reader, f"{address}/freeze", None)
    document = reader.data(f"{address}.json")
    assert document == reader.data(f"/api/v1{address}.json") == reader.data(f"/api/v1{address}")
    page = reader.page(address).select_one("article.proposal")
    assert page is not None
    files = {kind: reader.get(f"{address}.{kind}").content for kind in ("pdf", "xlsx", "csv")}
    for kind, data in files.items():
        assert reader.get(f"/api/v1{address}.{kind}").content == data
    found = Renderings(
        document["content"], files["csv"].decode(), files["xlsx"], files["pdf"], page.get_text(" ")
    )
    return name, Proposal.model_validate(document), found


def test_every_number_is_the_same_in_every_rendering(journey: tuple[str, Proposal, Renderings]) -> None:
    _, made, found = journey
    assert hold(made, found) >= 5


def test_every_warning_is_told_everywhere(journey: tuple[str, Proposal, Renderings]) -> None:
    _, made, found = journey
    hold_warnings(made, found)


def test_infiniband_that_is_not_worth_it_stands_under_what_not_to_buy(
    journey: tuple[str, Proposal, Renderings],
) -> None:
    name, made, found = journey
    if name != "J1":
        assert made.content.evidence is None
        return
    assert made.content.evidence is not None
    (gain,) = made.content.evidence.gains
    assert gain.gain is not None and gain.gain.value == pytest.approx(1000 / 985 - 1)
    assert gain.money_saved is not None and gain.money_saved.value > 0
    assert made.content.advice.recommended == "roce-100"
    first = squeezed(text_of(found.paper)).partition("Billofmaterials")[2]
    against = squeezed(found.page).partition("Whatnottobuy")[2]
    for said in ("Not recommended", "1.5 %", "threshold of 5 %"):
        assert squeezed(said) in first
        assert squeezed(said) in against
    for mean in ("1,000samples/s", "985samples/s"):
        assert mean in squeezed(text_of(found.paper))


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d[\d,]*(?:\.\d+)?", text))


def test_a_partition_page_shows_what_its_data_says(reader: Reader) -> None:
    teams = {
        f"requests.{place}.{name}": str(team[name])
        for place, team in enumerate(TEAMS)
        for name in ("team", "devices")
    }
    address = reader.view("partitions", {"isolation": "strict", "orchestrator": "backend.ai", **teams})
    data, page = reader.data(address.replace("?", ".json?")), reader.page(address)
    assert data["allocated"] == stored(reader, "/partitions", POD)["allocated"] == 60
    assert page.select_one("#allocated").get_text() == str(data["allocated"])
    assert page.select_one("#free").get_text() == str(data["free"])
    for figure in data["figures"]:
        found = Quantity(**figure["quantity"])
        written = f"{found.value:,.0f}" if found.unit == "1" else voice("en").quantity(found)
        assert numbers(written) <= numbers(page.select_one("#figures").get_text(" ")), figure["name"]


def test_a_break_even_page_shows_what_its_data_and_the_api_say(reader: Reader) -> None:
    asked = {"currency": "KRW", "capex": 4.378e9, "onprem_monthly": 50e6, "cloud_monthly": 600e6}
    plain = {"discount_percent": "", "residual_percent": ""}
    address = reader.view("rent", plain | {name: str(value) for name, value in asked.items()})
    data, page = reader.data(address.replace("?", ".json?")), reader.page(address)
    told = stored(reader, "/breakevens", asked)
    assert data["months"] == told["months"]
    assert page.select_one("#months").get_text() == f"{told['months']:.1f}" == "8.0"
    shown = [row.select_one("th").get_text(" ", strip=True) for row in page.select("#tornado tbody tr")]
    labels = [voice("en").label(one["input"]) for one in told["tornado"]]
    assert len(shown) == len(labels) and shown[0].lower().startswith("cloud bill")


def test_a_claims_page_shows_the_hours_of_its_data(reader: Reader) -> None:
    data = reader.data("/claims.json?scaling_efficiency=0.85")
    page: BeautifulSoup = reader.page("/claims?scaling_efficiency=0.85")
    shown = page.select_one("#hours").get_text(" ")
    for one in data["hours"]:
        assert f"{one['hours']:.3g}" in shown, one["label"]


def test_no_journey_is_left_out() -> None:
    told = (Path(__file__).parent).glob("test_browser_j*.py")
    names = {name for path in told for name in re.findall(r"j\d", path.stem)}
    assert names == {name.lower() for name in JOURNEYS}


@dataclass(frozen=True)
class OneStudy:
    """A study, its comparison, the frozen proposal made of it and the bill of its first option."""

    study: dict[str, Any]
    comparison: dict[str, Any]
    proposal: dict[str, Any]
    bill: dict[str, Any]
    texts: dict[str, str]
    """Text of pages and files without white space, by name."""

    def options(self, key: str) -> list[dict[str, Any]]:
        """Return the estimate of an option wherever data has it."""
        place = [one["key"] for one in STUDY["options"]].index(key)
        return [
            next(one for one in self.study["options"] if one["key"] == key)["estimate"],
            self.comparison["rows"][place]["estimate"],
            self.proposal["content"]["comparison"]["rows"][place]["estimate"],
        ]


def sheet_text(data: bytes) -> str:
    book = openpyxl.load_workbook(io.BytesIO(data))
    cells = (cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row)
    return " ".join(str(cell) for cell in cells if cell is not None)


@pytest.fixture(scope="module")
def one_study(reader: Reader) -> OneStudy:
    made = stored(reader, "/studies", STUDY)
    comparison = stored(reader, f"/studies/{made['id']}/comparison", {"title": "One study", "locale": "en"})
    asked = {"comparison_id": comparison["id"], "customer": "Lab", "locale": "en", "currency": "KRW"}
    proposal = stored(reader, "/proposals", asked)
    stored(reader, f"/proposals/{proposal['id']}/freeze", None)
    request = {"system": "dgx-a100-640gb", "count": 2, "fabric": "hdr-infiniband", "currency": "KRW"}
    bill = stored(reader, "/boms", request)
    pages = {
        "study": f"/studies/{made['id']}",
        "comparison": f"/comparisons/{comparison['id']}",
        "proposal": f"/proposals/{proposal['id']}",
        "bill": f"/studies/{made['id']}/bill",
    }
    texts = {name: reader.page(address).get_text(" ") for name, address in pages.items()}
    texts["pdf"] = text_of(reader.get(f"{pages['proposal']}.pdf").content)
    texts["xlsx"] = sheet_text(reader.get(f"{pages['proposal']}.xlsx").content)
    texts["bill.xlsx"] = sheet_text(reader.get(f"/boms/{bill['id']}.xlsx").content)
    return OneStudy(
        reader.data(f"{pages['study']}.json"),
        reader.data(f"{pages['comparison']}.json"),
        reader.data(f"{pages['proposal']}.json"),
        bill,
        {name: squeezed(text) for name, text in texts.items()},
    )


def test_one_study_has_one_price(one_study: OneStudy) -> None:
    estimates = one_study.options("a")
    (drawn,) = [one for one in one_study.proposal["content"]["bills"] if one["equipment"]][:1]
    prices = [one["cost"]["capex"] for one in estimates]
    total = one_study.bill["totals"]["price"]
    # A proposal prints ends of ranges to the unit of its currency.
    assert drawn["total"]["value"] == total["value"]
    assert drawn["total"]["high"] == pytest.approx(total["high"], rel=1e-6)
    assert {one["value"] for one in prices} == {total["value"]}
    voiced = voice("en")
    for name, figure in (("bill", prices[0]), ("proposal", prices[0]), ("pdf", prices[0])):
        assert squeezed(voiced.central(Quantity(**figure))) in one_study.texts[name]
    total = squeezed(voiced.central(Quantity(**drawn["total"])))
    assert all(total in one_study.texts[name] for name in ("bill", "proposal", "pdf"))


def test_one_study_has_one_memory(reader: Reader, one_study: OneStudy) -> None:
    """81,920 MiB of a device, as its driver shows, all for a plan; 940.6 MB of an IPU, sold as 900."""
    for estimate in one_study.options("a"):
        assert estimate["memory"]["capacity"]["value"] == 81_920 * 2**20
        assert estimate["memory"]["usable"]["value"] == 81_920 * 2**20
    assert all("85.9GB" in one_study.texts[name] for name in ("study", "comparison", "proposal", "pdf"))
    asked = {name: STUDY["base"][name] for name in ("model", "workload")}
    found = stored(reader, "/searches", {**asked, "system": {"id": DGX, "count": 2}})
    assert found["memory_limit"]["value"] == 81_920 * 2**20

    mapping = {"system": "bow-pod16", "parameters": 336e6, "layers": 24, "tensor": 1, "pipeline": 4}
    laid = stored(reader, "/mappings", {**mapping, "replicas": 4, "replica_batch": 1})
    for estimate in one_study.options("b"):
        assert estimate["memory"]["capacity"]["value"] == laid["memory_of_chip"] == 1472 * 638_976
    assert laid["memory_per_device"] == 900e6


def test_one_study_has_one_staff_and_one_resale(reader: Reader, one_study: OneStudy) -> None:
    asked = {"currency": "KRW", "hardware": {"system": DGX, "count": 2}, "onprem": {}, "cloud_monthly": 1e8}
    decided = {one["field"]: one["value"] for one in stored(reader, "/breakevens", asked)["defaults"]}
    for estimate in one_study.options("a"):
        taken = {one["field"]: one["value"] for one in estimate["defaults"]}
        assert taken["assumptions.staff"] == pytest.approx(decided["onprem.staff"])
        assert estimate["cost"]["basis"]["residual_share"] == decided["residual_share"]


def test_one_study_says_what_is_an_estimate_and_what_is_taxed(one_study: OneStudy) -> None:
    for estimate in one_study.options("a"):
        assert "price_is_estimate" in {one["code"] for one in estimate["warnings"]}
    said = squeezed("The price of DGX A100 640GB is an estimate")
    assert all(said in one_study.texts[name] for name in ("comparison", "proposal", "pdf", "xlsx"))
    taxes = squeezed("Prices exclude VAT (10 %) and customs duty (0 %)")
    assert all(taxes in one_study.texts[name] for name in ("bill", "bill.xlsx", "proposal", "pdf", "xlsx"))
