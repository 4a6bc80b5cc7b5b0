"""Time and memory of a training step on GPUs."""

from app.engine.gpu.case import GpuCase
from app.engine.gpu.evaluate import (
    gpu_forward_share,
    gpu_memory,
    gpu_operator_times,
    gpu_step,
    memory_use,
    perfect_gpu_step,
    step_of,
)

__all__ = [
    "GpuCase",
    "gpu_forward_share",
    "gpu_memory",
    "gpu_operator_times",
    "gpu_step",
    "memory_use",
    "perfect_gpu_step",
    "step_of",
]
