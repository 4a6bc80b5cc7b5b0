"""Measured runs on IPUs: accuracy by family, evaluation, and what lies beyond the measured sizes."""

from collections.abc import Mapping

import numpy as np
import pytest

from app.estimating.validation.cases import THROUGHPUT, read_case
from app.estimating.validation.predict import build
from app.estimating.validation.run import RowResult, predict_row, read_rows, summary, validate
from tests.conftest import DATA, sizing_context

Row = Mapping[str, str]

MEASURED = (DATA / "validation" / "measured.csv").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return [row for row in read_rows(MEASURED) if "ipu" in row["system"] or "bow" in row["system"]]


@pytest.fixture(scope="module")
def results(rows: list[dict[str, str]]) -> dict[str, RowResult]:
    sourced = [row for row in rows if row["confidence"] != "memory" and int(row["priority"]) <= 2]
    return {result.id: result for result in validate(sourced, sizing_context()).rows}


def row_of(rows: list[dict[str, str]], start: str) -> dict[str, str]:
    return dict(next(row for row in rows if row["id"].startswith(start)))


def predicted(row: Row) -> float:
    found = predict_row(row, sizing_context(), sizing_context().measured)
    assert found.predicted is not None, found.reason
    return found.predicted


@pytest.mark.parametrize("family", ["bert", "resnet50", "resnext101", "efficientnet", "conformer", "all"])
def test_every_family_is_predicted_closely(family: str, results: dict[str, RowResult]) -> None:
    chosen = [row for row in results.values() if row.metric in THROUGHPUT and family in {row.family, "all"}]
    found = summary(family, chosen)
    assert found.supported == found.rows > 0
    assert found.median is not None and found.ninetieth is not None
    assert found.median <= 0.08, found
    assert found.ninetieth <= 0.20, found


def test_time_to_train_is_predicted(results: dict[str, RowResult]) -> None:
    found = summary("training time", [row for row in results.values() if row.metric == "time_to_train_min"])
    assert found.rows == 16
    assert found.median is not None and found.ninetieth is not None
    assert found.median <= 0.10, found
    assert found.ninetieth <= 0.20, found


@pytest.mark.parametrize(
    "run", ["mlperf-v1.1-graphcore-ipu-pod16-tf1", "mlperf-v2.0-graphcore-ipu-pod64-tf1"]
)
def test_evaluation_takes_what_whole_runs_take_longer(run: str, rows: list[dict[str, str]]) -> None:
    """Whole runs of ResNet took 21 to 25 s more than their training on either size of pod (SDK 2.3, 2.5)."""
    whole, training = (
        next(row for row in rows if row["id"].startswith(run) and row["id"].endswith(end))
        for end in ("sps-e2e", "sps-train")
    )
    samples = 38 * 1_281_167
    seconds = samples / predicted(whole) - samples / predicted(training)
    assert 15 < seconds < 32


def test_a_published_split_of_bert_is_taken_as_it_is(rows: list[dict[str, str]]) -> None:
    context = sizing_context()
    for start, layers in (
        ("mlperf-v1.0-graphcore-ipu-pod64-popart", (0, 3, 3, 3, 3, 4, 4, 4)),
        ("mlperf-v1.1-graphcore-ipu-pod16-popart", (4.5, 6.5, 6.5, 6.5)),
        ("mlperf-v2.0-graphcore-ipu-pod64-popart", (1, 3, 3, 3, 3.5, 3.5, 3.5, 3.5)),
        ("gc-bertL-ph2p-bow16-popart", (3, 7, 7, 7)),
    ):
        case = read_case(row_of(rows, start), context.rules)
        assert case.profile is not None
        scenario, _, plans = build(case, context, context.software.profile(case.profile))
        assert scenario.stage_lists(plans)[0] == layers


def larger(row: Row, system: str, devices: int, batch: int) -> dict[str, str]:
    return dict(row) | {
        "system": system,
        "accelerators": str(devices),
        "nodes": str(devices // 4),
        "dp": str(devices // int(row["pp"])) if row["pp"] else "",
        "global_batch": str(batch),
    }


@pytest.mark.parametrize(
    "start", ["mlperf-v2.0-graphcore-ipu-pod64-tf1-closed-resnet-sps-train", "gc-bertL-ph2p-bow64-popart"]
)
def test_racks_joined_by_gateways_lose_little_at_the_same_work_each(
    start: str, rows: list[dict[str, str]]
) -> None:
    one = next(row for row in rows if row["id"].startswith(start) and row["metric"] == "samples_per_s")
    batch = int(float(one["global_batch"]))
    rates = [predicted(one)] + [
        predicted(larger(one, f"bow-pod{devices}", devices, batch * devices // 64)) for devices in (128, 256)
    ]
    efficiency = np.array(rates) / rates[0] / np.array([1, 2, 4])
    # Optimizer state shared by more replicas streams a little less each, which may outweigh the gateways.
    assert np.all((efficiency > 0.95) & (efficiency < 1.02))


def test_racks_joined_by_gateways_lose_more_at_the_same_batch(rows: list[dict[str, str]]) -> None:
    one = row_of(rows, "gc-bertL-ph1-bow64-popart")
    rates = [
        predicted(dict(one) | {"system": f"bow-pod{devices}", "accelerators": str(devices), "nodes": ""})
        for devices in (64, 128, 256)
    ]
    efficiency = np.array(rates) / rates[0] / np.array([1, 2, 4])
    assert np.all(np.diff(efficiency) < 0)
    assert 0.7 < efficiency[-1] < 0.98


def test_gpt_2_on_one_machine_is_as_near_as_the_ambiguous_measurement_allows(
    rows: list[dict[str, str]],
) -> None:
    """CARAML, GPT-2 117M on an IPU-M2000: between 7 % slower and 29 % faster."""
    row = row_of(rows, "caraml-gpt117m")
    faster = float(row["value"]) / predicted(row)
    assert 0.93 <= faster <= 1.29


PUBLISHED = (
    ("vit", "ViT-B/16", "", "224", "bow-pod16", 16, 8160, "PyTorch / Poplar SDK3.0"),
    ("vit", "ViT-B/16", "", "224", "bow-pod64", 64, 65536, "PyTorch / Poplar SDK3.0"),
    ("unet", "UNet (medical)", "", "572", "ipu-m2000", 4, 24, "TF2 / Poplar SDK3.0"),
    ("gpt", "GPT-2 355M", "1024", "", "bow-pod16", 16, 8192, "PyTorch / Poplar SDK3.0"),
    ("gpt", "GPT-2 774M", "1024", "", "bow-pod16", 16, 8192, "PyTorch / Poplar SDK3.0"),
    ("bert", "BERT-Base Ph1 pretrain SL128", "128", "", "bow-pod16", 16, 65536, "PyTorch / Poplar SDK3.0"),
)


@pytest.mark.parametrize(
    ("family", "model", "length", "image", "system", "devices", "batch", "software"), PUBLISHED
)
def test_published_configurations_without_a_measured_run_reach_a_usual_share_of_the_peak(
    family: str, model: str, length: str, image: str, system: str, devices: int, batch: int, software: str
) -> None:
    """Published runs reach 10 to 25 % of the peak with model FLOP (data/validation/measured.csv, mfu_pct)."""
    columns = MEASURED.splitlines()[0].split(",")
    row = dict.fromkeys(columns, "") | {
        "id": "new",
        "family": family,
        "model_name": model,
        "seq_len": length,
        "image_size": image,
        "system": system,
        "accelerators": str(devices),
        "global_batch": str(batch),
        "metric": "samples_per_s",
        "software": software,
    }
    context = sizing_context()
    case = read_case(row, context.rules)
    assert case.profile is not None
    scenario, _, _ = build(case, context, context.software.profile(case.profile))
    flop = 3.0 * float(np.sum(scenario.table.forward_flop))
    assert 0.07 < predicted(row) * flop / (devices * scenario.peak) < 0.30


@pytest.mark.parametrize(
    ("batch", "micro_batch", "optimizer"), [(65536, 8, "lamb"), (4096, 8, "adam"), (2040, 17, "momentum")]
)
def test_a_vision_transformer_is_pretrained_or_tuned_by_its_batch(
    batch: int, micro_batch: int, optimizer: str
) -> None:
    """graphcore/examples, vision/vit/pytorch/configs.yml: no other batch has that micro-batch as divisor."""
    row = dict.fromkeys(MEASURED.splitlines()[0].split(","), "") | {
        "family": "vit",
        "model_name": "ViT-B/16",
        "image_size": "224",
        "system": "bow-pod16",
        "accelerators": "16",
        "global_batch": str(batch),
        "metric": "samples_per_s",
        "software": "PyTorch / Poplar SDK3.0",
    }
    case = read_case(row, sizing_context().rules)
    assert case.completed["micro_batch"] == str(micro_batch)
    assert case.completed["optimizer"] == optimizer
    assert batch % (micro_batch * 4) == 0
