"""Damaged files of every kind that ``read_import`` recognises, in a process that is short of memory.

``python -m tests.endurance.fuzz_imports [CASES] [FIRST]`` prints how many of each kind were read and refused,
the slowest, the memory, and every case that failed: any other error than a refusal, or more than
:data:`SECONDS` of processor time.
"""

from __future__ import annotations

import io
import json
import random
import resource
import struct
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from openpyxl import Workbook

from app.errors import AppError
from app.profiles.onnx_graph import read_onnx
from app.profiles.readers import models
from app.profiles.readers.recognition import read_import
from tests.endurance.upload_mutations import columns, flipped, rearranged, recelled, regraphed
from tests.profiles.conftest import CONFIGS, FVCORE, TABLE, TORCHINFO
from tests.support.graphs import encoder, resnet50

SECONDS = 5.0
"""Longest processor time of a file. [s]"""
MEMORY = 3_000_000_000
"""Address space of the process. [B]"""
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


SHARES = {"config": 30, "parquet": 0.2, "onnx": 0.5, "xlsx": 4}
"""Files of a kind beside ten of the others: Parquet and ONNX take a process of their own."""


def damaged(number: int) -> tuple[str, bytes]:
    """Return one damaged file and its kind; the number decides everything about it."""
    chance = random.Random(f"imports {number}")
    kinds = [kind for kind, contents in seeds().items() if contents]
    kind = chance.choices(kinds, [SHARES.get(kind, 10) for kind in kinds])[0]
    content = chance.choice(seeds()[kind])
    ways: list[Callable[[bytes, random.Random], bytes]] = [flipped]
    if kind == "onnx":
        ways += [regraphed] * 2
    elif kind in ("config", "diffusers"):
        ways += [rearranged] * 3
    elif kind not in ("safetensors", "xlsx", "archive", "parquet"):
        ways += [recelled] * 2
    content = chance.choice(ways)(content, chance)
    return kind, flipped(content, chance) if chance.random() < 0.1 else content


@dataclass
class Outcome:
    """What came of a run."""

    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_case: str = ""

    def lines(self) -> list[str]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return [
            f"{sum(self.kinds.values())} files",
            *(f"  {kind:12} {said:8} {count:7}" for (kind, said), count in sorted(self.kinds.items())),
            f"slowest: {self.slowest:.2f} s ({self.slowest_case}); peak memory: {peak / 1e6:.0f} MB",
            f"failures: {len(self.failures)}",
            *self.failures,
        ]


def busy() -> float:
    """Return the processor time of this process and of those it waited for. [s]"""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def run(numbers: range) -> Outcome:
    """Read damaged files one after the other."""
    outcome = Outcome()
    for number in numbers:
        kind, content = damaged(number)
        begun = busy()
        try:
            found = read_import("file", content)
            if found.profile is not None and not found.profile.parameters >= 0:
                outcome.failures.append(f"{number} ({kind}): {found.profile.parameters} parameters")
            said = "read"
        except AppError as error:
            said = "refused" if str(error) else "silent"
        except Exception as error:
            said = "failed"
            outcome.failures.append(f"{number} ({kind}): {type(error).__name__}: {str(error)[:200]}")
        seconds = busy() - begun
        outcome.kinds[kind, said] += 1
        if seconds > outcome.slowest:
            outcome.slowest, outcome.slowest_case = seconds, f"{kind} {number}"
        if seconds > SECONDS:
            outcome.failures.append(f"{number} ({kind}): {seconds:.2f} s")
    return outcome


if __name__ == "__main__":
    many, first = (int(word) for word in (*sys.argv[1:3], *("50000", "0")[len(sys.argv) - 1 :]))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    # The start of a process for each graph would take a second; tests.endurance.fuzz_uploads starts them.
    models.read_onnx_file = read_onnx
    for line in run(range(first, first + many)).lines():
        print(line)
