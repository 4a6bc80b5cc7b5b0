"""What differs between two versions of a study, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import duration, significant
from app.estimating.schema import Quantity
from app.features.studies.knobs import BESIDE, knob_at, plan_text
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
    "pipeline_bubble": Message("the pipeline bubble"),
    "pipeline_comm": Message("pipeline communication"),
    "data_comm": Message("data-parallel communication"),
    "exchange": Message("the on-chip exchange"),
    "sync": Message("synchronization"),
    "optimizer": Message("the optimizer step"),
    "input": Message("the input pipeline"),
    "fixed": Message("fixed time per step"),
    "checkpoint": Message("checkpoints"),
    "failures": Message("failures and restarts"),
    "evaluation": Message("evaluations"),
}
"""What a part is called inside a sentence."""

SHOWN = 5
"""Parts that are told in sentences; all of them are in the table."""

LEAST_SHARE = 0.01
"""Share of the difference below which a part is not told in a sentence."""


def parts_across(options: Sequence[StudyOptionAnswer]) -> list[PartAcross]:
    """Return the parts of the time to train over all options, the largest first."""
    columns = {option.key: _parts(option) for option in options if _parts(option)}
    totals = {key: sum(parts.values()) for key, parts in columns.items()}
    names = dict.fromkeys(name for parts in columns.values() for name in parts)
    found = []
    for name in names:
        seconds = {key: parts.get(name, 0.0) for key, parts in columns.items()}
        if not any(seconds.values()):
            continue
        share = {key: value / totals[key] for key, value in seconds.items()}
        found.append(PartAcross(part=name, seconds=seconds, share=share))
    return sorted(found, key=lambda row: -max(row.share.values()))


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
    mine, theirs = _parts(first), _parts(second)
    if not mine or not theirs:
        return []
    apart = {name: theirs.get(name, 0.0) - mine.get(name, 0.0) for name in {**mine, **theirs}}
    ordered = sorted((name for name in apart if apart[name]), key=lambda name: -abs(apart[name]))
    return [
        WhyPart(
            part=name,
            first=mine.get(name, 0.0),
            second=theirs.get(name, 0.0),
            difference=apart[name],
            text=Text.of(_part_sentence(name, apart[name], second.label)),
        )
        for name in ordered
    ]


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
    found = [Text.of(_times(first.time, second.time, names))]
    stated = [option.label for option in (first, second) if option.estimate is None]
    if stated and not differences:
        found.append(
            Text.of(Message("{options}: a stated figure without a breakdown", {"options": ", ".join(stated)}))
        )
    whole = sum(abs(part.difference) for part in differences) or 1.0
    found += [part.text for part in differences if abs(part.difference) >= LEAST_SHARE * whole][:SHOWN]
    if first.cost is not None and second.cost is not None:
        found.append(Text.of(_costs(first, second, names)))
    return found


def _times(one: Quantity, other: Quantity, names: dict[str, str]) -> Message:
    more = other.value - one.value
    if more == 0:
        return Message("{first} and {second} take equally long", names)
    template = (
        "{second} takes {ratio} times as long as {first}: {time} more"
        if more > 0
        else "{second} takes {ratio} times as long as {first}: {time} less"
    )
    ratio = significant(other.value / one.value)
    return Message(template, {**names, "ratio": ratio, "time": duration(abs(more))})


def _costs(first: StudyOptionAnswer, second: StudyOptionAnswer, names: dict[str, str]) -> Message:
    assert first.cost is not None and second.cost is not None
    assert first.time is not None and second.time is not None
    run = second.cost.value / first.cost.value if first.cost.value else 1.0
    time = second.time.value / first.time.value
    return Message(
        "the run costs {run} times as much on {second}: {hour} times the cost per hour, {time} "
        "times the hours",
        {**names, "run": significant(run), "hour": significant(run / time), "time": significant(time)},
    )


NOTHING, NONE = Message("the default"), Message("none")

LONGEST = 120
"""Characters of a value that a sentence shows; the value itself is kept whole."""


def changes_between(before: StudyContent, after: StudyContent) -> list[StudyChange]:
    """Return every field that differs, those all options share first."""
    old, new = tree_of(before), tree_of(after)
    found = [
        _change(name, None, old.get(name), new.get(name))
        for name in ("name", "customer", "owner", "tags", "notes", "baseline")
        if (old.get(name) or "") != (new.get(name) or "")
    ]
    limits = [{"limits": tree.get("limits", {})} for tree in (old, new)]
    found += _within(limits[0], limits[1], None)
    found += _within(old["base"], new["base"], None)
    views = (old.get("views", {}), new.get("views", {}))
    for view in {**views[0], **views[1]}:
        if views[0].get(view) != views[1].get(view):
            found.append(_view_changed(view, *(one.get(view) for one in views)))
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
        text = Message("options reordered: {order}", {"order": order})
        found.append(_made("options", None, None, list(olds), list(news), text))
    return found


def _within(old: Mapping[str, Any], new: Mapping[str, Any], key: str | None) -> Iterator[StudyChange]:
    """Give the fields of the base or of one option that differ."""
    plans = [tree.get("plan") or {} for tree in (old, new)]
    if plans[0] != plans[1]:
        yield _plan_changed(key, *plans)
    flat_old, flat_new = (
        dict(leaves({name: part for name, part in tree.items() if name != "plan"})) for tree in (old, new)
    )
    for path in {**flat_old, **flat_new}:
        before, after = flat_old.get(path), flat_new.get(path)
        if before != after and path != "key":
            yield _change(path, key, before, after)


USUAL = (1, "none", False)
"""Values of a plan that go without saying."""


def _plan_changed(key: str | None, old: Mapping[str, Any], new: Mapping[str, Any]) -> StudyChange:
    """Tell of the fields of a plan that differ, without those that divide or change nothing."""
    apart = [name for name in {**old, **new} if old.get(name) != new.get(name)]

    def said(plan: Mapping[str, Any]) -> str:
        differing = {name: plan[name] for name in apart if name in plan}
        telling = {name: value for name, value in differing.items() if value not in USUAL}
        return plan_text(telling or differing).replace(";", ", ")

    change = _change("plan", key, said(old), said(new))
    return change.model_copy(update={"before": plan_text(old), "after": plan_text(new)})


def _view_changed(view: str, before: JsonValue, after: JsonValue) -> StudyChange:
    text = Message("inputs of “{view}” changed", {"view": VIEWS.get(view, Message(view))})
    return _made(f"views.{view}", None, None, before, after, text)


def _whole(key: str, option: Mapping[str, Any], *, gone: bool) -> StudyChange:
    system = (option.get("system") or {}).get("id") or option.get("label") or key
    template = "option {option} removed: {system}" if gone else "option {option} added: {system}"
    text = Message(template, {"option": key, "system": system})
    before, after = (dict(option), None) if gone else (None, dict(option))
    return _made(f"options.{key}", key, f"{'drop' if gone else 'add'}.{key}", before, after, text)


def _change(path: str, key: str | None, before: JsonValue, after: JsonValue) -> StudyChange:
    values: dict[str, object] = {"fields": path, "before": _shown(path, before), "after": _shown(path, after)}
    template = "{fields}: {before} → {after}"
    if key is not None:
        template = "option {option}, {fields}: {before} → {after}"
        values["option"] = key
    return _made(path, key, knob_at(path, key), before, after, Message(template, values))


def _made(
    field: str, option: str | None, knob: str | None, before: JsonValue, after: JsonValue, text: Message
) -> StudyChange:
    told = Text.of(text)
    return StudyChange(
        field=field, option=option, knob=knob, before=before, after=after, message=told.message, text=told
    )


def _shown(path: str, value: JsonValue) -> object:
    if value is None or value == "":
        return NONE if path.startswith(BESIDE) else NOTHING
    if path == "limits.deadline_s" and isinstance(value, int | float):
        return duration(value)
    if isinstance(value, int | float):
        return value
    written = f"{len(value)}" if isinstance(value, list) else str(value)
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}…"
