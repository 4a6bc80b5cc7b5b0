"""How the work of a micro-batch on a GPU is divided between its forward and its backward pass."""

from __future__ import annotations

import numpy as np

from app.engine.gpu.operators import gpu_operator_times, recomputed_share
from app.engine.gpu.work import layer_exchange_time
from app.engine.operators import OperatorTable, Section, Split
from app.engine.plans import Plans, Recompute
from app.engine.records import Floats, GpuSoftware, GpuSystem, Precision


def forward_share(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, precision: Precision
) -> Floats:
    r"""Share of a micro-batch's time in the layers that its forward pass takes.

    .. math:: s = \frac{\sum_i f_i + c / k}{\sum_i \left( (1 + a_i) f_i + b_i \right) + c}

    Parameters
    ----------
    table : OperatorTable
        The model; operators of its layers count, :math:`i`. [-]
    plans : Plans
        The plans. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Efficiencies of the software stack. [-]
    precision : Precision
        Number format of the products. [-]

    Returns
    -------
    share : array
        Between 0 and 1: forward passes of operators, :math:`f_i`, over forward passes, those that are
        repeated for the backward pass, :math:`a_i`, and backward passes, :math:`b_i`; ranks exchange
        :math:`c` in :math:`k` passes, two, or three where layers are computed again. [-]

    Notes
    -----
    Valid for layers of one kind; embedding and head are left out, for most stages have neither. What a
    micro-batch waits for beside operators and exchanges, launches and transfers between stages, is not
    divided here: a schedule divides it alike.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2 and appendix.

    Examples
    --------
    ``tests/engine/gpu/test_directions.py`` holds worked values: about a third, a quarter where layers are
    computed again.

    >>> float(Recompute.FULL)
    2.0
    """
    times = gpu_operator_times(table, plans, system.chip, system.kernels, software, precision)
    repeated = recomputed_share(table, plans, software.fused_attention)
    column = (-1,) + (1,) * (times.forward.ndim - 1)
    divided = np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)
    ranks = np.where((table.split == Split.SEQUENCE).reshape(column), divided, 1.0)
    inside = (table.section == Section.LAYER).reshape(column) / ranks
    ahead = np.sum(times.forward * inside, axis=0)
    again = repeated.reshape(repeated.shape + (1,) * (times.forward.ndim - repeated.ndim))
    back = np.sum((times.forward * again + times.backward) * inside, axis=0)
    exchanged = layer_exchange_time(table, plans, system, software, precision)
    passes = np.where(plans.recompute == Recompute.FULL, 3.0, 2.0)
    whole = ahead + back + exchanged
    return np.asarray((ahead + exchanged / passes) / np.where(whole > 0, whole, 1.0))
