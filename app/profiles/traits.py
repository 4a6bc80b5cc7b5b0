"""How the layers of transformers in configurations are built, by model type.

Whether layers are gated, rotary, carry biases or learn positions follows from a ``model_type``: the traits
are those of the reference implementations in huggingface/transformers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine.operators.transformer import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How the layers of one model type are built."""

    family: str
    stack: Stack = Stack.DECODER
    gated: bool = False
    rotary: bool = False
    biases: bool = True
    rms_norm: bool = False
    tied: bool = True
    """Where the configuration does not say."""
    positions: bool = False
    """True where positions are learned up to the longest context."""
    extra_positions: int = 0
    segments: bool = False
    embedding_norm: bool = False
    final_norm: bool = True
    masked: bool = False
    """True for a masked-word head with its hidden × hidden layer."""
    pooler: bool = False
    image: bool = False
    head_norms: bool = False
    prediction: bool = False
    """True where the layers that predict further tokens are trained with the others."""


LLAMA = Traits(family="llama", gated=True, rotary=True, biases=False, rms_norm=True, tied=False)
GEMMA = replace(LLAMA, tied=True)
QWEN3 = replace(LLAMA, head_norms=True)
DEEPSEEK = replace(LLAMA, prediction=True)
NEMOTRON = Traits(family="gpt", rotary=True, biases=False, tied=False)
NEOX = Traits(family="gpt", rotary=True, tied=False)
GPT2 = Traits(family="gpt", positions=True)

BERT = Traits(
    family="bert",
    stack=Stack.ENCODER,
    positions=True,
    segments=True,
    embedding_norm=True,
    final_norm=False,
    masked=True,
    pooler=True,
)

ROBERTA = replace(BERT, pooler=False)
RELATIVE = replace(ROBERTA, positions=False)
T5 = Traits(family="t5", stack=Stack.ENCODER_DECODER, biases=False, rms_norm=True)

BART = Traits(
    family="t5",
    stack=Stack.ENCODER_DECODER,
    positions=True,
    extra_positions=2,
    embedding_norm=True,
    final_norm=False,
)

VIT = Traits(family="vit", stack=Stack.ENCODER, positions=True, image=True, tied=False)

MODEL_TYPES: dict[str, Traits] = {
    "llama": LLAMA,
    "mistral": LLAMA,
    "mixtral": LLAMA,
    "qwen2": LLAMA,
    "qwen2_moe": LLAMA,
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3,
    "deepseek_v2": LLAMA,
    "deepseek_v3": DEEPSEEK,
    "deepseek_v32": DEEPSEEK,
    "gpt_oss": replace(LLAMA, biases=True),
    "llama4": LLAMA,
    "llama4_text": LLAMA,
    "chatglm": LLAMA,
    "glm": LLAMA,
    "glm4": LLAMA,
    "nemotron": NEMOTRON,
    "starcoder2": Traits(family="gpt", rotary=True),
    "internlm": LLAMA,
    "internlm2": LLAMA,
    "baichuan": LLAMA,
    "yi": LLAMA,
    "olmo2": LLAMA,
    "phi3": LLAMA,
    "gemma": GEMMA,
    "gemma2": GEMMA,
    "stablelm": replace(LLAMA, rms_norm=False),
    "gpt_neox": NEOX,
    "gptj": NEOX,
    "codegen": NEOX,
    "phi": NEOX,
    "falcon": Traits(family="gpt", rotary=True, biases=False),
    "mpt": Traits(family="gpt", biases=False),
    "bloom": Traits(family="gpt", embedding_norm=True),
    "gpt2": GPT2,
    "gpt_neo": GPT2,
    "gpt_bigcode": GPT2,
    "opt": Traits(family="gpt", positions=True, extra_positions=2),
    "bert": BERT,
    "electra": ROBERTA,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "distilbert": replace(ROBERTA, segments=False),
    "deberta": RELATIVE,
    "deberta-v2": RELATIVE,
    "t5": T5,
    "mt5": T5,
    "umt5": T5,
    "bart": BART,
    "mbart": BART,
    "pegasus": BART,
    "marian": BART,
    "vit": VIT,
    "deit": VIT,
}

SHAPES = (
    LLAMA,
    QWEN3,
    GEMMA,
    replace(QWEN3, tied=True),
    replace(LLAMA, rms_norm=False),
    NEMOTRON,
    NEOX,
    GPT2,
)
"""Forms of ordinary decoders that a type without an entry of its own is held against."""
