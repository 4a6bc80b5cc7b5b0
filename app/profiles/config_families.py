"""What the model types of Hugging Face configurations leave unsaid.

A configuration names its widths; whether its layers are gated, turn queries and keys, carry
biases or learn positions follows from its ``model_type``. The traits below are those of the
reference implementations in huggingface/transformers.
"""

from __future__ import annotations

from dataclasses import dataclass

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


LLAMA = Traits(family="llama", gated=True, rotary=True, biases=False, rms_norm=True, tied=False)

GEMMA = Traits(family="llama", gated=True, rotary=True, biases=False, rms_norm=True)

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

ROBERTA = Traits(
    family="bert",
    stack=Stack.ENCODER,
    positions=True,
    segments=True,
    embedding_norm=True,
    final_norm=False,
    masked=True,
)

RELATIVE = Traits(
    family="bert", stack=Stack.ENCODER, segments=True, embedding_norm=True, final_norm=False, masked=True
)

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
    "qwen3": LLAMA,
    "qwen3_moe": LLAMA,
    "internlm": LLAMA,
    "internlm2": LLAMA,
    "baichuan": LLAMA,
    "yi": LLAMA,
    "olmo2": LLAMA,
    "phi3": LLAMA,
    "gemma": GEMMA,
    "gemma2": GEMMA,
    "stablelm": Traits(family="llama", gated=True, rotary=True, biases=False, tied=False),
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
    "distilbert": Traits(
        family="bert", stack=Stack.ENCODER, positions=True, embedding_norm=True, final_norm=False, masked=True
    ),
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

SHARED_LAYERS = frozenset({"albert"})
"""Model types that run one layer's weights many times, which a table of layers cannot say."""

ALIASES: dict[str, tuple[str, ...]] = {
    "hidden": ("hidden_size", "n_embd", "d_model", "dim", "model_dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "encoder_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "encoder_attention_heads", "num_heads"),
    "key_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "head_dimension": ("head_dim", "d_kv"),
    "feed_forward": (
        "moe_intermediate_size",
        "intermediate_size",
        "n_inner",
        "ffn_dim",
        "d_ff",
        "encoder_ffn_dim",
        "hidden_dim",
        "ffn_hidden_size",
        "ffn_intermediate_size",
    ),
    "vocabulary": ("vocab_size", "padded_vocab_size"),
    "context": (
        "max_position_embeddings",
        "n_positions",
        "n_ctx",
        "max_sequence_length",
        "seq_length",
        "max_seq_len",
    ),
    "decoder_layers": ("decoder_layers", "num_decoder_layers"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "experts_per_token": ("num_experts_per_tok", "num_experts_per_token", "moe_top_k"),
    "window": ("sliding_window",),
}
"""Names under which configurations carry one dimension, the usual one first."""
