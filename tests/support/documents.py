"""Documents made by hand: what the pages are given, without the engine behind them."""

from __future__ import annotations

from app.errors import Message
from app.estimating.documents import (
    CheckWarning,
    Default,
    Estimate,
    Memory,
    MemoryPart,
    ModelSummary,
    NearestRun,
    Part,
    PlanSummary,
    Roofline,
    RooflinePoint,
    Sensitivity,
    SystemSummary,
    Text,
    TraceStep,
    Validation,
)
from app.estimating.money import Cost, CostLine
from app.estimating.schema import Quantity, SourceRef
from app.features.comparisons.model import Comparison, ComparisonRow, Ratio

PARTS = {
    "gemm": 0.52,
    "attention": 0.07,
    "memory_bound": 0.09,
    "tensor_comm": 0.11,
    "pipeline_bubble": 0.08,
    "pipeline_comm": 0.02,
    "data_comm": 0.04,
    "optimizer": 0.02,
    "fixed": 0.01,
    "checkpoint": 0.02,
    "failures": 0.02,
}


def ranged(value: float, unit: str, spread: float = 0.1) -> Quantity:
    """Return a quantity with a range on both sides."""
    return Quantity(value=value, low=value * (1 - spread), high=value * (1 + spread * 1.2), unit=unit)


def estimate(
    identifier: str = "estimate-1",
    label: str = "128 × DGX A100 640 GB",
    seconds: float = 34.2 * 86400,
    currency: str = "USD",
    fits: bool = True,
) -> Estimate:
    """Return an estimate with everything in it."""
    memory = Memory(
        per_device=ranged((61 if fits else 190) * 1e9, "B", 0.05),
        capacity=Quantity.exact(80e9, "B"),
        parts=[
            MemoryPart(part="weights", value=5.5e9),
            MemoryPart(part="gradients", value=5.5e9),
            MemoryPart(part="optimizer", value=(21 if fits else 150) * 1e9),
            MemoryPart(part="activations", value=26e9),
            MemoryPart(part="buffers", value=1e9),
            MemoryPart(part="framework", value=2e9),
        ],
        streaming=None,
        streaming_capacity=None,
    )
    warnings = [
        CheckWarning.of(
            "sparse_peak",
            "caution",
            Message("the peak of {peak} TFLOP/s counts zeros: the dense figure is half", {"peak": 624}),
        )
    ]
    if not fits:
        refusal = Message(
            "the fullest device needs {need} GB and has {have} GB; {count} devices would do",
            {"need": 190, "have": 80, "count": 256},
        )
        warnings.append(CheckWarning.of("does_not_fit", "serious", refusal))
    rate = 1.1e3 if currency == "KRW" else 1.0
    cost = Cost(
        run=ranged(3.1e6 * rate, currency),
        capex=ranged(25.5e6 * rate, currency),
        hourly=ranged(3.8e3 * rate, currency),
        basis={"acquisition": "own", "amortisation_years": 4, "include": ["hosts", "fabric", "power"]},
        lines=[
            CostLine(item="hardware", hourly=2.9e3 * rate),
            CostLine(item="power", hourly=0.6e3 * rate),
            CostLine(item="support", hourly=0.3e3 * rate),
        ],
    )
    return Estimate(
        id=identifier,
        name=label,
        engine_version="1.0",
        catalog_version="2026-11-21",
        model=ModelSummary(
            id="gpt3-175b",
            name="GPT-3 175B",
            family="gpt",
            parameters=174.6e9,
            forward_flop_per_sample=7.3e14,
            seq_len=2048,
            image_size=None,
            assumptions=[Text.of(Message("the embedding shares its weights with the last layer"))],
        ),
        system=SystemSummary(
            id="dgx-a100-640gb",
            name="DGX A100 640 GB",
            count=128,
            machines=128,
            devices=1024,
            chip="a100-sxm-80gb",
            fabric="hdr-infiniband",
            ports_per_node=8,
            generation="Ampere",
            power=ranged(690e3, "W"),
            rack_units=768,
        ),
        plan=PlanSummary(
            tensor=8,
            pipeline=8,
            data=16,
            micro_batch=1,
            accumulation=96,
            global_batch=1536,
            interleave=3,
            recompute="selective",
            sequence_parallel=True,
            sharding="optimizer",
            sharding_ranks=16,
            offload=False,
            rts=1,
            rts_optimizer=1,
            phases=1,
            stage_layers=[12] * 8,
            searched=["interleave", "recompute"],
        )
        if fits
        else None,
        software="megatron-2022",
        precision_used="bf16",
        defaults=[
            Default.of("software", "megatron-2022", Message("the newest profile measured on this system")),
            Default.of("system.fabric", "hdr-infiniband", Message("what the system is sold with")),
        ],
        fits=fits,
        memory=memory,
        step_time=ranged(21.7, "s") if fits else None,
        throughput=ranged(70.9, "samples/s") if fits else None,
        tokens_per_second=ranged(145e3, "tokens/s") if fits else None,
        mfu=ranged(0.486, "1") if fits else None,
        steps=95368 if fits else None,
        samples=146.5e6,
        time_to_train=ranged(seconds, "s") if fits else None,
        energy=ranged(2.1e12, "J") if fits else None,
        cost=cost if fits else None,
        breakdown=[Part(part=name, seconds=share * seconds) for name, share in PARTS.items()]
        if fits
        else None,
        roofline=[
            RooflinePoint(operator="mlp up", intensity=900, attained=238e12, bound="compute", seconds=6.0),
            RooflinePoint(
                operator="attention scores", intensity=64, attained=88e12, bound="memory", seconds=2.0
            ),
            RooflinePoint(operator="layer norm", intensity=1.3, attained=2.2e12, bound="memory", seconds=0.7),
            RooflinePoint(operator="bias", intensity=0.4, attained=0.3e12, bound="latency", seconds=0.1),
        ]
        if fits
        else [],
        roof=Roofline(peak=312e12, bandwidth=2.039e12, bandwidth_name="HBM2e") if fits else None,
        sensitivity=[
            Sensitivity(input="gemm_efficiency", low=seconds * 1.09, high=seconds * 0.93),
            Sensitivity(input="fabric_bandwidth", low=seconds * 1.03, high=seconds * 0.99),
            Sensitivity(input="failures_per_1000_node_days", low=seconds * 0.99, high=seconds * 1.02),
        ]
        if fits
        else [],
        validation=Validation(
            nearest_measured=[
                NearestRun(
                    id="megatron-145b-1536",
                    model="GPT 145B",
                    system="DGX A100",
                    accelerators=1536,
                    software="megatron-2021",
                    distance=0.21,
                )
            ],
            family_error=0.064,
            status="validated",
        ),
        warnings=warnings,
        trace=[
            TraceStep(
                name="time of one step",
                formula="t_step = t_compute + t_tensor + t_bubble + t_data",
                inputs={"t_compute": 15.1, "t_tensor": 2.4, "t_bubble": 1.7, "t_data": 0.9},
                value=21.7,
                unit="s",
                reference="D. Narayanan et al., “Efficient Large-Scale Language Model Training”, 2021.",
                source=[
                    SourceRef(
                        id="a100-datasheet",
                        kind="datasheet",
                        title="NVIDIA A100 Tensor Core GPU datasheet",
                        publisher="NVIDIA",
                        published="2021-06",
                        url="https://www.nvidia.com/a100",
                    )
                ],
            )
        ],
    )


def modelled(row: Estimate) -> ComparisonRow:
    """Return the row of an estimate."""
    time = row.time_to_train
    return ComparisonRow(
        label=row.name,
        kind="modelled",
        hours=time.value / 3600 if time else None,
        low=time.low / 3600 if time else None,
        high=time.high / 3600 if time else None,
        system=row.system.id,
        scaled_from=None,
        factor=None,
        estimate=row,
    )


def modelled_comparison(currency: str = "USD") -> Comparison:
    """Return two systems that run and one that is too small."""
    first = estimate(currency=currency)
    second = estimate("estimate-2", "1 × IPU-POD256", 96 * 86400.0, currency)
    small = estimate("estimate-3", "1 × DGX A100 640 GB", fits=False, currency=currency)
    return Comparison(
        id="comparison-1",
        title="GPT-3 175B",
        locale="en",
        currency=currency,
        scaling_efficiency=1.0,
        rows=[modelled(first), modelled(second), modelled(small)],
        ratios=[Ratio(slower=second.name, faster=first.name, ratio=96 / 34.2)],
        warnings=[],
    )


def published(
    label: str, kind: str, hours: float, scaled_from: str | None = None, factor: float | None = None
) -> ComparisonRow:
    """Return the row of a published figure."""
    return ComparisonRow.model_validate(
        {
            "label": label,
            "kind": kind,
            "hours": hours,
            "low": None,
            "high": None,
            "system": None,
            "scaled_from": scaled_from,
            "factor": factor,
            "estimate": None,
        }
    )


def vendor_comparison(efficiency: float = 1.0) -> Comparison:
    """Return the three bars a vendor drew for BERT-Large."""
    rows = [
        published("1 × DGX A100", "vendor", 69.5),
        published("3 × DGX A100", "linear", 69.5 / 3 / efficiency, "1 × DGX A100", 3),
        published("1 × IPU-POD64", "vendor", 13.2),
    ]
    warning = Message(
        "{rows}: published by the vendor; not independently measured",
        {"rows": "1 × DGX A100, 1 × IPU-POD64"},
    )
    return Comparison(
        id="comparison-2",
        title="BERT-Large: a vendor's claim",
        locale="en",
        currency="USD",
        scaling_efficiency=efficiency,
        rows=rows,
        ratios=[
            Ratio(slower=rows[0].label, faster=rows[2].label, ratio=69.5 / 13.2),
            Ratio(
                slower=rows[1].label, faster=rows[2].label, ratio=rows[1].hours / 13.2 if rows[1].hours else 1
            ),
        ],
        warnings=[CheckWarning.of("vendor_figure", "caution", warning, "rows.0", "rows.2")],
    )
