"""Fields of a configuration, which the same dimension has under many names."""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import Message, Unprocessable
from app.profiles.documents import whole

ALIASES: dict[str, tuple[str, ...]] = {
    "hidden": ("hidden_size", "n_embd", "d_model", "dim", "model_dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "encoder_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "encoder_attention_heads", "num_heads"),
    "key_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "head_dimension": ("head_dim", "d_kv", "kv_channels"),
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
    "experts": (
        "num_local_experts",
        "num_experts",
        "n_routed_experts",
        "moe_num_experts",
        "num_routed_experts",
        "n_experts",
    ),
    "experts_per_token": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "moe_top_k",
        "top_k_experts",
        "moe_topk",
        "moe_k",
        "num_selected_experts",
        "experts_per_token",
        "num_active_experts",
    ),
    "window": ("sliding_window",),
    "dense_layers": ("first_k_dense_replace",),
    "dense_feed_forward": ("intermediate_size_mlp", "intermediate_size"),
    "shared_feed_forward": ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
    "expert_every": ("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq"),
    "prediction_layers": ("num_nextn_predict_layers",),
}
"""Names under which configurations carry one dimension, the usual one first."""


MOST = {
    "layers": 10_000.0,
    "hidden": 1e6,
    "heads": 1e4,
    "key_heads": 1e4,
    "head_dimension": 1e5,
    "feed_forward": 1e7,
    "vocabulary": 1e8,
    "context": 1e8,
    "decoder_layers": 1e4,
    "experts": 1e4,
    "experts_per_token": 1e4,
    "window": 1e8,
    "dense_layers": 1e4,
    "dense_feed_forward": 1e7,
    "shared_feed_forward": 1e7,
    "expert_every": 1e4,
    "prediction_layers": 100.0,
}
"""Largest value read of each dimension."""

MAY_BE_NONE = frozenset({"dense_layers", "shared_feed_forward", "prediction_layers"})
"""Dimensions that may be 0."""


class ConfigReader:
    """Reads the fields of a configuration under any of their names."""

    def __init__(self, document: Mapping[str, object], where: str) -> None:
        self.document = document
        self.where = where
        self.assumptions: list[Message] = []
        self.doubts: list[Message] = []

    def get(self, dimension: str) -> int | None:
        """Return a dimension, or None where no field of it is given."""
        for name in ALIASES[dimension]:
            least = 0 if dimension in MAY_BE_NONE else 1
            value = whole(self.document, name, where=self.where, least=least, most=MOST[dimension])
            if value is not None:
                return value
        return None

    def need(self, dimension: str) -> int:
        """Return a required dimension."""
        value = self.get(dimension)
        if value is None:
            names = ALIASES[dimension]
            raise Unprocessable.at(
                f"{self.where}.{names[0]}",
                "{field} is missing; accepted alternative names: {names}",
                field=names[0],
                names=", ".join(names[1:]),
            )
        return value

    def doubt(self, template: str, **values: object) -> None:
        self.doubts.append(Message(template, values))

    def assume(self, template: str, **values: object) -> None:
        self.assumptions.append(Message(template, values))
