"""The sections of a proposal in their order, with the texts of their author or of the templates."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping, Sequence

from app.errors import BadInput
from app.features.proposals.model import SECTIONS, ProposalContent, SectionInput
from app.platform.wording.voice import folder

TEMPLATES = "proposal_texts.csv"

FIRST = SECTIONS[0]


@functools.cache
def templates(language: str) -> Mapping[str, str]:
    """Return what sections say where their author writes nothing, a paragraph on each line."""
    with (folder() / TEMPLATES).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = dict.fromkeys(row["section"] for row in rows)
    return {name: "\n".join(row[language] for row in rows if row["section"] == name) for name in names}


def sections_of(asked: Sequence[SectionInput], language: str, reason: str | None) -> list[SectionInput]:
    """Return every section in its order, with its text; the summary comes first and is always shown.

    The reason that a proposal states beside its sections is the text of “reasons”, unless that has its own.
    """
    named = [one.id for one in asked]
    for position, name in enumerate(named):
        if name in named[:position]:
            raise BadInput.at(f"sections.{position}.id", "“{name}” is named twice", name=name)
    usual = {**templates(language), "reasons": reason or ""}
    missing = [SectionInput.model_validate({"id": name}) for name in SECTIONS if name not in named]
    ordered = sorted([*asked, *missing], key=lambda one: one.id != FIRST)
    return [
        SectionInput(
            id=one.id,
            shown=one.shown or one.id == FIRST,
            text=usual.get(one.id, "") if one.text is None else one.text.strip(),
        )
        for one in ordered
    ]


def reason_in(sections: Sequence[SectionInput]) -> str | None:
    return next((one.text for one in sections if one.id == "reasons" and one.text), None)


def silenced(content: ProposalContent) -> ProposalContent:
    """Return a content without what its author has written into sections that are left out."""
    if not content.sections:
        return content
    sections = [one if one.shown else one.model_copy(update={"text": ""}) for one in content.sections]
    return content.model_copy(update={"sections": sections, "reason": reason_in(sections)})


def own_text(name: str, text: str, language: str) -> str | None:
    """Return the text that an author gave a section; None where it is that of the template."""
    plain = "\n".join(line.strip() for line in text.strip().splitlines() if line.strip())
    return None if plain == templates(language).get(name) else plain
