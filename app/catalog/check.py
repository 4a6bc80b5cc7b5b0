"""Faults of the data files, such as a figure without unit; printed by ``rackline check-catalog``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from app.catalog.figures import RECALLED, Direction, FigureStatus, SourceKind
from app.catalog.files import UNDATED, DataProblem, DataRow, Sheets, date_problems, numbers, read_sheets
from app.catalog.records import USUAL_ENTRY
from app.catalog.vendor_ratios import ratio_problems

REQUIRED = {
    "chip": (
        "a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-40gb", "a100-pcie-80gb", "gc200", "bow",
        "v100", "p100", "h100-sxm-80gb", "h100-sxm-96gb", "h100-pcie-80gb", "h100-nvl-94gb",
        "h200-sxm-141gb", "h200-nvl-141gb", "h800-sxm-80gb", "gh200-96gb", "b200-sxm-180gb", "gb200",
        "b300-sxm-270gb", "gb300", "mi250", "mi250x", "mi300x", "mi325x", "mi350x", "mi355x", "gaudi1",
        "gaudi2", "gaudi3", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7-ironwood",
        "trainium1", "a30", "a40", "a10g", "l4", "l40", "l40s", "rtx-a5000", "rtx-4090", "rtx-pro-6000",
    ),
    "system": (
        "dgx-a100-320gb", "dgx-a100-640gb", "dgx1-v100", "big-basin-p100", "ipu-m2000", "ipu-pod4",
        "ipu-pod16", "ipu-pod64", "ipu-pod128", "ipu-pod256", "bow-2000", "bow-pod16", "bow-pod64",
        "bow-pod128", "bow-pod256", "bow-pod1024", "a100-sxm-40gb", "a100-sxm-80gb",
        "a100-pcie-40gb", "a100-pcie-80gb", "aws-p4d", "aws-p4de", "azure-nd96amsr",
        "azure-nd96asr", "gcp-a2-highgpu-8g", "gcp-a2-ultragpu-8g", "lambda-8xa100",
        "dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300", "gb200-nvl72", "gb300-nvl72",
        "h100-pcie-80gb-8", "l40s-8", "mi300x-8", "mi325x-8", "mi355x-8", "gaudi2-8", "gaudi3-8",
        "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "trn1", "aws-p5", "aws-p5e", "aws-p5en",
        "aws-p6-b200", "azure-nd-h100-v5", "azure-nd-h200-v5", "gcp-a3-high", "gcp-a3-mega",
        "gcp-a3-ultra", "gcp-a4",
    ),
    "fabric": (
        "hdr-infiniband", "edr-infiniband", "ndr-infiniband", "roce-200", "roce-100",
        "ethernet-100", "ethernet-50", "ethernet-25", "efa-400", "ipu-fabric",
    ),
    "target": ("mlperf-bert", "mlperf-resnet50"),
}  # fmt: skip
"""Identifiers of the contract by kind."""

ITEM_PARAMETERS = {
    "machine": (
        "devices", "chip", "intra", "bus_bandwidth", "collective_latency", "power_max", "power_typical",
        "rack_units",
    ),
    "system": ("machine", "machines", "hosts", "fabric", "ports_per_node", "acquisition", "availability"),
    "fabric": ("line_rate", "port_bandwidth", "hop_latency", "tree_latency", "message_latency", "protocol"),
    "target": ("model", "law_samples", "law_batch", "law_exponent", "run_scatter"),
    "switch": ("ports", "port_rate", "power_typical", "price"),
}  # fmt: skip
"""Parameters without which an item of the kind cannot be used, unless it has a usual value."""

GPU_PARAMETERS = ("memory_capacity", "memory_bandwidth", "multiprocessors")
"""What every chip without tiles needs, beside a half-precision peak."""
HALF_PEAKS = ("peak_bf16_dense", "peak_fp16_dense")
NOT_FOUND = "not found"
"""Prefix of the note of a row without a value."""


def check_directory(directory: Path) -> list[DataProblem]:
    """Return every fault of the data files in a directory."""
    return check_sheets(read_sheets(directory))


def check_sheets(sheets: Sheets) -> list[DataProblem]:
    problems = list(sheets.problems)
    if problems:
        return problems
    for check in (_lists, _facts, _competitors, _claims, _curves, _training, _presence, ratio_problems):
        problems.extend(check(sheets))
    return sorted(problems, key=lambda problem: (problem.file, problem.line))


def _unique(rows: Iterable[DataRow], column: str) -> Iterator[DataProblem]:
    identifiers: set[str] = set()
    for row in rows:
        if not row[column]:
            yield row.problem(column, "the identifier is missing")
        elif row[column] in identifiers:
            yield row.problem(column, f"“{row[column]}” is declared twice")
        identifiers.add(row[column])


def _names(sheets: Sheets, sheet: str, column: str) -> set[str]:
    return {row[column] for row in sheets.rows[sheet]}


def _lists(sheets: Sheets) -> Iterator[DataProblem]:
    """Check the closed lists: units, sources, fields, items."""
    for sheet, column in (("units", "unit"), ("sources", "id"), ("fields", "parameter"), ("items", "item")):
        yield from _unique(sheets.rows[sheet], column)
    for row in sheets.rows["units"]:
        (factor,) = yield from numbers(row, "factor")
        if factor is not None and factor <= 0:
            yield row.problem("factor", "the factor must be positive")
        if not row["dimension"] or not row["si_unit"]:
            yield row.problem("dimension", "a unit needs a dimension and an SI unit")
    for row in sheets.rows["sources"]:
        if row["kind"] not in set(SourceKind):
            yield row.problem("kind", f"unknown kind “{row['kind']}”; known are {', '.join(SourceKind)}")
        if not row["title"] or not row["publisher"]:
            yield row.problem("title", "a source needs a title and a publisher")
        if row["published"] != UNDATED:
            yield from date_problems(row, "published")
    units = _names(sheets, "units", "unit")
    for row in sheets.rows["fields"]:
        for unit in row["units"].split(";"):
            if unit not in units:
                yield row.problem("units", f"unknown unit “{unit}”")
        if row["varies"] not in ("yes", "no"):
            yield row.problem("varies", "must be yes or no")
        if not row["description"]:
            yield row.problem("description", "a parameter needs a description")


def _provenance(row: DataRow, sources: set[str]) -> Iterator[DataProblem]:
    """Check source, date and status, which every statement carries."""
    if not row["source"]:
        yield row.problem("source", "the source is missing")
    elif row["source"] not in sources:
        yield row.problem("source", f"unknown source “{row['source']}”")
    yield from date_problems(row, "as_of")
    if row["status"] not in set(FigureStatus):
        yield row.problem("status", f"unknown status “{row['status']}”; known are {', '.join(FigureStatus)}")


def _facts(sheets: Sheets) -> Iterator[DataProblem]:
    items, sources = _names(sheets, "items", "item"), _names(sheets, "sources", "id")
    dimension = {row["unit"]: row["dimension"] for row in sheets.rows["units"]}
    numeric = {row["unit"] for row in sheets.rows["units"] if row["factor"]}
    fields = {row["parameter"]: row for row in sheets.rows["fields"]}
    for row in sheets.facts():
        yield from _provenance(row, sources)
        if row["item"] not in items:
            yield row.problem("item", f"unknown item “{row['item']}”")
        if row["direction"] not in set(Direction):
            yield row.problem("direction", f"unknown direction “{row['direction']}”")
        if row["status"] == FigureStatus.REJECTED and not row["note"]:
            yield row.problem("note", "a rejected figure needs the reason")
        yield from _recalled(row)
        field = fields.get(row["parameter"])
        if field is None:
            yield row.problem("parameter", f"unknown parameter “{row['parameter']}”")
        if not row["unit"]:
            yield row.problem("unit", "the unit is missing")
        elif row["unit"] not in dimension:
            yield row.problem("unit", f"unknown unit “{row['unit']}”")
        elif field is not None:
            allowed = {dimension.get(unit) for unit in field["units"].split(";")}
            if dimension[row["unit"]] not in allowed:
                yield row.problem(
                    "unit", f"“{row['unit']}” does not measure {row['parameter']} ({field['units']})"
                )
        yield from _value(row, row["unit"] in numeric, items)


def _value(row: DataRow, numeric: bool, items: set[str]) -> Iterator[DataProblem]:
    missing = row["status"] == FigureStatus.REJECTED and row["note"].startswith(NOT_FOUND)
    if not row["value"]:
        if not missing:
            yield row.problem("value", f"the value is missing; only a rejected “{NOT_FOUND}” may be empty")
        return
    if row["unit"] == "id" and row["value"] not in items:
        yield row.problem("value", f"unknown item “{row['value']}”")
    if not numeric:
        return
    value, low, high = yield from numbers(row, "value", "low", "high")
    if value is None:
        return
    if (low is not None and value < low) or (high is not None and value > high):
        yield row.problem("value", f"{row['value']} lies outside {row['low']} … {row['high']}")


def _competitors(sheets: Sheets) -> Iterator[DataProblem]:
    """Refuse two accepted figures of one thing.

    Where the parameter changes with time several are accepted if their dates differ, and the newest
    may not be a recalled one while a checked one exists.
    """
    varies = {row["parameter"] for row in sheets.rows["fields"] if row["varies"] == "yes"}
    groups: dict[tuple[str, str, str], list[DataRow]] = {}
    for row in sheets.facts():
        if row["status"] == FigureStatus.ACCEPTED:
            groups.setdefault((row["item"], row["parameter"], row["condition"]), []).append(row)
    for (item, parameter, _), rows in groups.items():
        dates: set[str] = set()
        for row in rows:
            if row["as_of"] in dates or (dates and parameter not in varies):
                advice = "give a condition, or reject one with the reason"
                yield row.problem("parameter", f"a second accepted {parameter} of {item}: {advice}")
            dates.add(row["as_of"])
        newest = max(rows, key=lambda row: row["as_of"])
        if newest["source"] == RECALLED and any(row["source"] != RECALLED for row in rows):
            yield newest.problem("source", "a recalled figure would replace a checked one")


def _claims(sheets: Sheets) -> Iterator[DataProblem]:
    sources, units = _names(sheets, "sources", "id"), _names(sheets, "units", "unit")
    yield from _unique(sheets.rows["claims"], "claim")
    for row in sheets.rows["claims"]:
        yield from _provenance(row, sources)
        yield from numbers(row, "value")
        if row["unit"] not in units:
            yield row.problem("unit", f"unknown unit “{row['unit']}”")
        if not row["statement"] or not row["verdict"]:
            yield row.problem("verdict", "a claim needs its statement and a verdict")


def _curves(sheets: Sheets) -> Iterator[DataProblem]:
    items, sources = _names(sheets, "items", "item"), _names(sheets, "sources", "id")
    units = {row["unit"] for row in sheets.rows["units"] if row["factor"]}
    last: dict[str, tuple[float, DataRow]] = {}
    for row in sheets.points():
        yield from _provenance(row, sources)
        x, y = yield from numbers(row, "x", "y")
        if row["curve"] not in items:
            yield row.problem("curve", f"unknown item “{row['curve']}”")
        for column in ("x_unit", "y_unit"):
            if row[column] not in units:
                yield row.problem(column, f"unknown unit “{row[column]}”")
        if x is None or y is None:
            if not (row["x"] and row["y"]):
                yield row.problem("x", "a point needs both numbers")
            continue
        before = last.get(row["curve"])
        if before is not None and x <= before[0]:
            yield row.problem("x", "the points of a curve must rise")
        shared = ("x_unit", "y_unit", "source", "as_of", "status")
        if before is not None and any(row[column] != before[1][column] for column in shared):
            yield row.problem("curve", "all points of a curve share units, source, date and status")
        last[row["curve"]] = (x, row)


TRAINING = frozenset((
    "seq_len", "image_size", "tokens", "samples", "epochs", "dataset_samples", "target", "global_batch",
    "batch_tokens",
))  # fmt: skip
"""Parameters of a published training."""


def _training(sheets: Sheets) -> Iterator[DataProblem]:
    sources = _names(sheets, "sources", "id")
    targets = {row["item"] for row in sheets.rows["items"] if "target" in row["kinds"].split()}
    pairs: set[tuple[str, str]] = set()
    for row in sheets.rows["training"]:
        yield from _provenance(row, sources)
        yield from _recalled(row)
        parameter = row["parameter"]
        if parameter not in TRAINING:
            yield row.problem("parameter", f"unknown parameter “{parameter}”")
        elif parameter == "target":
            if row["unit"] != "id" or row["value"] not in targets:
                yield row.problem("value", f"unknown target “{row['value']}”")
        else:
            (value,) = yield from numbers(row, "value")
            if row["unit"] != "1" or value is None or value <= 0:
                yield row.problem("value", "a positive number with unit 1 is needed")
        for model in row["models"].split():
            if row["status"] == FigureStatus.ACCEPTED and (model, parameter) in pairs:
                yield row.problem("models", f"a second accepted {parameter} of {model}")
            pairs.add((model, parameter))


def _recalled(row: DataRow) -> Iterator[DataProblem]:
    if row["source"] == RECALLED and RECALLED not in row["note"] and row["status"] == FigureStatus.ACCEPTED:
        yield row.problem("note", "a recalled figure must say so: “recalled, unverified”")


def _presence(sheets: Sheets) -> Iterator[DataProblem]:
    """Check that every identifier of the contract is present and every item has its parameters."""
    kinds = {row["item"]: row["kinds"].split() for row in sheets.rows["items"]}
    for kind, names in REQUIRED.items():
        for name in names:
            if kind not in kinds.get(name, []):
                yield DataProblem("items.csv", 0, "item", f"the {kind} “{name}” of the contract is missing")
    accepted = {
        (row["item"], row["parameter"]) for row in sheets.facts() if row["status"] == FigureStatus.ACCEPTED
    }
    for row in sheets.rows["items"]:
        for kind in row["kinds"].split():
            for parameter in ITEM_PARAMETERS.get(kind, ()):
                alone = parameter == "machine" and "machine" in row["kinds"].split()
                stated = (row["item"], parameter) in accepted or (
                    USUAL_ENTRY.get(kind),
                    parameter,
                ) in accepted
                if not stated and not alone:
                    yield row.problem("item", f"{kind} “{row['item']}” has no accepted {parameter}")
        if "chip" in row["kinds"].split() and (row["item"], "tiles") not in accepted:
            missing = [name for name in GPU_PARAMETERS if (row["item"], name) not in accepted]
            if not any((row["item"], name) in accepted for name in HALF_PEAKS):
                missing.append(" or ".join(HALF_PEAKS))
            for name in missing:
                yield row.problem("item", f"chip “{row['item']}” has no accepted {name}")
