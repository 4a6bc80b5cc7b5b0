"""Operator work once per distinct key, then gathered for every plan.

What one operator costs depends on few of a plan's coordinates. A search over a million plans has
a few hundred distinct combinations of them, so they are computed once each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.plans import Plans
from app.engine.records import Floats


@dataclass(frozen=True, slots=True)
class Keys:
    """Distinct combinations of what operator work depends on, each array of shape (K,)."""

    tensor: Floats
    micro_batch: Floats
    sequence_parallel: Floats
    index: NDArray[np.intp]
    """Combination of each plan, of the plans' shape. [-]"""

    def gather(self, values: Floats) -> Floats:
        """Return values (…, K) for every plan: (…, plans)."""
        return np.asarray(values[..., self.index])


def plan_shape(plans: Plans) -> tuple[int, ...]:
    """Return the shape that the fields of some plans broadcast to.

    Parameters
    ----------
    plans : Plans
        Plans whose fields broadcast. [-]

    Returns
    -------
    shape : tuple of int
        Common shape. [-]

    References
    ----------
    .. [1] C. Harris et al., "Array programming with NumPy," Nature 585, 2020 (broadcasting).

    Examples
    --------
    >>> plan_shape(Plans.of(data=[1, 2, 4], micro_batch=8))
    (3,)
    """
    fields = (getattr(plans, name) for name in Plans.__slots__)
    return np.broadcast_shapes(*(np.shape(field) for field in fields))


def distinct_keys(plans: Plans) -> Keys:
    """Return the distinct tensor degrees, micro-batches and sequence splits of some plans.

    Parameters
    ----------
    plans : Plans
        Plans whose fields broadcast. [-]

    Returns
    -------
    keys : Keys
        Distinct combinations and which of them each plan has. [-]

    References
    ----------
    .. [1] C. Harris et al., "Array programming with NumPy," Nature 585, 2020 (indexing).

    Examples
    --------
    >>> keys = distinct_keys(Plans.of(micro_batch=[1, 8, 1]))
    >>> keys.micro_batch.tolist(), keys.gather(np.array([10.0, 20.0])).tolist()
    ([1.0, 8.0], [10.0, 20.0, 10.0])
    """
    shape = plan_shape(plans)
    values: list[Floats] = []
    code = np.zeros((), dtype=np.intp)
    for column in (plans.tensor, plans.micro_batch, plans.sequence_parallel):
        levels, inverse = np.unique(column, return_inverse=True)
        values.append(levels)
        code = np.asarray(code * len(levels) + inverse.reshape(np.shape(column)))
    distinct, inverse = np.unique(np.broadcast_to(code, shape), return_inverse=True)
    places = np.unravel_index(distinct, tuple(len(levels) for levels in values))
    tensor, micro_batch, sequence = (levels[place] for levels, place in zip(values, places, strict=True))
    return Keys(tensor, micro_batch, sequence, np.asarray(inverse.reshape(shape), dtype=np.intp))
