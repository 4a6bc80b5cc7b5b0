"""Run a coroutine from a test, whatever loop the thread of the test already carries."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Answer = TypeVar("Answer")

RUN = asyncio.run
"""As it is, wherever a test puts :func:`run` in its place."""


def run(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Return what a coroutine answers, run in a thread of its own.

    The browser tests keep a loop alive in the main thread for as long as the browser is open.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(RUN, coroutine).result()
