"""Which inputs the range of the time to train comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from app.engine.plans import Plans
from app.engine.records import Floats
from app.engine.uncertainty import band, linear_effects, share_of_range, variance_shares
from app.sizing.document import Sensitivity
from app.sizing.runtime import Run, least_step
from app.sizing.scenario import Scenario

RESIDUAL = "residual"
"""What the figures of the software leave unexplained in measured runs, and what inputs do together."""

LEAST_WIDTH = 0.01
"""Share of the range below which an input is not shown."""


def sensitivity_of(
    scenario: Scenario,
    plans: Plans,
    run: Run,
    factors: Floats,
    normals: Mapping[str, Floats],
    others: Sequence[str],
) -> list[Sensitivity]:
    r"""Return what each uncertain input has of the range of the time to train, the most first.

    The samples are those of the range itself. What the residual factor :math:`f` leaves of the time is
    regressed on the columns of the inputs, where the sample was not clipped. An input has the share of the
    variance of :math:`\ln T` that its part explains, the residual has the rest, and each has the root of its
    share of the range.

    .. math:: \ln T_i - \ln f_i \approx a + \sum_k b_k z_{k i}, \quad
        S_k = \frac{\operatorname{Cov}(b_k z_k, \ln T)}{\operatorname{Var}(\ln T)}

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software.
    plans : Plans
        One plan.
    run : Run
        The run with its samples.
    factors : array
        Residual factors that the samples were drawn with.
    normals : mapping
        Standard normals that they were drawn with.
    others : sequence of str
        What is uncertain of the run beside its software: columns of the normals.
    """
    profile = scenario.software
    software = [
        name
        for name, figure in profile.figures.items()
        if figure.deviation > 0 and name not in scenario.overrides and name in normals
    ]
    drawn = profile.correlated(normals) or normals
    columns = {f"software.{name}": drawn[name] for name in software}
    columns |= {name: normals[name] for name in others}
    logarithm = np.log(run.total_samples)
    table = np.array(list(columns.values())).reshape(len(columns), logarithm.size)
    # A sample that was clipped at the perfect step no longer tells what moved it.
    free = run.step_samples > least_step(scenario, plans, run.step.total)[0] * (1.0 + 1e-9)
    rest = logarithm - np.log(factors)
    effects = linear_effects(rest[free], table[:, free]) if np.any(free) else np.zeros(len(columns))
    shares = variance_shares(logarithm, effects[:, np.newaxis] * table)
    low, high = band(run.total_samples, run.total)
    found = [
        sensitivity(name, float(share), (run.total, float(low), float(high)), effect)
        for name, share, effect in zip(
            [*columns, RESIDUAL], shares, [*map(float, effects), None], strict=True
        )
    ]
    found.sort(key=lambda one: -one.share)
    return [one for one in found if one.share > LEAST_WIDTH**2]


def sensitivity(
    name: str, share: float, band_of: tuple[float, float, float], effect: float | None
) -> Sensitivity:
    """Return what one input has of a range, which is given as value, low and high."""
    low, high = share_of_range(*band_of, share)
    return Sensitivity(input=name, low=float(low), high=float(high), share=share, effect=effect)
