"""The money of a proposal adds up by hand, and an offer is one that can be signed."""

from __future__ import annotations

import time
from typing import Any

import pytest
from bs4 import BeautifulSoup

from app.features.proposals.account import filled_years
from app.features.proposals.charts import drawings
from app.features.proposals.figures_in_texts import AMOUNT, CALENDAR, LASTING, SHARE, other_figures
from app.features.proposals.model import ProposalContent
from app.features.proposals.writing.answer import rack_over_limit, turns
from app.platform.wording.voice import voice
from tests.support.application import Ask

DAY = 86_400.0

STUDY: dict[str, Any] = {
    "name": "A model a year",
    "base": {
        "model": {"preset": "llama-7b"},
        "workload": {"tokens": 2e12},
        "currency": "USD",
        "assumptions": {"demand": {"runs_per_year": 6}},
    },
    "limits": {"deadline_s": 90 * DAY},
    "options": [
        {"key": "a", "system": {"id": "dgx-h100", "count": 8}},
        {"key": "b", "system": {"id": "aws-p5", "count": 8}},
    ],
}

OFFER = {"kind": "offer", "valid_until": "2099-12-31", "sender": {"organization": "Rackline GmbH"}}


def proposed(ask: Ask, **more: Any) -> Any:
    study = ask("POST", "/api/v1/studies", json=STUDY).json()["id"]
    body = {"study_id": study, "customer": "A", "locale": "en", "currency": "USD", **more}
    return ask("POST", "/api/v1/proposals", json=body)


def test_bill_bridge_and_payments_add_up_to_the_outlay(ask: Ask) -> None:
    content = proposed(ask, conditions={"vat_rate": 0.19}).json()["content"]
    account, decision = content["account"], content["decision"]
    for outlay in account["options"]:
        (decided,) = [one for one in decision["options"] if one["id"] == outlay["option"]]
        assert outlay["total"] == pytest.approx(decided["outlay"]["value"], abs=1.0)
        assert sum(line["amount"] for line in outlay["lines"]) == pytest.approx(outlay["total"], abs=1e-6)
        assert sum(year["amount"] for year in outlay["years"]) == pytest.approx(outlay["total"], abs=1e-6)
        rate = 1 + outlay["discount_rate"]
        by_hand = sum(year["amount"] / rate ** year["year"] for year in outlay["years"])
        assert outlay["present_value"] == pytest.approx(by_hand, abs=0.1)
        runs = outlay["fixed"] + outlay["per_run"] * account["runs"]
        assert runs == pytest.approx(outlay["total"], rel=1e-6)
    bill = next(one for one in content["bills"] if one["label"] == account["price"]["option"])
    for line in bill["lines"]:
        assert line["quantity"] * line["unit_price"]["value"] == pytest.approx(
            line["total"]["value"], abs=1e-6
        )
    assert sum(line["total"]["value"] for line in bill["lines"]) == pytest.approx(account["price"]["supply"])
    price = account["price"]
    assert price["vat"] == pytest.approx(price["supply"] * price["vat_rate"], abs=0.005)
    assert price["total"] == pytest.approx(price["supply"] + price["vat"], abs=1e-6)


def test_at_the_break_even_both_options_cost_the_same(ask: Ask) -> None:
    account = proposed(ask).json()["content"]["account"]
    found = account["break_even"]
    owned, rented = (
        next(one for one in account["options"] if one["option"] == found[kind])
        for kind in ("owned", "rented")
    )
    costs = [one["fixed"] + one["per_run"] * found["runs"] for one in (owned, rented)]
    assert costs[0] == pytest.approx(costs[1])


def test_every_weighty_figure_has_a_source_and_a_date_or_was_stated(ask: Ask) -> None:
    assumptions = proposed(ask).json()["content"]["account"]["assumptions"]
    assert {"price", "support_rate", "colocation", "tariff"} <= {one["figure"]["name"] for one in assumptions}
    for one in assumptions:
        assert one["figure"]["status"] == "stated" or (one["figure"]["source"] and one["figure"]["as_of"])


@pytest.mark.parametrize("field", ["valid_until", "sender"])
def test_an_offer_names_its_last_day_and_its_sender(ask: Ask, field: str) -> None:
    refused = proposed(ask, **{name: value for name, value in OFFER.items() if name != field})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"].startswith(field)


def test_an_offer_is_signed_and_an_estimate_is_not(ask: Ask) -> None:
    signed, estimated = proposed(ask, **OFFER).json(), proposed(ask).json()
    assert (signed["content"]["kind"], estimated["content"]["kind"]) == ("offer", "estimate")
    pages = [ask("GET", f"/proposals/{one['id']}").text for one in (signed, estimated)]
    assert 'id="signature"' in pages[0] and 'id="signature"' not in pages[1]
    assert "not a quote" not in pages[0]


def test_a_stated_tax_and_stated_weeks_reach_the_document(ask: Ask) -> None:
    stated = {"vat_rate": 0.19, "lead_weeks": 10, "installation_weeks": 2, "acceptance_weeks": 1}
    content = proposed(ask, conditions=stated).json()["content"]
    assert content["account"]["price"]["vat_rate"] == 0.19
    assert content["conditions"]["lead_weeks"] == 10


@pytest.mark.parametrize(("currency", "rate"), [("KRW", 0.1), ("CNY", None), ("USD", None)])
def test_the_tax_is_that_of_the_customers_money(ask: Ask, currency: str, rate: float | None) -> None:
    content = proposed(ask, currency=currency, recommended="8 × DGX H100").json()["content"]
    price = content["account"]["price"]
    assert price["vat_rate"] == rate
    assert (price["vat_source"] is None) == (rate is None)
    notes = [bill["tax_note"] for bill in content["bills"] if bill["groups"]]
    assert all((note is None) == (rate is None) for note in notes)


def test_a_rented_offer_speaks_of_no_racks_and_no_delivery(ask: Ask) -> None:
    def texts(recommended: str) -> str:
        sections = proposed(ask, recommended=recommended).json()["content"]["sections"]
        return " ".join(one["text"] for one in sections if one["id"] in {"scope", "exclusions"})

    owned, rented = texts("8 × DGX H100"), texts("8 × AWS p5.48xlarge")
    for word in ("rack", "freight", "Installation"):
        assert word in owned
        assert word not in rented


def test_a_rack_above_its_limit_is_said_with_its_excess(ask: Ask) -> None:
    body = {
        "name": "A pod stays together",
        "base": {"model": {"preset": "bert-large"}, "workload": {"samples": 2e7, "seq_len": 128}},
        "options": [{"system": {"id": "bow-pod64"}}],
    }
    study = ask("POST", "/api/v1/studies", json=body).json()["id"]
    asked = {"study_id": study, "customer": "A", "locale": "en", "currency": "USD"}
    found = {}
    for limit in (20.0, 60.0):
        made = ask("POST", "/api/v1/proposals", json={**asked, "bill": {"rack_power_kw": limit}}).json()
        content = ProposalContent.read(made["content"])
        found[limit] = rack_over_limit(content)
        assert "feeds" in drawings(content, voice("en"))
        page = BeautifulSoup(ask("GET", f"/proposals/{made['id']}").text, "lxml")
        assert page.select_one("#caption-racks") and page.select_one("#caption-feeds")
    assert found[60.0] is None
    assert found[20.0] is not None
    values = found[20.0].values
    assert values["power"] == pytest.approx(values["limit"] + values["over"])


def test_what_would_overturn_a_choice_of_the_author_leads_to_that_choice(ask: Ask) -> None:
    contents = [
        ProposalContent.read(proposed(ask, recommended=label).json()["content"])
        for label in ("8 × DGX H100", "8 × AWS p5.48xlarge")
    ]
    (own,) = [one for one in contents if one.advice.recommended != one.advice.by_rule]
    said = turns(own, voice("en"))
    assert len(said) > 1
    assert str(own.advice.by_rule) in said[0]
    assert all(str(own.advice.recommended) in line for line in said)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("The outlay is $9,999,999.", ["outlay"]),
        ("The outlay is {total}.", []),
        ("A penalty of $500 a day is due.", []),
        ("This offer is valid until 2099-11-30.", ["date"]),
        ("This offer is valid until 2099-12-31.", []),
        ("Training takes 400 days.", ["time"]),
        ("Training takes {days} days.\nPayment is due within 400 days.", []),
        ("The limits are kept with a probability of 12 %.", ["probability"]),
        ("The limits are kept with a probability of 90 %.", []),
        ("We deliver 9 × DGX H100.", ["count"]),
        ("We deliver 8 × DGX H100.", []),
    ],
)
def test_a_figure_in_a_text_that_is_not_of_the_decision_warns(ask: Ask, text: str, kinds: list[str]) -> None:
    made = proposed(ask, recommended="8 × DGX H100", **OFFER).json()
    content = ProposalContent.read(made["content"])
    option = content.decided("8 × DGX H100")
    outlay = None if content.account is None else content.account.of("8 × DGX H100")
    assert outlay is not None and option is not None and option.time is not None
    written = text.format(total=f"${outlay.total:,.2f}", days=round(option.time.value / DAY))
    assert [kind for kind, _, _ in other_figures(written, content)] == kinds
    sections = [{"id": "terms", "text": written}]
    changed = ask("PATCH", f"/api/v1/proposals/{made['id']}", json={"sections": sections}).json()
    codes = [one["code"] for one in changed["content"]["warnings"]]
    assert ("text_contradicts_decision" in codes) == bool(kinds)


def test_a_text_that_names_another_option_warns_its_author(ask: Ask) -> None:
    sections = [{"id": "scope", "text": "We deliver 8 × AWS p5.48xlarge."}]
    made = proposed(ask, sections=sections).json()
    assert "text_contradicts_decision" in {one["code"] for one in made["content"]["warnings"]}
    address = f"/api/v1/proposals/{made['id']}"
    mended = ask("PATCH", address, json={"sections": [{"id": "scope", "text": "We deliver 8 × DGX H100."}]})
    assert "text_contradicts_decision" not in {one["code"] for one in mended.json()["content"]["warnings"]}


def test_work_that_ends_early_is_paid_early() -> None:
    assert filled_years(8766.0, 4.0) == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("piece", ["1", "1,1", "1 ", "₩", "1억 ", "1."])
def test_texts_of_numbers_alone_are_read_once(piece: str) -> None:
    started = time.process_time()
    for pattern in (AMOUNT, CALENDAR, LASTING, SHARE):
        list(pattern.finditer(5000 * piece + "x"))
    assert time.process_time() - started < 0.5
