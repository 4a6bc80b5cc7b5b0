"""Effects of chips, software and families: which of them an estimate has, and by how much it takes longer."""

from dataclasses import replace

import pytest

from app.estimating.effects import UNNAMED, Effect, Effects, time_factor
from app.estimating.estimate import estimate
from tests.conftest import DATA, asked, sizing_context

ROWS = Effects(
    (
        Effect("chip", "h100-pcie", 1.2, 0.03, ""),
        Effect("software", "xla", 1.1, 0.05, ""),
        Effect("family", "moe", 1.5, 0.05, ""),
    )
)

FITTED = frozenset({"a100"})


def test_a_chip_is_known_by_how_its_identifier_begins() -> None:
    software = sizing_context().software.profile("xla")
    assert ROWS.of("h100-pcie-80gb", software, "moe", FITTED) == ROWS.rows
    assert [row.name for row in ROWS.of("h100-sxm-80gb", software, "gpt", FITTED)] == ["xla"]
    assert time_factor(ROWS.of("h100-pcie-80gb", software, "gpt", FITTED)) == pytest.approx(1.32)


def test_what_was_fitted_has_no_effect_beside_it() -> None:
    software = sizing_context().software.profile("hugectr")
    rows = Effects((Effect("family", "dlrm", 1.2, 0.03, ""),))
    assert rows.of("a100-sxm-80gb", software, "dlrm", FITTED) == ()
    assert rows.of("h100-sxm-80gb", software, "dlrm", FITTED) == rows.rows


def test_nothing_is_added_on_ipus() -> None:
    software = sizing_context().software.profile("poplar-3-popart")
    assert ROWS.of("bow", software, "moe", FITTED) == ()


def test_a_class_of_software_has_no_effect_of_its_own() -> None:
    rows = sizing_context().effects.rows
    named = {row.name for row in rows if row.kind == "software"} - {UNNAMED}
    assert named
    assert not any(sizing_context().software.profiles[name].is_preset for name in named)


def test_an_estimate_is_as_many_times_longer() -> None:
    """Whichever plan is chosen: a factor on all of them changes no order."""
    request = asked(plan={"micro_batch": 16}, software="gpu-fused")
    slower = Effects((Effect("chip", "a100-sxm", 1.25, 0.05, ""),))
    plain, slow = (replace(sizing_context(), effects=rows) for rows in (Effects(), slower))
    first, second = (estimate(request, context) for context in (plain, slow))
    assert first.step_time is not None and second.step_time is not None
    assert second.step_time.value == pytest.approx(1.25 * first.step_time.value)


def test_the_files_name_what_the_catalogue_has() -> None:
    context = sizing_context()
    chips = context.catalog.names("chip")
    for row in context.effects.rows:
        assert row.factor > 0 and row.deviation > 0 and "groups" in row.note
        if row.kind == "chip":
            assert any(chip == row.name or chip.startswith(f"{row.name}-") for chip in chips)
    assert (DATA / "effects.csv").read_text().startswith("kind,name,factor,deviation,note")


def test_software_that_nobody_names_changes_nothing_where_a_chip_has_one_stack() -> None:
    context = sizing_context()
    for chip, profile, known in (("tpu-v5p", "xla", False), ("h100-sxm-80gb", "megatron-core-2024", True)):
        unnamed = replace(context.software.profile(profile), presumed=True)
        found = context.effects.of(chip, unnamed, "llama", context.measured.series)
        assert any(row.name == UNNAMED for row in found) == known
