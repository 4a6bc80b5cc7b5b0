"""Comparisons and studies: options side by side."""

from __future__ import annotations

from app.client.calls import Call, Given, address, change, compute, delete, document, get, operation, store
from app.features.comparisons.model import Comparison, ComparisonPatch, ComparisonRequest, ComparisonSummary
from app.features.studies.model import (
    ComparisonOfState,
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


class StudyOperations:
    """Options side by side, once or as a question that is worked on."""

    @operation
    def create_comparison(
        self, request: ComparisonRequest | Given, *, key: str | None = None
    ) -> Call[Comparison]:
        """Put options side by side: estimates to make, or published figures."""
        return store(address("comparisons"), document(Comparison), request, key)

    @operation
    def list_comparisons(
        self, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[ComparisonSummary]]:
        """List comparisons, newest first."""
        return get(address("comparisons"), document(Page[ComparisonSummary]), cursor=cursor, limit=limit)

    @operation
    def get_comparison(
        self,
        identifier: str,
        *,
        scaling_efficiency: float | None = None,
        utilisation: float | None = None,
        term_years: float | None = None,
    ) -> Call[Comparison]:
        """Read a comparison; with a scaling efficiency its linear rows are restated."""
        return get(
            address("comparisons", identifier),
            document(Comparison),
            scaling_efficiency=scaling_efficiency,
            utilisation=utilisation,
            term_years=term_years,
        )

    @operation
    def change_comparison(
        self, identifier: str, patch: ComparisonPatch | Given, *, tag: str | None = None
    ) -> Call[Comparison]:
        """Change a comparison; with an ETag, only the version that has it."""
        return change("PATCH", address("comparisons", identifier), document(Comparison), patch, tag)

    @operation
    def create_study(self, request: StudyContent | Given, *, key: str | None = None) -> Call[Study]:
        """Keep a question: a base, and what each option changes of it."""
        return store(address("studies"), document(Study), request, key)

    @operation
    def list_studies(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        search: str | None = None,
        archived: bool = False,
    ) -> Call[Page[StudySummary]]:
        """List studies, newest first: those at hand, or those put away."""
        return get(
            address("studies"),
            document(Page[StudySummary]),
            cursor=cursor,
            limit=limit,
            search=search,
            archived=archived or None,
        )

    @operation
    def import_study(self, request: StudyFile | Given, *, key: str | None = None) -> Call[Study]:
        """Keep the study of an exported file under a new identifier."""
        return store(address("studies", "import"), document(Study), request, key)

    @operation
    def get_study(self, identifier: str, *, version: int | None = None) -> Call[Study]:
        """Read what a study states, in its newest version or another."""
        return get(address("studies", identifier), document(Study), version=version)

    @operation
    def change_study(
        self, identifier: str, patch: StudyPatch | Given, *, tag: str | None = None
    ) -> Call[Study]:
        """Keep a new version of a study; with an ETag, only on top of the version that has it."""
        return change("PATCH", address("studies", identifier), document(Study), patch, tag)

    @operation
    def list_versions(self, identifier: str) -> Call[StudyVersions]:
        """Read every version of a study with what changed."""
        return get(address("studies", identifier, "versions"), document(StudyVersions))

    @operation
    def answer_study(self, identifier: str, state: StateRequest | Given) -> Call[StudyAnswer]:
        """Answer a study with knobs turned; nothing is stored."""
        return compute(address("studies", identifier, "answers"), document(StudyAnswer), state)

    @operation
    def compare_study(
        self, identifier: str, state: ComparisonOfState | Given, *, key: str | None = None
    ) -> Call[Comparison]:
        """Make a comparison of a state, from which a proposal can be made."""
        return store(address("studies", identifier, "comparison"), document(Comparison), state, key)

    @operation
    def duplicate_study(
        self, identifier: str, state: DuplicateRequest | Given, *, key: str | None = None
    ) -> Call[Study]:
        """Keep a copy of a state under a new identifier."""
        return store(address("studies", identifier, "duplicate"), document(Study), state, key)

    @operation
    def archive_study(self, identifier: str) -> Call[Study]:
        """Put a study away."""
        return Call("POST", address("studies", identifier, "archive"), document(Study), repeatable=True)

    @operation
    def restore_study(self, identifier: str) -> Call[Study]:
        """Bring an archived study back."""
        return Call("POST", address("studies", identifier, "restore"), document(Study), repeatable=True)

    @operation
    def delete_study(self, identifier: str, *, tag: str | None = None) -> Call[None]:
        """Delete an archived study with its versions; with an ETag, only the version that has it."""
        return delete(address("studies", identifier), tag)

    @operation
    def export_study(self, identifier: str, *, version: int | None = None) -> Call[StudyFile]:
        """Read one version as a file that can be imported."""
        return get(address("studies", identifier, "export"), document(StudyFile), version=version)
