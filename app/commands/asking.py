"""Commands that answer a request, computed here or by the API of a server."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from app.commands.inputs import AsJson, RequestFile, body_of, read_request
from app.commands.text import NOTHING_FITS
from app.errors import BadInput, Message
from app.estimating.context import SizingContext, load_context
from app.platform.wording.lines import printed
from app.platform.wording.voice import Voice, voice
from app.profiles.presets import data_directory

if TYPE_CHECKING:
    from app.commands.remote import ApiSession

Asked = TypeVar("Asked", bound=BaseModel)

Answer = TypeVar("Answer", bound=BaseModel)

ServerUrl = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Ask this server instead of computing here.")
]

KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="File with the API key; default: RACKLINE_API_KEY."),
]

Save = Annotated[
    bool, typer.Option("--save", help="Store the answer in this machine's database, as the API does.")
]

Language = Literal["en", "ko"]

Lang = Annotated[
    Language | None, typer.Option("--lang", help="Language of text; default: that of the environment.")
]


def language_of(stated: Language | None) -> Language:
    """Return the stated language, else that of the environment (POSIX, 8.2), else English."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return stated or ("ko" if locale.startswith("ko") else "en")


QUESTIONS: dict[str, ApiQuestion[Any, Any]] = {}
"""Command → its question, for every loaded module."""


@dataclass(frozen=True, slots=True)
class ApiQuestion(Generic[Asked, Answer]):
    """A request and how to answer it: here, or by POST to the API."""

    path: str
    """Path of the API."""
    request: type[Asked]
    answer: type[Answer]
    compute: Callable[[Asked, SizingContext], Answer]
    text: Callable[[Answer, Voice], list[str]]
    holds: Callable[[Answer], bool] = lambda _: True
    """Whether the answer is positive; else the command exits with 1."""
    stores: bool = True
    """Whether the API can store the answer."""

    def command(self, cli: typer.Typer, name: str, about: str) -> None:
        QUESTIONS[name] = self

        def storing(
            request: RequestFile,
            as_json: AsJson = False,
            save: Save = False,
            server: ServerUrl = None,
            key_file: KeyFile = None,
            lang: Lang = None,
        ) -> None:
            check_key_file(server, key_file)
            if save or server is not None:
                body = body_of(request)
                with session(server, key_file, lang) as api:
                    answer = api.post(self.path, body)
            else:
                answer = self.compute(read_request(self.request, request), load_context(data_directory()))
            say(answer, self.answer, self.text, as_json, lang, self.holds)

        def stateless(
            request: RequestFile,
            as_json: AsJson = False,
            server: ServerUrl = None,
            key_file: KeyFile = None,
            lang: Lang = None,
        ) -> None:
            storing(request, as_json, False, server, key_file, lang)

        cli.command(name, help=about)(storing if self.stores else stateless)


def check_key_file(server: str | None, key_file: Path | None) -> None:
    if key_file is not None and server is None:
        raise BadInput.at("--key-file", "goes with --server; without it nothing is asked of a server")


@contextmanager
def session(server: str | None, key_file: Path | None, lang: Language | None) -> Iterator[ApiSession]:
    """Open the API of a server, or without one that of this machine's database."""
    check_key_file(server, key_file)
    # Few commands use the API, and its client takes a fifth of a second to load.
    from app.commands.remote import local_session, server_session

    language = language_of(lang)
    opened = local_session(language) if server is None else server_session(server, key_file, language)
    with opened as api:
        yield api


def say(
    answer: Any,
    kind: type[Answer],
    text: Callable[[Answer, Voice], list[str]],
    as_json: bool,
    lang: Language | None,
    holds: Callable[[Answer], bool] = lambda _: True,
) -> None:
    """Print an answer, a document or the JSON of a server; exit with 1 if it is negative."""
    document = understood(kind, answer)
    if as_json:
        typer.echo(document.model_dump_json(indent=2) if answer is document else indented(answer))
    else:
        typer.echo(printed(text(document, voice(language_of(lang)))))
    if not holds(document):
        raise typer.Exit(NOTHING_FITS)


def indented(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def understood(kind: type[Answer], answer: Any) -> Answer:
    """Return an answer as a document; refuse one of an incompatible version."""
    try:
        return answer if isinstance(answer, kind) else kind.model_validate(answer)
    except ValidationError:
        raise BadInput(
            Message("the server's answer has another form than this version knows; use the same version")
        ) from None


def stated_language() -> Language:
    """Return the language for messages outside of an answer."""
    stated = re.search(r" --lang[ =](en|ko)\b", " ".join(sys.argv))
    return language_of("ko" if stated and stated[1] == "ko" else "en" if stated else None)
