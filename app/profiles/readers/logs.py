"""Logs of training runs: the median time of a step, and the batch where the log states it.

Lines after what Megatron-LM, torchtitan, MaxText, NeMo, DeepSpeed and MLPerf write, tables of steps as W&B
and TensorBoard export them, and trainer_state.json of Hugging Face.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from app.profiles.documents import printable, unreadable

MOST_CHARACTERS = 5_000_000
WARM_UP = 0.1
"""Share of the first steps that is left out of the median."""
_NUMBER = r"([\d,]{1,12}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,2})?)"
PROGRAMS: Mapping[str, re.Pattern[str]] = {
    "Megatron-LM": re.compile(r"iteration\s{1,20}\d{1,9}/\s{0,20}\d{1,9} \|"),
    "MaxText": re.compile(r"completed step: \d{1,9}, seconds: "),
    "DeepSpeed": re.compile(r"RunningAvgSamplesPerSec="),
    "NeMo": re.compile(r"train_step_timing in s="),
    "torchtitan": re.compile(r"step: {1,9}\d{1,9} {1,9}loss: "),
    "MLPerf": re.compile(r"^:::MLLOG ", re.MULTILINE),
}
TIMES: Mapping[re.Pattern[str], float] = {
    re.compile(rf"elapsed time per iteration \(ms\): {_NUMBER}"): 1e-3,
    re.compile(rf"completed step: \d{{1,9}}, seconds: {_NUMBER}"): 1.0,
    re.compile(rf"train_step_timing in s={_NUMBER}"): 1.0,
}
"""Time of a step in a line, in seconds."""
BATCH = re.compile(
    rf"(?:global batch size: {{1,9}}|\"key\": \"global_batch_size\", \"value\": |global_batch_size[=:] ?)"
    rf"{_NUMBER}"
)
STEPS = re.compile(
    r"(?i)^_?(step|steps|iteration|iter|global_step|trainer/global_step|wall time|epoch|스텝)$"
)
SECONDS: Mapping[str, float] = {
    "step_time": 1.0, "step_time_s": 1.0, "step_time_ms": 1e-3,
    "iteration_time": 1.0, "iteration_time_s": 1.0,
    "iteration_time_ms": 1e-3, "seconds_per_step": 1.0, "s/step": 1.0, "time_per_step": 1.0,
    "train_step_timing_in_s": 1.0, "elapsed_time_per_iteration_ms": 1e-3, "스텝시간": 1.0, "스텝_시간": 1.0,
}  # fmt: skip
"""Columns of the time of a step, in seconds."""
MEASURED = re.compile(r"(?i)loss|value|time|tokens|samples|throughput|tflop|mfu|시간|처리량")


@dataclass(frozen=True, slots=True)
class RunLog:
    """What a log says of its run."""

    program: str
    steps: int
    """Steps behind the warm-up whose time is stated."""
    seconds: float
    """Median time of them. [s]"""
    global_batch: int | None


def read_log(name: str, text: str) -> RunLog | None:
    """Return the run of a log; None for any other text, and a refusal for a log without times of steps."""
    start = text[:200_000]
    program = next((program for program, pattern in PROGRAMS.items() if pattern.search(start)), "")
    if program:
        whole = text[:MOST_CHARACTERS]
        times = [
            float(found.replace(",", "")) * scale
            for pattern, scale in TIMES.items()
            for found in pattern.findall(whole)
        ]
        found_batch = BATCH.search(whole)
        batch = int(float(found_batch[1].replace(",", ""))) if found_batch else None
        looked = "elapsed time per iteration (ms), seconds, train_step_timing in s"
        return _run(name, program, times, batch, looked, [])
    return _table(name, text)


def logged_shape(text: str) -> dict[str, object]:
    """Return what a log of MLPerf says of its work; empty for any other text."""
    entries = re.findall(r'"key": "(\w{1,80})", "value": ("?[\w.-]{1,80}"?)', text[:200_000])
    return dict(entries) if PROGRAMS["MLPerf"].search(text[:200_000]) else {}


def trainer_log(name: str, document: Mapping[str, object]) -> RunLog:
    """Return the run of trainer_state.json, whose last entry states its steps a second."""
    history = document.get("log_history")
    entries = [entry for entry in history if isinstance(entry, Mapping)] if isinstance(history, list) else []
    rates = [entry.get("train_steps_per_second") for entry in entries]
    rate = next(
        (rate for rate in reversed(rates) if isinstance(rate, float | int) and 1e-7 < rate < 1e7), None
    )
    steps = document.get("global_step")
    if rate is None or not isinstance(steps, int) or isinstance(steps, bool) or not 0 < steps < 1e12:
        return _run(name, "Hugging Face", [], None, "train_steps_per_second", ["log_history"])
    return RunLog("Hugging Face", steps, 1.0 / rate, None)


def _table(name: str, text: str) -> RunLog | None:
    """Return the run of a table of steps."""
    heading = text.lstrip("\ufeff").partition("\n")[0][:2000]
    separator = max(",;\t", key=heading.count)
    columns = [cell.strip().strip('"') for cell in heading.split(separator)]
    if len(columns) < 2 or not all(columns):
        return None
    steps = any(STEPS.match(column) for column in columns)
    if not steps and len(text) < 1_000_000 and any(_plain(column) in SECONDS for column in columns):
        raise unreadable(
            "{file} is a table of measured runs (columns {found}), not a model or data; enter it as the file "
            "of measured runs of a study",
            file=name,
            found=printable(", ".join(columns), 200),
        )
    if not steps or sum(bool(MEASURED.search(column)) for column in columns) == 0:
        return None
    rows = [line.split(separator) for line in text.splitlines()[1:20_001] if line.strip()]
    if not rows or any(
        re.fullmatch(r"[-+\d.,eE\"naNif\s]{0,40}", cell) is None for row in rows[:20] for cell in row
    ):
        return None
    plain = [_plain(column) for column in columns]
    place = next((at for at, column in enumerate(plain) if column in SECONDS), None)
    times: list[float] = []
    if place is not None:
        for row in rows:
            cell = row[place].strip().strip('"') if place < len(row) else ""
            if separator != ",":
                cell = cell.replace(",", ".")
            if re.fullmatch(r"\d{1,9}(\.\d{1,12})?", cell):
                times.append(float(cell) * SECONDS[plain[place]])
    return _run(name, "CSV", times, None, ", ".join(SECONDS), columns)


def _plain(column: str) -> str:
    """Return a heading in the form of :data:`SECONDS`: its last part, with the unit in brackets."""
    words = re.sub(r"[\[(](.{1,9})[\])]", r"_\1", column.rpartition("/")[2] if "s/" not in column else column)
    plain = "_".join(words.casefold().replace("-", " ").replace("_", " ").split())
    return plain.removesuffix("_s") if plain.removesuffix("_s") in SECONDS else plain


def _run(
    name: str, program: str, times: list[float], batch: int | None, looked: str, columns: list[str]
) -> RunLog:
    kept = [seconds for seconds in times[int(len(times) * WARM_UP) :] if 0 < seconds < 1e7]
    if not kept:
        raise unreadable(
            "{file} is the log of a training run ({program}) and states no time of a step that is "
            "understood; looked for: {looked}; found: {found}",
            file=name,
            program=program,
            looked=looked,
            found=printable(", ".join(columns), 200) or "–",
        )
    return RunLog(program, len(kept), median(kept), batch if batch and 0 < batch < 1e9 else None)
