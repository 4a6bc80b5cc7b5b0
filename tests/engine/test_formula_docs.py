"""Every formula of the engine states its parameters, units, reference and an example."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import app.engine

UNIT = re.compile(r"\[[^\]]+\]\.?\s*$")
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$")


def public_functions() -> Iterator[Any]:
    """Give each public function of the engine whose docstring holds a formula, nested packages included."""
    for info in pkgutil.walk_packages(app.engine.__path__, "app.engine."):
        module = importlib.import_module(info.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            own = function.__module__ == info.name and not name.startswith("_")
            if own and ".. math::" in (function.__doc__ or ""):
                yield pytest.param(function, id=f"{info.name.removeprefix('app.engine.')}.{name}")


def section(documentation: str, title: str) -> str:
    """Text of one section of a numpy docstring, or nothing."""
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=\n\n[A-Z][\w ]*\n-+\n|\Z)", documentation, re.DOTALL | re.MULTILINE
    )
    return found.group(1).rstrip() if found else ""


def entries(text: str) -> dict[str, str]:
    """Descriptions of a Parameters or Returns section by the name each stands under."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line and not line[0].isspace():
            heading = ENTRY.match(line)
            names = [name.strip("* ") for name in heading.group(1).split(",")] if heading else [line]
            found.update(dict.fromkeys(names, ""))
        else:
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def shortcomings(function: Callable[..., Any]) -> list[str]:
    """Everything the docstring of one function lacks."""
    documentation = inspect.getdoc(function) or ""
    wrong = []
    parameters = entries(section(documentation, "Parameters"))
    signature = list(inspect.signature(function).parameters)
    if list(parameters) != signature:
        wrong.append(f"Parameters lists {list(parameters)}, the signature has {signature}")
    wrong += [
        f"parameter {name} ends without a [unit]"
        for name, text in parameters.items()
        if not UNIT.search(text)
    ]
    returns = entries(section(documentation, "Returns"))
    if not returns:
        wrong.append("no Returns section")
    wrong += [
        f"returned {name} ends without a [unit]" for name, text in returns.items() if not UNIT.search(text)
    ]
    if not section(documentation, "References"):
        wrong.append("no References section")
    if ">>> " not in documentation and not re.search(r"``tests/\S+\.py`` holds worked values", documentation):
        wrong.append("no worked example (>>>)")
    return wrong


@pytest.mark.parametrize("function", list(public_functions()))
def test_formula_is_documented(function: Callable[..., Any]) -> None:
    wrong = shortcomings(function)
    assert not wrong, f"{function.__module__}.{function.__qualname__}:\n  " + "\n  ".join(wrong)


def well_documented(speed: float, duration: float) -> float:
    """Distance covered.

    Parameters
    ----------
    speed : float
        How fast, and a second line
        of words. [m/s]
    duration : float
        How long. [s]

    Returns
    -------
    distance : float
        How far. [m]

    References
    ----------
    .. [1] Galileo, Discorsi, 1638.

    Examples
    --------
    >>> well_documented(2.0, 3.0)
    6.0
    """
    return speed * duration


def poorly_documented(speed: float, duration: float) -> float:
    """Distance covered.

    Parameters
    ----------
    speed : float
        How fast, without a unit.
    """
    return speed * duration


def test_a_complete_docstring_lacks_nothing() -> None:
    assert shortcomings(well_documented) == []


def test_all_shortcomings_are_told_at_once() -> None:
    assert shortcomings(poorly_documented) == [
        "Parameters lists ['speed'], the signature has ['speed', 'duration']",
        "parameter speed ends without a [unit]",
        "no Returns section",
        "no References section",
        "no worked example (>>>)",
    ]
