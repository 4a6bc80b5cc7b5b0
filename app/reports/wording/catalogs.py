"""The gettext catalogues of ``data/locale``, read from their .po files when first needed.

The .po file is the only form that is kept: a compiled copy beside it could disagree with it.
"""

from __future__ import annotations

import functools
import gettext
import importlib.util
import io
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LOCALE_FOLDER = "data/locale"


def folder() -> Path:
    """Return the folder of the catalogues: in the repository, or inside the installed package."""
    found = importlib.util.find_spec("app")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = package / "_bundled" / LOCALE_FOLDER
    return bundled if bundled.is_dir() else package.parent / LOCALE_FOLDER


@functools.cache
def translations(language: str) -> gettext.NullTranslations:
    """Return the catalogue of one language; the keys themselves where there is none."""
    path = folder() / language / "LC_MESSAGES" / "messages.po"
    if not path.is_file():
        return gettext.NullTranslations()
    with path.open("rb") as file:
        catalog = read_po(file, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
