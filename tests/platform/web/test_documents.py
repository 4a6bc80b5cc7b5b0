from __future__ import annotations

import pytest

from app.platform.web.rendering import documents
from tests.support.application import Reader

WRITTEN = ["/methodology", "/accuracy/report"]

OTHERS = {"/glossary", "/docs", "/index.json", "/keys", "/webhooks", "/audit"}
"""What stands beside the documents at the foot of the page."""

IN_MENU = {"/accuracy"}
"""Documents that the menu leads to."""


@pytest.mark.parametrize("address", WRITTEN)
def test_documents_are_rendered(reader: Reader, address: str) -> None:
    assert reader.page(address).select_one("article h1") is not None


@pytest.mark.parametrize("address", [f"/{name}" for name in documents()])
def test_documents_are_linked_from_every_page(reader: Reader, address: str) -> None:
    place = "nav.menu" if address in IN_MENU else "footer"
    assert reader.page("/catalog").select_one(f"{place} a[href='{address}']") is not None


def test_only_documents_that_exist_are_linked(reader: Reader) -> None:
    linked = {link["href"] for link in reader.page("/").select("footer nav a")}
    assert linked - OTHERS == {f"/{name}" for name in documents()} - IN_MENU


def test_every_link_at_the_foot_leads_to_a_page(reader: Reader) -> None:
    for link in reader.page("/").select("footer nav a"):
        assert reader.arrive(link["href"]).status_code == 200, link["href"]


@pytest.mark.parametrize("address", WRITTEN)
def test_links_between_documents_lead_to_places_on_the_pages(reader: Reader, address: str) -> None:
    page = reader.page(address)
    pages = {address: page} | {f"/{name}": reader.page(f"/{name}") for name in documents()}
    links = [link["href"] for link in page.select(".document a")]
    assert not [link for link in links if ".md" in link]
    for link in links:
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = pages[path or address]
            assert not anchor or target.find(id=anchor) is not None, link


@pytest.mark.parametrize("address", WRITTEN)
def test_wide_tables_scroll_in_a_box_with_a_name(reader: Reader, address: str) -> None:
    page = reader.page(address)
    assert page.select("article table")
    for table in page.select("article table"):
        assert "scroll" in table.parent["class"]
        assert page.find(id=table.parent["aria-labelledby"]) is not None
    assert not page.select("[style]")
    anchors = [one["id"] for one in page.select("[id]")]
    assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize("address", WRITTEN)
def test_twin_has_the_sections_of_the_contents(reader: Reader, address: str) -> None:
    page, data = reader.page(address), reader.data(f"{address}.json")
    assert data["title"] == page.select_one("article h1").get_text()
    listed = [(link["href"], link.get_text()) for link in page.select(".contents a")]
    assert listed == [(f"#{one['anchor']}", one["heading"]) for one in data["sections"]]
    assert all(one["markdown"] for one in data["sections"])


def test_pictures_are_in_the_page_and_say_what_they_show(reader: Reader) -> None:
    pictures = reader.page("/methodology").select("article img")
    assert pictures
    for picture in pictures:
        assert picture["src"].startswith("data:image/") and len(picture["alt"]) > 20


def test_methodology_begins_with_its_index(reader: Reader) -> None:
    page = reader.page("/methodology")
    assert page.select_one("article").find(["h1", "h2"])["id"] == "index"
    assert len(page.select("article h1")) == 1


def test_korean_readers_are_told_of_the_language(korean: Reader) -> None:
    page = korean.page("/accuracy/report")
    assert page.select_one(".prose > .hint").get_text() == "이 문서는 영어로 작성되어 있습니다."
    assert page.select_one("article")["lang"] == "en"
