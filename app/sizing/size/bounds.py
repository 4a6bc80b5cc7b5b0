"""Times that no plan of a candidate can undercut, before anything is searched."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from app.engine.convergence import training_steps
from app.engine.frontier import step_time_bound
from app.engine.operators import Section, Split
from app.engine.plans import Plans
from app.engine.records import Floats
from app.engine.search import LARGEST_MICRO_BATCH, divisors
from app.sizing.context import SizingContext
from app.sizing.runtime import samples_at_batches
from app.sizing.scenario import Scenario
from app.sizing.size.candidates import Candidate, Group
from app.sizing.software_choice import choose_software
from app.sizing.workload import batch_candidates, is_convolutional


class GroupBound:
    """Least time to train of a group at any number of machines.

    A step takes at least the work of its samples spread evenly over all devices, and a sample takes at
    least what its operators take at the best tensor degree and micro-batch that are legal.
    """

    def __init__(self, group: Group, context: SizingContext, input_rate: float | None) -> None:
        training = group.training
        table = training.profile.operators(training.tokens, training.image_size)
        entry = group.hardware.entry
        software = choose_software(
            group.software, is_convolutional(table), entry.chip, entry.chip_kind, context, []
        )
        self._training = training
        self._limits = context.batch_limits
        self._input_rate = input_rate
        self._scenario = Scenario(
            table=table,
            hardware=group.hardware.engine,
            software=software,
            precision=training.precision,
            optimizer=training.optimizer,
            overrides={},
        )
        self._heads = int(table.attention_heads)
        self._per_node = group.hardware.devices_per_machine
        self._tensor = self._tensor_degrees()
        self._deepest = table.depth if self._heads or self._scenario.is_ipu else 1
        self._known: dict[int, Floats] = {}
        self._least: dict[int, tuple[list[int], list[list[float]]]] = {}

    def seconds(self, candidate: Candidate) -> float:
        """Return the least time to train of a candidate at any batch that its search may choose. [s]"""
        hardware = candidate.hardware
        devices = hardware.devices
        used = 1 << (devices.bit_length() - 1) if self._scenario.is_ipu else devices
        batches = self._batches(used)
        samples = samples_at_batches(self._training, np.array(batches, dtype=float))
        steps = training_steps(samples, np.array(batches, dtype=float))
        least = [self._step(batch, used, hardware.machines) for batch in batches]
        return float(np.min(steps * np.array(least))) * self._factor()

    def _factor(self) -> float:
        """Factor of a calibration on every step; 1 without one."""
        software = self._scenario.software
        return 1.0 if software.calibration is None else float(np.ravel(software.time_factor(None))[0])

    def _batches(self, devices: int) -> list[int]:
        given = self._training.global_batch
        if given is not None:
            return [given, -(-given // devices) * devices]
        return batch_candidates(self._training, self._limits, devices)

    def _step(self, batch: int, devices: int, machines: int) -> float:
        """Least time of one step. [s]"""
        micro, least = self._at(batch)
        best = np.inf
        for tensor, row in zip(self._tensor, least, strict=True):
            if devices % tensor:
                continue
            # More stages leave more samples to each replica, and so larger micro-batches.
            largest = batch * tensor * min(self._deepest, devices // tensor) / devices
            place = bisect_right(micro, largest)
            if place:
                best = min(best, row[place - 1])
        fed = batch / (self._input_rate * machines) if self._input_rate else 0.0
        return max(float(step_time_bound(batch, best, devices)), fed) if np.isfinite(best) else fed

    def _at(self, batch: int) -> tuple[list[int], list[list[float]]]:
        """Return micro-batches, and the least device time of a sample up to each, by tensor degree. [s]"""
        if batch not in self._least:
            micro = [value for value in divisors(batch) if value <= LARGEST_MICRO_BATCH]
            missing = [value for value in micro if value not in self._known]
            if missing:
                for value, column in zip(missing, self._device_seconds(missing).T, strict=True):
                    self._known[value] = column
            columns = np.stack([self._known[value] for value in micro], axis=1)
            self._least[batch] = micro, np.minimum.accumulate(columns, axis=1).tolist()
        return self._least[batch]

    def _device_seconds(self, micro: list[int]) -> Floats:
        """Return the device time of a sample by tensor degree and micro-batch, (T, M). [s]"""
        tensor, samples = np.meshgrid(np.array(self._tensor, float), np.array(micro, float), indexing="ij")
        plans = Plans.of(tensor=tensor.ravel(), micro_batch=samples.ravel(), recompute=np.zeros(tensor.size))
        times = self._scenario.operator_times(plans)
        table = self._scenario.table
        # A pipeline may leave the embedding to a stage that waits anyway; sequence parallelism may divide
        # what tensor parallelism leaves whole.
        counted = (table.section != Section.EMBEDDING)[:, np.newaxis]
        divided = np.where((table.split == Split.SEQUENCE)[:, np.newaxis], plans.tensor, 1.0)
        both = np.where(counted, (times.forward + times.backward) / divided, 0.0)
        seconds = np.sum(both, axis=0) * plans.tensor / plans.micro_batch
        return np.asarray(seconds.reshape(tensor.shape))

    def _tensor_degrees(self) -> list[int]:
        if not self._heads:
            return [1]
        found = divisors(self._heads)
        if self._scenario.is_ipu:
            return [degree for degree in found if degree & (degree - 1) == 0]
        return [degree for degree in found if degree <= self._per_node]


class Bounds:
    """Least time and cost of candidates; what concerns a group is computed once."""

    def __init__(self, context: SizingContext, input_rate: float | None) -> None:
        self._context = context
        self._input_rate = input_rate
        self._groups: dict[Group, GroupBound] = {}
        self._seconds: dict[tuple[int, int], float] = {}

    def seconds(self, candidate: Candidate) -> float:
        """Return the least time to train of a candidate. [s]"""
        key = id(candidate.group), candidate.hardware.machines
        if key not in self._seconds:
            if candidate.group not in self._groups:
                self._groups[candidate.group] = GroupBound(candidate.group, self._context, self._input_rate)
            self._seconds[key] = self._groups[candidate.group].seconds(candidate)
        return self._seconds[key]
