"""Training on IPUs: supersteps on one chip, pipelines of chips, memory in the processor itself.

Computation, exchange and synchronisation follow one another, so their times add up
(:mod:`~app.engine.ipu.products`, :mod:`~app.engine.ipu.vector`). Stages of a pipeline wait for the
slowest (:mod:`~app.engine.ipu.stages`, :mod:`~app.engine.ipu.step`), a weight update follows the
last micro-batch (:mod:`~app.engine.ipu.update`), and everything resident has to fit the SRAM
(:mod:`~app.engine.ipu.memory`, :mod:`~app.engine.ipu.phases`).
"""

from app.engine.ipu.mapping import (
    devices,
    layers_per_stage,
    minimum_phases,
    planned_phases,
    resident_weight_fraction,
    weight_fraction,
    weights_per_device,
)
from app.engine.ipu.memory import REFUSED_ABOVE, Fit, ipu_memory, memory_fit
from app.engine.ipu.phases import phases_needed
from app.engine.ipu.pipeline import pipeline_stages
from app.engine.ipu.stage_memory import FITS_BELOW, STATE_BYTES
from app.engine.ipu.stages import Stages, stage_layers, stage_list
from app.engine.ipu.step import ipu_step
from app.engine.ipu.supersteps import Supersteps, supersteps
from app.engine.ipu.times import ipu_operator_times

__all__ = [
    "FITS_BELOW",
    "REFUSED_ABOVE",
    "STATE_BYTES",
    "Fit",
    "Stages",
    "Supersteps",
    "devices",
    "ipu_memory",
    "ipu_operator_times",
    "ipu_step",
    "layers_per_stage",
    "memory_fit",
    "minimum_phases",
    "phases_needed",
    "pipeline_stages",
    "planned_phases",
    "resident_weight_fraction",
    "stage_layers",
    "stage_list",
    "supersteps",
    "weight_fraction",
    "weights_per_device",
]
