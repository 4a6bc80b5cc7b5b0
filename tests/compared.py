"""Comparisons of the ready-made studies, for tests of what is made of a comparison."""

from __future__ import annotations

from typing import Any

from app.features.start.examples import EXAMPLES
from app.platform.wording.voice import voice

LABELS = {
    "dgx-a100-640gb": "DGX A100 640GB",
    "ipu-pod16": "IPU-POD16",
    "bow-pod16": "Bow Pod16",
    "ipu-pod256": "IPU-POD256",
}


def comparison_of(identifier: str, language: str = "en") -> dict[str, Any]:
    """Return the request of a comparison of an example's options."""
    example, base, options = EXAMPLES[identifier]
    return {
        "title": voice(language).gettext(example.title),
        "locale": language,
        "currency": "KRW" if language == "ko" else "USD",
        "rows": [_row(base, option) for option in options],
    }


def _row(base: dict[str, Any], option: dict[str, Any]) -> dict[str, Any]:
    if figure := option.get("figure"):
        scaled = {"scaled_from": "1 × DGX A100"} if "scaled_from" in figure else {}
        return {"label": option["label"], **figure, **scaled}
    system = option["system"]
    name, count = LABELS[system["id"]], system.get("count", 1)
    return {**base, "label": name if count == 1 else f"{count} × {name}", "system": system}
