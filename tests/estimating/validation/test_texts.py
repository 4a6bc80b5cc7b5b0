"""One meaning has one answer, however a row spells it."""

import math
from collections.abc import Mapping

import pytest

from app.estimating.validation.run import RowResult, predict_row
from app.estimating.validation.texts import compute_adapters
from tests.conftest import sizing_context

LLAMA = {
    "id": "run", "group": "run", "family": "llama", "model_name": "Llama-3-70B", "params": "70554000000",
    "hidden": "8192", "layers": "80", "heads": "64", "seq_len": "8192", "precision": "bf16",
    "system": "dgx-h100", "accelerators": "64", "nodes": "8", "interconnect": "", "global_batch": "128",
    "micro_batch": "1", "dp": "4", "tp": "4", "pp": "4", "zero": "1", "recompute": "none",
    "metric": "step_time_s", "samples_or_tokens_total": "", "software": "NeMo 25.04", "notes": "",
}  # fmt: skip


def found(row: Mapping[str, str] = LLAMA, **cells: str) -> RowResult:
    context = sizing_context()
    return predict_row({**row, **cells}, context, context.measured)


def seconds(row: Mapping[str, str] = LLAMA, **cells: str) -> float:
    result = found(row, **cells)
    assert result.predicted is not None, result.reason
    return result.predicted


@pytest.mark.parametrize(
    "software",
    [
        "NeMo 24.03",
        "NeMo24.03",
        "NeMo v24.03",
        "NeMo_v24_03",
        "nemo-24.03",
        "nemo.24.03",
        "NeMo (24.03)",
        "NEMO 2403",
    ],
)
def test_a_version_has_any_separator(software: str) -> None:
    assert found(software=software).software == "megatron-core-2024"


@pytest.mark.parametrize(
    "software",
    [
        *("Megatron-LM", "megatron_lm 0.12", "Megatron LM core_r0.12", "MegatronLM", "Megatron-Core v0.11"),
        *("PyTorch 2.6 + Megatron-LM", "PyTorch 25.04, Transformer Engine 2.1, Megatron-Core 0.12.0"),
        *("NGC PyTorch 25.02; NeMo Framework 25.02", "CUDA 12.8 / PyTorch / Megatron-Bridge 26.04"),
        "Megatron-DeepSpeed (ZeRO-1)",
    ],
)
def test_the_library_that_does_the_work_decides(software: str) -> None:
    assert found(software=software).software == "megatron-core"


@pytest.mark.parametrize(
    ("software", "chip", "profile"),
    [
        ("DeepSpeed ZeRO-3", "dgx-a100-80g", "deepspeed-zero3-2021"),
        ("DeepSpeed ZeRO-3, FlashAttention 2", "dgx-a100-80g", "gpu-eager-flash"),
        ("PyTorch 2.3, DeepSpeed 0.14 (ZeRO stage 3)", "dgx-a100-80g", "gpu-eager-flash"),
        ("DeepSpeed ZeRO-3", "dgx-h100", "gpu-eager-flash"),
        ("torchtitan (FSDP2, torch.compile)", "dgx-h100", "fsdp-compile"),
        ("MaxText, JAX 0.4.30", "dgx-h100", "xla-gpu"),
        ("torchtitan", "mi300x", "fsdp-compile"),
        ("Primus 25.9 (Megatron)", "mi355x", "megatron-rocm"),
    ],
)
def test_a_technique_does_not_decide_the_age_of_the_kernels(software: str, chip: str, profile: str) -> None:
    assert found(software=software, system=chip).software == profile


@pytest.mark.parametrize("text", ["some-new-trainer 3.1", "", "in-house", "PyTorch 2.9"])
@pytest.mark.parametrize("chip", ["dgx-a100-80g", "dgx-h100", "dgx-b200", "gb300-nvl72", "mi355x", "tpu-v6e"])
def test_unknown_software_is_the_usual_one_of_an_estimate(text: str, chip: str) -> None:
    result = found(software=text, system=chip, pp="1", dp="16")
    assert result.software is not None
    named = found(software="NeMo 25.04" if chip[:3] != "tpu" else "MaxText", system=chip, pp="1", dp="16")
    assert abs(math.log((result.predicted or 1) / (named.predicted or 1))) < math.log(1.5)
    assert result.high is not None and result.low is not None
    assert result.high / result.low >= 1.2


BERT = {**LLAMA, "family": "bert", "model_name": "BERT-Large", "hidden": "1024", "layers": "24",
        "heads": "16",
        "params": "336000000", "seq_len": "128", "precision": "16.16", "system": "bow-pod16",
        "accelerators": "16",
        "nodes": "4", "dp": "4", "tp": "1", "pp": "4", "zero": "", "recompute": "", "global_batch": "65536",
        "micro_batch": "", "metric": "samples_per_s"}  # fmt: skip


@pytest.mark.parametrize(
    "software",
    [
        "PopART / Poplar SDK2.5",
        "Poplar SDK 2.5.1, PopART",
        "Poplar-SDK-v2.5 (PopART)",
        "popart, poplar_sdk_2.5",
    ],
)
def test_the_parts_of_an_ipu_stack_have_any_order(software: str) -> None:
    assert found(BERT, software=software).software == "poplar-2.5-popart"


@pytest.mark.parametrize(
    ("text", "devices", "fabric", "ports"),
    [
        ("NVLink | Management: Ethernet 100Gb/s, Storage: 2x NDR, Compute: 8x HDR", 8, "hdr-infiniband", 8),
        ("PCIe Gen4 | BF3 200Gbps for NS and 2xBF3 400Gbps for EW", 4, "ndr-infiniband", 2),
        ("8x 400GbE RoCE, 1x 100GbE management", 8, "roce-400", 8),
        ("NVSwitch intra; 8 x ConnectX-7 NDR", 8, "ndr-infiniband", 8),
        ("ConnectX-8 800 Gb/s per GPU", 4, "xdr-infiniband", 4),
        ("NVLink intra; 1600 Gb/s RoCE per node", 8, "roce-200", 8),
        ("HDR InfiniBand", 8, "hdr-infiniband", 0),
    ],
)  # fmt: skip
def test_the_adapter_of_the_accelerators_is_the_fabric(
    text: str, devices: int, fabric: str, ports: int
) -> None:
    adapters = compute_adapters(text, devices)
    assert adapters is not None
    assert (adapters.fabric, adapters.ports) == (fabric, ports)


@pytest.mark.parametrize(
    "text", ["", "NVLink 900 GB/s", "NVSwitch | 2x 10GbE", "18x NVLink 25GB/s", "n/a", "PCIe 5.0 x16"]
)
def test_links_inside_a_machine_are_no_fabric(text: str) -> None:
    assert compute_adapters(text, 8) is None


@pytest.mark.parametrize(
    "cells",
    [
        {"zero": "3 + CPU offload"},
        {"software": "DeepSpeed ZeRO-3 Offload"},
        {"notes": "optimizer offloaded to the host; optimizer offload"},
        {"recompute": "full, cpu-offload"},
    ],
)
def test_offload_is_read_wherever_it_is_written(cells: dict[str, str]) -> None:
    large = {"pp": "1", "dp": "16"}
    assert "gpu_offload" in found(**(large | cells)).regimes
    assert "gpu_offload" not in found(**large, zero="3").regimes


@pytest.mark.parametrize(
    ("chip", "texts"),
    [
        ("mi355x", ("mxfp4+bf16", "MXFP4", "fp4", "MX-FP4 (W4A4)")),
        ("b200-sxm-180g", ("nvfp4+bf16", "NVFP4", "fp4", "NV FP4")),
        ("mi350x", ("fp8+bf16", "FP-8", "float8 e4m3", "fp8 (OCP)")),
        ("tpu-v6e", ("int8+bf16 (AQT)", "INT8", "int-8")),
    ],
)
def test_narrow_formats_are_the_chips_own(chip: str, texts: tuple[str, ...]) -> None:
    row = {**LLAMA, "system": chip, "pp": "1", "dp": "16", "software": ""}
    narrow = [seconds(row, precision=text) for text in texts]
    assert len(set(narrow)) == 1
    assert narrow[0] < 0.9 * seconds(row, precision="bf16")


def test_a_silent_pipeline_has_the_best_legal_interleave() -> None:
    silent, stated = seconds(), [seconds(notes=f"VP {chunks}") for chunks in (1, 2, 4, 5, 10, 20)]
    assert silent == pytest.approx(min(stated), rel=0.01)
    assert silent < stated[0]


def test_uneven_pipelines_are_predicted() -> None:
    model = {"model_name": "Llama-3.1-405B", "params": "", "hidden": "", "layers": "", "heads": ""}
    result = found(**model, accelerators="8192", nodes="1024", tp="8", pp="16", dp="64", global_batch="2048")
    assert result.supported, result.reason


MIXTURE = {**LLAMA, "family": "moe", "model_name": "DeepSeek-V3 671B-A37B (MLPerf)", "params": "",
           "hidden": "", "layers": "", "heads": "", "seq_len": "4096", "system": "gb200-nvl72",
           "accelerators": "256", "nodes": "64",
           "tp": "1", "dp": "32", "pp": "8", "global_batch": "2048", "notes": "EP 64",
           "metric": "time_to_train_min"}  # fmt: skip


def test_totals_have_the_unit_that_fills_a_step() -> None:
    samples = seconds(MIXTURE, samples_or_tokens_total="81920")
    plain = MIXTURE["model_name"].replace(" (MLPerf)", "")
    assert seconds(MIXTURE, model_name=plain, samples_or_tokens_total=str(81920 * 4096)) == pytest.approx(
        samples, rel=0.05
    )
    assert seconds(MIXTURE, model_name=plain, samples_or_tokens_total="81920 samples") == pytest.approx(
        samples, rel=0.05
    )
    step = seconds(MIXTURE, metric="step_time_s")
    assert samples * 60.0 >= 40.0 * step * (1.0 - 1e-9)


def test_a_run_shorter_than_a_step_is_refused() -> None:
    result = found(MIXTURE, samples_or_tokens_total="100")
    assert not result.supported
    assert "shorter than one step" in result.reason


def test_evaluations_of_a_language_benchmark_count() -> None:
    lora = {**LLAMA, "model_name": "Llama-2-70B LoRA r=16 fine-tune (MLPerf)", "accelerators": "8",
            "nodes": "1", "tp": "1", "pp": "1", "dp": "8", "zero": "1", "global_batch": "8",
            "precision": "fp8+bf16", "samples_or_tokens_total": "3120"}  # fmt: skip
    steps = seconds(lora, metric="step_time_s") * 3120.0 / 8.0
    whole = 60.0 * seconds(lora, metric="time_to_train_min")
    assert 1.05 * steps < whole < 1.25 * steps


JUDGED = (
    *(
        "h200-sxm-141g",
        "dgx-h200",
        "h200-nvl-141g",
        "gb300-nvl72",
        "b300-sxm-270g",
        "dgx-b300",
        "mi325x",
        "mi350x",
    ),
    *(
        "mi355x",
        "gaudi3",
        "tpu-v4",
        "tpu-v6e",
        "tpu-v7-ironwood",
        "l4",
        "l40s",
        "a40",
        "h100-nvl-94g",
        "mi250",
    ),
    *("h100-sxm-96g", "h100-sxm-96g-hbm2e-500w", "h800-sxm-80g", "gh200-96g", "mi250x", "a10g", "rtx-a5000"),
    *("rtx-4090", "rtx-pro-6000"),
)


@pytest.mark.parametrize("name", JUDGED)
def test_every_named_system_is_known_in_any_spelling(name: str) -> None:
    small = {**LLAMA, "model_name": "Llama-3-8B", "layers": "4", "hidden": "4096", "heads": "32",
             "params": "", "accelerators": "8", "nodes": "1", "tp": "1", "pp": "1", "dp": "8",
             "seq_len": "1024", "global_batch": "8", "software": ""}  # fmt: skip
    step = seconds(small, system=name)
    for spelling in (name.upper(), name.replace("-", " "), name.replace("-", "_")):
        assert seconds(small, system=spelling) == step
    if name[-1] == "g" and name[-2].isdigit():
        assert seconds(small, system=f"{name}b") == step


def test_empty_columns_crash_nothing() -> None:
    for name in LLAMA:
        result = found(**{name: ""})
        assert result.supported or result.reason
