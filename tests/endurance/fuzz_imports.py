"""Damaged files of every kind that ``read_import`` recognises, in a process that is short of memory.

``python -m tests.endurance.fuzz_imports [CASES] [FIRST]`` prints how many of each kind were read and refused,
the slowest, the memory, and every case that failed: any other error than a refusal, or more than
:data:`SECONDS` of processor time.
"""

from __future__ import annotations

import random
import resource
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from app.errors import AppError
from app.profiles.onnx_graph import read_onnx
from app.profiles.readers import models
from app.profiles.readers.recognition import read_import
from tests.endurance.upload_mutations import flipped, rearranged, recelled, regraphed
from tests.profiles.files import seeds

SECONDS = 5.0
"""Longest processor time of a file. [s]"""
MEMORY = 3_000_000_000
"""Address space of the process. [B]"""
SHARES = {"config": 30, "parquet": 0.2, "onnx": 0.5, "xlsx": 4}
"""Files of a kind beside ten of the others: Parquet and ONNX take a process of their own."""


def damaged(number: int) -> tuple[str, bytes]:
    """Return one damaged file and its kind; the number decides everything about it."""
    chance = random.Random(f"imports {number}")
    kinds = [kind for kind, contents in seeds().items() if contents]
    kind = chance.choices(kinds, [SHARES.get(kind, 10) for kind in kinds])[0]
    content = chance.choice(seeds()[kind])
    ways: list[Callable[[bytes, random.Random], bytes]] = [flipped]
    if kind == "onnx":
        ways += [regraphed] * 2
    elif kind in ("config", "diffusers"):
        ways += [rearranged] * 3
    elif kind not in ("safetensors", "xlsx", "archive", "parquet"):
        ways += [recelled] * 2
    content = chance.choice(ways)(content, chance)
    return kind, flipped(content, chance) if chance.random() < 0.1 else content


@dataclass
class Outcome:
    """What came of a run."""

    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_case: str = ""

    def lines(self) -> list[str]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return [
            f"{sum(self.kinds.values())} files",
            *(f"  {kind:12} {said:8} {count:7}" for (kind, said), count in sorted(self.kinds.items())),
            f"slowest: {self.slowest:.2f} s ({self.slowest_case}); peak memory: {peak / 1e6:.0f} MB",
            f"failures: {len(self.failures)}",
            *self.failures,
        ]


def busy() -> float:
    """Return the processor time of this process and of those it waited for. [s]"""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def run(numbers: range) -> Outcome:
    """Read damaged files one after the other."""
    outcome = Outcome()
    for number in numbers:
        kind, content = damaged(number)
        begun = busy()
        try:
            found = read_import("file", content)
            if found.profile is not None and not found.profile.parameters >= 0:
                outcome.failures.append(f"{number} ({kind}): {found.profile.parameters} parameters")
            said = "read"
        except AppError as error:
            said = "refused" if str(error) else "silent"
        except Exception as error:
            said = "failed"
            outcome.failures.append(f"{number} ({kind}): {type(error).__name__}: {str(error)[:200]}")
        seconds = busy() - begun
        outcome.kinds[kind, said] += 1
        if seconds > outcome.slowest:
            outcome.slowest, outcome.slowest_case = seconds, f"{kind} {number}"
        if seconds > SECONDS:
            outcome.failures.append(f"{number} ({kind}): {seconds:.2f} s")
    return outcome


if __name__ == "__main__":
    many, first = (int(word) for word in (*sys.argv[1:3], *("50000", "0")[len(sys.argv) - 1 :]))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    # The start of a process for each graph would take a second; tests.endurance.fuzz_uploads starts them.
    models.read_onnx_file = read_onnx
    for line in run(range(first, first + many)).lines():
        print(line)
