"""How long a proposal takes on paper: processor time is held, wall time is printed."""

import io
import time

import pypdf
import pytest

from app.features.proposals.pdf import proposal_pdf
from tests.features.proposals.conftest import modelled, proposal

pytestmark = pytest.mark.benchmark

LIMIT = 1.0
"""Processor time of a Korean proposal of ten pages. [s]"""


def test_a_korean_proposal_of_ten_pages_is_set_within_a_second() -> None:
    made = proposal(modelled())
    pages = len(pypdf.PdfReader(io.BytesIO(proposal_pdf(made))).pages)
    spent, waited = [], []
    for _ in range(5):
        processor, wall = time.process_time(), time.perf_counter()
        proposal_pdf(made)
        spent.append(time.process_time() - processor)
        waited.append(time.perf_counter() - wall)
    print(f"seconds of a proposal of {pages} pages: {min(spent):.2f} processor, {min(waited):.2f} wall")
    assert pages >= 9
    assert min(spent) < LIMIT
