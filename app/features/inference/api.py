"""Serving a model."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from app.features.inference.answering import infer
from app.features.inference.model import Inference, InferenceRequest
from app.platform.rates import CostClass
from app.platform.web.api import ASK, api_router
from app.platform.web.deps import WorkspaceDep
from app.platform.web.examples import INFERENCE
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("inference")


@router.post("/inference", summary="Serve a model", responses=ASK)
@requires(Right.ASK, CostClass.SEARCH, body=LARGE_BODY)
def serve_model(
    workspace: WorkspaceDep, body: Annotated[InferenceRequest, Body(examples=[INFERENCE])]
) -> Inference:
    """Compute latency, throughput, memory, energy and cost of a decoder on several systems.

    Without ``batch`` and ``tensor`` those with the most output under the latency limits are chosen;
    ``curve`` has every batch. No measured inference run is at hand, so every answer is unvalidated. Nothing
    is stored.
    """
    return infer(body, workspace.context())
