"""Broken files, sent to the API of an application in a process of its own that is short of memory.

``python -m tests.endurance.fuzz_uploads [CASES] [FIRST]`` prints how many were answered how, the slowest, the
memory, and every case that failed: answered 5xx, not within :data:`SECONDS`, or took the process down.
"""

from __future__ import annotations

import asyncio
import json
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
START = 600.0
"""Longest start of the process. [s]"""
MEMORY = 3_000_000_000
"""Address space of the process, its libraries included. [B]"""


@dataclass
class Outcome:
    """What came of a run."""

    statuses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_case: str = ""
    peak: int = 0

    def lines(self) -> Iterator[str]:
        """Give the report."""
        yield f"{sum(self.statuses.values())} answers: " + ", ".join(
            f"{count} × {status}" for status, count in sorted(self.statuses.items())
        )
        for (kind, status), count in sorted(self.kinds.items()):
            yield f"  {kind:10} {status} {count:7}"
        yield f"slowest: {self.slowest:.2f} s ({self.slowest_case}); peak memory: {self.peak / 1e6:.0f} MB"
        yield f"failures: {len(self.failures)}"
        yield from self.failures


def serve() -> None:
    """Answer numbers of cases on standard input with status, seconds and memory, one line each."""
    import httpx

    from app.main import create_app
    from app.settings import Settings
    from tests.endurance.upload_mutations import bombs, mutated

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
                    begun = monotonic()
                    response = await client.post(
                        case.path, content=case.body, headers={"content-type": case.content_type}
                    )
                    response.content.decode("utf-8")
                    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                    said = [response.status_code, monotonic() - begun, peak, case.kind]
                    print(json.dumps(said), flush=True)

        print(json.dumps("ready"), flush=True)
        asyncio.run(answer())


class Served:
    """The process that answers; started again where it was lost."""

    def __init__(self) -> None:
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
            line = self._said.get(timeout=4 * SECONDS)
        except (queue.Empty, BrokenPipeError):
            line = ""
        if not line:
            self.close()
            return None
        return json.loads(line)

    def _start(self) -> None:
        self._said = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.endurance.fuzz_uploads", "serve"],
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


def run(cases: list[int | str]) -> Outcome:
    """Send cases one after the other."""
    outcome = Outcome()
    served = Served()
    try:
        for name in cases:
            said = served.ask(name)
            if said is None:
                outcome.failures.append(f"{name}: no answer, or the process was lost")
                print(outcome.failures[-1], file=sys.stderr, flush=True)
                continue
            status, seconds, peak, kind = said
            outcome.statuses[status] += 1
            outcome.kinds[kind, status] += 1
            outcome.peak = max(outcome.peak, peak)
            if seconds > outcome.slowest:
                outcome.slowest, outcome.slowest_case = seconds, f"{kind} {name}"
            if status >= 500 or seconds > SECONDS:
                outcome.failures.append(f"{name} ({kind}): {status} after {seconds:.2f} s")
                print(outcome.failures[-1], file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped before all cases were sent", file=sys.stderr)
    finally:
        served.close()
    return outcome


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        from tests.endurance.upload_mutations import bombs

        many, first = (int(word) for word in (*sys.argv[1:3], *("20000", "0")[len(sys.argv) - 1 :]))
        names = [name for name, _ in bombs()] if first == 0 else []
        for line in run([*names, *range(first, first + many)]).lines():
            print(line)
