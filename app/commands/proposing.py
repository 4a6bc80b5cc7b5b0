"""``rackline proposal``: make a proposal, freeze it, and fetch its files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from app.commands.asking import KeyFile, Lang, ServerUrl, indented, say, session
from app.commands.inputs import AsJson, Force, body_of, check_free, write_file
from app.commands.option_text import proposal_text
from app.errors import BadInput
from app.features.proposals.model import Proposal

IDENTIFIER = re.compile(r"prp_[a-z2-9]{16}")

ENDINGS = (".pdf", ".xlsx", ".csv", ".json")

cli = typer.Typer(rich_markup_mode=None)


@cli.command("proposal")
def proposal_command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="REQUEST.json|ID",
            help="Request file that names a study or comparison (- reads standard input), or the identifier "
            "of a proposal.",
        ),
    ],
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Freeze it: content and document can never change again.")
    ] = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write its file: .pdf, .xlsx, .csv or .json; can be repeated."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    server: ServerUrl = None,
    key_file: KeyFile = None,
    lang: Lang = None,
) -> None:
    """Make a proposal from a study or a comparison, or take one; exits with 1 if it recommends nothing."""
    files = out or []
    for path in files:
        if path.suffix.lower() not in ENDINGS:
            raise BadInput.at("--out", "the file must end in .pdf, .xlsx, .csv or .json")
        check_free("--out", path, force=force)
    known = IDENTIFIER.fullmatch(str(source))
    body = b"" if known else body_of(source)
    with session(server, key_file, lang) as api:
        answer = api.get(f"proposals/{source}") if known else api.post("proposals", body)
        address = f"proposals/{answer['id']}"
        if freeze:
            api.post(f"{address}/freeze")
            answer = api.get(address)
        for path in files:
            kind = path.suffix.lower()
            data = (
                indented(api.get(f"{address}.json")).encode()
                if kind == ".json"
                else api.call("GET", f"{address}{kind}").content
            )
            write_file("--out", path, data)
    say(answer, Proposal, proposal_text, as_json, lang, lambda proposal: bool(proposal.content.offered))
