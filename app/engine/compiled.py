"""Formulas as machine code: compiled once, every process after only loads what was made.

A formula is one Python function of plain numbers. :func:`formula` lets it broadcast over arrays,
:func:`inner` marks what else runs inside compiled loops, and :func:`kernel` the loops that Python calls.
``python -m app.engine.compiled`` compiles all kernels (:mod:`~app.engine.compiling`) into one library beside
the environment, named after the sources and the kind of processor; a wheel brings it along. Neither numba nor
llvmlite is imported to load it. A library whose SHA-256 is not that of its seal is not loaded. Where nothing
can be compiled the same functions run interpreted, some hundred times slower, and :func:`state` says so.

A kernel takes arrays and numbers (:data:`Vector`, :data:`Matrix`, :data:`Places`, ``float``, ``int``,
``bool``) and named tuples of these, writes into arrays it is given and returns nothing; neither it nor what
it calls may make arrays or raise. :func:`record` reads a named tuple from a row of a matrix.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ForwardRef, Protocol, TypeAlias, TypeVar, cast, overload

import cffi
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Record = TypeVar("Record", bound=tuple[Any, ...])


class Formula(Protocol):
    """A formula of plain numbers that broadcasts over arrays."""

    __name__: str

    @overload
    def __call__(self, *values: float) -> float: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, *values: float | NDArray[np.float64]) -> NDArray[np.float64]: ...


Vector: TypeAlias = NDArray[np.float64]
"""Numbers along one axis."""
Matrix: TypeAlias = NDArray[np.float64]
"""Numbers along two axes."""
Places: TypeAlias = NDArray[np.int64]
"""Whole numbers along one axis."""

IMPORTS = re.compile(r"^from (app\.engine[\w.]*) import", re.MULTILINE)
AXES = {"Vector": 1, "Matrix": 2, "Places": 1}
NAME = "str"
"""Kind of a field that stays with Python: compiled code, which reads no text, gets 0 in its place."""
C_TYPES = {"float": "double", "int": "int64_t", "bool": "int64_t", **dict.fromkeys(AXES, "void *")}
ENGINE = Path(__file__).parent
FOLDER = "rackline-engine"
DIGEST = r"[0-9a-f]{16}|draft-.*"
"""Names of folders of compilations, and of those that are being made."""
PACKAGED = ENGINE / FOLDER
"""Where a wheel has the compiled kernels."""
ERRORS = 2
"""The file descriptor of standard error."""
SWITCH = "RACKLINE_COMPILED"
"""Environment variable; ``0`` runs everything interpreted."""
KEPT = 8
"""Compilations of other sources that are kept, the newest; each takes a megabyte."""
TIMEOUT = 1800.0
"""Seconds after which a compilation is given up. [s]"""
LIBRARY = "kernels.so"
SEAL = "seal.json"
"""SHA-256 of every file of a compilation, written last: a folder without it is not whole."""

_kernels: dict[str, Kernel] = {}
_building: Any = None
_loading = threading.RLock()
"""Held while anything is compiled or loaded: code goes with its library, of which there must be one."""


def mark_by(compiler: Any) -> None:
    """Let marks compile from here on, for whoever compiles the kernels."""
    global _building
    _building = compiler


def kernels() -> Mapping[str, Kernel]:
    """Return the kernels of every module imported so far, by name."""
    return _kernels


def inner(function: Function) -> Function:
    """Mark a function that runs inside kernels."""
    if _building is None:
        return function
    compiled: Function = _building.njit(error_model="numpy", forceinline=True)(function)
    return compiled


def called(function: Function) -> Function:
    """Mark a function that kernels call rather than take in: a long one that stands in many places."""
    if _building is None:
        return function
    compiled: Function = _building.njit(error_model="numpy")(function)
    return compiled


def formula(function: Callable[..., float]) -> Formula:
    """Mark a function of plain numbers; called from Python it broadcasts over arrays."""
    if _building is not None:
        return cast(Formula, inner(function))
    many = np.vectorize(function, otypes=[float])

    @functools.wraps(function)
    def broadcast(*values: Any) -> Any:
        for value in values:
            if isinstance(value, np.ndarray) and value.ndim:
                return many(*values)
        return function(*values)

    return cast(Formula, broadcast)


def record(kind: type[Record], rows: Matrix, row: int, first: int = 0) -> Record:
    """Return the named tuple whose numbers, with those of tuples in it, stand in a row from a column on."""
    return cast(Record, _filled(kind, iter(rows[row, first:])))


def _filled(kind: Any, values: Iterator[float]) -> Any:
    return kind(*(next(values) if isinstance(part, str) else _filled(part, values) for part in parts(kind)))


def flat(values: tuple[Any, ...]) -> list[float]:
    """Return the numbers of a named tuple, with those of tuples in it, as they stand in a row."""
    return [
        number for value in values for number in (flat(value) if isinstance(value, tuple) else [float(value)])
    ]


def parts(kind: Any) -> list[Any]:
    """Return the kinds of a named tuple's fields: names of arrays and numbers, or named tuples."""
    known = vars(sys.modules[kind.__module__])
    return [_kind(text, known) for text in kind.__annotations__.values()]


def _kind(annotation: Any, known: Mapping[str, Any]) -> Any:
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    return text if text in C_TYPES or text == NAME else known[text]


def kernel(function: Callable[..., None]) -> Kernel:
    """Mark a loop that Python calls."""
    made = Kernel(function)
    _kernels[made.name] = made
    return made


class Kernel:
    """A loop over plans or samples, compiled where that is possible."""

    def __init__(self, function: Callable[..., None]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = f"{function.__module__}.{function.__name__}"
        self.symbol = self.name.replace(".", "_")
        self._call: Callable[..., None] | None = None

    @functools.cached_property
    def kinds(self) -> list[Any]:
        """Kinds of its parameters: names of arrays and numbers, or named tuples of them."""
        names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        return [_kind(self.function.__annotations__[name], self.function.__globals__) for name in names]

    def __call__(self, *values: Any) -> None:
        """Run it."""
        call = self._call
        if call is None:
            with _loading:
                call = self._call = self._call or self._loaded()
        call(*values)

    def _loaded(self) -> Callable[..., None]:
        address = library().address(self.symbol)
        if address is None:
            return self._interpreted
        argument_types, arguments = [], []
        prepared: list[str] = []
        for name, kind in _leaves(self.kinds):
            argument_types.append(C_TYPES[kind])
            if kind not in AXES:
                arguments.append(name)
                continue
            argument_types += ["int64_t"] * AXES[kind]
            array = f"v{len(prepared)}"
            prepared.append(f"    {array} = checked({name}, {AXES[kind]}, {kind == 'Places'})\n")
            arguments += [f"buffer({array})", f"*{array}.shape"]
        interface = cffi.FFI()
        native = interface.cast(f"void (*)({', '.join(argument_types)})", address)
        known = {"native": native, "buffer": interface.from_buffer, "checked": self._checked}
        # Written out argument by argument: a loop over those of a case takes as long as a kernel.
        names = ", ".join(f"a{place}" for place in range(len(self.kinds)))
        exec(f"def call({names}):\n{''.join(prepared)}    native({', '.join(arguments)})\n", known)
        return cast("Callable[..., None]", known["call"])

    def _checked(self, value: NDArray[Any], axes: int, whole: bool) -> NDArray[Any]:
        if value.dtype != (np.int64 if whole else np.float64) or not value.flags.c_contiguous:
            raise TypeError(f"{self.name}: {value.dtype} array of shape {value.shape} in its way")
        if value.ndim != axes:
            raise TypeError(f"{self.name}: {value.ndim} axes where {axes} are meant")
        return value

    def _interpreted(self, *values: Any) -> None:
        # The processor's arithmetic: a quotient by zero is infinite, and nobody is warned.
        with np.errstate(all="ignore"):
            self.function(*values)


def _leaves(kinds: Iterable[Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Give where arrays and numbers are in parameters, and their kinds, those in named tuples included."""
    for place, kind in enumerate(kinds):
        name = f"{within}[{place}]" if within else f"a{place}"
        if not isinstance(kind, str):
            yield from _leaves(parts(kind), name)
        elif kind != NAME:
            yield name, kind


class Library:
    """The compiled kernels of these sources, as far as there are any."""

    def __init__(self, folder: Path | None, why_not: str) -> None:
        self.folder = folder
        self.why_not = why_not
        self._objects: list[Any] = []

    @functools.cached_property
    def _linked(self) -> ctypes.CDLL | None:
        assert self.folder is not None
        path = self.folder / LIBRARY
        return ctypes.CDLL(str(path)) if path.exists() else None

    @functools.cached_property
    def _linker(self) -> Any:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.create_lljit_compiler()

    def address(self, symbol: str) -> int | None:
        """Return where a kernel lies in memory; None where it runs interpreted."""
        if self.folder is None:
            return None
        if self._linked is not None:
            return ctypes.cast(self._linked[symbol], ctypes.c_void_p).value
        import llvmlite.binding as llvm

        code = (self.folder / f"{symbol}.o").read_bytes()
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        loaded = builder.export_symbol(symbol).link(self._linker, symbol)
        self._objects.append(loaded)
        return int(loaded[symbol])


def seal(folder: Path) -> None:
    """Write down what each file of a compilation must be."""
    text = json.dumps(_hashes(folder), indent=1)
    (folder / SEAL).write_text(text, encoding="ascii")


def is_whole(folder: Path) -> bool:
    """Return whether a compilation is what its seal says: every file there, none changed."""
    try:
        expected = json.loads((folder / SEAL).read_text(encoding="ascii"))
        return bool(expected) and _hashes(folder) == expected
    except (OSError, ValueError):
        return False


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.name != SEAL)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def library() -> Library:
    """Return the compiled kernels, made now where they are missing."""
    with _loading:
        return _library()


@functools.cache
def _library() -> Library:
    if os.environ.get(SWITCH) == "0":
        return Library(None, f"{SWITCH}=0")
    digest = sources_digest()
    for parent in (PACKAGED, *parents()):
        if is_whole(parent / digest):
            return Library(parent / digest, "")
    if importlib.util.find_spec("numba") is None:
        return Library(None, "the compiled engine is missing or damaged; install Rackline again")
    place = next((parent for parent in parents() if writable(parent)), None)
    if place is None:
        return Library(None, "no folder for compiled code may be written")
    say("Compiling the engine, once for these sources (about a minute)")
    started = time.monotonic()
    command = [sys.executable, "-m", "app.engine.compiling", str(place / digest)]
    environment = {**os.environ, "PYTHONPATH": str(ENGINE.parents[1])}
    try:
        done = subprocess.run(
            command,
            check=False,
            # How far it is belongs beside what a command prints, not into it.
            stdout=ERRORS,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Library(None, f"compiling failed: {error}")
    if not is_whole(place / digest):
        return Library(None, f"compiling failed: {done.stderr.strip()[-500:]}")
    say(f"Compiled in {time.monotonic() - started:.0f} s")
    return Library(place / digest, "")


def state() -> str:
    """Return why formulas run interpreted; nothing where they are compiled."""
    return library().why_not


def make_ready() -> None:
    """See to it that everything is compiled, and tell whoever waits where it runs interpreted."""
    if state():
        say(f"Formulas run interpreted, some hundred times slower: {state()}")


def say(text: str) -> None:
    """Tell who waits, beside what a command prints."""
    print(text, file=sys.stderr, flush=True)


def parents() -> list[Path]:
    """Return the folders in which compiled code may lie: beside the environment, else the user's own."""
    found = [Path(sys.prefix) / FOLDER]
    # Not every user has a home.
    with contextlib.suppress(RuntimeError):
        found.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / FOLDER)
    return found


def writable(folder: Path) -> bool:
    """Return whether files may be made in a folder, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def sources_digest() -> str:
    """Return what tells apart sources and kinds of processor."""
    digest = hashlib.sha256(f"{sys.platform} {platform.machine()}".encode())
    for path, text in sorted(compiled_sources().items()):
        digest.update(path.relative_to(ENGINE.parent).as_posix().encode())
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def compiled_sources() -> dict[Path, str]:
    """Return the sources of compiled code: the engine's kernels and what they import, this one too."""
    texts = {path: path.read_text(encoding="utf-8") for path in ENGINE.rglob("*.py")}
    found: dict[Path, str] = {}
    waiting = [path for path, text in texts.items() if "from app.engine.compiled import" in text]
    while waiting:
        path = waiting.pop()
        if path in found or path not in texts:
            continue
        found[path] = texts[path]
        for module in IMPORTS.findall(texts[path]):
            place = ENGINE.parent.joinpath(*module.split(".")[1:])
            waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


def is_compilation(folder: Path) -> bool:
    """Return whether a folder bears the name of a compilation, a digest or that of its draft."""
    return re.fullmatch(DIGEST, folder.name) is not None


def clear(parent: Path) -> None:
    """Remove compilations of sources long gone, and what those that were killed have left."""
    whole = [path for path in parent.glob(f"*/{SEAL}") if is_compilation(path.parent)]
    whole.sort(key=lambda path: path.stat().st_mtime)
    for path in whole[:-KEPT]:
        # First what says that it is whole: a removal that is killed leaves nothing that is taken for it.
        path.unlink(missing_ok=True)
        shutil.rmtree(path.parent, ignore_errors=True)
    # What lies beside them and is nobody's compilation stays.
    for path in filter(is_compilation, parent.iterdir()):
        with contextlib.suppress(FileNotFoundError):
            age = time.time() - path.stat().st_mtime
            if age > TIMEOUT and not (path / SEAL).exists():
                shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    # Under its own name, so that the engine's modules register their kernels here.
    importlib.import_module("app.engine.compiled").make_ready()
