"""Measured runs of a CSV file, as the list of runs that a calibration takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from app.errors import AppError, BadInput, FieldError, Message
from app.features.calibration.model import MEASUREMENTS, MOST_RUNS, CalibrationRun
from app.platform.json_bodies import from_validation
from app.platform.tables import read_cells
from app.platform.web.query_forms import FormFields

FILE = "runs_file"

MAX_BYTES = 200_000

MOST_COLUMNS = 40

MOST_TOLD = 10
"""Faults that are named at once."""

HEADERS: Mapping[str, tuple[str, ...]] = {
    "samples_per_s": ("samples_per_s", "samples/s", "samples_per_second", "samples_per_sec"),
    "step_time_s": ("step_time_s", "step_time", "seconds_per_step", "s_per_step", "s/step", "step_seconds"),
    "step_time_ms": ("step_time_ms", "ms_per_step", "ms/step", "milliseconds_per_step"),
    "tokens_per_s": ("tokens_per_s", "tokens/s", "tokens_per_second", "tok/s"),
    "samples_per_s_per_device": ("samples_per_s_per_device", "samples/s/gpu", "samples/s/device"),
    "tokens_per_s_per_device": ("tokens_per_s_per_device", "tokens/s/gpu", "tokens/s/device", "tok/s/gpu"),
    "system.id": ("system", "system_id", "machine", "node"),
    "system.count": ("count", "system_count", "systems", "machines", "nodes"),
    "system.fabric": ("fabric", "network"),
    "workload.global_batch": ("batch", "global_batch", "batch_size", "global_batch_size"),
    "workload.seq_len": ("seq_len", "sequence_length", "sequence"),
    "workload.image_size": ("image_size", "resolution"),
    "workload.mean_tokens": ("mean_tokens",),
    "workload.precision": ("precision", "dtype"),
    "note": ("note", "notes", "comment", "remark"),
}
"""Field of a run → names of its column; capitals, spaces, hyphens and a unit in brackets do not matter."""

DECIDING = re.compile(r"(?i)gpu|device|accelerator|batch|token|step|second|throughput|장비|배치|시간|처리량")
"""Columns that would change what a run is, so that none of them is passed over."""

FIELDS = {name: field for field, names in HEADERS.items() for name in names}

RUN = FormFields(CalibrationRun)

MEASURED = MEASUREMENTS


def read_runs(content: bytes) -> list[CalibrationRun]:
    """Return the runs of a CSV file; refuse errors with their line and column."""
    rows = _rows(content)
    header = next(rows, (0, []))[1]
    fields = [FIELDS.get(_plain(name), "") for name in header]
    unknown = [
        name for name, field in zip(header, fields, strict=True) if DECIDING.search(name) and not field
    ]
    if unknown and set(MEASURED) & set(fields):
        raise BadInput.at(
            FILE,
            "the column {names} is not understood; rename it to one of {known}, or leave it out",
            names=", ".join(name[:80] for name in unknown[:5]),
            known=", ".join(names[0] for names in HEADERS.values()),
        )
    if not set(MEASURED) & set(fields):
        raise BadInput.at(
            FILE,
            "no column is named {names}; name the column of the measured values so; found: {found}",
            names=", ".join(MEASURED),
            found=", ".join(name[:80] for name in header[:20]) or "–",
        )
    doubled = sorted({name for name in fields if name and fields.count(name) > 1})
    if doubled:
        raise BadInput.at(FILE, "two columns mean the same: {names}", names=", ".join(doubled))
    columns = dict(zip(fields, header, strict=True))
    runs: list[CalibrationRun] = []
    faults: list[Message] = []
    for line, cells in rows:
        if len(runs) == MOST_RUNS:
            raise BadInput.at(
                FILE, "a calibration takes at most {most} runs; leave out the others", most=MOST_RUNS
            )
        try:
            runs.append(_run(fields, cells))
        except ValidationError as error:
            wrong = from_validation(error.errors(include_url=False)).errors
            # A system is a name or a description: report the errors of the description.
            placed = {entry.field.replace(".RunSystem", ""): entry.message for entry in wrong}
            known = {field: reason for field, reason in placed.items() if field in columns} or placed
            faults += [_at(line, columns.get(field, field), reason) for field, reason in known.items()]
        except AppError as error:
            faults += [
                _at(line, columns.get(entry.field, entry.field), entry.message) for entry in error.errors
            ]
    if faults:
        raise BadInput(faults[0], [FieldError(FILE, fault) for fault in faults[:MOST_TOLD]])
    if not runs:
        raise BadInput.at(FILE, "the file has no runs below its header")
    return runs


def _rows(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line except comments, the header first."""
    width = 0
    for line, cells in read_cells(content, FILE, MAX_BYTES):
        if cells[0].startswith("#"):
            continue
        width = width or len(cells)
        if len(cells) != width or width > MOST_COLUMNS:
            raise BadInput.at(
                FILE,
                "line {line} has {found} cells; {columns} are possible",
                line=line,
                found=len(cells),
                columns=min(width, MOST_COLUMNS),
            )
        yield line, cells


def _plain(name: str) -> str:
    """Return a header as it is looked up.

    >>> _plain("Step time (s)"), _plain("Global-Batch"), _plain("Samples/s")
    ('step_time', 'global_batch', 'samples/s')
    """
    plain = name.casefold().strip()
    unit = "_ms" if plain.endswith(("(ms)", "[ms]")) else ""
    plain = plain.split("(")[0].split("[")[0].strip()
    return "_".join(plain.replace("-", " ").replace("_", " ").split()) + unit


def _run(fields: Sequence[str], cells: Sequence[str]) -> CalibrationRun:
    texts = {field: cell for field, cell in zip(fields, cells, strict=True) if field and cell}
    measured = [name for name in MEASURED if name in texts]
    if len(measured) != 1:
        raise BadInput.at(
            measured[1] if measured else MEASURED[0],
            "enter exactly one of {names}",
            names=", ".join(MEASURED),
        )
    return CalibrationRun.model_validate(RUN.body({name: [text] for name, text in texts.items()}))


def _at(line: int, column: str, reason: Message | str) -> Message:
    return Message(
        "line {line}, column {column}: {reason}", {"line": line, "column": column[:80], "reason": reason}
    )
