"""Training on IPUs: supersteps on one chip, pipelines of chips, memory in the processor itself.

Computation, exchange and synchronisation follow one another, so their times add up
(:mod:`~app.engine.ipu.gemm`, :mod:`~app.engine.ipu.vector`). Stages of a pipeline wait for the
slowest (:mod:`~app.engine.ipu.layout`), a weight update follows the
last micro-batch (:mod:`~app.engine.ipu.step`), and everything resident has to fit the SRAM
(:mod:`~app.engine.ipu.stage_memory`, :mod:`~app.engine.ipu.phases`). All of it are functions of single
plans that run inside compiled loops; :mod:`~app.engine.ipu.plan_steps` calls these for many plans at once.
"""
