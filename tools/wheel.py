"""What a wheel holds beside the sources: the compiled kernels of the platform it is built on."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface[Any]):
    """Puts the library of kernels into the wheel, compiled now where it is missing."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or sys.platform != "linux":
            # Where nothing links them, kernels are compiled by whoever installs the extra `compile`.
            return
        sys.path.insert(0, self.root)
        from app.engine.compiled import FOLDER, LIBRARY, library

        found = library()
        if found.folder is None or not (found.folder / LIBRARY).exists():
            why = found.why_not or "no linker was found: install binutils"
            raise RuntimeError(f"The wheel needs the compiled engine; {why}.")
        place = Path("rackline", "app", "engine", FOLDER, found.folder.name)
        build_data["force_include"][str(found.folder)] = str(place)
        build_data["pure_python"] = False
        # It calls mathematics and nothing else, by names that glibc has had since 2.17.
        build_data["tag"] = f"py3-none-manylinux_2_17_{platform.machine()}"
