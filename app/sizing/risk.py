"""Risk in the rank of plans: a kind of plan that was never measured has to be faster by more."""

from __future__ import annotations

import numpy as np

from app.engine.plans import Plans
from app.engine.records import Floats
from app.errors import BadInput
from app.sizing.context import SizingContext
from app.sizing.plan_search import Risk
from app.sizing.regimes import known_regimes, unusual_masks
from app.sizing.scenario import Scenario
from app.sizing.spread import residual_quantile

RANKED_AT = 0.8
"""Share of the runs of a plan that are to stay below the time by which it is ranked."""

WORTH_IT = 1.05
"""How many times as fast a plan of such a kind has to be to be preferred, at :data:`RANKED_AT`."""


def risk_of(scenario: Scenario, family: str, context: SizingContext, probability: float = RANKED_AT) -> Risk:
    r"""Return the factors by which plans of a kind that no published run used are ranked as slower.

    .. math:: f = 1.05^{k q_P / q_{0.8}}

    where :math:`k` counts the ways in which a plan is of such a kind. What else is uncertain moves all plans
    alike, or says how well a number of devices is known and not which plan to take on them.

    Parameters
    ----------
    scenario : Scenario
        Model, hardware and software.
    family : str
        Family of the model.
    context : SizingContext
        What was measured.
    probability : float
        Share of the runs that stay below, :math:`P`; 0.5 ranks by central times.
    """
    if not 0.5 <= probability < 1.0:
        raise BadInput.at("probability", "{value} is not at least 0.5 and below 1", value=probability)
    factor = WORTH_IT ** (residual_quantile(probability) / residual_quantile(RANKED_AT))

    known = known_regimes(scenario, family)

    def factors(plans: Plans) -> Floats:
        masks = [mask for name, mask in unusual_masks(scenario, plans).items() if name not in known]
        ways = np.zeros(plans.tensor.shape, dtype=np.intp)
        for mask in masks:
            ways += mask
        return np.asarray(factor ** np.arange(len(masks) + 1.0))[ways]

    return factors
