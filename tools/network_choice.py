"""The tables of the methodology that say where a choice of network turns, computed and not typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.estimating.context import SizingContext
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoice, FabricChoiceRequest
from tools.markdown import percent, table

SYSTEM = "dgx-a100-640gb"
MACHINES = (2, 4, 8)
DEVICES = 8
ACCUMULATIONS = (1, 4)
THRESHOLD = 0.05
SLOWEST, FASTEST = ("roce-100", 1), ("roce-200", 8)

WORDS = {
    "data_volume": "volume of gradients and weights",
    "data_latency": "latency",
    "tensor_across_machines": "exchange inside layers",
    "pipeline_across_machines": "transfers between stages",
    "overlap": "overlap",
    "accumulation": "accumulation",
}
"""Term → what the table calls it."""


@dataclass(frozen=True, slots=True)
class NetworkCase:
    """A model at a stated micro-batch."""

    title: str
    model: str
    workload: Mapping[str, object]
    micro_batch: int

    def choice(self, machines: int, accumulation: int, context: SizingContext) -> FabricChoice:
        """Return the slowest network of the ladder against the fastest, data parallel without sharding."""
        batch = machines * DEVICES * self.micro_batch * accumulation
        request = {
            "estimate": {
                "model": {"preset": self.model},
                "workload": {**self.workload, "samples": 1e8, "global_batch": batch},
                "system": {"id": SYSTEM, "count": machines},
                "plan": {
                    "tensor": 1,
                    "pipeline": 1,
                    "micro_batch": self.micro_batch,
                    "accumulation": accumulation,
                    "recompute": "none",
                    "sharding": "none",
                },
            },
            "options": [{"fabric": fabric, "ports_per_node": ports} for fabric, ports in (SLOWEST, FASTEST)],
            "threshold": THRESHOLD,
        }
        return choose_fabric(FabricChoiceRequest.model_validate(request), context)


CASES = (
    NetworkCase(
        "BERT-Large, sequences of 512 tokens, fp16", "bert-large", {"seq_len": 512, "precision": "fp16"}, 16
    ),
    NetworkCase("ResNet-50, fp16", "resnet50", {"precision": "fp16"}, 128),
)


def network_tables(context: SizingContext) -> str:
    """Return the tables of gains along the ladder, and where and why the advice changes."""
    return "\n\n".join(part for case in CASES for part in _of_case(case, context))


def _of_case(case: NetworkCase, context: SizingContext) -> list[str]:
    choices = {
        (machines, accumulation): case.choice(machines, accumulation, context)
        for accumulation in ACCUMULATIONS
        for machines in MACHINES
    }
    heads = [f"{machines} × DGX, M = {accumulation}" for machines, accumulation in choices]
    columns = [choice.turning for choice in choices.values() if choice.turning is not None]
    rows = [
        [rung.label, *(_cell(column.rungs[index].exposed.share, column.rungs[index].left_to_gain)
                       for column in columns)]
        for index, rung in enumerate(columns[0].rungs)
    ]  # fmt: skip
    batches = ", ".join(
        f"{machines * DEVICES * case.micro_batch * accumulation:,}" for machines, accumulation in choices
    )
    advices = [choice.advice for choice in choices.values() if choice.advice is not None]
    rows += [
        ["**enough from**", *(column.turns_at or "" for column in columns)],
        ["**1 × 100 is enough from M =**", *(_whole(column.slowest_enough_from) for column in columns)],
        ["**decided by**", *(WORDS.get(advice.decided_by.term, "") for advice in advices)],
    ]
    lead = (
        f"**{case.title}**, micro-batches of {case.micro_batch} samples on each GPU, M of them a step; "
        f"global batches {batches}. Each cell is the exposed communication over the step, and what "
        "8 × 200 Gb/s would gain."
    )
    return [lead, table(["network", *(f"{head}:" for head in heads)], rows)]


def _cell(exposed: float, left: float) -> str:
    return f"{percent(exposed)}, {percent(left)}"


def _whole(count: int | None) -> str:
    return "–" if count is None else f"{count}"
