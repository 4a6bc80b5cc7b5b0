"""Drawn questions about networks: advice that is followed stays, and a faster network never loses."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.catalog.entries import Acquisition, ChipKind
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.estimate import estimate
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoice, FabricChoiceRequest, FabricOption

WORK: Mapping[str, Mapping[str, Any]] = {
    "bert-large": {"target": "mlperf-bert"},
    "resnet50": {"target": "mlperf-resnet50"},
    "gpt3-175b": {"tokens": 300e9},
    "llama2-70b": {"tokens": 2e12},
    "llama-7b": {"tokens": 1e12},
    "gpt2-1.5b": {"tokens": 1e10},
    "t5-11b": {"tokens": 1e11},
    "vit-large": {"epochs": 300, "dataset_samples": 1_281_167},
}
LATENCIES = ("hop_latency", "tree_latency", "message_latency")
BATCHES = (64, 128, 256, 512, 1024, 2048)
FABRICS = ("hdr-infiniband", "ndr-infiniband", "roce-400", "roce-200", "roce-100", "ethernet-100")


def drawn(number: int, context: SizingContext) -> dict[str, Any]:
    """Return the numbered request for a choice of network."""
    draw, catalog = random.Random(number), context.catalog
    systems = [
        entry.id
        for entry in catalog.systems()
        if entry.acquisition is Acquisition.OWN
        and entry.machine.chip.kind is ChipKind.GPU
        and entry.price is not None
    ]
    model = draw.choice(list(WORK))
    workload = dict(WORK[model])
    if draw.random() < 0.3:
        workload["global_batch"] = draw.choice(BATCHES)
    system: dict[str, Any] = {
        "id": draw.choice(systems),
        "count": draw.choice((2, 3, 4, 6, 8, 12, 16, 24, 40)),
    }
    if draw.random() < 0.6:
        system["fabric"] = draw.choice(FABRICS)
    if draw.random() < 0.2:
        system["ports_per_node"] = draw.choice((1, 2, 4, 8))
    assumptions: dict[str, Any] = {}
    if draw.random() < 0.3:
        assumptions["demand"] = draw.choice(({"utilisation": 0.75}, {"runs_per_year": 3}, {"runs": 5}))
    body: dict[str, Any] = {
        "estimate": {
            "model": {"preset": model},
            "workload": workload,
            "system": system,
            "assumptions": assumptions,
        },
        "threshold": draw.choice((0.02, 0.05, 0.05, 0.2)),
    }
    return body


def chosen(body: dict[str, Any], context: SizingContext) -> FabricChoice | None:
    """Return the choice; None where the model does not fit or the question has no answer."""
    try:
        found = choose_fabric(FabricChoiceRequest.model_validate(body), context)
    except AppError:
        return None
    return found if found.fits else None


def with_network(body: dict[str, Any], option: FabricOption) -> dict[str, Any]:
    """Return the question with a network as that of the option."""
    network = {"fabric": option.fabric, "ports_per_node": option.ports_per_node}
    system = {**body["estimate"]["system"], **network}
    return {**body, "estimate": {**body["estimate"], "system": system}}


def losses(found: FabricChoice, context: SizingContext) -> Iterator[tuple[str, str]]:
    """Yield the networks that are faster in every figure and take longer than another."""
    figures = {
        option.id: [context.catalog.fabric_figures(option.fabric)[name].si for name in LATENCIES]
        for option in found.options
    }
    for fast in found.options:
        for slow in found.options:
            quicker = all(a <= b for a, b in zip(figures[fast.id], figures[slow.id], strict=True))
            quicker = quicker and fast.node_bandwidth.value >= slow.node_bandwidth.value
            if quicker and fast.time_to_train.value > slow.time_to_train.value * (1.0 + 1e-9):
                yield fast.id, slow.id


def check_holds_still(number: int, context: SizingContext) -> bool:
    """Check one drawn question; return whether a network was recommended."""
    body = drawn(number, context)
    found = chosen(body, context)
    if found is None:
        return False
    assert list(losses(found, context)) == []
    system = found.system
    own = next(
        option
        for option in found.options
        if (option.fabric, option.ports_per_node) == (system.fabric, system.ports_per_node)
    )
    known = estimate(FabricChoiceRequest.model_validate(body).estimate, context).time_to_train
    assert known is not None
    assert own.time_to_train.value <= known.value * (1.0 + 1e-9)
    assert found.decision is not None and found.advice is not None
    recommended = found.decision.recommended
    assert found.advice.recommendation == recommended
    if recommended is None:
        return False
    option = next(option for option in found.options if option.id == recommended)
    again = chosen(with_network(body, option), context)
    assert again is not None and again.decision is not None
    assert again.decision.recommended == recommended, (body, again.decision.recommended)
    after = next(option for option in again.options if option.id == recommended)
    assert after.time_to_train.value == pytest.approx(option.time_to_train.value, rel=1e-9)
    return True
