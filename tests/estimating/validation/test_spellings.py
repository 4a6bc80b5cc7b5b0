"""Texts of measured rows as other people would write them: what is read stays what it was."""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache

import pytest

from app.estimating.context import MEASURED
from app.estimating.validation.cases import UnsupportedCase, read_case, without_answers
from app.estimating.validation.run import read_rows
from tests.conftest import DATA, sizing_context

DRAWN = 60
"""Different texts of a column that are drawn from the measured rows."""

NEVER_READ = frozenset({"id", "group", "software", "interconnect", "model"})
NETWORK_WORDS = re.compile(r"EW|NVLINK 3.0, 200|NVLink, 900|GB/s \|", re.IGNORECASE)
"""Texts whose letters' case says what their numbers mean."""


def turned(text: str) -> str:
    """Return a list with its first entry last."""
    if re.search(r"[(|]|\band\b", text):
        return text
    parts = re.split(r"(\s*[,;/+]\s*)", text)
    words, signs = parts[::2], parts[1::2]
    return "".join(word + sign for word, sign in zip([*words[1:], words[0]], [*signs, ""], strict=True))


def ended(words: str) -> Callable[[str], str]:
    return lambda text: text + words if text else text


VERSION = r"(?<=[A-Za-z]) (?=\d+\.\d)"
SPELLINGS: Mapping[str, Mapping[str, Callable[[str], str]]] = {
    "software": {
        "capitals": str.upper,
        "small": str.lower,
        "hyphens": lambda text: re.sub(r"(?<=[A-Za-z]) (?=[A-Za-z])", "-", text),
        "underscores": lambda text: text.replace(" ", "_"),
        "no hyphens": lambda text: re.sub(r"(?<=[A-Za-z])[-_](?=[A-Za-z])", " ", text),
        "typographic": lambda text: text.replace("-", "\u2013").replace(" ", "\u00a0"),
        "v": lambda text: re.sub(VERSION, " v", text),
        "colon": lambda text: re.sub(VERSION, ":", text),
        "equals": lambda text: re.sub(VERSION, "==", text),
        "no space": lambda text: re.sub(VERSION, "", text),
        "brackets": lambda text: re.sub(r"(?<=[A-Za-z]) (\d+\.\d\S*)(?=$|,)", r" (\1)", text),
        "order": turned,
        "semicolons": lambda text: re.sub(r"\s*,\s*", "; ", text),
        "plus": lambda text: re.sub(r"\s*,\s*", " + ", text),
        "spaces": lambda text: f"  {text.replace(' ', '  ')} ",
        "driver": ended(" (driver 535.104)"),
        "toolkit": lambda text: f"CUDA 12.4, {text}" if text else text,
        "system": ended(", Ubuntu 22.04, Python 3.10"),
        "libraries": ended(", NCCL 2.21.5, cuDNN 9.1"),
    },
    "interconnect": {
        "capitals": lambda text: text if NETWORK_WORDS.search(text) else text.upper(),
        "small": lambda text: text if NETWORK_WORDS.search(text) else text.lower(),
        "order": lambda text: " | ".join(reversed(text.split(" | "))),
        "Gbps": lambda text: re.sub(r"Gb/[sS](ec)?", "Gbps", text),
        "Gbit": lambda text: re.sub(r" ?Gb/[sS](ec)?", " Gbit/s", text),
        "InfiniBand": lambda text: re.sub(r"\bIB\b", "InfiniBand", text),
        "times": lambda text: re.sub(r"(\d)x ", "\\1 \u00d7 ", text),
        "no space": lambda text: re.sub(r"(\d)x ", r"\1x", text),
        "CX": lambda text: text.replace("ConnectX-", "CX"),
        "maker": lambda text: text.replace("ConnectX", "NVIDIA ConnectX"),
        "semicolons": lambda text: text.replace(" | ", "; "),
        "management": lambda text: f"{text} | management: 1x 25GbE" if text else text,
    },
    "precision": {
        "capitals": str.upper,
        "hyphens": lambda text: re.sub(r"(?i)(fp|bf)(\d)", r"\1-\2", text),
        "spaces": lambda text: text.replace("+", " + "),
        "whole": lambda text: re.sub("(?i)^bf16", "bfloat16", text),
    },
    "zero": {
        "capitals": str.upper,
        "ZeRO": lambda text: re.sub(r"^(\d)\b", r"ZeRO-\1", text),
        "stage": lambda text: re.sub(r"^(\d)\b", r"ZeRO stage \1", text),
    },
    "system": {
        "capitals": str.upper,
        "spaces": lambda text: text.replace("-", " "),
        "unit": lambda text: re.sub(r"(?<=\d)g$", " GB", text),
        "socket": lambda text: text.replace("sxm", "SXM5"),
    },
    "model_name": {
        "capitals": str.upper,
        "small": str.lower,
        "spaces": lambda text: text.replace("-", " "),
        "underscores": lambda text: text.replace(" ", "_"),
        "hyphens": lambda text: text.replace(" ", "-"),
    },
    "recompute": {"capitals": str.upper},
    "family": {"capitals": str.upper, "spaces": lambda text: f" {text} "},
    "global_batch": {"thousands": lambda text: f"{int(text):,}" if text.isdigit() else text},
}


def read(row: Mapping[str, str]) -> object:
    """Return all that a prediction takes from a row."""
    rules = sizing_context().rules
    try:
        case = read_case(row, rules)
    except UnsupportedCase as error:
        return error.message.template
    network = rules.network(case.interconnect, case.chip, case.devices_per_node)
    read_fields = {entry.name: getattr(case, entry.name) for entry in fields(case)}
    return network, {name: value for name, value in read_fields.items() if name not in NEVER_READ}


@cache
def measured_rows() -> list[dict[str, str]]:
    rows = [row for name in MEASURED for row in read_rows((DATA / "validation" / name).read_text("utf-8"))]
    return [without_answers(row) for row in rows]


def drawn(column: str) -> Iterator[dict[str, str]]:
    """Return rows with different texts of a column, and of families and systems."""
    different = {(row[column], row["family"], row["system"]): row for row in measured_rows() if row[column]}
    rows = list(different.values())
    return iter(random.Random(column).sample(rows, min(DRAWN, len(rows))))


@pytest.mark.parametrize("column", SPELLINGS)
def test_a_text_is_read_alike_however_it_is_spelled(column: str) -> None:
    for row in drawn(column):
        known = read(row)
        for name, spelled in SPELLINGS[column].items():
            text = spelled(row[column])
            assert read({**row, column: text}) == known, f"{name}: {text}"


@pytest.mark.parametrize(
    ("software", "chip", "profile"),
    [
        ("nvcr.io/nvidia/nemo:25.04", "h100-sxm-80g", "megatron-core"),
        ("NVIDIA/Megatron-LM core_r0.12.0", "a100-sxm-80g", "megatron-core"),
        ("Transformers 4.46 + accelerate 1.0", "a100-sxm-80g", "gpu-eager-flash"),
        ("axolotl 0.6", "h100-sxm-80g", "gpu-eager-flash"),
        ("LLaMA-Factory 0.9 w/ DeepSpeed ZeRO-3", "a100-sxm-80g", "gpu-eager-flash"),
        ("torchtune 0.4.0", "mi300x", "gpu-eager-flash"),
        ("Megatron-DeepSpeed, ROCm 6.2", "mi300x", "megatron-rocm"),
        ("AXLearn", "h100-sxm-80g", "xla-gpu"),
    ],
)
def test_stacks_of_other_laboratories_have_a_profile(software: str, chip: str, profile: str) -> None:
    row = next(row for row in measured_rows() if row["system"] == "h100-sxm-80g" and row["family"] == "llama")
    pretrained = row | {"model_name": "Llama-3-8B", "software": software, "system": chip}
    assert read_case(pretrained, sizing_context().rules).profile == profile


@pytest.mark.parametrize("column", ["software", "interconnect", "model_name"])
def test_long_texts_of_a_row_are_read_in_a_moment(column: str) -> None:
    row = measured_rows()[0]
    for text in (" " * 100_000, "CUDA " * 20_000, "12x " * 25_000, "(" * 100_000, "v" * 100_000):
        read({**row, column: text})
