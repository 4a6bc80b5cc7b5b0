"""What a file is, by its content: a model, data, prices, and what else it says of an estimate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.errors import AppError, Message, Unprocessable
from app.profiles.config import config_profile
from app.profiles.documents import check_size, decode, printable
from app.profiles.layer_table import read_layer_csv
from app.profiles.model import ModelProfile
from app.profiles.readers.arguments import Arguments, document_arguments, script_arguments
from app.profiles.readers.datasets import criteo_rows, listed_images
from app.profiles.readers.logs import RunLog, logged_shape, read_log, trainer_log
from app.profiles.readers.loose import parse_config
from app.profiles.readers.models import (
    CONFIGURATION,
    MOST_TEXT_BYTES,
    arguments_profile,
    is_binary,
    read_profile,
)
from app.profiles.readers.native import native_of
from app.profiles.readers.prices import (
    NONE_CHOSEN,
    Chosen,
    PriceList,
    columns_of,
    holds_money,
    priced_document,
    priced_rows,
    refuse_columns,
    table_rows,
    workbook_rows,
)
from app.profiles.readers.printed import is_printed, refuse_lightning
from app.profiles.readers.weights import header_of
from app.profiles.sample_files import encoding_of
from app.profiles.sample_lengths import TEXT_COLUMNS
from app.profiles.samples import LengthSample, read_sample
from app.profiles.summaries import is_summary

MOST_BYTES = 25_000_000
MODEL_KEYS = frozenset(
    ("model_type", "architectures", "hidden_size", "_class_name", "weight_map", "transformer", "layers",
     "d_model", "n_embd")
)  # fmt: skip
"""Keys of which a model's description has at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What was read of a file; ``model`` and the others are parts of a request."""

    kind: str
    recognised: Message
    model: dict[str, Any] | None = None
    profile: ModelProfile | None = None
    workload: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    sample: LengthSample | None = None
    prices: PriceList | None = None
    assumed: tuple[Message, ...] = ()
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    doubts: tuple[Message, ...] = ()
    columns: tuple[str, ...] = ()
    """Columns of a table, of which those of prices can be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a file."""

    seq_len: int | None = None
    image_size: int | None = None
    chosen: Chosen = NONE_CHOSEN


def read_import(name: str, data: bytes, asked: Asked = Asked()) -> Import:
    """Return what a file is and says; refuse one that nothing recognises."""
    title = printable(name, 80) or "file"
    check_size(title, len(data), MOST_BYTES)
    found = _read(title, data, asked)
    profile = found.profile
    if profile is None or (asked.seq_len is None and asked.image_size is None):
        return found
    given = {
        name: value
        for name, value, usual in (
            ("seq_len", asked.seq_len, profile.default_seq_len),
            ("image_size", asked.image_size, profile.default_image_size),
        )
        if value is not None and usual is not None
    }
    profile = profile.of_length(asked.seq_len).of_side(asked.image_size)
    return replace(found, profile=profile, workload={**found.workload, **given}, assumed=profile.assumptions)


def _read(title: str, data: bytes, asked: Asked) -> Import:
    rows = workbook_rows(title, data, asked.chosen) if data.startswith(b"PK\x03\x04") else None
    if rows is not None:
        prices = priced_rows(rows, asked.chosen)
        if prices is None:
            refuse_columns(title, rows, asked.chosen)
        return replace(_priced(prices), columns=tuple(columns_of(rows)))
    if data.startswith(b"PAR1"):
        return _sampled(title, data, asked)
    if header_of(title, data) is not None:
        return _modelled("safetensors", read_profile(title, data), None)
    if is_binary(data):
        profile = read_profile(title, data, asked.seq_len, asked.image_size)
        return _modelled("onnx", profile, None)
    if encoding_of(data[:65_536]) == "cp949":
        data = data.decode("cp949", "replace").encode()
    start = data[:65_536].rpartition(b"\n")[0].decode("utf-8", "replace")
    if listed_images(start) is not None or criteo_rows(start) is not None:
        return _rows(decode(title, data))
    if len(data) > MOST_TEXT_BYTES:
        return _sampled(title, data, asked)
    text = decode(title, data)
    if CONFIGURATION.match(text):
        return _structured(title, data, text, asked)
    shape = logged_shape(text)
    said = document_arguments(shape) if shape else None
    if said is not None:
        return _arguments(title, said)
    log = read_log(title, text)
    if log is not None:
        return _logged(log)
    said = script_arguments(text)
    if said is not None:
        return _arguments(title, said)
    if text.lstrip()[:1] == "[":
        return _structured(title, data, text, asked)
    if is_summary(text) or is_printed(text):
        return _modelled("printed" if is_printed(text) else "summary", read_profile(title, data), None)
    refuse_lightning(title, text)
    rows = table_rows(text)
    prices = priced_rows(rows, asked.chosen)
    if prices is not None:
        return replace(_priced(prices), columns=tuple(columns_of(rows)))
    if asked.chosen.columns or holds_money(rows):
        refuse_columns(title, rows, asked.chosen)
    if re.match(r"(?i)\s*\W?(kind|name|layer)\W?\s*[,;\t]", text):
        return _modelled("layers", read_layer_csv(title, text), None)
    if is_settings(text):
        raise refuse_settings(title)
    return replace(_sampled(title, data, asked), columns=tuple(columns_of(rows)))


SETTING = re.compile(
    r"""\s*(-\s+)?["']?[\w./-]+["']?\s*[:=](\s*$|\s+\S+(\s+\S+){0,3}\s*$)   # a name and a short value
    |\s*-\s+\S+\s*$|[|+][-=|+ ]|\s*[\])}]+[,;]?$|.*[{(\[]$            # lists, frames, brackets
    |\S+[=~>]=\s?[\w.]+$|\s*(FROM|RUN|COPY|CMD|ENV|ARG|WORKDIR|ENTRYPOINT|import|from|def|export|module|srun
      |python3?|torchrun|resource|return|if|for)\s|\#!|\#SBATCH
    |.*\s[\w.]+=\S+\s+[\w.+]+=\S+|.*\b\w+:\s-\skv""",
    re.VERBOSE,
)
"""Lines of settings, programs and the output of tools."""


def is_settings(text: str) -> bool:
    """Return whether a text is settings, a program or the output of a tool rather than data."""
    lines = [line for line in text.splitlines()[:400] if line.strip()]
    return bool(lines) and 2 * sum(bool(SETTING.match(line[:500])) for line in lines) > len(lines)


def refuse_settings(title: str) -> AppError:
    return Unprocessable.at(
        "file",
        "{file} reads like settings, a program or the output of a tool, of which nothing is understood; send "
        "the model's config.json, the arguments of the training, or a sample of the data as JSON lines",
        file=title,
    )


def columns_in(name: str, data: bytes) -> list[str]:
    """Return the columns of a table, of which those of prices can be chosen; none of another file."""
    rows = workbook_rows(name, data) if data.startswith(b"PK\x03\x04") else None
    if rows is None:
        if encoding_of(data[:65_536]) == "cp949":
            data = data.decode("cp949", "replace").encode()
        rows = table_rows(decode(name, data))
    return columns_of(rows)


def _structured(title: str, data: bytes, text: str, asked: Asked) -> Import:
    """Return what a JSON file, or one line after the other of it, says."""
    try:
        value = parse_config(title, text)
    except AppError as error:
        try:
            return _sampled(title, data, asked)
        except AppError:
            raise error from None
    if isinstance(value, Mapping):
        prices = priced_document(value)
        if prices is not None:
            return _priced(prices)
        if "log_history" in value:
            return _logged(trainer_log(title, value))
        if "peft_type" in value:
            return _adapter(value)
        images = value.get("images")
        if isinstance(images, list) and "annotations" in value:
            return _images(images)
        native = native_of(value)
        if native is not None:
            profile = config_profile(native.config, name=title, where="config")
            request = native.config if native.kind == "params.json" else None
            return _modelled(native.kind, profile, request, native.workload, native.plan)
        said = None if "model_type" in value or "_class_name" in value else document_arguments(value)
        if said is not None:
            return _arguments(title, said)
        if isinstance(kind := value.get("_class_name"), str) and kind.endswith("Pipeline"):
            return _pipeline(kind, value)
        if value.keys() & MODEL_KEYS:
            profile = read_profile(title, data)
            return _modelled("config" if profile.origin == "config" else profile.origin, profile, dict(value))
        if not any(isinstance(entry, list) and len(entry) > 1 for entry in value.values()) and not any(
            isinstance(value.get(name), str) for name in TEXT_COLUMNS
        ):
            raise refuse_settings(title)
    if isinstance(value, list) and value and isinstance(value[0], Mapping) and "kind" in value[0]:
        return _modelled("layers", read_profile(title, data), None)
    return _sampled(title, data, asked)


def _modelled(
    kind: str,
    profile: ModelProfile,
    document: dict[str, Any] | None,
    workload: dict[str, Any] | None = None,
    plan: dict[str, Any] | None = None,
) -> Import:
    model = {"config": document} if document is not None and profile.origin == "config" else None
    return Import(
        kind=kind,
        recognised=Message(
            "a model ({kind}): {name}, {parameters} billion parameters, {active} billion active",
            {
                "kind": kind,
                "name": profile.name,
                "parameters": float(f"{profile.parameters / 1e9:.4g}"),
                "active": float(f"{profile.active_parameters / 1e9:.4g}"),
            },
        ),
        model=model,
        profile=profile,
        workload=workload or {},
        plan=plan or {},
        assumed=profile.assumptions,
        missing=() if workload and "samples" in workload else ("workload.tokens",),
        not_understood=tuple(
            str(value)
            for message in profile.doubts
            for name, value in message.values.items()
            if name == "field"
        ),
        doubts=profile.doubts,
    )


def _rows(text: str) -> Import:
    """Return what a listing of images or rows of advertisements say of the data."""
    images = listed_images(text)
    if images is not None:
        kind = "images"
        count = images[0]
        recognised = Message("{count} images in {folders} folders", {"count": count, "folders": images[1]})
    else:
        kind, count = "criteo", criteo_rows(text) or 0
        recognised = Message(
            "{count} rows of 13 numbers and 26 categories (Criteo); the entries of tables are not in them",
            {"count": count},
        )
    return Import(
        kind=kind,
        recognised=recognised,
        workload={"epochs": 1, "dataset_samples": count},
        assumed=(Message("one epoch is assumed"),),
        missing=("model", "workload.image_size") if kind == "images" else ("model",),
    )


def _arguments(title: str, said: Arguments) -> Import:
    """Return what the arguments of a training program say of model, work and plan."""
    if said.native is not None:
        profile = arguments_profile(title, said)
        found = _modelled(said.native.kind, profile, None, said.workload, said.plan)
        return replace(found, not_understood=(*found.not_understood, *said.unclear))
    return Import(
        kind="arguments",
        recognised=Message(
            "arguments of a training program: {count} values of work and plan, model {base}, "
            "{devices} devices",
            {
                "count": len(said.workload) + len(said.plan),
                "base": printable(said.base) or "?",
                "devices": said.devices or "?",
            },
        ),
        workload=said.workload,
        plan=said.plan,
        missing=("model",),
        not_understood=(*said.refusals, *said.unclear),
    )


def _logged(log: RunLog) -> Import:
    """Return what the log of a run says, in words that can be held against what was meant."""
    return Import(
        kind="log",
        recognised=Message(
            "the log of a training run ({program}): {seconds} s a step over {count} steps; batch {batch}",
            {
                "program": log.program,
                "seconds": float(f"{log.seconds:.4g}"),
                "count": log.steps,
                "batch": log.global_batch or "?",
            },
        ),
        workload={"global_batch": log.global_batch} if log.global_batch else {},
        assumed=(Message("the median is taken, without the first tenth of the steps"),),
        missing=("model", "system"),
    )


TRAINED_PARTS = ("transformer", "unet", "prior", "decoder")


def _pipeline(kind: str, value: Mapping[str, object]) -> Import:
    """Return what a pipeline of diffusers consists of; the sizes stand in the file of each part."""
    parts: dict[str, str] = {
        name: entry[1]
        for name, entry in value.items()
        if isinstance(entry, list) and len(entry) == 2 and all(isinstance(word, str) for word in entry)
    }
    trained = [*(name for name in TRAINED_PARTS if name in parts), *parts]
    listed = ", ".join(f"{printable(name, 40)} ({printable(part, 60)})" for name, part in parts.items())
    return Import(
        kind="pipeline",
        recognised=Message(
            "a pipeline of diffusers ({kind}) of {parts}; the sizes of what is trained stand in {file}",
            {
                "kind": printable(kind),
                "parts": listed,
                "file": f"{printable(trained[0], 40)}/config.json" if trained else "?",
            },
        ),
        missing=("model",),
    )


def _adapter(value: Mapping[str, object]) -> Import:
    rank = value.get("r")
    modules = value.get("target_modules")
    workload: dict[str, Any] = {"kind": "lora"}
    if isinstance(rank, int) and not isinstance(rank, bool) and 0 < rank < 1e5:
        workload["lora_rank"] = rank
    if isinstance(modules, list) and all(isinstance(entry, str) for entry in modules[:50]):
        workload["lora_modules"] = modules[:50]
    return Import(
        kind="adapter",
        recognised=Message(
            "adapters ({kind}) on {base}",
            {
                "kind": printable(str(value.get("peft_type"))),
                "base": printable(str(value.get("base_model_name_or_path") or "?")),
            },
        ),
        workload=workload,
        missing=("model",),
    )


def _images(images: list[object]) -> Import:
    sides = sorted(
        entry["width"]
        for entry in images
        if isinstance(entry, Mapping) and isinstance(entry.get("width"), int)
    )
    workload: dict[str, Any] = {"epochs": 1, "dataset_samples": len(images)}
    if sides and 1 <= sides[len(sides) // 2] <= 1e5:
        workload["image_size"] = sides[len(sides) // 2]
    return Import(
        kind="coco",
        recognised=Message("{count} images with their annotations (COCO)", {"count": len(images)}),
        workload=workload,
        assumed=(Message("one epoch is assumed"),),
        missing=("model",),
    )


def _sampled(title: str, data: bytes, asked: Asked) -> Import:
    sample = read_sample(title, data, seq_len=asked.seq_len)
    return Import(
        kind="data",
        recognised=Message(
            "data: {samples} samples of {tokens} tokens on average",
            {"samples": sample.samples, "tokens": float(f"{sample.mean_tokens:.4g}")},
        ),
        sample=sample,
        workload={
            "epochs": 1,
            "dataset_samples": sample.samples,
            "seq_len": sample.seq_len,
            "mean_tokens": sample.mean_used,
        },
        assumed=(*sample.assumptions, Message("one epoch is assumed")),
        missing=("model",),
    )


def _priced(prices: PriceList) -> Import:
    first = prices.lines[0] if prices.lines else None
    if first is None and prices.unread:
        raise Unprocessable.at(
            "file",
            "no line of the prices can be read: quantity, unit price and total of {lines} do not agree, or a "
            "sum can be read in two ways; choose the columns, or correct these lines",
            lines=", ".join(prices.unread[:5]),
        )
    if first is None:
        raise Unprocessable.at(
            "file", "the price list ({kind}) has no line with a price above 0", kind=prices.kind
        )
    return Import(
        kind=prices.kind,
        recognised=Message(
            "prices ({kind}): {count} lines, the first is {item} at {price} {currency}",
            {
                "kind": prices.kind,
                "count": len(prices.lines),
                "item": first.item,
                "price": first.price,
                "currency": first.currency or "?",
            },
        ),
        prices=prices,
        assumed=(
            Message(
                "columns: {columns}",
                {"columns": ", ".join(f"{kind} = {name}" for kind, name in prices.columns.items())},
            ),
        )
        if prices.columns
        else (),
        missing=prices.missing,
        not_understood=prices.unread,
    )
