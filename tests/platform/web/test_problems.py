"""Whatever is sent, the answer is a problem that says what to do, and never a 500."""

import json
import re
import time
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app.errors import BadInput, TooLarge
from app.estimating.request import EstimateRequest
from app.features.uploads.model import ProfileRequest
from app.platform import json_bodies
from app.platform.web.examples import (
    BILL,
    BREAK_EVEN,
    CHECK,
    FABRIC,
    FABRICS_MEASURED,
    GPT3,
    HEAD_TO_HEAD,
    PARTITIONS,
    QUEUE,
)
from app.platform.web.requirements import SMALL_BODY
from tests.conftest import problem_of
from tests.support.application import Ask

JSON = {"content-type": "application/json"}


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    assert found.keys() == {"type", "code", "title", "status", "detail", "errors", "instance"}
    assert found["status"] == status
    assert found["detail"]
    assert all(entry.keys() == {"field", "code", "message"} and entry["message"] for entry in found["errors"])
    return dict(found)


def fields(response: httpx.Response, status: int) -> list[str]:
    return [entry["field"] for entry in problem(response, status)["errors"]]


def changed(base: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(base))
    *above, last = path.split(".")
    target = copy
    for name in above:
        target = target[name]
    target[last] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("system.id", "\ud800"),
        ("model.preset", "gpt3\udfff"),
        ("software", "\udc00"),
        ("model", {"\ud800": 1}),
    ],
)
def test_half_a_character_is_refused_at_its_field(ask: Ask, path: str, value: object) -> None:
    """An error would name it, which UTF-8 cannot."""
    body = json.dumps(changed(GPT3, path, value))
    answer = ask("POST", "/api/v1/estimates", content=body, headers=JSON)
    assert fields(answer, 400) == [path]


@pytest.mark.parametrize(("path", "value"), [("system.id", "a\0"), ("label", "\0"), ("model", {"a\0": 1})])
def test_the_null_character_is_refused_at_its_field(ask: Ask, path: str, value: object) -> None:
    """PostgreSQL keeps no text with it."""
    answer = ask("POST", "/api/v1/estimates", json=changed(GPT3, path, value))
    assert fields(answer, 400) == [path]


@pytest.mark.parametrize(
    "address", ["/api/v1/estimates/est_%00", "/api/v1/estimates?cursor=%00", "/plans?a=%00"]
)
def test_an_address_with_the_null_character_is_refused(ask: Ask, address: str) -> None:
    assert ask("GET", address).status_code == 400


def test_a_part_of_software_profiles_runs_nothing(ask: Ask) -> None:
    body = {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e6, "global_batch": 512},
        "system": {"id": "bow-pod16"},
        "software": "framework-traced",
    }
    found = problem(ask("POST", "/api/v1/estimates", json=body), 400)
    assert found["errors"][0]["field"] == "software"
    assert "poplar-3-pytorch" in found["detail"]


def test_what_is_wrong_with_the_plan_beside_is_said_there(ask: Ask) -> None:
    body = {
        "model": {"preset": "bert-large"},
        "workload": {"global_batch": 512},
        "system": {"id": "dgx-a100-640gb"},
        "beside": {"tensor": 0},
    }
    assert fields(ask("POST", "/api/v1/searches", json=body), 400) == ["beside.tensor"]


@pytest.mark.parametrize(
    ("path", "value", "status"),
    [
        ("plan.tensor", "eight", 422),
        ("plan.tensor", 2.5, 422),
        ("plan.tensor", 0, 400),
        ("plan.recompute", "some", 422),
        ("plan.tensors", 8, 422),
        ("workload.precision", "int8", 422),
        ("workload.tokens", -1, 400),
        ("workload.tokens", None, 422),
        ("system.id", "dgx-a100", 404),
        ("system.count", 0, 400),
        ("system.fabric", "infinibanana", 404),
        ("model", {"preset": "no-such-model"}, 404),
        ("model", {}, 422),
        ("model", {"preset": "gpt3-175b", "total_flop": 1e20}, 422),
        ("model", {"profile_id": "prf_nosuch"}, 404),
        ("workload.workload_id", "wkl_nosuch", 404),
        ("software", "megatron-2099", 404),
        ("currency", "GBP", 400),
    ],
)
def test_a_wrong_field_of_an_estimate_is_named(ask: Ask, path: str, value: object, status: int) -> None:
    body = changed(GPT3, path, value)
    named = fields(ask("POST", "/api/v1/estimates", json=body), status)
    assert named, "no field is named"
    assert any(field.split(".")[0] == path.split(".")[0] for field in named)


def test_a_missing_field_is_named(ask: Ask) -> None:
    assert fields(ask("POST", "/api/v1/estimates", json={"model": {"preset": "resnet50"}}), 422) == ["system"]
    assert fields(ask("POST", "/api/v1/checks", json={"devices": 8}), 422) == ["global_batch"]


def test_an_unknown_system_gets_the_close_names(ask: Ask) -> None:
    found = problem(ask("GET", "/api/v1/catalog/systems/dgx-a100-64gb"), 404)
    assert "dgx-a100-640gb" in found["detail"]


@pytest.mark.parametrize(
    "text", [b'{"devices": 1e400}', b'{"devices": NaN}', b'{"devices": [{"x": -Infinity}]}']
)
def test_numbers_must_be_finite(ask: Ask, text: bytes) -> None:
    named = fields(ask("POST", "/api/v1/checks", content=text, headers=JSON), 400)
    assert named[0].startswith("devices")


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 20_000,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b"[" * 70 + b"]" * 70,
        b"{",
        b"\xff\xfe\x00",
        b'{"devices": ' + b"9" * 10_000 + b"}",
        b"nul",
    ],
)
def test_bodies_that_are_no_json_of_ours_are_refused(ask: Ask, text: bytes) -> None:
    problem(ask("POST", "/api/v1/checks", content=text, headers=JSON), 400)


def test_what_is_sound_is_walked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_bodies, "places", None)
    assert json_bodies.read_json(b'{"rows": [1, -2.5e300, "\\ud83d\\ude00", null, true, {"a": []}]}')
    for wrong in (
        b"[NaN]",
        b'{"a": {"b": 1, "b": 1}}',
        b'["\\ud800"]',
        b'{"\\u0000": 1}',
        b"[1e999]",
        b"[1" + b"0" * 301 + b"]",
    ):
        with pytest.raises(TypeError):
            json_bodies.read_json(wrong)


def test_of_many_unknown_names_enough_are_looked_at(ask: Ask) -> None:
    body = {str(number): number for number in range(10_000)} | {"label": 3}
    with pytest.raises(ValidationError) as refused:
        EstimateRequest.model_validate(body)
    assert 50 < refused.value.error_count() < 2_000
    named = fields(ask("POST", "/api/v1/estimates", json=body), 422)
    assert len(named) == 50 and {"model", "label", "0"} <= set(named)


def test_a_configuration_may_name_thousands_of_classes(ask: Ask) -> None:
    labels = {str(number): "a" for number in range(12_000)}
    config = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
              "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "id2label": labels}  # fmt: skip
    made = ask("POST", "/api/v1/profiles", json=config)
    assert made.status_code == 201, made.text
    # Nothing of a configuration that comes unwrapped is left out, however many names it has.
    unwrapped = {**labels, **config}
    assert ProfileRequest.model_validate(unwrapped).config == unwrapped


@pytest.mark.parametrize("text", [b"", b"null", b"[]", b"3", b'"x"', b"{}"])
def test_empty_bodies_are_refused(ask: Ask, text: bytes) -> None:
    for path in ("checks", "mappings", "estimates", "comparisons", "profiles"):
        assert ask("POST", f"/api/v1/{path}", content=text, headers=JSON).status_code in (400, 422)


def test_whole_numbers_of_any_length_are_refused(ask: Ask) -> None:
    text = b'{"devices": ' + b"9" * 400 + b', "global_batch": 1}'
    assert fields(ask("POST", "/api/v1/checks", content=text, headers=JSON), 400) == ["devices"]


def test_other_media_types_are_refused(ask: Ask) -> None:
    problem(ask("POST", "/api/v1/checks", content=b"devices=8", headers={"content-type": "text/plain"}), 415)
    problem(ask("POST", "/api/v1/checks", content=b"{}"), 415)
    problem(ask("POST", "/api/v1/workloads", json={"text": "x"}), 415)


def test_a_body_over_the_limit_is_refused_whatever_length_it_declares(ask: Ask) -> None:
    body = json.dumps({"devices": "x" * 300_000}).encode()
    problem(ask("POST", "/api/v1/checks", content=body, headers=JSON), 413)

    async def pieces() -> Any:
        for start in range(0, len(body), 10_000):
            yield body[start : start + 10_000]

    found = problem(ask("POST", "/api/v1/checks", content=pieces(), headers=JSON), 413)
    assert "200,000" in found["detail"]


def test_an_upload_may_be_larger_than_a_body_but_has_a_limit_too(ask: Ask) -> None:
    text = b"some words of text\n" * 15_000
    assert ask("POST", "/api/v1/workloads", files={"file": ("a.txt", text)}).status_code == 201
    problem(ask("POST", "/api/v1/workloads", files={"file": ("a.txt", text * 2)}), 413)


def test_unknown_addresses_and_methods_are_problems(ask: Ask) -> None:
    problem(ask("GET", "/api/v1/nothing"), 404)
    problem(ask("GET", "/api/v1/catalog/chips/" + "x" * 5000), 404)
    response = ask("DELETE", "/api/v1/estimates")
    problem(response, 405)
    assert "GET" in response.headers["allow"] or "POST" in response.headers["allow"]


def test_a_problem_never_repeats_a_huge_field_name(ask: Ask) -> None:
    response = ask("POST", "/api/v1/checks", json={f"{number}{'x' * 1000}": 1 for number in range(100)})
    assert len(problem(response, 422)["errors"]) <= 50
    assert len(response.content) < 20_000


def test_more_devices_than_the_pod_has_names_both_numbers(ask: Ask) -> None:
    body = {
        "system": "ipu-pod256",
        "parameters": 175e9,
        "layers": 96,
        "tensor": 8,
        "pipeline": 8,
        "replicas": 5,
    }
    found = problem(ask("POST", "/api/v1/mappings", json=body), 409)
    assert "320" in found["detail"]
    assert "256" in found["detail"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1000000", "limit=x", "cursor=x", "cursor=MTIz", "cursor=-1"]
)
def test_wrong_stretches_of_lists_are_refused(ask: Ask, query: str) -> None:
    for path in ("estimates", "comparisons", "profiles", "workloads", "catalog/chips"):
        assert ask("GET", f"/api/v1/{path}?{query}").status_code in (400, 422)


@pytest.mark.parametrize("efficiency", ["0", "1.5", "-1", "nan", "inf", "1e400", "x", ""])
def test_wrong_scaling_efficiencies_are_refused(ask: Ask, efficiency: str) -> None:
    made = ask("POST", "/api/v1/comparisons", json=HEAD_TO_HEAD).json()["id"]
    response = ask("GET", f"/api/v1/comparisons/{made}", params={"scaling_efficiency": efficiency})
    assert fields(response, response.status_code) == ["scaling_efficiency"]
    assert response.status_code in (400, 422)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)

PLACES = st.sampled_from(
    ["model", "model.preset", "workload", "workload.tokens", "workload.global_batch", "system", "system.id",
     "system.count", "plan", "plan.tensor", "plan.micro_batch", "plan.sharding", "software", "currency",
     "assumptions", "assumptions.electricity_per_kwh"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=PLACES, value=VALUES)
def test_nothing_in_a_request_makes_the_server_fail(ask: Ask, place: str, value: object) -> None:
    text = json.dumps(changed(GPT3, place, value))
    response = ask("POST", "/api/v1/estimates", content=text, headers=JSON)
    assert response.status_code in (201, 400, 404, 409, 413, 422), response.text[:300]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=VALUES)
def test_no_body_makes_any_endpoint_fail(ask: Ask, body: object) -> None:
    for path in ("checks", "mappings", "comparisons", "profiles"):
        response = ask("POST", f"/api/v1/{path}", content=json.dumps(body), headers=JSON)
        assert response.status_code in (201, 400, 404, 409, 422), response.text[:300]


def test_a_check_that_is_right_passes(ask: Ask) -> None:
    assert ask("POST", "/api/v1/checks", json=CHECK).json()["suggested_devices"] == 128


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("fabrics", FABRIC, "nodes"),
        ("boms", BILL, "count"),
        ("breakevens", BREAK_EVEN, "onprem_monthly"),
        ("estimates", GPT3, "system.count"),
        ("estimates", GPT3, "workload.tokens"),
        ("partitions", PARTITIONS, "requests[0].devices"),
    ],
)
def test_true_is_no_number(ask: Ask, path: str, body: dict[str, Any], wrong: str) -> None:
    """Pydantic would count it as 1."""
    copy = json.loads(json.dumps(body))
    *above, last = re.findall(r"[a-z_]+|\d+", wrong)
    target = copy
    for name in above:
        target = target[int(name) if name.isdigit() else name]
    target[last] = True
    assert fields(ask("POST", f"/api/v1/{path}", json=copy), 422) == [wrong]


@pytest.mark.parametrize("hours", [1e-300, 1e-9])
def test_a_job_of_no_length_is_refused(ask: Ask, hours: float) -> None:
    body = changed(QUEUE, "teams", [QUEUE["teams"][1] | {"hours": hours}])
    assert fields(ask("POST", "/api/v1/queues", json=body), 400) == ["teams[0].hours"]


def test_runs_that_scatter_beyond_their_mean_are_weighed(ask: Ask) -> None:
    """Their band would reach below zero, which is no throughput."""
    body = {**FABRICS_MEASURED, "measured": {"infiniband": [0.5, 998, 999], "roce": [985, 990, 980]}}
    answer = ask("POST", "/api/v1/fabric-choices", json=body)
    assert answer.status_code == 200, answer.text[:500]
    option = next(one for one in answer.json()["options"] if one["label"] == "infiniband")
    assert option["measured"]["runs"][0] == 0.5
    assert option["time_to_train"]["high"] > option["time_to_train"]["value"]


@pytest.mark.parametrize("charset", ["utf-7", '"UTF-7"', "unicode_escape", "latin-1", "idna", "no-such", ""])
@pytest.mark.parametrize(
    "path",
    ["/api/v1/profiles", "/api/v1/workloads", "/api/v1/price-books", "/keys", "/webhooks", "/price-books"],
)
def test_a_form_in_another_character_set_is_refused(ask: Ask, path: str, charset: str) -> None:
    head = 'Content-Disposition: form-data; name="file"; filename="+2AA-\\ud800.csv"'
    body = f"--B\r\n{head}\r\n\r\nx\r\n--B--\r\n".encode()
    kind = f"multipart/form-data; boundary=B; charset={charset}"
    said = problem(ask("POST", path, content=body, headers={"content-type": kind}), 415)
    assert "UTF-8" in said["detail"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf8"'])
def test_a_form_that_says_that_it_is_in_utf8_is_read(ask: Ask, charset: str) -> None:
    head = 'Content-Disposition: form-data; name="file"; filename="길이.csv"'
    body = f"--B\r\n{head}\r\n\r\nlength\r\n5\r\n7\r\n--B--\r\n".encode()
    kind = f"multipart/form-data; boundary=B; charset={charset}"
    answer = ask("POST", "/api/v1/workloads", content=body, headers={"content-type": kind})
    assert answer.status_code == 201 and "길이" in answer.json()["name"]


def test_a_body_has_the_limit_of_its_route(ask: Ask) -> None:
    """Values are counted before they are made; commas in texts are none."""
    many, large = b"1," * SMALL_BODY.values, b'{"model": {"config": {"a": [%s 1]}}}'
    found = problem(ask("POST", "/api/v1/checks", content=b"[%s 1]" % many, headers=JSON), 413)
    assert f"{SMALL_BODY.values:,} values" in found["detail"] and "split" in found["detail"]
    refusal = ask("POST", "/api/v1/estimates", content=large % many, headers=JSON)
    assert problem_of(refusal) == (422, "unprocessable_input", "model.config.hidden_size", "system")
    text = b'{"label": "%s"}' % many
    refusal = ask("POST", "/api/v1/checks", content=text, headers=JSON)
    assert problem_of(refusal) == (422, "unprocessable_input", "devices", "global_batch", "label")


@pytest.mark.parametrize("text", ['"' + '\\"' * 500_000, '"' + "," * 500_000 + "\\", "[" * 500_000])
def test_values_of_a_broken_text_are_counted_at_once(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(BadInput if text[0] == '"' else TooLarge):
        json_bodies.read_json(text.encode(), 10)
    assert time.process_time() - begun < 2


def test_no_place_is_longer_than_what_is_told_of_it() -> None:
    with pytest.raises(BadInput) as refused:
        json_bodies.read_json(json.dumps({"a" * 100_000: [float("nan")] * 10_000}).encode())
    assert len(refused.value.errors[0].field) == json_bodies.MAX_FIELD
