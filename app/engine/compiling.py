"""Compiling the kernels: numba makes machine code of each, a linker one library of all.

The code is made for every processor of a kind, so that a wheel holds it for whoever installs it and an
answer has the same digits everywhere. Where there is no linker the object files stay: llvmlite loads them.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, cast

import llvmlite.binding as llvm
import numba

from app.engine import compiled
from app.engine.compiled import AXES, LIBRARY, NAME, SEAL, Kernel, Library, parts, record, seal

LINKERS = ("ld", "ld.lld", "mold")
"""What makes a library of object files on Linux; the first that is there."""
STEPS = ("app.engine.gpu.", "app.engine.search.")
"""Where kernels are that contain the step of a plan on GPUs."""
SHOWN_SECONDS = 0.5
"""How often who waits sees how far it is. [s]"""
STUBS = """
declare void @abort()
define void @NRT_Free(i8* %a) { call void @abort() unreachable }
define void @NRT_MemInfo_call_dtor(i8* %a) { call void @abort() unreachable }
define i8* @numba_unpickle(i8* %a, i32 %b, i8* %c) { call void @abort() unreachable }
define i8* @numba_runtime_build_excinfo_struct(i8* %a, i8* %b) { call void @abort() unreachable }
define void @numba_do_raise(i8* %a) { call void @abort() unreachable }
define i32 @numba_gil_ensure() { call void @abort() unreachable }
define void @numba_gil_release(i32 %a) { call void @abort() unreachable }
"""
"""What compiled code refers to for errors and arrays of its own, of which kernels have none."""


def build(folder: Path) -> None:
    """Compile every kernel of the engine into a folder."""
    compiled.mark_by(numba)
    options: Any = {"error_model": "numpy", "forceinline": True}
    numba.extending.overload(record, jit_options=options, strict=False)(_record_read)
    package = importlib.import_module("app.engine")
    for module in pkgutil.walk_packages(package.__path__, "app.engine."):
        importlib.import_module(module.name)
    names = [*compiled.kernels()]
    with tempfile.TemporaryDirectory(prefix="draft-", dir=folder.parent) as text:
        draft = Path(text)
        for done in _objects(draft, names):
            # Who waits sees how far it is; a log has no use for it.
            if sys.stdout.isatty():
                print(f"\r{done} of {len(names)}", end="" if done < len(names) else "\n", flush=True)
        if _linked(draft):
            for path in draft.glob("*.o"):
                path.unlink()
        # What refers to something unknown is found here, not at somebody's first call.
        for name in names:
            Library(draft, "").address(compiled.kernels()[name].symbol)
        folder.mkdir(exist_ok=True)
        (folder / SEAL).unlink(missing_ok=True)
        for path in [*folder.iterdir()]:
            path.unlink()
        for path in draft.iterdir():
            path.replace(folder / path.name)
        seal(folder)
    compiled.clear(folder.parent)


def _objects(folder: Path, names: list[str]) -> Iterator[int]:
    """Compile kernels, side by side where a copy of this process can be had; give how many are done."""
    if sys.platform != "linux":
        for done, name in enumerate(names, 1):
            _compile(folder, [name])
            yield done
        return
    # What kernels share is compiled once in a process, and it is most of the work.
    shared = [name for name in names if name.startswith(STEPS)]
    groups = [shared, [name for name in names if name not in shared]]
    with ProcessPoolExecutor(len(groups), mp_context=multiprocessing.get_context("fork")) as pool:
        tasks = [pool.submit(_compile, folder, group) for group in groups]
        while wait(tasks, timeout=SHOWN_SECONDS).not_done:
            yield sum(1 for _ in folder.glob("*.o"))
        for task in tasks:
            task.result()
        yield len(names)


def _compile(folder: Path, names: list[str]) -> None:
    """Write the object files of kernels."""
    for name in names:
        made = compiled.kernels()[name]
        (folder / f"{made.symbol}.o").write_bytes(_machine_code(made))


def _linked(folder: Path) -> bool:
    """Make one library of the object files, if there is a linker."""
    linker = next(filter(None, map(shutil.which, LINKERS)), None) if sys.platform == "linux" else None
    if linker is None:
        return False
    # Without a library of mathematics by name: that of the interpreter serves, whichever it is.
    command = [linker, "-shared", "-z", "now", "--strip-all", "-o", str(folder / LIBRARY)]
    subprocess.run([*command, *map(str, sorted(folder.glob("*.o")))], check=True)
    return True


def _machine_code(made: Kernel) -> bytes:
    """Return the object file of a kernel that takes arrays as addresses and lengths."""
    types: Any = numba.types
    signature: list[Any] = []
    parameters: list[str] = []
    known: dict[str, Any] = {"carray": numba.carray}  # type: ignore[attr-defined]

    def argument(kind: Any) -> str:
        """Return how one argument is made of parameters, which are declared."""
        if not isinstance(kind, str):
            known[kind.__name__] = kind
            return f"{kind.__name__}({', '.join(argument(part) for part in parts(kind))})"
        if kind == NAME:
            return "0.0"
        name = f"a{len(parameters)}"
        parameters.append(name)
        if kind not in AXES:
            signature.append(types.float64 if kind == "float" else types.int64)
            return f"{name} != 0" if kind == "bool" else name
        lengths = [f"{name}_{axis}" for axis in range(AXES[kind])]
        parameters.extend(lengths)
        pointed = types.int64 if kind == "Places" else types.float64
        signature.extend([types.CPointer(pointed), *[types.int64] * AXES[kind]])
        return f"carray({name}, ({', '.join(lengths)},))"

    arguments = ", ".join(argument(kind) for kind in made.kinds)
    known["function"] = numba.njit(error_model="numpy")(made.function)
    exec(f"def call({', '.join(parameters)}):\n    function({arguments})\n", known)
    native = numba.cfunc(types.void(*signature), error_model="numpy")(known["call"])
    module = llvm.parse_assembly(native.inspect_llvm())
    module.link_in(llvm.parse_assembly(STUBS))
    module.get_function(native.native_name).name = made.symbol
    for value in itertools.chain(module.functions, module.global_variables):
        # Two kernels may hold functions of one name that differ.
        if not value.is_declaration and value.name != made.symbol:
            value.linkage = "internal"
    return _emitted(module)


def _emitted(module: Any) -> bytes:
    """Return the machine code of a module, for every processor of this kind, without what nobody calls."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3, reloc="pic", codemodel="default")
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.PipelineTuningOptions()))
    return cast(bytes, machine.emit_object(module))


def _record_read(kind: Any, rows: Any, row: Any, first: Any = 0) -> Callable[..., Any]:
    """Return :func:`record` for one kind of named tuple, written out number by number."""
    known: dict[str, Any] = {}
    places = itertools.count()

    def written(part: Any) -> str:
        if isinstance(part, str):
            return f"rows[row, first + {next(places)}]"
        known[part.__name__] = part
        return f"{part.__name__}({', '.join(map(written, parts(part)))})"

    exec(f"def read(kind, rows, row, first=0):\n    return {written(kind.instance_class)}\n", known)
    return cast("Callable[..., Any]", known["read"])


if __name__ == "__main__":
    # What stands in the folder is replaced.
    if len(sys.argv) != 2 or not compiled.is_compilation(Path(sys.argv[1])):
        sys.exit("A compilation is made by `python -m app.engine.compiled`.")
    build(Path(sys.argv[1]))
