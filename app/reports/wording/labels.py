"""English words for the identifiers of the schema; their translations stand in the catalogues.

A page says “tensor communication”, JSON says ``tensor_comm``. An identifier that means different
things in different places is listed with its place: ``memory.optimizer``, ``part.optimizer``.
"""

from __future__ import annotations

PEAKS = {
    "fp16_dense": "FP16",
    "bf16_dense": "BF16",
    "tf32_dense": "TF32",
    "fp32": "FP32",
    "fp16_sparse": "FP16, 2:4 sparsity",
    "tf32_sparse": "TF32, 2:4 sparsity",
    "fp16.16_dense": "FP16.16",
}

LABELS = {
    # Figures that follow from others.
    **{f"derived.{code}": f"Peak, {name}" for code, name in PEAKS.items()},
    **{f"peak_{code}": f"Peak, {name}" for code, name in PEAKS.items()},
    **{f"ridge_{code}": f"Ridge point, {name}" for code, name in PEAKS.items()},
    "derived.accelerators": "Accelerators",
    "derived.sram": "SRAM of all tiles",
    "sram_bandwidth": "Bandwidth of the SRAM",
    "exchange_bandwidth": "Bandwidth of the exchange",
    "ridge_sram": "Ridge point of the SRAM",
    "rails": "Rails",
    "node_line_rate": "Line rate of a node",
    "derived.memory": "Memory of all devices",
    "streaming_memory": "Streaming memory",
    "streaming_bandwidth": "Bandwidth of the streaming memory",
    "ridge_streaming": "Ridge point of the streaming memory",
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
    "part.startup": "Start-up and compilation",
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
    "include": "Parts counted",
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
    "cost.machines": "machines",
    "install": "freight and installation",
    "spares": "spare parts",
    "discount_rate": "Cost of capital",
    "residual_share": "Residual value",
    "won_per_dollar": "Won per dollar",
    "electricity_usd_per_kwh": "Electricity per kWh (USD)",
    # Figures of software profiles, which sensitivities name.
    "matrix_efficiency": "Efficiency of matrix products",
    "attention_efficiency": "Efficiency of attention",
    "elementwise_factor": "Overhead of memory-bound operators",
    "network_efficiency": "Efficiency of the network",
    "overlap": "Communication hidden behind computation",
    "step_overhead": "Fixed time per step",
    "framework_factor": "Overhead of the framework",
    "sdk_factor": "Overhead of the SDK",
    "evaluation_seconds": "Time of one evaluation",
    "evaluation_overhead": "Overhead of an evaluation",
    "available_memory": "Usable memory",
    "balanced_head": "Head shared among the stages",
    "blocking_pipeline": "Pipeline that waits for transfers",
    "scattered_pipeline": "Pipeline scattered over nodes",
    "broadcast_latency": "Latency of a broadcast",
    "fused_attention": "Fused attention",
    "gradient_bytes": "Bytes per gradient",
    "optimizer_bytes": "Bytes of optimizer state per parameter",
    "host_returns_per_update": "Returns to the host per update",
    "io_tiles": "Tiles for input and output",
    "kernels_per_convolution": "Kernels per convolution",
    "kernels_per_layer": "Kernels per layer",
    "micro_batch_overhead": "Fixed time per micro-batch",
    "multi_device_overhead": "Overhead of several devices",
    # Steps of the trace.
    "trace.peak": "Peak of one device",
    "trace.software": "Software profile",
    "training_flop_per_sample": "Training compute of one sample",
    "samples_to_target": "Samples to the target",
    "trace.steps": "Steps",
    "trace.time_to_train": "Time to train",
    "trace.checkpoints": "Checkpoints",
    "trace.failures": "Failures and restarts",
    # Generations of chips.
    "generation.a100": "A100",
    "generation.v100": "V100",
    "generation.p100": "P100",
    "generation.mk2": "MK2",
    "generation.bow": "Bow",
    # What estimates take for granted.
    "assumptions.memory_margin": "Memory left free",
    "assumptions.failures_per_1000_node_days": "Failures per 1,000 node-days",
    "assumptions.restart_minutes": "Minutes of a restart",
    "assumptions.checkpoint_minutes": "Minutes between checkpoints",
    "assumptions.acquisition": "Acquisition",
    "assumptions.amortisation_years": "Years of amortisation",
    "assumptions.utilisation": "Utilisation of the system",
    "assumptions.include": "Parts counted",
    "assumptions.electricity_per_kwh": "Electricity per kWh",
    "assumptions.pue": "Power usage effectiveness (PUE)",
    "assumptions.peak": "Peak",
    "assumptions.utilization": "Share of the peak",
    # Units.
    **{f"unit.{unit}": unit for unit in ("s", "min", "h", "d", "samples/s", "tokens/s", "samples", "steps")},
    "unit.fitted figures": "fitted figures",
    # The catalogue.
    "undated": "undated",
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


STEP = "step."
SOFTWARE = "software."


def words(code: str, place: str = "") -> str:
    """Return English words for an identifier; unknown ones with spaces for underscores.

    A step of the trace is named after its part of the time, a sensitivity after its figure.

    >>> words("optimizer", "memory"), words("tensor_comm"), words("rank_count")
    ('Optimizer state', 'Tensor-parallel communication', 'rank count')
    """
    if code.startswith(STEP):
        code, place = code.removeprefix(STEP), "part"
    if code not in LABELS and code.startswith(SOFTWARE):
        code = code.removeprefix(SOFTWARE)
    return LABELS.get(f"{place}.{code}") or LABELS.get(code) or code.replace("_", " ")
