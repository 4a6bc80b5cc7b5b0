#!/usr/bin/env python3
"""Set up, run and check Rackline. Needs Python 3.11 and nothing else.

python3 dev.py run [arguments]    install what is missing, then run `rackline serve [arguments]`
python3 dev.py test               run every check and print a summary
python3 dev.py test [arguments]   run pytest only, from the project directory
python3 dev.py audit              look up known vulnerabilities of the locked packages
python3 dev.py sbom FILE          write what the runtime lock installs as CycloneDX JSON
python3 dev.py moved [--pin]      print what a change moved in famous runs and 2,000 pinned answers
python3 dev.py census             count lines of app/ by kind and folder, and trace request paths

Packages are installed from the lock files into `.venv` next to this file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent
RUNTIME_LOCK = "requirements.lock"
DEV_LOCK = "requirements-dev.lock"
GENERATOR_LOCK = "requirements-generator.lock"
"""What makes a client from the description of the API; it asks for older packages than ours."""
PROJECT = "pyproject.toml"
PROCESSES = (os.cpu_count() or 1) * 3 // 2
"""Half as many again as there are processors: tests wait for browsers, servers and databases."""
ALL_PROCESSORS = ("--numprocesses", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder")
"""A file's tests share what is slow to make; in which order the files come, tests/conftest.py says."""
USUAL = "not endurance and not benchmark"
MEASURED = "tests/benchmarks"
"""Where benchmarks are; to look for them among all tests takes longer than some of them."""
NEEDED = {
    "browser tests": ("chromium", "chromium-browser", "google-chrome"),
    "tests of the reverse proxy": ("nginx",),
}
"""What is tested with a program of the system → its names; the first is that of its Debian package too."""


@dataclass(frozen=True)
class Environment:
    """The virtual environment of the project and what is installed in it."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / ".venv"

    @property
    def stamp(self) -> Path:
        return self.folder / "installed-locks.json"

    def command(self, name: str) -> str:
        """Path of a command of the environment."""
        if os.name == "nt":
            return str(self.folder / "Scripts" / f"{name}.exe")
        return str(self.folder / "bin" / name)

    def lock_hash(self, lock: str) -> str:
        return hashlib.sha256((self.root / lock).read_bytes()).hexdigest()

    def is_current(self, lock: str) -> bool:
        """Whether this lock and the project, as they stand now, were those installed."""
        try:
            installed = json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        current = all(installed.get(name) == self.lock_hash(name) for name in (lock, PROJECT))
        return current and Path(self.command("python")).exists()

    def mark(self, lock: str) -> None:
        """Note that the lock and the project are installed. The dev lock holds all of the runtime lock."""
        locks = [RUNTIME_LOCK, DEV_LOCK, PROJECT] if lock == DEV_LOCK else [lock, PROJECT]
        self.stamp.write_text(json.dumps({name: self.lock_hash(name) for name in locks}), encoding="utf-8")

    def install(self, lock: str) -> None:
        """Bring the environment to this lock, unless it is there already."""
        if self.is_current(lock):
            return
        say(f"Installing {lock} into {self.folder}")
        # An installation that breaks off half way must not look finished the next time.
        self.stamp.unlink(missing_ok=True)
        uv = shutil.which("uv")
        if not Path(self.command("python")).exists():
            self.create(uv)
        uv = uv or self.fetch_uv(lock)
        # Otherwise every process of who may not write there compiles all packages anew, for seconds.
        by_uv = [uv, "pip", "install", "--compile-bytecode", "--python", self.command("python")] if uv else []
        if not (by_uv and self.install_with(by_uv, lock)):
            say("uv failed; installing with pip" if uv else "Installing with pip")
            self.add_pip()
            if not self.install_with(self.pip(), lock):
                raise SystemExit(f"Installation of {lock} failed; see the messages above.")
        self.mark(lock)

    def compile(self) -> None:
        """Compile the engine, so that nobody waits for it later; where it cannot be, it runs interpreted."""
        call([self.command("python"), "-m", "app.engine.compiled"])

    def create(self, uv: str | None) -> None:
        by_uv = [uv, "venv", "--python", sys.executable] if uv else None
        maker = by_uv or [sys.executable, "-m", "venv"]
        if call([*maker, "--clear", str(self.folder)], quiet=True) != 0:
            raise SystemExit(f"Cannot create {self.folder}. On Debian: apt-get install python3-venv")

    def pip(self) -> list[str]:
        return [self.command("python"), "-m", "pip", "install", "--disable-pip-version-check"]

    def add_pip(self) -> None:
        """Give an environment that uv made the pip it comes without."""
        if call([self.command("python"), "-c", "import pip"], quiet=True) != 0:
            call([self.command("python"), "-m", "ensurepip"], quiet=True)

    def fetch_uv(self, lock: str) -> str | None:
        """Install the locked uv by pip: a second spent here saves half a minute after."""
        only_uv = requirement((self.root / lock).read_text(encoding="utf-8"), "uv")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "uv.txt"
            path.write_text(only_uv, encoding="utf-8")
            done = call([*self.pip(), "--require-hashes", "--requirement", str(path)], quiet=True) == 0
        return self.command("uv") if done else None

    def install_with(self, installer: Sequence[str], lock: str) -> bool:
        """Install a lock and the project itself, in place, with this installer."""
        locked = [*installer, "--quiet", "--require-hashes", "--requirement", str(self.root / lock)]
        project = [*installer, "--quiet", "--no-deps", "--no-build-isolation", "--editable", str(self.root)]
        return call(locked) == 0 and call(project) == 0


@dataclass(frozen=True)
class Check:
    """One check: its heading and its command."""

    name: str
    command: tuple[str, ...]
    alone: bool = False
    """Whether it has all processors to itself."""


def checks(environment: Environment) -> list[Check]:
    """Give every check: the long ones first of those that use one processor, then those that use all."""
    python = environment.command("python")
    rackline = environment.command("rackline")
    return [
        Check("generated documents", (python, "-m", "tools", "documents", "--check")),
        Check("mypy --strict", (python, "-m", "mypy")),
        Check("import-linter", (environment.command("lint-imports"),)),
        Check("catalogue", (rackline, "check-catalog")),
        Check("ruff check", (python, "-m", "ruff", "check", ".")),
        Check("ruff format", (python, "-m", "ruff", "format", "--check", ".")),
        Check("pytest", (python, "-m", "pytest", *ALL_PROCESSORS, "-m", USUAL), alone=True),
        # What is measured must not share the machine with other tests.
        Check("benchmarks", (python, "-m", "pytest", "-m", "benchmark", MEASURED), alone=True),
    ]


def requirement(lock: str, name: str) -> str:
    """Cut one requirement with its hashes out of the text of a lock."""
    taken: list[str] = []
    for line in lock.splitlines():
        if taken or line.startswith(f"{name}=="):
            taken.append(line)
            if not line.endswith("\\"):
                break
    return "\n".join(taken) + "\n"


def say(text: str) -> None:
    print(text, flush=True)


def plain_environment() -> dict[str, str]:
    """Give the tools' environment: no colours, the certificates the machine trusts, what was compiled kept.

    The tests start hundreds of processes, each of which would compile the same sources.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "NO_COLOR": "1", "UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "1")}


def call(command: Sequence[str], *, quiet: bool = False, output: IO[str] | None = None) -> int:
    """Run a command from the project's directory and give its exit code."""
    into = subprocess.DEVNULL if quiet else output
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=plain_environment(), stdout=into, stderr=into, check=False
        )
    except OSError as error:
        say(f"Cannot run {command[0]}: {error}")
        return 127
    return finished.returncode


def find(tests: str) -> str | None:
    """Path of the program that some tests need, or None."""
    return next((path for path in map(shutil.which, NEEDED[tests]) if path), None)


def install_programs() -> None:
    """Install the distribution's programs that tests need, where this user may."""
    missing = [names[0] for tests, names in NEEDED.items() if not find(tests)]
    if not missing or not shutil.which("apt-get") or os.name == "nt" or os.geteuid() != 0:
        return
    say(f"Installing {' and '.join(missing)} for the tests")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    if call(["apt-get", "update", "-qq"]) == 0:
        call(["apt-get", "install", "-qq", "--yes", "--no-install-recommends", *missing], quiet=True)


def left_out() -> list[str]:
    """Name the tests this machine cannot run, and why."""
    return [f"{tests}: no {names[0]} on PATH" for tests, names in NEEDED.items() if not find(tests)]


def ended(check: Check, *, said_at_end: bool = False) -> tuple[int, float, str]:
    """Run a check; give its exit code, how long it took, and what it said unless it said so meanwhile."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        code = call(check.command, output=said if said_at_end else None)
        said.seek(0)
        return code, time.monotonic() - started, said.read()


def test_everything(environment: Environment) -> int:
    """Run every check, then say which failed and what was left out.

    Those that use one processor run beside one another, and are told of in their order.
    """
    install_programs()
    failed: list[str] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        all_checks = checks(environment)
        ends = {check: pool.submit(ended, check, said_at_end=True) for check in all_checks if not check.alone}
        for check in all_checks:
            say(f"\n=== {check.name} ===")
            code, seconds, said = ended(check) if check.alone else ends[check].result()
            say(f"{said}--- {check.name}: {'ok' if code == 0 else 'FAILED'} ({seconds:.1f} s)")
            if code != 0:
                failed.append(check.name)
    omissions = left_out()
    say("\n=== summary ===")
    for omission in omissions:
        say(f"Skipped: {omission}")
    if omissions and os.environ.get("CI") == "true":
        failed.append("skipped tests are not allowed when CI=true")
    say(f"FAILED: {', '.join(failed)}" if failed else "All checks passed.")
    return 1 if failed else 0


def audit(environment: Environment) -> int:
    """Look what the locks name up in the list of known weaknesses; without a network there is nothing said.

    pip-audit ends with 1 both for a weakness and for a list it cannot reach: which it was, its report tells.
    """
    environment.install(DEV_LOCK)
    code = 0
    for lock in (RUNTIME_LOCK, DEV_LOCK, GENERATOR_LOCK):
        say(f"=== {lock} ===")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "audit.json"
            command = [environment.command("python"), "-m", "pip_audit", "--disable-pip", "--require-hashes"]
            command += ["--progress-spinner", "off", "--format", "json", "--output", str(report)]
            call([*command, "--requirement", lock], quiet=True)
            found = weaknesses(report)
        if found is None:
            say("not checked: the vulnerability database cannot be reached")
        else:
            say("\n".join(found) or "no known vulnerabilities")
            code = code or int(bool(found))
    return code


def weaknesses(report: Path) -> list[str] | None:
    """Read what pip-audit wrote: a line for each weakness, or None where it could look nothing up."""
    try:
        entries = json.loads(report.read_text(encoding="utf-8"))["dependencies"]
    except (OSError, ValueError, KeyError):
        return None
    return [
        f"{entry['name']} {entry['version']}: {weakness['id']}, fixed in "
        f"{', '.join(weakness['fix_versions']) or 'no version yet'}"
        for entry in entries
        for weakness in entry.get("vulns", ())
    ]


def install_generator(environment: Environment) -> Path:
    """Install what makes clients in an environment of its own, unless it is there; give its interpreter."""
    apart = environment.folder / "generator"
    python = apart / "Scripts" / "python.exe" if os.name == "nt" else apart / "bin" / "python"
    stamp = apart / "installed-lock"
    digest = environment.lock_hash(GENERATOR_LOCK)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return python
    say(f"Installing {GENERATOR_LOCK} into {apart}")
    uv = environment.command("uv")
    made = call([uv, "venv", "--quiet", "--clear", "--python", environment.command("python"), str(apart)])
    locked = ["--require-hashes", "--requirement", str(environment.root / GENERATOR_LOCK)]
    if made or call([uv, "pip", "install", "--quiet", "--python", str(python), *locked]):
        raise SystemExit(f"Installation of {GENERATOR_LOCK} failed; see the messages above.")
    stamp.write_text(digest, encoding="utf-8")
    return python


def bill_of_materials(lock: str, version: str) -> dict[str, object]:
    """Return what a lock installs as CycloneDX 1.6; the same lock gives the same bill."""
    components = []
    for entry in re.finditer(r"^([a-z0-9.-]+)==([^ \n]+)(.*(?:\n .*)*)", lock, re.MULTILINE):
        name, pinned, rest = entry.groups()
        marker = re.match(r" ; (.*?) *\\?$", rest, re.MULTILINE)
        noted = [("rackline:hash", found) for found in re.findall(r"--hash=(\S+)", rest)]
        if marker:
            noted.insert(0, ("rackline:marker", marker[1]))
        address = f"pkg:pypi/{name}@{pinned}"
        properties = [{"name": kind, "value": value} for kind, value in noted]
        component = {"type": "library", "bom-ref": address, "name": name, "version": pinned, "purl": address}
        components.append({**component, "properties": properties})
    ours = {"type": "application", "bom-ref": "rackline", "name": "rackline", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours},
        "components": components,
    }


def write_bill(file: Path) -> int:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "app" / "__init__.py").read_text(encoding="utf-8"))
    lock = (ROOT / RUNTIME_LOCK).read_text(encoding="utf-8")
    bill = bill_of_materials(lock, version[1] if version else "")
    file.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    return 0


def run(environment: Environment, arguments: Sequence[str]) -> int:
    """Serve the application with the runtime lock."""
    environment.install(RUNTIME_LOCK)
    environment.compile()
    command = [environment.command("rackline"), "serve", *arguments]
    if os.name == "nt":
        return subprocess.run(command, check=False).returncode
    # Take this process's place, so that a signal sent to it reaches the server.
    return os.execv(command[0], command)


def test(environment: Environment, arguments: Sequence[str]) -> int:
    """Run every check, or with arguments pytest alone."""
    environment.install(DEV_LOCK)
    install_generator(environment)
    environment.compile()
    if arguments:
        return call([environment.command("python"), "-m", "pytest", *arguments])
    return test_everything(environment)


MEASURES = {"census": ["tools.census"], "moved": ["tools", "moved"]}
"""Tasks that only read: the module behind each."""


def main(arguments: Sequence[str]) -> int:
    # The one file that an older Python may be given: it says so instead of failing somewhere inside.
    if sys.version_info < (3, 11):  # noqa: UP036
        raise SystemExit("Rackline needs Python 3.11 or newer.")
    task, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if task == "run":
        return run(Environment(ROOT), rest)
    if task == "test":
        return test(Environment(ROOT), rest)
    if task == "audit":
        return audit(Environment(ROOT))
    if task == "sbom" and len(rest) == 1:
        return write_bill(Path(rest[0]))
    if task in MEASURES:
        Environment(ROOT).install(DEV_LOCK)
        return call([Environment(ROOT).command("python"), "-m", *MEASURES[task], *rest])
    say((__doc__ or "").strip())
    return 0 if task in {"-h", "--help"} else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
