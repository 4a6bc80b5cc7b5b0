"""The arithmetic of IPUs in the view of plans of a study."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from bs4 import BeautifulSoup

from tests.features.plans.conftest import made
from tests.support.application import Reader, narrowed
from tests.support.views import MAPPED


@pytest.fixture(scope="module")
def pod(reader: Reader) -> str:
    """A study of a machine with GPUs and of a pod."""
    return made(reader, "gpt3-175b", 32, {"id": "dgx-a100-640gb", "count": 128}, {"id": "ipu-pod256"})


def told(page: BeautifulSoup) -> dict[str, str]:
    return {row.th.get_text(): row.td.get_text(strip=True) for row in page.select("#mapping tr")}


def test_mapping_of_gpt3(reader: Reader, pod: str) -> None:
    result = told(narrowed(reader, f"{pod}/mapping?{urlencode(MAPPED)}"))
    assert result["IPUs per replica"] == "64"
    assert result["Global batch"] == "32"
    assert result["Layers per stage"] == "12"
    assert result["Share of the weights each IPU works on"] == "1/64"
    assert result["Share of the weights each IPU keeps"] == "1/256"
    assert result["Weights each IPU works on (FP16)"] == "5.47 GB"
    assert result["Memory per IPU"] == "940.6 MB"
    assert result["Memory per IPU, rounded by the vendor"] == "900 MB"
    assert result["Minimum phases for the weights alone"] == "7"


def test_it_starts_from_the_plan_of_the_option(reader: Reader, pod: str) -> None:
    page = reader.page(f"{pod}/plan?option=b")
    plan = reader.data(f"{pod}/details.json?option=b")["plan"]
    fields = {
        one["name"]: one["value"] for one in page.select('form[action*="/mapping"] input:not([type=hidden])')
    }
    assert fields["layers"] == "96"
    for name, place in (("tensor", "tensor"), ("pipeline", "pipeline"), ("replicas", "data")):
        assert fields[name] == str(plan[place])
    assert fields["replicated_tensor_sharding"] == str(plan["rts"])
    data = reader.data(f"{pod}/mapping.json")
    assert data["global_batch"] == plan["global_batch"] == 32
    assert told(page)["Global batch"] == "32"
    assert "system" not in fields


def test_only_options_on_ipus_have_it(reader: Reader, pod: str) -> None:
    assert reader.page(f"{pod}/plan").find(id="mapping") is None
    alone = made(reader, "megatron-1.7b", 512, {"id": "dgx-a100-640gb"})
    assert reader.get(f"{alone}/mapping").headers["location"].startswith(f"{alone}/plan")
    assert reader.get(f"{alone}/mapping.json").status_code == 404


def test_page_and_twin_agree(reader: Reader, pod: str) -> None:
    data = reader.data(f"{pod}/mapping.json?{urlencode(MAPPED)}")
    assert data["devices"] == 256 and data["minimum_phases"] == 7
    assert reader.data(f"{pod}/mapping.json?{urlencode(MAPPED | {'parameters': '175B'})}") == data


def test_two_pods_have_twice_the_ipus(reader: Reader) -> None:
    two = made(reader, "bert-large", 1024, {"id": "bow-pod16", "count": 2})
    asked = MAPPED | {"layers": "24", "tensor": "1", "pipeline": "4", "replicas": "8"}
    assert reader.data(f"{two}/mapping.json?{urlencode(asked)}")["devices_available"] == 32
    page = reader.page(f"{two}/mapping?{urlencode(asked | {'replicas': '9'})}", status=409)
    assert "2 × Bow Pod16 has 32" in page.find(id="replicas-error-1").get_text()


def test_refused_mapping_stands_beside_the_field_and_the_previous_result_stays(
    reader: Reader, pod: str
) -> None:
    answer = reader.get(f"{pod}/mapping?{urlencode(MAPPED)}")
    address = str(answer.headers["location"])
    before = reader.page(address)
    state = parse_qs(urlsplit(address).query)["state"][0]
    asked = urlencode(MAPPED | {"replicas": "5", "state": state, "option": "b"})
    page = reader.page(f"{pod}/mapping?{asked}", status=409)
    error = page.find(id="replicas-error-1").get_text()
    assert "320" in error and "256" in error
    assert "stale" in page.find(id="result")["class"]
    assert told(page) == told(before)
    assert page.find("input", id="replicas")["value"] == "5"
    assert page.select("#plans tbody tr") and not page.select(".outdated-part #plans")


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("tensor", "x", 422),
        ("layers", "", 422),
        ("replicas", "1e400", 400),
        ("replicated_tensor_sharding", "3", 400),
    ],
)
def test_wrong_field_is_refused_at_its_place(
    reader: Reader, pod: str, field: str, value: str, status: int
) -> None:
    page = reader.page(f"{pod}/mapping?{urlencode(MAPPED | {field: value})}", status=status)
    assert page.find(id=f"{field}-error-1") is not None


def test_a_mapping_is_taken_over_into_the_option(reader: Reader, pod: str) -> None:
    page = narrowed(reader, f"{pod}/mapping?{urlencode(MAPPED)}")
    link = next(one for one in page.select("#result a.button"))
    asked = parse_qs(urlsplit(str(link["href"])).query)
    assert asked["plan.b"] == ["tensor=8;pipeline=8;data=4;rts=4"]
    assert asked["batch.b"] == ["32"]
