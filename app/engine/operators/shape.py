"""The dimensions of a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stack(StrEnum):
    """How attention sees the sequence."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_DECODER = "encoder-decoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """The dimensions of a transformer."""

    layers: int
    hidden: int
    heads: int
    key_heads: int
    head_dimension: int
    feed_forward: int
    vocabulary: int
    stack: Stack
    gated: bool = False
    rotary: bool = False
    biases: bool = True
    tied: bool = True
    positions: int = 0
    """Learned position embeddings. [-]"""
    segments: int = 0
    """Learned segment embeddings. [-]"""
    experts: int = 1
    experts_per_token: int = 1
    decoder_layers: int = 0
    """Decoder layers of an encoder-decoder; ``layers`` are then the encoder's. [-]"""
    target_tokens: float = 0.0
    """Tokens per sample on the decoder side of an encoder-decoder. [-]"""
    head_transform: bool = False
    """True where a hidden × hidden layer precedes the output layer (BERT). [-]"""
    pooler: bool = False
    """True where a hidden × hidden pooler is trained beside it (BERT). [-]"""
    embedding_norm: bool = False
    final_norm: bool = True
    rms_norm: bool = False
    window: int = 0
    """Longest distance attention reaches back; 0 is unlimited. [-]"""
    patch_inputs: int = 0
    """Input elements of one patch where an image replaces the vocabulary (ViT). [-]"""
    classes: int = 0
    """Outputs of a classification head; replaces the vocabulary head. [-]"""
