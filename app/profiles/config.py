"""Hugging Face ``config.json`` as a model profile.

A configuration names its widths; how its layers are built follows from its ``model_type``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from app.engine.operators.transformer import Stack, TransformerShape
from app.errors import AppError, Message, Unprocessable
from app.profiles.architectures.hybrid import ATTENTION, EXPERTS, FEED_FORWARD, LETTERS, STATE_SPACE
from app.profiles.bodies import ArchitectureBody, TransformerBody
from app.profiles.class_parts import ALL_SCORED, class_profile
from app.profiles.classes import (
    EXACT,
    SUSPICIOUS,
    USUAL_CLASSES,
    TensorReading,
    model_type,
    read_class,
    type_by_class,
)
from app.profiles.config_fields import ALIASES, MOST, ConfigReader
from app.profiles.diffusion_config import diffusers_profile
from app.profiles.documents import as_text, flag, printable, whole
from app.profiles.model import LONGEST_TAKEN, ModelProfile
from app.profiles.traits import MODEL_TYPES, SHAPES, Traits
from app.profiles.transformer import TARGET_SHARE, must_divide

GATES = frozenset({"silu", "swish", "swiglu", "geglu", "reglu", "gelu_pytorch_tanh", "xielu"})
"""Activations of gated feed-forward blocks."""

WHERE = "model.config"

LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "llm_cfg", "thinker_config", "lm_config")
"""Fields under which composed models keep the configuration of their language model."""
OTHER_PARTS = re.compile(
    r"(vision|visual|audio|image|speech|encoder|tower|vit|talker|code2wav).*(config|cfg)$"
)
ALONE = ("ForCausalLM", "EncoderModel")
"""Classes that build one side of an encoder-decoder."""
SAME_WORK = 0.03
"""Difference in compute up to which an ordinary form stands for the tensors of a class."""


def config_profile(document: object, *, name: str = "config.json", where: str = WHERE) -> ModelProfile:
    if not isinstance(document, Mapping):
        raise Unprocessable.at(
            where, "a configuration must be a JSON object, not {value}", value=as_text(document)
        )
    kind = document.get("model_type")
    if kind is not None and not isinstance(kind, str):
        raise Unprocessable.at(
            f"{where}.model_type", "model_type must be text, not {value}", value=as_text(kind)
        )
    title = printable(str(document.get("_name_or_path") or kind or name), 80)
    if kind is not None and kind not in MODEL_TYPES and model_type(kind) is None:
        # A type of its own beside a class of the library, as DeepSeek's derivatives have.
        kind = type_by_class(document) or kind
        document = {**document, "model_type": kind}
    if kind == "swin":
        return _swin(ConfigReader(document, where), title)
    if kind == "nemotron_h":
        return _hybrid(ConfigReader(document, where), title)
    if kind == "megatron":
        reader = ConfigReader(document, where)
        return replace(_profile(reader, _stated_traits(document), title), doubts=tuple(reader.doubts))
    if "_class_name" in document:
        return diffusers_profile(
            document,
            title if kind or "_name_or_path" in document else str(document["_class_name"])[:80],
            where,
        )
    if kind in MODEL_TYPES:
        _check_fields(document, MODEL_TYPES[kind], title, where)
    reading = read_class(document, where)
    if reading is not None:
        return _ordinary(reading, document, title, where) or class_profile(reading, title)
    if kind not in MODEL_TYPES:
        composed = _language_part(document, name, where)
        if composed is not None:
            return composed
    reader = ConfigReader(document, where)
    if (blocks := document.get("block_configs")) is not None:
        raise Unprocessable.at(
            f"{where}.block_configs",
            "block_configs ({value}) gives every layer a form of its own, which is not read here; send the "
            "model as ONNX, a layer table or its safetensors header",
            value=as_text(blocks),
        )
    listed = MODEL_TYPES.get(kind or "")
    profile = _profile(reader, listed or _by_fields(reader, kind), title)
    return replace(
        profile, doubts=(*profile.doubts, *reader.doubts, *([] if listed else _suspects(document)))
    )


def _check_fields(document: Mapping[str, object], form: Traits, title: str, where: str) -> None:
    """Refuse a field of a listed type that is given and wrong; those left out have defaults."""
    try:
        _profile(ConfigReader(document, where), form, title)
    except AppError as error:
        if any(wrong.field.rpartition(".")[2] in document for wrong in error.errors):
            raise


def _stated_traits(document: Mapping[str, object]) -> Traits:
    """Return the traits that arguments of a training program state themselves."""
    gated = bool(document.get("gated"))
    return Traits(
        family="llama" if gated else "gpt",
        gated=gated,
        rotary=bool(document.get("rotary")),
        positions=bool(document.get("learned")),
        rms_norm=bool(document.get("rms_norm")),
    )


def _language_part(document: Mapping[str, object], name: str, where: str) -> ModelProfile | None:
    """Return the language model inside an unknown composed model, with what is not counted."""
    part = next((field for field in LANGUAGE_PARTS if isinstance(document.get(field), Mapping)), None)
    if part is None:
        return None
    inner = cast("Mapping[str, object]", document[part])
    profile = config_profile(inner, name=name, where=f"{where}.{part}")
    others = [
        field for field in document if OTHER_PARTS.search(field) and isinstance(document[field], Mapping)
    ]
    note = Message("only the language model ({field}) is counted", {"field": part})
    missing = tuple(
        Message(
            "{field} is not counted: how it is joined to the language model is not known", {"field": field}
        )
        for field in others
    )
    return replace(profile, assumptions=(*profile.assumptions, note), doubts=(*profile.doubts, *missing))


def _ordinary(
    reading: TensorReading, document: Mapping[str, object], title: str, where: str
) -> ModelProfile | None:
    """Return a class as an ordinary transformer where its parameters and compute are those of one."""
    kind = str(document.get("model_type"))
    filled = {**{path: value for path, value in reading.scope.values.items() if "." not in path}, **document}
    listed = MODEL_TYPES.get(kind)
    if listed is not None and listed.stack is Stack.ENCODER_DECODER and reading.architecture.endswith(ALONE):
        return None
    forms = (listed,) if listed is not None else SHAPES
    whole_class: ModelProfile | None = None
    for form in forms:
        reader = ConfigReader(filled, where)
        try:
            profile = _profile(reader, form, title)
        except AppError:
            continue
        if not isinstance(profile.body, TransformerBody):
            continue
        plain = replace(
            profile, body=replace(profile.body, shape=replace(profile.body.shape, prediction_layers=0))
        )
        if listed is not None and not reading.followed:
            # A listed form follows these fields itself.
            return replace(profile, doubts=tuple(reader.doubts))
        shape = profile.body.shape
        # Checkpoints of a listed type may hold an output layer that the class ties.
        untied = shape.vocabulary * shape.hidden if listed is not None and not shape.tied else 0
        if (
            min(abs(plain.parameters - more - reading.parameters) for more in (0, untied))
            > EXACT * reading.parameters
        ):
            continue
        if listed is not None:
            return replace(profile, doubts=(*reading.doubts, *reader.doubts))
        whole_class = whole_class or class_profile(reading, title)
        at = plain.tokens(128)
        ours, theirs = (float(entry.operators(at).forward_flop.sum()) for entry in (plain, whole_class))
        if abs(ours - theirs) <= SAME_WORK * theirs:
            return replace(profile, doubts=reading.doubts)
    return None


def _suspects(document: Mapping[str, object]) -> list[Message]:
    """Return fields of an unlisted type that suggest layers of another kind and are not read."""
    read = {name for names in ALIASES.values() for name in names} | READ_BESIDE
    towers = [
        Message(
            "{field} is not counted: how it is joined to the language model is not known", {"field": name}
        )
        for name, value in document.items()
        if OTHER_PARTS.search(name) and isinstance(value, Mapping)
    ]
    return towers + [
        Message(
            "the field {field} is not understood; what it describes is not counted",
            {"field": printable(name)},
        )
        for name, value in document.items()
        if SUSPICIOUS.search(name)
        and name not in read
        and value not in (None, 0, False)
        and not isinstance(value, str)
        and name not in ("router_aux_loss_coef",)
    ]


READ_BESIDE = frozenset(
    ("kv_lora_rank", "q_lora_rank", "n_shared_experts", "num_shared_experts", "norm_topk_prob")
)


def _profile(reader: ConfigReader, traits: Traits, title: str) -> ModelProfile:
    context = None if traits.image else reader.get("context")
    if context is None and not traits.image:
        context = 512 if traits.stack is Stack.ENCODER_DECODER else 2048
        reader.assume("the configuration gives no maximum context; {value} is assumed", value=context)
    shape = _shape(reader, traits, context or 0)
    body = TransformerBody(shape)
    image_size = None
    if traits.image:
        body, image_size = _image(reader, shape)
    elif context is not None and context > LONGEST_TAKEN:
        reader.assume(
            "samples of {usual} tokens are assumed; the {value} positions are a limit, not a training length",
            usual=LONGEST_TAKEN,
            value=context,
        )
    elif context is not None:
        reader.assume("samples are assumed to fill the longest context, {value} tokens", value=context)
    if traits.masked:
        reader.assumptions.append(ALL_SCORED)
    return ModelProfile(
        id="config",
        name=title,
        family=traits.family,
        origin="config",
        body=body,
        assumptions=tuple(reader.assumptions),
        default_seq_len=context,
        default_image_size=image_size,
    )


def _shape(reader: ConfigReader, traits: Traits, context: int) -> TransformerShape:
    document, where = reader.document, reader.where
    hidden, layers, heads = reader.need("hidden"), reader.need("layers"), reader.need("heads")
    latent = _latent(reader)
    head_dimension = latent.get("head_dimension") or reader.get("head_dimension")
    if head_dimension is None:
        head_dimension = must_divide(
            hidden, heads, field_name=f"{where}.{ALIASES['heads'][0]}", whole_name="hidden_size"
        )
    key_heads = heads if latent else _key_heads(reader, heads)
    feed_forward = reader.get("feed_forward")
    if feed_forward is None:
        feed_forward = 4 * hidden
        reader.assume(
            "the width of the feed-forward layer is not given; {value} is assumed", value=feed_forward
        )
    projection = str(document.get("feed_forward_proj", ""))
    gated = traits.gated or projection.startswith("gated")
    both = traits.stack is Stack.ENCODER_DECODER
    if both:
        reader.assume(
            "{target} target tokens are assumed for {source} input tokens, as in span corruption",
            target=114,
            source=512,
        )
    window = reader.get("window") if flag(document, "use_sliding_window", True, where=where) else None
    # An encoder-decoder learns positions on both sides.
    positions = (context + traits.extra_positions) * (2 if both else 1) if traits.positions else 0
    return TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        key_heads=key_heads,
        head_dimension=head_dimension,
        feed_forward=feed_forward,
        vocabulary=0 if traits.image else reader.need("vocabulary"),
        stack=traits.stack,
        gated=gated,
        rotary=traits.rotary and not document.get("alibi"),
        biases=flag(document, "attention_bias", traits.biases, where=where),
        rms_norm=traits.rms_norm,
        tied=flag(document, "tie_word_embeddings", traits.tied, where=where) and not traits.image,
        positions=positions,
        segments=_segments(reader, traits),
        **_experts(reader, feed_forward),
        **{name: value for name, value in latent.items() if name != "head_dimension"},
        head_norms=traits.head_norms,
        prediction_layers=(reader.get("prediction_layers") or 0) if traits.prediction else 0,
        decoder_layers=(reader.get("decoder_layers") or layers) if both else 0,
        target_tokens=context * TARGET_SHARE if both else 0.0,
        head_transform=traits.masked,
        pooler=traits.pooler,
        embedding_norm=traits.embedding_norm,
        final_norm=traits.final_norm,
        window=window or 0,
        full_every=_full_every(reader, layers) if window else 0,
    )


def _experts(reader: ConfigReader, feed_forward: int) -> dict[str, int]:
    """Return the fields of a mixture of experts; none where there is one feed-forward block."""
    experts = reader.get("experts") or 1
    if experts == 1:
        return {}
    frequency = reader.document.get("moe_layer_freq")
    if isinstance(frequency, list):
        every, dense = 1, _leading_dense(reader, frequency)
    else:
        every, dense = reader.get("expert_every") or 1, reader.get("dense_layers") or 0
    if reader.get("experts_per_token") is None:
        reader.doubt(
            "how many of the {experts} experts a token visits is not given; 2 are assumed", experts=experts
        )
    shared = reader.get("shared_feed_forward") or feed_forward * (
        whole(reader.document, "n_shared_experts", where=reader.where, least=0, most=1000) or 0
    )
    if str(reader.document.get("model_type", "")).startswith("llama4"):
        shared = feed_forward
        reader.doubt(
            "transformers multiplies all {experts} experts of {model} for every token; only those that a "
            "token visits are counted",
            experts=experts,
            model=as_text(reader.document["model_type"]),
        )
    return {
        "experts": experts,
        "experts_per_token": min(reader.get("experts_per_token") or 2, experts),
        "expert_every": every,
        "dense_layers": dense,
        "dense_feed_forward": (reader.get("dense_feed_forward") or 0) if every > 1 or dense else 0,
        "shared_feed_forward": shared,
    }


def _leading_dense(reader: ConfigReader, frequency: list[object]) -> int:
    """Return how many first layers have no experts; refuse any other order."""
    dense = frequency.index(1) if 1 in frequency else -1
    if dense < 0 or any(entry != 1 for entry in frequency[dense:]) or any(frequency[:dense]):
        raise Unprocessable.at(
            f"{reader.where}.moe_layer_freq",
            "{field} must be a number, or 0 for the first layers and 1 for all others",
            field="moe_layer_freq",
        )
    return dense


def _latent(reader: ConfigReader) -> dict[str, int]:
    """Return the fields of latent attention; none where attention is ordinary."""
    document, where = reader.document, reader.where
    rank = whole(document, "kv_lora_rank", where=where, least=0, most=1e6)
    if not rank:
        return {}
    plain, turned, values = (
        whole(document, name, where=where, most=1e5) or usual
        for name, usual in (("qk_nope_head_dim", 128), ("qk_rope_head_dim", 64), ("v_head_dim", 128))
    )
    return {
        "key_rank": rank,
        "query_rank": whole(document, "q_lora_rank", where=where, least=0, most=1e6) or 0,
        "head_dimension": plain + turned,
        "rotary_dimension": turned,
        "value_dimension": values,
    }


def _full_every(reader: ConfigReader, layers: int) -> int:
    """Return the period of layers that attend without the window; 0 where all have it."""
    letters = reader.document.get("sliding_window_pattern")
    if isinstance(letters, str) and 0 < len(letters) <= layers and set(letters) <= {"L", "G"}:
        return len(letters) if letters.count("G") == 1 and letters.endswith("G") else 0
    pattern = whole(reader.document, "sliding_window_pattern", where=reader.where, most=1e4)
    kinds = reader.document.get("layer_types")
    if isinstance(kinds, list) and kinds:
        full = sum(kind == "full_attention" for kind in kinds)
        return round(len(kinds) / full) if full else 0
    return pattern or (2 if reader.document.get("model_type") == "gemma2" else 0)


def _key_heads(reader: ConfigReader, heads: int) -> int:
    document, where = reader.document, reader.where
    key_heads = reader.get("key_heads")
    # Falcon writes num_kv_heads beside the older switches, which go before it.
    if flag(document, "multi_query", False, where=where) and not flag(
        document, "new_decoder_architecture", False, where=where
    ):
        return 1
    if key_heads is None:
        return heads
    must_divide(
        heads, min(key_heads, heads), field_name=f"{where}.{ALIASES['key_heads'][0]}", whole_name="heads"
    )
    return min(key_heads, heads)


def _segments(reader: ConfigReader, traits: Traits) -> int:
    if traits.image:
        return 1
    if not traits.segments:
        return 0
    value = whole(reader.document, "type_vocab_size", where=reader.where, least=0)
    return 2 if value is None else value


def _image(reader: ConfigReader, shape: TransformerShape) -> tuple[TransformerBody, int]:
    document, where = reader.document, reader.where
    image_size = whole(document, "image_size", where=where, most=1e5) or 224
    patch = whole(document, "patch_size", where=where, most=image_size) or 16
    channels = whole(document, "num_channels", where=where, most=1e4) or 3
    sides = (image_size // patch) ** 2
    return TransformerBody(
        replace(shape, patch_inputs=channels * patch * patch, classes=_classes(reader), positions=sides + 1),
        patch,
    ), image_size


def _classes(reader: ConfigReader) -> int:
    labels = reader.document.get("id2label")
    classes = whole(reader.document, "num_labels", where=reader.where, most=1e7)
    if classes is None and isinstance(labels, Mapping) and labels:
        classes = len(labels)
    if classes is None:
        classes = USUAL_CLASSES
        reader.assume("the number of classes is not given; {value} is assumed", value=classes)
    return classes


def _swin(reader: ConfigReader, title: str) -> ModelProfile:
    document, where = reader.document, reader.where
    depths, heads = document.get("depths"), document.get("num_heads")
    for name, value in (("depths", depths), ("num_heads", heads)):
        if (
            not isinstance(value, list)
            or not 1 <= len(value) <= 8
            or any(
                isinstance(entry, bool) or not isinstance(entry, int) or not 1 <= entry <= 1000
                for entry in value
            )
        ):
            raise Unprocessable.at(
                f"{where}.{name}", "{field} must list one whole number per stage", field=name
            )
    stages = cast("list[int]", depths), cast("list[int]", heads)
    width = whole(document, "embed_dim", where=where, most=1e5) or 96
    if len(stages[0]) != len(stages[1]) or any(
        width * 2**stage % count for stage, count in enumerate(stages[1])
    ):
        raise Unprocessable.at(
            f"{where}.num_heads", "num_heads must give one divisor of the width for each entry of depths"
        )
    options: dict[str, int | str] = {
        "width": width,
        "depths": "-".join(map(str, stages[0])),
        "heads": "-".join(map(str, stages[1])),
        "window": whole(document, "window_size", where=where, most=1000) or 7,
        "patch": whole(document, "patch_size", where=where, most=1000) or 4,
        "classes": _classes(reader),
    }
    return ModelProfile(
        id="config",
        name=title,
        family="swin",
        origin="config",
        body=ArchitectureBody("swin", tuple(sorted(options.items()))),
        assumptions=tuple(reader.assumptions),
        default_image_size=whole(document, "image_size", where=where, least=32, most=1e5) or 224,
    )


BLOCKS = {
    "mamba": STATE_SPACE, "linear_attention": STATE_SPACE,
    "attention": ATTENTION, "full_attention": ATTENTION, "mlp": FEED_FORWARD, "moe": EXPERTS,
}  # fmt: skip
"""Letters of the layers that newer configurations list by name."""


def _pattern(reader: ConfigReader, letters: str, names: str, usual: str | None = None) -> str:
    """Return the layers of a hybrid as letters, from either of the fields that hold them."""
    listed = reader.document.get(names)
    if isinstance(listed, list):
        pattern = "".join(BLOCKS.get(str(name), "?") for name in listed)
    else:
        pattern = str(reader.document.get(letters) or usual or "")
    if not 1 <= len(pattern) <= MOST["layers"] or not set(pattern) <= LETTERS:
        raise Unprocessable.at(
            f"{reader.where}.{letters}",
            "{field} must name every layer by one of {letters}",
            field=letters,
            letters=" ".join(sorted(LETTERS)),
        )
    return pattern


def _hybrid(reader: ConfigReader, title: str) -> ModelProfile:
    """Return a hybrid of state spaces, attention and feed-forward blocks or experts (Nemotron-H)."""
    document, where = reader.document, reader.where
    hidden, heads = reader.need("hidden"), reader.need("heads")
    feed_forward = whole(document, "intermediate_size", where=where, most=MOST["feed_forward"]) or 4 * hidden

    def width(name: str, usual: int, least: int = 1) -> int:
        value = whole(document, name, where=where, least=least, most=MOST["feed_forward"])
        return usual if value is None else value

    options: dict[str, int | str] = {
        "pattern": _pattern(reader, "hybrid_override_pattern", "layers_block_type"),
        "hidden": hidden,
        "vocabulary": reader.need("vocabulary"),
        "heads": heads,
        "key_heads": _key_heads(reader, heads),
        "head_dimension": reader.get("head_dimension") or 128,
        "feed_forward": feed_forward,
        "state_heads": width("mamba_num_heads", 128),
        "state_head_dimension": width("mamba_head_dim", 64),
        "state": width("ssm_state_size", 128),
        "groups": width("n_groups", 8),
        "chunk": width("chunk_size", 128),
    }
    experts = _experts(reader, reader.get("feed_forward") or feed_forward)
    if experts:
        options |= {name: experts[name] for name in ("experts", "experts_per_token", "shared_feed_forward")}
        options["expert_feed_forward"] = reader.get("feed_forward") or feed_forward
        options["latent"] = width("moe_latent_size", 0, 0)
    predictions = reader.get("prediction_layers") or 0
    if predictions:
        options["predictions"] = predictions
        options["prediction_pattern"] = _pattern(
            reader, "mtp_hybrid_override_pattern", "mtp_layers_block_type", "*E"
        )
    reader.assume(
        "samples of {usual} tokens are assumed; the {value} positions are a limit, not a training length",
        usual=LONGEST_TAKEN,
        value=reader.get("context") or LONGEST_TAKEN,
    )
    return ModelProfile(
        id="config",
        name=title,
        family="gpt",
        origin="config",
        body=ArchitectureBody("hybrid", tuple(sorted(options.items()))),
        assumptions=tuple(reader.assumptions),
        default_seq_len=LONGEST_TAKEN,
    )


def _by_fields(reader: ConfigReader, model_type: str | None) -> Traits:
    """Return the traits of an unlisted model type, inferred from its fields."""
    document = reader.document
    architectures = str(document.get("architectures", ""))
    activation = str(
        document.get("hidden_act")
        or document.get("hidden_activation")
        or document.get("activation_function")
        or ""
    )
    both = flag(document, "is_encoder_decoder", False, where=reader.where)
    masked = "MaskedLM" in architectures and not both
    rms_norm = "rms_norm_eps" in document or "norm_eps" in document
    # A smooth activation behind a norm without shift is gated in every published decoder.
    gated = (rms_norm and activation not in {"relu", "relu2", "gelu"}) or activation in GATES
    rotary = rms_norm or any(str(field).startswith("rope") for field in document)
    masked = masked or (not both and "type_vocab_size" in document)
    reader.doubt(
        "model type {model} is unknown; based on its fields it is treated as {stack}, {form}, {positions}",
        model=as_text(model_type),
        stack=Message("an encoder-decoder" if both else "an encoder" if masked else "a decoder"),
        form=Message("with gated feed-forward layers" if gated else "with plain feed-forward layers"),
        positions=Message("with rotary positions" if rotary else "with learned positions"),
    )
    stack = Stack.ENCODER_DECODER if both else Stack.ENCODER if masked else Stack.DECODER
    family = "t5" if both else "bert" if masked else "llama" if gated else "gpt"
    return Traits(
        family=family,
        stack=stack,
        gated=gated,
        rotary=rotary,
        biases=not gated,
        rms_norm=rms_norm,
        tied=not gated,
        positions=not rotary,
        segments=masked,
        masked=masked,
        embedding_norm=masked,
        final_norm=not masked,
    )
