"""The base of documents, and the texts of their fields in the description of the API."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, JsonValue, computed_field
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described(BaseModel):
    """Base of models whose schemas describe fields by the texts below them."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of a model with the texts put in where fields have no description."""
        made = handler(core)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        for name, text in field_texts(cls).items():
            known = properties.get(cls.model_fields[name].alias or name)
            if known is not None:
                known.setdefault("description", text)
        return made


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the text below each field of a model, of its own or of one it is made from."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        texts = texts_of_module(one.__module__).get(one.__name__, {})
        for name in model.model_fields.keys() & inspect.get_annotations(one).keys():
            found.pop(name, None)
            if name in texts:
                found[name] = texts[name]
    return found


@functools.cache
def texts_of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts below the attributes of every class of a module."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None:
        return {}
    classes = ast.parse(Path(path).read_text(encoding="utf-8")).body
    return {one.name: texts_of_class(one) for one in classes if isinstance(one, ast.ClassDef)}


def texts_of_class(made: ast.ClassDef) -> dict[str, str]:
    """Return the texts below the attributes of a class."""
    found: dict[str, str] = {}
    for field, below in zip(made.body, made.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[field.target.id] = inspect.cleandoc(str(below.value.value))
    return found


class Document(Described):
    """Base of every answer."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null", defer_build=True)


DEPRECATED: dict[str, JsonValue] = {"deprecated": True}
"""Of a field that is answered under another name as well, and goes with the next version."""


class Labelled(Document):
    """A document whose label is its name."""

    @computed_field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])  # type: ignore[prop-decorator]
    @property
    def name(self) -> str:
        return str(self.__dict__["label"])


class Titled(Document):
    """A document whose title is its name."""

    @computed_field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])  # type: ignore[prop-decorator]
    @property
    def name(self) -> str:
        return str(self.__dict__["title"])


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
