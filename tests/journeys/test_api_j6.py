"""Journey 6 through the API: a frozen Korean proposal, and three months later."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pypdf

from tests.journeys.conftest import Ask
from tests.support.views import PUBLISHED


def test_sales_tooling_freezes_a_korean_proposal(
    ask: Ask, post: Callable[..., Any], get: Callable[..., Any]
) -> None:
    checks = post("/checks", {"devices": 160, "global_batch": 8192})
    assert checks["suggested_devices"] == 128
    comparison = post("/comparisons", {"title": "BERT-Large", "locale": "ko", "rows": PUBLISHED})
    body = {
        "comparison_id": comparison["id"],
        "customer": "하이퍼커넥트",
        "locale": "ko",
        "currency": "KRW",
        # Published figures are recommended by their author alone.
        "recommended": "1 × IPU-POD64",
        "reason": "전력과 가격이 같은 조건에서 학습 시간이 가장 짧습니다.",
        "valid_until": "2099-03-31",
    }
    key = {"Idempotency-Key": "hyperconnect-1"}
    first, second = (post("/proposals", body, headers=key) for _ in range(2))
    assert first == second
    assert len(get("/proposals")["items"]) == 1
    address = f"/proposals/{first['id']}"

    frozen = post(f"{address}/freeze")
    assert frozen["status"] == "frozen" and len(frozen["sha256"]) == 64
    downloads = [ask("GET", f"/api/v1{address}.pdf").content for _ in range(2)]
    assert downloads[0] == downloads[1]
    pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(downloads[0])).pages]
    for word in ("하이퍼커넥트", "69.5", "13.2", "가정", "출처", frozen["sha256"][:12]):
        assert any(word in page for page in pages)
    assert 6 <= len(pages) <= 12

    assert ask("PATCH", f"/api/v1{address}", json={"customer": "x"}).status_code == 409
    for kind, start in (("csv", b"section,"), ("xlsx", b"PK")):
        assert ask("GET", f"/api/v1{address}.{kind}").content.startswith(start)
    shared = post(f"{address}/share", {})
    seen = ask("GET", shared["url"])
    assert seen.status_code == 200 and "noindex" in seen.headers["x-robots-tag"]
    assert ask("DELETE", f"/api/v1{address}/share").status_code == 204
    assert ask("GET", shared["url"]).status_code == 404
    assert post(f"{address}/replay")["changes"] == []
    kinds = [event["kind"] for event in get(f"{address}/events")["items"]]
    assert kinds == ["created", "frozen", "shared", "opened", "unshared", "replayed"]
