"""Tensors of a model type as formulas of its configuration, as data/model_types holds them.

A structure has loops (``model.layers.*``), each a list of tensors and inner loops, some under decisions.
Expressions are arithmetic and comparisons over fields; nothing else is understood.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.errors import AppError, Message

MOST_PASSES = 20_000
"""Passes of loops of one structure."""
MOST_SIZE = 1e12
"""Largest side of a tensor."""
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, values: value in values,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "int": int,
    "round": round,
    "ceil": math.ceil,
    "floor": math.floor,
    "len": len,
}


class UndefinedName(AppError):
    """An expression that the fields of a configuration do not decide."""

    def __init__(self, name: str) -> None:
        super().__init__(Message("the field {field} is not understood", {"field": name}))
        self.name = name


@lru_cache(maxsize=50_000)
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


@lru_cache(maxsize=50_000)
def _path(node: ast.expr) -> str:
    return ast.unparse(node)


@dataclass
class ConfigScope:
    """Fields of a configuration by path, and the numbers of the running passes."""

    values: Mapping[str, Any]
    passes: dict[str, int] = field(default_factory=dict)

    def value(self, expression: str) -> Any:
        if expression in self.values and self.values[expression] is not None:
            return self.values[expression]
        try:
            return self._value(_parsed(expression))
        except (TypeError, ValueError, ZeroDivisionError, LookupError, OverflowError) as error:
            raise UndefinedName(expression) from error

    def whole(self, expression: str) -> int:
        value = self.value(expression)
        if not isinstance(value, int | float) or not 0 <= value <= MOST_SIZE:
            raise UndefinedName(expression)
        return int(value)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self.passes:
                return self.passes[name]
            case ast.Name() | ast.Attribute():
                path = _path(node)
                if path not in self.values:
                    raise UndefinedName(path)
                return self.values[path]
            case ast.BinOp(left=left, op=kind, right=right):
                a, b = self._value(left), self._value(right)
                if isinstance(kind, ast.Pow):
                    if abs(b) > 16:
                        raise UndefinedName(ast.unparse(node))
                    return a**b
                return _ARITHMETIC[type(kind)](a, b)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.Compare(left=left, ops=[kind], comparators=[right]):
                return _COMPARISONS[type(kind)](self._value(left), self._value(right))
            case ast.Subscript(value=listing, slice=index):
                return self._value(listing)[self._value(index)]
            case ast.Call(func=ast.Name(id="is_none"), args=[argument]):
                return self.values.get(_path(argument)) is None
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self._value(argument))
        raise UndefinedName(ast.unparse(node))


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor, and how many of it there are."""

    path: str
    kind: str
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.sizes)


def tensors_of(structure: Mapping[str, Any], scope: ConfigScope) -> Iterator[Tensor]:
    """Yield every tensor of a structure at the sizes of a configuration."""
    loops = structure["loops"]
    passed = 0

    def visit(loop: str, depth: int) -> Iterator[Tensor]:
        nonlocal passed
        passed += 1
        if passed > MOST_PASSES:
            raise UndefinedName(loop)
        for path, *more in loops[loop]:
            if path in loops:
                count, *guard = more
                if guard and not decided(guard[0], scope):
                    continue
                for number in range(min(scope.whole(count), MOST_PASSES)):
                    scope.passes[f"i{depth}"] = number
                    yield from visit(path, depth + 1)
                scope.passes.pop(f"i{depth}", None)
            else:
                kind, sizes, *guard = more
                if not guard or decided(guard[0], scope):
                    yield Tensor(path, kind, tuple(map(scope.whole, sizes)))

    yield from visit("", 0)


def decided(tree: Any, scope: ConfigScope) -> Any:
    """Return what the decisions of a tree lead to: nested [expression, if true, if false]."""
    while isinstance(tree, list):
        expression, yes, no = tree
        tree = yes if scope.value(expression) else no
    return tree


def parameters_of(structure: Mapping[str, Any], scope: ConfigScope) -> int:
    return sum(tensor.elements for tensor in tensors_of(structure, scope))
