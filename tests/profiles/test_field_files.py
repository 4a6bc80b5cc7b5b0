"""Printed models, launch scripts, listings and offers: read as they are meant, or refused by name."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest

from app.errors import AppError
from app.profiles.readers.models import read_profile
from app.profiles.readers.recognition import read_import

BLOCK = """Model(
  (embed): Embedding(1000, 64)
  (layers): ModuleList(
    (0-5): 6 x Block(
      (query): Linear(in_features=64, out_features=64, bias=False)
      (norm): LayerNorm((64,), eps=1e-05, elementwise_affine=True)
      (drop): Dropout(p=0.1, inplace=False)
    )
  )
  (head): Linear(in_features=64, out_features=10, bias=True)
)
"""
SHALLOW = """==========================================
Layer (type:depth-idx)      Output Shape       Param #
==========================================
Net                         [1, 10]            --
├─Sequential: 1-1           [1, 512, 28, 28]   1,219,584
├─Linear: 1-2               [1, 10]            5,130
==========================================
Total params: 1,224,714
Total mult-adds (Units.GIGABYTES): 1.04
==========================================
"""
KERAS = """Model: "sequential"
┃ Layer (type)         ┃ Output Shape         ┃   Param # ┃
│ conv2d (Conv2D)      │ (None, 26, 26, 32)   │       320 │
│ flatten (Flatten)    │ (None, 21632)        │         0 │
│ dense (Dense)        │ (None, 10)           │   216,330 │
 Total params: 216,650 (846.29 KB)
"""
SCRIPT = """#!/bin/bash
LAYERS=${LAYERS:-24}
TP=8
MODEL_ARGS=(
    --num-layers $LAYERS
    --hidden-size 1024
    --num-attention-heads 16
    --seq-length 2048
    --vocab-size 50304
)
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py ${MODEL_ARGS[@]} --bf16 \\
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 \\
    --micro-batch-size 2 --global-batch-size 64 --train-iters 1000
"""


def test_a_printed_model_has_the_parameters_of_its_modules() -> None:
    profile = read_profile("model.txt", BLOCK.encode())
    assert profile.parameters == 1000 * 64 + 6 * (64 * 64 + 2 * 64) + 64 * 10 + 10
    assert profile.doubts


@pytest.mark.parametrize("total", ["1,224,714", "9,224,714"])
def test_a_summary_whose_rows_do_not_add_up_is_refused(total: str) -> None:
    with pytest.raises(AppError) as refused:
        read_profile("summary.txt", SHALLOW.replace("1,224,714", total).encode())
    assert [error.field for error in refused.value.errors] == ["file"]


def test_a_module_known_by_its_parameters_alone_is_a_doubt() -> None:
    lines = [line for line in SHALLOW.splitlines() if "mult-adds" not in line]
    assert read_profile("summary.txt", "\n".join(lines).encode()).doubts


def test_a_table_by_keras_counts_channels_last() -> None:
    profile = read_profile("keras.txt", KERAS.encode())
    assert profile.parameters == 216_650
    assert profile.forward_flop_per_sample == pytest.approx(2 * (26 * 26 * 9 * 32 + 216_320), rel=0.03)


def test_a_topology_has_no_padding() -> None:
    text = (
        "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
        "Conv1, 227, 227, 11, 11, 3, 96, 4,\n"
    )
    profile = read_profile("alexnet.csv", text.encode())
    assert profile.forward_flop_per_sample == 2 * 55 * 55 * 11 * 11 * 3 * 96


def test_a_launch_script_gives_model_work_and_plan() -> None:
    found = read_import("run.sh", SCRIPT.encode())
    assert found.profile is not None
    assert found.profile.parameters == pytest.approx(355e6, rel=0.01)
    assert found.plan == {"tensor": 8, "pipeline": 2, "micro_batch": 2, "data": 2}
    assert found.workload == {"seq_len": 2048, "global_batch": 64, "precision": "bf16", "samples": 64_000}


def test_a_variable_with_two_values_is_named_and_not_read() -> None:
    found = read_import("run.sh", SCRIPT.replace("TP=8", "TP=8\nTP=4").encode())
    assert "tensor" not in found.plan
    assert "tensor-model-parallel-size" in found.not_understood


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        (
            '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,'
            ' "zero_optimization": {"stage": 2}}',
            {"micro_batch": 4, "sharding": "gradients"},
        ),
        ("[training]\nseq_len = 8192\nlocal_batch_size = 2\n[parallelism]\ntensor_parallel_degree = 4\n",
         {"micro_batch": 2, "tensor": 4}),
        ("base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_checkpointing: true\n",
         {"micro_batch": 2, "recompute": "full"}),
    ],
)  # fmt: skip
def test_a_training_configuration_without_a_model_gives_its_plan(text: str, plan: dict[str, object]) -> None:
    found = read_import("train", text.encode())
    assert (found.kind, found.plan, found.missing) == ("arguments", plan, ("model",))


@pytest.mark.parametrize(
    "text",
    [
        "  | Name  | Type | Params\n0 | model | ResNet | 25.6 M\n25.6 M    Total params\n",
        ":::MLLOG {}\n",
    ],
)
def test_what_is_neither_model_nor_data_is_not_read_as_text(text: str) -> None:
    with pytest.raises(AppError):
        read_import("file.txt", text.encode())


def test_a_listing_of_images_is_data() -> None:
    found = read_import("list.txt", b"n1/a.JPEG\nn1/b.JPEG\nn2/c.JPEG\n")
    assert (found.kind, found.workload["dataset_samples"]) == ("images", 3)


def test_rows_of_advertisements_are_recognised() -> None:
    row = "\t".join(["0", *["1"] * 13, *["68fd1e64"] * 26])
    found = read_import("train.txt", f"{row}\n{row}\n".encode())
    assert (found.kind, found.workload["dataset_samples"]) == ("criteo", 2)


def test_an_offer_file_keeps_hours_apart_from_fees() -> None:
    text = (
        '"FormatVersion","v1.0"\n'
        '"SKU","TermType","PriceDescription","EffectiveDate","Unit","PricePerUnit","Currency",'
        '"LeaseContractLength","PurchaseOption","Location","Instance Type"\n'
        '"A","OnDemand","per hour","2026-05-01","Hrs","55.04","USD","","","Ohio","p5.48xlarge"\n'
        '"B","Reserved","Upfront Fee","2026-05-01","Quantity","350000","USD","1yr","All","Ohio","p5"\n'
    )
    found = read_import("offer.csv", text.encode())
    assert found.prices is not None
    assert [(line.unit, line.price) for line in found.prices.lines] == [("Hrs", 55.04), ("Quantity", 350e3)]


@pytest.mark.parametrize(
    ("start", "piece"),
    [("", "\n"), ("", " "), ("", "1,"), ("", "|\n"), ("", "a="), ("", "--a "), ("", "│ ")]
    + [("  | Name | Type | Params\n", piece) for piece in ("1", "1 ", " ", "\n")]
    + [("Layer (type)\n", piece) for piece in ("-", "\n", "1 ")]
    + [("Model(", piece) for piece in ("\n", " ", "\n  (a")],
)
def test_a_long_text_of_one_piece_takes_no_long_time(start: str, piece: str) -> None:
    started = time.process_time()
    with suppress(AppError):
        read_import("model.txt", (start + piece * (200_000 // len(piece)) + "x").encode())
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (
            " iteration  10/ 500 | elapsed time per iteration (ms): 15200.5 | global batch size:   256 |\n",
            15.2,
        ),
        ("completed step: 10, seconds: 3.51, TFLOP/s/device: 180.2, loss: 9.1\n", 3.51),
        ("Epoch 0: 1%| 10/1000 [01:20, global_step=9.0, train_step_timing in s=8.12]\n", 8.12),
    ],
)
def test_the_log_of_a_run_says_the_median_time_of_a_step(text: str, seconds: float) -> None:
    found = read_import("run.log", (text * 20).encode())
    assert found.kind == "log"
    assert found.recognised.values["seconds"] == pytest.approx(seconds, rel=1e-3)


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_table_of_steps_is_one_run(separator: str) -> None:
    cell = "15.2" if separator == "," else "15,2"
    rows = "".join(f"{step}{separator}{9 if step < 2 else cell}{separator}2\n" for step in range(50))
    found = read_import("steps.csv", f"Step{separator}step_time (s){separator}loss\n{rows}".encode())
    assert (found.kind, found.recognised.values["seconds"]) == ("log", 15.2)


@pytest.mark.parametrize(
    "text",
    [
        ":::MLLOG {}\n",
        "step: 10  loss:  7.1  memory: 40.2GiB(50%)  tps: 5,821\n",
        "Wall time,Step,Value\n" + "17.5,1,15.2\n" * 9,
        "gpus,global_batch_size,step_time\n8,64,15.2\n",
    ],
)
def test_a_log_without_times_of_steps_names_what_was_found_and_looked_for(text: str) -> None:
    with pytest.raises(AppError) as refused:
        read_import("run.log", text.encode())
    (error,) = refused.value.errors
    assert "found" in error.message.values


@pytest.mark.parametrize(
    "text",
    [
        "FROM nvcr.io/pytorch\nRUN pip install transformers\nCMD [\"torchrun\", \"train.py\"]\n",
        "torch==2.4.0\ntransformers==4.44.0\n",
        "resource \"aws_instance\" \"gpu\" {\n  instance_type = \"p5.48xlarge\"\n  count = 4\n}\n",
        "path: ../coco\ntrain: images/train2017\nnames:\n  0: person\n",
        '{"do_sample": true, "temperature": 0.6, "transformers_version": "4.44.0"}',
    ],
)  # fmt: skip
def test_settings_and_programs_are_not_taken_for_data(text: str) -> None:
    with pytest.raises(AppError) as refused:
        read_import("file", text.encode())
    assert [error.field for error in refused.value.errors] == ["file"]


def test_settings_of_nemo_group_queries_without_a_flag() -> None:
    text = (
        "num_layers: 80\nhidden_size: 8192\nffn_hidden_size: 28672\nnum_attention_heads: 64\n"
        "num_query_groups: 8\nactivation: fast-swiglu\nnormalization: rmsnorm\nbias: false\n"
        "position_embedding_type: rope\nshare_embeddings_and_output_weights: false\n"
        "padded_vocab_size: 128256\nseq_length: 8192\nprecision: bf16\n"
    )
    found = read_import("nemo.yaml", text.encode())
    assert found.profile is not None and found.profile.parameters == pytest.approx(70.55e9, rel=1e-3)
    assert found.workload["precision"] == "bf16"


def test_what_decides_about_a_run_and_is_not_understood_is_named() -> None:
    text = "max_target_length: 4096\nremat_policy: full\nsteps: 100\nici_fsdp_parallelism: 64\nbf16: true\n"
    found = read_import("maxtext.yml", text.encode())
    assert found.plan == {"recompute": "full"}
    assert set(found.not_understood) == {"steps", "ici_fsdp_parallelism"}


def test_a_log_of_mlperf_gives_its_work() -> None:
    values = {"global_batch_size": 8, "max_sequence_length": 8192, "lora_rank": 16, "train_samples": 3901}
    lines = [
        f':::MLLOG {{"key": "{name}", "value": {value}, "metadata": {{}}}}' for name, value in values.items()
    ]
    work = read_import("run.log", "\n".join(lines).encode()).workload
    assert work == {"global_batch": 8, "seq_len": 8192, "lora_rank": 16, "kind": "lora", "samples": 3901}


def test_a_point_between_thousands_of_tokens_beside_semicolons_is_no_decimal() -> None:
    sample = read_import("lengths.csv", b"doc;tokens\n1;1.200\n2;1.400\n").sample
    assert sample is not None and sample.mean_tokens == 1300


def test_a_pipeline_of_diffusers_names_its_parts() -> None:
    index = {"_class_name": "FluxPipeline", "transformer": ["diffusers", "FluxTransformer2DModel"]}
    found = read_import("model_index.json", json.dumps(index).encode())
    assert (found.kind, found.missing) == ("pipeline", ("model",))
    assert found.recognised.values["file"] == "transformer/config.json"
