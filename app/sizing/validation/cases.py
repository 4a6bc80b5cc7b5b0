"""Measured rows as cases: what ran where, without what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.errors import Message
from app.sizing.validation.rules import Rules

ANSWER_COLUMNS = frozenset({"value", "model_tflops_per_accel", "mfu_pct", "mfu_basis", "notes", "source"})
"""Columns that hold or betray the measured value; a case never sees them, but for the one word in
the notes that says what a rate counts (see :attr:`Case.includes_evaluation`)."""

EVALUATION_INCLUDED = re.compile(r"INCLUDES evaluation", re.IGNORECASE)


class Unsupported(Exception):
    """A row that cannot be built, with the reason."""

    def __init__(self, template: str, **values: object) -> None:
        self.message = Message(template, values)
        super().__init__(str(self.message))


def number(text: str) -> float | None:
    """Return the first number of a cell, with the thousands of ``4M``; None where there is none."""
    match = re.match(r"\s*(-?\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?)\s*([kKMGBT]?)", text or "")
    if not match:
        return None
    factor = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}[match.group(2)]
    return float(match.group(1).replace(",", "")) * factor


def whole(text: str) -> int | None:
    """Return a cell as a whole number above 0, or None."""
    found = number(text)
    return int(found) if found is not None and found >= 1 else None


PRECISIONS = (
    ("16.16", "fp16.16"),
    ("16.32", "fp16.16"),
    ("tf32", "tf32"),
    ("fp32", "fp32"),
    ("bf16", "bf16"),
    ("fp16", "fp16"),
)
SHARDING = (("3", 3.0), ("FSDP", 3.0), ("HSDP", 3.0), ("2", 2.0), ("1", 1.0))
RECOMPUTE = (("full", 2.0), ("selective", 1.0), ("yes", 2.0))


@dataclass(frozen=True, slots=True)
class Case:
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
    data: int | None
    sharding: float
    sharding_inside_node: bool
    recompute: float | None
    sequence_parallel: bool
    total: float | None
    includes_evaluation: bool
    completed: Mapping[str, str]
    profile: str | None

    @property
    def devices_per_node(self) -> int:
        """Accelerators of one machine."""
        return max(1, -(-self.devices // max(self.nodes, 1)))


def read_case(row: Mapping[str, str], rules: Rules) -> Case:
    """Return the case of a row of measured.csv; raise Unsupported where it cannot be built."""
    measured = row.get("system", "").strip()
    known = rules.systems.get(measured)
    if known is None:
        raise Unsupported("no system is known as {system}", system=measured or "(blank)")
    devices = whole(row.get("accelerators", ""))
    if devices is None:
        raise Unsupported("the number of accelerators is missing")
    precision = next((name for text, name in PRECISIONS if text in row.get("precision", "")), "fp16")
    ipu = known["chip"] in {"gc200", "bow"}
    if ipu:
        precision = "fp16.16"
    facts = {
        "software": row.get("software", ""),
        "family": row.get("family", ""),
        "chip": known["chip"],
        "model": row.get("model_name", ""),
        "interconnect": row.get("interconnect", ""),
        "form_factor": "pcie" if "pcie" in known["chip"] else "sxm",
        "seq_len": row.get("seq_len", ""),
        "precision": "amp_bf16" if "amp" in row.get("precision", "") else precision,
        "metric": row.get("metric", ""),
    }
    completed = rules.completed(facts)
    sharding_text = row.get("zero", "")
    recompute_text = row.get("recompute", "")
    batch_text = row.get("global_batch", "")
    seq_len = whole(row.get("seq_len", ""))
    batch = number(batch_text)
    if batch is not None and "token" in batch_text:
        batch = max(1.0, batch / seq_len) if seq_len else None
    return Case(
        id=row.get("id", ""),
        group=row.get("group", "") or row.get("id", ""),
        family=row.get("family", ""),
        metric=row.get("metric", ""),
        model=row.get("model_name", ""),
        software=row.get("software", ""),
        interconnect=row.get("interconnect", ""),
        precision=precision,
        system=known["system"],
        chip=known["chip"],
        devices=devices,
        nodes=whole(row.get("nodes", "")) or -(-devices // (4 if ipu else 8)),
        seq_len=seq_len,
        image_size=whole(row.get("image_size", "")),
        hidden=whole(row.get("hidden", "")),
        layers=whole(row.get("layers", "")),
        heads=whole(row.get("heads", "")),
        parameters=number(row.get("params", "")),
        global_batch=batch,
        micro_batch=number(row.get("micro_batch", "")),
        tensor=whole(row.get("tp", "")) or int(completed.get("tensor", 1)),
        pipeline=whole(row.get("pp", "")) or int(completed.get("pipeline", 1)),
        data=whole(row.get("dp", "")),
        sharding=next(
            (
                value
                for text, value in SHARDING
                if text in sharding_text.split(" ")[0] or sharding_text.startswith(text)
            ),
            0.0,
        ),
        sharding_inside_node="within" in sharding_text or "HSDP" in sharding_text,
        recompute=next((value for text, value in RECOMPUTE if recompute_text.startswith(text)), None),
        sequence_parallel="seqpar" in recompute_text,
        total=number(row.get("samples_or_tokens_total", "")),
        includes_evaluation=bool(EVALUATION_INCLUDED.search(row.get("notes", ""))),
        completed=completed,
        profile=rules.profile(facts),
    )
