"""The form of a proposal, converted to a request and filled from a draft."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.datastructures import FormData, UploadFile

from app.engine.units import HOUR
from app.errors import BadInput
from app.estimating.numbers import HOURS, MONEY, PERCENT, PLAIN, YEARS, measure, number_in
from app.features.proposals.conditions import Conditions
from app.features.proposals.model import Proposal, Sender
from app.features.proposals.service import LOGOS
from app.features.proposals.texts import own_text, sections_of, supply_of
from app.platform.web.forms import typed, whole

TEXTS = (
    *("customer", "title", "locale", "currency", "reason", "valid_until", "recommended", "price_book_id"),
    *("calibration_id", "kind"),
)

CONDITION_NUMBERS = {"vat_rate": PERCENT} | dict.fromkeys(
    ("lead_weeks", "installation_weeks", "acceptance_weeks"), PLAIN
)
"""Conditions that are numbers."""

NUMBERS = {"scaling_efficiency": PERCENT, "term_years": YEARS}

MAX_LOGO = 500_000

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}

TEXT = "text."


def request_body(form: FormData) -> dict[str, Any]:
    """Return a form as the body of a request; empty fields are null."""
    values = typed(form)
    first = {name: texts[0] for name, texts in values.items()}
    body: dict[str, Any] = {name: first.get(name) for name in TEXTS}
    kinds = {**NUMBERS, "budget": replace(MONEY, currency=first.get("currency", ""))}
    body |= {name: number_in(first[name], kinds[name], name) if name in first else None for name in kinds}
    deadline = first.get("deadline_h")
    body["deadline_s"] = None if deadline is None else measure(deadline, HOURS, "deadline_h").value
    if body["scaling_efficiency"] is None:
        body["scaling_efficiency"] = 1.0
    body["options"] = values.get("options")
    body["confidential"] = "confidential" in first
    body["branding"] = {"accent": first.get("accent"), "footer": first.get("footer")}
    for name in LOGOS:
        logo = uploaded_logo(form, name)
        if logo is not None or f"no_{name}" in first:
            body["branding"][name] = logo
    sender = {name: first.get(f"sender.{name}") for name in Sender.model_fields}
    body["sender"] = sender if any(sender.values()) else None
    conditions: dict[str, Any] = {name: first.get(f"conditions.{name}") for name in Conditions.model_fields}
    for name, kind in CONDITION_NUMBERS.items():
        written = conditions[name]
        conditions[name] = number_in(written, kind, f"conditions.{name}") if written else None
    stated = {name: value for name, value in conditions.items() if value is not None}
    body["conditions"] = stated or None
    if "left_out" in values:
        body["sections"] = [{"id": name, "shown": False} for name in values["left_out"]]
    if "no_networks" in first:
        body["fabric_choice"] = None
    return body


def version_of(values: Mapping[str, Sequence[str]]) -> int:
    version = whole(values.get("version", [""])[0])
    if version is None:
        raise BadInput.at("version", "the form is incomplete; open the proposal again")
    return version


def uploaded_logo(form: FormData, name: str) -> dict[str, str] | None:
    file = form.get(name)
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    ending = f".{file.filename.rpartition('.')[2].lower()}"
    if ending not in MEDIA_TYPES:
        raise BadInput.at(f"branding.{name}", "must be a PNG or an SVG")
    data = file.file.read(MAX_LOGO + 1)
    if len(data) > MAX_LOGO:
        raise BadInput.at(f"branding.{name}", "must be at most {most} bytes", most=MAX_LOGO)
    return {"media_type": MEDIA_TYPES[ending], "data": base64.b64encode(data).decode()}


def without_nulls(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: without_nulls(value) if name in {"branding", "sender"} else value
        for name, value in body.items()
        if value is not None
    }


def form_values(proposal: Proposal, labels: Sequence[str]) -> dict[str, list[str]]:
    content = proposal.content
    advice, sender = content.advice, content.sender.model_dump() if content.sender else {}
    fields: dict[str, str | None] = {
        "customer": content.customer,
        "title": content.title,
        "locale": content.locale,
        "currency": content.currency,
        "reason": content.reason,
        "valid_until": None if content.valid_until is None else content.valid_until.isoformat(),
        "recommended": advice.recommended if advice.recommended != advice.by_rule else None,
        "deadline_h": None if advice.deadline_s is None else f"{advice.deadline_s / HOUR:.6g}",
        "price_book_id": content.price_book_id,
        "calibration_id": calibration_of(proposal),
        "budget": None if advice.budget is None else f"{advice.budget:.12g}",
        "term_years": None if content.term is None else f"{content.term.years:.6g}",
        "scaling_efficiency": f"{100 * content.comparison.scaling_efficiency:.6g}",
        "confidential": "yes" if content.confidential else None,
        **{f"sender.{name}": value for name, value in sender.items()},
        "accent": content.branding.accent,
        "footer": content.branding.footer,
        "kind": content.kind,
        **{f"conditions.{name}": value for name, value in stated_conditions(content.conditions).items()},
    }
    filled = {name: [value] for name, value in fields.items() if value}
    return {**filled, "options": [row.label for row in content.comparison.rows if row.label in labels]}


def stated_conditions(conditions: Conditions | None) -> dict[str, str]:
    """Return the conditions of a draft as they are typed."""
    if conditions is None:
        return {}
    stated = conditions.model_dump(exclude_none=True)
    units = {name: kind.unit or 1.0 for name, kind in CONDITION_NUMBERS.items()}
    return {
        name: f"{value / units[name]:.6g}" if name in units else str(value) for name, value in stated.items()
    }


def section_texts(form: FormData) -> dict[str, str]:
    """Return the submitted texts of sections; an emptied one is an empty string."""
    return {
        name.removeprefix(TEXT): value.replace("\0", "")
        for name, value in form.multi_items()
        if name.startswith(TEXT) and isinstance(value, str)
    }


def edited_sections(
    proposal: Proposal, texts: Mapping[str, str], move: str, seen: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the sections of a draft with the submitted texts, and one of them moved or hidden.

    A section moves past its visible neighbour; sections that are empty and not visible are not counted.
    """
    content = proposal.content
    previous = content.sections or sections_of((), content.locale, content.reason, supply_of(content))
    sections: list[dict[str, Any]] = []
    for section in previous:
        text = own_text(section.id, texts.get(section.id, section.text or ""), content.locale)
        sections.append({"id": section.id, "shown": section.shown, "text": text})
    step, _, name = move.partition(" ")
    positions = {str(section["id"]): index for index, section in enumerate(sections)}
    if name not in seen:
        return sections
    if step in {"hide", "show"}:
        sections[positions[name]]["shown"] = step == "show"
    elif step in {"up", "down"}:
        # The summary stays first.
        turn = seen.index(name) + (-1 if step == "up" else 1)
        if 0 < turn < len(seen) and seen.index(name):
            sections.insert(positions[seen[turn]], sections.pop(positions[name]))
    return sections


def with_texts(proposal: Proposal, texts: Mapping[str, str]) -> Proposal:
    """Return a draft with texts that could not be saved, so that nothing entered is lost."""
    content = proposal.content
    sections = [s.model_copy(update={"text": texts.get(s.id, s.text)}) for s in content.sections]
    return proposal.model_copy(update={"content": content.model_copy(update={"sections": sections})})


def calibration_of(proposal: Proposal) -> str | None:
    evidence = proposal.content.evidence
    entries = () if evidence is None else (evidence.fit, *evidence.gains)
    return next((entry.calibration_id for entry in entries if entry and entry.calibration_id), None)


def has_networks(proposal: Proposal) -> bool:
    evidence = proposal.content.evidence
    return evidence is not None and any(gain.basis == "networks" for gain in evidence.gains)
