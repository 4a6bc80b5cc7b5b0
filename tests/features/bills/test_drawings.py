"""Drawings of networks and racks: well-formed SVG that says what it shows."""

from xml.etree import ElementTree

import pytest

from app.features.bills.bill import make_bill
from app.features.bills.drawings import MOST_LINES, rack_elevation, topology
from app.features.bills.fabric import plan_fabric
from app.features.bills.model import BillRequest, FabricPlan, FabricRequest
from app.platform.charts.svg import Box, Drawing, Label, written
from app.platform.wording.voice import voice
from tests.conftest import sizing_context

SVG = "{http://www.w3.org/2000/svg}"


def planned(nodes: int, ports: int = 8, switch: int = 40) -> FabricPlan:
    return plan_fabric(FabricRequest(nodes=nodes, ports_per_node=ports, port_gbps=200, switch_ports=switch))


def parsed(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(str(written(drawing, "one")))


def texts(root: ElementTree.Element) -> str:
    return " | ".join("".join(one.itertext()) for one in root.iter(f"{SVG}text"))


def test_every_leaf_spine_and_pair_is_drawn() -> None:
    root = parsed(topology(planned(20), voice("en")))
    boxes = [one.get("class") for one in root.iter(f"{SVG}rect")]
    assert (boxes.count("box-leaf"), boxes.count("box-spine"), boxes.count("box-core")) == (8, 4, 0)
    assert len(list(root.iter(f"{SVG}line"))) == 8 * 4 + 8
    assert "20 uplinks per leaf, 5 to each spine" in texts(root)


@pytest.mark.parametrize("nodes", [1, 5, 6, 40, 80, 140, 300, 1000, 2000])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_large_networks_are_bundled_and_stay_readable(nodes: int, language: str) -> None:
    drawing = topology(planned(nodes), voice(language))
    root = parsed(drawing)
    assert root.get("role") == "img"
    named = str(root.get("aria-labelledby")).split()
    assert {one.get("id") for one in (*root.iter(f"{SVG}title"), *root.iter(f"{SVG}desc"))} >= set(named)
    assert len(list(root.iter(f"{SVG}line"))) <= 2 * MOST_LINES
    for one in drawing.shapes:
        if isinstance(one, Box):
            assert one.x >= 0 and one.x + one.width <= drawing.width
            assert one.y >= 0 and one.y + one.height <= drawing.height
            assert one.width > 20
        if isinstance(one, Label):
            assert 0 <= one.x <= drawing.width and 0 <= one.y <= drawing.height


def test_racks_show_each_thing_at_its_height() -> None:
    bill = make_bill(
        BillRequest(system="dgx-a100-640gb", count=20, storage_tb=1000, spare=1), sizing_context()
    )
    root = parsed(rack_elevation(bill.racks, voice("en")))
    boxes = [one for one in root.iter(f"{SVG}rect") if one.get("class") != "box-frame"]
    assert len(boxes) == sum(len(rack.placements) for rack in bill.racks)
    assert len([one for one in root.iter(f"{SVG}rect") if one.get("class") == "box-frame"]) == len(bill.racks)
    assert "Racks 1–6 (6 identical)" in texts(root)
    heights = {one.get("class"): float(one.get("height", "0")) for one in boxes}
    assert heights["box-machine"] / heights["box-storage"] == pytest.approx(6 / 2, rel=0.05)


def test_words_of_a_drawing_cannot_become_markup() -> None:
    drawing = Drawing(
        10, 10, "<b>", "a & b", (Label(0, 0, "</svg><script>"), Box(0, 0, 1, 1, "leaf", '"><x'))
    )
    text = str(written(drawing, "one"))
    assert "<script>" not in text and "<b>" not in text and "<x" not in text
    assert parsed(drawing).find(f"{SVG}text") is not None
