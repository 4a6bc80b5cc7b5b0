"""The models and systems of the first issue, and the figures of the customers' documents."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.plans.mapping import map_model
from app.features.plans.model import MappingRequest
from app.profiles.model import ModelProfile
from app.profiles.readers.models import read_profile
from tests.conftest import answer, codes, seconds, sizing_context, warning
from tests.estimating.conftest import numbers, quantities
from tests.support.graphs import resnet50
from tests.support.views import LLAMA_7B

MODELS: Mapping[str, Mapping[str, Any]] = {
    "bert-large": {"model": {"preset": "bert-large"}, "workload": {"samples": 1e7, "seq_len": 128}},
    "resnet50": {"model": {"preset": "resnet50"}, "workload": {"epochs": 90, "dataset_samples": 1281167}},
    "gpt3-175b": {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}},
    "llama-7b config.json": {"model": {"config": LLAMA_7B}, "workload": {"tokens": 1e12}},
    "resnet50 onnx": {
        "model": {"profile_id": "resnet50.onnx"},
        "workload": {"epochs": 90, "dataset_samples": 1281167},
    },
}

SYSTEMS = [
    *(("dgx-a100-640gb", count) for count in (1, 2, 8, 32, 128)),
    *((name, 1) for name in ("ipu-m2000", "bow-2000")),
    *((f"ipu-pod{size}", 1) for size in (16, 64, 128, 256)),
    *((f"bow-pod{size}", 1) for size in (16, 64, 128, 256)),
]


@cache
def uploaded(_: str) -> ModelProfile:
    return read_profile("resnet50.onnx", resnet50())


def estimated(request: Mapping[str, Any], system: str, count: int = 1, **more: Any) -> Estimate:
    document = {**request, "system": {"id": system, "count": count}, **more}
    context = replace(sizing_context(), find_profile=uploaded)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        return estimate(EstimateRequest.model_validate(document), context)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("system", "count"), SYSTEMS)
def test_every_model_is_answered_on_every_system(model: str, system: str, count: int) -> None:
    found = estimated(MODELS[model], system, count)
    document = found.model_dump()
    assert all(math.isfinite(number) for _, number in numbers(document))
    assert all(part["low"] <= part["value"] <= part["high"] for _, part in quantities(document))
    assert found.memory is not None
    if found.fits:
        assert seconds(found) > 0
        assert found.trace
        assert found.roofline
        assert found.sensitivity
        assert {part.part for part in found.breakdown or []} >= {"gemm", "fixed"}
    else:
        message = warning(found, "does_not_fit").message
        assert " GB " in message
        assert "would" in message


FITS = {
    ("gpt3-175b", "dgx-a100-640gb", 1): False,
    ("gpt3-175b", "dgx-a100-640gb", 8): True,
    ("gpt3-175b", "ipu-pod64", 1): False,
    ("gpt3-175b", "bow-pod256", 1): True,
    ("llama-7b config.json", "ipu-m2000", 1): False,
    ("llama-7b config.json", "dgx-a100-640gb", 1): True,
    ("bert-large", "ipu-m2000", 1): True,
    ("resnet50 onnx", "bow-2000", 1): True,
}


@pytest.mark.parametrize(("model", "system", "count"), FITS)
def test_what_is_known_to_fit_fits(model: str, system: str, count: int) -> None:
    """175 B parameters need 64 A100 of 80 GB (Korthikanti et al. 2022), and streaming memory on IPUs."""
    assert estimated(MODELS[model], system, count).fits == FITS[model, system, count]


@pytest.mark.parametrize("model", MODELS)
def test_more_machines_take_less_time(model: str) -> None:
    """Not in proportion, except where more memory spares GPT-3 some of its recomputation."""
    counts = (8, 32, 128)
    times = [seconds(estimated(MODELS[model], "dgx-a100-640gb", count)) for count in counts]
    assert times[0] > times[1] > times[2]
    if model != "gpt3-175b":
        assert times[0] * counts[0] <= times[1] * counts[1] <= times[2] * counts[2]


@pytest.mark.parametrize(
    ("model", "software"), [("bert-large", "poplar-3-popart"), ("resnet50", "poplar-3-tf1-loop")]
)
@pytest.mark.parametrize("size", [16, 64, 256])
def test_bow_is_faster_than_mk2_but_by_no_more_than_its_clock(model: str, software: str, size: int) -> None:
    """“Up to 40 %” on the same software: 1.85 over 1.325 GHz."""
    old, new = (
        seconds(estimated(MODELS[model], f"{kind}-pod{size}", software=software)) for kind in ("ipu", "bow")
    )
    assert 1.0 < old / new <= 1.85 / 1.325


def test_an_uploaded_resnet_costs_what_the_preset_costs() -> None:
    for system, software in (("dgx-a100-640gb", "gpu-tuned"), ("bow-pod16", "poplar-3-tf1-loop")):
        # A preset knows the batch of its own training: at one batch and micro-batch for both.
        cases = [MODELS[model] for model in ("resnet50", "resnet50 onnx")]
        alike = [{**case, "workload": {**case["workload"], "global_batch": 2048}} for case in cases]
        plan = {"micro_batch": 8}
        here, there = (seconds(estimated(case, system, software=software, plan=plan)) for case in alike)
        assert there == pytest.approx(here, rel=0.05)


def test_a_config_gives_what_the_preset_gives() -> None:
    plan = {"tensor": 1, "pipeline": 1, "micro_batch": 1, "sharding": "parameters"}
    workload = {"tokens": 1e12, "global_batch": 1024}
    ours = estimated({"model": {"config": LLAMA_7B}, "workload": workload}, "dgx-a100-640gb", 8, plan=plan)
    theirs = estimated(
        {"model": {"preset": "llama-7b"}, "workload": workload}, "dgx-a100-640gb", 8, plan=plan
    )
    assert ours.model.parameters == theirs.model.parameters == 6_738_415_616
    assert seconds(ours) == pytest.approx(seconds(theirs), rel=1e-9)


def test_160_gpus_are_24_96_petaflop_in_tf32() -> None:
    """Seed 002: 20 DGX A100, 25 PFLOP/s dense TF32."""
    found = answer(model={"total_flop": 3.14e23}, system={"count": 20}, assumptions={"peak": "tf32_dense"})
    assert found.trace[0].inputs["peak"] == pytest.approx(24.96e15)
    assert found.system.devices == 160
    assert "sparse_peak" not in codes(found)


@pytest.mark.parametrize(("pipeline", "data"), [(4, 4), (8, 2)])
def test_bert_large_on_a_pod16_both_ways(pipeline: int, data: int) -> None:
    """Seed 001 gives four stages on four replicas, and eight stages that stay in the processor."""
    workload = {"samples": 1e7, "seq_len": 128, "global_batch": 8192}
    plan = {"tensor": 1, "pipeline": pipeline, "data": data}
    found = estimated({"model": {"preset": "bert-large"}, "workload": workload}, "ipu-pod16", plan=plan)
    assert found.fits
    assert found.plan is not None
    assert (found.plan.pipeline, found.plan.data, found.plan.phases) == (pipeline, data, 1)
    assert sum(found.plan.stage_layers) == 24
    assert "devices_unused" not in codes(found)


def test_gpt3_on_a_pod256_needs_phases() -> None:
    """Seed 001: 8 · 8 · 4, twelve layers a stage; at least seven phases for the weights alone."""
    plan = {"tensor": 8, "pipeline": 8, "data": 4}
    workload = {"tokens": 300e9, "global_batch": 64}
    found = estimated({"model": {"preset": "gpt3-175b"}, "workload": workload}, "ipu-pod256", plan=plan)
    assert found.fits
    assert found.plan is not None
    assert (found.plan.tensor, found.plan.pipeline, found.plan.data) == (8, 8, 4)
    assert found.plan.stage_layers == [12] * 8
    assert found.plan.phases >= 7
    assert found.validation.status == "unvalidated"
    assert codes(found) >= {"phased_execution", "generation_mk2", "unvalidated"}
    mapping = map_model(
        MappingRequest(system="ipu-pod256", parameters=175e9, layers=96, tensor=8, pipeline=8, replicas=4),
        sizing_context().catalog,
        sizing_context().software.profile(found.software or "").ipu(),
    )
    assert found.plan.phases >= mapping.minimum_phases == 7
