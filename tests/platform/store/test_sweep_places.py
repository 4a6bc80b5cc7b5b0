"""A list of rows goes on behind its last row, whatever comes in meanwhile."""

from __future__ import annotations

import pytest

from app.platform.store.database import Store
from app.platform.store.document_queries import Order, RowPlace, RowSelection
from app.platform.store.tables import JobRecord, SweepRecord, SweepRowRecord

COSTS = {0: 5.0, 1: None, 2: 3.0, 3: 5.0, 4: None, 5: 1.0, 6: 0.1 + 0.2}


def row(position: int) -> SweepRowRecord:
    return SweepRowRecord(
        sweep_id="swp_a", workspace_id="ws_one", position=position, key=str(position), model="m", system="s",
        price="p", scenario="c", refused=False, time_to_train=None, cost=COSTS.get(position, 4.0),
        document={"position": position},
    )  # fmt: skip


def add(store: Store, *positions: int) -> None:
    with store.transaction("ws_one") as repository:
        repository._session.add_all(row(position) for position in positions)


@pytest.mark.parametrize(
    ("order", "wanted"), [("position", [0, 1, 2, 3, 4, 5, 6]), ("cost", [6, 5, 2, 0, 3, 1, 4])]
)
def test_no_row_is_repeated_or_left_out_while_others_come(
    store: Store, order: Order, wanted: list[int]
) -> None:
    with store.transaction("ws_one") as repository:
        repository.add(
            SweepRecord(id="swp_a", workspace_id="", title="t", request={}),
            JobRecord(id="swp_a", workspace_id="", kind="sweep", status="running", total=99),
        )
    add(store, *COSTS)
    seen: list[int] = []
    place: RowPlace | None = None
    for turn in range(20):
        with store.transaction("ws_one") as repository:
            found = repository.of_sweep("swp_a").rows(RowSelection(order=order), 2, after=place)
        if not found:
            break
        seen += [one["position"] for one in found]
        last = seen[-1]
        value = row(last).cost if order == "cost" else None
        place = RowPlace(last, value)
        if turn < 3:
            add(store, 50 + turn)
    assert len(seen) == len(set(seen))
    assert [one for one in seen if one in COSTS] == wanted
