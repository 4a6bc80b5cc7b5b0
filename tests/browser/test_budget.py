"""What a first visit fetches, fonts included."""

from __future__ import annotations

import pytest

from tests.support.windows import Seat

pytestmark = pytest.mark.browser

MOST = 300_000
"""Bytes of a first page without charts. [B]"""


@pytest.mark.parametrize("path", ["/", "/?model.preset=bert-large", "/studies"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_first_page_is_light(window: Seat, korean_window: Seat, path: str, language: str) -> None:
    seat = window if language == "en" else korean_window
    fetched = seat.page.context.new_cdp_session(seat.page)
    fetched.send("Network.enable")
    sizes: list[float] = []
    fetched.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    seat.open(path)
    assert seat.page.evaluate("document.fonts.check('16px \"Rackline Sans\"')")
    assert 20_000 < sum(sizes) < MOST
    assert len([address for address in seat.requests if address.endswith(".woff2")]) <= 3
