"""Files as they should be, of every kind that ``read_import`` recognises."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from functools import cache
from pathlib import Path

from openpyxl import Workbook

from tests.profiles.conftest import CONFIGS, FVCORE, TABLE, TORCHINFO
from tests.support.graphs import encoder, resnet50

FIELD = Path("tests/profiles/field")
SCRIPT = b"""#!/bin/bash
TP=8
ARGS=(--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --vocab-size 50304)
torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} --tensor-model-parallel-size $TP --micro-batch-size 2
"""
PRINTED = b"""Model(
  (embed): Embedding(1000, 64)
  (layers): ModuleList(
    (0-5): 6 x Block(
      (query): Linear(in_features=64, out_features=64, bias=False)
      (norm): LayerNorm((64,), eps=1e-05, elementwise_affine=True)
    )
  )
)
"""
KERAS = """Model: "sequential"
\u2502 conv2d (Conv2D)      \u2502 (None, 26, 26, 32)   \u2502       320 \u2502
\u2502 dense (Dense)        \u2502 (None, 10)           \u2502   216,330 \u2502
 Total params: 216,650 (846.29 KB)
"""
TOPOLOGY = b"""Layer, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
Conv1, 227, 227, 11, 11, 3, 96, 4,
"""
YAML = b"base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_checkpointing: true\n"
TOML = b"[training]\nseq_len = 8192\nlocal_batch_size = 2\n[parallelism]\ntensor_parallel_degree = 4\n"
DEEPSPEED = (
    b'{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}'
)
LOG = b" iteration  10/ 500 | consumed samples: 2560 | elapsed time per iteration (ms): 15200.5 |\n" * 20
UNET = (
    b'{"_class_name": "UNet2DConditionModel", "block_out_channels": [320, 640], "cross_attention_dim": 768,'
    b' "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"], "layers_per_block": 2}'
)
FLUX = (
    b'{"_class_name": "FluxTransformer2DModel", "num_layers": 19, "num_single_layers": 38, "in_channels": 64}'
)
OFFER = (
    b'"FormatVersion","v1.0"\n'
    b'"SKU","TermType","EffectiveDate","Unit","PricePerUnit","Currency","Instance Type"\n'
    b'"A","OnDemand","2026-05-01","Hrs","55.04","USD","p5.48xlarge"\n'
)
AZURE = (
    b'{"Items": [{"currencyCode": "USD", "retailPrice": 98.3, "armSkuName": "ND96",'
    b' "unitOfMeasure": "1 Hour"}]}'
)
QUOTE = '\ud488\ubaa9,\uc218\ub7c9,\ub2e8\uac00\n\uc11c\ubc84,4,"\u20a9412,000,000"\n'


def workbook() -> bytes:
    book, stream = Workbook(), io.BytesIO()
    sheet = book.active
    assert sheet is not None
    for row in (("Item", "Quantity", "Unit price (KRW)"), ("GPU server", 4, 412_000_000)):
        sheet.append(row)
    book.save(stream)
    return stream.getvalue()


def header() -> bytes:
    shapes = {f"model.layers.{number}.mlp.up_proj.weight": [32, 8] for number in range(20)}
    text = json.dumps({name: {"dtype": "BF16", "shape": shape} for name, shape in shapes.items()}).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * 100


def archives() -> list[bytes]:
    packed, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.pkl", b"\x80\x02" + b"0" * 100_000)
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        entry = tarfile.TarInfo("config.json")
        entry.size = 2
        archive.addfile(entry, io.BytesIO(b"{}"))
    return [packed.getvalue(), tarred.getvalue(), b"\x1f\x8b" + b"0" * 100, b"\x80\x02" + b"x" * 200]


@cache
def columns() -> bytes | None:
    """Return a Parquet file of lengths; None where its writer is not installed."""
    try:
        import polars
    except ImportError:
        return None
    buffer = io.BytesIO()
    polars.DataFrame({"length": [5, 17, 128, 700] * 50, "text": ["a b c"] * 200}).write_parquet(buffer)
    return buffer.getvalue()


@cache
def seeds() -> dict[str, list[bytes]]:
    """Return files as they should be, by kind."""
    parquet = columns()
    files = {path.name: path.read_bytes() for path in sorted(FIELD.iterdir())}
    published = Path("tests/profiles/published-configs.jsonl").read_text(encoding="utf-8").splitlines()
    types = Path("tests/profiles/model-configs.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        "config": [json.dumps(json.loads(line)["config"]).encode() for line in (*published, *types)]
        + [json.dumps(document).encode() for _, document, _ in CONFIGS]
        + [content for name, content in files.items() if not name.endswith("jsonl")],
        "diffusers": [UNET, FLUX],
        "rows": [content for name, content in files.items() if name.endswith("jsonl")]
        + [files["array_pretty.json"], files["array_oneline.json"]],
        "arguments": [SCRIPT, YAML, TOML, DEEPSPEED, LOG],
        "printed": [PRINTED, KERAS.encode(), TORCHINFO.encode(), FVCORE.encode()],
        "table": [TABLE.encode(), TOPOLOGY],
        "prices": [OFFER, AZURE, QUOTE.encode(), QUOTE.replace("\u20a9", "").encode("cp949")],
        "listing": [
            b"n1/a.JPEG\n" * 40,
            ("\t".join(["0", *["1"] * 13, *["68fd1e64"] * 26]) + "\n").encode() * 3,
        ],
        "onnx": [encoder(), resnet50()],
        "safetensors": [header()],
        "xlsx": [workbook()],
        "archive": archives(),
        "parquet": [parquet] if parquet is not None else [],
    }
