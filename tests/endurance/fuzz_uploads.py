"""Broken files, sent to the API of an application in a process of its own that is short of memory.

``python -m tests.endurance.fuzz_uploads [CASES] [FIRST]`` prints how many were answered how, the slowest, the
memory, and every case that failed: answered 5xx, not within :data:`SECONDS`, or took the process down.

On a machine that is busy with other things any case may be late: one that is late is asked once more at
the end, and is no failure where most of its time was spent in waiting for a processor.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import resource
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

SECONDS = 5.0
"""Longest answer. [s]"""

PATIENCE = 90.0
"""Longest wait for an answer before the process is taken for lost. [s]"""

START = 900.0
"""Longest start of the process. [s]"""

MEMORY = 3_000_000_000
"""Address space of the process, its libraries included. [B]"""


@dataclass
class UploadOutcome:
    """What came of a run."""

    statuses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_case: str = ""
    peak: int = 0
    peak_apart: int = 0
    late: int = 0
    """Cases that were late when first asked. [-]"""
    busiest: float = 0.0
    """Most processor time of a case. [s]"""
    last_worked: float = 0.0
    """Processor time of the last case. [s]"""

    def lines(self) -> Iterator[str]:
        """Give the report."""
        yield f"{sum(self.statuses.values())} answers: " + ", ".join(
            f"{count} × {status}" for status, count in sorted(self.statuses.items())
        )
        for (kind, status), count in sorted(self.kinds.items()):
            yield f"  {kind:10} {status} {count:7}"
        yield f"slowest: {self.slowest:.2f} s ({self.slowest_case}); peak memory: {self.peak / 1e6:.0f} MB, "
        yield f"of the processes that read apart: {self.peak_apart / 1e6:.0f} MB"
        yield f"late at first: {self.late}; most processor time of a case: {self.busiest:.2f} s"
        yield f"failures: {len(self.failures)}"
        yield from self.failures


def busy() -> float:
    """Return the processor time of this process and of those it waited for. [s]"""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def serve() -> None:
    """Answer numbers of cases on standard input with status, seconds and memory, one line each."""
    import httpx

    from app.main import create_app
    from app.settings import Settings
    from tests.endurance.upload_mutations import bombs, mutated

    # It says of every broken form where it broke.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    known = dict(bombs())
    with tempfile.TemporaryDirectory() as folder:
        application = create_app(Settings.at(Path(folder)))
        # The soft limit alone: the process that reads Parquet sets its own.
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))

        async def answer() -> None:
            transport = httpx.ASGITransport(application, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                for line in sys.stdin:
                    name = json.loads(line)
                    case = known[name] if isinstance(name, str) else mutated(name)
                    begun, worked = monotonic(), busy()
                    response = await client.post(
                        case.path, content=case.body, headers={"content-type": case.content_type}
                    )
                    response.content.decode("utf-8")
                    peak, peak_apart = (
                        resource.getrusage(whose).ru_maxrss * 1024
                        for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
                    )
                    wrong = str(response.status_code) if response.status_code >= 500 else ""
                    taken = [monotonic() - begun, busy() - worked]
                    said = [response.status_code, *taken, peak, peak_apart, case.kind, wrong]
                    print(json.dumps(said), flush=True)

        print(json.dumps("ready"), flush=True)
        asyncio.run(answer())


class ServerProcess:
    """The process that answers; started again where it was lost."""

    def __init__(self, module: str = "tests.endurance.fuzz_uploads", *more: str) -> None:
        self._command = [sys.executable, "-m", module, "serve", *more]
        self._process: subprocess.Popen[str] | None = None
        self._said: queue.Queue[str] = queue.Queue()

    def ask(self, name: int | str) -> Any:
        """Return the answer to one case; None where there was none in time."""
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(name) + "\n")
            self._process.stdin.flush()
            line = self._said.get(timeout=PATIENCE)
        except (queue.Empty, BrokenPipeError):
            line = ""
        if not line:
            self.close()
            return None
        return json.loads(line)

    def _start(self) -> None:
        self._said = queue.Queue()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, args=(self._process, self._said), daemon=True).start()
        if not self._said.get(timeout=START):
            raise RuntimeError("the application did not start")

    @staticmethod
    def _read(process: subprocess.Popen[str], said: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.put(line)
        said.put("")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def run(cases: list[int | str], served: ServerProcess | None = None) -> UploadOutcome:
    """Send cases one after the other, and those that were late once more."""
    outcome = UploadOutcome()
    served = served or ServerProcess()
    late: list[int | str] = []
    try:
        # One after the other: those that were late so far are known when the run is stopped.
        late.extend(name for name in cases if send(served, outcome, name) > SECONDS)
        for name in late:
            seconds = send(served, outcome, name, again=True)
            outcome.late += 1
            if seconds > SECONDS and outcome.last_worked > SECONDS / 2:
                fail(outcome, f"{name}: {seconds:.2f} s, twice")
    except KeyboardInterrupt:
        print(f"stopped before all cases were sent; late: {late}", file=sys.stderr)
    finally:
        served.close()
    return outcome


def send(served: ServerProcess, outcome: UploadOutcome, name: int | str, *, again: bool = False) -> float:
    """Send one case and write down what came of it; return its seconds."""
    said = served.ask(name)
    if said is None:
        fail(outcome, f"{name}: no answer, or the process was lost")
        return 0.0
    status, seconds, worked, peak, peak_apart, kind, wrong = said
    outcome.busiest, outcome.last_worked = max(outcome.busiest, worked), worked
    outcome.peak = max(outcome.peak, peak)
    outcome.peak_apart = max(outcome.peak_apart, peak_apart)
    if again:
        outcome.failures += [f"{name} ({kind}): {wrong}"] if status >= 500 else []
        return float(seconds)
    outcome.statuses[status] += 1
    outcome.kinds[kind, status] += 1
    if seconds > outcome.slowest:
        outcome.slowest, outcome.slowest_case = seconds, f"{kind} {name}"
    if seconds > SECONDS:
        print(
            f"{name} ({kind}): {seconds:.2f} s, {worked:.2f} s of a processor; {wrong}",
            file=sys.stderr,
            flush=True,
        )
    elif wrong:
        fail(outcome, f"{name} ({kind}): {wrong}")
    return float(seconds)


def fail(outcome: UploadOutcome, failure: str) -> None:
    """Write a failure down, and say it at once."""
    outcome.failures.append(failure)
    print(failure, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        from tests.endurance.upload_mutations import bombs

        many, first = (int(word) for word in (*sys.argv[1:3], *("20000", "0")[len(sys.argv) - 1 :]))
        names = [name for name, _ in bombs()] if first == 0 else []
        for line in run([*names, *range(first, first + many)]).lines():
            print(line)
