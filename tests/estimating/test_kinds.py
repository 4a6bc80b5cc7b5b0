"""Kinds of training: what is trained, in which batches, and what is refused."""

from typing import Any

import pytest

from app.errors import BadInput
from app.estimating.documents import Estimate
from app.estimating.hardware import checkpointed_bytes
from app.estimating.workload import resolve_model
from app.features.sizings.model import SizingRequest
from app.features.sizings.search import SystemSearch
from tests.conftest import answer, codes, seconds, sizing_context

LLAMA: dict[str, Any] = {"preset": "llama2-7b"}


def tuned(kind: str, **workload: Any) -> Estimate:
    free = {"samples": None, "seq_len": None, "global_batch": None, "tokens": 1e8}
    return answer(model=LLAMA, workload=free | {"kind": kind} | workload)


def batch(found: Estimate) -> int:
    assert found.plan is not None
    return found.plan.global_batch


def test_a_fine_tune_has_the_physics_of_pre_training_and_its_own_batch() -> None:
    whole, fine = tuned("pretrain", global_batch=128), tuned("finetune", global_batch=128)
    assert whole.step_time == fine.step_time and whole.memory == fine.memory
    assert batch(tuned("finetune")) <= 128 < batch(tuned("pretrain", tokens=1e11))


def test_lora_trains_little_and_says_what() -> None:
    fine, lora, packed = (tuned(kind, global_batch=128) for kind in ("finetune", "lora", "qlora"))
    assert fine.model.trained_parameters == fine.model.parameters == lora.model.parameters
    assert lora.model.trained_parameters == 4_194_304
    assert seconds(lora) < seconds(packed) < seconds(fine)
    defaults = {default.field: default.value for default in packed.defaults}
    assert defaults["workload.lora_rank"] == 64
    assert str(defaults["workload.lora_modules"]).endswith("down_proj")
    assert {lora.validation.status, packed.validation.status} == {"extrapolated"}
    steps = {step.name: step for step in packed.trace}
    assert steps["trained_parameters"].value == packed.model.trained_parameters
    assert 0 < steps["dequantisation"].value < packed.step_time.value  # type: ignore[union-attr]
    assert "arXiv 2106.09685" in steps["training_flop_per_sample"].reference


def test_mfu_counts_what_frozen_weights_need() -> None:
    """Two thirds of the FLOP in about two thirds of the time: the utilisation stays where it was."""
    fine, lora = (tuned(kind, global_batch=128) for kind in ("finetune", "lora"))
    assert fine.mfu is not None and lora.mfu is not None
    assert lora.mfu.value == pytest.approx(fine.mfu.value, rel=0.15)


def test_a_checkpoint_holds_the_adapters_alone() -> None:
    fine, lora = (tuned(kind, global_batch=128) for kind in ("finetune", "lora"))

    def written(found: Estimate) -> float:
        (step,) = (one for one in found.trace if one.name == "checkpoints")
        return float(step.inputs["checkpoint_seconds"])  # type: ignore[arg-type]

    assert written(lora) / written(fine) == pytest.approx(4_194_304 / fine.model.parameters)
    assert checkpointed_bytes("adam") == 14.0


def test_a_70b_model_fits_on_one_gpu_with_qlora_alone() -> None:
    one = {"plan": {"data": 1, "tensor": 1, "pipeline": 1, "offload": False}}
    free = {"samples": 1e4, "seq_len": 512, "global_batch": 16}
    model = {"preset": "llama2-70b"}
    assert answer(model=model, workload=free | {"kind": "qlora"}, **one).fits
    assert not answer(model=model, workload=free | {"kind": "lora"}, **one).fits


def test_the_critical_batch_of_pre_training_says_nothing_of_a_fine_tune() -> None:
    assert "batch_beyond_critical" in codes(tuned("pretrain", global_batch=1024))
    assert "batch_beyond_critical" not in codes(tuned("finetune", global_batch=1024))


def test_modules_are_named_in_any_of_three_ways() -> None:
    listed, typed, grouped = (
        tuned("lora", global_batch=128, lora_modules=modules).model.trained_parameters
        for modules in (
            ["v_proj", "q_proj", "k_proj", "o_proj"],
            "q_proj, k_proj,v_proj,o_proj",
            "attention",
        )
    )
    assert listed == typed == grouped


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"workload": {"lora_rank": 8}}, "workload.lora_rank"),
        ({"workload": {"kind": "finetune", "lora_modules": "all"}}, "workload.lora_modules"),
        ({"workload": {"kind": "lora", "lora_rank": 0}}, "workload.lora_rank"),
        ({"workload": {"kind": "lora", "lora_rank": 10**6}}, "workload.lora_rank"),
        ({"workload": {"kind": "lora", "lora_modules": "wings"}}, "workload.lora_modules"),
        ({"workload": {"kind": "lora", "lora_modules": []}}, "workload.lora_modules"),
        ({"workload": {"kind": "lora", "lora_modules": ["q_proj", "gate_proj"]}}, "workload.lora_modules"),
        ({"workload": {"kind": "lora", "samples": None, "target": "mlperf-bert"}}, "workload.target"),
        ({"workload": {"kind": "finetune", "samples": None, "target": "mlperf-bert"}}, "workload.target"),
        ({"workload": {"kind": "qlora"}, "system": {"id": "bow-pod16"}}, "workload.kind"),
        ({"model": {"preset": "resnet50"}, "workload": {"kind": "lora", "seq_len": None}}, "workload.kind"),
        ({"model": {"total_flop": 1e20}, "workload": {"kind": "lora"}}, "workload.kind"),
    ],
)  # fmt: skip
def test_what_does_not_apply_is_refused_by_field(parts: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as refused:
        answer(**parts)
    assert [error.field for error in refused.value.errors] == [field]


def sizing(kind: str, **more: Any) -> SizingRequest:
    workload = {"kind": kind, "tokens": 1e8}
    return SizingRequest.model_validate({"model": LLAMA, "workload": workload, "deadline_s": 1e5} | more)


def test_systems_that_cannot_run_adapters_are_not_considered_unless_named() -> None:
    context = sizing_context()
    profile = resolve_model(sizing("lora").model, context)
    found = SystemSearch(sizing("lora"), profile, context).systems()
    assert "dgx-a100-640gb" in found and "bow-pod16" not in found
    assert "bow-pod16" in SystemSearch(sizing("finetune"), profile, context).systems()
    with pytest.raises(BadInput):
        SystemSearch(sizing("lora", systems=["bow-pod16"]), profile, context).candidate("bow-pod16", 1)
