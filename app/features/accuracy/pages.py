"""How well measured runs are predicted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query, Request
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


class AccuracyQuery:
    """Which runs the address asks for."""

    def __init__(
        self,
        family: Asked = "",
        chip: Asked = "",
        scale: Asked = "",
        errors: Asked = "",
        run: Asked = "",
        cursor: CursorQuery = None,
    ) -> None:
        self.choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
        self._run, self._cursor = run, cursor

    def start_in(self, runs: Sequence[str]) -> int:
        """Return where the stretch of the cursor begins, or the one with the run in it."""
        start = start_of(len(runs), self._cursor)
        if self._cursor is None and self._run in runs:
            start = runs.index(self._run) // RUNS * RUNS
        return start


QueryDep = Annotated[AccuracyQuery, Depends()]


def cursor_behind(start: int, count: int) -> str | None:
    """Return the cursor of the stretch that follows; None at the end."""
    return str(start + RUNS) if start + RUNS < count else None


@router.get(f"{ADDRESS}.json")
def show_accuracy_data(bench: BenchDep, query: QueryDep) -> AccuracyData:
    """Return predictions against measured runs."""
    found, report = dict(findings_of(query.choice, bench.sizing)), written("accuracy")
    runs = found["runs"]
    start = query.start_in([one.id for one in runs])
    found |= {"runs": runs[start : start + RUNS], "next": cursor_behind(start, len(runs))}
    return AccuracyData.model_construct(**found, title=report.title, sections=report.sections)


@router.get(ADDRESS, response_class=HTMLResponse)
def show_accuracy(request: Request, bench: BenchDep, query: QueryDep) -> Response:
    """Show predictions against measured runs."""
    speaker = voice_of(request)

    def made() -> AccuracyPage:
        found = findings_of(query.choice, bench.sizing)
        return accuracy_page(found, allowed(), bench.catalogue, speaker, report_url=REPORT)

    # Everything on it follows from the catalogue and what was chosen.
    kept = bench.pages.get((ADDRESS, query.choice, speaker.language), made)
    start = query.start_in([view.run.id for view in kept.runs])
    page = dataclasses.replace(
        kept,
        runs=kept.runs[start : start + RUNS],
        start=start,
        earlier=(str(start - RUNS) if start > RUNS else "") if start else None,
        later=cursor_behind(start, len(kept.runs)),
    )
    return render(request, "accuracy/accuracy.html", page, lasting=bench.pages)


@router.get(f"{REPORT}.json")
def show_report_data() -> WrittenDocument:
    return written("accuracy")


@router.get(REPORT, response_class=HTMLResponse)
def show_report(request: Request) -> Response:
    return page_of(request, "accuracy", REPORT)
