"""Arguments of training programs, as scripts, YAML, TOML and JSON keep them; read as text, nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import AppError
from app.profiles.readers.native import Native, native_of

MOST_LINES = 20_000
_OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w.-]{1,80})(?:[ \t=]+(?!--?[A-Za-z])([^\s\\\"']{1,200}))?")
_FIELD = re.compile(r"^[ \t]*(?:-[ \t])?\"?([A-Za-z_][\w.-]{1,80})\"?[ \t]{0,40}[:=](?:[ \t]+(.{0,400}))?$")
_VARIABLE = re.compile(r"^[ \t]*(?:export[ \t]+|local[ \t]+)?([A-Za-z_]\w{0,80})=([^\s;]{1,200})[ \t]*;?$")
_USED = re.compile(r"^\$\{?(\w+)(?::-(\w+))?\}?$")
PLAN = {
    "tensor_model_parallel_size": "tensor", "tensor_parallel_degree": "tensor",
    "tensor_parallel_size": "tensor", "model_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline", "pipeline_parallel_degree": "pipeline",
    "pipeline_parallel_size": "pipeline", "pipe_parallel_size": "pipeline",
    "context_parallel_size": "context", "context_parallel_degree": "context",
    "expert_model_parallel_size": "expert",
    "expert_parallel_degree": "expert", "virtual_pipeline_model_parallel_size": "interleave",
    "micro_batch_size": "micro_batch", "local_batch_size": "micro_batch",
    "per_device_train_batch_size": "micro_batch", "train_micro_batch_size_per_gpu": "micro_batch",
    "device_train_microbatch_size": "micro_batch", "micro_train_batch_size": "micro_batch",
    "gradient_accumulation_steps": "accumulation",
}  # fmt: skip
WORKLOAD = {
    "seq_length": "seq_len", "seq_len": "seq_len", "sequence_len": "seq_len", "cutoff_len": "seq_len",
    "max_seq_length": "seq_len", "max_seq_len": "seq_len", "encoder_seq_length": "seq_len",
    "max_sequence_length": "seq_len", "max_len": "seq_len", "block_size": "seq_len",
    "model_max_length": "seq_len",
    "max_target_length": "seq_len", "global_batch_size": "global_batch",
    "global_train_batch_size": "global_batch", "lora_r": "lora_rank", "lora_rank": "lora_rank",
    "num_epochs": "epochs", "num_train_epochs": "epochs", "max_epochs": "epochs", "epochs": "epochs",
}  # fmt: skip
SHARDING = {"full_shard": "parameters", "shard_grad_op": "gradients", "no_shard": "none",
            "0": "none", "1": "optimizer", "2": "gradients", "3": "parameters"}  # fmt: skip
RECOMPUTE = {"full": "full", "selective": "selective", "true": "full", "none": "none", "false": "none"}
PRECISION = {"bf16": "bf16", "bfloat16": "bf16", "bf16-mixed": "bf16", "amp_bf16": "bf16", "fp16": "fp16",
             "float16": "fp16", "16-mixed": "fp16", "amp_fp16": "fp16"}  # fmt: skip
WORDS: dict[str, tuple[str, dict[str, str]]] = {
    **dict.fromkeys(("sharding_strategy", "fsdp_sharding_strategy", "zero_stage"), ("sharding", SHARDING)),
    **dict.fromkeys(
        ("recompute_granularity", "activations_checkpoint_granularity", "gradient_checkpointing",
         "remat_policy", "activation_checkpointing", "enable_activation_checkpointing"),
        ("recompute", RECOMPUTE),
    ),
    **dict.fromkeys(("precision", "mixed_precision", "dtype", "torch_dtype"), ("precision", PRECISION)),
}  # fmt: skip
"""Arguments whose values are words: what they set, and what each word means."""
STEPS = ("train_iters", "max_steps", "train_steps")
BASES = ("base_model", "model_name_or_path", "pretrain", "model_name", "actor_rollout_ref.model.path")
DEVICES = ("nproc_per_node", "devices", "gpus_per_node", "n_gpus_per_node")
NODES = ("nnodes", "num_nodes", "nodes", "num_machines")
OTHERS = frozenset(
    ("num_layers", "hidden_size", "num_attention_heads", "bf16", "fp16", "zero_optimization",
     "train_batch_size", "use_distributed_optimizer", "sequence_parallel", "recompute_activations",
     "num_processes", "distributed_type", "finetuning_type", "use_peft", "fsdp_config",
     *WORDS, *STEPS, *BASES, *DEVICES, *NODES)
)  # fmt: skip
DECIDES = re.compile(
    r"parallel|shard|^zero|batch|precision|recompute|remat|checkpointing|offload|^deepspeed$|^fsdp$|quantiz"
    r"|load_in_|seq(uence)?_?len|^max_len|length$|flavor|^steps$|dtype|^(d_model|n_layers?|n_heads?|dim)$"
)
"""Names of arguments that decide about model, work or plan."""
ASIDE = re.compile(
    r"eval|val(idation)?_|test|save|log|warm|prefetch|loader|checkpoint_(dir|path)|_dir$|generat|overlap"
)
SHARDED = ("none", "optimizer", "gradients", "parameters")
"""State that replicas share at the stages of ZeRO, from 0 (DeepSpeed, configuration)."""
GPT2_TOKENS = 50257
"""Entries of the vocabulary of GPT-2 (openai/gpt-2, encoder.json)."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What arguments say; ``native`` is their model, where they state it."""

    values: dict[str, Any]
    workload: dict[str, Any]
    plan: dict[str, Any]
    native: Native | None = None
    unclear: tuple[str, ...] = ()
    """Names given with several values, or with one that only running the script would give."""
    base: str = ""
    refusals: tuple[str, ...] = field(default=())
    """Fields for which the model is not read."""
    devices: int | None = None


def script_arguments(text: str) -> Arguments | None:
    """Return the arguments of a script, YAML or TOML; None for any other text.

    >>> said = script_arguments("torchrun x.py --num-layers 2 --seq-length 2048 --micro-batch-size 4")
    >>> said.workload, said.plan
    ({'seq_len': 2048}, {'micro_batch': 4})
    """
    lines = [line[:2000].removeprefix("#SBATCH") for line in text.splitlines()[:MOST_LINES]]
    lines = [re.sub(r"(^|\s)#.*", "", line).rstrip() for line in lines]
    lines = [line for line in lines if line.strip()]
    options = [match for line in lines for match in _OPTION.finditer(line)]
    variables: dict[str, set[str]] = {}
    pairs: list[tuple[str, object]] = []
    fields = [match for line in lines if (match := _FIELD.match(line))]
    if options:
        for line in lines:
            if match := _VARIABLE.match(line):
                value = match[2].strip("\"'")
                if (used := _USED.match(value)) and used[1] == match[1]:
                    value = used[2] or ""
                variables.setdefault(match[1], set()).add(value)
        pairs = [(match[1], True if match[2] is None else match[2].rstrip(")};,")) for match in options]
    elif 2 * len(fields) >= len(lines):
        pairs = [(match[1], (match[2] or "").strip().rstrip(",")) for match in fields]
        pairs += [(match[1], "") for line in lines if (match := re.fullmatch(r"\[(\w{1,80})\]", line))]
        # Only Megatron-LM's command line wants a flag for groups of queries.
        pairs.append(("group_query_attention", True))
    known = {name for name, _ in pairs if _plain(name) in PLAN | WORKLOAD or _plain(name) in OTHERS}
    named = len(known) >= 3 or (len(known) == 2 and "#SBATCH" in text)
    return _read(pairs, variables) if named else None


def document_arguments(document: Mapping[str, object]) -> Arguments | None:
    """Return the arguments of a JSON document that describes a training run and no model (DeepSpeed)."""
    pairs = list(_flat(document, 0))
    names = {_plain(name) for name, _ in pairs}
    named = names & (PLAN.keys() | WORKLOAD.keys() | OTHERS)
    return _read(pairs, {}) if len(named) >= 2 or "zero_optimization" in names else None


def _flat(document: Mapping[str, object], depth: int) -> Iterator[tuple[str, object]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield name, ""
            if depth < 8:
                yield from _flat(value, depth + 1)
        elif not isinstance(value, list):
            yield name, value


def _plain(name: str) -> str:
    return name.rpartition(".")[2].replace("-", "_").lower()


def _value(text: object, variables: Mapping[str, set[str]], depth: int = 0) -> object:
    """Return a value, through the variables of its script; None where it is not stated once."""
    if not isinstance(text, str):
        return text
    text = text.strip("\"'")
    if used := _USED.match(text):
        found = variables.get(used[1]) or ({used[2]} if used[2] else set())
        return _value(next(iter(found)), variables, depth + 1) if len(found) == 1 and depth < 8 else None
    if "$" in text:
        given = re.fullmatch(r"\$\{\w+:-(\w+)\}", text)
        return _value(given[1], variables, depth + 1) if given and depth < 8 else None
    if text.lower() in {"true", "yes", "false", "no"}:
        return text.lower() in {"true", "yes"}
    if re.fullmatch(r"-?\d[\d_]{0,18}", text):
        return int(text)
    if re.fullmatch(r"-?\d{1,18}(\.\d{0,18})?([eE][+-]?\d{1,2})?", text):
        number = float(text)
        return int(number) if number.is_integer() else number
    return None if text.lower() in {"", "null", "none", "~"} else text


def _read(pairs: list[tuple[str, object]], variables: Mapping[str, set[str]]) -> Arguments:
    values: dict[str, Any] = {}
    unclear: list[str] = []
    nested = {_plain(name) for name, value in pairs if value == ""}
    for stated, text in pairs:
        name, value = _plain(stated), _value(text, variables)
        if (value is None and isinstance(text, str) and "$" in text) or (
            value is not None and values.setdefault(name, value) != value
        ):
            unclear.append(stated)
    relevant = PLAN.keys() | WORKLOAD.keys() | OTHERS
    unclear = [name for name in dict.fromkeys(unclear) if _plain(name) in relevant]
    for name in unclear:
        values.pop(_plain(name), None)

    def whole(name: str) -> int | None:
        value = values.get(name)
        number = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**12
        return value if number else None

    plan: dict[str, Any] = {PLAN[name]: value for name in PLAN if (value := whole(name)) is not None}
    workload: dict[str, Any] = {
        WORKLOAD[name]: value for name in WORKLOAD if (value := whole(name)) is not None
    }
    read = {
        "sequence_parallel", "recompute_activations", "load_in_4bit",
        *PLAN, *WORKLOAD, *(STEPS if "global_batch" in workload else ()),
    }  # fmt: skip
    if nested & {"zero_optimization"} or values.keys() & {
        "train_micro_batch_size_per_gpu",
        "micro_train_batch_size",
    }:
        if (batch := whole("train_batch_size")) is not None:
            workload["global_batch"] = batch
            read.add("train_batch_size")
        stage = values.get("stage")
        if isinstance(stage, int) and 0 <= stage <= 3:
            plan["sharding"] = SHARDED[stage]
        if "offload_optimizer" in nested and "cpu" in values.values():
            plan["offload"] = True
    if values.get("sequence_parallel") is True and plan.get("tensor", 1) > 1:
        plan["sequence_parallel"] = True
    if values.get("use_distributed_optimizer") is True:
        plan["sharding"] = "optimizer"
    if values.get("recompute_activations") is True:
        plan["recompute"] = "selective"
    for name, (target, words) in WORDS.items():
        word = words.get(str(values[name]).lower()) if name in values else None
        if word is not None:
            (workload if target == "precision" else plan).setdefault(target, word)
            read.add(name)
    if "activation_checkpoint" in nested and values.get("mode") in ("full", "selective"):
        plan.setdefault("recompute", values["mode"])
    for name in ("bf16", "fp16"):
        if (name in nested and values.get("enabled") is True) or values.get(name) in (True, "auto"):
            workload.setdefault("precision", name)
    tuning = {values.get("adapter"), values.get("finetuning_type"), values.get("use_peft") is True and "lora"}
    if tuning & {"lora", "qlora"} or "lora_rank" in workload:
        workload["kind"] = "qlora" if "qlora" in tuning or values.get("load_in_4bit") is True else "lora"
    steps = next((count for name in STEPS if (count := whole(name))), None)
    batch = workload.get("global_batch")
    samples = whole("train_samples") or (
        steps * batch if steps and batch and "rampup_batch_size" not in values else None
    )
    if samples:
        workload["samples"] = samples
    each, nodes = (
        next((count for name in names if (count := whole(name))), None) for names in (DEVICES, NODES)
    )
    devices = each * nodes if each and nodes else whole("num_processes")
    if devices and {"tensor", "pipeline"} <= plan.keys():
        share = plan["tensor"] * plan["pipeline"] * plan.get("context", 1)
        if devices % share == 0:
            plan["data"] = devices // share
    native, refusals = _model(values)
    base = next((str(values[name]) for name in BASES if isinstance(values.get(name), str)), "")
    if "flavor" in values:
        base = f"{values.get('name', '')} {values['flavor']}".strip()
        read.add("flavor")
    component = str(values.get("_component_") or "")
    if ".models." in component:
        base = component.rpartition(".")[2]
        if (micro := whole("batch_size")) is not None:
            plan["micro_batch"] = micro
            read.add("batch_size")
    missed = [
        name
        for name, value in values.items()
        if DECIDES.search(name)
        and not ASIDE.search(name)
        and value not in (False, "auto", "none")
        and not (value == 1 and "parallel" in name)
        and name not in read
    ]
    return Arguments(values, workload, plan, native, tuple([*unclear, *missed][:50]), base, refusals, devices)


def _model(values: Mapping[str, Any]) -> tuple[Native | None, tuple[str, ...]]:
    """Return the model of Megatron's arguments, and the fields for which it is not read."""
    document = {name: value for name, value in values.items() if name not in {"model_type", "architectures"}}
    if document.get("group_query_attention") is not True and "moe_router_topk" not in document:
        # Megatron-LM reads the groups only with this flag (megatron/training/arguments.py).
        document.pop("num_query_groups", None)
    if "padded_vocab_size" not in document and "vocab_size" not in document:
        if document.get("tokenizer_type") != "GPT2BPETokenizer":
            return None, ("vocab_size",) if "num_layers" in document else ()
        # Megatron-LM pads to a multiple for every tensor rank (megatron/training/tokenizer).
        step = int(document.get("make_vocab_size_divisible_by") or 128) * int(
            document.get("tensor_model_parallel_size") or 1
        )
        if not 0 < step < 10**7:
            return None, ("make_vocab_size_divisible_by",)
        document["padded_vocab_size"] = -(-GPT2_TOKENS // step) * step
    if (frequency := document.get("moe_layer_freq")) is not None and not isinstance(frequency, int):
        return None, ("moe_layer_freq",)
    try:
        return native_of(document), ()
    except AppError as error:
        return None, tuple(entry.field.rpartition(".")[2] for entry in error.errors)
