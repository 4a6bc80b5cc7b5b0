"""Calls: what is asked of which address and how the answer is read, before anything is sent.

A method of an operations class only describes its call; :class:`Operation` turns it into one that sends it
and waits, or that is awaited, by the kind of client. So there is one description of each operation, and no
second copy for the other kind.
"""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeAlias, TypeVar, overload
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from app.estimating.request import Schema

API = "/api/v1"

P = ParamSpec("P")

T = TypeVar("T")

T_co = TypeVar("T_co", covariant=True)

Model = TypeVar("Model", bound=BaseModel)

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
        """Return a file of this machine."""
        return cls(Path(path).name, Path(path).read_bytes())


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """One request that can be sent, and sent again."""

    method: str
    path: str
    read: Callable[[httpx.Response], T_co]
    """Reads the answer of a success."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Schema | Given | None = None
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
    """How often it was sent."""


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
    query = {**call.query, "fields": ",".join(fields) or None, "view": view}
    return replace(call, query=query, read=lambda response: dict(response.json()))


class Bound(Generic[P, T]):
    """An operation of a client that waits."""

    def __init__(self, client: WaitingClient, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._client, self._build = client, build
        self.__doc__, self.__name__ = build.__doc__, build.__name__

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


class AsyncBound(Generic[P, T]):
    """An operation of a client that does not wait."""

    def __init__(self, client: AwaitedClient, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._client, self._build = client, build
        self.__doc__, self.__name__ = build.__doc__, build.__name__

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
    """A description of a call as a method of both kinds of client."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.build = build
        self.__doc__, self.__name__ = build.__doc__, build.__name__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: WaitingClient, owner: type) -> Bound[P, T]: ...
    @overload
    def __get__(self, client: AwaitedClient, owner: type) -> AsyncBound[P, T]: ...
    def __get__(
        self, client: WaitingClient | AwaitedClient | None, owner: type
    ) -> Self | Bound[P, T] | AsyncBound[P, T]:
        """Return the operation of a client."""
        if client is None:
            return self
        if isinstance(client, AwaitedClient):
            return AsyncBound(client, self.build)
        return Bound(client, self.build)


def operation(build: Callable[Concatenate[Any, P], Call[T]]) -> Operation[P, T]:
    """Make a method that describes a call into one that sends it."""
    return Operation(build)


def address(*parts: str) -> str:
    """Return a path under the API; identifiers are quoted, so that none can lead elsewhere.

    >>> address("estimates", "est_a/../b")
    '/api/v1/estimates/est_a%2F..%2Fb'
    """
    for part in parts:
        if part in {"", ".", ".."}:
            raise ValueError("an identifier must not be empty or consist of dots")
    return "/".join((API, *(quote(part, safe="") for part in parts)))


def document(kind: type[Model]) -> Callable[[httpx.Response], Model]:
    """Return what reads an answer as a document; fields it does not know are passed over."""

    def read(response: httpx.Response) -> Model:
        return kind.model_validate_json(response.content)

    return read


def content(response: httpx.Response) -> bytes:
    """Read an answer that is a file."""
    return response.content


def text(response: httpx.Response) -> str:
    """Read an answer that is text."""
    return response.text


def nothing(response: httpx.Response) -> None:
    """Read an answer that says no more than that it was done."""


def get(path: str, read: Callable[[httpx.Response], T], **query: Any) -> Call[T]:
    """Describe a call that reads."""
    return Call("GET", path, read, query=query, repeatable=True)


def compute(path: str, read: Callable[[httpx.Response], T], body: Schema | Given) -> Call[T]:
    """Describe a call that computes and stores nothing."""
    return Call("POST", path, read, body=body, repeatable=True)


def store(
    path: str, read: Callable[[httpx.Response], T], body: Schema | Given | File, key: str | None, **form: Any
) -> Call[T]:
    """Describe a call that stores, once however often it is sent; a file goes with the fields of a form."""
    if isinstance(body, File):
        fields = {name: str(value) for name, value in form.items() if value is not None}
        return Call("POST", path, read, file=body, form=fields, key=key, keyed=True)
    return Call("POST", path, read, body=body, key=key, keyed=True)


def change(
    method: str, path: str, read: Callable[[httpx.Response], T], body: Schema | Given, tag: str | None
) -> Call[T]:
    """Describe a call that changes a document; with an ETag, only the version that has it."""
    return Call(method, path, read, body=body, headers={} if tag is None else {"If-Match": tag})


def delete(path: str, tag: str | None = None) -> Call[None]:
    """Describe a call that takes something away; with an ETag, only the version that has it."""
    return Call("DELETE", path, nothing, headers={} if tag is None else {"If-Match": tag}, repeatable=True)
