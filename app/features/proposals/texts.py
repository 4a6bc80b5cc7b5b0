"""Sections of a proposal in their order, with the texts of the author or the templates."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping, Sequence

from app.errors import BadInput, Message
from app.estimating.documents import Text
from app.features.proposals.figures_in_texts import OTHER_FIGURES, other_figures
from app.features.proposals.model import SECTIONS, ProposalContent, ProposalWarning, SectionInput
from app.platform.wording.voice import folder

TEMPLATES = "proposal_texts.csv"

FIRST = SECTIONS[0]


@functools.cache
def templates(language: str, supply: str = "") -> Mapping[str, str]:
    """Return the default texts of sections, one paragraph per line; of one kind of supply, or of both."""
    with (folder() / TEMPLATES).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if not supply or row["supply"] in ("", supply)]
    names = dict.fromkeys(row["section"] for row in rows)
    return {name: "\n".join(row[language] for row in rows if row["section"] == name) for name in names}


SUPPLIES = ("owned", "rented", "")
"""Kinds of supply that the templates tell apart; the last stands for several options."""


def supply_of(content: ProposalContent) -> str:
    """Return whether what is offered is bought or rented; empty where that is left to the customer."""
    option = content.decided(content.advice.recommended)
    if option is None:
        return ""
    return "rented" if option.idle_share is None else "owned"


def sections_of(
    requested: Sequence[SectionInput], language: str, reason: str | None, supply: str
) -> list[SectionInput]:
    """Return every section in its order, with its text; the summary comes first and is always shown.

    The reason of the proposal is the default text of “reasons”.
    """
    names = [section.id for section in requested]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise BadInput.at(f"sections.{position}.id", "“{name}” is named twice", name=name)
    defaults = {**templates(language, supply), "reasons": reason or ""}
    missing = [SectionInput.model_validate({"id": name}) for name in SECTIONS if name not in names]
    return [
        SectionInput(
            id=section.id,
            shown=section.shown or section.id == FIRST,
            text=defaults.get(section.id, "") if section.text is None else section.text.strip(),
        )
        for section in sorted([*requested, *missing], key=lambda section: section.id != FIRST)
    ]


def contradictions(sections: Sequence[SectionInput], content: ProposalContent) -> Iterator[ProposalWarning]:
    """Yield a warning for every text of the author that names another option and not the recommended one,
    and for every figure in it that is not of the decision.
    """
    recommended, labels = content.advice.recommended, [row.label for row in content.comparison.rows]
    for section in sections:
        own = own_text(section.id, section.text or "", content.locale) if section.shown else None
        if own is None or recommended is None:
            continue
        for what, stated, known in other_figures(own, content):
            values = {"section": section.id, "stated": stated, "known": known}
            other = Message(OTHER_FIGURES[what].template, values)
            yield ProposalWarning(code=CONTRADICTION, severity="caution", text=Text.of(other), options=[])
        named = [label for label in labels if label in own]
        if not named or recommended in own:
            continue
        message = Message(
            "the text of “{section}” names {named}, but {recommended} is recommended",
            {"section": section.id, "named": ", ".join(named), "recommended": recommended},
        )
        yield ProposalWarning(code=CONTRADICTION, severity="caution", text=Text.of(message), options=named)


CONTRADICTION = "text_contradicts_decision"
"""Code of a warning to the author, which no customer sees."""


def with_sections(content: ProposalContent, sections: list[SectionInput]) -> ProposalContent:
    """Return a content with other sections, and the warnings about their texts."""
    kept = [warning for warning in content.warnings if warning.code != CONTRADICTION]
    found = contradictions(sections, content)
    update = {"sections": sections, "reason": reason_in(sections), "warnings": [*kept, *found]}
    return content.model_copy(update=update)


def reason_in(sections: Sequence[SectionInput]) -> str | None:
    return next((section.text for section in sections if section.id == "reasons" and section.text), None)


def without_hidden_texts(content: ProposalContent) -> ProposalContent:
    """Return a content without the texts of hidden sections."""
    if not content.sections:
        return content
    sections = [
        section if section.shown else section.model_copy(update={"text": ""}) for section in content.sections
    ]
    return content.model_copy(update={"sections": sections, "reason": reason_in(sections)})


def own_text(name: str, text: str, language: str) -> str | None:
    """Return the text of a section; None if it is that of the template."""
    plain = "\n".join(line.strip() for line in text.strip().splitlines() if line.strip())
    known = {templates(language, supply).get(name) for supply in SUPPLIES}
    return None if plain in known else plain
