"""Pages of price books and of costs on other terms, without JavaScript."""

from __future__ import annotations

import pytest

from tests.support.application import Reader

COLUMNS = ("item", "parameter", "condition", "value", "unit", "note")


def cells(*rows: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


@pytest.fixture(scope="module")
def book(reader: Reader) -> str:
    answer = reader.submit("/price-books", {"name": "Offers"})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


@pytest.fixture(scope="module")
def estimate(reader: Reader) -> str:
    rows = reader.data(f"{reader.example('bert-large')}.json")["rows"]
    chosen = next(row for row in rows if row["estimate"]["system"]["id"].startswith("dgx"))
    return f"/estimates/{chosen['estimate']['id']}"


def test_the_table_is_edited_and_each_save_is_a_version(reader: Reader, book: str) -> None:
    newest = reader.data(f"{book}.json")["version"]
    fields = {
        "version": str(newest),
        "name": "Offers",
        "comment": "first",
        **cells(
            ("dgx-a100-640gb", "price", "", "200,000", "USD", "offer"),
            ("dgx-a100-320gb", "price", "", "150000", "USD", ""),
            ("", "price", "", "", "", ""),
        ),
    }
    answer = reader.submit(book, fields)
    assert answer.status_code == 303, answer.text
    page = reader.page(book)
    shown = page.select("#rows tbody tr")
    assert [row.select_one("input[name=value]")["value"] for row in shown][:2] == ["200000", "150000"]
    assert "270,000 USD" in shown[0].get_text() and len(shown) == 2 + 3
    assert "first" in page.select_one(".book-versions").get_text()
    stale = reader.submit(book, fields)
    assert stale.status_code == 409
    data = reader.data(f"{book}.json")
    removed = reader.submit(
        book,
        {
            "version": str(data["version"]),
            "name": "Offers",
            "remove": ["1"],
            **cells(
                ("dgx-a100-640gb", "price", "", "200000", "USD", "offer"),
                ("dgx-a100-320gb", "price", "", "150000", "USD", ""),
            ),
        },
    )
    assert removed.status_code == 303
    assert [row["item"] for row in reader.data(f"{book}.json")["rows"]] == ["dgx-a100-640gb"]


def test_a_wrong_row_comes_back_with_its_fault_beside_it(reader: Reader, book: str) -> None:
    version = reader.data(f"{book}.json")["version"]
    answer = reader.submit(
        book,
        {
            "version": str(version),
            "name": "Offers",
            **cells(
                ("dgx-a100-640gb", "price", "", "200000", "USD", ""), ("dgx", "price", "", "1", "USD", "")
            ),
        },
    )
    assert answer.status_code == 400
    from bs4 import BeautifulSoup

    rows = BeautifulSoup(answer.text, "lxml").select("#rows tbody tr")
    assert not rows[0].select(".field-error")
    assert "Row 2, item" in rows[1].select_one(".field-error").get_text()
    assert rows[1].select_one("input[name=item]")["value"] == "dgx"
    assert reader.data(f"{book}.json")["version"] == version


def test_a_hostile_file_is_refused_and_a_hostile_name_is_text(reader: Reader) -> None:
    bad = reader.ask("POST", "/price-books", data={"name": "x"}, files={"file": ("a.csv", b"\xff\x00")})
    assert bad.status_code == 400 and "UTF-8" in bad.text
    name = "<script>alert(1)</script>"
    made = reader.submit("/price-books", {"name": name})
    page = reader.get(str(made.headers["location"]))
    assert name not in page.text and "&lt;script&gt;" in page.text


def test_an_estimate_is_priced_with_the_book(reader: Reader, book: str, estimate: str) -> None:
    identifier = book.rsplit("/", 1)[1]
    usual = reader.data(f"{estimate}/costs.json")["cost"]
    own = reader.data(f"{estimate}/costs.json?price_book_id={identifier}")["cost"]
    assert usual["run"] == reader.data(f"{estimate}.json")["cost"]["run"]
    assert own["run"]["value"] < usual["run"]["value"]
    page = reader.page(f"{estimate}/costs?price_book_id={identifier}")
    assert f"/price-books/{identifier}?version=" in str(page.select_one("#cost"))
    assert "Offers" in page.select_one(".facts").get_text()


def test_terms_change_the_cost_and_stand_in_the_address(reader: Reader, estimate: str) -> None:
    address = f"{estimate}/costs?region=us&discount_rate=0.12&storage_tb=100&currency=KRW"
    page = reader.page(address)
    data = reader.data(address.replace("/costs?", "/costs.json?"))
    basis = data["cost"]["basis"]
    assert (basis["region"], basis["discount_rate"], basis["currency"]) == ("us", 0.12, "KRW")
    names = [row.select_one("th").get_text(strip=True) for row in page.select("#cost tbody tr")]
    assert "storage" in names
    assert page.select_one("option[value=us]").has_attr("selected")
    total = page.select("#cost tfoot td")[2].get_text(strip=True)
    assert "." not in total and "₩" in total
    kept = reader.ask("POST", address)
    assert kept.status_code == 303
    assert reader.data(f"{kept.headers['location']}.json")["cost"]["basis"]["region"] == "us"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("utilisation=3", "utilisation"),
        ("price_date=soon", "price_date"),
        ("price_book_id=pbk_none", "price_book_id"),
        ("amortisation_years=four", "amortisation_years"),
        ("region=mars", "region"),
    ],
)
def test_refused_terms_stand_beside_the_kept_cost(
    reader: Reader, estimate: str, query: str, field: str
) -> None:
    answer = reader.get(f"{estimate}/costs?{query}")
    assert answer.status_code in (400, 404, 422)
    from bs4 import BeautifulSoup

    page = BeautifulSoup(answer.text, "lxml")
    assert page.select_one(f"[name={field}]")["aria-invalid"] == "true"
    assert page.select_one("#result.stale #cost")
