"""From an estimate to the PDF of a frozen proposal, by a client that was made from the description."""

from __future__ import annotations

import sys
from typing import TypeVar

from generated import Client
from generated.api.comparisons import create_comparison
from generated.api.estimates import create_estimate
from generated.api.proposals import create_proposal, freeze_proposal, proposal_csv, proposal_pdf
from generated.api.studies import answer_study, create_study
from generated.models.comparison_request import ComparisonRequest
from generated.models.estimate_request import EstimateRequest
from generated.models.model_input import ModelInput
from generated.models.problem import Problem
from generated.models.proposal_request import ProposalRequest
from generated.models.published_figure import PublishedFigure
from generated.models.published_figure_kind import PublishedFigureKind
from generated.models.state_request import StateRequest
from generated.models.study_base import StudyBase
from generated.models.study_content import StudyContent
from generated.models.study_option import StudyOption
from generated.models.system_input import SystemInput
from generated.models.workload_input import WorkloadInput

Answer = TypeVar("Answer")


def done(answer: Answer | Problem | None) -> Answer:
    """Return an answer that is no problem."""
    assert answer is not None and not isinstance(answer, Problem), answer
    return answer


client = Client(base_url=sys.argv[1], timeout=None)
model = ModelInput(preset="bert-large")
workload = WorkloadInput(samples=1e6, global_batch=512, seq_len=512)
request = EstimateRequest(model=model, workload=workload, system=SystemInput(id="dgx-a100-640gb"))

estimate = done(create_estimate.sync(client=client, body=request))
figure = PublishedFigure(label="A", hours=69.5, kind=PublishedFigureKind.VENDOR)
comparison = done(create_comparison.sync(client=client, body=ComparisonRequest(rows=[request, figure])))
options = [StudyOption(system=SystemInput(id=name)) for name in ("dgx-a100-640gb", "ipu-pod16")]
content = StudyContent(name="Seoul", base=StudyBase(model=model, workload=workload), options=options)
study = done(create_study.sync(client=client, body=content))
answer = done(answer_study.sync(study.id, client=client, body=StateRequest()))
asked = ProposalRequest(customer="하이퍼커넥트", comparison_id=comparison.id)
proposal = done(create_proposal.sync(client=client, body=asked))
frozen = done(freeze_proposal.sync(proposal.id, client=client))
pdf = done(proposal_pdf.sync(frozen.id, client=client))
lines = done(proposal_csv.sync(frozen.id, client=client))

unknown = EstimateRequest(model=ModelInput(preset="bert-huge"), workload=workload, system=request.system)
refused = create_estimate.sync(client=client, body=unknown)
assert isinstance(refused, Problem) and refused.errors[0].field == "model.preset", refused

assert estimate.time_to_train is not None
print(estimate.time_to_train.unit, *(one.key for one in answer.options), pdf.payload.read(5).decode())
print(len(lines.splitlines()))
