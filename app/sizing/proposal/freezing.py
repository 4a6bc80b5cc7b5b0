"""Freezing: the canonical form of a content and its hash."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from app.sizing.proposal.documents import ProposalContent

LARGEST_EXACT = 2**53 - 1
"""Whole numbers beyond this have no form of their own in canonical JSON (RFC 8785, section 3.2.2.3)."""


def canonical(content: ProposalContent) -> bytes:
    """Return the canonical JSON of a content (RFC 8785): one form, whoever writes it."""
    return rfc8785.dumps(exact(content.model_dump(mode="json")))


def content_hash(content: ProposalContent) -> str:
    """Return the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(content)).hexdigest()


def exact(value: Any) -> Any:
    """Return a JSON value whose whole numbers all are doubles, as RFC 8785 reads every number."""
    if isinstance(value, dict):
        return {name: exact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [exact(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_EXACT:
        return float(value)
    return value
