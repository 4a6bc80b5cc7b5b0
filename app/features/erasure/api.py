"""Erasing the name of a customer."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Body, Path, Query
from fastapi.responses import Response

from app.features.erasure import service as erasure
from app.features.erasure.certificate import certificate_pdf
from app.features.erasure.model import Erasure, ErasureRequest
from app.platform.rates import CostClass
from app.platform.web.api import ASK, READ, api_router, file_answer
from app.platform.web.deps import ID, BenchDep, WorkspaceDep
from app.platform.web.locale import PDF, attachment
from app.platform.web.needs import Right, needs
from app.platform.wording.voice import voice

router = api_router("audit", "/erasures")

ERASURE = {"customer": "Customer A", "dry_run": True}


@router.post("", summary="Erase a customer's name", responses=ASK)
@needs(Right.MANAGE, CostClass.SEARCH)
def erase_customer(
    bench: BenchDep, workspace: WorkspaceDep, body: Annotated[ErasureRequest, Body(examples=[ERASURE])]
) -> Erasure:
    """Replace a name in studies, comparisons, proposals, stored PDFs, uploads, results and the audit log.

    Owners only, no API keys. Frozen proposals get a new hash and a new PDF. The audit log records that a name
    was erased, not which. Uploaded files and backups are not changed. The answer is the certificate, kept
    under its `id`.
    """
    return erasure.erase_customer(bench, workspace, body)


ErasureId = Annotated[str, Path(alias="id", description=ID, examples=["ers_a2b3c4d5e6f7g2h3"])]


@router.get(
    "/{id}.pdf",
    summary="Export a certificate of erasure as PDF",
    responses=file_answer(PDF, "PDF/UA-1 with the certificate as JSON attached."),
    response_class=Response,
)
@needs(Right.MANAGE, CostClass.SEARCH)
def erasure_pdf(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: ErasureId,
    lang: Annotated[
        Literal["en", "ko"], Query(description="Language of the certificate.", examples=["ko"])
    ] = "en",
) -> Response:
    """Return the certificate, with lines to sign on; owners only, no API keys."""
    certificate = certificate_pdf(erasure.get_erasure(bench, workspace, identifier), voice(lang))
    return attachment(certificate, PDF, f"erasure-{identifier}.pdf")


@router.get("/{id}", summary="Retrieve a certificate of erasure", responses=READ)
@needs(Right.MANAGE)
def get_erasure(bench: BenchDep, workspace: WorkspaceDep, identifier: ErasureId) -> Erasure:
    """Return what was erased, as the audit log has it; owners only, no API keys."""
    return erasure.get_erasure(bench, workspace, identifier)
