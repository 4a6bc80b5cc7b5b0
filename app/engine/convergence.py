"""How many samples reach the target, by global batch, and what evaluating on the way costs.

A reference convergence point is the mean over some twenty seeds of one tuned recipe.
"""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats
from app.errors import BadInput, Message

_ROUNDING = 1e-12
"""Relative excess over a whole number of steps that is rounding, not work."""


def samples_law(
    global_batch: FloatLike, smallest_samples: FloatLike, critical_batch: FloatLike, exponent: FloatLike
) -> Floats:
    r"""Return the samples to target as a smooth function of the global batch.

    .. math:: S = S_0 \left(1 + (B / B_c)^g\right)

    Parameters
    ----------
    global_batch : FloatLike
        Samples per step, :math:`B`. [samples]
    smallest_samples : FloatLike
        Samples to target in the limit of small batches, :math:`S_0`. [samples]
    critical_batch : FloatLike
        Batch at which twice as many samples are needed, :math:`B_c`. [samples]
    exponent : FloatLike
        Steepness, :math:`g`; 1 is the law of the noise scale. [-]

    Returns
    -------
    samples : Floats
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
    ratio = np.asarray(global_batch, dtype=float) / critical_batch
    return np.asarray(smallest_samples * (1.0 + ratio**exponent))


def samples_to_target(
    global_batch: FloatLike,
    reference_batches: Floats,
    reference_samples: Floats,
    smallest_samples: FloatLike,
    critical_batch: FloatLike,
    exponent: FloatLike,
) -> Floats:
    """Return the samples to target from reference points, continued by the law beyond them.

    Between two points ``log samples`` is linear in ``log batch``. Outside, the value at the
    nearest end of the table is multiplied by the ratio of :func:`samples_law` at the batch and at
    that end, and never falls below the smallest value of the table.

    Parameters
    ----------
    global_batch : FloatLike
        Samples per step. [samples]
    reference_batches : Floats
        Batches of the reference points, rising. [samples]
    reference_samples : Floats
        Samples to target at each of them. [samples]
    smallest_samples : FloatLike
        Samples to target of the law for small batches. [samples]
    critical_batch : FloatLike
        Batch at which the law has doubled. [samples]
    exponent : FloatLike
        Exponent of the law. [-]

    Returns
    -------
    samples : Floats
        Samples until the target is reached, of the shape of ``global_batch``. [samples]

    Notes
    -----
    Single runs scatter by 5 to 10 % around a point.

    References
    ----------
    .. [1] MLCommons, "Reference convergence points," mlcommons/logging, rcp_checker (points, and
       interpolation between them).
    .. [2] S. McCandlish, J. Kaplan, D. Amodei, arXiv:1812.06162, 2018.

    Examples
    --------
    BERT needs about the same number of samples at any batch up to 4,600:

    >>> batches = np.array([448.0, 1536.0, 4608.0])
    >>> samples = np.array([2_625_459.0, 2_777_588.0, 2_794_752.0])
    >>> round(float(samples_to_target(1536.0, batches, samples, 2.53e6, 14_200.0, 1.32)))
    2777588
    """
    batch = np.asarray(global_batch, dtype=float)
    if not np.all(batch > 0):
        raise BadInput(Message("global batch must be above 0, got {batch}", {"batch": float(np.min(batch))}))
    nearest = np.clip(batch, reference_batches[0], reference_batches[-1])
    inside = np.exp(np.interp(np.log(nearest), np.log(reference_batches), np.log(reference_samples)))
    law = samples_law(batch, smallest_samples, critical_batch, exponent)
    at_nearest = samples_law(nearest, smallest_samples, critical_batch, exponent)
    return np.asarray(np.maximum(inside * (law / at_nearest), np.min(reference_samples)))


def samples_of_epochs(epochs: FloatLike, dataset_samples: FloatLike) -> Floats:
    """Return the samples seen in passes over a data set.

    Parameters
    ----------
    epochs : FloatLike
        Passes over the data. [-]
    dataset_samples : FloatLike
        Samples of the data set. [samples]

    Returns
    -------
    samples : Floats
        Samples seen. [samples]

    References
    ----------
    .. [1] O. Russakovsky et al., "ImageNet large scale visual recognition challenge," IJCV, 2015
       (1,281,167 training images).

    Examples
    --------
    >>> float(samples_of_epochs(35.0, 1_281_167))
    44840845.0
    """
    return np.asarray(np.asarray(epochs, dtype=float) * dataset_samples)


def training_steps(samples: FloatLike, global_batch: FloatLike) -> Floats:
    """Whole steps that a number of samples takes, rounded up.

    Parameters
    ----------
    samples : FloatLike
        Samples to train on. [samples]
    global_batch : FloatLike
        Samples per step. [samples]

    Returns
    -------
    steps : Floats
        Whole number of steps; the last one may be padded. [steps]

    Notes
    -----
    An excess over a whole number of less than a millionth of a millionth is rounding in the
    caller's arithmetic and adds no step.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters,"
       SC21, 2021 (300 billion tokens at batch 1536 and 2048 tokens per sample).

    Examples
    --------
    >>> int(training_steps(300e9 / 2048, 1536))
    95368
    """
    return np.ceil(np.asarray(samples, dtype=float) / global_batch * (1.0 - _ROUNDING))


def evaluation_time(
    samples: FloatLike,
    interval_samples: FloatLike,
    evaluation_overhead: FloatLike,
    evaluated_samples: FloatLike,
    evaluation_throughput: FloatLike,
) -> Floats:
    r"""Time that the evaluations of a run add to it.

    .. math:: t = \frac{S}{I} \left(t_0 + \frac{n}{\theta}\right)

    Parameters
    ----------
    samples : FloatLike
        Trained on, :math:`S`. [samples]
    interval_samples : FloatLike
        Training samples between evaluations, :math:`I`; infinite for none. [samples]
    evaluation_overhead : FloatLike
        Fixed time of one evaluation, :math:`t_0`. [s]
    evaluated_samples : FloatLike
        Samples of one evaluation, :math:`n`. [samples]
    evaluation_throughput : FloatLike
        Samples evaluated per second over all devices, :math:`\theta`. [samples/s]

    Returns
    -------
    seconds : Floats
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
    evaluations = np.asarray(samples, dtype=float) / interval_samples
    evaluating = np.asarray(evaluated_samples, dtype=float) / evaluation_throughput
    return np.asarray(evaluations * (evaluation_overhead + evaluating))
