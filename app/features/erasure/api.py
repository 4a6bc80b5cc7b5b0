"""Erasing the name of a customer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.features.erasure import service as erasure
from app.features.erasure.model import Erasure, ErasureRequest
from app.platform.rates import CostClass
from app.platform.web.api import ASK, api_router
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.needs import Right, needs

router = api_router("audit", "/erasures")

ERASURE = {"customer": "Customer A", "dry_run": True}


@router.post("", summary="Erase a customer's name", responses=ASK)
@needs(Right.MANAGE, CostClass.SEARCH)
def erase_customer(
    bench: BenchDep, workspace: WorkspaceDep, body: Annotated[ErasureRequest, Body(examples=[ERASURE])]
) -> Erasure:
    """Replace a name in studies, comparisons, proposals, stored PDFs, uploads, results and the audit log.

    Owners only, no API keys. Frozen proposals get a new hash and a new PDF. The audit log records that a name
    was erased, not which. Uploaded files and backups are not changed.
    """
    return erasure.erase_customer(bench, workspace, body)
