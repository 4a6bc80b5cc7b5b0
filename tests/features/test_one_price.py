"""One purchase has one price in every answer: estimate, bill, build or rent, network choice, claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.catalog.books import BookRow, PriceBook
from app.estimating.context import SizingContext
from app.estimating.estimate import estimate
from app.estimating.money import Cost
from app.estimating.request import EstimateRequest
from app.features.bills.bill import make_bill
from app.features.bills.model import BillRequest
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEven, BreakEvenRequest
from app.features.claims.footing import amounts_of
from app.features.claims.model import ClaimsRequest
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoiceRequest

BOOK = "pbk_one"

ROWS = (
    BookRow("dgx-a100-640gb", "price", "", 150_000.0, "USD", ""),
    BookRow("qm8790", "price", "", 13_000_000.0, "KRW", ""),
    BookRow("ipu-pod64", "price", "", 500_000.0, "USD", ""),
    BookRow("cost-defaults", "staff_cost", "korea", 60_000.0, "EUR/year", ""),
    BookRow("cost-defaults", "exchange_rate", "krw", 1_300.0, "KRW/USD", ""),
)

ESTIMATE: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128, "precision": "fp16"},
    "system": {"id": "dgx-a100-640gb", "count": 4, "fabric": "hdr-infiniband"},
}

CABLES = ("node_cable", "leaf_cable", "spine_cable")


@pytest.fixture(scope="module")
def known(context: SizingContext) -> SizingContext:
    book = PriceBook(BOOK, "Offers", 1, "2026-11-21", ROWS)
    return replace(context, find_book=lambda _: book)


def cost(context: SizingContext, book: str | None, **more: Any) -> Cost:
    asked = {**ESTIMATE, **more, "assumptions": {**more.get("assumptions", {}), "price_book_id": book}}
    found = estimate(EstimateRequest.model_validate(asked), context).cost
    assert found is not None
    return found


def bought(context: SizingContext, book: str | None, system: str, count: int) -> BreakEven:
    asked = {
        "currency": "USD",
        "hardware": {"system": system, "count": count},
        "onprem": {},
        "cloud_monthly": 1e6,
        "price_book_id": book,
    }
    return decide(BreakEvenRequest.model_validate(asked), context)


@pytest.mark.parametrize("book", [None, BOOK])
def test_a_cluster_and_its_network(known: SizingContext, book: str | None) -> None:
    asked = BillRequest(system="dgx-a100-640gb", count=4, fabric="hdr-infiniband", price_book_id=book)
    lines = make_bill(asked, known).lines
    machines = sum(one.total.value for one in lines if one.group == "machines" and one.total)
    network = sum(
        one.total.value
        for one in lines
        if (one.group == "compute_network" or one.use in CABLES) and one.total
    )
    capex = cost(known, book).capex
    assert capex is not None
    assert capex.value == make_bill(asked, known).totals.price.value

    found = {line.item: line.amount for line in bought(known, book, "dgx-a100-640gb", 4).capex_lines}
    assert found["machines"] == pytest.approx(machines)
    assert found["fabric"] == pytest.approx(network)

    choice = FabricChoiceRequest.model_validate(
        {
            "estimate": ESTIMATE,
            "options": [{"fabric": "hdr-infiniband", "ports_per_node": 8}, {"fabric": "roce-100"}],
            "price_book_id": book,
        }
    )
    option = next(one for one in choose_fabric(choice, known).options if one.fabric == "hdr-infiniband")
    assert option.network is not None and option.run_cost is not None
    assert option.network.price.value == pytest.approx(network)
    assert option.run_cost.value == pytest.approx(cost(known, book).run.value, rel=1e-3)


@pytest.mark.parametrize("book", [None, BOOK])
def test_a_pod(known: SizingContext, book: str | None) -> None:
    capex = cost(known, book, system={"id": "ipu-pod64"}).capex
    assert capex is not None
    wanted = 500_000.0 if book else 644_200.0
    bill = make_bill(BillRequest(system="ipu-pod64", price_book_id=book), known)
    assert capex.value == bill.totals.price.value
    package = bill.package
    assert package is not None and package.value == pytest.approx(wanted)
    parts = ("machines", "hosts", "compute_network", "management_network")
    assert sum(one.total.value for one in bill.lines if one.group in parts and one.total) == pytest.approx(
        wanted, rel=1e-3
    )
    answer = bought(known, book, "ipu-pod64", 1)
    assert sum(one.amount for one in answer.capex_lines) == pytest.approx(capex.value, abs=0.05)
    priced = amounts_of("ipu-pod64", known.priced(book).catalog, ClaimsRequest())
    assert priced.price.value == pytest.approx(wanted)


def test_rates_of_a_book_are_turned_into_the_currency(known: SizingContext) -> None:
    """A salary in euro is neither dollars nor won."""
    euro = known.catalog.figure("cost-defaults", "exchange_rate", "eur").si
    staff = {line.item: line.amount for line in bought(known, BOOK, "dgx-a100-640gb", 4).onprem_lines}[
        "staff"
    ]
    posts = known.catalog.figure("cost-defaults", "staff_per_site").si
    assert staff == pytest.approx(60_000 / euro * posts / 12)


def test_a_stated_price_of_a_machine_leaves_the_network_to_be_paid(context: SizingContext) -> None:
    usual = context.catalog.figure("dgx-a100-640gb", "price").si
    stated = cost(context, None, assumptions={"system_price": usual})
    assert stated.capex is not None
    assert stated.hourly.value == pytest.approx(cost(context, None).hourly.value)
    without = cost(context, None, assumptions={"system_price": usual, "include": ["power"]})
    shares = 1.03 * 1.04  # spare parts, then freight, installation and start-up
    assert without.capex is not None and without.capex.value == pytest.approx(4 * usual * shares)
