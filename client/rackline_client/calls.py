"""Calls: what is asked of which address and how the answer is read, before anything is sent.

A method of an operations class is a signature under its address; :class:`Operation` turns it into one that
sends its call and waits, or that is awaited, by the kind of client. So there is one description of each
operation, and no second copy for the other kind.
"""

from __future__ import annotations

import abc
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, wraps
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    get_type_hints,
    overload,
)
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter

from rackline_client.base import Request

API = "/api/v1"

P = ParamSpec("P")

T = TypeVar("T")

T_co = TypeVar("T_co", covariant=True)

Given: TypeAlias = Mapping[str, Any]
"""A request as plain values, where its class is not at hand."""

View: TypeAlias = Literal["full", "summary"]


@dataclass(frozen=True, slots=True)
class File:
    """A file to send."""

    name: str
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> File:
        return cls(Path(path).name, Path(path).read_bytes())


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """One request that can be sent, and sent again."""

    method: str
    path: str
    read: Callable[[httpx.Response], T_co]
    """Reads the answer of a success."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Request | Given | None = None
    file: File | None = None
    form: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    """Idempotency key the caller chose."""
    keyed: bool = False
    """Whether the server honours an idempotency key; one is made where the caller chose none."""
    repeatable: bool = False
    """Whether sending it twice does no more than sending it once, key or not."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """What was answered, with what stood around it."""

    value: T_co
    status: int
    tag: str | None
    """ETag, for ``tag`` of a method that changes the document."""
    attempts: int
    """Number of delivery attempts."""


class WaitingClient(abc.ABC):
    """A client whose operations wait for their answers."""

    @abc.abstractmethod
    def answer(self, call: Call[T]) -> Answer[T]:
        """Send a call and return its answer."""


class AwaitedClient(abc.ABC):
    """A client whose operations are awaited."""

    @abc.abstractmethod
    async def answer(self, call: Call[T]) -> Answer[T]:
        """Send a call and return its answer."""


def part_of(call: Call[Any], fields: Iterable[str], view: str) -> Call[dict[str, Any]]:
    """Describe a call that is answered in part, as plain values: no document may lack fields."""
    query = {**call.query, "fields": ",".join(fields) or None, "view": None if view == "full" else view}
    return replace(call, query=query, read=lambda response: dict(response.json()))


class BoundCall(Generic[P, T]):
    """An operation of a client that waits."""

    def __init__(self, client: WaitingClient, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._client, self._build = client, build
        self.__doc__, self.__name__ = build.__doc__, build.__name__
        self.__signature__ = signature_of(build)

    def __call__(self, *values: P.args, **named: P.kwargs) -> T:
        """Send it and return what is answered."""
        return self.answer(*values, **named).value

    def answer(self, *values: P.args, **named: P.kwargs) -> Answer[T]:
        """Send it and return what is answered with status and ETag."""
        return self._client.answer(self._build(self._client, *values, **named))

    def narrowed(self, *fields: str, view: View = "full") -> Callable[P, dict[str, Any]]:
        """Return what sends it and returns a part of the answer: its summary, named fields, or both."""

        def send(*values: P.args, **named: P.kwargs) -> dict[str, Any]:
            call = self._build(self._client, *values, **named)
            return self._client.answer(part_of(call, fields, view)).value

        return send


class AsyncBoundCall(Generic[P, T]):
    """An operation of a client that does not wait."""

    def __init__(self, client: AwaitedClient, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._client, self._build = client, build
        self.__doc__, self.__name__ = build.__doc__, build.__name__
        self.__signature__ = signature_of(build)

    async def __call__(self, *values: P.args, **named: P.kwargs) -> T:
        """Send it and return what is answered."""
        return (await self.answer(*values, **named)).value

    async def answer(self, *values: P.args, **named: P.kwargs) -> Answer[T]:
        """Send it and return what is answered with status and ETag."""
        return await self._client.answer(self._build(self._client, *values, **named))

    def narrowed(self, *fields: str, view: View = "full") -> Callable[P, Awaitable[dict[str, Any]]]:
        """Return what sends it and returns a part of the answer: its summary, named fields, or both."""

        async def send(*values: P.args, **named: P.kwargs) -> dict[str, Any]:
            call = self._build(self._client, *values, **named)
            return (await self._client.answer(part_of(call, fields, view))).value

        return send


class Operation(Generic[P, T]):
    """A call as a method of both kinds of client."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.build = build
        self.__doc__, self.__name__ = build.__doc__, build.__name__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: WaitingClient, owner: type) -> BoundCall[P, T]: ...
    @overload
    def __get__(self, client: AwaitedClient, owner: type) -> AsyncBoundCall[P, T]: ...
    def __get__(
        self, client: WaitingClient | AwaitedClient | None, owner: type
    ) -> Self | BoundCall[P, T] | AsyncBoundCall[P, T]:
        if client is None:
            return self
        if isinstance(client, AwaitedClient):
            return AsyncBoundCall(client, self.build)
        return BoundCall(client, self.build)


def operation(
    asked: str, *, repeatable: bool = False, form: bool = False
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Make a signature into the operation at an address: ``@operation("GET studies/{identifier}")``.

    What it takes under a name in the address goes there, ``key`` and ``tag`` into headers. Of what is left
    the first is the body where there may be one; the rest goes into the query, or with a file into its
    ``form``. What it returns says how the answer is read.
    """
    method, _, path = asked.partition(" ")
    stores = method == "POST" and not repeatable

    def declare(signature: Callable[Concatenate[Any, P], T]) -> Operation[P, T]:
        parameters = inspect.signature(signature)
        places = re.findall(r"{(\w+)}", path)
        free = [name for name in [*parameters.parameters][1:] if name not in {*places, "key", "tag"}]
        body_name = free.pop(0) if free and method in {"POST", "PUT", "PATCH"} else None
        read = cache(lambda: reader(answered(signature)))

        @wraps(signature)
        def build(client: Any, /, *values: P.args, **named: P.kwargs) -> Call[T]:
            given = parameters.bind(client, *values, **named)
            given.apply_defaults()
            taken = given.arguments
            body = None if body_name is None else taken[body_name] or {}
            if isinstance(body, Path):
                body = File.read(body)
            # What is left at its default is the server's to say.
            rest = {
                name: None if taken[name] == parameters.parameters[name].default else plain(taken[name])
                for name in free
            }
            if "asked" in free:
                rest = request_fields(taken["asked"])
            return Call(
                method,
                address(path, **{name: taken[name] for name in places}),
                read(),
                query={} if form else rest,
                body=None if isinstance(body, File) else body,
                file=body if isinstance(body, File) else None,
                form={name: str(value) for name, value in rest.items() if value is not None} if form else {},
                headers={"If-Match": taken["tag"]} if taken.get("tag") is not None else {},
                key=taken.get("key"),
                keyed=stores and "key" in parameters.parameters,
                repeatable=repeatable or method in {"GET", "DELETE"},
            )

        return Operation(build)

    return declare


@cache
def signature_of(build: Callable[..., Any]) -> inspect.Signature:
    """Return what an operation takes, for notebooks, which ask the object and not its type."""
    signature = inspect.signature(build)
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def request_fields(request: Request | Given | None) -> dict[str, Any]:
    return (
        request.model_dump(mode="json", exclude_unset=True)
        if isinstance(request, Request)
        else {**(request or {})}
    )


def address(path: str, **identifiers: str) -> str:
    """Return a path under the API, or from the root; identifiers are quoted, so that none leads elsewhere.

    >>> address("estimates/{identifier}", identifier="est_a/../b")
    '/api/v1/estimates/est_a%2F..%2Fb'
    """
    if {*identifiers.values()} & {"", ".", ".."}:
        raise ValueError("an identifier must not be empty or consist of dots")
    filled = path.format(**{name: quote(value, safe="") for name, value in identifiers.items()})
    return filled if filled.startswith("/") else f"{API}/{filled}"


def answered(signature: Callable[..., Any]) -> Any:
    """Return the class of what a method returns.

    Hundreds of classes are made when the first is needed: the client is imported in half the time.
    """
    from rackline_client import documents

    names = {**vars(documents), **signature.__globals__}
    return get_type_hints(signature, names, include_extras=True)["return"]


def reader(kind: Any) -> Callable[[httpx.Response], Any]:
    """Return what reads an answer: a file, text, or a document, of which unknown fields are passed over."""
    if kind is bytes:
        return lambda response: response.content
    if kind is str:
        return lambda response: response.text
    if kind is type(None):
        return lambda response: None
    document: TypeAdapter[Any] = TypeAdapter(kind)
    return lambda response: document.validate_json(response.content)
