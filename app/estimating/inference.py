"""Generation by a decoder on one system: tensor ranks, batch, times, memory and cost, each with its range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.gpu.evaluate import PERFECT
from app.engine.gpu.inference import Generation, PassTime, weight_bytes, working_bytes
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
from app.estimating.scenario import Scenario
from app.profiles.bodies import TransformerBody
from app.profiles.model import ModelProfile

REGIME = "gpu_inference"
MOST_BATCH = 4096
"""Sequences of one replica beyond which no batch is tried."""

CLOSE = 0.95
"""Share of the most tokens per second from which the shorter time per token is preferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generating:
    """What is asked of every system."""

    prompt: float
    """Tokens of a prompt."""
    output: float
    """Tokens generated for it."""
    batch: int | None
    """Sequences of one replica; the best where None."""
    tensor: int | None
    """Tensor ranks of one replica; the best where None."""
    first_token: float | None
    """Longest time to the first token. [s]"""
    per_token: float | None
    """Longest mean time from one token to the next. [s]"""
    cache_size: float
    """Bytes of an element of the cache. [B]"""
    margin: float | None
    """Share of the memory to leave free; the default of the catalogue where None."""

    @property
    def tokens(self) -> float:
        """Tokens of a whole sequence."""
        return self.prompt + self.output

    @property
    def context(self) -> float:
        """Tokens behind which a token is generated on average."""
        return self.prompt + self.output / 2.0


def decoder_of(profile: ModelProfile, asked: Generating) -> TransformerShape:
    """Return the shape of a decoder that generates text; refuse other models, and more than it can hold."""
    body = profile.body
    if not isinstance(body, TransformerBody) or body.shape.stack is not Stack.DECODER or body.shape.classes:
        raise BadInput.at(
            "model",
            "inference is computed for decoder transformers such as GPT and LLaMA; {model} is not one",
            model=profile.name,
        )
    positions = body.shape.positions
    if 0 < positions < asked.tokens:
        raise BadInput.at(
            "prompt_tokens",
            "{model} has {positions} positions; prompt and output together have {tokens} tokens",
            model=profile.name,
            positions=positions,
            tokens=int(asked.tokens),
        )
    return generating(body.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A copy of the model on the tensor ranks of one machine, and what fits beside it."""

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
        """Most sequences whose caches fit; negative or 0 where the model does not."""
        room = self.usable - self.weights - self.working - self.framework
        return int(min(np.floor(room / self.sequence), MOST_BATCH))

    @property
    def tensor(self) -> int:
        return self.generation.tensor


def replicas_of(
    shape: TransformerShape, hardware: Hardware, precision: Precision, asked: Generating
) -> list[Replica]:
    """Return a replica on all numbers of tensor ranks that divide heads and fast links, the fewest first."""
    system = hardware.engine
    assert isinstance(system, GpuSystem), "IPUs are refused before"
    nearby = hardware.devices_nearby
    possible = [count for count in divisors(nearby) if shape.heads % count == 0]
    if asked.tensor is not None:
        if asked.tensor not in possible:
            raise BadInput.at(
                "tensor",
                "{tensor} ranks do not divide the {heads} heads and the {devices} accelerators of "
                "{system} that fast links join; choose from {possible}",
                tensor=asked.tensor,
                heads=shape.heads,
                devices=nearby,
                system=hardware.entry.name,
                possible=", ".join(map(str, possible)),
            )
        possible = [asked.tensor]
    table, kernels = prompt_operators(shape, asked.prompt), system.kernels
    margin = kernels.memory_margin if asked.margin is None else asked.margin
    return [
        Replica(
            generation=Generation(shape, system, precision, ranks, asked.cache_size),
            count=hardware.devices // nearby * (nearby // ranks),
            weights=weight_bytes(table, precision, ranks),
            working=working_bytes(table, precision, ranks) * kernels.fragmentation,
            framework=kernels.framework_memory,
            sequence=asked.cache_size * cached_elements(shape, asked.tokens, ranks),
            usable=system.chip.memory_capacity * (1.0 - margin),
        )
        for ranks in sorted(possible)
    ]


def perfect(replica: Replica) -> Replica:
    """Return a replica on chips that keep to their data sheets and links that start at once.

    No stack can be faster on the same ranks: kernels may be fused and collectives may be made for inference.
    """
    system = replica.generation.system
    chip = replace(
        system.chip, sustained_clock=1.0, narrow_clock=1.0, achieved_bandwidth=1.0, kernel_overhead=0.0
    )
    nothing = np.empty(0)
    machine = replace(system.machine, latency=0.0, allreduce_bytes=nothing, allreduce_seconds=nothing)
    ideal = replace(system, chip=chip, machine=machine)
    return replace(replica, generation=replace(replica.generation, system=ideal))


def batches_up_to(most: int) -> list[int]:
    """Return powers of two and one and a half times them, and the most itself.

    >>> batches_up_to(10)
    [1, 2, 3, 4, 6, 8, 10]
    """
    steps = {2**power for power in range(13)} | {3 * 2**power for power in range(12)}
    return sorted({step for step in steps if step < most} | {most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
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


def timed(replica: Replica, batches: Sequence[int], software: GpuSoftware, asked: Generating) -> Timed:
    return Timed(
        replica=replica,
        batches=batches,
        prompt=replica.generation.prompt_time(software, asked.prompt),
        token=replica.generation.token_time(software, batches, asked.context),
        output=asked.output,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A system that generates: the replica and the batch that are chosen, and all batches as a curve."""

    central: Timed
    chosen: int
    """Place of the batch among those of the curve."""
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
    def replica(self) -> Replica:
        return self.central.replica

    @property
    def batch(self) -> int:
        """Sequences of one replica."""
        return self.central.batches[self.chosen]


def serve(
    profile: ModelProfile,
    shape: TransformerShape,
    hardware: Hardware,
    precision: Precision,
    asked: Generating,
    context: SizingContext,
) -> Served | Replica:
    """Return how a system serves a model; the replica on the most ranks where none of them fits."""
    defaults: list[Default] = []
    entry = hardware.entry
    software = choose_software(None, profile.family, False, entry.chip, entry.chip_kind, context, defaults)
    replicas = replicas_of(shape, hardware, precision, asked)
    least = asked.batch or 1
    fitting = [one for one in replicas if one.largest_batch >= least]
    if not fitting:
        return replicas[-1]
    plain = software.gpu()
    found = [timed(one, batches_up_to(one.largest_batch), plain, asked) for one in fitting]
    if asked.batch is not None:
        found = [_with_batch(one, asked.batch, plain, asked) for one in found]
    central, chosen, meets = _best(found, asked, hardware.devices)
    normals = common_normals()
    replica = central.replica
    scenario = Scenario(
        table=prompt_operators(shape, asked.prompt),
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
    drawn = timed(replica, central.batches, software.gpu(normals), asked)
    least_time = timed(perfect(replica), central.batches, replace(plain, **PERFECT), asked)
    prompt = np.maximum(drawn.prompt.total * factors, least_time.prompt.total[:, np.newaxis])
    token = np.maximum(drawn.token.total * factors, least_time.token.total[:, np.newaxis])
    batches = np.asarray(central.batches, dtype=float)[:, np.newaxis]
    return Served(
        central=central,
        chosen=chosen,
        meets=meets,
        prompt=prompt[0],
        token=token,
        per_token=time_per_output_token(batches, asked.output, prompt, token),
        regimes=names,
        software=software.id,
        defaults=defaults,
    )


def _with_batch(one: Timed, batch: int, software: GpuSoftware, asked: Generating) -> Timed:
    """Return the times with the batch that is asked for among those of the curve."""
    return one if batch in one.batches else timed(one.replica, sorted({*one.batches, batch}), software, asked)


def _best(found: Sequence[Timed], asked: Generating, devices: int) -> tuple[Timed, int, bool]:
    """Return the replica and batch to take, and whether they keep the limits.

    Of those within :data:`CLOSE` of the most tokens per second it is the one with the shortest time per
    token. Where nothing keeps the limits it is what misses them least.
    """
    kept: list[tuple[float, float, Timed, int]] = []
    missed: list[tuple[float, Timed, int]] = []
    for one in found:
        first = float(one.prompt.total[0]) / asked.first_token if asked.first_token else 0.0
        for place, seconds in enumerate(map(float, one.per_token())):
            batch = one.batches[place]
            if asked.batch is not None and batch != asked.batch:
                continue
            over = max(first, seconds / asked.per_token if asked.per_token else 0.0)
            if over > 1.0:
                missed.append((over, one, place))
            else:
                kept.append((one.replica.count * batch / seconds / devices, seconds, one, place))
    if not kept:
        _, one, place = min(missed, key=lambda each: each[0])
        return one, place, False
    most = max(rate for rate, *_ in kept)
    _, _, one, place = min((each for each in kept if each[0] >= CLOSE * most), key=lambda each: each[1])
    return one, place, True


def unfit(replica: Replica, hardware: Hardware, asked: Generating) -> CheckWarning:
    """Return the warning of a system without room for the model and the batch."""
    batch = asked.batch or 1
    held = replica.weights + replica.working + replica.framework + batch * replica.sequence
    return serious(
        "does_not_fit",
        "systems",
        "on {ranks} accelerators that fast links join, each needs {needed} GB of the {usable} GB available: "
        "{weights} GB of weights and {cache} GB of cache for a batch of {batch}; replicas over several "
        "machines are not computed",
        ranks=replica.tensor,
        needed=significant(held / 1e9),
        usable=significant(replica.usable / 1e9),
        weights=significant(replica.weights / 1e9),
        cache=significant(batch * replica.sequence / 1e9),
        batch=batch,
    )


def serving_checks(served: Served, asked: Generating) -> Iterator[CheckWarning]:
    """Yield what has to be said of a system that serves."""
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


def model_checks(profile: ModelProfile, table: OperatorTable, asked: Generating) -> Iterator[CheckWarning]:
    """Yield what has to be said of serving a model on any system."""
    message = Message(
        "no measured inference run is at hand: times follow from data sheets and from operators of training, "
        "and the ranges are a judgement; measure a server before deciding"
    )
    yield CheckWarning.of("inference_not_validated", "caution", message, "systems")
    longest = profile.default_seq_len
    if longest is not None and asked.tokens > longest:
        yield info(
            "beyond_context",
            ["prompt_tokens", "output_tokens"],
            "prompt and output together have {tokens} tokens, the samples in the training of {model} "
            "{longest}; make sure that the model holds as many",
            tokens=int(asked.tokens),
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
