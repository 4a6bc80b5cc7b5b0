"""Servers and workers that start at once: forked from a process that has imported everything.

Reads lines of JSON: ``{"role": "serve" or "work", "port": …, "settings": {…}}``; answers each with the
number of the process. What is forked is what `rackline serve` and `rackline worker` run.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import app.main
from app.__main__ import listening
from app.logs import set_up_logs
from app.serving import serve_here, work
from app.settings import Settings
from tests.sizing.asking import sizing_context
from tests.sizing.sweeping import Threads


def live(order: dict[str, Any]) -> None:
    settings = Settings.at(Path(order["settings"].pop("data_dir")), **order["settings"])
    set_up_logs(settings.log, settings.log_level)
    if order["role"] == "work":
        work(settings, 1)
    else:
        with listening("127.0.0.1", order["port"]) as listener:
            serve_here(listener, settings)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Points are computed by threads of the process that is killed: processes would take seconds to start.
    app.main.crew = lambda *_: Threads()  # type: ignore[attr-defined, assignment, return-value]
    sizing_context()
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                live(json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
