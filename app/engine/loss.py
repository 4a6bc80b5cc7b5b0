"""Loss of language models by size and data, and the batch that a loss makes critical."""

from __future__ import annotations

import numpy as np

from app.engine.records import FloatLike, Floats


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
