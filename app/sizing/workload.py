"""What is to be trained: samples, lengths, batch, precision and optimizer, with every default named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from app.catalog import ConvergenceTarget
from app.engine.convergence import samples_of_epochs
from app.engine.operators import Kind, OperatorTable
from app.engine.records import GpuChip, IpuChip, Precision, Tokens
from app.errors import BadInput, Message, Unprocessable
from app.profiles.model import ModelProfile
from app.profiles.samples import WorkloadSample
from app.sizing.batches import BatchLimit
from app.sizing.context import SizingContext
from app.sizing.document import CheckWarning, Default
from app.sizing.hardware import known_id
from app.sizing.request import EstimateRequest, WorkloadInput

GREATEST = 1e30
LONGEST = 1_048_576
LARGEST_IMAGE = 16_384

OPTIMIZERS = {"bert": "lamb", "dlrm": "sgd"}
"""Optimizers of the published recipes of these families; momentum for convolutions, else Adam."""

NEAREST = {
    Precision.BF16: (Precision.BF16, Precision.FP16, Precision.FP16_16, Precision.FP32),
    Precision.FP16: (Precision.FP16, Precision.BF16, Precision.FP16_16, Precision.FP32),
    Precision.TF32: (Precision.TF32, Precision.FP32),
    Precision.FP32: (Precision.FP32,),
    Precision.FP16_16: (Precision.FP16_16, Precision.FP16, Precision.BF16, Precision.FP32),
}
"""Formats in the order in which they stand in for one another."""


@dataclass(slots=True)
class Training:
    """A workload with all that was taken for granted."""

    profile: ModelProfile
    samples: float | None
    """None where a target says it by batch. [-]"""
    target: ConvergenceTarget | None
    seq_len: int | None
    image_size: int | None
    tokens: Tokens | None
    global_batch: int | None
    precision: Precision
    optimizer: str
    defaults: list[Default] = field(default_factory=list)
    warnings: list[CheckWarning] = field(default_factory=list)


def resolve_training(
    request: EstimateRequest, profile: ModelProfile, chip: GpuChip | IpuChip, context: SizingContext
) -> Training:
    """Return the workload of a request; what is missing or contradictory is refused by name.

    Parameters
    ----------
    request : EstimateRequest
        What was asked. [-]
    profile : ModelProfile
        The model. [-]
    chip : GpuChip or IpuChip
        Chip, which decides the precision. [-]
    context : SizingContext
        Catalogue and uploads. [-]
    """
    asked = request.workload
    _positive(asked)
    defaults: list[Default] = []
    warnings: list[CheckWarning] = []
    target = None
    if asked.target is not None:
        known = known_id(context.catalog, "target", asked.target, "workload.target")
        target = context.catalog.convergence(known)
    seq_len, image_size = _size(asked, profile, target, defaults)
    tokens = _tokens(asked, profile, target, seq_len, context, defaults)
    per_sample = tokens.mean if tokens else 1.0
    samples = _samples(asked, target, per_sample, tokens is not None)
    precision = _precision(asked, chip, defaults, warnings)
    optimizer: str | None = asked.optimizer
    if optimizer is None:
        convolutional = is_convolutional(profile.operators(tokens, image_size))
        optimizer = OPTIMIZERS.get(profile.family, "momentum" if convolutional else "adam")
        why = Message("the optimizer of published recipes for such networks")
        defaults.append(Default.of("workload.optimizer", optimizer, why))
    return Training(
        profile=profile,
        samples=samples,
        target=target,
        seq_len=seq_len,
        image_size=image_size,
        tokens=tokens,
        global_batch=asked.global_batch,
        precision=precision,
        optimizer=optimizer,
        defaults=defaults,
        warnings=warnings,
    )


def is_convolutional(table: OperatorTable) -> bool:
    """Return True for a network of convolutions without attention.

    Parameters
    ----------
    table : OperatorTable
        Operators of one sample. [-]
    """
    kinds = set(table.kind.astype(int).tolist())
    return Kind.CONVOLUTION in kinds and Kind.ATTENTION not in kinds


def _positive(asked: WorkloadInput) -> None:
    for name in ("samples", "tokens", "epochs", "dataset_samples", "mean_tokens", "global_batch"):
        value = getattr(asked, name)
        if value is not None and not 0 < value < GREATEST:
            raise BadInput.at(
                f"workload.{name}", "{value} is not above 0; give a positive number", value=value
            )
    if asked.global_batch is not None and asked.global_batch > LARGEST_BATCH:
        raise BadInput.at(
            "workload.global_batch", "{value} samples a step: at most {most} are computed",
            value=asked.global_batch, most=LARGEST_BATCH,
        )  # fmt: skip


LARGEST_BATCH = 10_000_000


def _samples(
    asked: WorkloadInput, target: ConvergenceTarget | None, per_sample: float, sequence: bool
) -> float | None:
    ways = [
        name
        for name, present in (
            ("samples", asked.samples),
            ("tokens", asked.tokens),
            ("epochs", asked.epochs),
            ("target", asked.target),
        )
        if present is not None
    ]
    if len(ways) > 1:
        raise BadInput.at(
            f"workload.{ways[1]}", "{ways} all say how long to train; keep one of them", ways=", ".join(ways)
        )
    if target is not None:
        return None
    if asked.samples is not None:
        return asked.samples
    if asked.tokens is not None:
        if not sequence:
            raise BadInput.at(
                "workload.tokens", "this model has no sequences; give samples or epochs instead"
            )
        return asked.tokens / per_sample
    if asked.epochs is not None:
        if asked.dataset_samples is None:
            raise BadInput.at("workload.dataset_samples", "epochs need the number of samples of the data set")
        return float(samples_of_epochs(asked.epochs, asked.dataset_samples))
    raise Unprocessable.at(
        "workload",
        "what is to be done is missing; give tokens, samples, epochs with dataset_samples, or a target "
        "such as {target}",
        target="mlperf-bert",
    )


def _size(
    asked: WorkloadInput, profile: ModelProfile, target: ConvergenceTarget | None, defaults: list[Default]
) -> tuple[int | None, int | None]:
    seq_len, image_size = asked.seq_len, asked.image_size
    if seq_len is not None and not 1 <= seq_len <= LONGEST:
        raise BadInput.at(
            "workload.seq_len", "{value} is not between 1 and {most}", value=seq_len, most=LONGEST
        )
    if image_size is not None and not 1 <= image_size <= LARGEST_IMAGE:
        raise BadInput.at(
            "workload.image_size", "{value} is not between 1 and {most}", value=image_size, most=LARGEST_IMAGE
        )
    if seq_len is None and profile.default_seq_len is not None:
        seq_len = (target.seq_len if target else None) or profile.default_seq_len
        why = (
            Message("the length the target is defined for")
            if target and target.seq_len
            else Message("the length the model was published with")
        )
        defaults.append(Default.of("workload.seq_len", seq_len, why))
    if image_size is None and profile.default_image_size is not None:
        image_size = (target.image_size if target else None) or profile.default_image_size
        defaults.append(
            Default.of(
                "workload.image_size", image_size, Message("the image size the model was published with")
            )
        )
    return seq_len, image_size


def _tokens(
    asked: WorkloadInput,
    profile: ModelProfile,
    target: ConvergenceTarget | None,
    seq_len: int | None,
    context: SizingContext,
    defaults: list[Default],
) -> Tokens | None:
    if seq_len is None or profile.default_seq_len is None:
        return None
    if asked.workload_id is not None:
        mean, mean_square = lengths_at(context.find_workload(asked.workload_id), seq_len)
        defaults.append(
            Default.of(
                "workload.mean_tokens",
                mean,
                Message(
                    "mean length of the uploaded sample, cut at {seq_len}; padding removed",
                    {"seq_len": seq_len},
                ),
            )
        )
        return profile.tokens(seq_len, mean, mean_square)
    if asked.mean_tokens is not None:
        return profile.tokens(seq_len, asked.mean_tokens)
    if target is not None and target.mean_tokens and target.seq_len == seq_len:
        square = target.mean_square_share
        defaults.append(
            Default.of(
                "workload.mean_tokens",
                target.mean_tokens,
                Message(
                    "real tokens of a sample of {target}, whose padding is removed", {"target": target.name}
                ),
            )
        )
        return profile.tokens(seq_len, target.mean_tokens, square * seq_len**2 if square else None)
    return profile.tokens(seq_len)


def lengths_at(sample: WorkloadSample, seq_len: int) -> tuple[float, float]:
    """Return mean and mean square of a sample's lengths once they are cut at a length.

    Parameters
    ----------
    sample : WorkloadSample
        Histogram of lengths. [-]
    seq_len : int
        Length at which longer samples are cut. [-]
    """
    if sample.seq_len == seq_len:
        return sample.mean_used, sample.mean_squared
    bins = np.array(sample.histogram, dtype=float)
    lengths = np.minimum((bins[:, 0] + bins[:, 1]) / 2.0, seq_len)
    return float(np.average(lengths, weights=bins[:, 2])), float(np.average(lengths**2, weights=bins[:, 2]))


def _precision(
    asked: WorkloadInput, chip: GpuChip | IpuChip, defaults: list[Default], warnings: list[CheckWarning]
) -> Precision:
    ipu = {Precision.FP16_16, Precision.FP32}
    available = ipu if isinstance(chip, IpuChip) else set(chip.matrix_peak)
    wanted = Precision(asked.precision) if asked.precision else Precision.BF16
    used = next((form for form in NEAREST[wanted] if form in available), Precision.FP32)
    if asked.precision is None:
        defaults.append(
            Default.of(
                "workload.precision", used.value, Message("mixed precision is what this chip is used with")
            )
        )
    elif used is not wanted:
        warnings.append(
            CheckWarning.of(
                "precision_substituted",
                "info",
                Message(
                    "{chip} has no {wanted}; {used} is used instead",
                    {"chip": chip.name, "wanted": wanted.value, "used": used.value},
                ),
                "workload.precision",
            )
        )
    return used


MOST_HALVINGS = 8


def batch_candidates(training: Training, limits: Mapping[str, BatchLimit], devices: int) -> list[int]:
    """Return the global batches worth trying where none is given, the largest first.

    Multiples of the devices by powers of two, within the range where convergence holds, and their
    halves: a target costs more samples at a larger batch, and a large batch may not fit.

    Parameters
    ----------
    training : Training
        The workload. [-]
    limits : mapping
        Batch limit by family. [-]
    devices : int
        Accelerators. [-]
    """
    profile = training.profile
    convolutional = is_convolutional(profile.operators(training.tokens, training.image_size))
    limit = limits.get(profile.family, limits["resnet50" if convolutional else ""])
    most = limit.limit / (training.tokens.rows if limit.unit == "token" and training.tokens else 1.0)
    if training.target is not None:
        most = max(float(training.target.batches[-1]) / 2.0, 1.0)
    batch = devices
    if batch > most:
        batch = 1 << max(int(most).bit_length() - 1, 0)
    while batch * 2 <= most:
        batch *= 2
    halves = [batch >> halving for halving in range(MOST_HALVINGS)]
    return [value for place, value in enumerate(halves) if value >= 1 and batch % (1 << place) == 0]
