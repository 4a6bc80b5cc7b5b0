"""Model, samples, precision and optimizer of a request, and the defaults taken for what it leaves open."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.defaults import ConvergenceTarget
from app.engine.gpu.case import NARROW_BYTES
from app.engine.ipu.case import STATE_BYTES as IPU_OPTIMIZERS
from app.engine.operators.adapters import ATTENTION_MODULES, adaptable_modules, adapted
from app.engine.operators.table import QUANTISED_BYTES, Kind, OperatorTable, Section
from app.engine.records import GpuChip, IpuChip, Precision, Tokens
from app.errors import BadInput, Message, Unprocessable, check_between
from app.estimating.context import LANGUAGE, SizingContext, batch_limit, critical_batch
from app.estimating.documents import CheckWarning, Default, ModelSummary, Text, info
from app.estimating.hardware import known_id
from app.estimating.ranges import count_of, significant
from app.estimating.request import EstimateRequest, ModelInput, WorkloadInput
from app.estimating.schema import filled
from app.profiles.config import config_profile
from app.profiles.layer_table import layers_profile
from app.profiles.model import ModelProfile
from app.profiles.presets import preset
from app.profiles.samples import LengthSample
from app.profiles.transformer import figure_profile, transformer_profile

GREATEST = 1e18
"""Largest amount of training: ten thousand times the largest runs, yet steps still count exactly."""
LONGEST = 1_048_576
LARGEST_IMAGE = 16_384
OPTIMIZERS = {"bert": "lamb", "dlrm": "sgd"}
"""Optimizers of the published recipes of these families; momentum for convolutions, else Adam."""
MIXED = (Precision.BF16, Precision.FP16, Precision.FP16_16, Precision.FP32)

NEAREST = {
    Precision.BF16: MIXED,
    Precision.FP16: (Precision.FP16, Precision.BF16, Precision.FP16_16, Precision.FP32),
    Precision.TF32: (Precision.TF32, Precision.FP32, Precision.BF16),
    Precision.FP32: (Precision.FP32, Precision.BF16),
    Precision.FP16_16: (Precision.FP16_16, Precision.FP16, Precision.BF16, Precision.FP32),
    Precision.FP8: (Precision.FP8, *MIXED),
    Precision.MXFP8: (Precision.MXFP8, Precision.FP8, *MIXED),
    Precision.NVFP4: (Precision.NVFP4, Precision.MXFP4, Precision.MXFP8, Precision.FP8, *MIXED),
    Precision.MXFP4: (Precision.MXFP4, Precision.NVFP4, Precision.MXFP8, Precision.FP8, *MIXED),
    Precision.INT8: (Precision.INT8, Precision.FP8, *MIXED),
}
"""Formats in the order in which they stand in for one another."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """What is trained where a model's own weights are frozen."""

    rank: int
    modules: tuple[str, ...]
    stored_bytes: float
    """Bytes of a frozen weight of the layers where it is stored in fewer bits than the products have, else 0.
    [B]
    """


ADAPTER_PAPERS = {
    "lora": (8, ("q_proj", "v_proj"), "Hu et al. 2021, arXiv 2106.09685, appendix D.4"),
    "qlora": (64, "all", "Dettmers et al. 2023, arXiv 2305.14314, section 4"),
}
"""Rank and modules of adapters by kind of workload, and the paper they are from."""

HIGHEST_RANK = 4096
STORED_BYTES = {"int8": 1.0, "nf4": QUANTISED_BYTES}
"""Bytes of a frozen weight by the format it is stored in."""
HELD_MODELS = {"dpo": (1.0, 1.0), "ppo": (2.0, 2.0), "grpo": (1.0, 1.0)}
"""Frozen and trained models of the same size that training from preferences holds: a reference; for PPO also
a reward model, and a critic beside the policy (Rafailov et al. 2023, section 4; Ouyang et al. 2022, section
3.5; Shao et al. 2024, section 4.1)."""
GENERATING = frozenset({"ppo", "grpo"})
"""Kinds whose time is mostly that of writing answers."""


@dataclass(slots=True)
class Training:
    """A workload with the defaults that were filled in."""

    profile: ModelProfile
    samples: float | None
    """None where a target gives them by batch."""
    target: ConvergenceTarget | None
    seq_len: int | None
    image_size: int | None
    tokens: Tokens | None
    global_batch: int | None
    precision: Precision
    optimizer: str
    evaluation: tuple[float, float] | None = None
    """Samples between two evaluations, and of one; None where the run is not evaluated."""
    kind: str = "pretrain"
    """Kind of the workload."""
    adapters: Adapters | None = None
    """None where all weights are trained."""
    master_weights: bool = True
    """Whether half-precision weights have a single-precision copy."""
    defaults: list[Default] = field(default_factory=list)
    warnings: list[CheckWarning] = field(default_factory=list)

    def operators(self) -> OperatorTable:
        """Return the operators of one sample, with adapters where the model's weights are frozen."""
        tokens = self.tokens
        if tokens is not None and self.kind == "dpo":
            # A sample is a pair of answers, which do not attend to each other.
            tokens = Tokens(*(2.0 * getattr(tokens, entry.name) for entry in fields(Tokens)))
        frozen, trained_models = HELD_MODELS.get(self.kind, (0.0, 1.0))
        table = self.profile.operators(tokens, self.image_size)
        return _trained(table, self.adapters, frozen, trained_models, self.master_weights)


@lru_cache(maxsize=256)
def _trained(
    table: OperatorTable,
    adapters: Adapters | None,
    frozen_models: float,
    trained_models: float,
    master_weights: bool,
) -> OperatorTable:
    """Return a table with what is trained of it; kept, as the engine keeps figures of tables it knows."""
    if adapters is None:
        master = table.master_weights if master_weights else 0.0
        return replace(
            table, frozen_models=frozen_models, trained_models=trained_models, master_weights=master
        )
    stored, rank = adapters.stored_bytes, float(adapters.rank)
    if not stored:
        return adapted(table, adapters.modules, rank)
    return adapted(table, adapters.modules, rank, quantised=True, stored_bytes=stored)


def resolve_training(
    request: EstimateRequest, profile: ModelProfile, chip: GpuChip | IpuChip, context: SizingContext
) -> Training:
    """Return the workload of a request; refuse the field that is missing or contradictory."""
    workload = request.workload
    _positive(workload)
    defaults: list[Default] = []
    warnings: list[CheckWarning] = []
    target = None
    adapters = _adapters(workload, profile, chip, defaults)
    if workload.target is not None:
        if workload.kind not in FROM_SCRATCH:
            raise BadInput.at(
                "workload.target",
                "targets exist for pre-training, not for kind {kind}; enter samples, tokens, "
                "or epochs with dataset_samples",
                kind=workload.kind,
            )
        target_id = known_id(context.catalog, "target", workload.target, "workload.target")
        target = _own_target(target_id, profile, context.catalog)
    _useless(workload, profile)
    seq_len, image_size = _size(workload, profile, target, defaults)
    tokens = _tokens(workload, profile, target, seq_len, context, defaults)
    per_sample = tokens.mean if tokens else 1.0
    samples = _samples(workload, profile, target, per_sample, tokens is not None)
    table = profile.operators(tokens, image_size)
    precision = precision_on(
        workload.precision, profile, table, chip, context.catalog, "workload.precision", defaults, warnings
    )
    optimizer: str | None = workload.optimizer
    if isinstance(chip, IpuChip):
        _only_on_gpus(workload)
    if optimizer is None:
        convolutional = is_convolutional(table)
        optimizer = OPTIMIZERS.get(profile.family, "momentum" if convolutional else "adam")
        why = Message("optimizer of published recipes for such networks")
        defaults.append(Default.of("workload.optimizer", optimizer, why))
    return Training(
        profile=profile,
        samples=samples,
        target=target,
        seq_len=seq_len,
        image_size=image_size,
        tokens=tokens,
        global_batch=workload.global_batch,
        precision=precision,
        optimizer=optimizer,
        evaluation=_evaluation(workload, target),
        kind=workload.kind,
        adapters=adapters,
        master_weights=workload.master_weights is not False,
        defaults=defaults,
        warnings=warnings,
    )


def _evaluation(workload: WorkloadInput, target: ConvergenceTarget | None) -> tuple[float, float] | None:
    """Return the samples between two evaluations, and of one, as stated or as the target has them."""
    names = ("evaluation_interval", "evaluated_samples")
    stated = [name for name in names if getattr(workload, name) is not None]
    if target is not None:
        for name in stated:
            raise BadInput.at(
                f"workload.{name}",
                "{target} states how often its runs are evaluated; leave {name} empty, or enter samples in "
                "place of the target",
                target=target.id,
                name=name,
            )
        if target.evaluation_samples is None or target.evaluated_samples is None:
            return None
        return target.evaluation_samples, target.evaluated_samples
    if workload.evaluation_interval is None or workload.evaluated_samples is None:
        for name in stated:
            (other,) = set(names) - {name}
            raise BadInput.at(
                f"workload.{other}", "enter {other} as well, or leave {name} empty", name=name, other=other
            )
        return None
    return workload.evaluation_interval, workload.evaluated_samples


def _only_on_gpus(workload: WorkloadInput) -> None:
    """Refuse kinds of training and optimizers that are computed on GPUs only."""
    if workload.kind in HELD_MODELS or workload.master_weights is False:
        name = "kind" if workload.kind in HELD_MODELS else "master_weights"
        raise BadInput.at(
            f"workload.{name}",
            "{name} {value} is computed on GPUs only; choose a GPU system, or leave the field empty",
            name=name,
            value=str(getattr(workload, name)).lower(),
        )
    if workload.optimizer is not None and workload.optimizer not in IPU_OPTIMIZERS:
        raise BadInput.at(
            "workload.optimizer",
            "{optimizer} is computed on GPUs only; choose one of {known}",
            optimizer=workload.optimizer,
            known=", ".join(IPU_OPTIMIZERS),
        )


FROM_SCRATCH = frozenset({"pretrain", "continue"})
"""Kinds of training that convergence targets apply to."""


def _adapters(
    workload: WorkloadInput, profile: ModelProfile, chip: GpuChip | IpuChip, defaults: list[Default]
) -> Adapters | None:
    """Return the requested adapters; rank and modules default to those of the method's paper."""
    if workload.kind not in ADAPTER_PAPERS:
        for name in ("lora_rank", "lora_modules", "base_format"):
            if getattr(workload, name) is not None:
                raise BadInput.at(
                    f"workload.{name}",
                    "kind {kind} trains all weights and has no adapters; set kind to lora or "
                    "qlora, or leave this empty",
                    kind=workload.kind,
                )
        return None
    if isinstance(chip, IpuChip):
        raise BadInput.at(
            "workload.kind",
            "LoRA and QLoRA are computed on GPUs only; choose a GPU system, or set kind to finetune",
        )
    adaptable = adaptable_modules(profile.operators())
    if not adaptable:
        raise BadInput.at(
            "workload.kind",
            "{model} has no transformer layers for adapters; set kind to finetune",
            model=profile.name,
        )
    rank, modules, paper = ADAPTER_PAPERS[workload.kind]
    if workload.lora_rank is None:
        why = Message("rank from {paper}", {"paper": paper})
        defaults.append(Default.of("workload.lora_rank", rank, why))
    else:
        rank = workload.lora_rank
        if not 1 <= rank <= HIGHEST_RANK:
            raise BadInput.at(
                "workload.lora_rank",
                "must be between 1 and {most}, not {value}",
                value=rank,
                most=HIGHEST_RANK,
            )
    if workload.lora_modules is None:
        chosen = tuple(modules) if modules != "all" and set(modules) <= set(adaptable) else adaptable
        why = Message("target modules from {paper}", {"paper": paper})
        defaults.append(Default.of("workload.lora_modules", ", ".join(chosen), why))
    else:
        chosen = _chosen_modules(workload.lora_modules, adaptable)
    base = workload.base_format or ("nf4" if workload.kind == "qlora" else None)
    return Adapters(rank, chosen, stored_bytes=0.0 if base is None else STORED_BYTES[base])


def _chosen_modules(requested: str | list[str], adaptable: tuple[str, ...]) -> tuple[str, ...]:
    groups = {"all": adaptable, "attention": tuple(name for name in ATTENTION_MODULES if name in adaptable)}
    names = [name.strip() for name in requested.split(",")] if isinstance(requested, str) else requested
    chosen = {module for name in names for module in groups.get(name, (name,))}
    unknown = sorted(chosen - set(adaptable))
    if unknown or not chosen:
        raise BadInput.at(
            "workload.lora_modules",
            "this model has no module {value}; choose all, attention, or some of {known}",
            value=", ".join(unknown) or "-",
            known=", ".join(adaptable),
        )
    return tuple(name for name in adaptable if name in chosen)


def trained(training: Training, samples: float) -> Message:
    """Return what is trained, in words."""
    if training.tokens is None:
        amount = Message("{samples} samples", {"samples": count_of(samples)})
        if training.image_size is not None:
            amount = Message(
                "{samples} samples of {pixels} pixels",
                {"samples": count_of(samples), "pixels": training.image_size},
            )
    elif training.tokens.mean < training.tokens.rows:
        values = {"samples": count_of(samples), "mean": significant(training.tokens.mean)}
        amount = Message(
            "{samples} sequences of up to {seq_len} tokens, {mean} on average",
            {**values, "seq_len": training.seq_len},
        )
    else:
        trained_on = count_of(samples * training.tokens.mean)
        amount = Message(
            "{tokens} tokens in sequences of {seq_len}", {"tokens": trained_on, "seq_len": training.seq_len}
        )
    if training.target is None:
        return amount
    return Message("{amount}, trained to {target}", {"amount": amount, "target": training.target.name})


def is_convolutional(table: OperatorTable) -> bool:
    """Return True for a network of convolutions without attention."""
    kinds = set(table.kind.astype(int).tolist())
    return Kind.CONVOLUTION in kinds and Kind.ATTENTION not in kinds


LEAST = {
    **dict.fromkeys(("samples", "tokens", "dataset_samples", "mean_tokens", "global_batch"), 1),
    **dict.fromkeys(("evaluation_interval", "evaluated_samples"), 1),
    "epochs": 1e-6,
}
"""Least value of each amount of a workload."""


def _positive(workload: WorkloadInput) -> None:
    for name, least in LEAST.items():
        value = getattr(workload, name)
        if value is not None:
            check_between(f"workload.{name}", value, least, GREATEST)
    if workload.global_batch is not None and workload.global_batch > LARGEST_BATCH:
        raise BadInput.at(
            "workload.global_batch", "a step has at most {most} samples, not {value}",
            value=workload.global_batch, most=LARGEST_BATCH,
        )  # fmt: skip


LARGEST_BATCH = 10_000_000


def targets_of(profile: ModelProfile, catalog: Catalog) -> list[str]:
    """Return the targets that are defined for a model: for its preset, or for one of its family and size."""
    return [name for name in catalog.names("target") if _is_of(catalog.convergence(name), profile)]


UNNAMED = frozenset({"custom", "cnn"})
"""Families of uploads that do not name their model; they are matched by size."""
SAME_SIZE = 0.1
"""Relative difference of parameters up to which a network counts as a target's model."""


def _is_of(target: ConvergenceTarget, profile: ModelProfile) -> bool:
    model = preset(target.model)
    if profile.family not in {model.family, *UNNAMED}:
        return False
    return abs(profile.parameters / model.parameters - 1.0) <= SAME_SIZE


def _own_target(name: str, profile: ModelProfile, catalog: Catalog) -> ConvergenceTarget:
    """Return a target; refuse that of another model, which says nothing of this one's samples."""
    target = catalog.convergence(name)
    if _is_of(target, profile):
        return target
    own = targets_of(profile, catalog)
    raise BadInput.at(
        "workload.target",
        "{target} is a target for {other}, not for {model}; {advice}",
        target=name,
        other=preset(target.model).name,
        model=profile.name,
        advice=Message("choose {targets}", {"targets": ", ".join(own)})
        if own
        else Message("this model has no known target; enter tokens, samples or epochs instead"),
    )


def _useless(workload: WorkloadInput, profile: ModelProfile) -> None:
    """Refuse a length or an image size that does not apply to the model."""
    if profile.default_seq_len is None:
        for name in ("seq_len", "mean_tokens", "workload_id"):
            if getattr(workload, name) is not None:
                raise BadInput.at(
                    f"workload.{name}", "{model} does not take a sequence length; leave it "
                                        "empty",
                    model=profile.name,
                )  # fmt: skip
    _imbalance(workload, profile)
    if workload.image_size is not None and profile.default_image_size is None:
        raise BadInput.at(
            "workload.image_size", "{model} does not take an image size; leave it empty",
            model=profile.name,
        )  # fmt: skip


def _imbalance(workload: WorkloadInput, profile: ModelProfile) -> None:
    """Refuse an imbalance of a model without experts, or one that their number does not allow."""
    imbalance = workload.expert_imbalance
    if imbalance is None:
        return
    experts = profile.operators().experts
    if experts == 1:
        raise BadInput.at(
            "workload.expert_imbalance", "{model} has no experts; leave it empty", model=profile.name
        )
    if not 1.0 <= imbalance <= experts:
        raise BadInput.at(
            "workload.expert_imbalance",
            "must be between 1 (balanced) and {most}, the number of experts, not {value}",
            value=imbalance,
            most=experts,
        )


def _samples(
    workload: WorkloadInput,
    profile: ModelProfile,
    target: ConvergenceTarget | None,
    per_sample: float,
    sequence: bool,
) -> float | None:
    ways = [name for name in ("samples", "tokens", "epochs", "target") if getattr(workload, name) is not None]
    if len(ways) > 1:
        raise BadInput.at(
            f"workload.{ways[1]}",
            "enter only one of {ways}: each sets how long to train",
            ways=", ".join(ways),
        )
    if target is not None:
        return None
    if workload.samples is not None:
        return workload.samples
    if workload.tokens is not None:
        if not sequence:
            raise BadInput.at(
                "workload.tokens", "this model has no sequences; enter samples or epochs instead"
            )
        return workload.tokens / per_sample
    if workload.epochs is not None:
        if workload.dataset_samples is None:
            raise BadInput.at("workload.dataset_samples", "epochs need the number of samples in the dataset")
        samples = workload.epochs * workload.dataset_samples
        if samples > GREATEST:
            raise BadInput.at(
                "workload.epochs", "{epochs} epochs of {samples} samples are more than {most} samples",
                epochs=workload.epochs, samples=workload.dataset_samples, most=GREATEST,
            )  # fmt: skip
        return samples
    if profile.published.amount is None:
        raise Unprocessable.at("workload", "say how long to train: {ways}", ways=WAYS)
    raise Unprocessable.at(
        "workload",
        "say how long to train: {ways}; a usual assumption for {model} is {workload}"
        if profile.published.assumed
        else "say how long to train: {ways}; the published training of {model} is {workload}",
        ways=WAYS,
        model=profile.name,
        workload=json.dumps(profile.published.workload),
    )


WAYS = Message("enter tokens, samples, epochs with dataset_samples, or a target")


def _size(
    workload: WorkloadInput, profile: ModelProfile, target: ConvergenceTarget | None, defaults: list[Default]
) -> tuple[int | None, int | None]:
    seq_len, image_size = workload.seq_len, workload.image_size
    if seq_len is not None and not 1 <= seq_len <= LONGEST:
        raise BadInput.at(
            "workload.seq_len", "must be between 1 and {most}, not {value}", value=seq_len, most=LONGEST
        )
    if image_size is not None and not 1 <= image_size <= LARGEST_IMAGE:
        raise BadInput.at(
            "workload.image_size",
            "must be between 1 and {most}, not {value}",
            value=image_size,
            most=LARGEST_IMAGE,
        )
    if seq_len is None and profile.default_seq_len is not None:
        seq_len = (target.seq_len if target else None) or profile.usual_seq_len
        why = (
            Message("length the target is defined for") if target and target.seq_len else _why_length(profile)
        )
        defaults.append(Default.of("workload.seq_len", seq_len, why))
    if image_size is None and profile.default_image_size is not None:
        image_size = (target.image_size if target else None) or profile.default_image_size
        defaults.append(
            Default.of("workload.image_size", image_size, Message("image size published with the model"))
        )
    return seq_len, image_size


def _why_length(profile: ModelProfile) -> Message:
    if profile.limited:
        return Message(
            "the configuration allows {limit} positions, which is a limit, not a training "
            "length; long samples are truncated at {usual}",
            {"limit": profile.default_seq_len, "usual": profile.usual_seq_len},
        )
    if profile.origin == "config":
        return Message("longest sample the configuration allows; its training length is not stated")
    if profile.origin == "preset":
        return Message("sequence length of its published training")
    return Message("length entered with the model")


def _tokens(
    workload: WorkloadInput,
    profile: ModelProfile,
    target: ConvergenceTarget | None,
    seq_len: int | None,
    context: SizingContext,
    defaults: list[Default],
) -> Tokens | None:
    if seq_len is None or profile.default_seq_len is None:
        return None
    if workload.workload_id is not None:
        mean, mean_square = lengths_at(context.find_workload(workload.workload_id), seq_len)
        defaults.append(
            Default.of(
                "workload.mean_tokens",
                mean,
                Message(
                    "mean length of the uploaded sample, truncated at {seq_len}, without padding",
                    {"seq_len": seq_len},
                ),
            )
        )
        return profile.tokens(seq_len, mean, mean_square)
    if workload.mean_tokens is not None:
        return profile.tokens(seq_len, workload.mean_tokens)
    if target is not None and target.mean_tokens and target.seq_len == seq_len:
        square = target.mean_square_share
        defaults.append(
            Default.of(
                "workload.mean_tokens",
                target.mean_tokens,
                Message("real tokens per {target} sample, without padding", {"target": target.name}),
            )
        )
        return profile.tokens(seq_len, target.mean_tokens, square * seq_len**2 if square else None)
    return profile.tokens(seq_len)


def lengths_at(sample: LengthSample, seq_len: int) -> tuple[float, float]:
    """Return mean and mean square of a sample's lengths truncated at ``seq_len``."""
    if sample.seq_len == seq_len:
        return sample.mean_used, sample.mean_squared
    bins = np.array(sample.histogram, dtype=float)
    lengths = np.minimum((bins[:, 0] + bins[:, 1]) / 2.0, seq_len)
    return float(np.average(lengths, weights=bins[:, 2])), float(np.average(lengths**2, weights=bins[:, 2]))


def nearest_format(wanted: Precision, available: Collection[Precision], table: OperatorTable) -> Precision:
    """Return the available format closest to the one wanted.

    Formats below 16 bit apply to products inside layers only, so a network without any never uses them.
    """
    formats = [precision for precision in NEAREST[wanted] if precision in available]
    if not np.any((table.kind == Kind.MATMUL) & (table.section == Section.LAYER)):
        formats = [precision for precision in formats if precision not in NARROW_BYTES]
    return next(iter(formats), Precision.FP32)


def precision_on(
    requested: str | None,
    profile: ModelProfile,
    table: OperatorTable,
    chip: GpuChip | IpuChip,
    catalog: Catalog,
    field: str,
    defaults: list[Default],
    warnings: list[CheckWarning],
) -> Precision:
    """Return the format that a network runs in on a chip: the requested one, or its substitute."""
    ipu = {Precision.FP16_16, Precision.FP32}
    available = ipu if isinstance(chip, IpuChip) else set(chip.matrix_peak)
    wanted = Precision(requested) if requested else Precision.BF16
    used = nearest_format(wanted, available, table)
    if requested is None:
        defaults.append(
            Default.of(field, used.value, Message("this chip is normally used with mixed precision"))
        )
    elif used is not wanted and wanted in available:
        warnings.append(
            info(
                "precision_substituted",
                field,
                "the layers of {model} have no matrix products that could run in {wanted}; {used} is used "
                "instead",
                model=profile.name,
                wanted=wanted.value,
                used=used.value,
            )
        )
    elif used is not wanted:
        warnings.append(
            info(
                "precision_substituted",
                field,
                "{chip} does not support {wanted}; {used} is used instead",
                chip=catalog.chip(chip.name).name,
                wanted=wanted.value,
                used=used.value,
            )
        )
    return used


def largest_batch(training: Training, context: SizingContext) -> int:
    """Return the largest global batch at which a workload is known to converge. [samples]

    With a target: half the largest batch of its reference points. Else the batch of published recipes of the
    family or of the model; for a language model at most the critical batch of so many tokens.
    """
    if training.target is not None:
        return max(int(float(training.target.batches[-1]) / 2.0), 1)
    profile, tokens = training.profile, training.tokens
    convolutional = is_convolutional(profile.operators(tokens, training.image_size))
    limit = batch_limit(context.batch_limits, training.kind, profile.family, convolutional)
    most = limit.limit / (tokens.rows if limit.unit == "token" and tokens else 1.0)
    if limit.kind:
        return max(int(most), 1)
    published = profile.published
    if published.global_batch is not None:
        longer = (published.seq_len or 1) / tokens.rows if tokens and published.seq_len else 1.0
        most = max(most, published.global_batch * longer)
    if profile.family in LANGUAGE and tokens is not None and training.samples:
        trained = training.samples * tokens.mean
        most = min(most, critical_batch(float(profile.parameters), trained, context.catalog) / tokens.mean)
    return max(int(most), 1)


def resolve_model(model: ModelInput, context: SizingContext) -> ModelProfile:
    """Return the profile of a request, which must give it in exactly one way."""
    stated = [name for name in ModelInput.model_fields if getattr(model, name) is not None]
    if len(stated) != 1:
        raise Unprocessable.at(
            "model",
            "enter exactly one of {ways}; given: {given}",
            ways=", ".join(ModelInput.model_fields),
            given=", ".join(stated) or "-",
        )
    if model.preset is not None:
        return preset(model.preset)
    if model.profile_id is not None:
        return context.find_profile(model.profile_id)
    if model.config is not None:
        return config_profile(model.config, where="model.config")
    if model.transformer is not None:
        return transformer_profile(model.transformer.model_dump(exclude_none=True))
    if model.layers is not None:
        return layers_profile(model.layers)
    return figure_profile(model.total_flop)


def summarise(training: Training, table: OperatorTable) -> ModelSummary:
    profile = training.profile
    return filled(
        ModelSummary,
        profile,
        kind=training.kind,
        trained_parameters=table.trained_parameters,
        forward_flop_per_sample=float(np.sum(table.forward_flop)),
        seq_len=training.seq_len,
        image_size=training.image_size,
        assumptions=[
            Text.of(message if isinstance(message, Message) else Message(str(message)))
            for message in profile.assumptions
        ],
    )
