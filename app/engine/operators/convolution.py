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
    # Without a norm whose kernel it could join, the activation passes over the output by itself.
    alone = activation is Pointwise.RELU and norm is Pointwise.NONE
    if activation is not Pointwise.NONE:
        operators.append(
            Operator(
                name=f"{name}_activation",
                kind=Kind.POINTWISE,
                pointwise=Pointwise.BIASED_RELU if alone else activation,
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
