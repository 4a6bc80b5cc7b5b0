"""Generation by a decoder on one system: tensor ranks, batch, times, memory and cost, each with its range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.engine.gpu.inference import Generation, PassTime, weight_bytes, working_bytes
from app.engine.gpu.plan_steps import PERFECT
from app.engine.inference import cached_elements, generating, prompt_operators, time_per_output_token
from app.engine.operators.table import OperatorTable
from app.engine.operators.transformer import Stack, TransformerShape
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSoftware, GpuSystem, Precision
from app.engine.search.space import divisors
from app.errors import BadInput, Message
from app.estimating.context import SizingContext, choose_software
from app.estimating.documents import CheckWarning, Default, caution, info, serious
from app.estimating.hardware import Hardware
from app.estimating.ranges import common_normals, residual_factors, significant
from app.estimating.regimes import regimes
from app.estimating.request import Number, Schema, Whole
from app.estimating.scenario import Scenario
from app.profiles.bodies import TransformerBody
from app.profiles.model import ModelProfile

REGIME = "gpu_inference"
MOST_BATCH = 4096
"""Largest batch of one replica that is tried. [sequences]"""
CLOSE = 0.95
"""Share of the most tokens per second from which the shorter time per token is preferred."""


LONGEST = 1_048_576
"""Tokens of a prompt or an output at most."""
SLOWEST = 86_400.0
"""Latency limit at most. [s]"""

Length = Annotated[Whole, Field(ge=1, le=LONGEST)]
Limit = Annotated[Number, Field(gt=0, le=SLOWEST)]


class ServingTerms(Schema):
    """What is generated, and how."""

    prompt_tokens: Length = Field(description="Tokens of a prompt.", examples=[2048])
    output_tokens: Length = Field(description="Tokens generated for each prompt.", examples=[256])
    batch: Annotated[Whole, Field(ge=1, le=MOST_BATCH)] | None = None
    """Sequences that one replica generates at once; if omitted, the batch with the shortest time per output
    token among those within 5 % of the most tokens per second, under the latency limits.
    """
    tensor: Annotated[Whole, Field(ge=1, le=1024)] | None = None
    """Accelerators that share one replica, within the reach of fast links; if omitted, chosen with the batch.
    """
    precision: Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4"] | None = None
    """Format of weights and products; each system uses the nearest one that it supports."""
    cache_precision: Literal["bf16", "fp8"] = Field("bf16", description="Format of the key-value cache.")
    time_to_first_token_s: Limit | None = Field(
        None, description="Longest time from the start of a prompt to its first token. [s]"
    )
    time_per_output_token_s: Limit | None = Field(
        None, description="Longest mean time from one output token to the next. [s]", examples=[0.05]
    )

    @property
    def prompt(self) -> float:
        """Tokens of a prompt. [tokens]"""
        return float(self.prompt_tokens)

    @property
    def output(self) -> float:
        """Tokens generated for each prompt. [tokens]"""
        return float(self.output_tokens)

    @property
    def tokens(self) -> float:
        """Tokens of a whole sequence."""
        return self.prompt + self.output

    @property
    def context(self) -> float:
        """Mean number of tokens before a generated token."""
        return self.prompt + self.output / 2.0

    @property
    def cache_size(self) -> float:
        """Bytes of an element of the cache. [B]"""
        return 1.0 if self.cache_precision == "fp8" else 2.0


def decoder_of(profile: ModelProfile, request: ServingTerms) -> TransformerShape:
    """Return the shape of a decoder; refuse other models, and more tokens than it has positions."""
    body = profile.body
    if not isinstance(body, TransformerBody) or body.shape.stack is not Stack.DECODER or body.shape.classes:
        raise BadInput.at(
            "model",
            "inference is computed for decoder transformers such as GPT and LLaMA; {model} is not one",
            model=profile.name,
        )
    positions = body.shape.positions
    if 0 < positions < request.tokens:
        raise BadInput.at(
            "prompt_tokens",
            "{model} has {positions} positions; prompt and output together have {tokens} tokens",
            model=profile.name,
            positions=positions,
            tokens=int(request.tokens),
        )
    return generating(body.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A copy of the model on the tensor ranks of one machine, and its memory."""

    generation: Generation
    count: int
    """Copies on the system."""
    weights: float
    """On one device. [B]"""
    working: float
    """[B]"""
    framework: float
    """[B]"""
    sequence: float
    """Key-value cache of one whole sequence on one device. [B]"""
    usable: float
    """Memory of one device that may be filled. [B]"""

    @property
    def largest_batch(self) -> int:
        """Most sequences whose caches fit; 0 or negative where the model does not fit."""
        room = self.usable - self.weights - self.working - self.framework
        return int(min(np.floor(room / self.sequence), MOST_BATCH))

    @property
    def tensor(self) -> int:
        return self.generation.tensor


def replicas_of(
    shape: TransformerShape,
    hardware: Hardware,
    precision: Precision,
    request: ServingTerms,
    margin: float | None,
) -> list[Replica]:
    """Return a replica for each tensor degree that divides heads and linked devices, the fewest first."""
    system = hardware.engine
    assert isinstance(system, GpuSystem), "IPUs are refused before"
    nearby = hardware.devices_nearby
    possible = [count for count in divisors(nearby) if shape.heads % count == 0]
    if request.tensor is not None:
        if request.tensor not in possible:
            raise BadInput.at(
                "tensor",
                "{tensor} ranks do not divide the {heads} heads and the {devices} accelerators of "
                "{system} that fast links join; choose from {possible}",
                tensor=request.tensor,
                heads=shape.heads,
                devices=nearby,
                system=hardware.entry.name,
                possible=", ".join(map(str, possible)),
            )
        possible = [request.tensor]
    table, kernels = prompt_operators(shape, request.prompt), system.kernels
    margin = kernels.memory_margin if margin is None else margin
    return [
        Replica(
            generation=Generation(shape, system, precision, ranks, request.cache_size),
            count=hardware.devices // nearby * (nearby // ranks),
            weights=weight_bytes(table, precision, ranks),
            working=working_bytes(table, precision, ranks),
            framework=kernels.framework_memory,
            sequence=request.cache_size * cached_elements(shape, request.tokens, ranks),
            usable=system.chip.memory_capacity * (1.0 - margin),
        )
        for ranks in sorted(possible)
    ]


def perfect(replica: Replica) -> Replica:
    """Return a replica on chips at data-sheet rates and links without latency: a bound for any software."""
    system = replica.generation.system
    chip = replace(
        system.chip, sustained_clock=1.0, narrow_clock=1.0, achieved_bandwidth=1.0, kernel_overhead=0.0
    )
    nothing = np.empty(0)
    machine = replace(system.machine, latency=0.0, allreduce_bytes=nothing, allreduce_seconds=nothing)
    ideal = replace(system, chip=chip, machine=machine)
    return replace(replica, generation=replace(replica.generation, system=ideal))


def batches_up_to(most: int) -> list[int]:
    """Return powers of two, one and a half times them, and ``most``.

    >>> batches_up_to(10)
    [1, 2, 3, 4, 6, 8, 10]
    """
    steps = {2**power for power in range(13)} | {3 * 2**power for power in range(12)}
    return sorted({step for step in steps if step < most} | {most})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTimes:
    """A replica at several batches: central times, or those of samples along the last axis."""

    replica: Replica
    batches: Sequence[int]
    prompt: PassTime
    """Of one prompt, arrays (1, …)."""
    token: PassTime
    """Of a step, arrays (B, …)."""
    output: float

    def per_token(self) -> Floats:
        """Mean time from one token to the next, (B, …). [s]"""
        token = self.token.total
        batches = np.asarray(self.batches, dtype=float).reshape(-1, *[1] * (token.ndim - 1))
        return time_per_output_token(batches, self.output, self.prompt.total, token)


def timed(
    replica: Replica, batches: Sequence[int], software: GpuSoftware, request: ServingTerms
) -> ReplicaTimes:
    return ReplicaTimes(
        replica=replica,
        batches=batches,
        prompt=replica.generation.prompt_time(software, request.prompt),
        token=replica.generation.token_time(software, batches, request.context),
        output=request.output,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCurve:
    """The chosen replica and batch of a system, and all batches as a curve."""

    central: ReplicaTimes
    chosen: int
    """Index of the batch in the curve."""
    meets: bool
    """Whether limits on latency are kept; true without any."""
    prompt: Floats
    """Samples of the time of one prompt, (S,). [s]"""
    token: Floats
    """Samples of the time of a step, (B, S). [s]"""
    per_token: Floats
    """Samples of the mean time from one token to the next, (B, S). [s]"""
    regimes: Sequence[str]
    software: str
    defaults: Sequence[Default]

    @property
    def batch(self) -> int:
        """Sequences of one replica."""
        return self.central.batches[self.chosen]


def serve(
    profile: ModelProfile,
    shape: TransformerShape,
    hardware: Hardware,
    precision: Precision,
    request: ServingTerms,
    margin: float | None,
    context: SizingContext,
) -> BatchCurve | Replica:
    """Return how a system serves a model; the replica on the most ranks where none fits.

    ``margin`` is the share of the memory to leave free, the default of the catalogue where None.
    """
    defaults: list[Default] = []
    entry = hardware.entry
    software = choose_software(
        None, profile.family, False, entry.machine.chip.id, entry.machine.chip.kind, context, defaults
    )
    replicas = replicas_of(shape, hardware, precision, request, margin)
    least = request.batch or 1
    fitting = [replica for replica in replicas if replica.largest_batch >= least]
    if not fitting:
        return replicas[-1]
    plain = software.gpu()
    candidates = [timed(replica, batches_up_to(replica.largest_batch), plain, request) for replica in fitting]
    if request.batch is not None:
        candidates = [_with_batch(timing, request.batch, plain, request) for timing in candidates]
    central, chosen, meets = _best(candidates, request, hardware.devices)
    normals = common_normals()
    replica = central.replica
    scenario = Scenario(
        table=prompt_operators(shape, request.prompt),
        hardware=replica.generation.system,
        software=software,
        precision=precision,
        optimizer="adam",
        overrides={},
    )
    batch = float(central.batches[chosen])
    plans = Plans.of(tensor=float(replica.tensor), data=float(replica.count), micro_batch=batch)
    names = [*regimes(scenario, plans, profile.family, context.measured), REGIME]
    factors = residual_factors(names, context.residuals, normals, scenario, plans)
    sampled = timed(replica, central.batches, software.gpu(normals), request)
    least_time = timed(perfect(replica), central.batches, plain._replace(**PERFECT), request)
    prompt = np.maximum(sampled.prompt.total * factors, least_time.prompt.total[:, np.newaxis])
    token = np.maximum(sampled.token.total * factors, least_time.token.total[:, np.newaxis])
    batches = np.asarray(central.batches, dtype=float)[:, np.newaxis]
    return BatchCurve(
        central=central,
        chosen=chosen,
        meets=meets,
        prompt=prompt[0],
        token=token,
        per_token=time_per_output_token(batches, request.output, prompt, token),
        regimes=names,
        software=software.id,
        defaults=defaults,
    )


def _with_batch(
    candidate: ReplicaTimes, batch: int, software: GpuSoftware, request: ServingTerms
) -> ReplicaTimes:
    """Return the times with the requested batch added to the curve."""
    if batch in candidate.batches:
        return candidate
    return timed(candidate.replica, sorted({*candidate.batches, batch}), software, request)


def _best(
    candidates: Sequence[ReplicaTimes], request: ServingTerms, devices: int
) -> tuple[ReplicaTimes, int, bool]:
    """Return the replica and batch to take, and whether they keep the limits.

    Among those within :data:`CLOSE` of the most tokens per second, the one with the shortest time per token.
    Where nothing keeps the limits, the one that misses them least.
    """
    within: list[tuple[float, float, ReplicaTimes, int]] = []
    beyond: list[tuple[float, ReplicaTimes, int]] = []
    for candidate in candidates:
        first = float(candidate.prompt.total[0]) / (request.time_to_first_token_s or math.inf)
        for index, seconds in enumerate(map(float, candidate.per_token())):
            batch = candidate.batches[index]
            if request.batch is not None and batch != request.batch:
                continue
            over = max(first, seconds / (request.time_per_output_token_s or math.inf))
            if over > 1.0:
                beyond.append((over, candidate, index))
            else:
                rate = candidate.replica.count * batch / seconds / devices
                within.append((rate, seconds, candidate, index))
    if not within:
        _, candidate, index = min(beyond, key=itemgetter(0))
        return candidate, index, False
    most = max(rate for rate, *_ in within)
    _, _, candidate, index = min((row for row in within if row[0] >= CLOSE * most), key=itemgetter(1))
    return candidate, index, True


def unfit(replica: Replica, request: ServingTerms) -> CheckWarning:
    """Return the warning of a system without room for the model and the batch."""
    batch = request.batch or 1
    needed = replica.weights + replica.working + replica.framework + batch * replica.sequence
    return serious(
        "does_not_fit",
        "systems",
        "on {ranks} accelerators that fast links join, each needs {needed} GB of the {usable} GB available: "
        "{weights} GB of weights and {cache} GB of cache for a batch of {batch}; replicas over several "
        "machines are not computed",
        ranks=replica.tensor,
        needed=significant(needed / 1e9),
        usable=significant(replica.usable / 1e9),
        weights=significant(replica.weights / 1e9),
        cache=significant(batch * replica.sequence / 1e9),
        batch=batch,
    )


def serving_checks(served: BatchCurve, request: ServingTerms) -> Iterator[CheckWarning]:
    if not served.meets:
        first = float(served.central.prompt.total[0])
        per_token = float(served.central.per_token()[served.chosen])
        yield caution(
            "latency_limit_missed",
            ["time_to_first_token_s", "time_per_output_token_s"],
            "no batch on this system keeps the latency limits; the closest needs {first} s to the first "
            "token and {per_token} s per output token",
            first=significant(first),
            per_token=significant(per_token),
        )


def model_checks(
    profile: ModelProfile, table: OperatorTable, request: ServingTerms
) -> Iterator[CheckWarning]:
    """Yield the warnings of serving a model on any system."""
    message = Message(
        "no measured inference run is at hand: times follow from data sheets and from operators of training, "
        "and the ranges are a judgement; measure a server before deciding"
    )
    yield CheckWarning.of("inference_not_validated", "caution", message, "systems")
    longest = profile.default_seq_len
    if longest is not None and request.tokens > longest:
        yield info(
            "beyond_context",
            ["prompt_tokens", "output_tokens"],
            "prompt and output together have {tokens} tokens, the samples in the training of {model} "
            "{longest}; make sure that the model holds as many",
            tokens=int(request.tokens),
            model=profile.name,
            longest=longest,
        )
    if table.active_parameters < table.parameters:
        yield caution(
            "experts_evenly_loaded",
            "model",
            "tokens are assumed to choose experts evenly and independently; a step reads the experts that "
            "its batch is expected to visit",
        )
