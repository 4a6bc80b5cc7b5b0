"""Less of an answer: its summary, or the fields that were named.

A route that offers it depends on a :class:`Narrowing`, which reads the query; what is not wanted is taken
out of the answer by the class of the route, before its ETag is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from fastapi import Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.errors import BadInput

Tree: TypeAlias = Mapping[str, "Tree"]
"""Fields that are kept, and what of each; all of it where nothing stands below."""

FieldsQuery = Annotated[
    str | None,
    Query(
        max_length=2000,
        description="Fields to return, comma-separated; use a dot for nested fields. With "
        "“view=summary”, additional fields. In a list, fields of its items.",
        examples=["id,time_to_train,cost.run"],
    ),
]

ViewQuery = Annotated[
    Literal["full", "summary"],
    Query(
        description="“summary” omits how the figures were derived: trace, lines, sources, competing figures."
    ),
]


class Narrowing:
    """What a route depends on whose answer may be had in part."""

    def __init__(self, kind: type[BaseModel], *summary: str, within: str = "") -> None:
        self.kind = kind
        self.summary = summary
        self.within = within
        """Field of the answer whose items are narrowed; empty where the answer itself is."""

    async def __call__(self, request: Request, fields: FieldsQuery = None, view: ViewQuery = "full") -> None:
        """Note what is wanted for :func:`narrowed`."""
        asked = [name.strip() for name in (fields or "").split(",") if name.strip()]
        for path in asked:
            self.check(path)
        if view == "summary":
            asked += self.summary
        if asked:
            tree = tree_of(asked)
            # Whoever reads a part of a list goes on with the next.
            request.state.narrowed = {"next": {}, **({self.within: tree} if self.within else tree)}

    def check(self, path: str) -> None:
        """Refuse a field that no answer of this kind has."""
        known = {self.kind}
        for name in path.split("."):
            here = {field: kind for one in known for field, kind in types(one)}
            if here and name not in here:
                raise BadInput.at(
                    "fields",
                    "{value} does not exist; allowed: {known}",
                    value=f"“{path[:60]}”",
                    known=", ".join(here),
                )
            known = set(models(here.get(name)))


def types(kind: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Give the fields of a document with their types."""
    return ((name, field.annotation) for name, field in kind.model_fields.items())


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Give the documents that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models(part)


def tree_of(paths: Iterable[str]) -> Tree:
    """Return paths as a tree; a field that is wanted whole keeps all of its parts.

    >>> tree_of(["cost.run", "id", "cost.hourly"]), tree_of(["cost", "cost.run"])
    ({'cost': {'run': {}, 'hourly': {}}, 'id': {}}, {'cost': {}})
    """
    below: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition(".")
        below.setdefault(name, []).append(rest)
    return {name: {} if "" in parts else tree_of(parts) for name, parts in below.items()}


def pruned(value: Any, tree: Tree) -> Any:
    """Return what a tree keeps of a value."""
    if isinstance(value, list):
        return [pruned(item, tree) for item in value]
    if not tree or not isinstance(value, dict):
        return value
    return {name: pruned(part, tree[name]) for name, part in value.items() if name in tree}


def narrowed(request: Request, response: Response) -> Response:
    """Return an answer with what was asked for of it."""
    tree: Tree | None = getattr(request.state, "narrowed", None)
    if tree is not None and response.status_code < 300:
        kept = pruned(json.loads(bytes(response.body)), tree)
        response.body = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
        response.headers["Content-Length"] = str(len(response.body))
    return response
