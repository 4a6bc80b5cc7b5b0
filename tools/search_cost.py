"""Seconds of a plan search against its number of plans, and of a sizing against its searches.

``python -m tools.search_cost`` measures and draws docs/img/search-cost.svg and sizing-cost.svg.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.search.enumeration import spread_of
from app.engine.search.evaluate import GpuEvaluator
from app.engine.search.space import Space, layouts
from app.estimating.context import load_context
from app.estimating.deciding import decide
from app.estimating.request import EstimateRequest
from app.estimating.scenario import Scenario
from app.estimating.workload import resolve_model
from app.features.sizings.answering import size
from app.features.sizings.model import SizingRequest
from app.platform.charts import figures
from tools.documents import ROOT

PICTURES = ROOT / "docs" / "img"

MODELS = {"llama-7b": "LLaMA 7B", "gpt3-175b": "GPT-3 175B", "megatron-1t": "Megatron 1T"}

SIZES = (
    *((8, 64), (64, 512), (256, 1024), (1024, 1536), (2520, 20_160), (5040, 55_440)),
    *((10_080, 110_880), (20_160, 665_280)),
)
"""Devices and global batch; those with many divisors have many plans, whether or not anyone owns them."""

SEQ_LEN = 2048

ROUNDS = 5

SIZED = {"resnet50": "ResNet-50", "bert-large": "BERT-Large", "gpt3-175b": "GPT-3 175B"}

TRAINED = {
    "resnet50": {"epochs": 90, "dataset_samples": 1_281_167},
    "bert-large": {"samples": 1e8, "seq_len": 128},
    "gpt3-175b": {"tokens": 300e9},
}

DEADLINE = 30 * 86_400.0
"""Time that a sizing is given. [s]"""

SYSTEMS = (1, 2, 4, 8, 16, 32, 64)
"""Systems of the catalogue that are sized together, at every count to 4,096 accelerators."""


@dataclass(frozen=True)
class Point:
    """One search, or one sizing."""

    model: str
    count: int
    """Plans of a search, or searches of a sizing."""
    seconds: float
    """Of one core, the fastest of several runs. [s]"""


def measured() -> list[Point]:
    """Search every model at every size, with room for every plan, so that all are timed."""
    context, found = load_context(ROOT / "data"), []
    for model in MODELS:
        request = EstimateRequest.model_validate(
            {
                "model": {"preset": model},
                "workload": {"samples": 1e7, "seq_len": SEQ_LEN, "global_batch": 512},
                "system": {"id": "dgx-a100-640gb"},
            }
        )
        hardware = context.hardware.system("dgx-a100-640gb", 128)
        scenario = decide(request, resolve_model(request.model, context), hardware, context).scenario
        for devices, batch in SIZES:
            runs = [searched(scenario, devices, batch) for _ in range(ROUNDS)]
            found.append(Point(model, runs[0][0], min(seconds for _, seconds in runs)))
    return found


def sized() -> list[Point]:
    """Size every model on more and more of the catalogue's systems."""
    context, found = load_context(ROOT / "data"), []
    names = [entry.id for entry in context.catalog.systems()]
    # Systems in an order that mixes kinds: neighbours of the catalogue often share their searches.
    names = [name for start in range(7) for name in names[start::7]]
    for model in SIZED:
        for count in SYSTEMS:
            asked = {"model": {"preset": model}, "workload": TRAINED[model], "systems": names[:count]}
            request = SizingRequest.model_validate({**asked, "deadline_s": DEADLINE})
            seconds, searches = [], 0
            for _ in range(ROUNDS):
                start = time.process_time()
                searches = size(request, context).document.searched
                seconds.append(time.process_time() - start)
            found.append(Point(model, searches, min(seconds)))
    return found


def searched(scenario: Scenario, devices: int, batch: int) -> tuple[int, float]:
    """Return the plans of a space and the seconds of one core that evaluating them all takes."""
    case = replace(scenario.gpu_case(), host_memory=0.0)
    space = Space(
        devices=devices, devices_per_node=8, global_batch=batch, depth=scenario.table.depth,
        heads=int(scenario.table.attention_heads), ipu=False, allowed={},
        fused_attention=scenario.gpu_software().fused_attention > 0.0,
    )  # fmt: skip
    start = time.process_time()
    evaluator = GpuEvaluator(case)
    found = evaluator.fitting(spread_of(space, layouts(space)), evaluator.limits(math.inf))
    return found.count, time.process_time() - start


def straight(points: Sequence[Point]) -> tuple[float, float]:
    """Return fixed seconds and seconds of each that come nearest to the points in ratio."""
    counts = np.array([point.count for point in points], dtype=float)
    seconds = np.array([point.seconds for point in points])
    terms = np.stack([1.0 / seconds, counts / seconds], axis=1)
    (fixed, each), *_ = np.linalg.lstsq(terms, np.ones_like(seconds), rcond=None)
    return float(fixed), float(each)


def exponent(points: Sequence[Point], least: int) -> float:
    """Return the power of the count that seconds follow from so many on."""
    large = [point for point in points if point.count >= least]
    slope, _ = np.polyfit(np.log([one.count for one in large]), np.log([one.seconds for one in large]), 1)
    return float(slope)


WIDTH, HEIGHT = 640, 400

LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 55

GREY = "#76808d"

FONT = 'font-family="Pretendard, system-ui, sans-serif" font-size="13"'

MARKS = (figures.BLUE, figures.ORANGE, figures.GREEN)


@dataclass(frozen=True)
class Picture:
    """Seconds against counts, both axes logarithmic, in colours for light and dark grounds."""

    title: str
    below: str
    """What is counted."""
    each: str
    """One of it."""
    names: Mapping[str, str]
    counts: tuple[float, float]
    """Ends of the axis."""
    seconds: tuple[float, float]
    """Ends of the axis. [s]"""

    def across(self, count: float) -> float:
        """Return the place of a count. [pixels]"""
        share = math.log(count / self.counts[0]) / math.log(self.counts[1] / self.counts[0])
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def up(self, seconds: float) -> float:
        """Return the place of a time. [pixels]"""
        share = math.log(seconds / self.seconds[0]) / math.log(self.seconds[1] / self.seconds[0])
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def drawn(self, points: Sequence[Point]) -> str:
        """Return the picture of some points and the straight line through them."""
        fixed, each = straight(points)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img" aria-label="{self.title}">'
        ]
        for count in decades(*self.counts):
            anchor = "end" if count == self.counts[1] else "middle"
            parts += [line(self.across(count), TOP, self.across(count), HEIGHT - BOTTOM, 0.35)]
            parts += [label(self.across(count), HEIGHT - BOTTOM + 20, f"{count:,.0f}", anchor)]
        for seconds in decades(*self.seconds):
            text = f"{1e3 * seconds:,g} ms" if seconds < 1.0 else f"{seconds:,.0f} s"
            parts += [line(LEFT, self.up(seconds), WIDTH - RIGHT, self.up(seconds), 0.35)]
            parts += [label(LEFT - 8, self.up(seconds) + 4, text, "end")]
        parts.append(label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, self.below, "middle"))
        curve = " ".join(
            f"{self.across(count)},{self.up(min(fixed + each * count, self.seconds[1]))}"
            for count in np.geomspace(*self.counts, 60)
        )
        parts.append(f'<polyline points="{curve}" fill="none" stroke="{GREY}" stroke-width="1.5"/>')
        slope = f"{1e3 * each:.2f} ms" if each > 1e-4 else f"{1e6 * each:.3f} µs"
        fitted = f"{1e3 * fixed:.1f} ms + {slope} {self.each}" if fixed > 0 else f"{slope} {self.each}"
        parts.append(label(WIDTH - RIGHT - 8, HEIGHT - BOTTOM - 12, fitted, "end"))
        for place, (colour, (model, name)) in enumerate(zip(MARKS, self.names.items(), strict=True)):
            left = LEFT + 150 * place
            parts += [dot(left + 8, 18, colour), label(left + 20, 22, name, "start")]
            parts += [
                dot(self.across(one.count), self.up(one.seconds), colour)
                for one in points
                if one.model == model
            ]
        return "\n".join([*parts, "</svg>", ""])


OF_PLANS = Picture(
    title="Seconds of a search against its number of plans",
    below="legal plans, all timed",
    each="a plan",
    names=MODELS,
    counts=(1e3, 1e6),
    seconds=(1e-4, 1e-1),
)

OF_SEARCHES = Picture(
    title="Seconds of a sizing against its searches",
    below="searches of a sizing: hardware that differs, at every count",
    each="a search",
    names=SIZED,
    counts=(1e1, 1e3),
    seconds=(1e-3, 1e1),
)


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten from one to another."""
    return [low * 10.0**power for power in range(round(math.log10(high / low)) + 1)]


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
    for name, drawing, found in (
        ("search-cost", OF_PLANS, measured()),
        ("sizing-cost", OF_SEARCHES, sized()),
    ):
        (PICTURES / f"{name}.svg").write_text(drawing.drawn(found), encoding="utf-8")
        for one in found:
            each = 1e6 * one.seconds / one.count
            print(f"{one.model:12} {one.count:9,} {1e3 * one.seconds:8.1f} ms {each:10.3f} µs each")
        print("fixed and each:", *straight(found))
