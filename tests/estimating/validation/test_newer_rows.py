"""How rows of newer runs get their model: sizes of a row, adapters, classes and refusals."""

import pytest

from app.estimating.validation.cases import (
    MeasurementCase,
    UnsupportedCase,
    find_model,
    load_rules,
    read_case,
)
from app.estimating.validation.predict import build, conversion
from app.profiles.bodies import TransformerBody
from app.profiles.model import ModelProfile
from tests.conftest import DATA, sizing_context

ROW = {
    "id": "row",
    "system": "dgx-a100-80g",
    "accelerators": "8",
    "nodes": "1",
    "metric": "samples_per_s",
    "precision": "bf16",
    "global_batch": "8",
    "micro_batch": "1",
}


def case_of(**cells: str) -> MeasurementCase:
    return read_case({**ROW, **cells}, load_rules(DATA / "validation"))


def shape_of(profile: ModelProfile) -> TransformerBody:
    assert isinstance(profile.body, TransformerBody)
    return profile.body


LLAMA2 = {
    "family": "llama",
    "model_name": "Llama-2-70B LoRA r=16 fine-tune, packed SCROLLS GovReport (MLPerf)",
    "hidden": "8192",
    "layers": "80",
    "heads": "64",
    "seq_len": "8192",
    "software": "NVIDIA NeMo Framework Release 24.04",
}


def test_a_row_with_fewer_layers_keeps_the_other_sizes_of_its_preset() -> None:
    case = case_of(
        family="moe",
        model_name="Grok-1 314B (MoE, 8 experts top-2) proxy, 16 layers",
        layers="16",
        hidden="6144",
        heads="48",
        seq_len="8192",
    )
    shape = shape_of(find_model(case)).shape
    assert (shape.layers, shape.experts, shape.vocabulary) == (16, 8, 131072)


def test_the_vocabulary_of_a_newer_family_is_its_own() -> None:
    case = case_of(
        family="llama",
        model_name="Llama-3-70B",
        hidden="8192",
        layers="80",
        heads="64",
        seq_len="8192",
    )
    profile = find_model(case)
    assert profile.id == "llama3-70b"
    assert shape_of(profile).shape.key_heads == 8
    assert profile.parameters == 70_553_706_496


def test_the_adapters_of_the_benchmark_train_queries_keys_values_and_outputs() -> None:
    case = case_of(**LLAMA2)
    context = sizing_context()
    assert case.profile is not None
    scenario, model, _ = build(case, context, context.software.profile(case.profile))
    assert model.id == "llama2-70b"
    # Rank 16 on 8192 → 8192 twice and on 8192 → 1024 twice, in 80 layers.
    assert scenario.table.trained_parameters == 80 * 16 * (2 * (8192 + 8192) + 2 * (8192 + 1024))
    assert scenario.table.tokens == 8192


def test_a_classifier_scores_classes_in_place_of_words() -> None:
    case = case_of(
        family="bert",
        model_name="run glue bert-large-uncased-whole-word-masking multi card (fine-tuning)",
        seq_len="128",
        software="optimum-habana (transformers Trainer)",
    )
    profile = find_model(case)
    table = profile.operators(profile.tokens(128))
    logits = table.names.index("logits")
    assert (table.rows[logits], table.columns[logits]) == (1, 2)
    answers = case_of(
        family="bert",
        model_name="run qa roberta-large multi card (fine-tuning)",
        software="optimum-habana (transformers Trainer)",
    )
    assert answers.seq_len == 384
    profile = find_model(answers)
    table = profile.operators(profile.tokens(384))
    assert table.rows[table.names.index("logits")] == 384


@pytest.mark.parametrize(
    "name", ["dpo llama-7b multi card", "ppo llama-7b multi card", "GPT-2 style 13B (Levanter)"]
)
def test_work_that_no_table_says_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UnsupportedCase, match=name.split(" ")[0]):
        find_model(case_of(family="llama", model_name=name, seq_len="512"))


BRIDGE = {
    "family": "llama",
    "model_name": "Llama-3-70B",
    "hidden": "8192",
    "layers": "80",
    "heads": "64",
    "seq_len": "8192",
    "system": "dgx-h100",
    "accelerators": "64",
    "nodes": "8",
    "global_batch": "256",
    "tp": "4",
    "pp": "8",
    "metric": "tflops_per_accel",
}


def test_a_rate_counts_the_attention_that_its_software_counts() -> None:
    """Of 6 N + 12 L s h FLOP a token Megatron-Bridge counts half of the attention, 12 L s h."""
    context = sizing_context()
    rates = []
    for software in ("Megatron-Bridge / NeMo 26.04", "NeMo Megatron (DGX Cloud recipe v25.02)"):
        case = case_of(**BRIDGE, software=software)
        profile = context.software.profile(str(case.profile))
        scenario, _, plans = build(case, context, profile)
        rates.append(float(conversion(case, scenario, plans, context)(scenario.step(plans).total)[0]))
    attention, weights = 12.0 * 80 * 8192 * 8192, 6.0 * 69.5e9
    whole = weights + attention
    assert rates[0] / rates[1] == pytest.approx((whole - attention / 2.0) / whole, rel=0.005)


@pytest.mark.parametrize(("stages", "chunks", "used"), [("8", "5", 5.0), ("8", "4", 1.0), ("16", "3", 1.0)])
def test_chunks_are_taken_where_no_stage_holds_more_layers_for_them(
    stages: str, chunks: str, used: float
) -> None:
    context = sizing_context()
    row = {**BRIDGE, "accelerators": "128", "nodes": "16", "pp": stages, "notes": f"VP {chunks}"}
    case = case_of(**row, software="Megatron-Bridge / NeMo 26.04")
    _, _, plans = build(case, context, context.software.profile(str(case.profile)))
    assert float(plans.interleave) == used


@pytest.mark.parametrize(
    ("notes", "context", "expert", "interleave"),
    [
        ("context-parallel 2, EP 64, virtual stages 4", 2, 64, 4),
        ("CP=2; EP=64; VPP=4", 2, 64, 4),
        ("config_GB200_128x4x112xtp4pp8cp2.sh", 2, None, None),
        ("context_parallel_size: 8, expert parallel size 16", 8, 16, None),
        ("expert-model-parallel 8, virtual pipeline 5", 1, 8, 5),
        ("EPYC 7742, recipe cpX", 1, None, None),
    ],
)
def test_degrees_are_read_however_notes_spell_them(
    notes: str, context: int, expert: int | None, interleave: int | None
) -> None:
    case = case_of(**LLAMA2, notes=notes)
    assert (case.context, case.expert, case.interleave) == (context, expert, interleave)


TPU = {"family": "moe", "model_name": "DeepSeek-V3", "system": "tpu-v5p", "software": "MaxText", "nodes": ""}


def test_tokens_of_a_step_in_the_notes_are_its_batch() -> None:
    case = case_of(
        **TPU, metric="step_time_s", global_batch="", accelerators="512", seq_len="4096",
        notes="25,165,824 tokens per step",
    )  # fmt: skip
    context = sizing_context()
    _, _, plans = build(case, context, context.software.profile(case.profile or ""))
    assert float(plans.global_batch[0]) == 6144.0


def test_a_step_without_a_batch_is_refused_and_a_rate_is_not() -> None:
    context = sizing_context()
    cells = {**TPU, "global_batch": "", "micro_batch": "", "accelerators": "512", "seq_len": "4096"}
    rate = case_of(**cells, metric="tokens_per_s")
    build(rate, context, context.software.profile(rate.profile or ""))
    step = case_of(**{**cells, "metric": "step_time_s"})
    with pytest.raises(UnsupportedCase):
        build(step, context, context.software.profile(step.profile or ""))


@pytest.mark.parametrize(
    ("software", "system", "model", "profile"),
    [
        ("Megatron-Bridge / NeMo 26.08", "gb300-nvl72", "Qwen3-30B-A3B", "megatron-core-recorded"),
        ("NeMo_26_06", "gb200-nvl72", "DeepSeek V3", "megatron-core-recorded"),
        ("megatron_bridge 0.5.1", "gb200-nvl72", "qwen3 235B", "megatron-core-recorded"),
        ("Megatron-Bridge 25.11", "gb200-nvl72", "Qwen3-235B-A22B", "megatron-core-scoped"),
        ("Megatron-Bridge 26.04", "dgx-h100", "gpt-oss-120b", "megatron-core-sinks"),
        ("Megatron-Bridge 26.06", "dgx-h100", "gpt-oss-120b", "megatron-core"),
        ("Megatron-Bridge 26.08", "gb200-nvl72", "Nemotron 3 Super", "megatron-core"),
        ("HAI-LLM (DualPipe)", "h800-sxm-80g", "DeepSeek-V3", "megatron-core-overlapped"),
    ],
)
def test_a_stack_of_mixtures_is_known_by_its_release(
    software: str, system: str, model: str, profile: str
) -> None:
    assert case_of(family="moe", software=software, system=system, model_name=model).profile == profile


def test_a_model_of_no_named_family_has_that_of_its_preset() -> None:
    assert case_of(family="other", model_name="Nemotron-H 56B", seq_len="8192").family == "gpt"
    assert case_of(family="other", model_name="run speech recognition whisper-small").family == "other"
