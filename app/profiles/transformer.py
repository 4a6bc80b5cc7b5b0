"""A transformer by its dimensions, without a publication behind it."""

from __future__ import annotations

from collections.abc import Mapping

from app.engine.operators.transformer import Stack, TransformerShape
from app.errors import BadInput, Message, Unprocessable
from app.profiles.bodies import FigureBody, TransformerBody
from app.profiles.documents import as_text, flag, number, whole
from app.profiles.model import ModelProfile, ScoredTokens

FAMILIES = {Stack.DECODER: "gpt", Stack.ENCODER: "bert", Stack.ENCODER_DECODER: "t5"}
"""Family whose measured runs come nearest; a gated decoder is nearest to ``llama``."""
VOCABULARIES = {Stack.DECODER: 50257, Stack.ENCODER: 30522, Stack.ENCODER_DECODER: 32128}
"""Vocabularies of GPT-2, BERT and T5."""
TARGET_SHARE = 114 / 512
"""Target over input tokens of T5's span corruption (Raffel et al. 2020, section 3.1.4)."""
MASKED = ScoredTokens(0.15, ((128, 20), (512, 80)))
"""Tokens that BERT's masked language model scores (Devlin et al. 2019)."""

_KNOWN = frozenset((
    "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq_len", "kind", "gated", "experts",
    "experts_per_token", "tied_embeddings",
))  # fmt: skip


def required(document: Mapping[str, object], name: str, *, where: str, most: float) -> int:
    value = whole(document, name, where=where, most=most)
    if value is None:
        raise Unprocessable.at(f"{where}.{name}", "{field} is required: a whole number", field=name)
    return value


def must_divide(whole_value: int, part: int, *, field_name: str, whole_name: str) -> int:
    """Return the quotient; refuse a remainder."""
    if whole_value % part:
        raise BadInput.at(
            field_name,
            "{whole_name} ({whole}) must be a multiple of {field} ({part})",
            whole_name=whole_name,
            whole=whole_value,
            field=field_name.rpartition(".")[2],
            part=part,
        )
    return whole_value // part


def transformer_profile(document: Mapping[str, object], *, where: str = "model.transformer") -> ModelProfile:
    """Return the profile of ``{layers, hidden, heads, seq_len, kind, …}`` of a request.

    All further assumptions are listed in the profile.
    """
    for name in document:
        if name not in _KNOWN:
            raise Unprocessable.at(
                f"{where}.{str(name)[:80]}",
                "{field} is not a transformer field; accepted: {known}",
                field=as_text(name),
                known=", ".join(sorted(_KNOWN)),
            )
    kind = document.get("kind") or "decoder"
    if kind not in tuple(Stack):
        raise Unprocessable.at(
            f"{where}.kind", "must be decoder, encoder or encoder-decoder, not {value}", value=as_text(kind)
        )
    stack = Stack(str(kind))
    layers = required(document, "layers", where=where, most=10_000)
    hidden = required(document, "hidden", where=where, most=1_000_000)
    heads = required(document, "heads", where=where, most=10_000)
    seq_len = required(document, "seq_len", where=where, most=10_000_000)
    head_dimension = must_divide(hidden, heads, field_name=f"{where}.heads", whole_name="hidden")
    key_heads = whole(document, "kv_heads", where=where, most=heads) or heads
    must_divide(heads, key_heads, field_name=f"{where}.kv_heads", whole_name="heads")
    gated = flag(document, "gated", False, where=where)
    tied = flag(document, "tied_embeddings", not gated, where=where)
    experts = whole(document, "experts", where=where, most=10_000) or 1
    visited = whole(document, "experts_per_token", where=where, most=experts) or 1
    assumptions: list[Message] = []

    feed_forward = whole(document, "ffn", where=where, most=10_000_000)
    if feed_forward is None:
        # LLaMA keeps the parameters of 4 × hidden with three matrices and rounds up to 256.
        feed_forward = -(-8 * hidden // (3 * 256)) * 256 if gated else 4 * hidden
        assumptions.append(Message("ffn is not given; {value} is assumed", {"value": feed_forward}))
    vocabulary = whole(document, "vocab", where=where, most=100_000_000)
    if vocabulary is None:
        vocabulary = VOCABULARIES[stack]
        assumptions.append(
            Message(
                "vocab is not given; {value}, the vocabulary of {model}, is assumed",
                {"value": vocabulary, "model": {"gpt": "GPT-2", "bert": "BERT", "t5": "T5"}[FAMILIES[stack]]},
            )
        )
    if gated:
        assumptions.append(
            Message("a gated feed-forward layer is assumed to use rotary positions and no biases")
        )
    if stack is Stack.ENCODER:
        assumptions.append(Message("the encoder is assumed to be trained on masked words with BERT's head"))
    if stack is Stack.ENCODER_DECODER:
        assumptions.append(
            Message(
                "the decoder is assumed to have as many layers as the encoder and {target} "
                "tokens for every {source} of input, as in T5 training",
                {"target": 114, "source": 512},
            )
        )
    masked = stack is Stack.ENCODER
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        key_heads=key_heads,
        head_dimension=head_dimension,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        stack=stack,
        gated=gated,
        rotary=gated,
        biases=not gated,
        rms_norm=gated,
        tied=tied,
        positions=0 if gated else seq_len,
        segments=2 if masked else 0,
        head_transform=masked,
        pooler=masked,
        embedding_norm=masked,
        final_norm=not masked,
        experts=experts,
        experts_per_token=visited,
        decoder_layers=layers if stack is Stack.ENCODER_DECODER else 0,
        target_tokens=seq_len * TARGET_SHARE if stack is Stack.ENCODER_DECODER else 0.0,
    )
    return ModelProfile(
        id="transformer",
        name=f"{kind} {layers} × {hidden}",
        family="llama" if gated and stack is Stack.DECODER else FAMILIES[stack],
        origin="transformer",
        body=TransformerBody(shape),
        assumptions=tuple(assumptions),
        default_seq_len=seq_len,
        scored=MASKED if masked else ScoredTokens(),
    )


def figure_profile(total_flop: object) -> ModelProfile:
    value = number({"total_flop": total_flop}, "total_flop", where="model", least=1.0, most=1e40)
    if value is None:
        raise Unprocessable.at("model.total_flop", "total_flop is required: a number of FLOP")
    return ModelProfile(
        id="total-flop", name="training compute", family="custom", origin="total_flop", body=FigureBody(value)
    )
