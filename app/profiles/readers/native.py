"""Arguments of training programs and native parameter files, as the fields of a configuration.

Meta's and Mistral's params.json (llama-models and mistral-inference), Megatron-LM's arguments as JSON, and
the hyper-parameters that NeMo writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import Message, Unprocessable
from app.profiles.documents import as_text, flag, number, whole

WHERE = "config"


@dataclass(frozen=True, slots=True)
class Native:
    """What a native file says, in the fields of a configuration and of a request."""

    kind: str
    config: dict[str, Any]
    workload: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    assumed: tuple[Message, ...] = ()


def native_of(document: Mapping[str, object]) -> Native | None:
    """Return a native file in the fields of a configuration; None where it is none."""
    if "model_type" in document or "architectures" in document:
        return None
    if {"dim", "n_layers", "n_heads"} <= document.keys():
        return _params(document)
    model = document.get("model")
    if isinstance(model, Mapping) and {"num_layers", "hidden_size"} <= model.keys():
        return _megatron("nemo", model, f"{WHERE}.model")
    if {"num_layers", "hidden_size", "num_attention_heads"} <= document.keys():
        return _megatron("megatron", document, WHERE)
    return None


def _params(document: Mapping[str, object]) -> Native:
    """Return Meta's or Mistral's parameters.

    Meta's width is two thirds of four times the model's, times a factor, rounded up to a multiple
    (llama-models, model.py).
    """
    dim = _need(document, "dim", WHERE)
    heads = _need(document, "n_heads", WHERE)
    vocabulary = _need(document, "vocab_size", WHERE)
    wide = whole(document, "hidden_dim", where=WHERE, most=1e7)
    if wide is None:
        factor = number(document, "ffn_dim_multiplier", where=WHERE, least=0.01, most=100.0) or 1.0
        multiple = whole(document, "multiple_of", where=WHERE, most=1e6) or 256
        wide = multiple * -(-int(factor * int(2 * 4 * dim / 3)) // multiple)
    config: dict[str, Any] = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": dim,
        "num_hidden_layers": _need(document, "n_layers", WHERE),
        "num_attention_heads": heads,
        "num_key_value_heads": whole(document, "n_kv_heads", where=WHERE, most=1e4) or heads,
        "intermediate_size": wide,
        "vocab_size": vocabulary,
        "tie_word_embeddings": flag(document, "tied_embeddings", False, where=WHERE),
    }
    if (dimension := whole(document, "head_dim", where=WHERE, most=1e5)) is not None:
        config["head_dim"] = dimension
    experts = document.get("moe")
    if isinstance(experts, Mapping):
        config |= {
            "model_type": "mixtral",
            "architectures": ["MixtralForCausalLM"],
            "num_local_experts": _need(experts, "num_experts", f"{WHERE}.moe"),
            "num_experts_per_tok": _need(experts, "num_experts_per_tok", f"{WHERE}.moe"),
        }
    for unknown in ("vision_encoder", "moe_args", "lora", "q_lora_rank"):
        if document.get(unknown):
            raise Unprocessable.at(
                f"{WHERE}.{unknown}",
                "{field} of this params.json is not read; send its config.json",
                field=unknown,
            )
    length = whole(document, "max_seq_len", where=WHERE, most=1e8) or 4096
    assumed = (
        ()
        if "max_seq_len" in document
        else (Message("samples of {value} tokens are assumed", {"value": length}),)
    )
    return Native("params.json", {**config, "max_position_embeddings": length}, assumed=assumed)


def _need(document: Mapping[str, object], name: str, where: str) -> int:
    value = whole(document, name, where=where, most=1e9)
    if value is None:
        raise Unprocessable.at(f"{where}.{name}", "{field} is required: a whole number", field=name)
    return value


PLAN = {
    "tensor_model_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context",
    "expert_model_parallel_size": "expert",
    "micro_batch_size": "micro_batch",
    "virtual_pipeline_model_parallel_size": "interleave",
}
NOT_READ = ("multi_latent_attention", "heterogeneous_layers_config_path", "hybrid_override_pattern",
            "is_hybrid_model", "moe_latent_size", "mamba_num_heads")  # fmt: skip


def _megatron(kind: str, document: Mapping[str, object], where: str) -> Native:
    """Return arguments of Megatron-LM (megatron/training/arguments.py) or NeMo."""
    for name in NOT_READ:
        if document.get(name):
            raise Unprocessable.at(
                f"{where}.{name}",
                "{field} gives layers of a kind that is not read from arguments; send config.json",
                field=name,
            )
    heads = _need(document, "num_attention_heads", where)
    activation = str(document.get("activation") or "")
    gated = flag(document, "swiglu", "glu" in activation, where=where)
    vocabulary = whole(document, "padded_vocab_size", where=where, most=1e8) or whole(
        document, "vocab_size", where=where, most=1e8
    )
    if vocabulary is None:
        raise Unprocessable.at(
            f"{where}.padded_vocab_size",
            "{field} is missing: the tokenizer decides it; add padded_vocab_size",
            field="padded_vocab_size",
        )
    length = next(
        (
            value
            for name in ("seq_length", "encoder_seq_length", "max_position_embeddings")
            if (value := whole(document, name, where=where, most=1e8)) is not None
        ),
        2048,
    )
    positions = str(document.get("position_embedding_type") or "learned_absolute")
    hidden = _need(document, "hidden_size", where)
    wide = whole(document, "ffn_hidden_size", where=where, most=1e7)
    if wide is None:
        # Megatron-LM takes 4 h, and two thirds of it rounded to 64 where the block is gated.
        wide = int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden
    untied = document.get("untie_embeddings_and_output_weights")
    shared = document.get("share_embeddings_and_output_weights")
    linear_bias = flag(document, "add_bias_linear", flag(document, "bias", True, where=where), where=where)
    config: dict[str, Any] = {
        "model_type": "megatron",
        "hidden_size": hidden,
        "num_hidden_layers": _need(document, "num_layers", where),
        "num_attention_heads": heads,
        "num_key_value_heads": whole(document, "num_query_groups", where=where, most=1e4) or heads,
        "intermediate_size": wide,
        "vocab_size": vocabulary,
        "max_position_embeddings": length,
        "tie_word_embeddings": not untied
        if untied is not None
        else bool(shared)
        if shared is not None
        else True,
        "gated": gated,
        "rotary": positions in {"rope", "yarn", "mrope"},
        "learned": positions == "learned_absolute",
        "rms_norm": "rms" in str(document.get("normalization") or "LayerNorm").lower(),
        "attention_bias": linear_bias and not flag(document, "disable_bias_linear", False, where=where),
    }
    if (dimension := whole(document, "kv_channels", where=where, most=1e5)) is not None:
        config["head_dim"] = dimension
    experts = whole(document, "num_experts", where=where, most=1e4) or whole(
        document, "num_moe_experts", where=where, most=1e4
    )
    if experts:
        config |= {
            "num_experts": experts,
            "num_experts_per_tok": _need(document, "moe_router_topk", where),
            "moe_intermediate_size": whole(document, "moe_ffn_hidden_size", where=where, most=1e7) or wide,
            "shared_expert_intermediate_size": whole(
                document, "moe_shared_expert_intermediate_size", where=where, least=0, most=1e7
            ),
            "moe_layer_freq": document.get("moe_layer_freq") or 1,
        }
    plan: dict[str, Any] = {
        ours: value
        for name, ours in PLAN.items()
        if (value := whole(document, name, where=where, most=1e6)) is not None
    }
    if flag(document, "sequence_parallel", False, where=where):
        plan["sequence_parallel"] = True
    if flag(document, "use_distributed_optimizer", False, where=where):
        plan["sharding"] = "optimizer"
    granularity = document.get("recompute_granularity")
    if granularity in ("full", "selective"):
        plan["recompute"] = granularity
    elif granularity is not None:
        raise Unprocessable.at(
            f"{where}.recompute_granularity",
            "{field} must be full or selective, not {value}",
            field="recompute_granularity",
            value=as_text(granularity),
        )
    workload: dict[str, Any] = {"seq_len": length}
    batch = whole(document, "global_batch_size", where=where, most=1e8)
    if batch is not None:
        workload["global_batch"] = batch
    samples = whole(document, "train_samples", where=where, most=1e12)
    steps = whole(document, "train_iters", where=where, most=1e10)
    if samples is not None:
        workload["samples"] = samples
    elif steps is not None and batch is not None:
        workload["samples"] = steps * batch
    for name in ("bf16", "fp16"):
        if document.get(name) is True:
            workload["precision"] = name
    if document.get("optimizer") in ("adam", "sgd"):
        workload["optimizer"] = document["optimizer"]
    return Native(kind, config, workload, plan)
