"""Proposals: made of a comparison, frozen, shared, replayed."""

from __future__ import annotations

from app.client.calls import (
    Call,
    Given,
    address,
    change,
    content,
    delete,
    document,
    get,
    operation,
    store,
    text,
)
from app.features.proposals.model import (
    Frozen,
    Proposal,
    ProposalEvents,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    Replay,
    Share,
    ShareRequest,
)
from app.platform.listing import Page


class ProposalOperations:
    """What the customer gets."""

    @operation
    def create_proposal(self, request: ProposalRequest | Given, *, key: str | None = None) -> Call[Proposal]:
        """Make a draft of what a comparison says for a customer."""
        return store(address("proposals"), document(Proposal), request, key)

    @operation
    def list_proposals(
        self, cursor: str | None = None, limit: int | None = None, status: str | None = None
    ) -> Call[Page[ProposalSummary]]:
        """List proposals, newest first: all, or those that stand as draft, frozen or expired today."""
        return get(
            address("proposals"), document(Page[ProposalSummary]), cursor=cursor, limit=limit, status=status
        )

    @operation
    def get_proposal(self, identifier: str) -> Call[Proposal]:
        """Read a proposal as it stands."""
        return get(address("proposals", identifier), document(Proposal))

    @operation
    def change_proposal(
        self, identifier: str, patch: ProposalPatch | Given, *, tag: str | None = None
    ) -> Call[Proposal]:
        """Change a draft; with an ETag, only the version that has it. Frozen proposals are a conflict."""
        return change("PATCH", address("proposals", identifier), document(Proposal), patch, tag)

    @operation
    def freeze_proposal(self, identifier: str) -> Call[Frozen]:
        """Freeze a draft: hash and document are kept for good. Repeating it changes nothing."""
        return Call("POST", address("proposals", identifier, "freeze"), document(Frozen), repeatable=True)

    @operation
    def replay_proposal(self, identifier: str, *, key: str | None = None) -> Call[Replay]:
        """List what today's catalogue would change; the proposal stays as it is."""
        return Call("POST", address("proposals", identifier, "replay"), document(Replay), key=key, keyed=True)

    @operation
    def list_events(self, identifier: str) -> Call[ProposalEvents]:
        """Read what happened to a proposal."""
        return get(address("proposals", identifier, "events"), document(ProposalEvents))

    @operation
    def proposal_pdf(self, identifier: str) -> Call[bytes]:
        """Read the document; of a frozen proposal the same bytes every time."""
        return get(address("proposals", f"{identifier}.pdf"), content)

    @operation
    def proposal_workbook(self, identifier: str) -> Call[bytes]:
        """Read the tables as a workbook."""
        return get(address("proposals", f"{identifier}.xlsx"), content)

    @operation
    def proposal_csv(self, identifier: str) -> Call[str]:
        """Read every figure, warning, assumption and source as CSV."""
        return get(address("proposals", f"{identifier}.csv"), text)

    @operation
    def proposal_json(self, identifier: str) -> Call[bytes]:
        """Read the proposal as a file of JSON, byte for byte."""
        return get(address("proposals", f"{identifier}.json"), content)

    @operation
    def share_proposal(
        self, identifier: str, request: ShareRequest | Given | None = None, *, key: str | None = None
    ) -> Call[Share]:
        """Make a link to a frozen proposal; the token is told this once."""
        return store(address("proposals", identifier, "share"), document(Share), request or {}, key)

    @operation
    def revoke_share(self, identifier: str) -> Call[None]:
        """Make the link stop working at once."""
        return delete(address("proposals", identifier, "share"))
