"""Operations of the API on what is worked on and shared: studies, proposals, price books, bills, keys."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rackline_client.base import Page
from rackline_client.calls import Call, File, Given, Operation, address, operation, reader

if TYPE_CHECKING:
    from rackline_client.documents import (
        Accelerator,
        AcceleratorPatch,
        AcceleratorRequest,
        AcceleratorSummary,
        ApiKey,
        Bill,
        BillComparison,
        BillRequest,
        BillSummary,
        Comparison,
        ComparisonOfState,
        ComparisonPatch,
        ComparisonRequest,
        ComparisonSummary,
        Delivery,
        DuplicateRequest,
        FreezeRecord,
        KeyRequest,
        NewApiKey,
        NewWebhook,
        PriceBookDocument,
        PriceBookPatch,
        PriceBookRequest,
        PriceBookSummary,
        Proposal,
        ProposalEvents,
        ProposalPatch,
        ProposalRequest,
        ProposalSummary,
        Replay,
        Reply,
        ReplyRequest,
        ReviewRequest,
        RotationRequest,
        Share,
        ShareRequest,
        StateRequest,
        Study,
        StudyAnswer,
        StudyContent,
        StudyFile,
        StudyPatch,
        StudySummary,
        StudyVersions,
        TrailEvent,
        Webhook,
        WebhookPatch,
        WebhookRequest,
    )


class DocumentOperations:
    """What is worked on, shared and watched."""

    # Options side by side, once or as a question that is worked on.

    @operation("POST comparisons")
    def create_comparison(self, request: ComparisonRequest | Given, *, key: str | None = None) -> Comparison:
        """Put options side by side: estimates to make, or published figures."""

    @operation("GET comparisons")
    def list_comparisons(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
    ) -> Page[ComparisonSummary]:
        """List comparisons, newest first."""

    @operation("GET comparisons/{identifier}")
    def get_comparison(
        self,
        identifier: str,
        *,
        scaling_efficiency: float | None = None,
        utilisation: float | None = None,
        term_years: float | None = None,
    ) -> Comparison:
        """Read a comparison; with a scaling efficiency its linear rows are restated."""

    @operation("PATCH comparisons/{identifier}")
    def change_comparison(
        self, identifier: str, patch: ComparisonPatch | Given, *, tag: str | None = None
    ) -> Comparison:
        """Change a comparison; with an ETag, only the version that has it."""

    @operation("DELETE comparisons/{identifier}")
    def delete_comparison(self, identifier: str, *, tag: str | None = None) -> None:
        """Delete a comparison that no proposal was made from."""

    @operation("POST studies")
    def create_study(self, request: StudyContent | Given, *, key: str | None = None) -> Study:
        """Keep a question: a base, and what each option changes of it."""

    @operation("GET studies")
    def list_studies(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        search: str | None = None,
        archived: bool = False,
        *,
        since: datetime | None = None,
        order: str | None = None,
        customer: str | None = None,
        model: str | None = None,
    ) -> Page[StudySummary]:
        """List studies, newest first: those at hand, or those put away."""

    @operation("POST studies/import")
    def import_study(self, request: StudyFile | Given, *, key: str | None = None) -> Study:
        """Keep the study of an exported file under a new identifier."""

    @operation("GET studies/{identifier}")
    def get_study(self, identifier: str, *, version: int | None = None) -> Study:
        """Read what a study states, in its newest version or another."""

    @operation("PATCH studies/{identifier}")
    def change_study(self, identifier: str, patch: StudyPatch | Given, *, tag: str | None = None) -> Study:
        """Keep a new version of a study; with an ETag, only on top of the version that has it."""

    @operation("GET studies/{identifier}/versions")
    def list_versions(self, identifier: str) -> StudyVersions:
        """Read every version of a study with what changed."""

    @operation("POST studies/{identifier}/answers", repeatable=True)
    def answer_study(self, identifier: str, state: StateRequest | Given) -> StudyAnswer:
        """Answer a study with knobs turned; nothing is stored."""

    @operation("POST studies/{identifier}/comparison")
    def compare_study(
        self, identifier: str, state: ComparisonOfState | Given, *, key: str | None = None
    ) -> Comparison:
        """Make a comparison of a state, from which a proposal can be made."""

    @operation("POST studies/{identifier}/duplicate")
    def duplicate_study(
        self, identifier: str, state: DuplicateRequest | Given, *, key: str | None = None
    ) -> Study:
        """Keep a copy of a state under a new identifier."""

    @operation("POST studies/{identifier}/archive", repeatable=True)
    def archive_study(self, identifier: str) -> Study:
        """Put a study away."""

    @operation("POST studies/{identifier}/restore", repeatable=True)
    def restore_study(self, identifier: str) -> Study:
        """Bring an archived study back."""

    @operation("DELETE studies/{identifier}")
    def delete_study(self, identifier: str, *, tag: str | None = None) -> None:
        """Delete an archived study with its versions; with an ETag, only the version that has it."""

    @operation("GET studies/{identifier}/export")
    def export_study(self, identifier: str, *, version: int | None = None) -> StudyFile:
        """Read one version as a file that can be imported."""

    # What the customer gets.

    @operation("POST proposals")
    def create_proposal(self, request: ProposalRequest | Given, *, key: str | None = None) -> Proposal:
        """Make a draft of what a comparison says for a customer."""

    @operation("GET proposals")
    def list_proposals(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        status: str | None = None,
        review: str | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
        customer: str | None = None,
    ) -> Page[ProposalSummary]:
        """List proposals, newest first: all, or those of one status or state of review today."""

    @operation("GET proposals/{identifier}")
    def get_proposal(self, identifier: str) -> Proposal:
        """Read a proposal as it stands."""

    @operation("DELETE proposals/{identifier}")
    def delete_proposal(self, identifier: str, *, tag: str | None = None) -> None:
        """Delete a draft."""

    @operation("PATCH proposals/{identifier}")
    def change_proposal(
        self, identifier: str, patch: ProposalPatch | Given, *, tag: str | None = None
    ) -> Proposal:
        """Change a draft; with an ETag, only the version that has it. Frozen proposals are a conflict."""

    @operation("POST proposals/{identifier}/freeze", repeatable=True)
    def freeze_proposal(self, identifier: str) -> FreezeRecord:
        """Freeze a draft: hash and document are kept for good. Repeating it changes nothing."""

    @operation("POST proposals/{identifier}/review")
    def review_proposal(
        self, identifier: str, request: ReviewRequest | Given, *, key: str | None = None
    ) -> Proposal:
        """Take a step of review: submit, return, approve, send, accept or decline."""

    @operation("POST proposals/{identifier}/replies")
    def reply_to_customer(
        self, identifier: str, request: ReplyRequest | Given, *, key: str | None = None
    ) -> Reply:
        """Reply to the questions that the customer asked on the link."""

    @operation("POST proposals/{identifier}/replay")
    def replay_proposal(self, identifier: str, *, key: str | None = None) -> Replay:
        """List what today's catalogue would change; the proposal stays as it is."""

    @operation("GET proposals/{identifier}/events")
    def list_events(self, identifier: str) -> ProposalEvents:
        """Read what happened to a proposal."""

    @operation("GET proposals/{identifier}.pdf")
    def proposal_pdf(self, identifier: str) -> bytes:
        """Read the document; of a frozen proposal the same bytes every time."""

    @operation("GET proposals/{identifier}.xlsx")
    def proposal_workbook(self, identifier: str, *, lang: str | None = None) -> bytes:
        """Read the tables as a workbook."""

    @operation("GET proposals/{identifier}.csv")
    def proposal_csv(self, identifier: str, *, lang: str | None = None) -> str:
        """Read every figure, warning, assumption and source as CSV."""

    @operation("GET proposals/{identifier}.json")
    def proposal_json(self, identifier: str) -> bytes:
        """Read the proposal as a file of JSON, byte for byte."""

    @operation("POST proposals/{identifier}/share")
    def share_proposal(
        self, identifier: str, request: ShareRequest | Given | None = None, *, key: str | None = None
    ) -> Share:
        """Make a link to a frozen proposal; the token is told this once."""

    @operation("DELETE proposals/{identifier}/share")
    def revoke_share(self, identifier: str) -> None:
        """Make the link stop working at once."""

    # Own prices, and what a system consists of.

    @operation("POST price-books", form=True)
    def create_price_book(
        self, book: PriceBookRequest | Given | Path | File, *, name: str | None = None, key: str | None = None
    ) -> PriceBookDocument:
        """Keep own prices, as rows or as a CSV file; ``name`` is for the file alone."""

    @operation("GET price-books")
    def list_price_books(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
    ) -> Page[PriceBookSummary]:
        """List price books, newest first."""

    @operation("GET price-books/{identifier}")
    def get_price_book(self, identifier: str, *, version: int | None = None) -> PriceBookDocument:
        """Read the rows of a book beside the catalogue's figures."""

    @operation("GET price-books/{identifier}.csv")
    def get_price_book_csv(self, identifier: str, *, version: int | None = None) -> str:
        """Read the rows of a book as CSV that can be edited and sent back."""

    @operation("DELETE price-books/{identifier}")
    def delete_price_book(self, identifier: str, *, tag: str | None = None) -> None:
        """Delete a price book that nothing kept stands on."""

    @operation("PUT price-books/{identifier}")
    def replace_price_book(
        self, identifier: str, book: PriceBookRequest | Given, *, tag: str | None = None
    ) -> PriceBookDocument:
        """Give a book other rows, as a new version."""

    @operation("PATCH price-books/{identifier}")
    def change_price_book(
        self, identifier: str, patch: PriceBookPatch | Given, *, tag: str | None = None
    ) -> PriceBookDocument:
        """Put some rows in and take some out, as a new version."""

    @operation("POST accelerators")
    def create_accelerator(
        self, request: AcceleratorRequest | Given, *, key: str | None = None
    ) -> Accelerator:
        """Add an accelerator from its data sheet."""

    @operation("GET accelerators")
    def list_accelerators(
        self, cursor: str | None = None, limit: int | None = None
    ) -> Page[AcceleratorSummary]:
        """List accelerators of the workspace, newest first."""

    @operation("GET accelerators/{identifier}")
    def get_accelerator(self, identifier: str, *, version: int | None = None) -> Accelerator:
        """Read what was stated of an accelerator, and the figures that estimates use."""

    @operation("PATCH accelerators/{identifier}")
    def change_accelerator(
        self, identifier: str, patch: AcceleratorPatch | Given, *, tag: str | None = None
    ) -> Accelerator:
        """Change some figures, as a new version."""

    @operation("DELETE accelerators/{identifier}")
    def delete_accelerator(self, identifier: str) -> None:
        """Delete an accelerator; what was made with it stays."""

    @operation("POST boms")
    def create_bill(self, request: BillRequest | Given, *, key: str | None = None) -> Bill:
        """Make the bill of materials of a system or of an estimate."""

    @operation("GET boms")
    def list_bills(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
    ) -> Page[BillSummary]:
        """List bills, newest first."""

    @operation("DELETE boms/{identifier}")
    def delete_bill(self, identifier: str) -> None:
        """Delete a bill of materials that no proposal names."""

    @operation("GET boms/{identifier}")
    def get_bill(self, identifier: str) -> Bill:
        """Read a bill as it was answered."""

    @Operation
    def compare_bills(self, one: str, other: str) -> Call[BillComparison]:
        """Set price, power and height of two bills against each other."""
        from rackline_client.documents import BillComparison

        both = {"ids": f"{one},{other}"}
        return Call("GET", address("boms/compare"), reader(BillComparison), query=both, repeatable=True)

    @operation("GET boms/{identifier}.csv")
    def get_bill_csv(self, identifier: str, *, lang: str | None = None) -> str:
        """Read the lines of a bill as CSV."""

    @operation("GET boms/{identifier}.xlsx")
    def get_bill_workbook(self, identifier: str, *, lang: str | None = None) -> bytes:
        """Read lines and racks of a bill as a workbook."""

    # Who else may ask, who is told, and who did what.

    @operation("POST keys")
    def create_key(self, request: KeyRequest | Given, *, key: str | None = None) -> NewApiKey:
        """Make an API key; its secret is told this once."""

    @operation("GET keys")
    def list_keys(self, cursor: str | None = None, limit: int | None = None) -> Page[ApiKey]:
        """List keys, newest first; never a secret."""

    @operation("GET keys/{identifier}")
    def get_key(self, identifier: str) -> ApiKey:
        """Read what a key may do and when it was last used."""

    @operation("DELETE keys/{identifier}")
    def revoke_key(self, identifier: str) -> None:
        """Make a key stop working at once."""

    @operation("POST keys/{identifier}/rotate")
    def rotate_key(
        self, identifier: str, request: RotationRequest | Given | None = None, *, key: str | None = None
    ) -> NewApiKey:
        """Make a key in the place of this one, which works on for a grace."""

    @operation("POST webhooks")
    def create_webhook(self, request: WebhookRequest | Given, *, key: str | None = None) -> NewWebhook:
        """Have an address told of events; the secret that signs is told this once."""

    @operation("GET webhooks")
    def list_webhooks(self, cursor: str | None = None, limit: int | None = None) -> Page[Webhook]:
        """List webhooks, newest first; never a secret."""

    @operation("GET webhooks/{identifier}")
    def get_webhook(self, identifier: str) -> Webhook:
        """Read what a webhook is told of."""

    @operation("PATCH webhooks/{identifier}")
    def change_webhook(self, identifier: str, patch: WebhookPatch | Given) -> Webhook:
        """Change address, events or name of a webhook, or switch it on or off."""

    @operation("DELETE webhooks/{identifier}")
    def remove_webhook(self, identifier: str) -> None:
        """Forget a webhook, its secret and its log."""

    @operation("POST webhooks/{identifier}/rotate")
    def rotate_webhook_secret(
        self, identifier: str, request: RotationRequest | Given | None = None, *, key: str | None = None
    ) -> NewWebhook:
        """Make a new secret; the old one signs as well for a grace."""

    @operation("POST webhooks/{identifier}/test")
    def send_webhook_test(self, identifier: str, *, key: str | None = None) -> Delivery:
        """Send a message that says no more than that it arrives."""

    @operation("GET webhooks/{identifier}/deliveries")
    def list_deliveries(
        self, identifier: str, cursor: str | None = None, limit: int | None = None
    ) -> Page[Delivery]:
        """List the messages of a webhook with what came of them, newest first."""

    @operation("POST webhooks/{identifier}/deliveries/{message}/resend")
    def resend_delivery(self, identifier: str, message: str) -> Delivery:
        """Send a message that has ended once more."""

    @operation("GET audit-events")
    def list_audit_events(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        action: str | None = None,
        actor_kind: str | None = None,
        actor_id: str | None = None,
        object_kind: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Page[TrailEvent]:
        """List what was done in the workspace, newest first; for owners, who sign in without a key."""

    @operation("GET audit-events.csv")
    def export_audit_events(
        self,
        *,
        action: str | None = None,
        actor_kind: str | None = None,
        actor_id: str | None = None,
        object_kind: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> str:
        """Read the same as CSV."""

    @operation("GET audit-events.jsonl")
    def export_audit_lines(
        self,
        *,
        action: str | None = None,
        actor_kind: str | None = None,
        actor_id: str | None = None,
        object_kind: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> str:
        """Read the same as JSON Lines."""
