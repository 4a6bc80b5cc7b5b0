"""docs/sweeps.md says what the code accepts and answers."""

import json
import re

from app.features.sweeps.model import (
    MOST_POINTS,
    Prices,
    SweepModel,
    SweepRequest,
    SweepScenario,
    SweepSystem,
)
from app.features.sweeps.points import Sweep
from app.features.sweeps.rows import columns
from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from app.settings import VARIABLES
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")


def test_examples_are_those_of_the_api() -> None:
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]
    assert examples == [PRICE_BOOK, FLEET_PLAN]
    assert [Sweep.of(SweepRequest.model_validate(one)).total for one in examples] == [16, 18]


def test_every_field_and_column_is_documented() -> None:
    words = set(re.findall(r"\w+", TEXT))
    for schema in (SweepRequest, SweepModel, SweepSystem, Prices, SweepScenario):
        assert words >= set(schema.model_fields)
    first_cells = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert first_cells[-len(columns()) :] == list(columns())


def test_settings_and_limits_are_those_of_the_code() -> None:
    assert set(re.findall(r"RACKLINE_\w+", TEXT)) <= set(VARIABLES)
    assert f"{MOST_POINTS:,}" in TEXT
