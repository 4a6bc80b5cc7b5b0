"""What was uploaded: inspected, renamed, used again and deleted, with a plain question first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, Message
from app.features.uploads import service as uploads
from app.features.uploads.api import attachment
from app.features.uploads.model import KeptProfile, KeptWorkload, UploadPatch, UploadSummary
from app.features.uploads.service import Uploads
from app.platform.listing import USUAL_ITEMS
from app.platform.web.contexts import Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import FormDep, checked, typed
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import FOR_GOOD, DeletePage, deleted, render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench, no_such


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadsPage:
    """What was uploaded."""

    models: Sequence[UploadSummary]
    samples: Sequence[UploadSummary]
    more_models: str
    """Address of older models; empty at the end."""
    more_samples: str
    """Address of older samples; empty at the end."""


router = page_router()


def uploads_page(request: Request, found: Uploads) -> UploadsPage:
    query = request.query_params
    kept = {name: query[name] for name in ("models", "samples") if query.get(name)}

    def older(name: str, cursor: str | None) -> str:
        """Return the address at which a list goes on; the other one stays where it is."""
        return f"/uploads?{urlencode({**kept, name: cursor})}" if cursor else ""

    return UploadsPage(
        models=found.models.items,
        samples=found.samples.items,
        more_models=older("models", found.models.next),
        more_samples=older("samples", found.samples.next),
    )


@resource(router, "/uploads", "uploads/uploads.html", uploads_page)
def show_uploads(bench: BenchDep, workspace: WorkspaceDep, models: str = "", samples: str = "") -> Uploads:
    return Uploads(
        models=uploads.list_profiles(bench, workspace, USUAL_ITEMS, models or None),
        samples=uploads.list_workloads(bench, workspace, USUAL_ITEMS, samples or None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPage:
    """What was read from an upload."""

    upload: KeptProfile | KeptWorkload
    is_model: bool
    """Whether it is a model rather than a sample of the data."""
    form: Form


def shown_upload(request: Request, found: KeptProfile | KeptWorkload) -> UploadPage:
    return upload_page(found, Form({"name": [found.name], "customer": [found.customer]}))


def upload_page(found: KeptProfile | KeptWorkload, form: Form) -> UploadPage:
    return UploadPage(upload=found, is_model=isinstance(found, KeptProfile), form=form)


@resource(router, "/uploads/{identifier}", "uploads/upload.html", shown_upload)
def show_upload(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> KeptProfile | KeptWorkload:
    """Return what was read from an upload."""
    return upload_of(bench, workspace, identifier)


@router.post("/uploads/{identifier}", response_class=HTMLResponse)
@needs(Right.MAKE)
def change_upload(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep
) -> Response:
    """Give an upload another name or customer, or say what is wrong beside the field."""
    values = typed(form)
    fields = {name: values.get(name, [""])[0] for name in ("name", "customer")}
    found = upload_of(bench, workspace, identifier)
    try:
        uploads.change_upload(bench, workspace, identifier, checked(UploadPatch, fields))
    except AppError as error:
        page = upload_page(found, Form(values, error.errors))
        return render(request, "uploads/upload.html", page, status=error.status)
    return RedirectResponse(f"/uploads/{identifier}", 303)


def upload_of(bench: Workbench, workspace: str, identifier: str) -> KeptProfile | KeptWorkload:
    if is_sample(identifier):
        return uploads.get_workload(bench, workspace, identifier)
    if not identifier.startswith("prf_"):
        raise no_such("upload", identifier)
    return uploads.get_profile(bench, workspace, identifier)


@router.get("/uploads/{identifier}/file")
def send_file(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Send the file that a model was read from."""
    return attachment(*uploads.original_file(bench, workspace, identifier))


@router.get("/uploads/{identifier}/delete", response_class=HTMLResponse)
def ask_about_upload(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Ask whether an upload is really to be deleted."""
    return render(request, "delete.html", upload_question(bench, workspace, identifier))


@router.post("/uploads/{identifier}/delete", response_class=HTMLResponse)
@needs(Right.MAKE)
def delete_upload(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an upload and go to the list."""
    delete = uploads.delete_workload if is_sample(identifier) else uploads.delete_profile
    return deleted(
        request,
        lambda: delete(bench, workspace, identifier),
        lambda error: upload_question(bench, workspace, identifier, error),
        "/uploads",
    )


def is_sample(identifier: str) -> bool:
    """Tell whether an identifier is that of a sample of the data."""
    return identifier.startswith("wkl_")


def upload_question(
    bench: Workbench, workspace: str, identifier: str, error: AppError | None = None
) -> DeletePage:
    """Return the question about an upload."""
    found = upload_of(bench, workspace, identifier)
    if isinstance(found, KeptWorkload):
        goes = Message("The lengths counted from it are deleted; its text was never stored.")
    else:
        goes = Message("The file and the data read from it are deleted.")
    stays = Message("Estimates, comparisons and proposals based on it are kept, but cannot be recomputed.")
    return DeletePage(
        title=Message("Delete the upload?"),
        name=found.name,
        consequences=[goes, stays, FOR_GOOD],
        action=f"/uploads/{identifier}/delete",
        back="/uploads",
        refused=error.message if error else None,
    )
