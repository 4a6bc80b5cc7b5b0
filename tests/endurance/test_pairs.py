"""Fifty drawn studies and their proposals agree field by field, each in two currencies."""

from __future__ import annotations

import pytest

from app.platform.workspace import Workspace
from tests.features.proposals.pairs import pair_of

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize("seed", range(50))
def test_a_drawn_study_and_its_proposal_agree(workspace: Workspace, seed: int) -> None:
    assert list(pair_of(workspace, seed)) == []
