"""English words for the identifiers of the schema; their translations stand in the catalogues.

A page says “tensor communication”, JSON says ``tensor_comm``. An identifier that means different
things in different places is listed with its place: ``memory.optimizer``, ``part.optimizer``.
"""

from __future__ import annotations

LABELS = {
    # Parts of the time to train.
    "gemm": "Matrix products",
    "part.attention": "Attention",
    "memory_bound": "Memory-bound operators",
    "tensor_comm": "Tensor-parallel communication",
    "pipeline_bubble": "Pipeline bubble",
    "pipeline_comm": "Pipeline communication",
    "data_comm": "Data-parallel communication",
    "part.exchange": "On-chip exchange",
    "part.sync": "Synchronisation",
    "part.optimizer": "Optimizer step",
    "part.input": "Input pipeline",
    "part.fixed": "Fixed time per step",
    "part.checkpoint": "Checkpoints",
    "part.failures": "Failures and restarts",
    "part.evaluation": "Evaluation",
    # Parts of memory.
    "weights": "Weights",
    "gradients": "Gradients",
    "memory.optimizer": "Optimizer state",
    "activations": "Activations",
    "buffers": "Buffers",
    "memory.framework": "Framework and context",
    "memory.code": "Program code",
    "memory.exchange": "Exchange buffers",
    "temporaries": "Temporaries",
    # Kinds of claim, of status and of severity.
    "vendor": "vendor",
    "published": "published",
    "measured": "measured",
    "modelled": "modelled",
    "linear": "linear extrapolation",
    "serious": "serious",
    "caution": "caution",
    "info": "note",
    "validated": "validated",
    "extrapolated": "extrapolated",
    "unvalidated": "not validated",
    "accepted": "accepted",
    "rejected": "rejected",
    # Limits of an operator.
    "compute": "arithmetic",
    "memory": "memory bandwidth",
    "bound.exchange": "on-chip exchange",
    "latency": "launch latency",
    # Kinds of source.
    "datasheet": "data sheet",
    "benchmark": "benchmark",
    "paper": "paper",
    "press": "press",
    "customer": "customer",
    "estimate": "estimate",
    # The plan.
    "tensor": "Tensor parallel",
    "pipeline": "Pipeline parallel",
    "data": "Data parallel",
    "micro_batch": "Micro-batch",
    "accumulation": "Accumulated micro-batches",
    "global_batch": "Global batch",
    "interleave": "Interleaved chunks per stage",
    "recompute": "Recomputation",
    "sequence_parallel": "Sequence parallel",
    "sharding": "Sharding",
    "sharding_ranks": "Ranks that share",
    "offload": "Offload",
    "rts": "Replicated tensor sharding",
    "rts_optimizer": "Sharding of the optimizer state",
    "phases": "Phases",
    "stage_layers": "Layers per stage",
    "none": "none",
    "selective": "selective",
    "full": "full",
    "plan.optimizer": "optimizer state",
    "plan.gradients": "gradients",
    "plan.parameters": "parameters",
    # Fields of a request.
    "software": "Software profile",
    "system.id": "System",
    "system.count": "Count",
    "system.fabric": "Fabric",
    "system.ports_per_node": "Ports per node",
    "workload.target": "Training target",
    "workload.tokens": "Tokens",
    "workload.samples": "Samples",
    "workload.epochs": "Epochs",
    "workload.dataset_samples": "Samples in the data set",
    "workload.global_batch": "Global batch",
    "workload.seq_len": "Sequence length",
    "workload.image_size": "Image size",
    "workload.mean_tokens": "Real tokens per sample",
    "workload.precision": "Precision",
    "workload.optimizer": "Optimizer",
    # Cost and its basis.
    "acquisition": "Acquisition",
    "own": "owned",
    "rent": "rented",
    "amortisation_years": "Years of amortisation",
    "utilisation": "Utilisation of the system",
    "include": "Counted",
    "price_book_id": "Price book",
    "currency": "Currency",
    "exchange_rate": "Exchange rate",
    "electricity_per_kwh": "Electricity per kWh",
    "pue": "Power usage effectiveness (PUE)",
    "hardware": "Hardware",
    "hosts": "hosts",
    "fabric": "network",
    "storage": "storage",
    "power": "power",
    "space": "floor space",
    "staff": "staff",
    "support": "support",
    # The catalogue.
    "chips": "Chips",
    "machines": "Machines",
    "systems": "Systems",
    "fabrics": "Fabrics",
    "models": "Models",
    "sources": "Sources",
    "one-way": "one way",
    "both-ways": "both ways",
    # Documents.
    "methodology": "Methodology",
    "accuracy": "Accuracy",
}


def words(code: str, place: str = "") -> str:
    """Return English words for an identifier; unknown ones with spaces for underscores.

    >>> words("optimizer", "memory"), words("tensor_comm"), words("rank_count")
    ('Optimizer state', 'Tensor-parallel communication', 'rank count')
    """
    return LABELS.get(f"{place}.{code}") or LABELS.get(code) or code.replace("_", " ")
