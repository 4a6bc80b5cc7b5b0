"""What the pages of what is kept, and of its end, are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.sizing.kept.documents import UploadSummary
from app.web.contexts import BasePage


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadsPage(BasePage):
    """What was uploaded."""

    models: Sequence[UploadSummary]
    samples: Sequence[UploadSummary]
    more_models: str
    """Address of older models; empty at the end."""
    more_samples: str
    """Address of older samples; empty at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePage(BasePage):
    """The question whether something is really to be deleted."""

    title: Message
    name: str
    consequences: Sequence[Message]
    action: str
    """Where the answer goes."""
    back: str
    """Where somebody goes who thinks better of it."""
    refused: Message | None = None
    """Why it was not deleted."""
