"""More machines are never slower, and no other batch is faster, over models, systems and counts."""

import pytest

from tests.conftest import sizing_context
from tests.estimating.choices import MODELS, RISES, SYSTEMS, lead_of_others, over_counts

pytestmark = pytest.mark.endurance

PLACES = (
    *(("dgx-a100-640gb", 3), ("dgx-a100-320gb", 20), ("a100-pcie-80gb", 8), ("bow-pod16", 4)),
    ("ipu-pod64", 2),
)
CASES = [(model, system, count) for model in MODELS for system, count in PLACES]


@pytest.mark.parametrize("model", MODELS)
def test_time_never_rises_with_the_count(model: str) -> None:
    rows = [over_counts(model, system, sizing_context()) for system in SYSTEMS]
    for row in rows:
        print(f"{row.model} on {row.system}: {len(row.seconds)} counts, worst rise {row.worst_rise:.2%}")
    assert all(row.worst_rise <= RISES for row in rows)


def test_no_other_batch_is_faster_by_a_hundredth() -> None:
    found = {case: lead_of_others(*case, sizing_context()) for case in CASES}
    for case, lead in found.items():
        if lead is not None:
            print(f"{case}: chosen {lead[1]}, best of twenty others {lead[2]}, faster by {lead[0]:.2%}")
    assert max(lead[0] for lead in found.values() if lead is not None) <= 0.01
