"""docs/uploads.md says what the code accepts."""

import re
from contextlib import suppress

from app.errors import AppError
from app.profiles.layer_table import KINDS, POINTWISE
from app.profiles.readers.models import read_profile
from app.profiles.readers.recognition import read_import
from app.profiles.sample_lengths import LENGTH_COLUMNS, LIST_COLUMNS, TEXT_COLUMNS
from app.profiles.traits import MODEL_TYPES
from tests.conftest import ROOT
from tests.profiles.files import seeds

TEXT = (ROOT / "docs" / "uploads.md").read_text(encoding="utf-8")


def test_every_column_and_word_is_documented() -> None:
    first_cells = "".join(row.split("|")[1] for row in re.findall(r"^\|.*\|$", TEXT, re.MULTILINE))
    columns = set(re.findall(r"`(\w+)`", first_cells))
    assert columns >= {"name", "kind", "count"}.union(*(known for _, known in KINDS.values()))
    words = set(re.findall(r"[\w-]+", TEXT))
    assert words >= set(POINTWISE) | set(KINDS)
    assert words >= {*LENGTH_COLUMNS, *LIST_COLUMNS, *TEXT_COLUMNS}
    listed = {path.stem for path in (ROOT / "data" / "model_types").glob("*.json")}
    assert "data/model_types" in TEXT and words | listed >= {*MODEL_TYPES, "swin"}


def test_the_example_can_be_read() -> None:
    example = re.search(r"```csv\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    assert read_profile("example.csv", example[1].encode()).parameters == 9408 + 128 + 2_049_000


def test_every_kind_that_is_recognised_is_in_the_table_of_files() -> None:
    table = (ROOT / "docs" / "files-of-customers.md").read_text(encoding="utf-8")
    rows = [row.split("|") for row in table.splitlines() if row.startswith("|")]
    listed = {kind.strip() for row in rows for kind in row[2].split(",")}
    found: set[str] = set()
    for contents in seeds().values():
        for content in contents[:40]:
            with suppress(AppError):
                found.add(read_import("file", content).kind)
    priced = {"quote", "azure-retail-prices", "aws-price-list"}
    assert found & priced == priced
    assert found - priced <= listed
    assert len(found) >= 15
