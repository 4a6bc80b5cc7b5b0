"""Time and memory of a training step on GPUs."""

from app.engine.gpu.directions import forward_share
from app.engine.gpu.memory import gpu_memory
from app.engine.gpu.operators import gpu_operator_times
from app.engine.gpu.step import gpu_step, perfect_gpu_step

__all__ = ["forward_share", "gpu_memory", "gpu_operator_times", "gpu_step", "perfect_gpu_step"]
