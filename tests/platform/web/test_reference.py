"""The description of the API as pages: whole, linked, in the reader's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.application import Reader


@pytest.fixture(scope="module")
def openapi(reader: Reader) -> dict[str, Any]:
    return dict(reader.get("/api/v1/openapi.json").json())


def test_every_operation_is_linked_and_shown(reader: Reader, openapi: dict[str, Any]) -> None:
    linked = {link["href"] for link in reader.page("/docs").select("article li a")}
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            address = f"/docs/{operation['operationId']}"
            assert address in linked
            page = reader.page(address)
            assert page.h1.get_text() == operation["summary"]
            said = page.get_text()
            assert f"{method.upper()} {path}" in said
            assert "None" not in said.replace("None-Match", ""), address


def test_every_schema_that_is_linked_has_its_fields(reader: Reader, openapi: dict[str, Any]) -> None:
    schemas = openapi["components"]["schemas"]
    linked = {link["href"] for link in reader.page("/docs").select("#schemas ~ p a")}
    assert linked == {f"/docs/schemas/{name}" for name in schemas}
    for name in ("Estimate", "StudyOption", "Quantity", "ProfileRequest"):
        page = reader.page(f"/docs/schemas/{name}")
        fields = [one.code.get_text() for one in page.select("tbody th")]
        assert fields == list(schemas[name]["properties"])
        assert {link["href"] for link in page.select("td a")} <= linked
        anchors = [one["id"] for one in page.select("[id]")]
        assert len(anchors) == len(set(anchors))


def test_a_page_says_what_is_required_allowed_and_answered(reader: Reader) -> None:
    page = reader.page("/docs/get_comparison")
    rows = {row.th.code.get_text(): row.get_text(" ") for row in page.select("tbody tr")}
    assert "path required" in " ".join(rows["id"].split())
    assert "scaling_efficiency" in rows
    assert page.select_one("a[href='/docs/schemas/Comparison']") and page.select_one("pre code")
    assert page.select_one("a[href='/problems/not-found']")


def test_the_frame_of_the_reference_is_korean(korean: Reader) -> None:
    page = korean.page("/docs/create_estimate")
    assert page.select_one("footer a[href='/docs']").get_text() == "API 레퍼런스"
    assert page.select_one("#body").get_text() == "요청 본문"
    assert page.h1["lang"] == "en"


@pytest.mark.parametrize("address", ["/docs/no_such", "/docs/schemas/NoSuch"])
def test_what_is_not_described_is_not_found(reader: Reader, address: str) -> None:
    assert reader.get(address).status_code == 404
