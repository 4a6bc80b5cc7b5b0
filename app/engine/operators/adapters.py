"""Adapters of low rank on the products of a model whose own weights are frozen.

LoRA (Hu et al. 2021) adds to a product :math:`x W` a second one of low rank, :math:`x A B` with :math:`A` of
inner × rank and :math:`B` of rank × columns, and trains only these. QLoRA (Dettmers et al. 2023) stores the
frozen weights of the layers in 4 bit. Both are a table of operators: the frozen ones, and the adapters as
operators of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.engine.operators.layers import pointwise_layer
from app.engine.operators.table import (
    OPERATOR_COLUMNS,
    QUANTISED_BYTES,
    Kind,
    Operator,
    OperatorTable,
    Pointwise,
    Section,
    Split,
)

ATTENTION_MODULES = ("q_proj", "k_proj", "v_proj", "o_proj")
"""Products of an attention block: queries, keys, values, output."""
MODULES = (*ATTENTION_MODULES, "gate_proj", "up_proj", "down_proj")
"""Products of a transformer layer that may have an adapter, named as in Hugging Face's LLaMA."""
PRODUCT_KERNELS = 3.0
"""Kernels of an adapter's product: forward, and the gradients of its input and of its weights."""
SUM_KERNELS = 4.0
"""Kernels that scale an adapter's output and add it, forward, and its input's gradient, backward."""
FIRST_OF_ADAPTER = ".lora_a"
"""How the names of the first products of adapters end."""
DEQUANTISE_KERNELS = 2.0
"""Kernels that turn the weights of a product from 4 bit, forward and backward."""


@dataclass(frozen=True, slots=True)
class _Target:
    """One product that may have an adapter; an operator may hold several of them side by side."""

    operator: int
    module: str
    columns: float


def _targets(table: OperatorTable) -> Iterator[_Target]:
    """Yield the products of the layers by module, or by operator where no transformer's names are found."""
    products = [
        index
        for index, weights in enumerate(table.weights)
        if weights > 0 and table.kind[index] == Kind.MATMUL and table.section[index] == Section.LAYER
    ]
    targets = [target for index in products for target in _modules(table, index)]
    unnamed = (_Target(index, table.names[index], float(table.columns[index])) for index in products)
    yield from targets or unnamed


def _modules(table: OperatorTable, index: int) -> Iterator[_Target]:
    """Yield what a transformer's operator holds; nothing where it is none."""
    name, columns = table.names[index], float(table.columns[index])
    where = {other: number for number, other in enumerate(table.names)}
    if name.endswith("qkv") and (attention := where.get(f"{name.removesuffix('qkv')}attention")) is not None:
        queries = float(table.batch[attention] * table.inner[attention])
        keys = (columns - queries) / 2.0
        widths = {"q_proj": queries, "k_proj": keys, "v_proj": keys}
    elif name.endswith("key_value"):
        widths = {"k_proj": columns / 2.0, "v_proj": columns / 2.0}
    elif name.endswith("query"):
        widths = {"q_proj": columns}
    elif name.endswith("attention_out"):
        widths = {"o_proj": columns}
    elif name.endswith("ffn_in") and (out := where.get(f"{name.removesuffix('in')}out")) is not None:
        inside = float(table.inner[out])
        widths = {"gate_proj": inside, "up_proj": inside} if columns > inside else {"up_proj": columns}
    elif name.endswith("ffn_out"):
        widths = {"down_proj": columns}
    else:
        widths = {}
    yield from (_Target(index, module, width) for module, width in widths.items())


def adaptable_modules(table: OperatorTable) -> tuple[str, ...]:
    """Return the names of the products of a model that may have an adapter.

    Of :data:`MODULES` for a transformer of known layers, else the operators' own names; none where the model
    has no attention.

    >>> from app.engine.operators.blocks import attention_operators
    >>> block = attention_operators("", 64, 4, 8, count=2, key_heads=2, causal=True, biases=False)
    >>> adaptable_modules(OperatorTable.of(block, depth=2, hidden=64, tokens=8))
    ('q_proj', 'k_proj', 'v_proj', 'o_proj')
    """
    if Kind.ATTENTION not in table.kind:
        return ()
    return tuple(dict.fromkeys(target.module for target in _targets(table)))


def adapted(
    table: OperatorTable,
    modules: Collection[str],
    rank: float,
    *,
    quantised: bool = False,
    stored_bytes: float = QUANTISED_BYTES,
) -> OperatorTable:
    r"""Return a model with all weights frozen and adapters beside some of its products.

    A product of :math:`m \times k` by :math:`k \times n` gets two of :math:`m \times k` by :math:`k \times r`
    and :math:`m \times r` by :math:`r \times n`, with

    .. math:: \Theta = r (k + n)

    trained parameters, and a sum of both outputs.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    modules : collection of str
        Names of :func:`adaptable_modules`. [-]
    rank : float
        Rank of every adapter, :math:`r`. [-]
    quantised : bool
        True where the frozen products of the layers are stored in fewer bits, and adapters are updated in
        the format of the products. [-]
    stored_bytes : float
        Bytes of one of those weights: 4 bit with their constants, or 1 in 8 bit. [B]

    Returns
    -------
    table : OperatorTable
        Frozen operators and adapters. [-]

    Notes
    -----
    A frozen product needs its input only for the gradient of its weights: it is not kept for the backward
    pass, unless an adapter reads it as well. The output of attention is kept in any case, for fused attention
    needs it. Adapters are taken without dropout. Embedding, norms and output layer stay in the format of the
    products. Adapters of a product whose columns tensor parallelism divides have their first matrix on every
    rank; where it divides the inner dimension, the ranks reduce what the first matrix gives.

    References
    ----------
    .. [1] E. Hu et al., "LoRA: low-rank adaptation of large language models," arXiv:2106.09685, 2021,
       sections 4.1 and 4.2.
    .. [2] T. Dettmers et al., "QLoRA: efficient finetuning of quantized LLMs," arXiv:2305.14314, 2023,
       section 3.
    .. [3] T. Dao et al., "FlashAttention," NeurIPS, 2022, section 3.1 (the backward pass reads the output).

    Examples
    --------
    Rank 8 on queries and values of GPT-3 trains 37.7 million parameters ([1]_, appendix D.4):

    >>> from app.engine.operators.blocks import attention_operators
    >>> block = attention_operators("", 12288, 96, 2048, count=96, causal=True)
    >>> table = OperatorTable.of(block, depth=96, hidden=12288, tokens=2048)
    >>> round(adapted(table, ["q_proj", "v_proj"], 8).trained_parameters / 1e6, 1)
    37.7
    """
    chosen: dict[int, list[_Target]] = {}
    for target in _targets(table):
        if target.module in modules:
            chosen.setdefault(target.operator, []).append(target)
    quantised_operators = {target.operator for target in _targets(table)} if quantised else set()
    rows: list[Operator] = []
    for index in range(len(table)):
        operator = _operator(table, index)
        product = operator.kind == Kind.MATMUL
        needed = not product or index in chosen or operator.name.endswith("attention_out")
        saved = operator.saved if needed else 0.0
        rows.append(replace(operator, trained=False, quantised=index in quantised_operators, saved=saved))
        if index in quantised_operators:
            rows.append(_dequantise(operator))
        for target in chosen.get(index, []):
            rows += _adapter(operator, target, rank)
    return OperatorTable.of(
        rows,
        depth=table.depth,
        hidden=table.hidden,
        tokens=table.tokens,
        heads=table.attention_heads,
        master_weights=0.0 if quantised else 1.0,
        quantised_bytes=stored_bytes,
    )


def _operator(table: OperatorTable, index: int) -> Operator:
    values: dict[str, Any] = {name: float(getattr(table, name)[index]) for name in OPERATOR_COLUMNS}
    return Operator(name=table.names[index], **values)


def _adapter(operator: Operator, target: _Target, rank: float) -> list[Operator]:
    """Return the two products of an adapter, and the sum of its output with that of the frozen product."""
    products, inner = operator.batch, operator.inner
    # Experts are exchanged once, with the tokens of the frozen product; their adapters are on every rank.
    divided = operator.split if operator.active == 1.0 else Split.REPLICATED
    name = f"{operator.name}.{target.module}"
    product = replace(
        operator,
        aligned=False,
        layer_launches=0.0,
        kernels=PRODUCT_KERNELS,
        tensors=1.0,
        masks=0.0,
        saved_split=Split.REPLICATED,
    )
    first = replace(
        product,
        name=f"{name}{FIRST_OF_ADAPTER}",
        columns=rank,
        split=Split.INNER if divided == Split.INNER else Split.REPLICATED,
        weights=products * inner * rank,
        saved=0.0,
        # What a stack keeps of its input lies where the tokens or the columns of it do.
        saved_split=Split.INNER if divided == Split.INNER else Split.SEQUENCE,
    )
    second = replace(
        product,
        name=f"{name}.lora_b",
        inner=rank,
        columns=target.columns,
        split=Split.COLUMNS if divided == Split.COLUMNS else Split.REPLICATED,
        weights=products * rank * target.columns,
        saved=operator.rows * products * rank,
    )
    added = pointwise_layer(
        f"{name}.lora_sum",
        Pointwise.ADAPTER_SUM,
        operator.rows * products * (inner + target.columns) / 2.0,
        split=second.split,
        kernels=SUM_KERNELS,
        **_place(operator),
    )
    return [first, second, added]


def _dequantise(operator: Operator) -> Operator:
    divided = operator.split in (Split.COLUMNS, Split.INNER, Split.BATCH)
    return pointwise_layer(
        f"{operator.name}.dequantise",
        Pointwise.DEQUANTISE,
        operator.weights,
        split=Split.COLUMNS if divided else Split.REPLICATED,
        active=operator.active,
        kernels=DEQUANTISE_KERNELS,
        **_place(operator),
    )


def _place(operator: Operator) -> dict[str, Any]:
    """Return where in a model an operator is, and how often."""
    return {name: getattr(operator, name) for name in ("section", "count", "block", "block_repeats")}
