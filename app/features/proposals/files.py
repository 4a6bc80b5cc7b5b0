"""A proposal as files to be saved: PDF, workbook and CSV."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, get_args

from fastapi import Response

from app.features.proposals.model import Proposal
from app.features.proposals.service import pdf_of
from app.platform.web.locale import CSV, PDF, XLSX, attachment
from app.platform.workspace import Workspace

FileKind = Literal["pdf", "xlsx", "csv"]

FILE_KINDS: tuple[FileKind, ...] = get_args(FileKind)

UNSAFE = re.compile(r"[\W_]+")
"""Characters replaced in file names: all but letters and digits."""

MOST_LETTERS = 60


def file_of(
    workspace: Workspace, proposal: Proposal, kind: FileKind, language: str | None = None
) -> Response:
    """Return a file of a proposal, by default in the language of the proposal."""
    # Loading the workbook library takes half a second, and few requests need it.
    from app.features.proposals.sheets import proposal_csv, proposal_workbook

    name = file_name(proposal, kind)
    if kind == "pdf":
        return attachment(pdf_of(workspace, proposal), PDF, name)
    if kind == "csv":
        return attachment(proposal_csv(proposal, language).encode(), CSV, name)
    return attachment(proposal_workbook(proposal, language), XLSX, name)


def file_name(proposal: Proposal, ending: str) -> str:
    """Return the name of a file of a proposal, from customer, date and number.

    >>> UNSAFE.sub("-", "../Acme & Söhne\u202e/x").strip("-")
    'Acme-Söhne-x'
    """
    customer = unicodedata.normalize("NFC", proposal.content.customer)
    day = (proposal.frozen_at or proposal.updated_at).date().isoformat()
    parts = [UNSAFE.sub("-", customer)[:MOST_LETTERS].strip("-"), day, proposal.number or proposal.id]
    return f"{'-'.join(part for part in parts if part)}.{ending}"
