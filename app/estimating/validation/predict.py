"""Predict a measured case in its own metric from its configuration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from app.catalog.entries import ChipKind
from app.catalog.software import SoftwareProfile
from app.engine.convergence import evaluation_time
from app.engine.operators.adapters import ATTENTION_MODULES, MODULES, adapted
from app.engine.operators.table import Kind, OperatorTable
from app.engine.plans import Plans, Recompute
from app.engine.records import FloatLike, Floats, IpuChip, Precision, Tokens
from app.engine.runs import FORWARD_OVER_STEP
from app.engine.search.space import divisors
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.deciding import risk_of
from app.estimating.hardware import log_deviation
from app.estimating.plan_search import choose_plan, search_space, space_of
from app.estimating.runtime import evaluations_time, samples_at_batch
from app.estimating.scenario import Scenario
from app.estimating.validation.cases import MeasurementCase, UnsupportedCase, find_model
from app.estimating.workload import nearest_format
from app.profiles.model import ModelProfile

MEMORY_DOUBT = 1.1
"""Computed over available memory up to which a layout that was run is assumed to have fitted."""

STATED = {
    "host_returns": "host_returns_per_update",
    "available_memory": "available_memory",
    "input_time": "input_time_per_sample",
    "input_bytes": "input_bytes",
    "activation_input_bytes": "activation_input_bytes",
}
"""Figures of the software that rules may override, by the name of the field."""

LARGEST_MICRO_BATCH = 64.0
"""Largest micro-batch tried where a row states none."""


@dataclass(frozen=True, slots=True)
class PredictionSamples:
    case: MeasurementCase
    scenario: Scenario
    model: ModelProfile
    plans: Plans
    value: float
    samples: Floats
    run_deviation: float
    """Log-deviation of whole runs beside that of their steps."""


def build(
    case: MeasurementCase, context: SizingContext, profile: SoftwareProfile
) -> tuple[Scenario, ModelProfile, Plans]:
    model = find_model(case)
    tokens = _tokens(case, model)
    table = _operators(case, model, tokens)
    network = context.rules.network(case.interconnect, case.chip, case.devices_per_node)
    hardware = context.hardware.measured(
        case.system, case.devices, case.devices_per_node, network, case.interconnect
    )
    overrides: dict[str, FloatLike] = {}
    if network is not None and profile.kind == "gpu":
        stack = float(profile.figures["network_efficiency"].value)
        overrides["network_efficiency"] = stack * network.efficiency
    overrides |= {
        figure: float(case.completed[name]) for name, figure in STATED.items() if name in case.completed
    }
    scenario = Scenario(
        table=table,
        hardware=hardware,
        software=profile,
        precision=Precision(case.precision),
        optimizer=case.completed.get("optimizer", "adam"),
        overrides=overrides,
        # A published row is a record, whoever named its software: what askers take longer is not its own.
        effects=context.effects.of(
            case.chip, replace(profile, presumed=False), case.family, context.measured.series
        ),
        stage_layers=tuple(float(layers) for layers in case.completed.get("stage_layers", "").split()),
    )
    if not isinstance(hardware, IpuChip):
        used = nearest_format(scenario.precision, hardware.chip.matrix_peak, table)
        scenario = replace(scenario, precision=used)
    return scenario, model, _plans(case, scenario, context)


def predict(
    case: MeasurementCase, context: SizingContext, profile: SoftwareProfile, normals: Mapping[str, Floats]
) -> PredictionSamples:
    scenario, model, plans = build(case, context, profile)
    central = scenario.step(plans).total
    sampled = scenario.step(plans, normals).total
    convert = conversion(case, scenario, plans, context)
    return PredictionSamples(
        case=case,
        scenario=scenario,
        model=model,
        plans=plans,
        value=float(np.ravel(convert(central))[0]),
        samples=np.ravel(convert(sampled)),
        run_deviation=run_deviation(case, context),
    )


def run_deviation(case: MeasurementCase, context: SizingContext) -> float:
    """Return the log-deviation of a whole run beside that of its steps."""
    if case.metric == "gpu_hours":
        return log_deviation(context.catalog.reliability_defaults(ChipKind.GPU).operational_share)
    if case.metric == "time_to_train_min" and "target" in case.completed:
        return context.catalog.convergence(case.completed["target"]).scatter
    return 0.0


FLOP_PASSES = 3.0
"""Operations of a training step over those of its forward pass."""
MODULES_BY_NAME = {"attention": ATTENTION_MODULES, "all": MODULES}
"""Products with adapters where a rule names them together."""


def _operators(case: MeasurementCase, model: ModelProfile, tokens: Tokens | None) -> OperatorTable:
    """Return the operators of one sample, with adapters where a rule says that only these are trained."""
    table = model.operators(tokens, case.image_size)
    if "lora_rank" not in case.completed:
        return table
    modules = case.completed.get("lora_modules", "q_proj v_proj")
    return adapted(table, MODULES_BY_NAME.get(modules) or modules.split(), float(case.completed["lora_rank"]))


def _tokens(case: MeasurementCase, model: ModelProfile) -> Tokens | None:
    seq_len = case.seq_len or model.default_seq_len
    if seq_len is None:
        return None
    packing = float(case.completed.get("packing", 1.0))
    if packing > 1.0:
        return model.tokens(seq_len, seq_len / packing, packed=True)
    mean = case.completed.get("mean_tokens")
    return model.tokens(seq_len, float(mean) if mean else None)


def _plans(case: MeasurementCase, scenario: Scenario, context: SizingContext) -> Plans:
    copies = case.devices / (case.tensor * case.pipeline)
    # Ranks that share the tokens of a sample each hold a copy, which the stated degree leaves out.
    data = max(1.0, float((case.context == 1 and case.data) or copies))
    completed = case.completed
    batch = case.global_batch or (float(completed["global_batch"]) if "global_batch" in completed else None)
    micro = case.micro_batch or (float(completed["micro_batch"]) if "micro_batch" in completed else None)
    if micro is not None:
        # A micro-batch counts rows; a packed row holds several samples.
        micro *= float(completed.get("packing", 1.0))
    per_device = float(completed.get("device_batch", 0.0)) or None
    step_tokens = float(completed.get("step_tokens", 0.0))
    of_tokens = max(data, step_tokens / (case.seq_len or scenario.table.tokens)) if step_tokens else None
    if batch is None and "step_stated" in completed:
        batch = of_tokens
    if batch is None and (per_device or (micro and case.pipeline == 1)):
        batch = data * float(micro or per_device or 1.0)
    if batch is None and case.metric != "step_time_s":
        # A step lasts as long as its batch is large, so that one of the usual size says nothing of it.
        batch = of_tokens
    if batch is None:
        raise UnsupportedCase(
            "the global batch size is missing, and no rule for {software} provides it", software=case.software
        )
    convolutional = not scenario.is_ipu and bool(np.any(scenario.table.kind == Kind.CONVOLUTION))
    if batch < data and case.tensor * case.pipeline == 1 and convolutional:
        return _split_samples(case, batch, data)
    if case.copies_alone and data < copies:
        plan = _searched(case, scenario, context, int(batch), data)
        if plan is not None:
            return plan
    per_copy = max(1.0 / case.context, batch / data)
    if micro is not None:
        micro /= case.context
    depth = scenario.table.depth
    stated = case.interleave or completed.get("interleave")
    interleave: FloatLike = 1.0
    if case.pipeline > 1 and stated and chunks_fit(depth, case.pipeline, float(stated)):
        interleave = float(stated)
    experts = scenario.table.active_parameters < scenario.table.parameters
    recompute = case.recompute if case.recompute is not None else float(scenario.is_ipu)
    if scenario.is_ipu and recompute:
        recompute = 2.0

    def plans(micro_batch: FloatLike) -> Plans:
        parts = per_copy / np.asarray(micro_batch, dtype=float)
        return Plans.of(
            tensor=case.tensor,
            pipeline=case.pipeline,
            data=np.array([data]),
            micro_batch=micro_batch,
            accumulation=parts if scenario.is_ipu else np.maximum(1.0, np.round(parts)),
            interleave=interleave,
            recompute=recompute,
            expert=float(min(case.expert or 1, data)) if experts else 1.0,
            context=float(case.context),
            sequence_parallel=float(case.sequence_parallel),
            sharding=case.sharding,
            sharding_ranks=min(data, float(case.devices_per_node)) if case.sharding_inside_node else data,
            offload=float(completed.get("offload", 0.0)),
            rts_optimizer=data if completed.get("shared_optimizer") == "1" else 1.0,
        )

    if micro is None:
        micro = _fastest_micro_batch(scenario, plans, per_copy, per_device or LARGEST_MICRO_BATCH)
        if per_device is not None and not _fits(scenario, plans(micro)):
            # Then the batch is not the reason that it does not fit.
            micro = min(per_copy, per_device)
    if case.pipeline > 1 and not stated and not scenario.is_ipu:
        interleave = _fastest_interleave(scenario, plans(min(micro, per_copy)))
    chosen = plans(min(micro, per_copy))
    if case.laid_out or _fits(scenario, chosen):
        if case.recompute is None and not scenario.is_ipu and not _fits(scenario, chosen):
            return _least_recomputed(scenario, chosen)
        return chosen
    return _searched(case, scenario, context, int(batch)) or chosen


def chunks_fit(depth: float, stages: float, chunks: float) -> bool:
    """Return whether no stage holds more layers when they are cut into chunks.

    Where layers do not divide over chunks, runs place them by hand so that no stage holds more.

    >>> chunks_fit(126, 16, 4), chunks_fit(96, 8, 5)
    (True, False)
    """
    return math.ceil(depth / (stages * chunks)) * chunks <= math.ceil(depth / stages)


def _fastest_interleave(scenario: Scenario, plans: Plans) -> float:
    """Return the chunks of a stage of the fastest plan that fits, as a search would choose them."""
    stages, depth = float(np.ravel(plans.pipeline)[0]), float(scenario.table.depth)
    tried = np.array(
        [float(n) for n in range(1, math.ceil(depth / stages) + 1) if chunks_fit(depth, stages, n)]
    )
    if tried.size < 2 or np.any(np.asarray(plans.accumulation) % stages):
        return 1.0
    options = replace(
        Plans(**{entry.name: np.resize(getattr(plans, entry.name), tried.shape) for entry in fields(Plans)}),
        interleave=tried,
    )
    memory = scenario.memory(options)
    fits = np.broadcast_to(memory.total <= memory.capacity, tried.shape)
    # A layout that was run did fit, whatever is computed.
    return float(tried[np.argmin(np.where(fits | ~fits.any(), scenario.step(options).total, np.inf))])


def _least_recomputed(scenario: Scenario, plans: Plans) -> Plans:
    """Return a plan with the fewest recomputed layers with which it fits; unchanged where none helps.

    A layout that was run did fit, so what its memory could not hold was recomputed.
    """
    depth = int(scenario.table.depth)
    tried = replace(plans, recompute=Recompute.SELECTIVE + np.arange(depth + 1) / depth)
    memory = scenario.memory(tried)
    fits = np.flatnonzero(np.ravel(memory.total <= MEMORY_DOUBT * memory.capacity))
    if not fits.size:
        return plans
    least = fits[0]
    return replace(plans, recompute=np.asarray(float(Recompute.SELECTIVE) + least / depth))


def _fastest_micro_batch(
    scenario: Scenario, plans: Callable[[FloatLike], Plans], ours: float, most: float
) -> float:
    """Return the micro-batch of the fastest plan that fits, among the divisors of a copy's samples."""
    if ours % 1.0:
        return 1.0
    tried = np.array([float(size) for size in divisors(int(ours)) if size <= most])
    if not tried.size:
        return 1.0
    plain = plans(tried)
    options = Plans(
        **{entry.name: np.broadcast_to(getattr(plain, entry.name), tried.shape) for entry in fields(Plans)}
    )
    memory = scenario.memory(options)
    fits = np.broadcast_to(memory.total <= memory.capacity, tried.shape)
    if not fits.any():
        return 1.0
    seconds = np.broadcast_to(scenario.step(options).total, tried.shape)
    return float(tried[np.argmin(np.where(fits, seconds, np.inf))])


def _split_samples(case: MeasurementCase, batch: float, data: float) -> Plans:
    """Return the plan of a run with fewer samples than devices: each sample is cut into parts.

    The parts of one sample are a power of two within one machine; devices left over only evaluate.
    """
    parts = 2.0 ** math.floor(math.log2(min(data / batch, float(case.devices_per_node))))
    return Plans.of(data=np.array([batch * parts]), micro_batch=1.0 / parts)


def _searched(
    case: MeasurementCase, scenario: Scenario, context: SizingContext, batch: int, data: float | None = None
) -> Plans | None:
    """Return the best plan where a row states no layout and one device does not hold the model."""
    allowed: dict[str, tuple[float, ...]] = {} if data is None else {"data": (data,)}
    if not case.copies_alone or case.context > 1:
        allowed["context"] = (float(case.context),)
    if not scenario.is_ipu:
        # A row that does not mention recomputation rarely recomputes only some layers.
        modes = tuple(map(float, Recompute))
        allowed["recompute"] = modes if case.recompute is None else (case.recompute,)
    if case.sharding and not scenario.is_ipu:
        allowed["sharding"] = (case.sharding,)
    try:
        space = space_of(
            scenario, allowed, devices=case.devices, per_node=case.devices_per_node, global_batch=batch
        )
        search = search_space(scenario, space, risk=risk_of(scenario, case.family, context))
        choice = choose_plan(scenario, search)
    except AppError:
        return None
    return choice.plans if choice.fits else None


def _fits(scenario: Scenario, plans: Plans) -> bool:
    memory = scenario.memory(plans)
    return bool(np.all(memory.total <= memory.capacity))


def conversion(
    case: MeasurementCase, scenario: Scenario, plans: Plans, context: SizingContext
) -> Callable[[Floats], Floats]:
    """Return the function from step seconds to the case's metric."""
    batch = float(plans.global_batch[0])
    tokens = scenario.table.tokens

    counted = tokens if case.completed.get("rate_unit") == "token" else 1.0
    counted_attention = float(case.completed.get("counted_attention", 1.0))
    whole_run = case.includes_evaluation or case.metric == "time_to_train_min"
    target = context.catalog.convergence(case.completed["target"]) if "target" in case.completed else None

    def seconds(step: Floats) -> Floats:
        """Return the time of one step with its share of the evaluations of the run."""
        if not whole_run or (target is None and "evaluation_interval" not in case.completed):
            return step
        run = target_samples(case, scenario, batch, context)
        if target is None:
            evaluations = evaluation_time(
                run,
                float(case.completed["evaluation_interval"]),
                scenario.evaluation_overhead,
                float(case.completed["evaluated_samples"]),
                FORWARD_OVER_STEP * batch / step,
            )
        else:
            everyone = bool(plans.devices[0] >= case.devices)
            evaluations = evaluations_time(target, scenario, run, batch, step, everyone)
        return np.asarray(step + evaluations * batch / run)

    def tflops(step: Floats) -> Floats:
        flop = scenario.table.training_flop
        if case.recompute == 2.0:
            layers = scenario.table.section == 1
            flop += float(np.sum(scenario.table.forward_flop[layers]))
        attention = scenario.table.forward_flop[scenario.table.kind == Kind.ATTENTION]
        flop -= FLOP_PASSES * (1.0 - counted_attention) * float(np.sum(attention))
        return np.asarray(flop * batch / seconds(step) / float(plans.devices[0]) / 1e12)

    conversions = {
        "samples_per_s": lambda step: batch * counted / seconds(step),
        "tokens_per_s": lambda step: batch * (case.seq_len or tokens) / seconds(step),
        "step_time_s": seconds,
        "tflops_per_accel": tflops,
        "time_to_train_min": lambda step: (
            target_samples(case, scenario, batch, context) / batch * seconds(step) / 60.0
        ),
        "gpu_hours": lambda step: (
            at_least_a_step(case.total or np.nan, case.seq_len or tokens, batch)
            / batch
            * seconds(step)
            * float(plans.devices[0])
            / 3600.0
            / context.catalog.reliability_defaults(ChipKind.GPU).operational_share.si
        ),
    }
    if case.metric not in conversions:
        raise UnsupportedCase("the metric {metric} is not predicted", metric=case.metric)
    if case.metric == "gpu_hours" and not case.total:
        raise UnsupportedCase("the total number of tokens is missing")
    return conversions[case.metric]


def target_samples(case: MeasurementCase, scenario: Scenario, batch: float, context: SizingContext) -> float:
    """Return the samples a run trains on.

    To a target: the epochs of its recipe, or the published points at its batch; else the stated total.
    """
    if case.completed.get("fixed_length") and case.total:
        return at_least_a_step(case.total, 1.0, batch)
    identifier = case.completed.get("target")
    if identifier is not None:
        target = context.catalog.convergence(identifier)
        if "epochs" in case.completed and target.dataset_samples is not None:
            return float(case.completed["epochs"]) * target.dataset_samples
        factor = target.early_recipe_samples if case.completed.get("early_recipe") else 1.0
        return factor * samples_at_batch(target, batch)
    total = case.total or (float(case.completed["total"]) if "total" in case.completed else None)
    if total is None:
        raise UnsupportedCase(
            "no reference points show how long {model} trains to its target", model=case.model
        )
    length = (case.seq_len or scenario.table.tokens) if case.completed.get("total_unit") == "token" else 1.0
    return at_least_a_step(total, length, batch)


def at_least_a_step(total: float, length: float, batch: float) -> float:
    """Return the samples of a stated total of tokens; read it as samples where it would not fill one step.

    >>> at_least_a_step(3e11, 2048.0, 1536.0), at_least_a_step(3120.0, 8192.0, 8.0)
    (146484375.0, 3120.0)
    """
    for samples in (total / length, total):
        if samples >= batch:
            return samples
    raise UnsupportedCase(
        "the stated total of {total} is shorter than one step of {batch} samples", total=total, batch=batch
    )
