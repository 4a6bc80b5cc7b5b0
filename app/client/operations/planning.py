"""Arithmetic around an estimate: mappings, checks, partitions, queues, networks, build or rent, claims."""

from __future__ import annotations

from app.client.calls import Call, Given, address, compute, document, get, operation
from app.features.bills.model import FabricPlan, FabricRequest
from app.features.break_even.model import BreakEven, BreakEvenRequest
from app.features.claims.model import ClaimsRequest, VendorClaim, VendorClaims
from app.features.networks.model import FabricChoice, FabricChoiceRequest
from app.features.plans.model import Checks, ChecksRequest, Mapping, MappingRequest
from app.features.tenancy.model import PartitionPlan, PartitionRequest, QueueAnswer, QueueRequest


def footing(asked: ClaimsRequest | Given | None) -> dict[str, object]:
    """Return on which footing claims are asked for, as query parameters."""
    if isinstance(asked, ClaimsRequest):
        return asked.model_dump(mode="json", exclude_unset=True)
    return dict(asked or {})


class PlanningOperations:
    """What is computed and not kept."""

    @operation
    def map_model(self, request: MappingRequest | Given) -> Call[Mapping]:
        """Map a model onto IPUs; a pod that is too small is a conflict."""
        return compute(address("mappings"), document(Mapping), request)

    @operation
    def check_plan(self, request: ChecksRequest | Given) -> Call[Checks]:
        """Check a plan: named warnings, and the most devices its batch divides over."""
        return compute(address("checks"), document(Checks), request)

    @operation
    def plan_partitions(self, request: PartitionRequest | Given) -> Call[PartitionPlan]:
        """Share a system among teams; a conflict names the nearest sizes allowed."""
        return compute(address("partitions"), document(PartitionPlan), request)

    @operation
    def simulate_queue(self, request: QueueRequest | Given) -> Call[QueueAnswer]:
        """Simulate the waits of teams that share machines."""
        return compute(address("queues"), document(QueueAnswer), request)

    @operation
    def choose_fabric(self, request: FabricChoiceRequest | Given) -> Call[FabricChoice]:
        """Weigh networks against each other for one workload."""
        return compute(address("fabric-choices"), document(FabricChoice), request)

    @operation
    def plan_fabric(self, request: FabricRequest | Given) -> Call[FabricPlan]:
        """Count switches and cables of a network."""
        return compute(address("fabrics"), document(FabricPlan), request)

    @operation
    def find_break_even(self, request: BreakEvenRequest | Given) -> Call[BreakEven]:
        """Find the month from which owning costs less than renting, or that there is none."""
        return compute(address("breakevens"), document(BreakEven), request)

    @operation
    def list_claims(self, asked: ClaimsRequest | Given | None = None) -> Call[VendorClaims]:
        """Hold vendor claims against estimates on equal footing."""
        return get(address("claims"), document(VendorClaims), **footing(asked))

    @operation
    def get_claim(self, identifier: str, asked: ClaimsRequest | Given | None = None) -> Call[VendorClaim]:
        """Read one claim with both sides as they are estimated."""
        return get(address("claims", identifier), document(VendorClaim), **footing(asked))
