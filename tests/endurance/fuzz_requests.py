"""Broken requests: JSON of every POST and PATCH, questions of every page and list, forms, headers.

``python -m tests.endurance.fuzz_requests [CASES] [FIRST] [--traced]`` prints how many were answered how, the
slowest, the memory, and every case that failed: answered 5xx, twice not within :data:`SECONDS`, with a
number that is not finite, or not at all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import resource
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from fastapi import FastAPI

from tests.endurance.fuzz_uploads import MEMORY, SECONDS, ServerProcess, busy, run
from tests.endurance.request_mutations import mutated
from tests.endurance.request_seeds import Seed, seeds
from tests.support.direct import DirectAnswer, Request, send

MODULE = "tests.endurance.fuzz_requests"

NOT_FINITE = rb"(?<![\w.-])(?:NaN|nan|-?[Ii]nf|Infinity)(?![\w.-])"

UNITS = rb"%|(?:m?s|h|days|[kMGT]?B|[kM]?W|[kM]Wh|USD|KRW|EUR)\b"

FIGURE = re.compile(
    rb'<t[dh] class="number[^>]*>(?:(?!</t[dh]>).)*?'
    + NOT_FINITE
    + rb"|"
    + NOT_FINITE
    + rb"\s?(?:"
    + UNITS
    + rb")",
    re.DOTALL,
)
"""What is no number where a page shows one; names that people have given may be anything."""


def complaint(request: Request, answer: DirectAnswer) -> str:
    """Return what is wrong with an answer; empty where nothing is."""
    kind = answer.headers.get("content-type", "")
    if answer.status >= 500:
        return f"{answer.status}"
    if answer.status == 0:
        return "no answer"
    if "json" in kind and answer.body:
        try:
            json.loads(answer.body, parse_constant=refuse)
        except ValueError as error:
            return f"answer is not JSON of finite numbers: {error}"
    elif "html" in kind:
        words = (request.path + request.query + request.body).lower()
        shown = re.sub(rb"<(script|style|svg).*?</\1>", b" ", answer.body, flags=re.DOTALL)
        if not any(word in words for word in (b"nan", b"inf")) and (found := FIGURE.search(shown)):
            return f"the page says {found[0][-200:]!r}"
    return ""


def refuse(constant: str) -> float:
    """Refuse a number that is not finite."""
    raise ValueError(constant)


async def told(app: FastAPI, known: list[Seed], number: int) -> tuple[list[Any], Request, DirectAnswer]:
    """Send one case; return what the run is told of it."""
    seed, request = mutated(number, known)
    begun, worked = monotonic(), busy()
    answer = await send(app, request)
    taken, worked = monotonic() - begun, busy() - worked
    peaks = [
        resource.getrusage(whose).ru_maxrss * 1024
        for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    wrong = complaint(request, answer)
    place = f"{seed.method} {seed.path}" if wrong or taken > SECONDS else ""
    said = [answer.status, taken, worked, *peaks, seed.kind, " ".join(filter(None, (place, wrong)))]
    return said, request, answer


def serve() -> None:
    """Answer numbers of cases on standard input with what came of them, one line each."""
    from app.main import create_app
    from app.settings import Settings

    logging.disable(logging.ERROR if "--traced" not in sys.argv else logging.WARNING)

    async def answer() -> None:
        with tempfile.TemporaryDirectory() as folder:
            app = create_app(Settings.at(Path(folder)))
            known = await seeds(app)
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
            print(json.dumps("ready"), flush=True)
            for line in sys.stdin:
                said, request, _ = await told(app, known, json.loads(line))
                if "--traced" in sys.argv and (said[6] or said[1] > SECONDS):
                    print(
                        request.method,
                        request.path,
                        request.query[:1500],
                        request.body[:3000],
                        file=sys.stderr,
                    )
                print(json.dumps(said), flush=True)

    asyncio.run(answer())


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve()
    else:
        extra = [word for word in sys.argv[1:] if word.startswith("--")]
        words = [word for word in sys.argv[1:] if not word.startswith("--")]
        many, first = (int(word) for word in (*words, *("20000", "0")[len(words) :]))
        for line in run(list(range(first, first + many)), ServerProcess(MODULE, *extra)).lines():
            print(line)
