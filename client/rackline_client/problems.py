"""What goes wrong with a call: problems that the server states, and answers that never came.

::

    RacklineError
    ├── ProblemError            the server refused, and says why and for which fields
    │   ├── BadRequest     400
    │   ├── Unauthorized   401
    │   ├── Forbidden      403
    │   ├── Missing        404
    │   ├── Conflicting    409
    │   ├── Outdated       412
    │   ├── TooBig         413
    │   ├── Invalid        422
    │   ├── Overloaded     429
    │   └── ServerFault    5xx
    ├── Unreachable             no answer: no connection, or none in time
    ├── BadAnswer               an answer that is not what the API describes
    └── StillRunning            a job has not ended in the time it was given

None of them holds the request, and so none the key that was sent with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar

import httpx
from pydantic import BaseModel, ValidationError


class RacklineError(Exception):
    """Base of everything the client raises about a call."""


@dataclass(frozen=True, slots=True)
class ProblemField:
    """One wrong field: its dotted path in the request and what is wrong with it."""

    field: str
    message: str
    code: str = ""
    """Kind of fault, which stays when texts change."""


class ProblemError(RacklineError):
    """The server refused (RFC 9457)."""

    status_of: ClassVar[int | None] = None

    def __init__(
        self, status: int, title: str, detail: str, fields: tuple[ProblemField, ...] = (), kind: str = ""
    ) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.fields = fields
        self.kind = kind
        """Kind of problem, as the reference the server gives it: ``/problems/conflict``."""
        super().__init__(f"{status} {title}: {detail}" if detail else f"{status} {title}")


class BadRequest(ProblemError):
    """A value has the right type but is out of range, not finite or contradictory."""

    status_of = 400


class Unauthorized(ProblemError):
    """No key, or one nobody knows."""

    status_of = 401


class Forbidden(ProblemError):
    """The key may not do this."""

    status_of = 403


class Missing(ProblemError):
    """Nobody knows this identifier; the detail names close ones."""

    status_of = 404


class Conflicting(ProblemError):
    """More devices than exist, a frozen proposal, an edit conflict, or a key used for another body."""

    status_of = 409


class Outdated(ProblemError):
    """Somebody else has changed the document since its tag was read."""

    status_of = 412


class TooBig(ProblemError):
    """Larger than the server accepts."""

    status_of = 413


class Invalid(ProblemError):
    """A field is missing, unknown or of the wrong type."""

    status_of = 422


class Overloaded(ProblemError):
    """Asked too often, and still so after every attempt."""

    status_of = 429


class ServerFault(ProblemError):
    """A fault of the server's."""


class Unreachable(RacklineError):
    """No answer: no connection, or none in time."""


class BadAnswer(RacklineError):
    """An answer that is not what the API describes."""


class StillRunning(RacklineError):
    """A job has not ended in the time it was given."""


class _Field(BaseModel):
    field: str = ""
    code: str = ""
    message: str = ""


class _Problem(BaseModel):
    type: str = ""
    title: str = ""
    detail: str = ""
    errors: list[_Field] = []


BY_STATUS = {kind.status_of: kind for kind in ProblemError.__subclasses__() if kind.status_of is not None}


def problem_of(response: httpx.Response) -> ProblemError:
    """Return what a refusal says; one that does not come from Rackline itself says its status alone."""
    try:
        said = _Problem.model_validate_json(response.content)
    except ValidationError:
        said = _Problem()
    status = response.status_code
    fallback = ServerFault if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ProblemError
    fields = tuple(ProblemField(one.field, one.message, one.code) for one in said.errors)
    title = said.title or response.reason_phrase
    return BY_STATUS.get(status, fallback)(status, title, said.detail, fields, said.type)
