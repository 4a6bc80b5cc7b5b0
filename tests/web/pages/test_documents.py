from __future__ import annotations

import pytest

from app.web.pages.documents import available
from tests.web.pages.conftest import Reader


@pytest.mark.parametrize("address", [address for address, _ in available()])
def test_documents_are_rendered_and_linked_from_every_page(reader: Reader, address: str) -> None:
    assert reader.page(address).select_one("article h1") is not None
    assert reader.page("/catalog").select_one(f"footer a[href='{address}']") is not None


def test_only_documents_that_exist_are_linked(reader: Reader) -> None:
    linked = {link["href"] for link in reader.page("/").select("footer nav a")} - {"/index.json"}
    assert linked == {address for address, _ in available()}
