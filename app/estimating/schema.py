"""The base of documents, and the texts of their fields in the description of the API."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class DocumentedModel(BaseModel):
    """Base of models whose JSON schemas take field descriptions from the docstrings below the fields."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema with descriptions added to the fields that have none."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in field_texts(cls).items():
            field = properties.get(cls.model_fields[name].alias or name)
            if field is not None:
                field.setdefault("description", text)
        return schema


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field of a model, its own or inherited."""
    result: dict[str, str] = {}
    for base in reversed(model.__mro__):
        texts = texts_of_module(base.__module__).get(base.__name__)
        if texts is None:
            # A class that is not written down, but made of another, says what that one does.
            continue
        for name in model.model_fields.keys() & inspect.get_annotations(base).keys():
            result.pop(name, None)
            if name in texts:
                result[name] = texts[name]
    return result


@functools.cache
def texts_of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of the fields of every class of a module."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None:
        return {}
    classes = ast.parse(Path(path).read_text(encoding="utf-8")).body
    return {node.name: texts_of_class(node) for node in classes if isinstance(node, ast.ClassDef)}


def texts_of_class(definition: ast.ClassDef) -> dict[str, str]:
    texts: dict[str, str] = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = " ".join(str(below.value.value).split())
    return texts


class Document(DocumentedModel):
    """Base of every answer."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null", defer_build=True)


Item = TypeVar("Item", bound=Document)


def filled(kind: type[Item], source: object, /, **more: Any) -> Item:
    """Return a document of the fields that a row has under the same names, and of more."""
    same = {
        name: getattr(source, name)
        for name in kind.model_fields
        if name not in more and hasattr(source, name)
    }
    return kind(**same, **more)


class Quantity(Document):
    """A value with its 80 % interval and unit; low and high are equal to the value if it is exact."""

    value: float
    """Central value."""
    low: float
    """10th percentile."""
    high: float
    """90th percentile."""
    unit: str
    """SI unit, or a currency's code."""

    @classmethod
    def exact(cls, value: float, unit: str) -> Quantity:
        return cls(value=value, low=value, high=value, unit=unit)


class SourceRef(Document):
    """Source of a figure."""

    id: str
    """Identifier."""
    kind: str
    """Kind of source, by reliability: datasheet, benchmark, paper, press, vendor, customer or
    estimate.
    """
    title: str
    """Title."""
    publisher: str
    """Publisher."""
    published: str
    """Date of publication; can be empty."""
    url: str
    """URL; can be empty."""
