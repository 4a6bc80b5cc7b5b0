"""Answers that are files."""

from __future__ import annotations

from starlette.responses import Response

PDF = "application/pdf"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
CSV = "text/csv; charset=utf-8"


def attachment(data: bytes, kind: str, name: str) -> Response:
    """Return a file to be saved under a name, which consists of letters, digits and dots of ours."""
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
