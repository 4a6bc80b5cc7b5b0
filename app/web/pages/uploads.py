"""What was uploaded, and deleting it or an archived study: a plain question first, without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, Conflict, Message
from app.services import deletions, studies, uploads
from app.services.listing import USUAL_ITEMS
from app.services.uploads import Uploads
from app.services.workbench import Workbench, no_such
from app.web.api.uploads import attachment
from app.web.deps import BenchDep, WorkspaceDep
from app.web.pages.documents import available
from app.web.rendering import render
from app.web.routers import page_router
from app.web.storage_contexts import DeletePage, UploadsPage

router = page_router()


def listed(request: Request, bench: Workbench, workspace: str) -> Uploads:
    """Return the stretches of both lists that are asked for."""
    query = request.query_params
    models, samples = query.get("models") or None, query.get("samples") or None
    return Uploads(
        models=uploads.list_profiles(bench, workspace, USUAL_ITEMS, models),
        samples=uploads.list_workloads(bench, workspace, USUAL_ITEMS, samples),
    )


@router.get("/uploads.json")
def show_uploads_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Uploads:
    """Return the uploads of the page of the same address."""
    return listed(request, bench, workspace)


@router.get("/uploads", response_class=HTMLResponse)
def show_uploads(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show what was uploaded."""
    found, query = listed(request, bench, workspace), dict(request.query_params)
    kept = {name: query[name] for name in ("models", "samples") if query.get(name)}
    page = UploadsPage(
        data_url="/uploads.json" + (f"?{urlencode(kept)}" if kept else ""),
        documents=available(),
        models=found.models.items,
        samples=found.samples.items,
        more_models=older(kept, "models", found.models.next),
        more_samples=older(kept, "samples", found.samples.next),
    )
    return render(request, "uploads.html", page)


def older(kept: dict[str, str], name: str, cursor: str | None) -> str:
    """Return the address at which a list goes on; the other one stays where it is."""
    return f"/uploads?{urlencode({**kept, name: cursor})}" if cursor else ""


@router.get("/uploads/{identifier}/file")
def send_file(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Send the file that a model was read from."""
    return attachment(*uploads.original_file(bench, workspace, identifier))


@router.get("/uploads/{identifier}/delete", response_class=HTMLResponse)
def ask_about_upload(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Ask whether an upload is really to be deleted."""
    return render(request, "delete.html", upload_question(bench, workspace, identifier))


@router.post("/uploads/{identifier}/delete", response_class=HTMLResponse)
def delete_upload(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an upload and go to the list."""
    delete = deletions.delete_workload if is_sample(identifier) else deletions.delete_profile
    return deleted(
        request,
        lambda: delete(bench, workspace, identifier),
        lambda error: upload_question(bench, workspace, identifier, error),
        "/uploads",
    )


@router.get("/studies/{identifier}/delete", response_class=HTMLResponse)
def ask_about_study(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Ask whether a study is really to be deleted."""
    return render(request, "delete.html", study_question(bench, workspace, identifier))


@router.post("/studies/{identifier}/delete", response_class=HTMLResponse)
def delete_study(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an archived study and go to the list of those put away."""
    return deleted(
        request,
        lambda: deletions.delete_study(bench, workspace, identifier),
        lambda error: study_question(bench, workspace, identifier, error),
        "/studies?archived=1",
    )


def deleted(
    request: Request, delete: Callable[[], object], ask: Callable[[AppError], DeletePage], onward: str
) -> Response:
    """Delete and go on; what cannot be deleted now is asked about again, with the reason."""
    try:
        delete()
    except Conflict as error:
        return render(request, "delete.html", ask(error), status=error.status)
    return RedirectResponse(onward, 303)


def is_sample(identifier: str) -> bool:
    """Tell whether an identifier is that of a sample of the data."""
    return identifier.startswith("wkl_")


def upload_question(
    bench: Workbench, workspace: str, identifier: str, error: AppError | None = None
) -> DeletePage:
    """Return the question about an upload."""
    if is_sample(identifier):
        name = uploads.get_workload(bench, workspace, identifier).name
        goes = Message("The lengths that were counted in it are deleted; its text was never kept.")
    elif identifier.startswith("prf_"):
        name = uploads.get_profile(bench, workspace, identifier).name
        goes = Message("What was read from the file, and the file itself, are deleted.")
    else:
        raise no_such("upload", identifier)
    stays = Message("Estimates, comparisons and proposals made of it stay, but cannot be made anew.")
    return DeletePage(
        documents=available(),
        title=Message("Delete the upload?"),
        name=name,
        consequences=[goes, stays, FOR_GOOD],
        action=f"/uploads/{identifier}/delete",
        back="/uploads",
        refused=error.message if error else None,
    )


def study_question(
    bench: Workbench, workspace: str, identifier: str, error: AppError | None = None
) -> DeletePage:
    """Return the question about a study."""
    study = studies.get_study(bench, workspace, identifier)
    return DeletePage(
        documents=available(),
        title=Message("Delete the study?"),
        name=study.content.name,
        consequences=[
            Message("All its versions are deleted: {count}.", {"count": study.latest}),
            Message("So are the uploads that nothing else names."),
            Message("Comparisons and proposals made of it stay."),
            FOR_GOOD,
        ],
        action=f"/studies/{identifier}/delete",
        back=f"/studies/{identifier}",
        refused=error.message if error else None,
    )


FOR_GOOD = Message("This cannot be undone.")
