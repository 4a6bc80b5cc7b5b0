"""The catalogue of the repository, and a copy of its files that a test may spoil."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.catalog.catalog import Catalog, load_catalog
from tests.conftest import DATA

Spoil = Callable[[str, dict[str, str], dict[str, str]], Path]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog(DATA)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for path in DATA.glob("*.csv"):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path


@pytest.fixture
def spoil(copied: Path) -> Spoil:
    """Change the one row that has the given cells; return the directory."""

    def change(file: str, where: dict[str, str], to: dict[str, str]) -> Path:
        path = copied / file
        with path.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
        hits = [row for row in rows if all(row[column] == value for column, value in where.items())]
        assert len(hits) == 1, f"{len(hits)} rows of {file} match {where}"
        hits[0].update(to)
        with path.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        return copied

    return change
