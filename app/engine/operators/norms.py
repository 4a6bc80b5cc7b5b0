"""Norms as operators."""

from __future__ import annotations

from app.engine.operators.table import Kind, Operator, Pointwise, Section, Split


def norm_operator(
    prefix: str, name: str, count: float, hidden: int, tokens: float, rms: bool, section: Section
) -> Operator:
    """Return a layer norm over tokens.

    Parameters
    ----------
    prefix : str
        Start of the operator's name. [-]
    name : str
        Rest of its name. [-]
    count : float
        Repeats in the model. [-]
    hidden : int
        Width of a token. [-]
    tokens : float
        Tokens per sample. [-]
    rms : bool
        True where it has a scale but no shift. [-]
    section : Section
        Where in a pipeline it runs. [-]

    Returns
    -------
    operator : Operator
        The norm; it keeps its input. [-]

    References
    ----------
    .. [1] J. Ba, J. Kiros, G. Hinton, "Layer normalization," arXiv:1607.06450, 2016.
    .. [2] B. Zhang and R. Sennrich, "Root mean square layer normalization," NeurIPS, 2019.

    Examples
    --------
    >>> norm_operator("", "norm", 1, 1024, 512.0, False, Section.LAYER).weights
    2048
    """
    return Operator(
        name=f"{prefix}{name}",
        kind=Kind.POINTWISE,
        pointwise=Pointwise.LAYER_NORM,
        count=count,
        elements=tokens * hidden,
        split=Split.SEQUENCE,
        weights=hidden * (1 if rms else 2),
        saved=tokens * hidden,
        saved_split=Split.SEQUENCE,
        section=section,
    )
