"""Seconds of a plan search against its number of plans.

``python -m tests.endurance.search_cost`` measures and draws docs/img/search-cost.svg.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.engine.search import Space, evaluate_gpu_plans, gpu_plans
from app.reports.figures import palette
from app.sizing.deciding import decide
from app.sizing.models import resolve_model
from app.sizing.scenario import Scenario
from tests.sizing.asking import asked, sizing_context

PICTURE = Path(__file__).parents[2] / "docs" / "img" / "search-cost.svg"

MODELS = {"llama-7b": "LLaMA 7B", "gpt3-175b": "GPT-3 175B", "megatron-1t": "Megatron 1T"}
SIZES = (
    *((8, 64), (64, 512), (256, 1024), (1024, 1536), (2520, 20_160), (5040, 55_440)),
    *((10_080, 110_880), (20_160, 665_280)),
)
"""Devices and global batch; those with many divisors have many plans, whether or not anyone owns them."""

SEQ_LEN = 2048
ROUNDS = 5


@dataclass(frozen=True)
class Point:
    """One search."""

    model: str
    plans: int
    seconds: float
    """Of one core: enumeration, memory and step time of every plan, the fastest of several runs. [s]"""


def measured() -> list[Point]:
    """Search every model at every size, with room for every plan, so that all are timed."""
    context, found = sizing_context(), []
    for model in MODELS:
        request = asked(model={"preset": model}, workload={"seq_len": SEQ_LEN, "global_batch": 512})
        hardware = context.hardware.system("dgx-a100-640gb", 128)
        scenario = decide(request, resolve_model(request.model, context), hardware, context).scenario
        for devices, batch in SIZES:
            runs = [searched(scenario, devices, batch) for _ in range(ROUNDS)]
            found.append(Point(model, runs[0][0], min(seconds for _, seconds in runs)))
    return found


def searched(scenario: Scenario, devices: int, batch: int) -> tuple[int, float]:
    """Return the plans of a space and the seconds of one core that evaluating them all takes."""
    case = replace(scenario.gpu_case(), host_memory=0.0)
    space = Space(
        devices=devices, devices_per_node=8, global_batch=batch, depth=scenario.table.depth,
        heads=int(scenario.table.attention_heads), ipu=False, allowed={},
        fused_attention=scenario.gpu_software().fused_attention,
    )  # fmt: skip
    start = time.process_time()
    plans, _ = gpu_plans(space)
    evaluate_gpu_plans(case, plans, limit=math.inf)
    return plans.tensor.size, time.process_time() - start


def straight(points: Sequence[Point]) -> tuple[float, float]:
    """Return fixed seconds and seconds a plan that come nearest to the points in ratio."""
    plans = np.array([point.plans for point in points], dtype=float)
    seconds = np.array([point.seconds for point in points])
    terms = np.stack([1.0 / seconds, plans / seconds], axis=1)
    (fixed, each), *_ = np.linalg.lstsq(terms, np.ones_like(seconds), rcond=None)
    return float(fixed), float(each)


def exponent(points: Sequence[Point], least: int) -> float:
    """Return the power of the number of plans that seconds follow from so many plans on."""
    large = [point for point in points if point.plans >= least]
    slope, _ = np.polyfit(np.log([one.plans for one in large]), np.log([one.seconds for one in large]), 1)
    return float(slope)


WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 55
GREY = "#76808d"
FONT = 'font-family="Pretendard, system-ui, sans-serif" font-size="13"'
MARKS = (palette.BLUE, palette.ORANGE, palette.GREEN)
PLANS, SECONDS = (1e3, 1e6), (1e-3, 1e0)


def across(plans: float) -> float:
    """Return the place of a number of plans. [pixels]"""
    share = math.log(plans / PLANS[0]) / math.log(PLANS[1] / PLANS[0])
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def up(seconds: float) -> float:
    """Return the place of a time. [pixels]"""
    share = math.log(seconds / SECONDS[0]) / math.log(SECONDS[1] / SECONDS[0])
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def picture(points: Sequence[Point]) -> str:
    """Draw seconds against plans, both axes logarithmic, in colours for light and dark grounds."""
    fixed, each = straight(points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="Seconds of a search against its number of plans">'
    ]
    for plans, text in ((1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000"), (1e6, "1,000,000")):
        parts += [line(across(plans), TOP, across(plans), HEIGHT - BOTTOM, 0.35)]
        parts += [label(across(plans), HEIGHT - BOTTOM + 20, text, "end" if plans == PLANS[1] else "middle")]
    for seconds, text in ((1e-3, "1 ms"), (1e-2, "10 ms"), (1e-1, "0.1 s"), (1e0, "1 s")):
        parts += [line(LEFT, up(seconds), WIDTH - RIGHT, up(seconds), 0.35)]
        parts += [label(LEFT - 8, up(seconds) + 4, text, "end")]
    parts.append(label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "distinct legal plans, all timed", "middle"))
    curve = " ".join(
        f"{across(plans)},{up(fixed + each * plans)}" for plans in np.geomspace(PLANS[0], PLANS[1], 60)
    )
    parts.append(f'<polyline points="{curve}" fill="none" stroke="{GREY}" stroke-width="1.5"/>')
    fitted = f"{1e3 * fixed:.1f} ms + {1e6 * each:.2f} µs a plan"
    parts.append(label(across(3e5), up(0.03), fitted, "middle"))
    for place, (colour, (model, name)) in enumerate(zip(MARKS, MODELS.items(), strict=True)):
        parts += [dot(LEFT + 8 + 150 * place, 18, colour), label(LEFT + 20 + 150 * place, 22, name, "start")]
        parts += [dot(across(one.plans), up(one.seconds), colour) for one in points if one.model == model]
    return "\n".join([*parts, "</svg>", ""])


def line(left: float, top: float, right: float, bottom: float, opacity: float) -> str:
    """Draw a line of the grid."""
    return (
        f'<line x1="{left}" y1="{top}" x2="{right}" y2="{bottom}" stroke="{GREY}" '
        f'stroke-width="1" stroke-opacity="{opacity}"/>'
    )


def label(left: float, top: float, text: str, anchor: str) -> str:
    """Write a word."""
    return f'<text x="{left}" y="{top}" fill="{GREY}" text-anchor="{anchor}" {FONT}>{text}</text>'


def dot(left: float, top: float, colour: str) -> str:
    """Draw one search."""
    return f'<circle cx="{left}" cy="{top}" r="4.5" fill="{colour}" fill-opacity="0.85"/>'


if __name__ == "__main__":
    found = measured()
    PICTURE.write_text(picture(found), encoding="utf-8")
    for one in found:
        print(
            f"{one.model:12} {one.plans:9,} {1e3 * one.seconds:8.1f} ms {1e6 * one.seconds / one.plans:6.2f}"
        )
    print("fixed and a plan:", *straight(found), "exponent from 10,000 plans:", exponent(found, 10_000))
