"""Convolutional and recurrent layers as operators."""

from __future__ import annotations

from app.engine.operators.table import Kind, Operator, Pointwise, Section


def convolution_layer(
    *,
    name: str,
    channels_in: int,
    channels_out: int,
    height: int,
    width: int,
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
    depth: int = 1,
    count: float = 1.0,
    norm: Pointwise = Pointwise.BATCH_NORM,
    activation: Pointwise = Pointwise.RELU,
    bias: bool = False,
    first: bool = False,
) -> list[Operator]:
    """Return a convolution with the norm and the activation that follow it.

    Parameters
    ----------
    name : str
        Name of the convolution. [-]
    channels_in, channels_out : int
        Channels of the input and of the output. [-]
    height, width : int
        Size of the input; padding keeps it, the stride divides it, rounded up. [-]
    kernel, stride, groups : int
        Side of the kernel, stride and groups. [-]
    depth : int
        Third dimension of input and kernel; 1 for images. [-]
    count : float
        Repeats in the model. [-]
    norm, activation : Pointwise
        What follows; NONE for nothing. [-]
    bias : bool
        True where the convolution itself has a bias. [-]
    first : bool
        True for the first layer, whose input needs no gradient. [-]

    Returns
    -------
    operators : list of Operator
        Convolution, norm, activation. [-]

    References
    ----------
    .. [1] K. He et al., "Deep residual learning for image recognition," CVPR, 2016.

    Examples
    --------
    The stem of ResNet-50 costs 118 million multiplications an image:

    >>> stem = convolution_layer(name="stem", channels_in=3, channels_out=64, height=224, width=224,
    ...     kernel=7, stride=2, first=True)[0]
    >>> round(stem.rows * stem.inner * stem.columns * stem.batch / 1e6)
    118
    """
    height_out, width_out = -(-height // stride), -(-width // stride)
    depth_out = -(-depth // stride) if depth > 1 else 1
    area = kernel * kernel * (kernel if depth > 1 else 1)
    positions = float(height_out * width_out * depth_out)
    output = positions * channels_out
    source = float(height * width * depth * channels_in)
    depthwise = groups == channels_in and groups == channels_out and groups > 1
    operators = [
        Operator(
            name=name,
            kind=Kind.DEPTHWISE if depthwise else Kind.CONVOLUTION,
            count=count,
            section=Section.LAYER,
            rows=positions,
            inner=channels_in / groups * area,
            columns=channels_out / groups,
            batch=float(groups),
            kernel_area=float(area),
            kernel_width=float(kernel),
            stride=float(stride),
            input_elements=source,
            output_elements=output,
            weights=channels_out * channels_in / groups * area + (channels_out if bias else 0),
            saved=source,
            input_gradient=not first,
            aligned=False,
            convolution_launches=1.0,
        )
    ]
    if norm is not Pointwise.NONE:
        operators.append(
            Operator(
                name=f"{name}_norm",
                kind=Kind.POINTWISE,
                pointwise=norm,
                count=count,
                elements=output,
                weights=2.0 * channels_out,
                saved=output,
            )
        )
    if activation is not Pointwise.NONE:
        operators.append(
            Operator(
                name=f"{name}_activation",
                kind=Kind.POINTWISE,
                pointwise=activation,
                count=count,
                elements=output,
            )
        )
    return operators


def pointwise_layer(
    *, name: str, pointwise: Pointwise, elements: float, count: float = 1.0, weights: float = 0.0
) -> Operator:
    """Return one memory-bound operator.

    Parameters
    ----------
    name : str
        Name of the operator. [-]
    pointwise : Pointwise
        What it does. [-]
    elements : float
        Elements per sample it passes over. [-]
    count : float
        Repeats in the model. [-]
    weights : float
        Parameters of one repeat. [-]

    Returns
    -------
    operator : Operator
        The operator. [-]

    References
    ----------
    .. [1] S. Williams, A. Waterman, D. Patterson, "Roofline," CACM 52(4), 2009.

    Examples
    --------
    >>> pointwise_layer(name="add", pointwise=Pointwise.ADD, elements=100.0).elements
    100.0
    """
    return Operator(
        name=name, kind=Kind.POINTWISE, pointwise=pointwise, count=count, elements=elements, weights=weights
    )


def dense_layer(
    *,
    name: str,
    inputs: int,
    outputs: int,
    rows: float = 1.0,
    count: float = 1.0,
    section: Section = Section.LAYER,
) -> Operator:
    """Return a fully connected layer with bias.

    Parameters
    ----------
    name : str
        Name of the layer. [-]
    inputs, outputs : int
        Widths. [-]
    rows : float
        Vectors per sample it is applied to. [-]
    count : float
        Repeats in the model. [-]
    section : Section
        Where in a pipeline it runs. [-]

    Returns
    -------
    operator : Operator
        The layer. [-]

    References
    ----------
    .. [1] I. Goodfellow, Y. Bengio, A. Courville, "Deep learning," MIT Press, 2016, chapter 6.

    Examples
    --------
    >>> dense_layer(name="classes", inputs=2048, outputs=1000).weights
    2049000.0
    """
    return Operator(
        name=name,
        kind=Kind.MATMUL,
        section=section,
        count=count,
        rows=rows,
        inner=float(inputs),
        columns=float(outputs),
        weights=float(inputs * outputs + outputs),
        saved=rows * inputs,
        aligned=False,
        convolution_launches=0.5,
    )


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
        The table; it costs memory traffic alone. [-]

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
