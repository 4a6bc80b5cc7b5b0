"""Samples to a target by global batch, the time of evaluations, and the loss a model reaches.

A reference convergence point is the mean over some twenty seeds of one tuned recipe.
"""

from __future__ import annotations

import math

import numpy as np

from app.engine.compiled import Vector, formula, inner
from app.engine.records import FloatLike, Floats

_ROUNDING = 1e-12
"""Relative excess over a whole number of steps that is rounding, not work."""


@formula
def samples_law(
    global_batch: float, smallest_samples: float, critical_batch: float, exponent: float
) -> float:
    r"""Return the samples to target as a smooth function of the global batch.

    .. math:: S = S_0 \left(1 + (B / B_c)^g\right)

    Parameters
    ----------
    global_batch : float
        Samples per step, :math:`B`. [samples]
    smallest_samples : float
        Samples to target in the limit of small batches, :math:`S_0`. [samples]
    critical_batch : float
        Batch at which twice as many samples are needed, :math:`B_c`. [samples]
    exponent : float
        Steepness, :math:`g`; 1 is the law of the noise scale. [-]

    Returns
    -------
    samples : float
        Samples until the target is reached. [samples]

    Notes
    -----
    Holds for one recipe whose learning rate is tuned at every batch. Above a few :math:`B_c` runs
    fail to converge at all, which no law of this form says.

    References
    ----------
    .. [1] S. McCandlish, J. Kaplan, D. Amodei, "An empirical model of large-batch training,"
       arXiv:1812.06162, 2018 (g = 1).

    Examples
    --------
    At the critical batch twice the smallest number of samples is needed:

    >>> float(samples_law(47_100, 4.44e7, 47_100, 1.0))
    88800000.0
    """
    return smallest_samples * (1.0 + (global_batch / critical_batch) ** exponent)


@inner
def samples_to_target(
    global_batch: float,
    reference_batches: Vector,
    reference_samples: Vector,
    smallest_samples: float,
    critical_batch: float,
    exponent: float,
) -> float:
    """Return the samples to target from reference points, continued by the law beyond them.

    Between two points ``log samples`` is linear in ``log batch`` (MLCommons, rcp_checker). Outside, the
    value at the nearest end of the table is multiplied by the ratio of :func:`samples_law` at the batch and
    at that end, and never falls below the smallest value of the table. Single runs scatter by 5 to 10 %
    around a point.

    BERT needs about the same number of samples at any batch up to 4,600:

    >>> import numpy as np
    >>> batches = np.array([448.0, 1536.0, 4608.0])
    >>> samples = np.array([2_625_459.0, 2_777_588.0, 2_794_752.0])
    >>> round(samples_to_target(1536.0, batches, samples, 2.53e6, 14_200.0, 1.32))
    2777588
    """
    last = reference_batches.size - 1
    nearest = min(max(global_batch, reference_batches[0]), reference_batches[last])
    after = 0
    while after < last and reference_batches[after] < nearest:
        after += 1
    inside, least = reference_samples[after], reference_samples[0]
    if after > 0:
        low, high = reference_batches[after - 1], reference_batches[after]
        share = math.log(nearest / low) / math.log(high / low)
        inside = reference_samples[after - 1] * (inside / reference_samples[after - 1]) ** share
    for index in range(1, last + 1):
        least = min(least, reference_samples[index])
    law = samples_law(global_batch, smallest_samples, critical_batch, exponent)
    at_nearest = samples_law(nearest, smallest_samples, critical_batch, exponent)
    return max(inside * (law / at_nearest), least)


@formula
def training_steps(samples: float, global_batch: float) -> float:
    """Whole steps that a number of samples takes, rounded up: the last one may be padded.

    An excess over a whole number of less than a millionth of a millionth is rounding in the caller's
    arithmetic and adds no step. GPT-3 on 300 billion tokens at batch 1536 and 2048 tokens per sample:

    >>> int(training_steps(300e9 / 2048, 1536))
    95368
    """
    return float(math.ceil(samples / global_batch * (1.0 - _ROUNDING)))


@formula
def evaluation_time(
    samples: float,
    interval_samples: float,
    evaluation_overhead: float,
    evaluated_samples: float,
    evaluation_throughput: float,
) -> float:
    r"""Time that the evaluations of a run add to it.

    .. math:: t = \frac{S}{I} \left(t_0 + \frac{n}{\theta}\right)

    Parameters
    ----------
    samples : float
        Trained on, :math:`S`. [samples]
    interval_samples : float
        Training samples between evaluations, :math:`I`; infinite for none. [samples]
    evaluation_overhead : float
        Fixed time of one evaluation, :math:`t_0`. [s]
    evaluated_samples : float
        Samples of one evaluation, :math:`n`. [samples]
    evaluation_throughput : float
        Samples evaluated per second over all devices, :math:`\theta`. [samples/s]

    Returns
    -------
    seconds : float
        Time of all evaluations. [s]

    Notes
    -----
    For evaluations on the devices that train, while training waits. Their number is a mean over
    runs, so it need not be whole.

    References
    ----------
    .. [1] P. Mattson et al., "MLPerf training benchmark," MLSys, 2020.
    .. [2] MLCommons, "MLPerf training rules," training_policies (evaluation frequency).

    Examples
    --------
    BERT evaluates 10,000 sequences every 150,000, here 50 times 0.44 s + 2 s:

    >>> round(float(evaluation_time(7.5e6, 150e3, 0.44, 10e3, 5e3)), 6)
    122.0
    """
    return samples / interval_samples * (evaluation_overhead + evaluated_samples / evaluation_throughput)


def language_loss(
    parameters: FloatLike,
    tokens: FloatLike,
    parameters_scale: FloatLike,
    parameters_exponent: FloatLike,
    tokens_scale: FloatLike,
    tokens_exponent: FloatLike,
) -> Floats:
    r"""Return the loss of a language model after training.

    .. math:: L = \left( (N_c / N)^{\alpha_N / \alpha_D} + D_c / D \right)^{\alpha_D}

    Parameters
    ----------
    parameters : FloatLike
        Weights, :math:`N`. [-]
    tokens : FloatLike
        Tokens trained on, :math:`D`. [tokens]
    parameters_scale : FloatLike
        :math:`N_c`. [-]
    parameters_exponent : FloatLike
        :math:`\alpha_N`. [-]
    tokens_scale : FloatLike
        :math:`D_c`. [tokens]
    tokens_exponent : FloatLike
        :math:`\alpha_D`. [-]

    Returns
    -------
    loss : Floats
        Cross-entropy of one token. [nat]

    Notes
    -----
    Fitted on models of up to 1.5 billion parameters on WebText; other text has other losses.

    References
    ----------
    .. [1] J. Kaplan et al., "Scaling laws for neural language models," arXiv:2001.08361, 2020
       (equation 1.5, table 2).

    Examples
    --------
    GPT-3 of 175 billion parameters after 300 billion tokens:

    >>> round(float(language_loss(175e9, 300e9, 6.4e13, 0.076, 1.8e13, 0.103)), 2)
    1.66
    """
    size = (np.asarray(parameters_scale) / parameters) ** (np.asarray(parameters_exponent) / tokens_exponent)
    return np.asarray((size + np.asarray(tokens_scale) / tokens) ** np.asarray(tokens_exponent))


def critical_batch_at_loss(loss: FloatLike, scale: FloatLike, exponent: FloatLike) -> Floats:
    r"""Return the batch at which a language model of a loss needs twice its fewest tokens.

    .. math:: B_c = B_* / L^{1 / \alpha_B}

    Parameters
    ----------
    loss : FloatLike
        Cross-entropy of one token, :math:`L`. [nat]
    scale : FloatLike
        :math:`B_*`. [tokens]
    exponent : FloatLike
        :math:`\alpha_B`. [-]

    Returns
    -------
    batch : Floats
        Critical batch. [tokens]

    References
    ----------
    .. [1] J. Kaplan et al., arXiv:2001.08361, 2020 (equation 5.3).

    Examples
    --------
    GPT-3 was trained on steps of 3.2 million tokens, a sixth of it:

    >>> round(float(critical_batch_at_loss(1.66, 2.1e8, 0.21)) / 1e6)
    19
    """
    return np.asarray(np.asarray(scale) / np.asarray(loss, dtype=float) ** (1.0 / np.asarray(exponent)))
