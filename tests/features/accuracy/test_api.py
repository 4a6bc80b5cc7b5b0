"""How well measured runs are predicted, as data: the same figures as on the page."""

from __future__ import annotations

from tests.support.application import Ask

PATH = "/api/v1/accuracy"


def test_the_figures_are_those_of_the_page(ask: Ask) -> None:
    found, page = ask("GET", PATH).json(), ask("GET", "/accuracy.json").json()
    for name in ("measured", "headline", "kinds"):
        assert found[name] == page[name], name
    assert found["cells"] == page["cells"]
    assert found["kinds"]["chip_left_out"]["median"] > found["kinds"]["in_sample"]["median"]
    assert sum(one["runs"] for one in found["families"].values()) == found["headline"]["runs"]
    assert sum(one["runs"] for one in found["chips"].values()) == found["headline"]["runs"]


def test_what_is_chosen_narrows_it(ask: Ask) -> None:
    found = ask("GET", f"{PATH}?family=bert&chip=a100-sxm-80gb&errors=laboratory_left_out").json()
    assert [*found["families"]] == ["bert"] and [*found["chips"]] == ["a100-sxm-80gb"]
    assert found["headline"] == found["kinds"]["laboratory_left_out"] == found["families"]["bert"]
    part = ask("GET", f"{PATH}?fields=headline.median").json()
    assert [*part] == ["headline"] and [*part["headline"]] == ["median"]
