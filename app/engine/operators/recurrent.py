"""Recurrent layers and tables of looked-up rows as operators."""

from __future__ import annotations

from app.engine.operators.table import Kind, Operator, Pointwise, Section


def embedding_bag(*, name: str, entries: float, width: int, lookups: float, count: float = 1.0) -> Operator:
    """Return a table whose looked-up rows are summed, as recommendation models use it.

    Parameters
    ----------
    name : str
        Name of the table. [-]
    entries : float
        Rows of the table. [-]
    width : int
        Width of a row. [-]
    lookups : float
        Rows read per sample. [-]
    count : float
        Tables of this kind. [-]

    Returns
    -------
    operator : Operator
        The table: spread over the devices, it costs memory traffic and an exchange of rows. [-]

    References
    ----------
    .. [1] M. Naumov et al., "Deep learning recommendation model," arXiv:1906.00091, 2019.

    Examples
    --------
    >>> embedding_bag(name="users", entries=1e6, width=128, lookups=1).weights
    128000000.0
    """
    return Operator(
        name=name,
        kind=Kind.EMBEDDING,
        section=Section.EMBEDDING,
        count=count,
        rows=lookups,
        columns=float(width),
        elements=lookups * width,
        weights=entries * width,
        input_gradient=False,
        sparse=True,
    )


GATES = {"lstm": 4, "gru": 3, "rnn": 1}
"""Products per step: Hochreiter and Schmidhuber 1997; Cho et al. 2014; Elman 1990."""


def recurrent_layer(
    *, name: str, cell: str, inputs: int, hidden: int, steps: float, directions: int = 1, count: float = 1.0
) -> list[Operator]:
    """Return an LSTM, GRU or plain recurrent layer.

    The products with the input do not wait for one another and form one large product; the
    products with the state run one step after the other.

    Parameters
    ----------
    name : str
        Name of the layer. [-]
    cell : str
        ``lstm``, ``gru`` or ``rnn``. [-]
    inputs, hidden : int
        Widths of the input and of the state. [-]
    steps : float
        Time steps per sample. [-]
    directions : int
        2 for a bidirectional layer. [-]
    count : float
        Repeats in the model. [-]

    Returns
    -------
    operators : list of Operator
        Input product, state product, gate arithmetic. [-]

    References
    ----------
    .. [1] J. Appleyard, T. Kocisky, P. Blunsom, "Optimizing performance of recurrent neural networks
       on GPUs," arXiv:1604.01946, 2016.

    Examples
    --------
    >>> layer = recurrent_layer(name="encoder", cell="lstm", inputs=1024, hidden=1024, steps=50)
    >>> sum(operator.weights for operator in layer)
    8396800.0
    """
    gates = GATES[cell] * directions
    width = float(gates * hidden)
    return [
        Operator(
            name=f"{name}_input",
            kind=Kind.MATMUL,
            count=count,
            rows=steps,
            inner=float(inputs),
            columns=width,
            weights=inputs * width + width,
            saved=steps * inputs,
            aligned=False,
            convolution_launches=0.5,
        ),
        Operator(
            name=f"{name}_state",
            kind=Kind.RECURRENT,
            count=count,
            rows=1.0,
            inner=float(hidden),
            columns=width / directions,
            batch=float(directions),
            steps=steps,
            weights=hidden * width + width,
            saved=steps * hidden * directions,
            aligned=False,
        ),
        Operator(
            name=f"{name}_gates",
            kind=Kind.POINTWISE,
            pointwise=Pointwise.ELEMENTWISE,
            count=count,
            elements=steps * width,
            saved=steps * width,
        ),
    ]
