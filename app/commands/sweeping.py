"""``rackline sweep``: rows to a file beside the result, progress to the terminal."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from pydantic import ValidationError

from app.commands.asking import KeyFile, Lang, ServerUrl, check_key_file, language_of, session
from app.commands.inputs import Force, body_of, check_free, read_request, unusable, write_file
from app.errors import BadInput, Conflict, Message, need
from app.features.sweeps.executors import crew
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep, UploadSet
from app.features.sweeps.rows import ENDED, SweepRow, csv_lines, parquet
from app.features.sweeps.run import WorkerPool, run_sweep
from app.platform.wording.voice import Voice, voice
from app.platform.worker_processes import installed_context
from app.settings import Settings

if TYPE_CHECKING:
    from app.commands.remote import ApiSession

ENDINGS = (".csv", ".parquet")

IDENTIFIER = re.compile(r"swp_[a-z2-9]{16}")

LOOK_SECONDS = 1.0
"""Time between two polls of a sweep on a server. [s]"""

ROWS_ENDING = ".rows"
"""Suffix of the file with the rows, after the name of the result."""

BAR_WIDTH = 30

LINE_SECONDS = 10.0
"""Time between two lines of progress without a terminal. [s]"""

BAR_SECONDS = 0.1
"""Time between two updates of the bar. [s]"""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells give it."""

cli = typer.Typer(rich_markup_mode=None)


@cli.command("sweep")
def sweep_command(
    request: Annotated[
        Path,
        typer.Argument(
            metavar="REQUEST.json|ID",
            help="Request file (- reads standard input), or with --server the identifier of a sweep there.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Result file: .csv or .parquet.")],
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    force: Force = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Number of processes; default: one per processor.")
    ] = None,
    server: ServerUrl = None,
    key_file: KeyFile = None,
    lang: Lang = None,
) -> None:
    """Estimate every combination of models, systems, prices and scenarios."""
    check_key_file(server, key_file)
    check_ending(output)
    # A resumed run may replace the result if the first run was allowed to.
    check_free("--output", output, force=force or (resume and RowsFile.may_replace(rows_of(output))))
    if server is not None and resume:
        raise BadInput.at("--resume", "a server keeps its rows: enter the identifier of the sweep instead")
    speaker = voice(language_of(lang))
    try:
        if server is not None:
            with session(server, key_file, lang) as api:
                refused = sweep_on_server(request, output, api, speaker)
        else:
            body = read_request(SweepRequest, request)
            pool = crew(Settings.from_environment().dask, workers)
            refused = sweep_to_file(body, output, pool, resume=resume, force=force, speaker=speaker)
    except SweepInterrupt as interrupted:
        typer.echo(speaker.say(interrupted_message(output, interrupted.sweep)), err=True)
        raise typer.Exit(INTERRUPTED) from None
    done = Message("{file} is complete", {"file": str(output)})
    if refused:
        counted = {"file": str(output), "count": refused}
        done = Message("{file} is complete; {count} points could not be estimated", counted)
    typer.echo(speaker.say(done))


def sweep_on_server(request: Path, output: Path, api: ApiSession, speaker: Voice) -> int:
    """Start a sweep on a server, or take a running one; wait for it and fetch its rows."""
    identifier = str(request)
    if not IDENTIFIER.fullmatch(identifier):
        identifier = str(api.post("sweeps", body_of(request))["id"])
    address = f"sweeps/{identifier}"
    state = api.get(f"{address}?limit=1")
    progress = ProgressBar(sys.stderr, state["total"], state["done"], speaker)
    try:
        while state["status"] not in ENDED:
            time.sleep(LOOK_SECONDS)
            before, state = state["done"], api.get(f"{address}?limit=1")
            progress.advance(state["done"] - before)
    except KeyboardInterrupt:
        raise SweepInterrupt(identifier) from None
    finally:
        progress.end()
    if state["status"] != "done":
        raise Conflict(
            Message(
                "{sweep} has ended without all rows: {status}",
                {"sweep": identifier, "status": state["status"]},
            )
        )
    write_file("--output", output, api.call("GET", f"{address}{output.suffix}").content)
    return int(state["refused"])


def check_ending(output: Path) -> None:
    if output.suffix not in ENDINGS:
        raise BadInput.at("--output", "the file must end in .csv or .parquet")


def rows_of(output: Path) -> Path:
    """Return the file in which rows are kept until the result is complete."""
    return output.with_name(f"{output.name}{ROWS_ENDING}")


class SweepInterrupt(Exception):
    """The sweep was stopped by Ctrl-C; the rows so far are kept."""

    def __init__(self, sweep: str = "") -> None:
        self.sweep = sweep
        """Identifier of a sweep that a server continues."""
        super().__init__(sweep)


def sweep_to_file(
    request: SweepRequest,
    output: Path,
    workers: WorkerPool,
    *,
    resume: bool,
    force: bool = False,
    speaker: Voice | None = None,
) -> int:
    """Compute a sweep into a file; rows are kept beside it until it is complete."""
    check_ending(output)
    if output.suffix == ".parquet":
        need("polars", "parquet")
    sweep = Sweep.of(request)
    uploads = UploadSet.of(request, installed_context())
    kept = RowsFile(rows_of(output), sweep, replaces=force)
    done = kept.open(resume=resume)
    progress = ProgressBar(sys.stderr, sweep.total, len(done), speaker or voice("en"))
    try:
        with kept.writing() as file:
            for rows in run_sweep(sweep.points(), installed_context, workers, uploads=uploads, done=done):
                file.writelines(row.model_dump_json() + "\n" for row in rows)
                file.flush()
                progress.advance(len(rows))
    except KeyboardInterrupt:
        raise SweepInterrupt from None
    finally:
        progress.end()
        kept.drop_if_empty()
    return kept.convert(output)


@dataclass
class RowsFile:
    """The rows of a run, one line of JSON each, under a line that names the sweep."""

    path: Path
    sweep: Sweep
    replaces: bool = False
    """Whether the result may replace an existing file."""

    def open(self, *, resume: bool) -> set[str]:
        """Create or resume the file; return the keys of its rows."""
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
        with self._usable(), self.path.open(encoding="utf-8") as file:
            if self._digest(file.readline()) != self.sweep.digest:
                raise BadInput.at("--resume", "{file} contains rows of another sweep", file=str(self.path))
            for line in file:
                yield SweepRow.model_validate_json(line)

    def drop_if_empty(self) -> None:
        with self._usable():
            with self.path.open(encoding="utf-8") as file:
                file.readline()
                empty = not file.readline()
            if empty:
                self.path.unlink()

    def convert(self, output: Path) -> int:
        """Write the result in the order of the sweep and remove the file; return how many are refused."""
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
            head = {"sweep": self.sweep.digest, "replaces": self.replaces}
            self.path.write_text(json.dumps(head) + "\n", encoding="utf-8")

    @staticmethod
    def may_replace(path: Path) -> bool:
        """Tell whether an interrupted run was allowed to replace its result."""
        try:
            with path.open(encoding="utf-8") as file:
                return json.loads(file.readline())["replaces"] is True
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _mend(self) -> None:
        """Drop an incomplete last line."""
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
            raise unusable("--output", self.path, error.strerror) from None
        except ValidationError:
            raise BadInput.at(
                "--resume", "{file} contains a row that cannot be read", file=str(self.path)
            ) from None


@dataclass
class ProgressBar:
    """Progress of a run: a bar on a terminal, otherwise a line at intervals."""

    stream: TextIO
    total: int
    done: int
    speaker: Voice = field(default_factory=partial(voice, "en"))
    started: float = field(default_factory=time.monotonic)
    updated: float = 0.0
    computed: int = 0

    def advance(self, count: int) -> None:
        self.done += count
        self.computed += count
        if time.monotonic() - self.updated >= (BAR_SECONDS if self.stream.isatty() else LINE_SECONDS):
            self._show()

    def end(self) -> None:
        self._show()
        if self.stream.isatty():
            self.stream.write("\n")

    def _show(self) -> None:
        self.updated = time.monotonic()
        share = self.done / self.total
        left = (
            (self.updated - self.started) / self.computed * (self.total - self.done) if self.computed else 0.0
        )
        values = {"done": self.done, "total": self.total, "share": round(100 * share), "left": round(left)}
        is_running = 0 < self.done < self.total and self.computed
        text = self.speaker.say(
            Message("{done} of {total} points, {share} %, {left} s left", values)
            if is_running
            else Message("{done} of {total} points, {share} %", values)
        )
        if self.stream.isatty():
            filled = round(share * BAR_WIDTH)
            self.stream.write(f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {text}\x1b[K")
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()


def interrupted_message(output: Path, sweep: str = "") -> Message:
    if sweep:
        template = "the server goes on with {sweep}; enter this identifier to fetch its rows"
        return Message(template, {"sweep": sweep})
    rows = rows_of(output)
    if not rows.exists():
        return Message("stopped before the first row")
    return Message("stopped; the rows so far are in {file}; continue with --resume", {"file": str(rows)})
