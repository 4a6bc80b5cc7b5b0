"""Differences in time between options, and changes between versions of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import duration, significant
from app.estimating.schema import Quantity
from app.features.studies.knobs import ADD, BESIDE, DROP, knob_at, plan_text
from app.features.studies.model import (
    VIEWS,
    PartAcross,
    StudyChange,
    StudyContent,
    StudyOptionAnswer,
    Why,
    WhyPart,
    leaves,
    tree_of,
)

PARTS: Mapping[str, Message] = {
    "gemm": Message("matrix multiplication (GEMM)"),
    "attention": Message("attention"),
    "memory_bound": Message("memory-bound operators"),
    "tensor_comm": Message("tensor-parallel communication"),
    "expert_comm": Message("the exchange between experts"),
    "pipeline_bubble": Message("the pipeline bubble"),
    "pipeline_comm": Message("pipeline communication"),
    "data_comm": Message("data-parallel communication"),
    "host_comm": Message("transfers between device and host"),
    "exchange": Message("the on-chip exchange"),
    "sync": Message("synchronization"),
    "optimizer": Message("the optimizer step"),
    "input": Message("the input pipeline"),
    "fixed": Message("fixed time per step"),
    "checkpoint": Message("checkpoints"),
    "failures": Message("failures and restarts"),
    "evaluation": Message("evaluations"),
}
"""Names of parts inside a sentence."""

SHOWN = 5
"""Most parts that get a sentence; the table has all of them."""

LEAST_SHARE = 0.01
"""Share of the difference below which a part gets no sentence."""


def parts_across(options: Sequence[StudyOptionAnswer]) -> list[PartAcross]:
    """Return the parts of the time to train over all options, the largest first."""
    columns = {option.key: parts for option in options if (parts := _parts(option))}
    totals = {key: sum(parts.values()) for key, parts in columns.items()}
    rows = []
    for name in dict.fromkeys(name for parts in columns.values() for name in parts):
        seconds = {key: parts.get(name, 0.0) for key, parts in columns.items()}
        if not any(seconds.values()):
            continue
        share = {key: value / totals[key] for key, value in seconds.items()}
        rows.append(PartAcross(part=name, seconds=seconds, share=share))
    return sorted(rows, key=lambda row: -max(row.share.values()))


def _parts(option: StudyOptionAnswer) -> dict[str, float]:
    breakdown = option.estimate.breakdown if option.estimate else None
    return {part.part: part.seconds for part in breakdown or ()}


def explain(first: StudyOptionAnswer, second: StudyOptionAnswer) -> Why:
    parts = _differences(first, second)
    return Why(
        first=first.key,
        second=second.key,
        difference=None if not first.time or not second.time else second.time.value - first.time.value,
        parts=parts,
        sentences=_sentences(first, second, parts),
    )


def _differences(first: StudyOptionAnswer, second: StudyOptionAnswer) -> list[WhyPart]:
    first_parts, second_parts = _parts(first), _parts(second)
    if not first_parts or not second_parts:
        return []
    pairs = {
        name: (first_parts.get(name, 0.0), second_parts.get(name, 0.0))
        for name in {**first_parts, **second_parts}
    }
    differences = [
        WhyPart(
            part=name,
            first=own,
            second=other,
            difference=other - own,
            text=Text.of(_part_sentence(name, other - own, second.label)),
        )
        for name, (own, other) in pairs.items()
        if other - own
    ]
    return sorted(differences, key=lambda part: -abs(part.difference))


def _part_sentence(name: str, difference: float, label: str) -> Message:
    template = (
        "{option} spends {time} more on {part}" if difference > 0 else "{option} saves {time} on {part}"
    )
    part = PARTS.get(name, Message(name))
    return Message(template, {"option": label, "time": duration(abs(difference)), "part": part})


def _sentences(
    first: StudyOptionAnswer, second: StudyOptionAnswer, differences: Sequence[WhyPart]
) -> list[Text]:
    names = {"first": first.label, "second": second.label}
    for option, other in ((first, second), (second, first)):
        if option.time is None:
            message = Message(
                "{option} has no training time and cannot be compared with {other}",
                {"option": option.label, "other": other.label},
            )
            return [Text.of(message)]
    assert first.time is not None and second.time is not None
    sentences = [Text.of(_times(first.time, second.time, names))]
    stated = [option.label for option in (first, second) if option.estimate is None]
    if stated and not differences:
        message = Message("{options}: a stated figure without a breakdown", {"options": ", ".join(stated)})
        sentences.append(Text.of(message))
    total = sum(abs(part.difference) for part in differences)
    sentences += [part.text for part in differences if abs(part.difference) >= LEAST_SHARE * total][:SHOWN]
    if first.cost is not None and second.cost is not None:
        sentences.append(Text.of(_costs(first, second, names)))
    return sentences


def _times(first: Quantity, second: Quantity, names: dict[str, str]) -> Message:
    more = second.value - first.value
    if 1 / ALIKE < second.value / first.value < ALIKE:
        return Message("{first} and {second} train for about as long, start-up apart", names)
    template = (
        "{second} takes {ratio} times as long as {first}: {time} more"
        if more > 0
        else "{second} takes {ratio} times as long as {first}: {time} less"
    )
    ratio = significant(second.value / first.value)
    return Message(template, {**names, "ratio": ratio, "time": duration(abs(more))})


def _costs(first: StudyOptionAnswer, second: StudyOptionAnswer, names: dict[str, str]) -> Message:
    assert first.cost is not None and second.cost is not None
    assert first.time is not None and second.time is not None
    run = second.cost.value / first.cost.value if first.cost.value else 1.0
    time = second.time.value / first.time.value
    if 1 / ALIKE < run < ALIKE:
        return Message("the run costs about the same on both", names)
    if 1 / ALIKE < time < ALIKE:
        return Message(
            "the run costs {run} times as much on {second}, for about as many hours",
            {**names, "run": significant(run)},
        )
    return Message(
        "the run costs {run} times as much on {second}: {hour} times the cost per hour, {time} "
        "times the hours",
        {**names, "run": significant(run), "hour": significant(run / time), "time": significant(time)},
    )


ALIKE = 1.05
"""Factor from which two amounts are said to differ."""

NOTHING, NONE = Message("the default"), Message("none")

LONGEST = 120
"""Most characters of a value in a sentence."""


def changes_between(before: StudyContent, after: StudyContent) -> list[StudyChange]:
    """Return every field that differs, first those shared by all options."""
    old, new = tree_of(before), tree_of(after)
    changes = [
        _field_change(name, None, old.get(name), new.get(name))
        for name in ("name", "customer", "owner", "tags", "notes", "baseline")
        if (old.get(name) or "") != (new.get(name) or "")
    ]
    changes += _field_changes({"limits": old.get("limits", {})}, {"limits": new.get("limits", {})}, None)
    changes += _field_changes(old["base"], new["base"], None)
    old_views, new_views = old.get("views", {}), new.get("views", {})
    for view in {**old_views, **new_views}:
        if old_views.get(view) != new_views.get(view):
            text = Message("inputs of “{view}” changed", {"view": VIEWS.get(view, Message(view))})
            values = old_views.get(view), new_views.get(view)
            changes.append(_study_change(f"views.{view}", None, None, *values, text))
    olds = {option["key"]: option for option in old["options"]}
    news = {option["key"]: option for option in new["options"]}
    for key in {**olds, **news}:
        if key not in news:
            changes.append(_option_change(key, olds[key], removed=True))
        elif key not in olds:
            changes.append(_option_change(key, news[key], removed=False))
        else:
            changes += _field_changes(olds[key], news[key], key)
    if [key for key in olds if key in news] != [key for key in news if key in olds]:
        text = Message("options reordered: {order}", {"order": ", ".join(news)})
        changes.append(_study_change("options", None, None, list(olds), list(news), text))
    return changes


def _field_changes(old: Mapping[str, Any], new: Mapping[str, Any], key: str | None) -> Iterator[StudyChange]:
    """Yield the fields of the base or of one option that differ."""
    plans = [tree.get("plan") or {} for tree in (old, new)]
    if plans[0] != plans[1]:
        yield _plan_change(key, *plans)
    flat_old, flat_new = (
        dict(leaves({name: part for name, part in tree.items() if name != "plan"})) for tree in (old, new)
    )
    for path in {**flat_old, **flat_new}:
        before, after = flat_old.get(path), flat_new.get(path)
        if before != after and path != "key":
            yield _field_change(path, key, before, after)


NEUTRAL = (1, "none", False)
"""Values of a plan that need not be named."""


def _plan_change(key: str | None, old: Mapping[str, Any], new: Mapping[str, Any]) -> StudyChange:
    """Return the change of a plan, whose sentence leaves out equal and usual values."""
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]

    def written(plan: Mapping[str, Any]) -> str:
        values = {name: plan[name] for name in changed if name in plan}
        unusual = {name: value for name, value in values.items() if value not in NEUTRAL}
        return plan_text(unusual or values).replace(";", ", ")

    change = _field_change("plan", key, written(old), written(new))
    return change.model_copy(update={"before": plan_text(old), "after": plan_text(new)})


def _option_change(key: str, option: Mapping[str, Any], *, removed: bool) -> StudyChange:
    system = (option.get("system") or {}).get("id") or option.get("label") or key
    template = "option {option} removed: {system}" if removed else "option {option} added: {system}"
    text = Message(template, {"option": f"“{key}”", "system": system})
    before, after = (dict(option), None) if removed else (None, dict(option))
    knob = f"{DROP if removed else ADD}.{key}"
    return _study_change(f"options.{key}", key, knob, before, after, text)


def _field_change(path: str, key: str | None, before: JsonValue, after: JsonValue) -> StudyChange:
    values: dict[str, object] = {
        "fields": path,
        "before": _written(path, before),
        "after": _written(path, after),
    }
    template = "{fields}: {before} → {after}"
    if key is not None:
        template = "option {option}, {fields}: {before} → {after}"
        # Quotes keep a single letter from being read as a unit.
        values["option"] = f"“{key}”"
    return _study_change(path, key, knob_at(path, key), before, after, Message(template, values))


def _study_change(
    field: str, option: str | None, knob: str | None, before: JsonValue, after: JsonValue, message: Message
) -> StudyChange:
    text = Text.of(message)
    return StudyChange(
        field=field, option=option, knob=knob, before=before, after=after, message=text.message, text=text
    )


def _written(path: str, value: JsonValue) -> object:
    if value is None or value == "":
        return NONE if path.startswith(BESIDE) else NOTHING
    if path == "limits.deadline_s" and isinstance(value, int | float):
        return duration(value)
    if isinstance(value, int | float):
        return value
    written = f"{len(value)}" if isinstance(value, list) else str(value)
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}…"
