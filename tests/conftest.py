"""What all tests share: the browser's path, the same examples each time, no silent omissions in CI."""

import gc
import logging
import os
import sys
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from structlog.stdlib import ProcessorFormatter

import dev
from tests.postgres import postgres as postgres
from tests.windows import browser as browser
from tests.windows import korean_window as korean_window
from tests.windows import phone as phone
from tests.windows import plain_window as plain_window
from tests.windows import server as server
from tests.windows import window as window

settings.register_profile("seeded", derandomize=True, deadline=None, database=None)
settings.load_profile("seeded")

# httpx looks for this module at every request to an application; the search for what is not there takes as
# long as a quick answer does.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

LONG = (
    *("tests/isolation/test_walk.py", "tests/browser/test_pages.py", "tests/tools/test_accuracy.py"),
    *("tests/browser/test_figures.py", "tests/web/pages/test_language.py", "tests/browser/test_sweeps.py"),
    *("tests/test_", "tests/browser/", "tests/web/pages/", "tests/journeys/", "tests/generated/"),
    *("tests/web/", "tests/reports/", "tests/store/", "tests/isolation/", "tests/commands/"),
    *("tests/services/", "tests/identity/", "tests/sizing/", "tests/tools/"),
)
"""Where files take long, the longest first; begun last, one of them would keep one processor when the others
have nothing more to do."""

SELDOM = (20_000, 10, 10)
"""New objects after which the garbage is looked for, and how often it is among older ones too."""

NO_BROWSER = "there is no Chromium on PATH"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Take what is loaded for lasting; the search for garbage among it took a fifth of the time."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(*SELDOM)
    gc.enable()
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, and leave browser tests out where there is no browser to drive."""
    items.sort(
        key=lambda item: next((at for at, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG))
    )
    if dev.find("browser tests") is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that left something out where nothing may be left out."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter is not None and reporter.stats.get("skipped"):
        reporter.ensure_newline()
        reporter.write_line("Tests were skipped, and with CI=true none may be.")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Path of the Chromium to drive; only for tests marked ``browser``."""
    path = dev.find("browser tests")
    assert path is not None, NO_BROWSER
    return path


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Take back the log that a command has set up: it writes to the error output of that command."""
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)
    for handler in list(root.handlers):
        if isinstance(handler.formatter, ProcessorFormatter):
            root.removeHandler(handler)
