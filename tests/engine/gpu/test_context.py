"""What the ranks of a context exchange."""

import pytest

from tests.conftest import answer

PLAN = {"tensor": 8, "context": 16, "data": 1, "micro_batch": 1, "recompute": "full", "interleave": 1}
SLOW = {"count": 128, "fabric": "ethernet-25", "ports_per_node": 1}


def exchanged(pipeline: int) -> float:
    """Time in which one micro-batch waits for its ranks on a stage, with an exchange that nothing hides."""
    found = answer(
        model={"preset": "llama-65b"},
        workload={"samples": 1e5, "global_batch": 16, "seq_len": 32768},
        system=SLOW | {"count": 16 * pipeline},
        plan=PLAN | {"pipeline": pipeline},
    )
    assert found.breakdown is not None and found.plan is not None
    parts = {part.part: part.seconds for part in found.breakdown}
    return parts["tensor_comm"] / found.steps / found.plan.accumulation


def test_a_stage_exchanges_what_its_own_layers_need() -> None:
    whole, quarter = exchanged(1), exchanged(4)
    assert quarter == pytest.approx(whole / 4, rel=0.02)
