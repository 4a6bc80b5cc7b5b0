"""Training on IPUs: supersteps on one chip, pipelines of chips, memory in the processor itself.

Computation, exchange and synchronisation follow one another, so their times add up
(:mod:`~app.engine.ipu.products`, :mod:`~app.engine.ipu.vector`). Stages of a pipeline wait for the
slowest (:mod:`~app.engine.ipu.stages`, :mod:`~app.engine.ipu.layout`), a weight update follows the
last micro-batch (:mod:`~app.engine.ipu.step`), and everything resident has to fit the SRAM
(:mod:`~app.engine.ipu.stage_memory`, :mod:`~app.engine.ipu.phases`). All of it are functions of single
plans that run inside compiled loops; :mod:`~app.engine.ipu.evaluate` calls these for many plans at once.
"""

from app.engine.ipu.case import STATE_BYTES
from app.engine.ipu.evaluate import (
    evaluate_ipu_plans,
    ipu_forward_share,
    ipu_memory,
    ipu_operator_times,
    ipu_step,
    phases_needed,
    pipeline_stages,
)
from app.engine.ipu.mapping import (
    layers_per_stage,
    minimum_phases,
    planned_phases,
    resident_weight_fraction,
    weight_fraction,
    weights_per_device,
)
from app.engine.ipu.stage_memory import FITS_BELOW, REFUSED_ABOVE, Fit, memory_fit
from app.engine.ipu.stages import stage_layers, stage_list

__all__ = [
    "FITS_BELOW",
    "REFUSED_ABOVE",
    "STATE_BYTES",
    "Fit",
    "evaluate_ipu_plans",
    "ipu_forward_share",
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
    "weight_fraction",
    "weights_per_device",
]
