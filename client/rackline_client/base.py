"""What requests and answers are made of."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """Base of every answer; fields of a newer server are passed over."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class Request(BaseModel):
    """Base of every request; unknown fields are refused, so that no misspelt one is lost."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


Item = TypeVar("Item", bound=Document)


class Page(Document, Generic[Item]):
    """A stretch of a list."""

    items: list[Item]
    """Items, newest first; catalogue items in catalogue order."""
    next: str | None
    """Cursor of the next page; null on the last page."""
