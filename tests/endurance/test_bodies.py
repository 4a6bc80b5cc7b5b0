"""A sample of the largest bodies in the suite; the whole of it by ``python -m tests.endurance.bodies``."""

import numpy as np

from app.platform.web.requirements import LARGE_BODY, SMALL_BODY
from tests.endurance.bodies import bodies, measured


def test_others_hardly_wait_and_memory_comes_back() -> None:
    figures = measured(10, bodies(SMALL_BODY, LARGE_BODY))
    said = "\n".join(figures.lines())
    assert sum(figures.answers.values()) > 12, said
    # A busy machine answers slowly with nobody beside, too.
    assert np.percentile(figures.beside, 95) < max(0.1, 8 * np.percentile(figures.alone, 95)), said
    assert figures.kept < 0.3 and figures.held["most"] < 2 * figures.held["start"], said
