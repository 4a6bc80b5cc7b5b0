"""The money of a proposal adds up by hand, and an offer is one that can be signed."""

from __future__ import annotations

from typing import Any

import pytest

from app.features.proposals.account import filled_years
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
    content = proposed(ask).json()["content"]
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
    assert price["vat_source"]["id"] and price["vat_as_of"]


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


def test_a_text_that_names_another_option_warns_its_author(ask: Ask) -> None:
    sections = [{"id": "scope", "text": "We deliver 8 × AWS p5.48xlarge."}]
    made = proposed(ask, sections=sections).json()
    assert "text_contradicts_decision" in {one["code"] for one in made["content"]["warnings"]}
    address = f"/api/v1/proposals/{made['id']}"
    mended = ask("PATCH", address, json={"sections": [{"id": "scope", "text": "We deliver 8 × DGX H100."}]})
    assert "text_contradicts_decision" not in {one["code"] for one in mended.json()["content"]["warnings"]}


def test_work_that_ends_early_is_paid_early() -> None:
    assert filled_years(8766.0, 4.0) == [1.0, 0.0, 0.0, 0.0]
