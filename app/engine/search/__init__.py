"""Search over plans: every legal one as arrays, memory first, then time for what fits."""

from app.engine.distinct import first_seen
from app.engine.search.evaluate import Evaluated, Fitting, GpuEvaluator, evaluate_gpu_plans, fitting
from app.engine.search.gpu_plans import combinations, gpu_plans, plans_of, spread_of
from app.engine.search.ipu_plans import ipu_plans, phased
from app.engine.search.nearby import nearby_plans
from app.engine.search.selection import best_that_differ, least_on_any_number, pareto_set
from app.engine.search.space import LARGEST_MICRO_BATCH, Space, divisors, layouts, tensor_degrees

__all__ = [
    "LARGEST_MICRO_BATCH",
    "Evaluated",
    "Fitting",
    "GpuEvaluator",
    "Space",
    "best_that_differ",
    "combinations",
    "divisors",
    "evaluate_gpu_plans",
    "first_seen",
    "fitting",
    "gpu_plans",
    "ipu_plans",
    "layouts",
    "least_on_any_number",
    "nearby_plans",
    "pareto_set",
    "phased",
    "plans_of",
    "spread_of",
    "tensor_degrees",
]
