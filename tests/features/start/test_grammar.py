"""Questions in one line, as people write them in English and in Korean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.estimating.context import SizingContext
from app.features.start.grammar import understand
from app.platform.catalogue import Catalogue


@pytest.fixture(scope="module")
def shelf(context: SizingContext) -> Catalogue:
    return Catalogue(context)


LINES = {
    "H100 16장으로 라마 3 8B 2주 안에 파인튜닝 가능?": {
        "model.preset": "llama3-8b", "system": ["dgx-h100"], "count.dgx-h100": 2, "deadline": 14,
        "workload.kind": "finetune",
    },
    "llama3.1 70b lora 10M tok 8xH100": {
        "model.preset": "llama3.1-70b", "workload.tokens": 1e7, "system": ["dgx-h100"], "count.dgx-h100": 1,
    },
    "Llama-2-7b 2T tokens MI300X 2장": {
        "system": ["mi300x-8"], "count.mi300x-8": 1, "accelerators.mi300x-8": 2,
    },
    "연 12회 8B LoRA 1억 토큰 H200 1대": {
        "runs_per_year": 12, "system": ["dgx-h200"], "count.dgx-h200": 1,
    },
    "BERT 학습 월 3회 3년, DGX A100 3대 vs Bow Pod64": {"runs_per_year": 36, "years": 3},
    "13b 1t tokens 64 h100 30d": {"deadline": 30, "count.dgx-h100": 8},
    "한 달 안에 30B 1조 토큰, 예산 200억": {"deadline": 30.4375, "budget": 2e10, "currency": "KRW"},
    "ViT-L 1억 이미지 A100 vs H100 ¥5천만 하루": {
        "model.preset": "vit-large", "workload.samples": 1e8, "budget": 5e7, "currency": "JPY",
        "system": ["dgx-a100-640gb", "dgx-h100"], "deadline": 1,
    },
    "70B 1.4T tokens 100일 이내 총예산 30억원": {"budget": 3e9, "budget_kind": "term"},
    "llama 3 405b 15T tokens 16k H100": {"count.dgx-h100": 2000},
    "T5-11B 1T tokens TPU v4 128 chips": {"system": ["tpu-v4"], "count.tpu-v4": 32},
    "Gemma 3 27B, 100B tokens, a week, Gaudi 3 vs DGX H100": {
        "model.preset": "gemma3-27b", "workload.tokens": 1e11, "deadline": 7,
        "system": ["gaudi3-8", "dgx-h100"],
    },
    "13B 300B tokens within a month": {
        "model.preset": "llama-13b", "workload.tokens": 3e11, "deadline": 30.4375,
    },
    "BLOOM 366B tokens, 120 days, 48 A100 nodes": {
        "model.preset": "bloom-176b", "workload.tokens": 3.66e11, "deadline": 120,
        "system": ["dgx-a100-640gb"], "count.dgx-a100-640gb": 48,
    },
    "13B, 1T tokens, 30 days, 20 MW": {
        "model.preset": "llama-13b", "workload.tokens": 1e12, "deadline": 30, "power": 20000,
    },
    "13B 1조 토큰 H100 8노드 500 kW 이내": {
        "model.preset": "llama-13b", "workload.tokens": 1e12, "system": ["dgx-h100"], "count.dgx-h100": 8,
        "power": 500,
    },
    "7B, 2T tokens, 60 days, ₩5bn": {
        "model.preset": "llama2-7b", "workload.tokens": 2e12, "deadline": 60, "budget": 5e9,
        "currency": "KRW",
    },
    "70억 파라미터 2조 토큰 60일 50억원": {
        "model.preset": "llama2-7b", "workload.tokens": 2e12, "deadline": 60, "budget": 5e9,
        "currency": "KRW",
    },
    "llama 3.1 8b LoRA 50M tokens": {
        "model.preset": "llama3.1-8b", "workload.kind": "lora", "workload.tokens": 5e7,
    },
    "라마 3.1 8B를 LoRA로 5천만 토큰": {
        "model.preset": "llama3.1-8b", "workload.kind": "lora", "workload.tokens": 5e7,
    },
    "BERT 3 DGX A100 vs Bow Pod64": {
        "model.preset": "bert-large", "system": ["dgx-a100-640gb", "bow-pod64"], "count.dgx-a100-640gb": 3,
    },
    "ViT-L/16, 300 epochs of 1.28 million images, H100, rent only": {
        "model.preset": "vit-large", "workload.epochs": 300, "workload.dataset_samples": 1.28e6,
        "system": ["azure-nd-h100-v5"],
    },
    "7B, 2T tokens, 60 days, not to buy": {
        "model.preset": "llama2-7b", "workload.tokens": 2e12, "deadline": 60,
    },
    "BERT 3 DGX A100 vs Bow Pod64, ₩5bn": {
        "model.preset": "bert-large", "system": ["dgx-a100-640gb", "bow-pod64"], "count.dgx-a100-640gb": 3,
        "budget": 5e9, "currency": "KRW",
    },
    "GPT-3 on 128 DGX A100: how long?": {
        "model.preset": "gpt3-175b", "system": ["dgx-a100-640gb"], "count.dgx-a100-640gb": 128,
    },
    "Qwen3 32B 300B tokens 2 weeks $3M to buy 10 runs a year": {
        "model.preset": "qwen3-32b", "workload.tokens": 3e11, "deadline": 14, "budget": 3e6,
        "currency": "USD", "budget_kind": "purchase", "runs_per_year": 10,
    },
    "라마 3.1 70B를 1.5조 토큰, 90일 이내, 예산 100억 원으로, H100 512장": {
        "model.preset": "llama3.1-70b", "workload.tokens": 1.5e12, "deadline": 90, "budget": 1e10,
        "currency": "KRW", "system": ["dgx-h100"], "count.dgx-h100": 64,
    },
    "EXAONE 3.5 32B 1조 토큰 1년에 4번": {
        "model.preset": "exaone3.5-32b", "workload.tokens": 1e12, "runs_per_year": 4,
    },
    "70B 1.4T tokens once a month, always busy": {
        "model.preset": "llama2-70b", "workload.tokens": 1.4e12, "busy": 100,
    },
    "resnet50 90 epochs 8x H100": {
        "model.preset": "resnet50", "workload.epochs": 90, "system": ["dgx-h100"], "count.dgx-h100": 1,
    },
    "13B 300B tokens AWS p5 x 8 vs DGX H100 x 4": {
        "workload.tokens": 3e11, "system": ["aws-p5", "dgx-h100"], "count.aws-p5": 8, "count.dgx-h100": 4,
    },
    "Llama 3.1 405B 15.6T 16384 H100 bf16 seq 8192": {
        "model.preset": "llama3-405b", "workload.tokens": 15.6e12, "count.dgx-h100": 2048,
        "workload.seq_len": 8192, "workload.precision": "bf16",
    },
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_says_what_it_says(line: str, shelf: Catalogue) -> None:
    question = understand(line, shelf)
    for field, value in LINES[line].items():
        texts = question.fields[field]
        if isinstance(value, list):
            assert texts == value
        elif isinstance(value, str):
            assert texts == [value]
        else:
            assert float(texts[0].replace(",", "")) == value, field
    assert not question.unknown or line.startswith("70B"), question.unknown


def test_the_number_in_a_name_is_no_amount(shelf: Catalogue) -> None:
    question = understand("resnet50 imagenet 90 epochs", shelf)
    assert "workload.samples" not in question.fields and not question.unknown


def test_words_that_mean_nothing_are_kept(shelf: Catalogue) -> None:
    question = understand("bert large frobnicated by 17 gnomes in 3 days", shelf)
    assert question.fields["model.preset"] == ["bert-large"] and question.fields["deadline"] == ["3"]
    assert "frobnicated" in " ".join(question.unknown) and "gnomes" in " ".join(question.unknown)


def test_a_size_offers_the_other_models_of_that_size(shelf: Catalogue) -> None:
    models = understand("7B 60 days", shelf).models
    assert models[0] == "llama2-7b" and "mistral-7b" in models
    assert understand("a model", shelf).models == []


@given(st.text(max_size=80))
def test_no_line_is_too_odd(shelf: Catalogue, line: str) -> None:
    question = understand(line, shelf)
    assert all(all(texts) for texts in question.fields.values())
