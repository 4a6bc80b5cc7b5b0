"""The decision of a comparison: its limits, its demand, and stored estimates as rows."""

from __future__ import annotations

from typing import Any

import pytest

from app.platform.web.examples import STUDY
from tests.support.application import Ask

BERT: dict[str, Any] = {"model": {"preset": "bert-large"}, "workload": {"samples": 1e7}}

DGX = {**BERT, "system": {"id": "dgx-a100-640gb", "count": 3}, "label": "DGX"}
POD = {**BERT, "system": {"id": "bow-pod64"}, "label": "Pod"}
VENDOR = {"label": "Vendor", "hours": 2.0, "kind": "vendor"}


def compared(ask: Ask, *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = ask("POST", "/api/v1/comparisons", json={"rows": list(rows), **more})
    assert made.status_code == 201, made.text
    return dict(made.json())


def test_published_rows_change_nothing_between_offers(ask: Ask) -> None:
    alone, beside = compared(ask, DGX, POD), compared(ask, DGX, POD, VENDOR)
    first, second = alone["decision"], beside["decision"]
    assert first["recommended"] == second["recommended"] is not None
    assert first["options"] == second["options"][:2]
    assert second["options"][2]["id"] == "Vendor" and second["options"][2]["why_not"] == "published"


def test_limits_are_kept_changed_and_shown_on_the_page(ask: Ask) -> None:
    limits = {"deadline_s": 600.0, "probability": 0.9}
    made = compared(ask, DGX, POD, limits=limits)
    assert made["decision"]["recommended"] is None
    address = f"/api/v1/comparisons/{made['id']}"
    assert ask("GET", address).json()["decision"] == made["decision"]
    changed = ask("PATCH", address, json={"limits": {"deadline_s": 86_400.0}}).json()["decision"]
    assert changed["question"]["deadline_s"] == 86_400.0 and changed["recommended"] is not None
    page = ask("GET", f"/comparisons/{made['id']}", headers={"accept": "text/html"}, follow_redirects=True)
    assert page.status_code == 200 and 'id="decision"' in page.text


def test_a_stored_estimate_is_a_row_as_it_was_stored(ask: Ask) -> None:
    kept = ask("POST", "/api/v1/estimates", json=DGX).json()
    made = compared(ask, {"estimate_id": kept["id"]}, {"estimate_id": kept["id"], "label": "Again"}, POD)
    assert [row["label"] for row in made["rows"]] == ["DGX", "Again", "Pod"]
    assert made["rows"][0]["hours"] == pytest.approx(kept["time_to_train"]["value"] / 3600)
    assert [one["id"] for one in made["decision"]["options"]] == ["DGX", "Again", "Pod"]
    won = compared(ask, {"estimate_id": kept["id"]}, currency="KRW")
    assert won["decision"]["options"][0]["outlay"]["unit"] == "KRW"


def test_labels_of_stored_estimates_are_made_unique(ask: Ask) -> None:
    kept = ask("POST", "/api/v1/estimates", json=DGX).json()["id"]
    made = compared(ask, {"estimate_id": kept}, {"estimate_id": kept})
    assert [one["id"] for one in made["decision"]["options"]] == ["DGX", "DGX (2)"]
    longest = ask("POST", "/api/v1/estimates", json={**DGX, "label": "D" * 200}).json()["id"]
    made = compared(ask, {"estimate_id": longest}, {"estimate_id": longest})
    assert ask("GET", f"/api/v1/comparisons/{made['id']}").json() == made
    assert [row["label"] for row in made["rows"]] == ["D" * 200, f"{'D' * 200} (2)"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"rows": [{"estimate_id": "est_none"}]}, 404, "rows[0].estimate_id"),
        ({"rows": [DGX], "limits": {"budget": -1}}, 400, "limits.budget"),
        ({"rows": [DGX], "limits": {"deadline": 1}}, 422, "limits.deadline"),
        (
            {"rows": [{**DGX, "assumptions": {"demand": {"runs": 1}}},
                      {**POD, "assumptions": {"demand": {"runs": 2}}}]},
            400,
            "rows[1].assumptions.demand",
        ),
        ({"rows": [{**DGX, "assumptions": {"demand": {"runs": 0}}}]}, 400, "rows[0].assumptions.demand.runs"),
    ],
)  # fmt: skip
def test_what_cannot_be_decided_is_refused_by_field(
    ask: Ask, body: dict[str, Any], status: int, field: str
) -> None:
    refused = ask("POST", "/api/v1/comparisons", json=body)
    assert refused.status_code == status, refused.text
    assert refused.json()["errors"][0]["field"] == field


def test_a_comparison_is_a_study_in_a_list_of_its_own(ask: Ask) -> None:
    study = ask("POST", "/api/v1/studies", json=STUDY).json()["id"]
    made = compared(ask, {**VENDOR, "label": "Before"}, title="Alone", locale="ko")
    address = f"/api/v1/comparisons/{made['id']}"
    assert ask("PATCH", address, json={"title": "Renamed"}).json()["locale"] == "ko"
    assert ask("PATCH", address, json={"rows": [VENDOR]}).json()["title"] == "Renamed"
    (row,) = [one for one in ask("GET", "/api/v1/comparisons").json()["items"] if one["id"] == made["id"]]
    assert (row["title"], row["labels"]) == ("Renamed", ["Vendor"])
    studies = ask("GET", "/api/v1/studies?limit=200").json()["items"]
    assert study in {one["id"] for one in studies} and made["id"] not in {one["id"] for one in studies}
    for method, other in (
        ("GET", f"/api/v1/studies/{made['id']}"),
        ("PATCH", f"/api/v1/studies/{made['id']}"),
        ("DELETE", f"/api/v1/studies/{made['id']}"),
        ("GET", f"/api/v1/comparisons/{study}"),
        ("DELETE", f"/api/v1/comparisons/{study}"),
    ):
        assert ask(method, other, json={} if method == "PATCH" else None).status_code == 404, other
    assert ask("DELETE", address).status_code == 204 and ask("GET", address).status_code == 404
    events = ask("GET", f"/api/v1/audit-events?object_id={made['id']}").json()["items"]
    assert [event["action"].partition(".")[0] for event in events] == ["comparison"] * 4


def test_a_figure_is_scaled_from_a_row_there_is(ask: Ask) -> None:
    row = {"label": "Three", "hours": 3.0, "kind": "vendor", "scaled_from": "Nobody", "factor": 3}
    refused = ask("POST", "/api/v1/comparisons", json={"rows": [VENDOR, row]})
    assert refused.status_code == 404
    assert refused.json()["errors"][0]["field"] == "rows[1].scaled_from"
