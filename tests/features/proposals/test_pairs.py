"""A study and its proposal agree field by field: a few of the drawn ones; the whole runs with endurance."""

from __future__ import annotations

import pytest

from app.platform.workspace import Workspace
from tests.features.proposals.pairs import pair_of

FEW = 10


@pytest.mark.parametrize("seed", range(FEW))
def test_a_drawn_study_and_its_proposal_agree(workspace: Workspace, seed: int) -> None:
    assert list(pair_of(workspace, seed)) == []
