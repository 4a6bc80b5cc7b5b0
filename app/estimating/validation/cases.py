"""Measured runs as cases: how rows are completed, and the model of each."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from app.engine.operators.transformer import Stack, TransformerShape
from app.errors import CatalogError, Message
from app.estimating.chips import IPU_SERIES
from app.estimating.validation.texts import (
    compute_adapters,
    model_words,
    network_text,
    plain,
    squashed,
    system_key,
)
from app.profiles.bodies import TransformerBody
from app.profiles.model import ModelProfile, ScoredTokens
from app.profiles.presets import presets


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table: patterns that must all match, and the result."""

    patterns: Mapping[str, re.Pattern[str]]
    result: Mapping[str, str]

    def matches(self, facts: Mapping[str, str]) -> bool:
        # Tens of thousands of these are tried while a server starts; a generator takes twice as long.
        for name, pattern in self.patterns.items():  # noqa: SIM110
            if not pattern.search(facts.get(name, "")):
                return False
        return True


@dataclass(frozen=True, slots=True)
class MeasuredNetwork:
    """The network between the machines of a measured run."""

    fabric: str
    ports: int
    """0 where the text counts none."""
    efficiency: float
    named: bool
    """Whether the text names the fabric."""


@dataclass(frozen=True, slots=True)
class Rules:
    systems: Mapping[str, Mapping[str, str]]
    """By :func:`~app.estimating.validation.texts.system_key`."""
    networks: tuple[Rule, ...]
    software: tuple[Rule, ...]
    completion: tuple[Rule, ...]
    models: tuple[Rule, ...]
    usual: Callable[[str, str], str | None] = lambda family, chip: None
    """Software profile of a family of models on a chip where no text names one, as in estimates."""

    def system(self, text: str) -> Mapping[str, str] | None:
        return self.systems.get(system_key(text))

    def network(self, text: str, chip: str, devices_per_node: int) -> MeasuredNetwork | None:
        """Return the network that a text names, corrected by the first rule that matches."""
        text = network_text(text)
        facts = {"interconnect": text, "chip": chip}
        rule = next((rule.result for rule in self.networks if rule.matches(facts)), None)
        adapters = compute_adapters(text, devices_per_node)
        if rule is not None:
            if not rule["fabric"]:
                return None
            ports = int(rule["ports"] or (adapters.ports if adapters else 0))
            return MeasuredNetwork(rule["fabric"], ports, float(rule["efficiency"]), rule["named"] == "yes")
        return (
            None
            if adapters is None
            else MeasuredNetwork(adapters.fabric, adapters.ports, 1.0, adapters.named)
        )

    def profile(self, facts: Mapping[str, str]) -> str | None:
        return next((rule.result["profile"] for rule in self.software if rule.matches(facts)), None)

    def model(self, facts: Mapping[str, str]) -> Mapping[str, str]:
        """Return the preset of the first rule that matches, or the reason why a model has no operators."""
        facts = {**facts, "model": squashed(facts["model"])}
        return next((rule.result for rule in self.models if rule.matches(facts)), {})

    def completed(self, facts: Mapping[str, str]) -> dict[str, str]:
        """Return the fields that all matching rules fill in, later rules last."""
        fields: dict[str, str] = {}
        for rule in self.completion:
            if rule.matches(facts):
                fields[rule.result["field"]] = rule.result["value"]
        return {name: value for name, value in fields.items() if value}


KEYS = (
    *("family", "chip", "software", "model", "form_factor", "interconnect", "seq_len", "precision"),
    *("metric", "micro_batch", "global_batch"),
)
"""Facts that patterns match, the most selective first."""

WHOLE = frozenset({"family", "chip", "seq_len", "micro_batch", "global_batch"})
"""Facts that a pattern must match in full."""


def all_of(text: str) -> str:
    """Return the pattern of a cell whose parts, joined by `` & ``, must all be found, or not after ``!``.

    >>> pattern = re.compile(all_of("TF 1 & SDK 3 & !PopART"))
    >>> [bool(pattern.search(text)) for text in ("SDK 3.0, TF 1.15", "TF 1.15", "TF 1 PopART SDK 3")]
    [True, False, False]
    """
    if " & " not in text and not text.startswith("!"):
        return text
    parts = (f"(?!.*(?:{part[1:]}))" if part[0] == "!" else f"(?=.*(?:{part}))" for part in text.split(" & "))
    return "^" + "".join(parts)


def rule_of(row: Mapping[str, str], keys: Collection[str] = KEYS, whole: Collection[str] = WHOLE) -> Rule:
    """Return a row as a rule; columns that are not keys are its result."""
    patterns = {
        name: re.compile(f"^(?:{row[name]})$" if name in whole else all_of(row[name]), re.IGNORECASE)
        for name in keys
        if row.get(name)
    }
    return Rule(patterns, {name: value for name, value in row.items() if name not in keys})


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, restval=""))
    for line, row in enumerate(rows, start=2):
        if None in row:
            raise CatalogError(f"{path.name} line {line}: too many columns")
    return rows


def load_rules(directory: Path) -> Rules:
    def rules(name: str) -> tuple[Rule, ...]:
        return tuple(map(rule_of, read_table(directory / name)))

    return Rules(
        systems={system_key(row["measured"]): row for row in read_table(directory / "systems.csv")},
        networks=rules("networks.csv"),
        software=rules("software.csv"),
        completion=rules("completion.csv"),
        models=rules("models.csv"),
    )


ANSWER_COLUMNS = frozenset({"value", "model_tflops_per_accel", "mfu_pct", "mfu_basis", "notes", "source"})
"""Columns that reveal the measured value, which a case never reads. Of the notes it reads what a rate
counts (see :attr:`MeasurementCase.includes_evaluation`), the layout (:data:`DEGREES`), the tokens of a step
(:data:`STEP_TOKENS`) and techniques (:data:`TECHNIQUES`)."""


def without_answers(row: Mapping[str, str]) -> dict[str, str]:
    """Return a row of measured.csv without the columns that betray its value."""
    return {name: cell for name, cell in row.items() if name == "notes" or name not in ANSWER_COLUMNS}


THROUGHPUT = frozenset({"samples_per_s", "tokens_per_s", "step_time_s", "tflops_per_accel"})
"""Metrics of a rate or a step, without the length of a run."""
EVALUATION_INCLUDED = re.compile(r"INCLUDES evaluation", re.IGNORECASE)

OF = r"(?:[ _-]?(?:size|degree))?[ :=_-]{0,3}(\d+)"
DEGREES = {
    name: re.compile(rf"(?:(?<![A-Za-z])(?:{words})){OF}", re.IGNORECASE)
    for name, words in (
        ("context", r"context[ _-]?parallel(?:ism)?|CP"),
        ("expert", r"expert[ _-]?(?:model[ _-]?)?parallel(?:ism)?|EP"),
        ("interleave", r"virtual[ _-]?(?:pipeline|stages)(?:[ _-](?:stages|parallel))?|VPP?|interleave"),
    )
}
"""Degrees of a layout that are stated in the notes, as they have no column."""
TECHNIQUES = re.compile(r"DualPipe|(?:1F1B|EP)[ _-]overlap", re.IGNORECASE)
"""Techniques that decide about a stack as its name does, where the notes state them."""
STEP_TOKENS = re.compile(r"(\d[\d,]*\.?\d* ?[kKMB]?) tokens (?:per|a|each) (?:global )?(?:step|batch)")
"""Tokens of a step, where the notes state them and the column of the batch is empty."""


class UnsupportedCase(Exception):
    def __init__(self, template: str, **values: object) -> None:
        self.message = Message(template, values)
        super().__init__(str(self.message))


NUMBER = re.compile(r"\s*(-?\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?)\s*([kKMGBT]?)")
THOUSANDS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}


def number(text: str) -> float | None:
    """Return the first finite number of a cell, with the thousands of ``4M``; None where there is none."""
    match = NUMBER.match(text or "")
    if not match:
        return None
    value = float(match.group(1).replace(",", "")) * THOUSANDS[match.group(2)]
    return value if math.isfinite(value) else None


LARGEST = {
    "accelerators": 1e7,
    "nodes": 1e7,
    "params": 1e16,
    "hidden": 1e6,
    "layers": 1e5,
    "heads": 1e5,
    "seq_len": 1_048_576.0,
    "image_size": 16_384.0,
    "global_batch": 1e12,
    "micro_batch": 1e7,
    "tp": 1e5,
    "pp": 1e5,
    "dp": 1e7,
    "samples_or_tokens_total": 1e30,
}
"""Largest value accepted in each numeric column."""

SMALLEST = 1e-3


def bounded(row: Mapping[str, str], column: str) -> float | None:
    """Return a number of a row, None where it is missing or 0; refuse one out of bounds."""
    value = number(row.get(column, ""))
    if not value:
        return None
    if not SMALLEST <= value <= LARGEST[column]:
        raise UnsupportedCase(
            "{column} must be between {least} and {most}, not {value}",
            column=column,
            value=value,
            least=SMALLEST,
            most=LARGEST[column],
        )
    return value


def whole(row: Mapping[str, str], column: str) -> int | None:
    """Return a cell as a whole number above 0, or None."""
    value = bounded(row, column)
    return int(value) if value is not None and value >= 1 else None


FORMATS = re.compile(
    r"mx ?fp ?8|(?:nv|mx)?[ _]?fp ?4|fp ?8|float ?8|e4m3|int ?8|(?:fp)?(?:16\.(?:16|32)|32\.32)"
    r"|tf ?32|fp ?32|float ?32|b(?:fp?|float)[ _-]?16|fp ?16|float ?16|half",
    re.IGNORECASE,
)
"""Number formats in the text of a row; the first is that of the products."""
FORMAT_NAMES = (("mxfp8", "mxfp8"), ("mxfp4", "mxfp4"), ("p4", "nvfp4"), ("8", "fp8"), ("tf32", "tf32"))


def precision_of(text: str) -> str:
    """Return the format of the products that a row names, half precision where it names none.

    Where a row doubts between formats it is the narrowest: a chip that has it is bought for it.

    >>> [precision_of(text) for text in ("fp8+bf16", "bf16 (fp32 grad accum)", "FP16.16", "32.32")]
    ['fp8', 'bf16', 'fp16.16', 'fp32']
    >>> [precision_of(text) for text in ("MX-FP4", "bfloat16", "int8+bf16 (AQT)", "mixed", "fp8 or nvfp4")]
    ['mxfp4', 'bf16', 'int8', 'fp16', 'nvfp4']
    """
    text = re.sub(r"(?<=[a-z])[-_ ](?=fp|\d)", "", text.lower())
    names = [re.sub(r"[ _-]", "", match.group()) for match in FORMATS.finditer(text)]
    if not names:
        return "fp16"
    doubted = re.search(r"\bor\b", text)
    name = next((found for found in names if doubted and "p4" in found), names[0])
    if "16." in name or "32." in name:
        return "fp32" if "32." in name else "fp16.16"
    if name.startswith(("int", "b")):
        return "int8" if name.startswith("int") else "bf16"
    known = next((known for part, known in FORMAT_NAMES if part in name), None)
    return known or ("fp32" if "32" in name else "fp16")


SHARDING = (
    (r"(?:grad_op|grad op|stage[ _-]?2|zero[ _-]?2)|^\W*2\b", 2.0),
    (r"fsdp|hsdp|full_shard|full shard|fully|stage[ _-]?3|zero[ _-]?(?:3|\+\+|inf)|^\W*3\b", 3.0),
    (r"stage[ _-]?1|zero[ _-]?1|distributed (?:optimizer|adam)|optimizer states?\b|^\W*1\b", 1.0),
)
"""States that are sharded over copies, by the text of a row."""
RECOMPUTE = (
    (r"\b(?:no|none|off|false|without)\b|^0$", 0.0), (r"qkv_proj", 1.75),
    (r"selective|minimal|core[ _-]?att|attention only", 1.0),
    (r"full|yes|true|on\b|all|checkpoint|every layer|uniform|block|^1$", 2.0),
)  # fmt: skip
"""Recompute mode by its text. MaxText keeps all products under ``minimal``, and under ``qkv_proj`` a
quarter of a layer's."""
INSIDE_NODE = re.compile(r"within|HSDP|hybrid.?shard|inside the VM", re.IGNORECASE)
"""Texts of states that are sharded over the devices of one machine alone."""
OFFLOAD_COLUMNS = ("zero", "recompute", "software", "precision", "model_name", "notes")
OFFLOAD = re.compile(
    r"(?<!no )(?<!without )(?<!activation )(?:optimi[sz]er|cpu|host|zero[ _-]*[1-3]?)[ _,+-]*off-?load"
    r"|off-?load(?:ed|ing)? (?:the |of )*optimi[sz]er|zero-?infinity",
    re.IGNORECASE,
)
"""Optimizers that the host updates, in whatever column a row says it."""


def first_unit(text: str) -> str:
    """Return the unit that a cell names, ``token`` or ``sample``; empty where it names none.

    >>> first_unit("300B tokens"), first_unit("3.1M sequences"), first_unit("3e11")
    ('token', 'sample', '')
    """
    if re.search("tok", text, re.IGNORECASE):
        return "token"
    return "sample" if re.search("sample|sequence|image|seq", text, re.IGNORECASE) else ""


def first_match(text: str, table: Iterable[tuple[str, float]]) -> float | None:
    return next((value for pattern, value in table if re.search(pattern, text, re.IGNORECASE)), None)


def sharding_of(zero: str, software: str) -> float:
    """Return the ZeRO stage that a row states, else the one its software is named for.

    >>> [sharding_of(text, "") for text in ("3 (FSDP 128)", "ZeRO-2", "SHARD_GRAD_OP", "distributed Adam")]
    [3.0, 2.0, 2.0, 1.0]
    >>> sharding_of("", "PyTorch FSDP"), sharding_of("0", "FSDP"), sharding_of("", "DeepSpeed ZeRO-3")
    (3.0, 0.0, 3.0)
    """
    return first_match(zero or f"by {software}", SHARDING) or 0.0


@dataclass(frozen=True, slots=True)
class MeasurementCase:
    """One measured run by its configuration."""

    id: str
    group: str
    family: str
    metric: str
    model: str
    software: str
    interconnect: str
    precision: str
    system: str
    chip: str
    devices: int
    nodes: int
    seq_len: int | None
    image_size: int | None
    hidden: int | None
    layers: int | None
    heads: int | None
    parameters: float | None
    global_batch: float | None
    micro_batch: float | None
    tensor: int
    pipeline: int
    laid_out: bool
    """True where the row or a rule states the layout."""
    copies_alone: bool
    """True where the row states the data-parallel degree alone."""
    data: int | None
    sharding: float
    sharding_inside_node: bool
    context: int
    """Ranks that share the tokens of a sample, of those that hold a copy of the weights."""
    expert: int | None
    interleave: int | None
    recompute: float | None
    sequence_parallel: bool
    total: float | None
    includes_evaluation: bool
    completed: Mapping[str, str]
    profile: str | None
    """Software profile of the run, if known."""
    presumed: bool
    """True where no rule knows the software, so that the profile is the usual one."""
    preset: str | None
    """Model preset of the run, if known."""
    refused: str = ""
    """Why a run of this kind has no operators; else empty."""

    @property
    def devices_per_node(self) -> int:
        return max(1, -(-self.devices // max(self.nodes, 1)))


def for_ranks(completed: Mapping[str, str], stages: int, context: int) -> dict[str, str]:
    """Return the fields that rules fill in for ranks of a copy.

    ``field/8`` applies to eight stages only, ``field/c1`` to one context rank only.
    """
    fields = {name: value for name, value in completed.items() if "/" not in name}
    for name, value in completed.items():
        field, _, length = name.partition("/")
        if length in (str(stages), f"c{context}"):
            fields[field] = value
    return fields


def _degrees(notes: str) -> dict[str, Any]:
    """Return the degrees of a layout that the notes of a row state."""
    matches = {name: pattern.search(notes) for name, pattern in DEGREES.items()}
    stated = {name: None if match is None else int(match.group(1)) for name, match in matches.items()}
    return stated | {"context": max(stated["context"] or 1, 1)}


def read_case(row: Mapping[str, str], rules: Rules) -> MeasurementCase:
    """Return the case of a row of measured.csv; raise Unsupported where it cannot be built."""
    measured = row.get("system", "").strip()
    system = rules.system(measured)
    if system is None:
        raise UnsupportedCase("there is no system {system}", system=measured or "(blank)")
    precision = precision_of(row.get("precision", ""))
    ipu = system["chip"] in IPU_SERIES
    batch_text = row.get("global_batch", "")
    if ipu:
        precision = "fp32" if precision in ("fp32", "tf32") else "fp16.16"
    family = row.get("family", "").strip().lower()
    facts = {
        "software": plain(" ".join([row.get("software", ""), *TECHNIQUES.findall(row.get("notes", ""))])),
        "family": family,
        "chip": system["chip"],
        "model": model_words(row.get("model_name", "")),
        "interconnect": network_text(row.get("interconnect", "")),
        "form_factor": "pcie" if "pcie" in system["chip"] else "sxm",
        "seq_len": row.get("seq_len", ""),
        "precision": "amp_bf16" if "amp" in row.get("precision", "").lower() else precision,
        "metric": row.get("metric", ""),
        "global_batch": f"{number(batch_text) or 0:.0f}",
    }
    completed = rules.completed(facts)
    cores = int(completed.get("cores", 1))
    stages = whole(row, "pp") or int(completed.get("pipeline", 1))
    completed = for_ranks(completed, stages, _degrees(row.get("notes", ""))["context"])
    if stated := STEP_TOKENS.search(row.get("notes", "")):
        completed["step_tokens"] = str(number(stated.group(1)))
        completed["step_stated"] = "1"
    if unit := first_unit(row.get("samples_or_tokens_total", "")):
        completed["total_unit"] = unit
    if not ipu and OFFLOAD.search(" | ".join(row.get(name, "") for name in OFFLOAD_COLUMNS)):
        completed.setdefault("offload", "1")
    sharding_text = row.get("zero", "") or completed.get("zero", "")
    devices = whole(row, "accelerators") or int(completed.get("accelerators", 0))
    if not devices:
        raise UnsupportedCase("the number of accelerators is missing")
    recompute_text = row.get("recompute", "") or completed.get("recompute", "")
    seq_len = whole(row, "seq_len") or int(completed.get("seq_len", 0)) or None
    batch = bounded(row, "global_batch")
    if batch is not None and "token" in batch_text:
        # Tokens are stated rounded: 4M of 2,048 are 2,048 samples, the nearest power of two.
        batch = max(1.0, 2.0 ** round(math.log2(batch / seq_len))) if seq_len else None
    micro_batch = bounded(row, "micro_batch")
    tensor, data = whole(row, "tp") or int(completed.get("tensor", 1)), whole(row, "dp")
    if tensor == 1:
        # Cores of a device that each hold a copy run their samples side by side.
        data = data and -(-data // cores)
        micro_batch = micro_batch and micro_batch * cores
    of_model = {
        "model": row.get("model_name", ""),
        "family": family,
        "micro_batch": "" if micro_batch is None else f"{micro_batch:g}",
    }
    known_model = rules.model(of_model)
    preset = known_model.get("preset") or preset_in(row.get("model_name", ""))
    if family == "other" and preset in presets() and presets()[preset].family in TRANSFORMERS:
        # No family is named, so the model tells it.
        family = presets()[preset].family
    named = rules.profile(facts)
    layout_stated = bool({"tensor", "pipeline"} & set(completed) or whole(row, "tp") or whole(row, "pp"))
    copies_stated = bool(whole(row, "dp"))
    return MeasurementCase(
        id=row.get("id", ""),
        group=row.get("group", "") or row.get("id", ""),
        family=family,
        metric=row.get("metric", ""),
        model=row.get("model_name", ""),
        software=row.get("software", ""),
        interconnect=row.get("interconnect", ""),
        precision=precision,
        system=system["system"],
        chip=system["chip"],
        devices=devices,
        nodes=whole(row, "nodes") or -(-devices // (4 if ipu else 8)),
        seq_len=seq_len,
        image_size=int(completed.get("image_size", 0)) or whole(row, "image_size"),
        hidden=whole(row, "hidden"),
        layers=whole(row, "layers"),
        heads=whole(row, "heads"),
        parameters=bounded(row, "params"),
        global_batch=batch,
        micro_batch=micro_batch,
        tensor=-(-tensor // cores),
        pipeline=stages,
        laid_out=layout_stated or copies_stated,
        copies_alone=copies_stated and not layout_stated,
        data=data,
        sharding=0.0 if ipu else sharding_of(sharding_text, facts["software"]),
        sharding_inside_node=bool(INSIDE_NODE.search(sharding_text)),
        **_degrees(row.get("notes", "")),
        recompute=first_match(recompute_text, RECOMPUTE),
        sequence_parallel=bool(re.search("seqpar|sequence.?parallel", recompute_text, re.IGNORECASE))
        or completed.get("sequence_parallel") == "1",
        total=bounded(row, "samples_or_tokens_total"),
        includes_evaluation=bool(EVALUATION_INCLUDED.search(row.get("notes", ""))),
        completed=completed,
        profile=named or rules.usual(facts["family"], system["chip"]),
        presumed=named is None,
        preset=preset,
        refused=known_model.get("refused", ""),
    )


SHORTEST_NAME = 6


@cache
def preset_in(name: str) -> str | None:
    """Return the preset whose identifier a name contains, the longest of several."""
    text = squashed(name)
    found = [known for known in presets() if len(key := squashed(known)) >= SHORTEST_NAME and key in text]
    return max(found, key=len, default=None)


TRANSFORMERS = {"gpt": Stack.DECODER, "llama": Stack.DECODER, "bert": Stack.ENCODER, "vit": Stack.ENCODER}
GATED_ROUNDING = 256
"""Gated feed-forward widths are rounded to this multiple (Touvron et al. 2023)."""


def find_model(case: MeasurementCase) -> ModelProfile:
    """Return the profile of a measured model; raise Unsupported where the columns do not define one."""
    columns = case.family in TRANSFORMERS and bool(case.hidden and case.layers and case.heads)
    if case.refused:
        raise UnsupportedCase("{model}: {reason}", model=case.model, reason=Message(case.refused))
    known_preset = presets().get(case.preset or "")
    fitting = known_preset and _resized(known_preset, case)
    if fitting:
        return _with_classes(fitting, case)
    if columns:
        return transformer_from_columns(case)
    raise UnsupportedCase(
        "no operators are known for {model}, and its columns do not define a transformer", model=case.model
    )


def _resized(profile: ModelProfile, case: MeasurementCase) -> ModelProfile | None:
    """Return a preset with the layers and the vocabulary of a row; None where the row has other widths."""
    body = profile.body
    if not isinstance(body, TransformerBody):
        return profile
    shape = body.shape
    if (case.hidden or shape.hidden, case.heads or shape.heads) != (shape.hidden, shape.heads):
        return None
    layers, vocabulary = case.layers or shape.layers, shape.vocabulary
    if case.hidden and case.family in TRANSFORMERS:
        vocabulary = int(case.completed.get("vocabulary", vocabulary))
    if (layers, vocabulary) == (shape.layers, shape.vocabulary):
        return profile
    return replace(profile, body=replace(body, shape=replace(shape, layers=layers, vocabulary=vocabulary)))


def _with_classes(profile: ModelProfile, case: MeasurementCase) -> ModelProfile:
    """Return a transformer with the classes that a rule names in place of its vocabulary."""
    body = profile.body
    if "classes" not in case.completed or not isinstance(body, TransformerBody):
        return profile
    shape = replace(body.shape, classes=int(case.completed["classes"]), head_transform=False)
    scored = ScoredTokens(float(case.completed.get("scored_share", 0.0)))
    if not scored.share and case.seq_len:
        scored = ScoredTokens(1.0 / case.seq_len)
    return replace(profile, body=replace(body, shape=shape), scored=scored)


def transformer_from_columns(case: MeasurementCase) -> ModelProfile:
    if case.hidden is None or case.layers is None or case.heads is None or case.hidden % case.heads:
        raise UnsupportedCase(
            "hidden {hidden} is not divisible by heads {heads}", hidden=case.hidden, heads=case.heads
        )
    gated = case.family == "llama"
    default_vocabulary = 30522 if case.family == "bert" else 50257
    vocabulary = int(case.completed.get("vocabulary", default_vocabulary))
    feed_forward = 4 * case.hidden
    if gated:
        feed_forward = _gated_width(case, vocabulary)
    shape = TransformerShape(
        layers=case.layers,
        hidden=case.hidden,
        heads=case.heads,
        key_heads=case.heads,
        head_dimension=case.hidden // case.heads,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        stack=TRANSFORMERS[case.family],
        gated=gated,
        rotary=gated,
        biases=not gated,
        tied=not gated,
        positions=0 if gated else case.seq_len or 0,
        rms_norm=gated,
        head_transform=case.family == "bert",
        pooler=case.family == "bert",
    )
    return ModelProfile(
        id="columns",
        name=case.model,
        family=case.family,
        origin="transformer",
        body=TransformerBody(shape),
        default_seq_len=case.seq_len,
    )


def _gated_width(case: MeasurementCase, vocabulary: int) -> int:
    """Feed-forward width from the parameter count, else eight thirds of the hidden size."""
    hidden, layers = float(case.hidden or 1), float(case.layers or 1)
    width = hidden * 8.0 / 3.0
    if case.parameters:
        one_layer = (case.parameters - 2.0 * vocabulary * hidden) / layers
        stated = (one_layer - 4.0 * hidden * hidden) / (3.0 * hidden)
        if hidden < stated < 8.0 * hidden:
            width = stated
    return int(round(width / GATED_ROUNDING) * GATED_ROUNDING)
