"""``rackline sweep``: rows to a file beside the result, progress to the terminal."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TextIO

import typer
from pydantic import ValidationError

from app.commands.inputs import read_request
from app.errors import BadInput, Message, need
from app.features.sweeps.executors import crew
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep, UploadSet
from app.features.sweeps.rows import SweepRow, csv_lines, parquet
from app.features.sweeps.run import WorkerPool, run_sweep
from app.platform.apart import installed_context
from app.settings import Settings

ENDINGS = (".csv", ".parquet")

ROWS_ENDING = ".rows"
"""What the name of the file with the rows has more than that of the result."""

BAR_WIDTH = 30

LINE_SECONDS = 10.0
"""Time between two lines of progress where there is no terminal. [s]"""

BAR_SECONDS = 0.1
"""Time between two pictures of the bar. [s]"""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells give it."""

cli = typer.Typer(rich_markup_mode=None)


@cli.command("sweep")
def sweep_command(
    request: Annotated[Path, typer.Argument(metavar="REQUEST.json", help="A sweep request.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Result file: .csv or .parquet.")],
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the result file if there is one.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Number of processes; default: one per processor.")
    ] = None,
) -> None:
    """Estimate every combination of models, systems, prices and scenarios."""
    asked = read_request(SweepRequest, request)
    if output.exists() and not force:
        raise BadInput.at(
            "--output", "{file} exists; replace it with --force, or choose another", file=str(output)
        )
    try:
        refused = sweep_to_file(asked, output, crew(Settings.from_environment().dask, workers), resume=resume)
    except Interrupted:
        typer.echo(str(broken_off(output)), err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(
        f"{output} is complete; {refused} points could not be estimated"
        if refused
        else f"{output} is complete"
    )


class Interrupted(Exception):
    """The sweep was stopped by Ctrl-C; what there is has been kept."""


def sweep_to_file(request: SweepRequest, output: Path, workers: WorkerPool, *, resume: bool) -> int:
    """Compute a sweep into a file; rows are kept beside it until it is complete."""
    if output.suffix not in ENDINGS:
        raise BadInput.at("--output", "the file must end in .csv or .parquet")
    if output.suffix == ".parquet":
        need("polars", "files")
    sweep = Sweep.of(request)
    uploads = UploadSet.of(request, installed_context())
    kept = KeptRows(output.with_name(f"{output.name}{ROWS_ENDING}"), sweep)
    done = kept.open(resume=resume)
    progress = Progress(sys.stderr, sweep.total, len(done))
    try:
        with kept.writing() as file:
            for rows in run_sweep(sweep.points(), installed_context, workers, uploads=uploads, done=done):
                file.writelines(row.model_dump_json() + "\n" for row in rows)
                file.flush()
                progress.advance(len(rows))
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        progress.end()
        kept.drop_if_empty()
    return kept.convert(output)


@dataclass
class KeptRows:
    """The rows of a run, one line of JSON each, under a line that names the sweep."""

    path: Path
    sweep: Sweep

    def open(self, *, resume: bool) -> set[str]:
        """Make the file, or go on with it; returns the keys of the rows it has."""
        if not self.path.exists():
            if resume:
                raise BadInput.at("--resume", "no run to resume: {file} does not exist", file=str(self.path))
            self._make()
            return set()
        if not resume:
            raise BadInput.at(
                "--resume",
                "{file} contains an interrupted run; continue it with --resume, or delete the file",
                file=str(self.path),
            )
        self._mend()
        return {row.key for row in self.rows()}

    @contextlib.contextmanager
    def writing(self) -> Iterator[TextIO]:
        with self._usable(), self.path.open("a", encoding="utf-8") as file:
            yield file

    def rows(self) -> Iterator[SweepRow]:
        """Return the rows in the order in which they came."""
        with self._usable(), self.path.open(encoding="utf-8") as file:
            if self._digest(file.readline()) != self.sweep.digest:
                raise BadInput.at("--resume", "{file} contains rows of another sweep", file=str(self.path))
            for line in file:
                yield SweepRow.model_validate_json(line)

    def drop_if_empty(self) -> None:
        """Remove the file where no row is in it: there is nothing to go on with."""
        with self._usable():
            with self.path.open(encoding="utf-8") as file:
                file.readline()
                empty = not file.readline()
            if empty:
                self.path.unlink()

    def convert(self, output: Path) -> int:
        """Write the result, in the order of the sweep, and let go of the file."""
        rows = sorted(self.rows(), key=lambda row: row.position)
        with self._usable():
            if output.suffix == ".parquet":
                output.write_bytes(parquet(rows))
            else:
                with output.open("w", encoding="utf-8", newline="") as file:
                    file.writelines(csv_lines(rows))
            self.path.unlink()
        return sum(row.problem is not None for row in rows)

    def _make(self) -> None:
        with self._usable():
            self.path.write_text(json.dumps({"sweep": self.sweep.digest}) + "\n", encoding="utf-8")

    def _mend(self) -> None:
        """Cut off a line that was being written when the run was broken off."""
        with self._usable(), self.path.open("r+b") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)

    @staticmethod
    def _digest(line: str) -> str:
        try:
            return str(json.loads(line)["sweep"])
        except (ValueError, KeyError, TypeError):
            return ""

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BadInput.at(
                "--output", "{file} cannot be used: {reason}", file=str(self.path), reason=str(error.strerror)
            ) from None
        except ValidationError:
            raise BadInput.at(
                "--resume", "{file} contains a row that cannot be read", file=str(self.path)
            ) from None


@dataclass
class Progress:
    """How far a run is: a bar on a terminal, now and then a line elsewhere."""

    stream: TextIO
    total: int
    done: int
    started: float = field(default_factory=time.monotonic)
    shown: float = 0.0
    computed: int = 0

    def advance(self, count: int) -> None:
        """Take note of rows that have come."""
        self.done += count
        self.computed += count
        if time.monotonic() - self.shown >= (BAR_SECONDS if self.stream.isatty() else LINE_SECONDS):
            self._show()

    def end(self) -> None:
        self._show()
        if self.stream.isatty():
            self.stream.write("\n")

    def _show(self) -> None:
        self.shown = time.monotonic()
        share = self.done / self.total
        left = (
            (self.shown - self.started) / self.computed * (self.total - self.done) if self.computed else 0.0
        )
        text = f"{self.done} of {self.total} points, {100 * share:.0f} %"
        text += f", {left:.0f} s left" if 0 < self.done < self.total and self.computed else ""
        if self.stream.isatty():
            filled = round(share * BAR_WIDTH)
            self.stream.write(f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {text}\x1b[K")
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()


def broken_off(output: Path) -> Message:
    rows = output.with_name(f"{output.name}{ROWS_ENDING}")
    if not rows.exists():
        return Message("stopped before the first row")
    return Message("stopped; the rows so far are in {file}; continue with --resume", {"file": str(rows)})
