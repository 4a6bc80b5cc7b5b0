"""The version of the engine tells apart what answers differently, and nothing else."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from app import __version__
from app.catalog.files import hash_files
from app.estimating.context import SizingContext
from app.estimating.version import ROOT, SOURCES, engine_version


def test_it_is_a_local_version_and_the_same_in_every_process(context: SizingContext) -> None:
    figures = context.catalog.version
    version = engine_version(figures)
    assert re.fullmatch(rf"{re.escape(__version__)}\+[0-9a-f]{{12}}", version)
    code = f"from app.estimating.version import engine_version; print(engine_version({figures!r}))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == version


def test_it_changes_with_a_figure_and_with_a_source(tmp_path: Path) -> None:
    assert engine_version("one") != engine_version("other")
    shutil.copytree(ROOT, tmp_path / "app", ignore=shutil.ignore_patterns("features", "platform"))
    copied = tmp_path / "app"
    before = hash_files(copied, *SOURCES)
    assert before == hash_files(ROOT, *SOURCES)
    for path in ("engine/gpu/gemm.py", "estimating/costing.py", "catalog/defaults.py", "profiles/config.py"):
        text = (copied / path).read_text(encoding="utf-8")
        (copied / path).write_text(f"{text}\n", encoding="utf-8")
        assert hash_files(copied, *SOURCES) != before, path
        (copied / path).write_text(text, encoding="utf-8")


def test_neither_line_ends_nor_caches_nor_other_rooms_change_it(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    source = tmp_path / "engine" / "step.py"
    source.write_bytes(b"step = 1\nnext = 2\n")
    before = hash_files(tmp_path, *SOURCES)
    source.write_bytes(b"step = 1\r\nnext = 2\r\n")
    (tmp_path / "engine" / "__pycache__").mkdir()
    (tmp_path / "engine" / "__pycache__" / "step.cpython-311.pyc").write_bytes(b"compiled")
    (tmp_path / "routes.py").write_text("page = 1\n", encoding="utf-8")
    assert hash_files(tmp_path, *SOURCES) == before
