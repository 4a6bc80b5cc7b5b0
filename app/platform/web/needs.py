"""What a route asks of who comes, said beside it: a right, and how much work it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from app.platform.rates import CostClass


class Right(StrEnum):
    """What an address asks of who comes."""

    READ = "read"
    """Look at what is there."""
    ASK = "ask"
    """Have something computed of which nothing is kept."""
    MAKE = "make"
    """Keep something new, or change what is kept."""
    PROPOSE = "propose"
    """Make, freeze and share what a customer is given."""
    MANAGE = "manage"
    """Decide on people, keys and webhooks, and read who did what."""
    OWN = "own"
    """What concerns nobody but the person who asks: password, second factor, sessions."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a route asks of who comes, and how much work it is."""

    right: Right | None
    """None where the method says it: who may read may GET."""
    cost: CostClass | None
    """None for what is usual: reading for a GET of the API, else an estimate."""


Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


def needs(right: Right | None = None, cost: CostClass | None = None) -> Callable[[Endpoint], Endpoint]:
    """Say of a route which right it needs, unless it only reads, and whether it takes long."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, MARK, Needs(right, cost))
        return endpoint

    return mark


MARK = "__needs__"


def needs_of(endpoint: object) -> Needs:
    """Return what was said of a route."""
    found: Needs = getattr(endpoint, MARK, Needs(None, None))
    return found


def right_of(method: str, endpoint: object) -> Right | None:
    """Return the right that a route needs; None where nobody may, since nothing was said of it."""
    stated = needs_of(endpoint).right
    return Right.READ if stated is None and method in {"GET", "HEAD"} else stated
