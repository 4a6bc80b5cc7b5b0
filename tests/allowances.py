"""Other allowances than those of the settings, for as long as a test needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fastapi import FastAPI

from app.platform.rates import ClientKind, CostClass, Rates


@contextmanager
def allowed(app: FastAPI, quotas: Mapping[ClientKind, Mapping[CostClass, int]]) -> Iterator[None]:
    """Let an application grant so many requests a minute, counted anew."""
    before = app.state.rates
    app.state.rates = Rates(quotas)
    try:
        yield
    finally:
        app.state.rates = before
