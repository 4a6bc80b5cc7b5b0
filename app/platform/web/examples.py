"""Requests that work as they stand: the examples of OpenAPI."""

from __future__ import annotations

from typing import Any

GPT3: dict[str, Any] = {
    "model": {"preset": "gpt3-175b"},
    "workload": {
        "tokens": 300e9,
        "global_batch": 1536,
        "seq_len": 2048,
        "precision": "bf16",
        "optimizer": "adam",
    },
    "system": {"id": "dgx-a100-640gb", "count": 128, "fabric": "hdr-infiniband"},
    "plan": {
        "tensor": 8,
        "pipeline": 8,
        "micro_batch": 1,
        "interleave": 3,
        "recompute": "selective",
        "sequence_parallel": True,
        "sharding": "optimizer",
    },
    "software": "megatron-2022",
    "assumptions": {"failures_per_1000_node_days": 6.5, "electricity_per_kwh": 0.08},
    "currency": "USD",
}

RESNET: dict[str, Any] = {
    "model": {"preset": "resnet50"},
    "workload": {"target": "mlperf-resnet50"},
    "system": {"id": "dgx-a100-640gb"},
    "label": "One DGX A100",
}

BARE_FIGURE: dict[str, Any] = {
    "model": {"total_flop": 3.14e23},
    "system": {"id": "dgx-a100-640gb"},
    "assumptions": {"peak_flops": 5e15, "utilization": 1.0},
}

OWN_MODEL: dict[str, Any] = {
    "model": {
        "transformer": {
            "layers": 32,
            "hidden": 4096,
            "heads": 32,
            "kv_heads": 8,
            "ffn": 14336,
            "vocab": 32000,
            "seq_len": 4096,
            "kind": "decoder",
            "gated": True,
        }
    },
    "workload": {"samples": 1e6, "mean_tokens": 3000, "global_batch": 256},
    "system": {"id": "aws-p4d", "count": 8, "ports_per_node": 4},
    "assumptions": {
        "restart_minutes": 30,
        "checkpoint_minutes": 60,
        "acquisition": "rent",
        "hourly_price": 25,
        "input_samples_per_second": 500,
        "memory_margin": 0.1,
    },
    "currency": "USD",
}

BERT_ON_IPUS: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"epochs": 3, "dataset_samples": 1e6, "seq_len": 384, "global_batch": 512},
    "system": {"id": "ipu-pod16", "streaming_memory_gb": 256},
    "plan": {
        "pipeline": 4,
        "data": 4,
        "micro_batch": 2,
        "accumulation": 64,
        "rts_optimizer": 4,
        "offload": True,
    },
    "assumptions": {
        "acquisition": "own",
        "amortisation_years": 3,
        "utilisation": 0.6,
        "pue": 1.4,
        "include": ["hosts", "power"],
        "system_price": 200000,
    },
}

HEAD_TO_HEAD: dict[str, Any] = {
    "title": "BERT-Large: DGX A100 or IPU-POD64",
    "locale": "en",
    "rows": [
        {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
        {"label": "3 × DGX A100", "kind": "linear", "scaled_from": "1 × DGX A100", "factor": 3},
        {"label": "IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
    ],
}

BOW: dict[str, Any] = {**RESNET, "system": {"id": "bow-pod16"}, "label": "One Bow Pod16"}

MODELLED: dict[str, Any] = {"rows": [RESNET, BOW]}

RENAMED: dict[str, Any] = {"title": "BERT-Large, 85 % scaling", "locale": "ko"}

MAPPING: dict[str, Any] = {
    "system": "ipu-pod256",
    "parameters": 175e9,
    "layers": 96,
    "tensor": 8,
    "pipeline": 8,
    "replicas": 4,
    "replica_batch": 384,
    "replicated_tensor_sharding": 4,
}

CHECK: dict[str, Any] = {"devices": 160, "global_batch": 8192}

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}

TRANSFORMER: dict[str, Any] = {
    "name": "our 1.3B",
    "transformer": {"layers": 24, "hidden": 2048, "heads": 16, "vocab": 51200, "seq_len": 2048},
}

CALIBRATION: dict[str, Any] = {
    "label": "Our BERT, measured on two nodes",
    "estimate": {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e8, "global_batch": 4096, "seq_len": 128, "precision": "fp16"},
        "system": {"id": "dgx-a100-640gb", "count": 8, "fabric": "hdr-infiniband"},
    },
    "runs": [
        {
            "samples_per_s": 3600,
            "system": {"count": 1},
            "workload": {"global_batch": 512},
            "note": "one node, 200 steps after warming up",
        },
        {"step_time_s": 0.265, "system": {"count": 1}, "workload": {"global_batch": 1024}},
        {"samples_per_s": 6900, "system": {"count": 2}, "workload": {"global_batch": 1024}},
    ],
}

SIZING: dict[str, Any] = {
    "label": "BERT-Large in an hour",
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
    "systems": ["dgx-a100-640gb", "aws-p4d", "bow-pod16"],
    "counts": [1, 2, 4],
    "most_accelerators": 64,
    "deadline_s": 3600,
    "budget": 200,
    "currency": "USD",
    "probability": 0.8,
}

SCALING: dict[str, Any] = {
    "model": {"preset": "resnet50"},
    "workload": {"epochs": 90, "dataset_samples": 1281167},
    "systems": ["dgx-a100-640gb"],
    "counts": [1, 2, 4, 8, 16],
}

FABRIC_GAIN: dict[str, Any] = {
    "label": "InfiniBand or RoCE",
    "system": {"id": "dgx-a100-640gb", "count": 2},
    "reference": "roce",
    "threshold": 0.05,
    "runs": {"infiniband": [1003, 998, 999], "roce": [985, 990, 980]},
}

SEARCH: dict[str, Any] = {
    "model": {"preset": "gpt3-175b"},
    "workload": {"global_batch": 64, "seq_len": 2048, "precision": "bf16", "optimizer": "adam"},
    "system": {"id": "dgx-a100-640gb", "count": 8},
    "software": "megatron-2022",
    "constraints": {"tensor": [4, 8], "offload": False, "memory_margin": 0.1},
    "keep": 5,
    "probability": 0.8,
}

MIXTURE_SEARCH: dict[str, Any] = {
    "model": {
        "transformer": {
            "layers": 32,
            "hidden": 4096,
            "heads": 32,
            "kv_heads": 8,
            "ffn": 14336,
            "vocab": 32000,
            "seq_len": 4096,
            "gated": True,
            "experts": 8,
            "experts_per_token": 2,
        }
    },
    "workload": {"tokens": 1e11, "global_batch": 512},
    "system": {"id": "dgx-a100-640gb", "count": 8},
    "constraints": {"expert": [1, 2, 4, 8], "recompute": ["none", "full"], "sharding": "optimizer"},
    "what_if": False,
}

PRICE_BOOK: dict[str, Any] = {
    "title": "BERT-Large and ResNet-50: list prices and ours",
    "models": [
        {"label": "BERT-Large", "model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
        {"label": "ResNet-50", "model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}},
    ],
    "systems": [
        {"label": "DGX A100", "id": "dgx-a100-640gb", "counts": [1, 2, 4]},
        {"label": "IPU-POD", "id": "ipu-pod64"},
    ],
    "prices": [
        {"label": "List prices", "amortisation_years": 3, "electricity_per_kwh": 0.12},
        {
            "label": "Our discount",
            "amortisation_years": 4,
            "electricity_per_kwh": 0.09,
            "by_system": {"dgx-a100-640gb": {"system_price": 160000}},
        },
    ],
    "currency": "USD",
}

FLEET_PLAN: dict[str, Any] = {
    "title": "GPT-2 1.5B: fleet for the next year",
    "models": [
        {
            "label": "GPT-2 1.5B",
            "model": {"preset": "gpt2-1.5b"},
            "workload": {"tokens": 40_000_000_000, "global_batch": 512, "seq_len": 1024},
        }
    ],
    "systems": [
        {"label": "DGX A100", "id": "dgx-a100-640gb", "counts": [4, 8, 16], "fabric": "hdr-infiniband"},
        {"label": "Rented A100", "id": "aws-p4d", "counts": [4, 8, 16]},
    ],
    "scenarios": [
        {"label": "As usual"},
        {"label": "Twice the data", "workload": {"tokens": 80_000_000_000}},
        {"label": "Fragile fleet", "assumptions": {"failures_per_1000_node_days": 20}},
    ],
    "currency": "USD",
}

PROPOSAL: dict[str, Any] = {
    "comparison_id": "cmp_a2b3c4d5e6f7g2h3",
    "customer": "하이퍼커넥트",
    "locale": "ko",
    "currency": "KRW",
    "title": "BERT-Large 학습 인프라 제안",
    "reason": "같은 예산으로 학습 시간을 가장 많이 줄입니다.",
    "valid_until": "2099-12-31",
    "options": ["1 × DGX A100", "IPU-POD64"],
    "recommended": "IPU-POD64",
    "deadline_s": 86400,
    "budget": 50000000,
    "scaling_efficiency": 0.9,
    "term_years": 4,
    "sender": {"organization": "Lablup", "contact": "Sales team", "email": "sales@example.com"},
    "sections": [
        {"id": "scope", "text": "IPU-POD64 한 대를 공급하고 설치합니다."},
        {"id": "plan", "shown": False},
    ],
    "branding": {
        "accent": "#0b5fff",
        "footer": "TEN Inc.",
        "logo": {
            "media_type": "image/png",
            "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
            "AABJRU5ErkJggg==",
        },
    },
}

PROPOSAL_CHANGED: dict[str, Any] = {"customer": "하이퍼커넥트 주식회사", "term_years": 3}

REVIEW: dict[str, Any] = {"step": "submit", "note": "Please check the term."}

REPLY: dict[str, Any] = {"text": "Delivery takes eight weeks from the order."}

SHARE: dict[str, Any] = {"expires_in_days": 14, "passphrase": "correct horse battery"}

ACCELERATOR: dict[str, Any] = {
    "name": "Example X1",
    "maker": "Example Semiconductor",
    "bf16_tflops": 800,
    "fp8_tflops": 1600,
    "sparsity": "none",
    "memory_gb": 96,
    "memory_gb_per_s": 4000,
    "power_w": 600,
    "link": "nvswitch",
    "link_gb_per_s": 450,
    "devices": 8,
    "fabric": "ndr-infiniband",
    "ports": 8,
    "machine_price": 240000,
    "currency": "USD",
    "price_date": "2026-11-02",
    "data_sheet": "Example X1 product brief, revision 3",
    "data_sheet_date": "2026-09-01",
}

ACCELERATOR_CHANGE: dict[str, Any] = {"machine_price": 228000, "price_date": "2026-11-16"}

BOOK: dict[str, Any] = {
    "name": "Spring offers",
    "comment": "Offer 2026-114",
    "rows": [
        {"item": "dgx-a100-640gb", "parameter": "price", "value": 248000, "unit": "USD"},
        {
            "item": "maker:Graphcore",
            "parameter": "discount",
            "value": 12,
            "unit": "%",
            "note": "Frame contract",
        },
        {"item": "korea-industrial-large", "parameter": "tariff", "value": 165.8, "unit": "KRW/kWh"},
        {
            "item": "cost-defaults",
            "parameter": "exchange_rate",
            "condition": "krw",
            "value": 1350,
            "unit": "KRW/USD",
        },
    ],
}

BOOK_CHANGE: dict[str, Any] = {
    "rows": [{"item": "dgx-a100-640gb", "parameter": "price", "value": 241000, "unit": "USD"}],
    "comment": "Second offer",
}

FABRIC: dict[str, Any] = {
    "nodes": 20,
    "ports_per_node": 8,
    "port_gbps": 200,
    "switch_ports": 40,
    "declared_switches": 14,
}

BILL: dict[str, Any] = {
    "system": "dgx-a100-640gb",
    "count": 20,
    "fabric": "hdr-infiniband",
    "storage_tb": 1000,
    "spare": 1,
    "currency": "USD",
}

BILL_OF_POD: dict[str, Any] = {"system": "ipu-pod64", "rack_power_kw": 35}

PARTITIONS: dict[str, Any] = {
    "system": "bow-pod64",
    "isolation": "strict",
    "orchestrator": "backend.ai",
    "requests": [
        {"team": "vision", "devices": 16},
        {"team": "speech", "devices": 16},
        {"team": "search", "devices": 8},
        {"team": "tests", "devices": 4},
        {"team": "language", "devices": 16},
    ],
}

SLICES: dict[str, Any] = {
    "system": "dgx-a100-640gb",
    "count": 2,
    "requests": [
        {"team": "language", "devices": 8},
        {"team": "notebooks", "devices": 10, "slice": "1g.10gb"},
        {"team": "serving", "devices": 3, "slice": "3g.40gb", "spanning": False},
        {"team": "vision", "devices": 4, "pod": 1, "first_device": 0},
    ],
}

QUEUE: dict[str, Any] = {
    "system": "dgx-a100-640gb",
    "count": 4,
    "teams": [
        {"team": "vision", "jobs_per_month": 12, "devices": 8, "hours": 24, "distribution": "exponential"},
        {"team": "language", "jobs_per_month": 3, "devices": 16, "hours": 72, "hours_deviation": 48},
        {"team": "tests", "jobs_per_month": 60, "devices": 4, "hours": 3, "distribution": "fixed"},
    ],
    "discipline": "backfill",
    "failures": True,
    "days": 365,
    "target_wait_hours": 24,
    "seed": 7,
}

BREAK_EVEN: dict[str, Any] = {
    "currency": "KRW",
    "capex": 4_378_000_000,
    "onprem_monthly": 50_000_000,
    "cloud_monthly": 300_000_000,
    "horizon_months": 48,
}

BREAK_EVEN_PRICED: dict[str, Any] = {
    "currency": "KRW",
    "hardware": {"system": "dgx-a100-320gb", "count": 20},
    "onprem": {"pue": 1.3, "staff": 2},
    "cloud": {"system": "aws-p4d", "count": 20, "hours_per_month": 600},
    "discount_rate": 0.08,
    "residual_share": 0.1,
    "growth": 0.2,
    "utilisation": 0.6,
    "teams_now": 4,
    "teams_then": 5,
    "ranges": {"utilisation": {"low": 0.4, "high": 0.8}, "growth": {"low": 0.0, "high": 0.5}},
    "demand": [0.3, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.0, 0.9, 0.6, 0.4, 0.4],
}

FABRIC_CHOICE: dict[str, Any] = {
    "estimate": {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e8, "global_batch": 4096, "seq_len": 128, "precision": "fp16"},
        "system": {"id": "dgx-a100-640gb", "count": 4},
    },
    "threshold": 0.05,
}

INFERENCE: dict[str, Any] = {
    "model": {"preset": "llama2-70b"},
    "systems": [{"id": "dgx-h100"}, {"id": "dgx-a100-640gb"}],
    "prompt_tokens": 2048,
    "output_tokens": 256,
    "time_per_output_token_s": 0.05,
}

FABRICS_MEASURED: dict[str, Any] = {
    "estimate": {
        "label": "GPT-2 355M, measured on both networks",
        "model": {"preset": "gpt2-355m"},
        "workload": {"samples": 1e8, "global_batch": 512, "seq_len": 1024, "precision": "bf16"},
        "system": {"id": "dgx-a100-640gb", "count": 2},
    },
    "options": [
        {"fabric": "hdr-infiniband", "ports_per_node": 8, "label": "infiniband"},
        {"fabric": "roce-100", "ports_per_node": 8, "label": "roce"},
    ],
    "reference": "roce",
    "measured": {"infiniband": [1003, 998, 999], "roce": [985, 990, 980]},
}

STUDY: dict[str, Any] = {
    "name": "BERT-Large for Seoul",
    "base": {
        "model": {"preset": "bert-large"},
        "workload": {"target": "mlperf-bert"},
        "assumptions": {"electricity_per_kwh": 150},
        "currency": "KRW",
        "scaling_efficiency": 0.9,
    },
    "options": [
        {"key": "a", "system": {"id": "dgx-a100-640gb", "count": 2, "fabric": "hdr-infiniband"}},
        {
            "key": "b",
            "label": "Bow Pod16, half used",
            "system": {"id": "bow-pod16"},
            "assumptions": {"utilisation": 0.5},
        },
        {"key": "c", "label": "Reported", "figure": {"hours": 69.5, "kind": "vendor", "system": "ipu-pod64"}},
        {
            "key": "d",
            "label": "Three times that",
            "figure": {"kind": "linear", "scaled_from": "c", "factor": 3},
        },
    ],
    "notes": "The customer doubts the vendor's figure.",
}

STUDY_PATCH: dict[str, Any] = {"name": "BERT-Large, more machines", "knobs": {"count.a": 4}}

STUDY_STATE: dict[str, Any] = {"knobs": {"count.a": 4, "batch": 4096}, "pair": ["a", "b"]}

STUDY_TO_COMPARE: dict[str, Any] = {"knobs": {"count.a": 4}, "title": "Two or four machines", "locale": "ko"}

STUDY_COPY: dict[str, Any] = {"name": "The same with four machines", "knobs": {"count.a": 4}}

STUDY_FILE: dict[str, Any] = {"format": "rackline-study", "format_version": 1, "study": STUDY}

KEY: dict[str, Any] = {"name": "Quotes from the CRM", "scopes": ["read", "estimate"], "expires_in_days": 90}

ROTATION: dict[str, Any] = {"grace_hours": 48}

WEBHOOK: dict[str, Any] = {
    "url": "https://crm.example.com/hooks/rackline",
    "events": ["proposal.frozen", "proposal.opened", "proposal.expired"],
    "name": "CRM",
}

WEBHOOK_CHANGED: dict[str, Any] = {"events": ["proposal.opened"], "active": True}
