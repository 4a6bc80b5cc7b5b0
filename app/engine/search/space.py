"""What spans the plans of one model on one system at one global batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

LARGEST_MICRO_BATCH = 1024
"""Samples of a micro-batch beyond which kernels of usual samples gain nothing."""

MICRO_BATCHES = tuple(sorted({base << power for base in (2, 3) for power in range(24)} | {1}))
"""Micro-batches that are tried where no global batch has to be divided."""

FEW_ROUNDS = 128
"""Micro-batches a copy up to which rounding them down wastes much of a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What spans the plans of one model on one system."""

    devices: int
    devices_per_node: int
    global_batch: int
    """Samples per step; the most of them where any batch may be taken."""
    depth: int
    """Layers a pipeline can be cut between. [-]"""
    heads: int
    """Heads that tensor parallelism divides; 0 where it does not apply. [-]"""
    ipu: bool
    allowed: Mapping[str, Sequence[float]]
    """Values of those fields of a plan that are not free. [-]"""
    experts: int = 1
    """Experts of a layer that can be spread over copies. [-]"""
    fused_attention: bool = False
    """True where attention keeps nothing that could be recomputed selectively."""
    largest_micro_batch: int = LARGEST_MICRO_BATCH
    spare: bool = False
    """True where devices may stay idle."""
    any_batch: bool = False
    """True where smaller global batches may be taken; devices may then stay idle as well."""
    quarterings: int = 0
    """Times that a batch is quartered, where a smaller one needs fewer samples."""
    lean: bool = False
    """True for the options that usually win alone: the others are tried around the best of these."""

    def choices(self, name: str, natural: Sequence[float]) -> Sequence[float]:
        """Return the values of a field: those that are allowed, else the natural ones."""
        return self.allowed.get(name, natural)

    def effective(self, name: str, natural: Sequence[float]) -> Sequence[float]:
        """Return the values of a field that make a difference.

        Of several that are allowed those without effect are left out; a single one is an order.
        """
        values = self.choices(name, natural)
        if len(values) == 1:
            return values
        return [value for value in values if value in natural] or values[:1]

    def allows(self, name: str, value: float) -> bool:
        """Return whether a value of a field may be taken."""
        return name not in self.allowed or value in self.allowed[name]


def divisors(number: int) -> list[int]:
    """Divisors of a whole number, rising.

    Parameters
    ----------
    number : int
        At least 1. [-]

    Returns
    -------
    divisors : list of int
        From 1 to the number. [-]

    References
    ----------
    .. [1] G. Hardy and E. Wright, "An introduction to the theory of numbers," section 1.1.

    Examples
    --------
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return list(_divisors(number))


@lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return (*small, *(number // value for value in reversed(small) if value * value != number))


def tensor_degrees(space: Space) -> list[int]:
    """Degrees of tensor parallelism that the heads and the machines allow.

    Parameters
    ----------
    space : Space
        Devices, machines, heads. [-]

    Returns
    -------
    degrees : list of int
        On GPUs groups fill a part of a machine or whole machines, for a group across the edge of a machine
        would send over the fabric what it need not; on IPUs they are powers of two. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 3.2 (tensor parallelism inside a machine).

    Examples
    --------
    >>> space = Space(devices=32, devices_per_node=8, global_batch=1, depth=12, heads=48, ipu=False,
    ...     allowed={})
    >>> tensor_degrees(space)
    [1, 2, 4, 8, 16]
    """
    if "tensor" in space.allowed:
        asked = (int(t) for t in space.allowed["tensor"])
        return [t for t in asked if _uses(space, space.devices, t) and _splits(space, t)]
    if not space.heads:
        return [1]
    node = min(space.devices_per_node, space.devices)
    return [
        t
        for t in divisors(space.heads)
        if _uses(space, space.devices, t)
        and (is_power_of_two(t) if space.ipu else node % t == 0 or t % node == 0)
    ]


def _uses(space: Space, devices: int, degree: int) -> bool:
    """Return whether a degree uses devices as it should: all of them, or some where others may idle."""
    return degree <= devices if space.spare else devices % degree == 0


def is_power_of_two(number: int) -> bool:
    """Whether a number is 1, 2, 4, 8 and so on.

    Parameters
    ----------
    number : int
        At least 1. [-]

    Returns
    -------
    power : bool
        True where it is. [-]

    References
    ----------
    .. [1] H. Warren, "Hacker's Delight," section 2-1.

    Examples
    --------
    >>> is_power_of_two(64), is_power_of_two(96)
    (True, False)
    """
    return number & (number - 1) == 0


def _splits(space: Space, tensor: int) -> bool:
    """Return whether tensor ranks can share the heads; those of an IPU need not come out even."""
    return tensor == 1 or (space.heads > 0 and (space.ipu or space.heads % tensor == 0))


def pipeline_degrees(space: Space, tensor: int) -> list[int]:
    """Degrees of pipeline parallelism that the layers and the devices allow.

    Parameters
    ----------
    space : Space
        Devices, layers. [-]
    tensor : int
        Degree of tensor parallelism. [-]

    Returns
    -------
    degrees : list of int
        At most one stage a layer; powers of two on IPUs; on GPUs one alone for networks without equal layers
        unless a degree is given. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 2.2.

    Examples
    --------
    >>> space = Space(devices=16, devices_per_node=8, global_batch=1, depth=5, heads=8, ipu=False, allowed={})
    >>> pipeline_degrees(space, 2)
    [1, 2, 4]
    """
    left = space.devices // tensor
    if "pipeline" in space.allowed:
        asked = (int(p) for p in space.allowed["pipeline"])
        return [p for p in asked if _uses(space, left, p) and p <= space.depth]
    if not space.heads and not space.ipu:
        return [1]
    if space.ipu:
        return [p for p in _powers_of_two(min(left, space.depth)) if _uses(space, left, p)]
    if space.spare:
        # More stages than the fewest with as many layers each shorten none of them.
        fewest = {-(-space.depth // layers) for layers in range(1, space.depth + 1)}
        return sorted(p for p in fewest if p <= left)
    return [p for p in divisors(left) if p <= space.depth]


def _powers_of_two(most: int) -> list[int]:
    return [1 << power for power in range(most.bit_length())]


def micro_batches(space: Space, share: int) -> list[int]:
    """Micro-batches that divide the samples of one copy.

    Parameters
    ----------
    space : Space
        What is allowed. [-]
    share : int
        Samples of one copy in a step. [-]

    Returns
    -------
    micro_batches : list of int
        Rising. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3.4 (micro-batch size).

    Examples
    --------
    >>> space = Space(devices=1, devices_per_node=8, global_batch=6, depth=1, heads=0, ipu=False,
    ...     allowed={"accumulation": [2.0, 6.0]})
    >>> micro_batches(space, 6)
    [1, 3]
    """
    named = space.allowed.get("micro_batch")
    tried = divisors(share) if named is None else [int(value) for value in named if share % value == 0]
    if space.lean and named is None:
        # Small ones, and the largest of each octave.
        tried = list({max(value, 8).bit_length() * 8 + min(value, 8): value for value in tried}.values())
    return [
        value
        for value in tried
        if (named is not None or value <= space.largest_micro_batch)
        and space.allows("accumulation", share // value)
    ]


Layout = tuple[int, int, int, int, int]
"""Tensor, pipeline and data degree, micro-batch, and micro-batches a copy."""


def layouts(space: Space) -> list[Layout]:
    """Layouts of all plans: degrees, micro-batch and micro-batches of every copy in a step.

    Where devices may idle, each tensor and pipeline degree comes with the most copies the batch allows and
    the number before; :func:`~app.engine.search.nearby.nearby_plans` goes on from the best of them.

    Parameters
    ----------
    space : Space
        Devices, batch, layers, heads and what is allowed. [-]

    Returns
    -------
    layouts : list of tuple
        Each once. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 3.

    Examples
    --------
    >>> space = Space(devices=2, devices_per_node=8, global_batch=2, depth=2, heads=2, ipu=False, allowed={})
    >>> layouts(space)
    [(1, 1, 2, 1, 1), (1, 2, 1, 1, 2), (1, 2, 1, 2, 1), (2, 1, 1, 1, 2), (2, 1, 1, 2, 1)]

    Three devices and any batch up to 9, in micro-batches of 2: a copy on each, or two with twice the samples:

    >>> free = Space(devices=3, devices_per_node=8, global_batch=9, depth=1, heads=0, ipu=False,
    ...     allowed={"micro_batch": [2.0]}, spare=True, any_batch=True)
    >>> layouts(free)
    [(1, 1, 3, 2, 1), (1, 1, 2, 2, 2)]
    """
    found: list[Layout] = []
    for tensor in tensor_degrees(space):
        for pipeline in pipeline_degrees(space, tensor):
            most = space.devices // (tensor * pipeline)
            shares = _free_shares(space, pipeline, most) if space.any_batch else _shares(space, most)
            found.extend((tensor, pipeline, *share) for share in shares)
    return found


def _shares(space: Space, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield copies, micro-batch and micro-batches a copy that make up the global batch."""
    for data in _copies(space, most):
        share = space.global_batch // data
        for micro_batch in micro_batches(space, share):
            yield data, micro_batch, share // micro_batch


def _copies(space: Space, most: int) -> list[int]:
    """Return the numbers of copies that divide the global batch."""
    if not space.spare:
        return [most] if space.allows("data", most) and space.global_batch % most == 0 else []
    possible = [
        data
        for data in divisors(space.global_batch)
        if data <= most and space.allows("data", data) and (not space.ipu or is_power_of_two(data))
    ]
    return possible if "data" in space.allowed else possible[-1 if space.ipu or space.lean else -2 :]


def _free_shares(space: Space, pipeline: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield copies, micro-batch and micro-batches a copy that come near the largest global batch."""
    bound = min(space.largest_micro_batch, space.global_batch)
    tried = [size for size in MICRO_BATCHES if size <= bound]
    if space.lean:
        tried = [size for size in tried if size < 8 or is_power_of_two(size)]
    sizes = space.choices("micro_batch", [float(size) for size in tried])
    for micro_batch in map(int, sizes):
        rounds = max(space.global_batch // micro_batch, 1)
        if "data" in space.allowed:
            copies = [int(data) for data in space.allowed["data"] if data <= most]
        elif {"micro_batch", "accumulation"} <= set(space.allowed):
            copies = [most]
        else:
            copies = copies_of(space, pipeline, most, rounds, 0 if space.lean else 1)
        for data in copies:
            if "accumulation" in space.allowed:
                each = [int(value) for value in space.allowed["accumulation"]]
            else:
                each = rounds_of(space, pipeline, max(rounds // data, 1))
            for accumulation in each:
                yield data, micro_batch, accumulation


def copies_of(space: Space, pipeline: int, most: int, rounds: int, fewer: int) -> list[int]:
    """Numbers of copies worth trying for so many micro-batches a step.

    As many as there may be; the most of them whose micro-batches go through the stages in whole rounds; and
    some fewer, each of which has a micro-batch more, so that less of the batch is lost where they are few.

    Parameters
    ----------
    space : Space
        What is allowed. [-]
    pipeline : int
        Stages. [-]
    most : int
        Copies that devices have room for. [-]
    rounds : int
        Micro-batches of the step over all copies. [-]
    fewer : int
        How many smaller numbers to give. [-]

    Returns
    -------
    copies : list of int
        Each once; the most first. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 2.2 (interleaved schedules run in whole rounds).

    Examples
    --------
    Ten micro-batches on seven copies are one each and three lost; five copies have two, three have three:

    >>> space = Space(devices=7, devices_per_node=8, global_batch=10, depth=1, heads=0, ipu=False,
    ...     allowed={}, spare=True, any_batch=True)
    >>> copies_of(space, 1, 7, 10, 2)
    [7, 5, 3]
    """
    top = min(most, rounds)
    if space.ipu:
        return [1 << (top.bit_length() - 1)]
    each = rounds // top
    found = [top, min(rounds // (-(-each // pipeline) * pipeline), most)]
    if each < FEW_ROUNDS:
        found += [rounds // (each + more) for more in range(1, fewer + 1)]
    return [data for data in dict.fromkeys(found) if data]


def rounds_of(space: Space, pipeline: int, most: int) -> list[int]:
    """Numbers of micro-batches a copy worth trying: the most, its quarters, and whole rounds of a pipeline.

    Parameters
    ----------
    space : Space
        How often a batch is quartered. [-]
    pipeline : int
        Stages. [-]
    most : int
        Micro-batches of a copy at the largest batch. [-]

    Returns
    -------
    rounds : list of int
        Each once. [-]

    References
    ----------
    .. [1] D. Narayanan et al., SC, 2021, section 2.2.

    Examples
    --------
    >>> space = Space(devices=1, devices_per_node=8, global_batch=10, depth=4, heads=4, ipu=False,
    ...     allowed={}, spare=True, any_batch=True, quarterings=1)
    >>> rounds_of(space, 4, 10)
    [10, 2, 8]
    """
    found = [most >> 2 * quartered for quartered in range(space.quarterings + 1)]
    if not space.ipu:
        found += [value - value % pipeline for value in found]
    return [value for value in dict.fromkeys(found) if value]
