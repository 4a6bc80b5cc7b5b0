"""Colours that stay apart for colour-blind readers, on white and on black.

M. Okabe and K. Ito, "Color Universal Design", 2008; the yellow is left out, it vanishes on white.
Where two things share a colour a pattern tells them apart.
"""

from __future__ import annotations

BLUE, SKY, GREEN = "#0072b2", "#56b4e9", "#009e73"
ORANGE, VERMILION, PURPLE = "#e69f00", "#d55e00", "#cc79a7"
GREY, SILVER = "#7b828c", "#aab1bb"

SERIES = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY, SILVER)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")

PARTS = {
    "gemm": (BLUE, ""),
    "attention": (SKY, ""),
    "memory_bound": (GREEN, ""),
    "tensor_comm": (VERMILION, ""),
    "pipeline_bubble": (SILVER, ""),
    "pipeline_comm": (ORANGE, ""),
    "data_comm": (ORANGE, "/"),
    "exchange": (PURPLE, ""),
    "sync": (PURPLE, "/"),
    "optimizer": (GREEN, "/"),
    "input": (SKY, "/"),
    "fixed": (GREY, ""),
    "checkpoint": (GREY, "/"),
    "failures": (VERMILION, "/"),
    "evaluation": (SILVER, "/"),
}
"""Part of the time to train → colour and pattern, in the order they are stacked."""

MEMORY = {
    "weights": (BLUE, ""),
    "gradients": (SKY, ""),
    "optimizer": (GREEN, ""),
    "activations": (ORANGE, ""),
    "buffers": (PURPLE, ""),
    "exchange": (PURPLE, "/"),
    "framework": (GREY, ""),
    "code": (GREY, "/"),
}
"""Part of the memory of a device → colour and pattern, in the order they are stacked."""

KINDS = {
    "measured": (GREEN, ""),
    "published": (SKY, ""),
    "modelled": (BLUE, ""),
    "vendor": (ORANGE, "/"),
    "linear": (SILVER, "/"),
}
"""Kind of claim → colour and pattern; hatched is what nobody has measured on this machine."""


def thin(colour: str, opacity: float) -> str:
    """Return a colour that lets others through, for bands of ranges.

    >>> thin("#0072b2", 0.15)
    'rgba(0,114,178,0.15)'
    """
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def hatched(shape: str) -> dict[str, object]:
    """Return a pattern drawn in white over the colour of a bar; no pattern where the shape is empty."""
    return {
        "shape": shape,
        "fillmode": "overlay",
        "fgcolor": "rgba(255,255,255,0.75)",
        "solidity": 0.3,
        "size": 7,
    }


BOUNDS = {"compute": "circle", "memory": "square", "exchange": "diamond", "latency": "x"}
"""What limits an operator → symbol."""
