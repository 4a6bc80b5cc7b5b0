"""Studies in the API: a customer's question with its options, in versions, answered in any state."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query, Response

from app.features.studies import service as studies
from app.features.studies import states
from app.features.studies.model import (
    DuplicateRequest,
    StateRequest,
    Study,
    StudyAnswer,
    StudyContent,
    StudyFile,
    StudyPatch,
    StudySummary,
    StudyVersions,
)
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import (
    ASK,
    CHANGED,
    DELETE,
    LIST,
    READ,
    MatchHeader,
    api_router,
    read_tag,
    write_tag,
)
from app.platform.web.deps import (
    ID,
    CustomerQuery,
    KeyHeader,
    ListDep,
    ModelQuery,
    VersionQuery,
    WorkspaceDep,
)
from app.platform.web.examples import (
    STUDY,
    STUDY_COPY,
    STUDY_FILE,
    STUDY_PATCH,
    STUDY_STATE,
)
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("studies", "/studies")

StudyId = Annotated[str, Path(alias="id", description=ID, examples=["stu_a2b3c4d5e6f7g2h3"])]


@router.post("", status_code=201, summary="Create a study", responses=ASK)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def create_study(
    workspace: WorkspaceDep, body: Annotated[StudyContent, Body(examples=[STUDY])], key: KeyHeader = None
) -> Study:
    """Store a question: a base shared by all options, and what each option changes.

    Options are estimates or stated figures. An option that cannot be estimated is rejected by name.
    """
    return studies.create_study(workspace, body, key)


@router.get("", summary="Studies", responses=LIST)
def list_studies(
    workspace: WorkspaceDep,
    listed: ListDep,
    customer: CustomerQuery = "",
    model: ModelQuery = "",
    archived: Annotated[
        bool, Query(description="Whether to list archived studies instead of active ones.")
    ] = False,
) -> Page[StudySummary]:
    """List studies, newest first."""
    return studies.list_studies(
        workspace,
        listed.limit,
        listed.cursor,
        archived=archived,
        wanted=listed.of(customer=customer, model=model),
    )


@router.post("/import", status_code=201, summary="Import a study", responses=ASK)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def import_study(
    workspace: WorkspaceDep, body: Annotated[StudyFile, Body(examples=[STUDY_FILE])], key: KeyHeader = None
) -> Study:
    """Store the study of an exported file under a new identifier.

    Uploads and calibrations to which the study refers must exist in this workspace.
    """
    return studies.import_study(workspace, body, key)


@router.get("/{id}", summary="Retrieve a study", responses=READ)
def get_study(
    workspace: WorkspaceDep, identifier: StudyId, response: Response, version: VersionQuery = None
) -> Study:
    """Return the content of a study; use the ETag in If-Match to change it."""
    study = studies.get_study(workspace, identifier, version)
    response.headers["ETag"] = write_tag(study.latest)
    return study


@router.patch("/{id}", summary="Update a study", responses={**ASK, **CHANGED})
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def change_study(
    workspace: WorkspaceDep,
    identifier: StudyId,
    body: Annotated[StudyPatch, Body(examples=[STUDY_PATCH])],
    response: Response,
    tag: MatchHeader = None,
) -> Study:
    """Store a new version; omitted fields are unchanged. A conflict names what the other edit changed."""
    study = studies.change_study(workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(study.latest)
    return study


@router.get("/{id}/versions", summary="List versions of a study", responses=READ)
def list_versions(workspace: WorkspaceDep, identifier: StudyId) -> StudyVersions:
    """List every version with its changes, newest first; versions are never dropped."""
    return studies.list_versions(workspace, identifier)


@router.post("/{id}/answers", summary="Evaluate a study state", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH)
def answer_study(
    workspace: WorkspaceDep, identifier: StudyId, body: Annotated[StateRequest, Body(examples=[STUDY_STATE])]
) -> StudyAnswer:
    """Evaluate a version with knobs applied; nothing is stored.

    Returns the estimate of each option and its difference from the best, every option against every
    other, where the time goes, why one option and not another, and what would change the best.
    """
    state = states.state_of(workspace, identifier, body.knobs, body.version)
    return states.answer_state(workspace, state, body.pair)


@router.post("/{id}/duplicate", status_code=201, summary="Duplicate a study", responses=ASK)
@requires(Right.MAKE, CostClass.SEARCH)
def duplicate_study(
    workspace: WorkspaceDep,
    identifier: StudyId,
    body: Annotated[DuplicateRequest, Body(examples=[STUDY_COPY])],
    key: KeyHeader = None,
) -> Study:
    """Store a copy of any state under a new identifier, starting at version 1."""
    return states.duplicate_study(workspace, identifier, body, key)


@router.post("/{id}/archive", summary="Archive a study", responses=READ)
@requires(Right.MAKE)
def archive_study(workspace: WorkspaceDep, identifier: StudyId) -> Study:
    """Archive a study: it leaves the list and cannot be changed until it is restored."""
    return studies.archive_study(workspace, identifier, True)


@router.post("/{id}/restore", summary="Restore a study", responses=READ)
@requires(Right.MAKE)
def restore_study(workspace: WorkspaceDep, identifier: StudyId) -> Study:
    """Restore an archived study to the list."""
    return studies.archive_study(workspace, identifier, False)


@router.delete("/{id}", status_code=204, summary="Delete an archived study", responses=DELETE)
@requires(Right.MAKE)
def delete_study(workspace: WorkspaceDep, identifier: StudyId, tag: MatchHeader = None) -> None:
    """Delete a study with all its versions and the uploads to which nothing else refers.

    Only an archived study can be deleted. Comparisons and proposals made from it are kept.
    """
    studies.delete_study(workspace, identifier, read_tag(tag))


@router.get("/{id}/export", summary="Export a study", responses=READ, response_model_exclude_unset=True)
def export_study(workspace: WorkspaceDep, identifier: StudyId, version: VersionQuery = None) -> StudyFile:
    """Return one version as a file that can be imported; the same version always returns the same
    file.
    """
    return studies.export_study(workspace, identifier, version)
