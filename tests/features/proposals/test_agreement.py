"""Page, JSON, PDF, workbook and CSV of one proposal agree on every number."""

from __future__ import annotations

import io
import re
from typing import Any

import openpyxl
import pytest

from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoiceRequest
from app.features.proposals.evidence import NamedAnswers
from app.features.proposals.model import Proposal
from app.features.proposals.pdf import proposal_pdf
from app.features.proposals.sheets import proposal_csv, proposal_workbook
from app.features.proposals.writing.proposal import write_proposal
from app.platform.web.examples import FABRICS_MEASURED
from app.platform.wording.voice import voice
from tests.conftest import sizing_context
from tests.features.proposals.conftest import CLAIMED, modelled, proposal
from tests.support.renderings import Renderings, hold, hold_warnings

OPTIONS = {"claimed": CLAIMED, "modelled": modelled()}


def words_of(made: Proposal) -> str:
    """Return every text of the written proposal, which the page is made of."""
    return repr(write_proposal(made, voice(made.content.locale)))


def renderings(made: Proposal) -> Renderings:
    return Renderings(
        document=made.content.model_dump(mode="json"),
        table=proposal_csv(made),
        workbook=proposal_workbook(made),
        paper=proposal_pdf(made),
        page=words_of(made),
    )


@pytest.fixture(scope="module")
def answers() -> NamedAnswers:
    """Networks with the customer's runs on both."""
    asked = FabricChoiceRequest.model_validate(FABRICS_MEASURED)
    return NamedAnswers(networks=choose_fabric(asked, sizing_context()))


@pytest.mark.parametrize("options", list(OPTIONS))
@pytest.mark.parametrize("locale", ["ko", "en", "zh"])
def test_every_number_is_the_same_everywhere(options: str, locale: str, answers: NamedAnswers) -> None:
    chosen = {"recommended": "1 × IPU-POD64"} if options == "claimed" else {}
    made = proposal(OPTIONS[options], answers=answers, locale=locale, **chosen)
    assert hold(made, renderings(made)) > 40


def test_every_warning_of_the_page_is_in_the_pdf_and_the_tables(answers: NamedAnswers) -> None:
    made = proposal(modelled(), answers=answers)
    hold_warnings(made, renderings(made))


def computed(sheet: Any, reference: str) -> float:
    """Return the value of a cell, its formula computed: products, sums and references of one sheet."""
    value = sheet[reference.replace("$", "")].value
    if not isinstance(value, str) or not value.startswith("="):
        return float(value or 0.0)
    rounded = re.fullmatch(r"=ROUND\((.+),(\d)\)", value)
    if rounded:
        return round(product(sheet, rounded[1]), int(rounded[2]))
    summed = re.fullmatch(r"=SUM\(([A-Z]+)(\d+):[A-Z]+(\d+)\)", value)
    if summed:
        column, first, last = summed.groups()
        return sum(computed(sheet, f"{column}{row}") for row in range(int(first), int(last) + 1))
    return product(sheet, value[1:])


def product(sheet: Any, text: str) -> float:
    """Return the product of cells."""
    found = 1.0
    for factor in text.split("*"):
        found *= computed(sheet, factor)
    return found


def test_the_formulas_of_the_workbook_give_the_totals_of_the_proposal() -> None:
    made = proposal(modelled())
    # Proposals of before there were formulas of outlays have their costs over the term.
    earlier = made.content.model_copy(update={"outlays": []})
    made = made.model_copy(update={"content": earlier})
    book = openpyxl.load_workbook(io.BytesIO(proposal_workbook(made)))
    bill = book["구성 명세"] if "구성 명세" in book else book[voice("ko").gettext("Bill of materials")]
    totals = [
        computed(bill, f"F{row[0].row}") for row in bill.iter_rows() if row[0].value in {"합계", "합계(최소)"}
    ]
    assert totals == pytest.approx([one.total.value for one in made.content.bills if one.total])
    # Proposals that were frozen before outlays were formulas have the cost of their useful hours.
    earlier = made.model_copy(update={"content": made.content.model_copy(update={"outlays": []})})
    book = openpyxl.load_workbook(io.BytesIO(proposal_workbook(earlier)))
    term = book[voice("ko").gettext("Cost over the term")]
    assert made.content.term is not None
    for row, one in enumerate(made.content.term.options, start=2):
        assert computed(term, f"F{row}") == pytest.approx(one.over_term.value)
    term["E2"].value = 2 * made.content.term.years
    assert computed(term, "F2") == pytest.approx(2 * made.content.term.options[0].over_term.value)


def test_text_that_looks_like_a_formula_stays_text_in_the_tables() -> None:
    made = proposal(customer="=1+1", title="@SUM(A1)", reason="+cmd|' /C calc'!A0\x07")
    book = openpyxl.load_workbook(io.BytesIO(proposal_workbook(made)))
    cells = [cell for row in book[voice("ko").gettext("Proposal")].iter_rows() for cell in row]
    assert {"=1+1", "@SUM(A1)"} <= {cell.value for cell in cells}
    assert all(cell.data_type != "f" for cell in cells)
    assert "'=1+1" in proposal_csv(made)


def test_equal_workbooks_are_equal_bytes() -> None:
    made = proposal(modelled())
    assert proposal_workbook(made) == proposal_workbook(made)
