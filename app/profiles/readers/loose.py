"""Configurations as people keep them: with comments, trailing commas, as printed by Python."""

from __future__ import annotations

import ast
import re

from app.errors import AppError
from app.profiles.documents import check_depth, parse_json

MOST_LITERAL = 1_000_000
"""Longest Python literal read. [characters]"""
_PRINTED = re.compile(r"^\s*[A-Z]\w*Config\s*(?=\{)")
_STRING = r'"(?:[^"\\]|\\.)*+"'
_COMMENTS = re.compile(_STRING + r"|//[^\n]*+|/\*.*?\*/|(?m:^[ \t]*+#[^\n]*+)", re.DOTALL)
_COMMAS = re.compile(_STRING + r"|,(?=\s*+[}\]])")


def parse_config(name: str, text: str) -> object:
    r"""Return the value of a configuration: JSON, else JSON with comments, else a literal of Python.

    >>> parse_config("config.json", 'LlamaConfig {"hidden_size": 8, // wide\\n}')
    {'hidden_size': 8}
    >>> parse_config("config.txt", "{'hidden_act': 'silu', 'head_dim': None}")
    {'hidden_act': 'silu', 'head_dim': None}
    """
    text = _PRINTED.sub("", text.lstrip("\ufeff"), count=1)
    try:
        return parse_json(name, text, infinite=True)
    except AppError as error:
        plain = text
        for pattern in (_COMMENTS, _COMMAS):
            plain = pattern.sub(lambda piece: piece[0] if piece[0].startswith('"') else "", plain)
        if plain != text:
            return parse_json(name, plain, infinite=True)
        value = _literal(text)
        if value is None:
            raise error
        check_depth(name, value)
        return value


def _literal(text: str) -> object | None:
    """Return a dictionary that Python printed; it is read as data, never run."""
    if not text.lstrip().startswith("{'") or len(text) > MOST_LITERAL:
        return None
    try:
        value: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None
