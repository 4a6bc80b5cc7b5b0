"""Times that no plan of a candidate can undercut, before anything is searched."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.engine.collectives import exposed_time
from app.engine.convergence import training_steps
from app.engine.gpu.exchanges import gradient_exchanges
from app.engine.gpu.memory import GRADIENT_BYTES, MASTER_BYTES, STATE_BYTES
from app.engine.gpu.operators import element_bytes
from app.engine.gpu.step import gradient_accumulation_time
from app.engine.gpu.weights import device_weights
from app.engine.ipu.update import fixed_update_time, gradient_allreduce_time
from app.engine.operators import Section, Split
from app.engine.pipeline import bubble_slots
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem, Indices, IpuChip
from app.engine.search import LARGEST_MICRO_BATCH, Space, divisors, tensor_degrees
from app.sizing.context import SizingContext
from app.sizing.runtime import evaluations_time, samples_at_batches
from app.sizing.scenario import Scenario
from app.sizing.size.candidates import Candidate, Group, no_slower, same_nodes
from app.sizing.size.layouts import Layouts, layouts
from app.sizing.size.searching import Found, Searcher
from app.sizing.software_choice import choose_software
from app.sizing.workload import batch_candidates, is_convolutional

NOT_PER_MICRO_BATCH = frozenset({"input", "optimizer", "data_comm"})
"""Parts of a GPU step that a plan may hide, shard or shrink."""


IPU_GRADIENT_BYTES = 2.0
"""Bytes of a gradient on an IPU in half precision; more in single precision."""


class GroupBound:
    """Least time to train of a group on any number of machines.

    Every layout of the devices that a legal plan may have is timed with what no option of a plan can avoid:
    its operators and what they exchange inside a machine, on as many micro-batches as the step has and the
    pipeline waits for. Communication between machines, recomputation, the optimizer and memory only add.
    """

    def __init__(
        self,
        group: Group,
        context: SizingContext,
        input_rate: float | None,
        alike: GroupBound | None = None,
    ) -> None:
        training = group.training
        table = training.profile.operators(training.tokens, training.image_size)
        entry = group.hardware.entry
        software = choose_software(
            group.software,
            training.profile.family,
            is_convolutional(table),
            entry.chip,
            entry.chip_kind,
            context,
            [],
        )
        self._training = training
        self._batch_limits = context.batch_limits
        self._input_rate = input_rate
        self._scenario = Scenario(
            table=table,
            hardware=group.hardware.engine,
            software=replace(software, calibration=None),
            precision=training.precision,
            optimizer=training.optimizer,
            overrides={},
        )
        self._factor = float(np.ravel(software.time_factor())[0])
        """What measured runs of the code say all its times are multiplied by. [-]"""
        self._ipu = self._scenario.is_ipu
        self._tensor = degrees(int(table.attention_heads), group.hardware.devices_per_machine, self._ipu)
        self._deepest = table.depth if table.attention_heads or self._ipu else 1
        self._reductions: dict[int, Floats] = {}
        self._slots = np.full((2, len(self._tensor), LARGEST_MICRO_BATCH + 1), np.nan)
        """Time of one micro-batch by tensor degree and size, as far as needed: layers and head. [s]"""
        self._inside = np.array(self._tensor) <= group.hardware.devices_per_machine
        self._alike = alike

    def seconds(self, candidate: Candidate) -> float:
        """Return the least time to train of a candidate at any batch that its search may choose. [s]"""
        hardware = candidate.hardware
        devices = hardware.devices
        used = 1 << (devices.bit_length() - 1) if self._ipu else devices
        if not self._may_hold(used):
            return float("inf")
        batches = self._batches(used)
        sizes = np.array(batches, dtype=float)
        samples = samples_at_batches(self._training, sizes)
        steps = [self._step(batch, used) * self._factor for batch in batches]
        fed = sizes / (self._input_rate * hardware.machines) if self._input_rate else 0.0
        least = np.maximum(steps, fed)
        legal = np.isfinite(least)
        if not legal.any():
            return float("inf")
        least, samples, sizes = least[legal], samples[legal], sizes[legal]
        evaluation = evaluations_time(self._training.target, self._scenario, samples, sizes, least)
        return float(np.min(training_steps(samples, sizes) * least + evaluation))

    def _may_hold(self, devices: int) -> bool:
        """Say whether weights, gradients and optimizer state, shared by all GPUs, fit in their memory.

        The state may lie in the hosts' memory where that is known.
        """
        system, table = self._scenario.hardware, self._scenario.table
        if not isinstance(system, GpuSystem):
            return True
        size = element_bytes(self._scenario.precision)
        state = STATE_BYTES[self._scenario.optimizer] + (MASTER_BYTES if size < MASTER_BYTES else 0.0)
        state = 0.0 if system.host_memory else state
        dense = float(np.sum(np.where(table.sparse > 0, 0.0, table.weights * table.count)))
        held = dense * (size + GRADIENT_BYTES + state) / devices + system.kernels.framework_memory
        return held <= system.chip.memory_capacity

    def _batches(self, devices: int) -> list[int]:
        given = self._training.global_batch
        if given is not None:
            return [given, -(-given // devices) * devices]
        return batch_candidates(self._training, self._batch_limits, devices)

    def _step(self, batch: int, devices: int) -> float:
        """Return the least time of one step; infinite where no layout is legal. [s]"""
        legal = layouts(devices, batch, self._tensor, self._deepest, self._ipu)
        if not legal.tensor.size:
            return float("inf")
        layers, ends = self._slot(legal, batch)
        stages, depth = legal.pipeline, float(max(self._deepest, 1))
        share = 1.0 / stages if self._ipu else np.ceil(depth / stages) / depth
        slots = legal.accumulation + bubble_slots(stages, legal.interleave)
        slot = layers * share + ends / stages
        exposed = self._reduction(legal, devices, slot)
        return float(np.min(slots * slot + exposed)) + self._fixed(devices)

    def _reduction(self, legal: Layouts, devices: int, slot: Floats) -> Floats:
        """Return the least time of the gradients' reduction that nothing hides. [s]

        However they are sharded, gradients are scattered over the replicas once at least.
        """
        if devices not in self._reductions:
            self._reductions[devices] = self._reduced(devices)
        least = self._reductions[devices][
            np.searchsorted(self._tensor, legal.tensor), legal.pipeline.astype(int) - 1
        ]
        return least if self._ipu else exposed_time(least, self._scenario.gpu_software().overlap, slot)

    def _reduced(self, devices: int) -> Floats:
        """Return the time to scatter the gradients once, (T, P), by tensor and pipeline degree. [s]"""
        pairs = [
            (place, stages)
            for place, degree in enumerate(self._tensor)
            if devices % degree == 0
            for stages in divisors(devices // degree)
            if stages <= self._deepest
        ]
        rows, stages = np.array(pairs, dtype=int).T
        found = np.full((len(self._tensor), self._deepest), np.nan)
        found[rows, stages - 1] = self._scattered(
            np.array(self._tensor, dtype=float)[rows], stages.astype(float), devices
        )
        return found

    def _scattered(self, tensor: Floats, stages: Floats, devices: int) -> Floats:
        """Return the least time in which the copies of each layout exchange their gradients. [s]"""
        data = devices / (tensor * stages)
        table, hardware = self._scenario.table, self._scenario.hardware
        if isinstance(hardware, IpuChip):
            plans = Plans.of(tensor=tensor, pipeline=stages, data=data)
            held = table.parameters * IPU_GRADIENT_BYTES / (tensor * stages)
            return gradient_allreduce_time(plans, held, hardware)
        near = np.maximum(np.floor(hardware.machine.devices / tensor), 1.0)
        least = np.full(data.shape, np.inf)
        for ranks in (data, np.minimum(near, data)):
            plans = Plans.of(tensor=tensor, pipeline=stages, data=data, sharding_ranks=ranks)
            weights = device_weights(table, plans)
            # Gradients of experts may be few: those of the other weights are exchanged in any case.
            dense = replace(weights, layers=weights.layers - weights.experts, experts=0.0 * weights.experts)
            times = gradient_exchanges(
                table, plans, hardware, self._scenario.gpu_software(), self._scenario.precision, dense
            )
            # Shards inside a machine are summed between machines once a step.
            sharded = np.where(ranks < data, times.between, times.scattered_once)
            ways = [times.reduced, times.scattered, sharded]
            least = np.minimum(least, np.min(np.stack(np.broadcast_arrays(*ways)), axis=0))
        return least

    def _fixed(self, devices: int) -> float:
        """Return what every step takes beside its work. [s]"""
        hardware = self._scenario.hardware
        if isinstance(hardware, IpuChip):
            return float(np.ravel(fixed_update_time(hardware, self._scenario.ipu_software()))[0])
        software = self._scenario.gpu_software()
        several = float(software.multi_device_overhead) if devices > 1 else 0.0
        return float(software.step_overhead) + several

    def _slot(self, legal: Layouts, batch: int) -> tuple[Floats, Floats]:
        """Return the time of one micro-batch over all stages, of the layers and of the head. [s]"""
        place = np.searchsorted(self._tensor, legal.tensor), legal.micro_batch.astype(int)
        if np.isnan(self._slots[0][place]).any():
            # All micro-batches of the batch at once: other counts want the rest of them.
            sizes = np.array(
                [value for value in divisors(batch) if value <= LARGEST_MICRO_BATCH], dtype=float
            )
            missing = sizes[np.isnan(self._slots[0, :, sizes.astype(int)]).any(axis=-1)].astype(int)
            rows = np.flatnonzero(~self._take_over(missing))
            tensor, micro = np.meshgrid(
                np.array(self._tensor, dtype=float)[rows], missing.astype(float), indexing="ij"
            )
            if rows.size:
                found = (self._ipu_slots if self._ipu else self._gpu_slots)(tensor.ravel(), micro.ravel())
                for known, seconds in zip(self._slots, found, strict=True):
                    known[np.ix_(rows, missing)] = seconds.reshape(tensor.shape)
        layers, ends = self._slots
        return layers[place], ends[place]

    def _take_over(self, sizes: Indices) -> NDArray[np.bool_]:
        """Take the times inside a machine from a group with the same nodes; say which degrees that settles.

        What happens inside a node does not depend on the fabric between nodes.
        """
        if self._alike is None or np.isnan(self._alike._slots[0][np.ix_(self._inside, sizes)]).any():
            return np.zeros(self._inside.shape, dtype=bool)
        near = np.ix_(self._inside, sizes)
        for known, theirs in zip(self._slots, self._alike._slots, strict=True):
            known[near] = theirs[near]
        return self._inside

    def _ends(self, plans: Plans) -> tuple[Floats, Floats]:
        """Return the time of the operators of head and embedding in one micro-batch. [s]"""
        times = self._scenario.operator_times(plans)
        both = times.forward + times.backward
        section = self._scenario.table.section[:, np.newaxis]
        head = np.sum(np.where(section == Section.HEAD, both, 0.0), axis=0)
        return head, np.sum(np.where(section == Section.EMBEDDING, both, 0.0), axis=0)

    def _gpu_slots(self, tensor: Floats, micro: Floats) -> tuple[Floats, Floats]:
        """One micro-batch more or less of a step on one stage, without what depends on the rest of a plan."""
        system = self._scenario.hardware
        assert isinstance(system, GpuSystem)
        neutral = Plans.of(tensor=tensor, micro_batch=micro, accumulation=np.full(tensor.shape, 2.0))
        held = self._scenario.table.parameters / tensor
        bandwidth = system.chip.memory_bandwidth * system.chip.achieved_bandwidth
        summing = gradient_accumulation_time(held, element_bytes(self._scenario.precision), bandwidth)
        slots = []
        for sequence_parallel, expert in product((0.0, 1.0), divisors(self._scenario.table.experts)):
            two = replace(
                neutral,
                sequence_parallel=np.full(tensor.shape, sequence_parallel),
                expert=np.full(tensor.shape, float(expert)),
                data=np.full(tensor.shape, float(expert)),
                sharding_ranks=np.full(tensor.shape, float(expert)),
            )
            three = replace(two, accumulation=two.accumulation + 1.0)
            slots.append(self._avoidless(three) - self._avoidless(two))
        head, embedding = self._ends(neutral)
        # What tokens split may be divided in the head as well.
        head = np.where(self._by_tokens(), head / tensor, head)
        layers = np.min(slots, axis=0) - summing - head - embedding
        return np.maximum(layers, 0.0), head

    def _by_tokens(self) -> bool:
        table = self._scenario.table
        return bool(np.any((table.section == Section.HEAD) & (table.split == Split.SEQUENCE)))

    def _avoidless(self, plans: Plans) -> Floats:
        """Return the parts of a step that no option of a plan avoids. [s]"""
        parts = self._scenario.step(plans).parts
        return np.asarray(sum(seconds for name, seconds in parts.items() if name not in NOT_PER_MICRO_BATCH))

    def _ipu_slots(self, tensor: Floats, micro: Floats) -> tuple[Floats, Floats]:
        plans = Plans.of(tensor=tensor, micro_batch=micro)
        times = self._scenario.operator_times(plans)
        head, embedding = self._ends(plans)
        layers = np.sum(times.forward + times.backward, axis=0) - head - embedding
        return layers, head


def degrees(heads: int, per_node: int, ipu: bool) -> tuple[int, ...]:
    """Return the tensor degrees that a search considers on any number of whole machines.

    Parameters
    ----------
    heads : int
        Attention heads; 0 where tensor parallelism does not apply. [-]
    per_node : int
        Accelerators of one machine. [-]
    ipu : bool
        Whether degrees are powers of two. [-]
    """
    every = Space(
        devices=max(heads, 1) * per_node, devices_per_node=per_node, global_batch=1, depth=1, heads=heads,
        ipu=ipu, allowed={},
    )  # fmt: skip
    return tuple(tensor_degrees(every))


class Bounds:
    """Least time of candidates; what concerns a group is computed once."""

    def __init__(self, context: SizingContext, input_rate: float | None, searcher: Searcher) -> None:
        self._context = context
        self._input_rate = input_rate
        self._searcher = searcher
        self._groups: dict[Group, GroupBound] = {}
        self._better: dict[Group, list[Group]] = {}
        self._seconds: dict[tuple[int, int], float] = {}

    def seconds(self, candidate: Candidate) -> float:
        """Return the least time to train of a candidate; infinite where it cannot hold the model. [s]"""
        key = id(candidate.group), candidate.hardware.machines
        if key not in self._seconds:
            self._seconds[key] = self._bound(candidate.group).seconds(candidate)
        return max([self._seconds[key], *self._on_better_fabrics(candidate)])

    def _bound(self, group: Group) -> GroupBound:
        if group not in self._groups:
            alike = (
                bound for other, bound in self._groups.items() if same_nodes(other.hardware, group.hardware)
            )
            self._groups[group] = GroupBound(group, self._context, self._input_rate, next(alike, None))
            self._better = {
                one: [
                    other
                    for other in self._groups
                    if other is not one and no_slower(other.hardware, one.hardware)
                ]
                for one in self._groups
            }
        return self._groups[group]

    def _on_better_fabrics(self, candidate: Candidate) -> list[float]:
        """Return the times found on as many machines of the same kind with a better fabric. [s]"""
        machines = candidate.hardware.machines
        found = (self._searcher.found(other, machines) for other in self._better[candidate.group])
        return [least_of(entry) for entry in found if entry is not None]


def least_of(found: Found) -> float:
    """Return what no worse fabric undercuts of a run that was found; 0 where that says nothing. [s]

    Every plan of the same batch takes at least as long on a worse fabric, the fastest included, whichever is
    chosen there for its risk. Where the batch is chosen for a target another may be chosen there.

    Parameters
    ----------
    found : Found
        A run. [-]
    """
    run, sizing = found.run, found.sizing
    if run is None:
        return float("inf")
    if sizing.batch_searched and sizing.training.target is not None:
        return 0.0
    return run.steps * sizing.choice.found.fastest
