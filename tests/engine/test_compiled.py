"""Compiled kernels: what they refuse, where they lie, and what runs where there are none."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from app.engine import compiled
from app.engine.arrays import number_columns
from app.engine.compiled import Kernel, Library, sources_digest, state
from tests.conftest import ROOT, answer

COLUMNS = np.array([[8.0, 2.0, 8.0], [1.0, 1.0, 1.0]])


def numbered(made: Kernel, **changes: np.ndarray) -> list[int]:
    """Return which of the distinct columns each column is."""
    index = np.empty(3, dtype=np.int64)
    values = {
        "columns": COLUMNS,
        "slots": np.empty(8, dtype=np.int64),
        "first": np.empty(3, dtype=np.int64),
        "index": index,
        "count": np.empty(1, dtype=np.int64),
    }
    made(*(values | changes).values())
    return index.tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": COLUMNS.astype(np.float32)},
        {"columns": COLUMNS.astype(np.int64)},
        {"columns": np.asfortranarray(COLUMNS)},
        {"columns": np.repeat(COLUMNS, 2, axis=1)[:, ::2]},
        {"columns": COLUMNS[0]},
        {"columns": COLUMNS[np.newaxis]},
        {"slots": np.empty(8)},
        {"slots": np.empty(8, dtype=np.int32)},
    ],
    ids=lambda changes: "-".join(f"{name}-{one.dtype}-{one.shape}" for name, one in changes.items()),
)
def test_a_kernel_refuses_arrays_of_another_type_or_layout(changes: dict[str, np.ndarray]) -> None:
    assert state() == ""
    assert numbered(number_columns) == [0, 1, 0]
    with pytest.raises(TypeError, match="number_columns"):
        numbered(number_columns, **changes)


def in_a_process(script: str, *arguments: str, **environment: str) -> Any:
    """Return what a script in a process of its own prints as JSON."""
    command = [sys.executable, "-W", "error", "-c", script, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ASKED: dict[str, Any] = {"workload": {"global_batch": 256}}
ESTIMATE = f"""
import json
from app.engine.compiled import state
from tests.conftest import answer
print(json.dumps([state(), answer(**{ASKED!r}).model_dump(mode="json")]))
"""


def figures(document: Any) -> Iterator[float]:
    """Give every number of a document."""
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from figures(part)
    elif isinstance(document, float):
        yield document


def test_an_estimate_by_interpreted_formulas_has_the_same_numbers_and_the_state_says_so() -> None:
    why, document = in_a_process(ESTIMATE, RACKLINE_COMPILED="0")
    assert why == "RACKLINE_COMPILED=0"
    assert state() == ""
    expected = list(figures(answer(**ASKED).model_dump(mode="json")))
    assert len(expected) > 50
    assert list(figures(document)) == pytest.approx(expected, rel=1e-9)


AT_ONCE = """
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import numpy as np
from app.engine.arrays import distinct_columns
together = Barrier(8)
def first(_):
    together.wait()
    return distinct_columns(np.array([[8.0, 2.0, 8.0]]))[1].tolist()
with ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(first, range(8)))))
"""


def test_threads_that_need_a_kernel_at_once_share_it() -> None:
    assert in_a_process(AT_ONCE) == [[0, 1, 0]] * 8


def anew() -> Library:
    """Look for the compiled kernels as a new process does."""
    return compiled._library.__wrapped__()


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """Return a folder that nobody can make, for its parent is a file."""
    (tmp_path / "file").touch()
    return tmp_path / "file" / "folder"


def test_a_folder_that_cannot_be_written_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, closed: Path
) -> None:
    made: list[Path] = []

    def compiling(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        made.append(Path(command[-1]))
        made[-1].mkdir()
        (made[-1] / compiled.LIBRARY).touch()
        compiled.seal(made[-1])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", compiling)
    monkeypatch.setattr(compiled, "parents", lambda: [closed, tmp_path / "own"])
    place = tmp_path / "own" / sources_digest()
    for _ in range(2):
        found = anew()
        assert (found.folder, found.why_not) == (place, "")
    assert made == [place]


def test_without_a_folder_to_write_kernels_run_interpreted(
    monkeypatch: pytest.MonkeyPatch, closed: Path
) -> None:
    monkeypatch.setattr(compiled, "parents", lambda: [closed])
    found = anew()
    assert found.why_not and found.address(number_columns.symbol) is None
    monkeypatch.setattr(compiled, "library", lambda: found)
    assert numbered(Kernel(number_columns.function)) == [0, 1, 0]


def test_what_a_failed_compilation_says_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "no room on the disk")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    monkeypatch.setattr(compiled, "parents", lambda: [tmp_path])
    assert "no room on the disk" in anew().why_not
    assert anew().address(number_columns.symbol) is None


def test_without_a_compiler_the_state_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiled, "parents", lambda: [tmp_path])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "install" in anew().why_not


def own_copy(folder: Path) -> Path:
    """Return a copy of the compilation that this process uses."""
    made = compiled.library().folder
    assert made is not None
    return copytree(made, folder / made.name)


@pytest.mark.parametrize("harm", ["page of zeros", "cut short", "one byte", "no library", "no seal"])
def test_a_damaged_library_is_not_loaded(harm: str, tmp_path: Path) -> None:
    copy = own_copy(tmp_path)
    assert compiled.is_whole(copy)
    library = copy / compiled.LIBRARY
    code = bytearray(library.read_bytes())
    if harm == "page of zeros":
        code[8192:12288] = bytes(4096)
    elif harm == "cut short":
        del code[-1:]
    elif harm == "one byte":
        code[len(code) // 2] ^= 1
    library.write_bytes(code)
    if harm == "no library":
        library.unlink()
    if harm == "no seal":
        (copy / compiled.SEAL).unlink()
    assert not compiled.is_whole(copy)


def test_a_wheels_own_library_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiled, "PACKAGED", tmp_path)
    own = own_copy(tmp_path)
    assert anew().folder == own
    (own / compiled.SEAL).write_text("{}", encoding="ascii")
    assert anew().folder not in (None, own)


NEEDLESS = """
import json, sys
from tests.conftest import answer
answer()
print(json.dumps(sorted({"llvmlite", "numba"} & {name.partition(".")[0] for name in sys.modules})))
"""


def test_neither_compiler_is_imported_to_answer() -> None:
    assert in_a_process(NEEDLESS) == []


OBJECTS = """
import json, sys
from pathlib import Path
import numpy as np
from app.engine import compiled, compiling
compiling.LINKERS = ()
compiled.mark_by(compiling.numba)
from app.engine.arrays import distinct_columns
compiling._compile(Path(sys.argv[1]), ["app.engine.arrays.number_columns"])
objects = compiled.Library(Path(sys.argv[1]), "")
compiled.library = lambda: objects
print(json.dumps(distinct_columns(np.array([[8.0, 2.0, 8.0]]))[1].tolist()))
"""


def test_without_a_linker_object_files_are_loaded(tmp_path: Path) -> None:
    assert in_a_process(OBJECTS, str(tmp_path)) == [0, 1, 0]
    assert [path.suffix for path in tmp_path.iterdir()] == [".o"]


def test_a_user_without_a_home_has_the_folder_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert compiled.parents() == [Path(sys.prefix) / compiled.FOLDER]


def test_other_sources_have_another_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = sources_digest()
    engine = copytree(compiled.ENGINE, tmp_path / "engine")
    monkeypatch.setattr(compiled, "ENGINE", engine)
    found = [sources_digest()]
    assert found == [before]
    for change in (
        lambda: (engine / "gpu" / "step.py").open("a").close(),
        lambda: (engine / "gpu" / "step.py").write_text("pass\n"),
        lambda: (engine / "gpu" / "step.py").rename(engine / "gpu" / "stride.py"),
        lambda: (engine / "compiled.py").write_text("pass\n"),
    ):
        change()
        found.append(sources_digest())
    assert found[1] == before
    assert len(set(found)) == 4


def test_clearing_leaves_what_is_no_compilation(tmp_path: Path) -> None:
    for name in ("src", ".venv", "0" * 16):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1, 1))
    compiled.clear(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"src", ".venv"}
