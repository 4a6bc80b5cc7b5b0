"""From a study to what its options ask: one estimate request or stated figure per option."""

from __future__ import annotations

from app.catalog import Catalog
from app.errors import BadInput, NotFound, Unprocessable
from app.sizing.hardware import known_id
from app.sizing.questions import PublishedFigure
from app.sizing.request import EstimateRequest
from app.sizing.study.request import StatedFigure, StudyContent, StudyOption, merged, stated


def check(content: StudyContent, catalog: Catalog) -> None:
    """Refuse what contradicts itself before anything is estimated."""
    keys = [option.key for option in content.options]
    for place, option in enumerate(content.options):
        here = f"options.{place}"
        if option.key in keys[:place]:
            raise BadInput.at(
                f"{here}.key", "two options have the key “{key}”; give each its own", key=option.key
            )
        if (option.system is None) == (option.figure is None):
            raise Unprocessable.at(
                here, "give either a system to estimate or a figure somebody states, exactly one of them"
            )
        if option.system is not None:
            known_id(catalog, "system", option.system.id, f"{here}.system.id")
        if option.figure is not None:
            _check_figure(option.figure, option, keys, here, catalog)
    labels = [option.label for option in content.options if option.label]
    for label in labels:
        if labels.count(label) > 1:
            raise BadInput.at(
                "options", "two options are called “{label}”; give each its own label", label=label
            )


def _check_figure(
    figure: StatedFigure, option: StudyOption, keys: list[str], here: str, catalog: Catalog
) -> None:
    parts = (option.workload, option.plan, option.assumptions)
    if option.software is not None or any(part.model_dump() != type(part)().model_dump() for part in parts):
        raise BadInput.at(here, "a stated figure takes no workload, plan, software or assumptions")
    if figure.system is not None:
        known_id(catalog, "system", figure.system, f"{here}.figure.system")
    if figure.scaled_from is not None and figure.scaled_from not in keys:
        raise NotFound.named("option", figure.scaled_from, keys, f"{here}.figure.scaled_from")
    if figure.kind == "linear" and figure.scaled_from is not None:
        if figure.factor is None:
            raise Unprocessable.at(f"{here}.figure.factor", "a figure scaled from another needs its factor")
    elif figure.hours is None:
        raise Unprocessable.at(
            f"{here}.figure.hours", "a figure that is not scaled from an option needs its hours"
        )


def request_of(content: StudyContent, option: StudyOption) -> EstimateRequest | PublishedFigure:
    """Return what one option asks."""
    if option.figure is not None:
        figure = option.figure
        return PublishedFigure(
            label=option.key,
            hours=figure.hours,
            kind=figure.kind,
            scaled_from=figure.scaled_from,
            factor=figure.factor,
            system=figure.system,
        )
    base = content.base
    asked = {
        "model": stated(base.model),
        "workload": merged(base.workload, option.workload),
        "system": stated(option.system) if option.system else {},
        "plan": stated(option.plan),
        "assumptions": merged(base.assumptions, option.assumptions),
        "software": option.software or base.software,
        "currency": base.currency,
    }
    return EstimateRequest.model_validate({name: part for name, part in asked.items() if part is not None})


def labels_of(content: StudyContent, catalog: Catalog) -> dict[str, str]:
    """Return the name of each option by its key; those without one are named after count and system."""
    found: dict[str, str] = {}
    stated = {option.label for option in content.options if option.label}
    for option in content.options:
        name = option.label or _made(option, catalog)
        if option.label is None and (name in found.values() or name in stated):
            name = f"{name} ({option.key})"
        found[option.key] = name
    return found


def _made(option: StudyOption, catalog: Catalog) -> str:
    if option.system is not None:
        return f"{option.system.count} × {catalog.items[option.system.id].name}"
    figure = option.figure
    if figure is not None and figure.system is not None:
        return catalog.items[figure.system].name
    return option.key
