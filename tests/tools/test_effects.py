"""Effects of chips, software and families: found where they are, never those of one laboratory."""

import re

import numpy as np
import pytest

from app.estimating.effects import Effects, time_factor
from tests.conftest import sizing_context
from tools.fitting.effects import fit_effects
from tools.fitting.runs import FitRun, laboratory_of


def architecture(chip: str) -> str:
    return "Hopper" if chip.startswith("h") else "Blackwell"


def run(number: int, chip: str, laboratory: str, *, family: str = "gpt", group: str = "") -> FitRun:
    return FitRun(
        id=f"{laboratory}-{chip}-{number}",
        group=group or f"{laboratory}-{chip}-{number}",
        family=family,
        chip=chip,
        profile="xla",
        devices=8,
        regimes=("gpu_profile_assumed",),
        laboratory=laboratory,
        assumed=True,
        rests_on_runs=False,
        stack=("xla",),
        keys=(),
        predict=lambda figures: np.zeros(1),
    )


def test_a_chip_that_all_laboratories_find_slow_is_told() -> None:
    """Six laboratories each off by a few per cent find one chip 30 % slower than computed."""
    rng = np.random.default_rng(7)
    runs, errors = [], []
    for laboratory in "abcdef":
        own = 0.05 * rng.standard_normal()
        for chip, slow in (("h100-sxm-80gb", 0.0), ("b200-sxm-180gb", np.log(1.3))):
            for number in range(6):
                runs.append(run(number, chip, laboratory))
                errors.append(own - slow + 0.02 * rng.standard_normal())
    found = fit_effects(runs, np.array(errors), lambda one: one.chip.startswith("h100"), architecture)
    (effect,) = found.effects
    assert (effect.kind, effect.name) == ("architecture", "Blackwell"), "the only measured chip of its kind"
    assert effect.factor == pytest.approx(1.3, rel=0.05)
    assert re.findall(r"\d+", effect.note) == ["36", "36", "6"]
    without = found.shifts_without([one.laboratory for one in runs])
    assert np.abs(np.array(errors) + without).max() < 0.25


def test_what_chips_of_an_architecture_share_holds_for_an_unmeasured_one() -> None:
    rng = np.random.default_rng(9)
    runs, errors = [], []
    slow = {"h100-sxm": 1.0, "h100-pcie": 1.0, "b200-sxm": 1.25, "gb200": 1.25}
    for laboratory in "abcdefgh":
        for chip, factor in slow.items():
            for number in range(4):
                runs.append(run(number, chip, laboratory))
                errors.append(-np.log(factor) + 0.02 * rng.standard_normal())
    found = fit_effects(runs, np.array(errors), lambda one: False, architecture)
    software = sizing_context().software.profile("xla")
    effects = Effects(found.effects, {"b300": "Blackwell", "h200": "Hopper"})
    b300, h200 = (time_factor(effects.of(chip, software, "gpt", frozenset())) for chip in ("b300", "h200"))
    assert b300 / h200 == pytest.approx(1.25, rel=0.05)


def test_what_one_laboratory_alone_finds_stays_its_own() -> None:
    """Of twenty laboratories one is 40 % slow on everything: no chip and no software gets slower for it."""
    rng = np.random.default_rng(8)
    runs, errors = [], []
    for laboratory in range(20):
        for number in range(5):
            runs.append(run(number, "b200-sxm-180gb", f"lab {laboratory}"))
            errors.append((-0.4 if laboratory == 0 else 0.0) + 0.02 * rng.standard_normal())
    found = fit_effects(runs, np.array(errors), lambda one: False, str)
    assert found.effects == ()


def test_a_single_group_tells_nothing() -> None:
    runs = [run(number, "b200-sxm-180gb", "one", group="one") for number in range(9)]
    found = fit_effects(runs, np.full(9, -0.5), lambda one: False, str)
    assert found.effects == ()


def test_laboratories_are_those_who_measured() -> None:
    assert laboratory_of("MLCommons, MLPerf Training v1.1, submitter Azure, system nd96") == "Azure"
    assert laboratory_of("NVIDIA-NeMo/Megatron-Bridge@067f987df docs/performance.md") == "NVIDIA-NeMo"
