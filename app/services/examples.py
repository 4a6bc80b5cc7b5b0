"""Answers to the examples of the API's description, computed but not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from app.profiles.samples import read_sample
from app.reports.pdf import read_logo
from app.services.claims import get_claim, list_claims
from app.services.comparisons import ComparisonHead, compared, make_options
from app.services.estimates import make_estimate
from app.services.planning import map_onto_ipus, run_checks
from app.services.sweeps import job_of, title_of
from app.services.tenancy import share_devices, share_time
from app.services.uploads import profile_document, workload_document
from app.services.workbench import LOCAL_WORKSPACE, Workbench
from app.sizing.claims.request import ClaimsRequest
from app.sizing.compare import ComparisonEntry
from app.sizing.models import resolve_model
from app.sizing.proposal.content import build_content
from app.sizing.proposal.documents import (
    Change,
    Frozen,
    Proposal,
    ProposalEvent,
    ProposalEvents,
    Replay,
    Share,
    ShareState,
)
from app.sizing.proposal.freezing import content_hash
from app.sizing.proposal.request import ProposalRequest
from app.sizing.questions import ChecksRequest, ComparisonRequest, MappingRequest, ProfileRequest
from app.sizing.request import EstimateRequest, ModelInput
from app.sizing.size.answering import scaling, size
from app.sizing.size.request import SizingRequest
from app.sizing.sweep.chunks import row_at
from app.sizing.sweep.documents import SweepAnswer, SweepState
from app.sizing.sweep.points import Sweep
from app.sizing.sweep.request import SweepRequest
from app.sizing.tenancy.request import PartitionRequest, QueueRequest

MONTH = timedelta(days=30)
SAMPLE = b'{"text": "how long does training take"}\n{"text": "and what does it cost"}\n'


def answers(bench: Workbench, requests: Mapping[str, Any]) -> dict[str, BaseModel]:
    """Return an answer for each kind of request, by the names of the schemas."""
    estimate = EstimateRequest.model_validate(requests["EstimateRequest"])
    comparison = ComparisonRequest.model_validate(requests["ComparisonRequest"])
    profile = ProfileRequest.model_validate(requests["ProfileRequest"])
    model = ModelInput(**profile.model_dump(exclude={"name"}, exclude_none=True))
    options = make_options(bench, LOCAL_WORKSPACE, comparison.rows, comparison.currency)
    shelves = bench.catalogue
    asked = SizingRequest.model_validate(requests["SizingRequest"])
    sized = size(asked, bench.sizing)
    return {
        "Estimate": make_estimate(bench, LOCAL_WORKSPACE, estimate),
        "Comparison": compared(
            bench,
            LOCAL_WORKSPACE,
            options,
            ComparisonHead("cmp_a2b3c4d5e6f7g2h3", comparison.title, "en", "USD"),
        ),
        "Sizing": sized.document.model_copy(update={"id": "siz_a2b3c4d5e6f7g2h3"}),
        "ScalingCurve": scaling(asked, "dgx-a100-640gb", bench.sizing),
        "Mapping": map_onto_ipus(bench, MappingRequest.model_validate(requests["MappingRequest"])),
        "Checks": run_checks(ChecksRequest.model_validate(requests["ChecksRequest"])),
        "KeptProfile": profile_document(resolve_model(model, bench.sizing)),
        "KeptWorkload": workload_document(
            "wkl_a2b3c4d5e6f7g2h3", "data.jsonl", read_sample("data.jsonl", SAMPLE)
        ),
        "Chip": shelves.chips.get("a100-sxm-80gb"),
        "Machine": shelves.machines.get("dgx-a100-640gb"),
        "System": shelves.systems.get("ipu-pod64"),
        "Fabric": shelves.fabrics.get("hdr-infiniband"),
        "ModelWithOperators": shelves.model_with_operators("gpt3-175b"),
        "Model": shelves.models.get("gpt3-175b"),
        "Software": shelves.software.get("megatron-2022"),
        "SourceRef": shelves.sources.page(1, None).items[0],
        "PartitionPlan": share_devices(bench, PartitionRequest.model_validate(requests["PartitionRequest"])),
        "QueueAnswer": share_time(
            bench, LOCAL_WORKSPACE, QueueRequest.model_validate(requests["QueueRequest"])
        ),
        "VendorClaims": list_claims(bench, LOCAL_WORKSPACE, ClaimsRequest()),
        "VendorClaim": get_claim(bench, LOCAL_WORKSPACE, "bert-large-3-dgx", ClaimsRequest()),
        **sweep_answers(bench, SweepRequest.model_validate(requests["SweepRequest"])),
        **proposal_answers(bench, options, ProposalRequest.model_validate(requests["ProposalRequest"])),
    }


def proposal_answers(
    bench: Workbench, options: Sequence[ComparisonEntry], request: ProposalRequest
) -> dict[str, BaseModel]:
    """Return the answers about a proposal that is frozen and shared."""
    moment = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
    logo = None if request.branding.logo is None else read_logo(request.branding.logo)
    content = build_content(request, options, bench.sizing, title="", today=moment.date(), logo=logo)
    sha256, identifier = content_hash(content), "prp_a2b3c4d5e6f7g2h3"
    state = ShareState(created_at=moment, expires_at=moment + MONTH, passphrase=True, opened=2)
    event = ProposalEvent(position=1, kind="frozen", at=moment, detail={"sha256": sha256})
    change = Change(
        path="bills.0.total",
        section="bill",
        option="IPU-POD64",
        name="bill.total",
        unit="KRW",
        then=889e6,
        now=902e6,
        relative=902 / 889 - 1,
    )
    return {
        "Proposal": Proposal(
            id=identifier,
            comparison_id=request.comparison_id,
            status="frozen",
            version=1,
            sha256=sha256,
            frozen_at=moment,
            created_at=moment,
            updated_at=moment,
            share=state,
            content=content,
        ),
        "Frozen": Frozen(id=identifier, status="frozen", sha256=sha256, frozen_at=moment),
        "ProposalEvents": ProposalEvents(items=[event]),
        "Share": Share(url="/s/3Zt0cQ…", token="3Zt0cQ…", expires_at=moment + MONTH, passphrase=True),
        "Replay": Replay(
            id=identifier,
            sha256=sha256,
            replayed_at=moment,
            engine_version={"then": content.engine_version, "now": content.engine_version},
            catalog_version={"then": content.catalog_version, "now": content.catalog_version},
            compared=35,
            changes=[change],
            refused=[],
        ),
    }


def sweep_answers(bench: Workbench, request: SweepRequest) -> dict[str, BaseModel]:
    """Return the answers about a sweep that has one row so far."""
    sweep = Sweep.of(request)
    row = row_at(next(sweep.points()), bench.sizing)
    moment = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
    state = SweepState(
        id="swp_a2b3c4d5e6f7g2h3",
        title=title_of(request),
        status="running",
        total=sweep.total,
        done=1,
        created_at=moment,
        updated_at=moment,
    )
    answer = SweepAnswer(
        **dict(state),
        refused=0,
        labels=sweep.labels(),
        sizes=sweep.sizes(),
        matching=1,
        rows=[row],
        next=None,
        request=request.model_dump(mode="json", exclude_unset=True),
    )
    return {"SweepState": state, "SweepAnswer": answer, "Job": job_of(state)}
