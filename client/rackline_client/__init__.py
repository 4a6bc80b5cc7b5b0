"""A client of the JSON API for scripts and sales tooling, typed by the documents the server answers with.

::

    with Rackline("https://rackline.example.com") as rackline:
        estimate = rackline.create_estimate({"model": {"preset": "gpt3-175b"}, …})

:class:`Rackline` waits for its answers, those of :class:`AsyncRackline` are awaited. Both have the same
methods, one for every operation of the API and under its name there.
"""

from rackline_client.calls import Answer, File
from rackline_client.clients import AsyncRackline, Rackline
from rackline_client.problems import (
    BadAnswer,
    BadRequest,
    Conflicting,
    Forbidden,
    Invalid,
    Missing,
    Outdated,
    Overloaded,
    ProblemError,
    ProblemField,
    RacklineError,
    ServerFault,
    StillRunning,
    TooBig,
    Unauthorized,
    Unreachable,
)
from rackline_client.retries import Retries

__all__ = [
    "Answer",
    "AsyncRackline",
    "BadAnswer",
    "BadRequest",
    "Conflicting",
    "File",
    "Forbidden",
    "Invalid",
    "Missing",
    "Outdated",
    "Overloaded",
    "ProblemError",
    "ProblemField",
    "Rackline",
    "RacklineError",
    "Retries",
    "ServerFault",
    "StillRunning",
    "TooBig",
    "Unauthorized",
    "Unreachable",
]
