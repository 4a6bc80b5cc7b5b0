"""Sweeps and other long work."""

from __future__ import annotations

from app.client.calls import Call, Given, address, content, document, get, operation, store, text
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.rows import Job, SweepAnswer, SweepState
from app.platform.listing import Page


class SweepOperations:
    """Every combination, computed in the background."""

    @operation
    def create_sweep(self, request: SweepRequest | Given, *, key: str | None = None) -> Call[SweepState]:
        """Ask for every combination; ``wait`` or ``follow_sweep`` say when it is done."""
        return store(address("sweeps"), document(SweepState), request, key)

    @operation
    def list_sweeps(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[SweepState]]:
        """List sweeps, newest first."""
        return get(address("sweeps"), document(Page[SweepState]), cursor=cursor, limit=limit)

    @operation
    def get_sweep(
        self,
        identifier: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        order: str | None = None,
        model: str | None = None,
        system: str | None = None,
        price: str | None = None,
        scenario: str | None = None,
    ) -> Call[SweepAnswer]:
        """Read a stretch of the rows there are, narrowed by labels and in an order."""
        return get(
            address("sweeps", identifier),
            document(SweepAnswer),
            cursor=cursor,
            limit=limit,
            order=order,
            model=model,
            system=system,
            price=price,
            scenario=scenario,
        )

    @operation
    def get_sweep_csv(self, identifier: str) -> Call[str]:
        """Read the rows there are as CSV."""
        return get(address("sweeps", f"{identifier}.csv"), text)

    @operation
    def get_sweep_parquet(self, identifier: str) -> Call[bytes]:
        """Read the rows there are as a Parquet file."""
        return get(address("sweeps", f"{identifier}.parquet"), content)

    @operation
    def cancel_sweep(self, identifier: str) -> Call[SweepState]:
        """Stop a sweep; the rows there are stay."""
        return Call("POST", address("sweeps", identifier, "cancel"), document(SweepState))

    @operation
    def resume_sweep(self, identifier: str) -> Call[SweepState]:
        """Go on with a sweep that was cancelled or has failed."""
        return Call("POST", address("sweeps", identifier, "resume"), document(SweepState))

    @operation
    def get_job(self, identifier: str) -> Call[Job]:
        """Read how far long work is."""
        return get(address("jobs", identifier), document(Job))
