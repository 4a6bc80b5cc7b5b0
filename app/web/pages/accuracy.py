"""How well measured runs are predicted."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response

from app.services.accuracy import AccuracyFindings, allowed, choice_of, findings_of
from app.web.accuracy_contexts import AccuracyPage
from app.web.deps import BenchDep
from app.web.locale import voice_of
from app.web.pages.accuracy_view import accuracy_page
from app.web.pages.documents import WrittenDocument, available, page_of, written
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

ADDRESS = "/accuracy"
REPORT = f"{ADDRESS}/report"

Asked = Annotated[str, Query(max_length=100)]


class AccuracyData(AccuracyFindings, WrittenDocument):
    """How well measured runs are predicted; title and sections are the written report."""


@router.get(f"{ADDRESS}.json")
def show_accuracy_data(
    bench: BenchDep, family: Asked = "", chip: Asked = "", scale: Asked = "", errors: Asked = ""
) -> AccuracyData:
    """Return predictions against measured runs."""
    choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
    findings, report = findings_of(choice, bench.sizing), written("accuracy")
    return AccuracyData.model_construct(**dict(findings), title=report.title, sections=report.sections)


@router.get(ADDRESS, response_class=HTMLResponse)
def show_accuracy(
    request: Request,
    bench: BenchDep,
    family: Asked = "",
    chip: Asked = "",
    scale: Asked = "",
    errors: Asked = "",
) -> Response:
    """Show predictions against measured runs."""
    choice = choice_of(family=family, chip=chip, scale=scale, errors=errors)
    query = f"?{request.url.query}" if request.url.query else ""
    speaker = voice_of(request)

    def made() -> AccuracyPage:
        found = findings_of(choice, bench.sizing)
        return accuracy_page(found, allowed(), bench.catalogue, speaker, report_url=REPORT)

    # Everything on it follows from the catalogue and what was chosen.
    kept = bench.pages.get((ADDRESS, choice, speaker.language), made)
    page = dataclasses.replace(kept, data_url=f"{ADDRESS}.json{query}", documents=available())
    return render(request, "accuracy.html", page, lasting=bench.pages)


@router.get(f"{REPORT}.json")
def show_report_data() -> WrittenDocument:
    """Return the written report."""
    return written("accuracy")


@router.get(REPORT, response_class=HTMLResponse)
def show_report(request: Request) -> Response:
    """Show the written report."""
    return page_of(request, "accuracy", REPORT)
