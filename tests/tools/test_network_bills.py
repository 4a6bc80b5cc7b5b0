"""The network of every system grows with its ports: no bill jumps but where a level of switches begins."""

import pytest

from app.estimating.context import SizingContext
from app.estimating.money import ExchangeRate, exact
from app.estimating.purchase import printed_price
from tests.conftest import sizing_context
from tools.network_bills import (
    COUNTS,
    DEAR,
    MOST_SHARE,
    MOST_STEP,
    network_costs,
    network_document,
    network_picture,
    ordered,
    switched_systems,
)


@pytest.fixture(scope="module")
def context() -> SizingContext:
    return sizing_context()


@pytest.mark.parametrize("system", switched_systems(sizing_context()))
def test_a_network_grows_with_its_ports(context: SizingContext, system: str) -> None:
    most, _ = DEAR.get(system, (MOST_SHARE, ""))
    costs = list(network_costs(context, system))
    assert costs
    for cost in costs:
        assert (cost.share or 0.0) <= most, (cost.count, cost.share)
        assert cost.step <= MOST_STEP or cost.deeper, (cost.count, cost.step)
    assert system not in DEAR or max(cost.share or 0.0 for cost in costs) > MOST_SHARE


@pytest.mark.parametrize(
    ("system", "count", "switches"),
    [("gaudi3-8", 3, "3 + 2"), ("mi300x-8", 5, "3 + 2"), ("dgx-h100", 9, "3 + 2")],
)
def test_rails_share_their_leaves(context: SizingContext, system: str, count: int, switches: str) -> None:
    assert {cost.count: cost.switches for cost in network_costs(context, system)}[count] == switches


@pytest.mark.parametrize("system", switched_systems(sizing_context()))
@pytest.mark.parametrize("currency", ["USD", "KRW"])
def test_a_unit_price_times_its_quantity_is_the_total(
    context: SizingContext, system: str, currency: str
) -> None:
    rate = ExchangeRate.of(context.catalog, currency)  # type: ignore[arg-type]
    for count in (2, 9, COUNTS[-1]):
        for part in ordered(context, system, count).parts:
            printed = printed_price(part, rate)
            if printed is not None:
                assert part.count * exact(printed[0].value) == exact(printed[1].value)


def test_the_document_and_its_picture_have_every_system(context: SizingContext) -> None:
    page, picture = network_document(context), network_picture(context)
    assert picture.count("<g ") == len(switched_systems(context))
    assert all(f"\n| {context.catalog.items[system].name} |" in page for system in switched_systems(context))
