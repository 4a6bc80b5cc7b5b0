"""Examples for every field of the API's description, from real requests and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from app.estimating.request import EstimateRequest, Limits, ModelInput
from app.estimating.schema import filled
from app.estimating.workload import resolve_model
from app.features.accuracy.api import get_accuracy
from app.features.bills.bill import make_bill
from app.features.bills.fabric import plan_fabric
from app.features.bills.model import BillRequest, FabricRequest
from app.features.bills.service import compare_bills
from app.features.break_even.deciding import decide
from app.features.break_even.model import BreakEvenRequest
from app.features.calibration.fitting import calibrate
from app.features.calibration.model import CalibrationRequest
from app.features.claims.model import ClaimsRequest
from app.features.claims.service import get_claim, list_claims
from app.features.comparisons.compare import comparison_of, question_of, side_by_side
from app.features.comparisons.model import ComparisonRequest
from app.features.comparisons.service import make_options
from app.features.estimates.document import with_links, with_request
from app.features.estimates.service import make_estimate
from app.features.inference.answering import infer
from app.features.inference.model import InferenceRequest
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoiceRequest
from app.features.plans.mapping import check_plan, map_onto_ipus
from app.features.plans.model import ChecksRequest, MappingRequest, SearchRequest
from app.features.plans.searching import search
from app.features.proposals.branding import read_logo
from app.features.proposals.content import build_content
from app.features.proposals.lines import content_hash
from app.features.proposals.model import (
    FreezeRecord,
    Proposal,
    ProposalEvent,
    ProposalEvents,
    ProposalRequest,
    Replay,
    ReplayChange,
    Share,
    ShareState,
)
from app.features.sizings.answering import scaling, size
from app.features.sizings.model import SizingRequest
from app.features.studies.answering import State
from app.features.studies.knobs import StudyVariant
from app.features.studies.model import StudyContent, StudyFile
from app.features.studies.service import first_version
from app.features.studies.side_by_side import OptionEntry
from app.features.studies.states import answer_state
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep
from app.features.sweeps.rows import Job, SweepAnswer, SweepState
from app.features.sweeps.run import row_at
from app.features.sweeps.service import title_of
from app.features.tenancy.model import PartitionRequest, QueueRequest
from app.features.tenancy.partitions import plan_partitions
from app.features.tenancy.service import share_time
from app.features.uploads.model import ProfileDocument, ProfileRequest
from app.features.uploads.service import workload_document
from app.platform.web.examples import (
    ACCELERATOR,
    BARE_FIGURE,
    BERT_ON_IPUS,
    BILL,
    BILL_OF_POD,
    BOOK,
    BREAK_EVEN,
    CALIBRATION,
    CHECK,
    FABRIC,
    FABRIC_CHOICE,
    FLEET_PLAN,
    GPT3,
    HEAD_TO_HEAD,
    INFERENCE,
    KEY,
    MAPPING,
    OWN_MODEL,
    PARTITIONS,
    PRICE_BOOK,
    PROPOSAL,
    PROPOSAL_CHANGED,
    QUEUE,
    RENAMED,
    RESNET,
    SEARCH,
    SHARE,
    SIZING,
    SLICES,
    STUDY,
    STUDY_FILE,
    TRANSFORMER,
    WEBHOOK,
)
from app.platform.wording.voice import voice
from app.platform.workspace import Workspace
from app.profiles.samples import read_sample

MOMENT = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)

MONTH = timedelta(days=30)

SAMPLE = b'{"text": "how long does training take"}\n{"text": "and what does it cost"}\n'


def answers(workspace: Workspace, requests: Mapping[str, Any]) -> dict[str, BaseModel]:
    """Return an answer for each kind of request, by schema name."""
    estimate = EstimateRequest.model_validate(requests["EstimateRequest"])
    comparison = ComparisonRequest.model_validate(requests["ComparisonRequest"])
    profile = ProfileRequest.model_validate(requests["ProfileRequest"])
    model = ModelInput(**profile.model_dump(exclude={"name"}, exclude_none=True))
    options = make_options(workspace, comparison.rows, comparison.currency)
    beside = side_by_side(options, workspace.context(), comparison.currency)
    answer = make_estimate(workspace, estimate).model_copy(update={"id": "est_a2b3c4d5e6f7g2h3"})
    shelves = workspace.catalogue
    sizing = SizingRequest.model_validate(requests["SizingRequest"])
    return {
        "Estimate": with_links(
            with_request(answer, estimate, MOMENT),
            voice("en"),
            lambda path: f"https://rackline.example.com{path}",
        ),
        "Comparison": comparison_of(
            beside, question_of(beside, Limits()), identifier="cmp_a2b3c4d5e6f7g2h3", title=comparison.title
        ),
        "Sizing": size(sizing, workspace.sizing).document.model_copy(update={"id": "siz_a2b3c4d5e6f7g2h3"}),
        "ScalingCurve": scaling(sizing, "dgx-a100-640gb", workspace.sizing),
        "ModelMapping": map_onto_ipus(workspace, MappingRequest.model_validate(requests["MappingRequest"])),
        "Checks": check_plan(ChecksRequest.model_validate(requests["ChecksRequest"])),
        "ProfileDocument": ProfileDocument.of(resolve_model(model, workspace.sizing)),
        "WorkloadDocument": workload_document(
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
        "PartitionPlan": plan_partitions(
            PartitionRequest.model_validate(requests["PartitionRequest"]), workspace.sizing.catalog
        ),
        "QueueAnswer": share_time(workspace, QueueRequest.model_validate(requests["QueueRequest"])),
        "Accuracy": get_accuracy(family="bert", chip="a100-sxm-80gb"),
        "VendorClaims": list_claims(workspace, ClaimsRequest()),
        "VendorClaim": get_claim(workspace, "bert-large-3-dgx", ClaimsRequest()),
        **stateless_answers(workspace),
        **study_answers(workspace),
        **sweep_answers(workspace, SweepRequest.model_validate(requests["SweepRequest"])),
        **proposal_answers(workspace, options, ProposalRequest.model_validate(requests["ProposalRequest"])),
    }


def stateless_answers(workspace: Workspace) -> dict[str, BaseModel]:
    context = workspace.sizing
    bill, other = (
        make_bill(BillRequest.model_validate(body), context, identifier)
        for body, identifier in ((BILL, "bom_a2b3c4d5e6f7g2h3"), (BILL_OF_POD, "bom_a2b3c4d5e6f7g2h4"))
    )
    calibration = CalibrationRequest.model_validate(CALIBRATION)
    return {
        "Bill": bill,
        "BillComparison": compare_bills(bill, other, context.catalog),
        "BreakEven": decide(BreakEvenRequest.model_validate(BREAK_EVEN), workspace.context()),
        "CalibrationAnswer": calibrate(calibration, context, "cal_a2b3c4d5e6f7g2h3").answer,
        "FabricChoice": choose_fabric(FabricChoiceRequest.model_validate(FABRIC_CHOICE), context),
        "FabricPlan": plan_fabric(FabricRequest.model_validate(FABRIC)),
        "Inference": infer(InferenceRequest.model_validate(INFERENCE), context),
        "Search": search(SearchRequest.model_validate(SEARCH), context),
    }


def study_answers(workspace: Workspace) -> dict[str, BaseModel]:
    """Return the answers about a study with one version."""
    content = StudyContent.model_validate(STUDY)
    fields = {"id": "stu_a2b3c4d5e6f7g2h3", "created_at": MOMENT, "updated_at": MOMENT}
    study = first_version(content)[0].model_copy(update=fields)
    return {
        "Study": study,
        "StudyAnswer": answer_state(workspace, State(study, StudyVariant(content, {}))),
        "StudyFile": StudyFile.model_validate(STUDY_FILE),
    }


def proposal_answers(
    workspace: Workspace, options: Sequence[OptionEntry], request: ProposalRequest
) -> dict[str, BaseModel]:
    """Return the answers about a proposal that is frozen and shared."""
    logo = None if request.branding.logo is None else read_logo(request.branding.logo)
    content = build_content(request, options, workspace.sizing, title="", today=MOMENT.date(), logo=logo)
    sha256, identifier = content_hash(content.model_dump(mode="json")), "prp_a2b3c4d5e6f7g2h3"
    state = ShareState(created_at=MOMENT, expires_at=MOMENT + MONTH, passphrase=True, opened=2)
    event = ProposalEvent(position=1, kind="frozen", at=MOMENT, detail={"sha256": sha256})
    change = ReplayChange(
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
            frozen_at=MOMENT,
            created_at=MOMENT,
            updated_at=MOMENT,
            share=state,
            content=content,
        ),
        "FreezeRecord": FreezeRecord(id=identifier, status="frozen", sha256=sha256, frozen_at=MOMENT),
        "ProposalEvents": ProposalEvents(items=[event]),
        "Share": Share(
            url="https://rackline.example.com/s/3Zt0cQ…",
            path="/s/3Zt0cQ…",
            token="3Zt0cQ…",
            expires_at=MOMENT + MONTH,
            passphrase=True,
        ),
        "Replay": Replay(
            id=identifier,
            sha256=sha256,
            replayed_at=MOMENT,
            engine_version={"then": content.engine_version, "now": content.engine_version},
            catalog_version={"then": content.catalog_version, "now": content.catalog_version},
            compared=35,
            changes=[change],
            refused=[],
        ),
    }


def sweep_answers(workspace: Workspace, request: SweepRequest) -> dict[str, BaseModel]:
    """Return the answers about a sweep with one row."""
    sweep = Sweep.of(request)
    row = row_at(next(sweep.points()), workspace.sizing)
    state = SweepState(
        id="swp_a2b3c4d5e6f7g2h3",
        name=title_of(request),
        status="running",
        total=sweep.total,
        done=1,
        created_at=MOMENT,
        updated_at=MOMENT,
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
    job = filled(Job, state, kind="sweep", result=f"/api/v1/sweeps/{state.id}")
    return {"SweepState": state, "SweepAnswer": answer, "Job": job}


REQUESTS: dict[str, Any] = {
    "EstimateRequest": GPT3,
    "ComparisonRequest": HEAD_TO_HEAD,
    "ComparisonPatch": RENAMED,
    "MappingRequest": MAPPING,
    "ChecksRequest": CHECK,
    "ProfileRequest": TRANSFORMER,
    "SizingRequest": SIZING,
    "SweepRequest": PRICE_BOOK,
    "ProposalRequest": PROPOSAL,
    "ProposalPatch": PROPOSAL_CHANGED,
    "ShareRequest": SHARE,
    "PartitionRequest": PARTITIONS,
    "QueueRequest": QUEUE,
}

KEPT_KEY = {"id": "key_a2b3c4d5e6f7g2h3", "name": KEY["name"], "prefix": "rk_a2b3c4d5"}

KEPT_WEBHOOK = {"id": "whk_a2b3c4d5e6f7g2h3", **WEBHOOK}

PARTS: dict[str, Any] = {
    "ApiKey": KEPT_KEY,
    "NewApiKey": KEPT_KEY,
    "Webhook": KEPT_WEBHOOK,
    "NewWebhook": KEPT_WEBHOOK,
    "Accelerator": {"id": "acc_a2b3c4d5e6f7g2h3", "stated_by": "local", **ACCELERATOR},
    "AcceleratorChange": {"field": "machine_price", "before": 240000, "after": 228000},
    "AcceleratorSummary": {"id": "acc_a2b3c4d5e6f7g2h3", "name": ACCELERATOR["name"]},
    "AcceleratorUse": {"id": "stu_a2b3c4d5e6f7g2h3", "name": STUDY["name"]},
    "AcceleratorVersionSummary": {"stated_by": "local"},
    "BillSummary": {"id": "bom_a2b3c4d5e6f7g2h3", "name": "20 × DGX A100 640GB"},
    "BookRowDocument": {**BOOK["rows"][0], "condition": "", "note": ""},
    "BookVersion": {"name": BOOK["name"], "comment": BOOK["comment"]},
    "CalibrationSummary": {"id": "cal_a2b3c4d5e6f7g2h3", "name": CALIBRATION["label"]},
    "ComparisonSummary": {
        "id": "cmp_a2b3c4d5e6f7g2h3",
        "title": HEAD_TO_HEAD["title"],
        "labels": [row["label"] for row in HEAD_TO_HEAD["rows"]],
    },
    "Delivery": {
        "id": "msg_a2b3c4d5e6f7g2h3",
        "event": "proposal.frozen",
        "response_text": "",
        "body": '{"type": "proposal.frozen", "data": {"id": "prp_a2b3c4d5e6f7g2h3"}}',
    },
    "EstimateSummary": {
        "id": "est_a2b3c4d5e6f7g2h3",
        "name": RESNET["label"],
        "model": "resnet50",
        "system": RESNET["system"]["id"],
    },
    "PriceBookDocument": {"id": "pbk_a2b3c4d5e6f7g2h3", "name": BOOK["name"]},
    "PriceBookSummary": {"id": "pbk_a2b3c4d5e6f7g2h3", "name": BOOK["name"]},
    "ProposalSummary": {
        "id": "prp_a2b3c4d5e6f7g2h3",
        "name": PROPOSAL["title"],
        "customer": PROPOSAL["customer"],
        "status": "draft",
        "valid_until": PROPOSAL["valid_until"],
    },
    "RowChange": {**BOOK["rows"][0], "condition": "", "before": 248000, "after": 241000},
    "SizingSummary": {"id": "siz_a2b3c4d5e6f7g2h3", "name": SIZING["label"]},
    "StudyChange": {
        "field": "system.count",
        "option": "a",
        "before": 2,
        "after": 4,
        "message": "option “a”, system.count: 2 → 4",
    },
    "StudySummary": {"id": "stu_a2b3c4d5e6f7g2h3", "name": STUDY["name"]},
    "StudyVersions": {"id": "stu_a2b3c4d5e6f7g2h3"},
    "UploadSummary": {"id": "prf_a2b3c4d5e6f7g2h3", "name": TRANSFORMER["name"]},
}
"""Fields of stored documents, which no single request produces."""

PREFIX = "#/components/schemas/"


def illustrate(openapi: dict[str, Any], workspace: Workspace) -> None:
    """Add examples to fields, and whole answers to the responses of endpoints."""
    schemas = openapi["components"]["schemas"]
    examples = {
        name: document.model_dump(mode="json") for name, document in answers(workspace, REQUESTS).items()
    }
    more = [("EstimateRequest", body) for body in (BARE_FIGURE, OWN_MODEL, BERT_ON_IPUS)]
    more.append(("SweepRequest", FLEET_PLAN))
    more.append(("PartitionRequest", SLICES))
    for name, value in [*REQUESTS.items(), *more, *examples.items(), *PARTS.items()]:
        walk(schemas, {"$ref": PREFIX + name}, value)
    for operations in openapi["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                content = response.get("content", {}).get("application/json", {})
                if status.startswith("2") and content.get("schema") and "example" not in content:
                    content["example"] = sketched(schemas, content["schema"], examples)


MOST = 2
"""Entries that a list keeps in an example."""


def shortened(value: Any) -> Any:
    """Return an answer with only the first entries of its lists."""
    if isinstance(value, list):
        return [shortened(item) for item in value[:MOST]]
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    return value


def sketched(schemas: dict[str, Any], schema: dict[str, Any], examples: Mapping[str, Any]) -> Any:
    """Return the example of a schema, else one composed of the examples of its fields."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        return shortened(examples[name]) if name in examples else sketched(schemas, schemas[name], examples)
    for key in ("examples", "enum"):
        if key in schema:
            return schema[key][0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if {"type": "null"} in choices or not schema.keys() & {"type", "anyOf", "oneOf"}:
        return None
    if choices:
        return sketched(schemas, choices[0], examples)
    if "items" in schema:
        return [sketched(schemas, schema["items"], examples)]
    if "properties" in schema:
        return {name: sketched(schemas, part, examples) for name, part in schema["properties"].items()}
    return PLAIN[schema.get("format", schema["type"])]


PLAIN = {
    **{"object": {}, "integer": 1, "number": 1.0, "boolean": True},
    **{"date-time": "2026-11-02T09:30:00Z", "date": "2026-11-02"},
}
"""Placeholders of fields without an example; every text has one."""


def walk(schemas: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    """Add the values of an example to the fields of a schema that have none yet."""
    if isinstance(value, list) and "items" in schema:
        for item in value[:1]:
            walk(schemas, schema["items"], item)
    if not isinstance(value, dict):
        return
    for part in objects(schemas, schema):
        for name, field in part.get("properties", {}).items():
            if value.get(name) is not None:
                if not isinstance(value[name], dict | list) or is_texts(value[name]):
                    field.setdefault("examples", [value[name]])
                for choice in (field, *field.get("anyOf", ())):
                    walk(schemas, choice, value[name])


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def objects(schemas: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the object schemas that a schema refers to."""
    if "$ref" in schema:
        yield from objects(schemas, schemas[schema["$ref"].removeprefix(PREFIX)])
    for key in ("anyOf", "oneOf"):
        for choice in schema.get(key, ()):
            yield from objects(schemas, choice)
    if "properties" in schema:
        yield schema
