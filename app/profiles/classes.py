"""Configurations of the model types of huggingface/transformers, by what its classes build from them.

data/model_types has one file for each type, made by tools/model_types.py with the library itself: class
defaults, other names of fields, and the tensors of each architecture as formulas.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.errors import Message, Unprocessable
from app.profiles.documents import as_text
from app.profiles.presets import beside
from app.profiles.structures import ConfigScope, Tensor, UndefinedName, decided, tensors_of

LARGEST_FIELD = 1e9
MOST_LISTED = 10_000
EXACT = 0.005
"""Deviation from the library up to which a structure counts as understood."""
SUSPICIOUS = re.compile(
    r"expert|moe|mamba|ssm|lora_rank|rank$|block_config|_latent|state_size|conv_kernel|recurrent"
)
"""Names of fields that change what a layer is."""
GENERIC = frozenset(
    ("architectures", "auto_map", "torch_dtype", "dtype", "transformers_version", "model_type",
     "_name_or_path", "quantization_config",
     "rope_scaling", "rope_parameters", "id2label", "label2id", "task_specific_params")
)  # fmt: skip
TEXT_PARTS = ("text_config", "llm_config", "language_config", "llm_cfg", "decoder")


@lru_cache(maxsize=64)
def model_type(name: str) -> Mapping[str, Any] | None:
    """Return what is known of a model type; None where the library has no such type."""
    if not re.fullmatch(r"[\w.-]{1,80}", name):
        return None
    file = beside("data/model_types") / f"{name}.json"
    found: Mapping[str, Any] | None = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found


@lru_cache(maxsize=1)
def _types_of_classes() -> Mapping[str, str]:
    """Return the model type of each class of the library; the first one that has it."""
    found: dict[str, str] = {}
    for file in sorted(beside("data/model_types").glob("*.json")):
        known = json.loads(file.read_text(encoding="utf-8"))
        for name in known["architectures"] if known.get("library") != "diffusers" else ():
            found.setdefault(name, file.stem)
    return found


def type_by_class(document: Mapping[str, object]) -> str | None:
    """Return the model type of the class that a configuration names; None for any other class."""
    named = document.get("architectures")
    name = named[0] if isinstance(named, list) and named else None
    return _types_of_classes().get(name) if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class TensorReading:
    """Tensors of a configuration with what was not understood."""

    tensors: Counter[Tensor]
    scope: ConfigScope
    structure: Mapping[str, Any]
    architecture: str
    doubts: tuple[Message, ...]
    followed: bool = True
    """False where a field that decides about layers is given and not in the formulas."""

    @property
    def parameters(self) -> int:
        return sum(tensor.elements * count for tensor, count in self.tensors.items())


def architecture_of(known: Mapping[str, Any], document: Mapping[str, object]) -> str:
    """Return the class of a configuration: the one it names, else the usual one of its type."""
    named = document.get("architectures")
    options = known["architectures"]
    for name in named if isinstance(named, list) else ():
        if isinstance(name, str) and name in options:
            return name
    stated = str(named[0]) if isinstance(named, list) and named else ""
    for ending in NAMED:
        if stated.endswith(ending):
            for name in options:
                if name.endswith(ending):
                    return str(name)
    both = known["defaults"].get("is_encoder_decoder") is True
    names: list[str] = list(options)
    return min(names, key=lambda name: (both and not name.endswith("ForConditionalGeneration"), _usual(name)))


NAMED = ("ForMaskedLM", "ForCausalLM", "ForConditionalGeneration", "ForImageClassification", "ForCTC")
USUAL = ("LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "ForMaskedLM", "ForCTC", "Classification")
"""Endings of classes, the usual ones first."""


def _usual(name: str) -> int:
    return next((rank for rank, ending in enumerate(USUAL) if name.endswith(ending)), len(USUAL))


def fields_of(
    known: Mapping[str, Any], document: Mapping[str, object], where: str, prefix: str = ""
) -> dict[str, Any]:
    """Return the fields of a configuration by path: its own, else the defaults of the class."""
    defaults, aliases = known["defaults"], known.get("aliases", {})
    given = {
        aliases.get(name, name): _renamed(known, value) if LAYER_LIST.search(name) else value
        for name, value in document.items()
    }
    back = {name: alias for alias, name in aliases.items()}
    values: dict[str, Any] = {}
    later: list[tuple[str, Any]] = []
    for name, usual in defaults.items():
        value = given.get(name)
        if isinstance(usual, Mapping) and "type" in usual:
            inner = value if isinstance(value, Mapping) else {}
            if not inner and name in TEXT_PARTS:
                # Older files keep the fields of the language model beside the towers.
                inner = {field: entry for field, entry in document.items() if field in usual["fields"]}
                inner = {field: entry for field, entry in inner.items() if field not in GENERIC}
            kind = _inner_kind(inner, usual, document)
            under = model_type(kind) if kind != usual["type"] or inner else None
            source = under or {"defaults": usual["fields"]}
            found = fields_of(source, inner, f"{where}.{name}", f"{prefix}{name}.")
            values |= found
            for path, entry in _nested(usual["fields"]):
                values.setdefault(f"{prefix}{name}.{path}", entry)
        elif name in given and value is not None:
            values[prefix + name] = _checked(value, usual, f"{where}.{name}")
        elif isinstance(usual, Mapping):
            later.append((name, usual))
        elif name in given and (usual is None or not isinstance(usual, str | list)):
            # A field that is null is None, unless the class makes up for it.
            values[prefix + name] = None
        else:
            values[prefix + name] = usual
    if "feed_forward_proj" in given and "is_gated_act" in defaults and "is_gated_act" not in given:
        values[f"{prefix}is_gated_act"] = str(given["feed_forward_proj"]).startswith("gated")
    attending = given.get("full_attn_idxs")
    layers = values.get(f"{prefix}num_hidden_layers")
    if (
        isinstance(attending, list)
        and "layer_types" not in given
        and isinstance(layers, int)
        and layers < 1e4
    ):
        values[f"{prefix}layer_types"] = [
            "full_attention" if number in attending else "conv" for number in range(layers)
        ]
    if "moe_layers" in defaults and "moe_layers" not in given:
        step = values.get(f"{prefix}interleave_moe_layer_step")
        layers = values.get(f"{prefix}num_hidden_layers")
        if isinstance(step, int) and isinstance(layers, int) and step > 0 and layers <= MOST_LISTED:
            values[f"{prefix}moe_layers"] = list(range(step - 1, layers, step))
    local = ConfigScope({path.removeprefix(prefix): value for path, value in values.items()})
    for name, usual in later:
        if prefix + name in values:
            continue
        try:
            values[prefix + name] = _derived(usual, local)
        except UndefinedName:
            values[prefix + name] = None
        local = ConfigScope({**local.values, name: values[prefix + name]})
    for name, value in list(values.items()):
        short = name.removeprefix(prefix)
        if short in back:
            values.setdefault(prefix + back[short], value)
    return values


LAYER_LIST = re.compile(r"layer_types$|layers?_block_type$")
NEWER_NAMES = {"mamba": "linear_attention", "attention": "full_attention"}
"""Kinds of layers under the names that version 5 of the library gives them."""


def _renamed(known: Mapping[str, Any], value: object) -> object:
    """Return a list of layers by the names that the formulas of a class use."""
    if not isinstance(value, list) or "mamba" not in value or len(value) > MOST_LISTED:
        return value
    text = json.dumps([known["defaults"], known.get("architectures")])
    if '"mamba\\"' in text or '"mamba"' in text or "linear_attention" not in text:
        return value
    return [NEWER_NAMES.get(kind, kind) if isinstance(kind, str) else kind for kind in value]


def _inner_kind(inner: Mapping[str, object], usual: Mapping[str, Any], document: Mapping[str, object]) -> str:
    """Return the type of a part; older files name there that of the whole."""
    stated = inner.get("model_type")
    return str(usual["type"] if stated in (None, "", document.get("model_type")) else stated)


def _nested(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            if "type" in value:
                yield from ((f"{name}.{path}", entry) for path, entry in _nested(value["fields"]))
        else:
            yield name, value


def _derived(rule: Mapping[str, Any], scope: ConfigScope) -> Any:
    if "is" in rule:
        return scope.value(rule["is"])
    count = scope.whole(rule["each"])
    if count > MOST_LISTED:
        raise UndefinedName(rule["each"])
    made = []
    for number in range(count):
        scope.passes["i0"] = number
        made.append(decided(rule["tree"], scope))
    return made


def _checked(value: Any, usual: Any, where: str) -> Any:
    """Return a value of a field; refuse what is of another kind than the class takes."""
    name = where.rpartition(".")[2]
    if isinstance(value, str) and name == "sliding_window_pattern" and re.fullmatch("[LG]{1,99}", value):
        return len(value)
    if isinstance(value, list) and value and not isinstance(usual, list | Mapping | str):
        first = value[0]
        if isinstance(first, int) and len(value) <= MOST_LISTED and all(entry == first for entry in value):
            # One number for every layer, where the class takes one for all.
            value = first
    if isinstance(value, list):
        if len(value) > MOST_LISTED:
            raise Unprocessable.at(
                where, "{field} must list at most {most} entries", field=name, most=MOST_LISTED
            )
        return value
    numeric = isinstance(usual, int | float) and not isinstance(usual, bool)
    if numeric and not isinstance(value, int | float):
        raise Unprocessable.at(
            where, "{field} must be a number, not {value}", field=name, value=as_text(value)
        )
    if isinstance(value, int | float) and not abs(value) <= LARGEST_FIELD and numeric:
        if "token" in name or "seed" in name:
            return 0
        raise Unprocessable.at(
            where,
            "{field} must be at most {most}, not {value}",
            field=name,
            most=LARGEST_FIELD,
            value=as_text(value),
        )
    if isinstance(value, float) and isinstance(usual, int) and value.is_integer():
        return int(value)
    return value


def read_class(
    document: Mapping[str, object], where: str, known: Mapping[str, Any] | None = None
) -> TensorReading | None:
    """Return the tensors of a configuration of a known type, or None where the type is not known."""
    known = known or model_type(str(document.get("model_type") or ""))
    if known is None:
        return None
    architecture = architecture_of(known, document)
    structure = known["architectures"][architecture]
    values = fields_of(known, document, where)
    if (dimension := document.get("head_dim")) is not None and "head_dim" not in known["defaults"]:
        # Classes read it where a file has it, without a field of their own.
        values["head_dim"] = _checked(dimension, 1, f"{where}.head_dim")
        text = json.dumps(structure).replace("(hidden_size//num_attention_heads)", "head_dim")
        structure = json.loads(text)
    scope = ConfigScope(values)
    try:
        tensors = Counter(tensors_of(structure, scope))
    except UndefinedName as error:
        field_name = re.split(r"[^\w.]", error.name.strip("("))[0]
        raise Unprocessable.at(
            f"{where}.{field_name}",
            "{field} of this {model} cannot be read; give it as the class of the library defines it, or "
            "describe the model as a layer table",
            field=field_name,
            model=str(document.get("model_type")),
        ) from error
    doubts = [
        Message(
            "the field {field} is not one of {model} in the library and is not understood",
            {"field": name, "model": str(document.get("model_type"))},
        )
        for name in document
        if SUSPICIOUS.search(name)
        and document[name] not in (None, 0, False, [], {})
        and document[name] != HARMLESS.get(name)
        and (name != "experts_per_token" or document[name] != document.get("num_experts_per_tok"))
        and name not in known["defaults"]
        and name not in known.get("aliases", {})
        and name not in GENERIC
    ]
    classes = _classes(document)
    if classes is not None:
        tensors = Counter(
            {
                Tensor(t.path, t.kind, (classes, *t.sizes[1:]))
                if HEAD.search(t.path) and t.sizes[0] == USUAL_CLASSES
                else t: n
                for t, n in tensors.items()
            }
        )
    named = document.get("architectures")
    stated = str(named[0]) if isinstance(named, list) and named else ""
    if stated and stated != architecture:
        if stated.endswith("EncoderModel"):
            tensors = Counter(
                {t: n for t, n in tensors.items() if not re.search(r"(^|\.)(decoder|lm_head)\b", t.path)}
            )
        elif stated.endswith(("Model", "ForSequenceClassification", "ForTokenClassification")):
            tensors = Counter({t: n for t, n in tensors.items() if not LAST.search(t.path)})
    loose = _unfollowed(known, structure, document)
    doubts += [
        Message("the field {field} differs from that of the class and is not followed", {"field": name})
        for name in [
            *loose,
            *_repeats(known, structure, values),
            *_unknown_layers(known, structure, document),
        ]
    ]
    tensors = _replaced(tensors, known, document, where, doubts)
    if structure.get("deviation", 1.0) > EXACT:
        doubts.append(
            Message(
                "the parameters of {model} are not followed exactly at sizes other than the usual ones",
                {"model": str(document.get("model_type"))},
            )
        )
    return TensorReading(tensors, scope, structure, architecture, tuple(doubts), not loose)


HEAD = re.compile(r"(classifier|(^|\.)head|score|(^|\.)fc|class_labels_classifier).*\.?(weight|bias)$")
USUAL_CLASSES = 2
"""Classes of a configuration that gives none (PreTrainedConfig.num_labels)."""


def _classes(document: Mapping[str, object]) -> int | None:
    labels, count = document.get("id2label"), document.get("num_labels")
    if isinstance(labels, Mapping) and labels:
        return len(labels)
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 < count < 1e7 else None


DECIDING = re.compile(
    r"step$|_freq|interval|period|every|pattern|offset|_layers$|layers_block|layer_ids|block_type|rank$|experts|^use_.*bias"
    r"|_bias$|latent|shared"
)
"""Names of fields that decide what a layer is or how wide."""
NOT_STRUCTURE = re.compile(
    r"_per_tok|top_?k|num_hidden_layers|n_group|window|aux_loss|output_|router|dropout|mtp|nextn"
)
"""Names of them that do not change a tensor, or that are read for themselves."""


def _unfollowed(
    known: Mapping[str, Any], structure: Mapping[str, Any], document: Mapping[str, object]
) -> list[str]:
    """Return given fields that decide about layers, differ from the class and are in none of its formulas."""
    text = json.dumps([structure["loops"], structure.get("top")]) + json.dumps(
        [rule for rule in known["defaults"].values() if isinstance(rule, Mapping)]
    )
    aliases = known.get("aliases", {})
    loose = []
    for given, value in document.items():
        name = aliases.get(given, given)
        if name not in known["defaults"] or not DECIDING.search(name) or NOT_STRUCTURE.search(name):
            continue
        usual = known["defaults"][name]
        if isinstance(usual, Mapping) or value == usual or (not value and not usual):
            continue
        if "encoder" in name and "encoder." not in text:
            continue  # A decoder alone has none.
        if not re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text):
            loose.append(given)
    return loose


HARMLESS = {"moe_layer_freq": 1, "mamba_use_mlp": True}
"""Values of fields that state what a class does anyway."""
SAME_TENSORS = frozenset(
    ("full_attention", "sliding_attention", "chunked_attention", "local_attention", "global_attention")
)
"""Kinds of layers that differ in what they attend to, not in their tensors."""


def _unknown_layers(
    known: Mapping[str, Any], structure: Mapping[str, Any], document: Mapping[str, object]
) -> list[str]:
    """Return lists of layers that name a kind which no formula of the class speaks of."""
    text = json.dumps([structure["loops"], known["defaults"]])
    return [
        name
        for name, stated in document.items()
        if LAYER_LIST.search(name)
        and isinstance(value := _renamed(known, stated), list)
        and any(
            isinstance(kind, str)
            and kind not in SAME_TENSORS
            and f'{kind}\\"' not in text
            and f'"{kind}"' not in text
            for kind in value[:MOST_LISTED]
        )
    ]


REPEATS = re.compile(r"(^|_)(loops?|cycles|passes|recurrences|ut_steps)(_|$)(?!gate|layer)")
"""Names of fields that say how often the same layers run."""


def _repeats(known: Mapping[str, Any], structure: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """Return fields that let layers run several times, where the measured rows do not follow them."""
    return [
        name
        for name, usual in known["defaults"].items()
        if REPEATS.search(name)
        and isinstance(values.get(name), int)
        and values[name] > 1
        and (values[name] != usual or not structure.get("rows"))
    ]


LAST = re.compile(
    r"(^|\.)(lm_head|embed_out|output_layer|predictions|cls|score|classifier|vocab_head|lm_loss)\b"
)
LANGUAGE = re.compile(r"(^|\.)(language_model|text_model|llm|decoder|lm_head|text_decoder)\.")
VISION = re.compile(r"(^|\.)(vision_tower|vision_model|visual|vision_encoder|image_encoder|vision)\.")
AUDIO = re.compile(r"(^|\.)(audio_tower|audio_encoder|audio_model|encoder|speech_encoder)\.")
TOWERS: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("vision",), VISION, "vision_tower."),
    (("audio", "encoder"), AUDIO, "audio_tower."),
    (("",), LANGUAGE, "language_model."),
)
"""Words of a field, what it replaces and where its own tensors go."""


def _replaced(
    tensors: Counter[Tensor],
    known: Mapping[str, Any],
    document: Mapping[str, object],
    where: str,
    doubts: list[Message],
) -> Counter[Tensor]:
    """Return tensors with those of a tower of another type than the usual one in its place."""
    for name, usual in known["defaults"].items():
        inner = document.get(name)
        if not (isinstance(usual, Mapping) and "type" in usual and isinstance(inner, Mapping)):
            continue
        kind = _inner_kind(inner, usual, document)
        if kind == usual["type"]:
            continue
        pattern, tower = next(entry[1:] for entry in TOWERS if any(word in name for word in entry[0]))
        own = read_class({**inner, "model_type": kind}, f"{where}.{name}")
        if own is None:
            doubts.append(
                Message("{field} is of the type {model}, which is not known", {"field": name, "model": kind})
            )
            continue
        doubts += own.doubts
        tensors = Counter(
            {tensor: count for tensor, count in tensors.items() if not pattern.search(tensor.path)}
        )
        for tensor, count in own.tensors.items():
            tensors[Tensor(tower + tensor.path, tensor.kind, tensor.sizes)] += count
    return tensors
