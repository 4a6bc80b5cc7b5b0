"""How well measured runs are predicted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response

from app.features.accuracy.service import AccuracyFindings, allowed, choice_of, findings_of
from app.features.accuracy.views import AccuracyPage, accuracy_page
from app.platform.listing import start_of
from app.platform.web.deps import BenchDep, CursorQuery
from app.platform.web.documents import WrittenDocument, page_of, written
from app.platform.web.locale import voice_of
from app.platform.web.rendering import render
from app.platform.web.rights import page_router

router = page_router()

ADDRESS = "/accuracy"

REPORT = f"{ADDRESS}/report"

Asked = Annotated[str, Query(max_length=100)]

RUNS = 100
"""Runs of one stretch of their list."""


class AccuracyData(AccuracyFindings, WrittenDocument):
    """How well measured runs are predicted, a hundred of them listed; title and sections are the report."""

    next: str | None
    """Cursor of the runs that follow; null at the end."""


@router.get(f"{ADDRESS}.json")
def show_accuracy_data(
    bench: BenchDep,
    family: Asked = "",
    chip: Asked = "",
    scale: Asked = "",
    errors: Asked = "",
    run: Asked = "",
    cursor: CursorQuery = None,
) -> AccuracyData:
    """Return predictions against measured runs."""
    choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
    found, report = dict(findings_of(choice, bench.sizing)), written("accuracy")
    start, later = stretch_of([one.id for one in found["runs"]], run, cursor)
    found["runs"] = found["runs"][start : start + RUNS]
    return AccuracyData.model_construct(**found, next=later, title=report.title, sections=report.sections)


def stretch_of(runs: Sequence[str], run: str, cursor: str | None) -> tuple[int, str | None]:
    """Return where the stretch of a cursor begins, or the one with a run in it, and the next cursor."""
    start = start_of(len(runs), cursor)
    if cursor is None and run in runs:
        start = runs.index(run) // RUNS * RUNS
    return start, str(start + RUNS) if start + RUNS < len(runs) else None


@router.get(ADDRESS, response_class=HTMLResponse)
def show_accuracy(
    request: Request,
    bench: BenchDep,
    family: Asked = "",
    chip: Asked = "",
    scale: Asked = "",
    errors: Asked = "",
    run: Asked = "",
    cursor: CursorQuery = None,
) -> Response:
    """Show predictions against measured runs."""
    choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
    speaker = voice_of(request)

    def made() -> AccuracyPage:
        found = findings_of(choice, bench.sizing)
        return accuracy_page(found, allowed(), bench.catalogue, speaker, report_url=REPORT)

    # Everything on it follows from the catalogue and what was chosen.
    kept = bench.pages.get((ADDRESS, choice, speaker.language), made)
    start, later = stretch_of([view.run.id for view in kept.runs], run, cursor)
    page = dataclasses.replace(
        kept,
        runs=kept.runs[start : start + RUNS],
        start=start,
        earlier=(str(start - RUNS) if start > RUNS else "") if start else None,
        later=later,
    )
    return render(request, "accuracy/accuracy.html", page, lasting=bench.pages)


@router.get(f"{REPORT}.json")
def show_report_data() -> WrittenDocument:
    """Return the written report."""
    return written("accuracy")


@router.get(REPORT, response_class=HTMLResponse)
def show_report(request: Request) -> Response:
    """Show the written report."""
    return page_of(request, "accuracy", REPORT)
