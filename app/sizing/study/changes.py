"""What differs between two versions of a study, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from app.errors import Message
from app.sizing.document import Text
from app.sizing.study.documents import Change
from app.sizing.study.knobs import knob_at
from app.sizing.study.request import StudyContent, tree_of

NOTHING = Message("the default")
LONGEST = 120
"""Characters of a value that a sentence shows; the value itself is kept whole."""


def changes_between(before: StudyContent, after: StudyContent) -> list[Change]:
    """Return every field that differs, those all options share first."""
    old, new = tree_of(before), tree_of(after)
    found = [
        _change(name, None, old.get(name), new.get(name))
        for name in ("name", "notes")
        if old.get(name, "") != new.get(name, "")
    ]
    found += _within(old["base"], new["base"], None)
    olds = {option["key"]: option for option in old["options"]}
    news = {option["key"]: option for option in new["options"]}
    for key in [*olds, *(key for key in news if key not in olds)]:
        if key not in news:
            found.append(_whole(key, olds[key], gone=True))
        elif key not in olds:
            found.append(_whole(key, news[key], gone=False))
        else:
            found += _within(olds[key], news[key], key)
    if [key for key in olds if key in news] != [key for key in news if key in olds]:
        order = ", ".join(news)
        text = Message("options in the order {order}", {"order": order})
        found.append(_made("options", None, None, list(olds), list(news), text))
    return found


def _within(old: Mapping[str, Any], new: Mapping[str, Any], key: str | None) -> Iterator[Change]:
    flat_old, flat_new = dict(_leaves(old)), dict(_leaves(new))
    for path in [*flat_old, *(path for path in flat_new if path not in flat_old)]:
        before, after = flat_old.get(path), flat_new.get(path)
        if before != after and path != "key":
            yield _change(path, key, before, after)


def _leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Return dotted paths and values; models of the customer's own are one value each."""
    for name, value in tree.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and path not in {"model.config", "model.transformer"}:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _whole(key: str, option: Mapping[str, Any], *, gone: bool) -> Change:
    system = (option.get("system") or {}).get("id") or option.get("label") or key
    template = "option {option} left out: {system}" if gone else "option {option} added: {system}"
    text = Message(template, {"option": key, "system": system})
    before, after = (dict(option), None) if gone else (None, dict(option))
    knob = f"drop.{key}" if gone else f"add.{key}"
    return _made(f"options.{key}", key, knob, before, after, text)


def _change(path: str, key: str | None, before: JsonValue, after: JsonValue) -> Change:
    values: dict[str, object] = {"fields": path, "before": _shown(before), "after": _shown(after)}
    template = "{fields}: {before} → {after}"
    if key is not None:
        template = "option {option}, {fields}: {before} → {after}"
        values["option"] = key
    return _made(path, key, knob_at(path, key), before, after, Message(template, values))


def _made(
    field: str, option: str | None, knob: str | None, before: JsonValue, after: JsonValue, text: Message
) -> Change:
    return Change(
        field=field,
        option=option,
        knob=knob,
        before=before,
        after=after,
        message=str(text),
        text=Text.of(text),
    )


def _shown(value: JsonValue) -> object:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, int | float):
        return value
    written = str(value) if not isinstance(value, list) else f"{len(value)}"
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}…"
