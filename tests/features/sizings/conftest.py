"""Sizings as the tests ask for them: the models customers name, and requests at random."""

import random
from collections.abc import Mapping
from typing import Any

from app.estimating.options import usual_term
from app.features.sizings.answering import SizingSamples, size
from app.features.sizings.model import Sizing, SizingRequest
from app.features.sizings.options import decided
from tests.conftest import sizing_context

DAY = 86_400.0

MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}

LAYERS = [
    *(
        {"name": f"up{number}", "kind": "gemm", "rows": 512, "inner": 1024, "columns": 4096, "count": 1}
        for number in range(10)
    ),
    *(
        {"name": f"down{number}", "kind": "gemm", "rows": 512, "inner": 4096, "columns": 1024, "count": 1}
        for number in range(10)
    ),
]
"""A layer table of twenty operators."""

IMAGES = {"epochs": 90, "dataset_samples": 1_281_167}

MODELS: Mapping[str, Mapping[str, Any]] = {
    "gpt3-175b": {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 300e9}},
    "llama-65b": {"model": {"preset": "llama-65b"}, "workload": {"tokens": 1.4e12}},
    "bert-large": {"model": {"preset": "bert-large"}, "workload": {"samples": 1e8, "seq_len": 128}},
    "resnet50": {"model": {"preset": "resnet50"}, "workload": IMAGES},
    "vit-large": {"model": {"preset": "vit-large"}, "workload": IMAGES},
    "t5-11b": {"model": {"preset": "t5-11b"}, "workload": {"tokens": 1e11}},
    "mixtral": {"model": {"config": MIXTRAL}, "workload": {"tokens": 1e11}},
    "layers": {"model": {"layers": LAYERS}, "workload": {"samples": 1e8}},
}
"""What has to be sized, by name."""

BERT: Mapping[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e8, "global_batch": 4096, "seq_len": 128},
    "systems": ["dgx-a100-640gb", "aws-p4d", "bow-pod16"],
    "most_accelerators": 512,
}
"""A small sizing."""

SYSTEMS = [
    *("dgx-a100-640gb", "dgx-a100-320gb", "a100-pcie-80gb", "dgx1-v100", "dgx2-v100", "big-basin-p100"),
    *("ipu-pod16", "bow-pod16", "bow-pod64", "dgx-superpod-a100", "aws-p4d", "aws-p4de"),
    *("azure-nd96amsr", "gcp-a2-highgpu-8g", "lambda-8xa100"),
]


def asked(**parts: Any) -> SizingRequest:
    """Return the request of :data:`BERT` with some fields changed."""
    return SizingRequest.model_validate({**BERT, **parts})


def sized(**parts: Any) -> Sizing:
    """Return the sizing of :func:`asked`."""
    return size(asked(**parts), sizing_context()).document


def at_random(seed: int) -> SizingRequest:
    """Return a request over several systems, with a deadline, a budget, both or neither."""
    draw = random.Random(seed)
    body: dict[str, Any] = dict(draw.choice(list(MODELS.values())))
    if draw.random() < 0.4:
        body["workload"] = {**body["workload"], "global_batch": draw.choice([256, 512, 1024, 1536, 2048])}
    if draw.random() < 0.15:
        body = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}
    body["systems"] = draw.sample(SYSTEMS, draw.randint(3, 7))
    body["most_accelerators"] = draw.choice([256, 512, 1024, 2048])
    if draw.random() < 0.6:
        body["deadline_s"] = DAY * 10 ** draw.uniform(-1, 3)
    if draw.random() < 0.4:
        body["budget"] = 10 ** draw.uniform(2, 6)
    body["probability"] = draw.choice([0.5, 0.8, 0.95])
    return SizingRequest.model_validate(body)


def under(whole: SizingSamples, **limits: Any) -> Sizing:
    """Return a sizing decided under limits."""
    request = whole.document.request.model_copy(update=limits)
    term = usual_term(request.assumptions, sizing_context().catalog)
    return whole.document.model_copy(update=decided(whole.options, request, term))
