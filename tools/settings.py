"""The table of settings in docs/operations.md."""

from __future__ import annotations

import re

from pydantic import SecretStr

from app.estimating.schema import field_texts
from app.settings import SECRETS, VARIABLES, Settings
from tools.markdown import table


def settings_table() -> str:
    """Return every setting with its default and its meaning."""
    rows = []
    texts = field_texts(Settings)
    for name, field in VARIABLES.items():
        info = Settings.model_fields[field]
        hidden = info.is_required() or not info.default or isinstance(info.default, SecretStr)
        default = "" if hidden else f"`{info.default}`"
        meaning = re.sub(r":\w+:(`[^`]+`)", r"\1", " ".join(texts[field].split()))
        if name in SECRETS:
            meaning += f" As a file: `{name}_FILE`."
        rows.append((f"`{name}`", default, meaning))
    return table(("variable", "default", "meaning"), rows)
