"""Servers and workers that start at once: forked from a process that has imported everything.

Reads lines of JSON: ``{"role": "serve" or "work", "port": …, "settings": {…}}``; answers each with the
number of the process. What is forked is what `rackline serve` and `rackline worker` run.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import app.main
from app.commands.serving import listening
from app.serving import serve_here, work
from app.settings import Settings
from app.telemetry import set_up_logs
from tests.conftest import sizing_context
from tests.support.sweeping import Threads


def live(order: dict[str, Any]) -> None:
    settings = Settings.at(Path(order["settings"].pop("data_dir")), **order["settings"])
    set_up_logs(settings.log, settings.log_level)
    if order["role"] == "work":
        work(settings, 1)
    else:
        with listening("127.0.0.1", order["port"]) as listener:
            serve_here(listener, settings)


def main() -> None:
    # Points are computed by threads of the process that is killed: processes would take seconds to start.
    app.main.crew = lambda *_: Threads()  # type: ignore[attr-defined, assignment, return-value]
    sizing_context()
    print("ready", flush=True)
    for line in sys.stdin:
        # Who has ended is taken leave of with the next order, so that its number is not another's at once.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        child = os.fork()
        if child == 0:
            try:
                live(json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
