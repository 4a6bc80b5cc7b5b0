"""Comparisons shown as unsaved studies, their rows as options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import QueryParams

from app.estimating.request import EstimateRequest, Schema
from app.features.comparisons.model import PublishedFigure
from app.features.comparisons.service import AskedRows, get_rows
from app.features.studies.model import Study, StudyContent, free_keys, stated
from app.features.studies.pages import show_study
from app.features.studies.service import NAME_LENGTH, unsaved_study
from app.platform.rates import CostClass
from app.platform.web.deps import QueryDep, WorkspaceDep
from app.platform.web.requirements import requires
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()

RENAMED = {"term_years": "years"}
"""Query parameter of a comparison → knob of a study."""


def study_of_rows(comparison: AskedRows) -> StudyContent:
    """Return the study of a comparison; fields that all estimates share are its base."""
    estimates = [request for request in comparison.rows.values() if isinstance(request, EstimateRequest)]
    workload, assumptions = (
        shared([getattr(request, part) for request in estimates]) for part in ("workload", "assumptions")
    )
    model = stated(estimates[0].model) if estimates else {}
    software = {request.software for request in estimates}
    base: dict[str, Any] = {"model": model, "workload": workload, "assumptions": assumptions}
    base["currency"] = comparison.currency
    if len(software) == 1:
        base["software"] = software.pop()
    keys = dict(zip(comparison.rows, free_keys(set()), strict=False))
    options = []
    for label, request in comparison.rows.items():
        option: dict[str, Any] = {"key": keys[label], "label": label}
        if isinstance(request, PublishedFigure):
            figure = {name: value for name, value in stated(request).items() if name != "label"}
            if request.scaled_from is not None:
                figure["scaled_from"] = keys[request.scaled_from]
            options.append({**option, "figure": figure})
            continue
        option |= {"system": stated(request.system), "plan": stated(request.plan)}
        option["workload"] = without(request.workload, workload)
        option["assumptions"] = without(request.assumptions, assumptions)
        if stated(request.model) != model:
            option["model"] = stated(request.model)
        if "software" not in base and request.software:
            option["software"] = request.software
        options.append(option)
    content = {"name": comparison.title[:NAME_LENGTH], "base": base, "options": options}
    content["limits"] = comparison.limits.model_dump(exclude_none=True)
    return StudyContent.model_validate(content)


def shared(parts: Iterable[Schema]) -> dict[str, Any]:
    """Return the fields that are equal in all parts of requests."""
    first, *others = [stated(part) for part in parts] or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def without(part: Schema, known: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stated(part).items() if name not in known}


def study_of_comparison(workspace: Workspace, identifier: str) -> Study:
    """Return the unsaved study of a comparison, which is a new one after its rows have changed."""
    content = study_of_rows(get_rows(workspace, identifier))
    return unsaved_study(workspace, f"/comparisons/{identifier}", content)


@router.get("/comparisons/{identifier}", response_class=HTMLResponse)
@requires(cost=CostClass.SEARCH)
def show_comparison(request: Request, workspace: WorkspaceDep, identifier: str, query: QueryDep) -> Response:
    """Show a comparison as its study; knobs in the address redirect to the study."""
    study = study_of_comparison(workspace, identifier)
    knobs = [(RENAMED.get(name, name), value) for name, value in query.multi_items()]
    return show_study(request, workspace, study.id, QueryParams(knobs))
