"""Errors and messages, the layer above the engine.

::

    AppError                       base; carries a Message and the fields it concerns
    ├── BadInput        400        right type, but out of range, non-finite or contradictory
    ├── Unprocessable   422        missing, unknown or wrongly typed field
    ├── SignInRequired  401        nobody known asks; sign in or send a key
    ├── NotFound        404        unknown identifier; names the close ones
    ├── Conflict        409        more devices asked for than exist, impossible partition, frozen
    │   └── VersionConflict 409    changed by somebody else since it was read
    ├── Stale           412        the same, where If-Match names the version that was read
    ├── TooLarge        413        larger than a stated limit
    ├── TooMany         429        asked too often; says when to ask again
    ├── Unavailable     503        database or disk cannot be used now; says when to ask again
    └── CatalogError    500        data/ is wrong; raised by the loader at start-up, never later

A :class:`Message` keeps its English template and its values apart, so that the page, the API
and the PDF can say the same thing in the reader's language and number format.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Self

from app.engine.errors import EngineError, TooManyPlans


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence with named places: ``Message("{needed} devices needed", {"needed": 320})``.

    The template is the gettext key. Values are strings, numbers or nested messages.
    """

    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template.format(**{name: plain(value) for name, value in self.values.items()})


def plain(value: object) -> str:
    """Write a value of a message in English without a locale: numbers in at most six digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.6g}"


def path(dotted: str) -> str:
    """Return the path of a field with places of lists in brackets.

    >>> path("model.layers.0.kind"), path("plan.tensor")
    ('model.layers[0].kind', 'plan.tensor')
    """
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", dotted)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field: its dotted path in the request and what to do about it."""

    field: str
    message: Message
    slug: str = ""
    """Kind of the error that it was found with, where that is told of with errors of other kinds."""


class AppError(Exception):
    """Base of everything Rackline raises on purpose."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "error"
    """Last part of the problem's ``type``, which programs compare: it stays when the title is reworded."""
    title: ClassVar[str] = "Error"

    def __init__(self, message: Message | str, errors: Iterable[FieldError] = ()) -> None:
        self.message = message if isinstance(message, Message) else Message(message)
        self.errors = tuple(errors)
        super().__init__(str(self.message))


@contextmanager
def fields_at(place: Callable[[str], str]) -> Iterator[None]:
    """Say what a field that is found wrong is called; a fault of no field has the empty name."""
    try:
        with engine_errors():
            yield
    except AppError as error:
        faults = error.errors or (FieldError("", error.message),)
        error.errors = tuple(FieldError(place(fault.field), fault.message) for fault in faults)
        raise


def with_errors(error: AppError, others: Iterable[AppError]) -> AppError:
    """Return an error with what else is wrong, each field once, as the kind that is looked at first."""
    errors = [error, *others]
    fields: dict[str, FieldError] = {}
    for failure in errors:
        for fault in failure.errors:
            fields.setdefault(fault.field, FieldError(fault.field, fault.message, fault.slug or failure.slug))
    if len(fields) <= len(error.errors):
        return error
    kind = min(
        (type(failure) for failure in errors if failure.errors),
        key=lambda failure: ORDER.get(failure.status, len(ORDER)),
    )
    return kind(error.message if len(fields) == 1 else several_invalid(len(fields)), fields.values())


def refuse(faults: Iterable[AppError]) -> None:
    """Raise all that is wrong as one error."""
    errors = list(faults)
    if errors:
        raise with_errors(errors[0], errors[1:])


def several_invalid(count: int) -> Message:
    return Message("{count} fields are invalid", {"count": count})


ORDER = {422: 0, 400: 1, 404: 2, 409: 3}
"""Which of several faults gives the status: what a request is made of is read before what it means."""


class BadInput(AppError):
    """A value of the right type that can never be right."""

    status = 400
    slug = "bad-input"
    title = "Invalid input"

    @classmethod
    def at(cls, field_name: str, template: str, **values: object) -> BadInput:
        """Return the error for one field."""
        message = Message(template, values)
        return cls(message, [FieldError(field_name, message)])


def check_between(field_name: str, value: float, least: float, most: float) -> None:
    """Refuse a number outside of what makes sense, the ends included."""
    if not least <= value <= most:
        raise BadInput.at(
            field_name, "must be between {least} and {most}, not {value}", least=least, most=most, value=value
        )


def need(module: str, extra: str) -> None:
    """Refuse what takes a package that is not installed, and say which extra brings it."""
    if importlib.util.find_spec(module) is None:
        raise BadInput(
            Message(
                "this needs the extra “{extra}”: pip install 'rackline[{extra}]'",
                {"extra": extra},
            )
        )


class Unprocessable(BadInput):
    """A missing, unknown or wrongly typed field."""

    status = 422
    slug = "unprocessable-input"
    title = "Unprocessable input"


class SignInRequired(AppError):
    """Nobody known asks for what only members get."""

    status = 401
    slug = "sign-in-needed"
    title = "Sign-in required"


DRAWN = re.compile(r"[a-z]{3}_[a-z2-9]{16}")
"""Identifiers drawn at random, which resemble one another by chance alone."""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the names that are closest to one, the closest first; all of them where none is close.

    >>> nearest("DGX A100", ["a100-sxm", "dgx-a100-320gb", "dgx-a100-640gb", "dgx-h100"])
    ['dgx-a100-320gb', 'dgx-a100-640gb']
    >>> nearest("dgx-a10", ["bow-pod16", "dgx-h100"]), nearest("x", ["bow-pod16", "dgx-h100"])
    (['dgx-h100'], ['bow-pod16', 'dgx-h100'])
    """
    names, spelling = sorted(known), spelled(name)
    # What begins as the name does is closer than what differs from it in a letter.
    longer = [
        known_name for known_name in names if len(spelling) > 2 and spelled(known_name).startswith(spelling)
    ]
    if longer or DRAWN.fullmatch(name):
        return longer or names
    close = difflib.get_close_matches(
        spelling, {spelled(known_name) for known_name in names}, n=3, cutoff=0.5
    )
    return [
        known_name for likeness in close for known_name in names if spelled(known_name) == likeness
    ] or names


def spelled(name: str) -> str:
    """Return a name as identifiers are written: people write capitals and spaces.

    >>> spelled("DGX A100")
    'dgx-a100'
    """
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")


MOST_MEANT = 8
"""Most identifiers that are offered for one name."""


class NotFound(AppError):
    """An identifier nobody knows; the message offers the close ones."""

    status = 404
    slug = "not-found"
    title = "Not found"

    @classmethod
    def named(
        cls, kind: str, name: str, known: Iterable[str], field_name: str = "", meant: Sequence[str] = ()
    ) -> NotFound:
        """Return the error for an unknown identifier, with those it can mean, else the nearest ones."""
        if len(meant) > 1:
            shown = {"name": name[:80], "names": ", ".join(meant[:MOST_MEANT])}
            several = Message("“{name}” can mean {names}; enter one of them", shown)
            return cls(several, [FieldError(field_name, several)] if field_name else [])
        close = nearest(name, known)[:3]
        values = {"kind": Message(kind), "name": name[:80]}
        message = (
            Message(
                "no {kind} is named “{name}”; closest matches: {close}", {**values, "close": ", ".join(close)}
            )
            if close
            else Message("no {kind} is named “{name}”; none exists yet", values)
        )
        return cls(message, [FieldError(field_name, message)] if field_name else [])


class Conflict(AppError):
    """What is asked for contradicts what is there."""

    status = 409
    slug = "conflict"
    title = "Conflict"

    @classmethod
    def at(cls, field_name: str, template: str, **values: object) -> Self:
        """Return the error for one field."""
        message = Message(template, values)
        return cls(message, [FieldError(field_name, message)])


class VersionConflict(Conflict):
    """Somebody else has changed it since it was read."""

    @classmethod
    def since(cls, expected: int, found: int) -> Self:
        template = "it has changed in the meantime (version {found}, not {expected}); reload it"
        return cls.at("If-Match", template, found=found, expected=expected)


class Stale(AppError):
    """The ETag in If-Match belongs to another version."""

    status = 412
    slug = "precondition-failed"
    title = "Precondition failed"


class TooLarge(AppError):
    """Larger than a limit, which the message states."""

    status = 413
    slug = "too-large"
    title = "Too large"


class TooMany(AppError):
    """Asked too often; says after how many seconds it may be asked again."""

    status = 429
    slug = "too-many-requests"
    title = "Too many requests"

    def __init__(
        self, message: Message | str, errors: Iterable[FieldError] = (), *, retry_after: int = 60
    ) -> None:
        super().__init__(message, errors)
        self.retry_after = retry_after


class Unavailable(AppError):
    """Something the server needs cannot be used now; says after how many seconds to ask again."""

    status = 503
    slug = "not-available-now"
    title = "Temporarily unavailable"

    def __init__(
        self, message: Message | str, errors: Iterable[FieldError] = (), *, retry_after: int = 5
    ) -> None:
        super().__init__(message, errors)
        self.retry_after = retry_after


class CatalogError(AppError):
    """The files in data/ are wrong."""

    status = 500
    slug = "catalogue-error"
    title = "Catalogue error"


def of_engine(error: EngineError) -> AppError:
    """Return what the engine refuses as an error with a status.

    >>> of_engine(TooManyPlans("more than {most} plans", field="plan", most=2)).errors[0].field
    'plan'
    """
    kind = TooLarge if isinstance(error, TooManyPlans) else BadInput
    message = Message(error.template, error.values)
    return kind(message, [FieldError(error.field, message)] if error.field else ())


@contextmanager
def engine_errors() -> Iterator[None]:
    """Raise what the engine refuses within as an error with a status."""
    try:
        yield
    except EngineError as error:
        raise of_engine(error) from error
