r"""One training step on IPUs.

.. math:: T = (m + p - 1) \left(\max_i F_i + \max_i B_i\right) + m \, t_{wait} + T_{update}

m micro-batches pass through p stages; a backward pass includes the forward pass again where
activations are recomputed. The slowest stage forward and the slowest backward need not be the same. After
the last micro-batch follow all-reduce, optimizer and return to the host. Runs at 4 to 64 IPUs with
convolutional networks and encoders were compared; tensor parallelism, phases and more than one pod were not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.engine.compiled import formula, inner
from app.engine.host import host_wait_time, input_sharers
from app.engine.ipu.case import IpuCase
from app.engine.ipu.stage_memory import phase_rounds
from app.engine.ipu.work import Loads, StageTime, allreduce_time
from app.engine.plans import Plan


class IpuStep(NamedTuple):
    """Time of one step by part; they add up to it. [s]"""

    gemm: float
    attention: float
    memory_bound: float
    exchange: float
    sync: float
    tensor_comm: float
    pipeline_comm: float
    pipeline_bubble: float
    """Fill and drain."""
    data_comm: float
    optimizer: float
    """Everything streamed and not hidden."""
    fixed: float
    """Returns to the host and overhead, which depend on no plan."""
    input: float
    """Waiting for samples that the host has not prepared or sent in time."""


class SlowestStages(NamedTuple):
    """The slowest stage forward and the slowest backward, with recomputation. [s]"""

    forward: StageTime
    backward: StageTime


class SlotTime(NamedTuple):
    """One micro-batch on the slowest stages. [s]"""

    forward: float
    backward: float
    moved: float
    """Transfers between stages and phases, half of them forward."""


@inner
def replicas_in_pod(case: IpuCase, plan: Plan) -> float:
    """Return the replicas whose all-reduce stays on IPU-Links: at least one, at most all."""
    inside = float(np.floor(case.chip.pod_size / (plan.tensor * plan.pipeline)))
    return min(plan.data, max(inside, 1.0))


@formula
def gradient_allreduce_time(
    message: float, data: float, inside: float, bandwidth: float, gateway: float
) -> float:
    r"""Return the time of reducing gradients over all replicas.

    Inside a pod over IPU-Links; between pods each replica reduces its share over the GW-Links.

    .. math:: t = 2 \frac{n-1}{n} \frac{S}{B} + 2 \frac{R-1}{R} \frac{S / n}{B_{gw}}

    Parameters
    ----------
    message : float
        Gradients of one IPU, S. [B]
    data : float
        Replicas, n R. [-]
    inside : float
        Replicas inside a pod, n. [-]
    bandwidth : float
        All-reduce over IPU-Links, B. [B/s]
    gateway : float
        GW-Links, :math:`B_{gw}`. [B/s]

    Returns
    -------
    seconds : float
        With n replicas inside a pod and R groups of them. [s]

    Notes
    -----
    No measured run crosses GW-Links; one flat ring over them would take n times as long and is the
    pessimistic edge.

    References
    ----------
    .. [1] M. Cho et al., "BlueConnect," MLSys, 2019 (hierarchical all-reduce).
    .. [2] Graphcore, GCL user guide.

    Examples
    --------
    >>> times = gradient_allreduce_time(51e6, np.array([16.0, 256.0]), np.array([16.0, 64.0]), 22e9, 6.25e9)
    >>> [round(float(seconds) * 1e3, 2) for seconds in times]
    [4.35, 4.76]
    """
    across = allreduce_time(message / inside, data / inside, gateway)
    return allreduce_time(message, inside, bandwidth) + across


@formula
def optimizer_streaming_time(weights: float, state: float, replicas: float, bandwidth: float) -> float:
    r"""Return the time of reading and writing optimizer state that lies in streaming memory.

    .. math:: t = \frac{2 o P}{rts \, B}

    Parameters
    ----------
    weights : float
        Parameters of the heaviest stage, P. [-]
    state : float
        Optimizer state per parameter, o. [B]
    replicas : float
        Replicas that share it, rts. [-]
    bandwidth : float
        To streaming memory, B. [B/s]

    Returns
    -------
    seconds : float
        Of one update. [s]

    References
    ----------
    .. [1] Graphcore, PopART tensor_locations.rst (off-chip optimizer state, replicated sharding).

    Examples
    --------
    88 million parameters without sharding:

    >>> round(optimizer_streaming_time(88e6, 8.0, 1.0, 5e9), 3)
    0.282
    """
    return 2.0 * state * weights / replicas / bandwidth


@inner
def slot_time(
    case: IpuCase, plan: Plan, loads: Loads, slowest: SlowestStages, widest: float, speed: float
) -> SlotTime:
    """Return the forward and the backward superstep, what runs on the chip times the software's factor.

    Activations go on forward and their gradients come back, with the skip connections over the cut, and every
    superstep waits for the widest cut. A pipeline longer than a rack has a hop over GW-Links, for which
    every superstep waits too.
    """
    handed_on, moved = 2.0 * loads.boundary, 0.0
    if plan.pipeline > 1.0:
        beyond = plan.tensor * plan.pipeline > case.chip.pod_size
        moved = widest * handed_on / (case.chip.gateway_bandwidth if beyond else case.chip.link_bandwidth)
    if plan.phases > 1.0:
        moved += 2.0 * plan.phases * handed_on / plan.tensor / case.chip.streaming_bandwidth
    return SlotTime(
        forward=stage_seconds(slowest.forward, speed),
        backward=stage_seconds(slowest.backward, speed),
        moved=moved,
    )


@inner
def stage_seconds(stage: StageTime, speed: float) -> float:
    """Return the time of a stage: what runs on the chip times the software's factor, and its waiting. [s]"""
    on_chip = stage.gemm * speed + stage.attention * speed + stage.memory_bound * speed
    on_chip += stage.exchange * speed
    on_chip += stage.sync * speed
    return on_chip + stage.tensor_comm


@inner
def input_wait(case: IpuCase, plan: Plan, cycle: float, prepared: float) -> float:
    """Return how long a pipeline cycle waits for samples, which the host prepares and sends meanwhile.

    Replicas whose first stages lie in one machine share the way to it, those of one host its processors.
    """
    processors = prepared * input_sharers(plan.tensor, plan.pipeline, plan.data, case.chip.host_devices)
    link = case.sample_bytes / case.chip.host_bandwidth
    link *= input_sharers(plan.tensor, plan.pipeline, plan.data, case.chip.machine_devices)
    return float(host_wait_time(plan.micro_batch, max(processors, link), cycle))


@inner
def plan_step(
    case: IpuCase,
    plan: Plan,
    loads: Loads,
    slowest: SlowestStages,
    slot: SlotTime,
    weights: float,
    speed: float,
    returns: float,
    prepared: float,
) -> IpuStep:
    """Return the time of one step from its slowest stages and the parameters of the heaviest.

    Weights sharded over replicas are gathered once per pass and micro-batch, or once per phase and round. A
    phase lasts as long as the longer of its computation and of the streaming of its weights. ``prepared`` is
    the time that the processors of one host take for a sample.
    """
    message = case.size * weights
    gathered = (plan.rts - 1.0) / plan.rts * message / case.chip.allreduce_bandwidth
    reduced = gradient_allreduce_time(
        message,
        plan.data,
        replicas_in_pod(case, plan),
        case.chip.allreduce_bandwidth,
        case.chip.gateway_bandwidth,
    )
    optimizer = 0.0
    if plan.phases > 1.0:
        # Every round loads the weights again, and sums its gradients with those of the rounds before.
        rounds = phase_rounds(case, loads, plan, weights)
        loaded = rounds * (message / plan.rts / case.chip.streaming_bandwidth + gathered)
        optimizer = max(loaded - plan.accumulation * slot.forward, 0.0)
        optimizer += max(loaded - plan.accumulation * slot.backward, 0.0)
        optimizer += (rounds - 1.0) * 2.0 * message / plan.rts / case.chip.streaming_bandwidth
    else:
        reduced += 2.0 * plan.accumulation * gathered
    if plan.phases > 1.0 or plan.offload > 0.0:
        optimizer += optimizer_streaming_time(
            weights, case.state, plan.rts_optimizer, case.chip.streaming_bandwidth
        )
    many = plan.accumulation * speed
    cycle = slot.forward + slot.backward + slot.moved
    ahead, back = slowest.forward, slowest.backward
    return IpuStep(
        gemm=many * (ahead.gemm + back.gemm),
        attention=many * (ahead.attention + back.attention),
        memory_bound=many * (ahead.memory_bound + back.memory_bound),
        exchange=many * (ahead.exchange + back.exchange),
        sync=many * (ahead.sync + back.sync),
        tensor_comm=plan.accumulation * (ahead.tensor_comm + back.tensor_comm),
        pipeline_comm=plan.accumulation * slot.moved,
        pipeline_bubble=(plan.pipeline - 1.0) * cycle,
        data_comm=reduced,
        optimizer=optimizer,
        fixed=returns * case.chip.host_return + case.chip.update_overhead,
        input=plan.accumulation * input_wait(case, plan, cycle, prepared),
    )
