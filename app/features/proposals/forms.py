"""The form of a proposal: what was typed, as a request."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import FormData, UploadFile

from app.engine.units import HOUR
from app.errors import BadInput
from app.features.proposals.model import Proposal
from app.platform.web.forms import plain_number, typed, whole

WORDS = ("customer", "title", "locale", "currency", "reason", "valid_until", "recommended", "price_book_id")

RUNS = "calibration_id"

NUMBERS = ("budget", "term_years")

MAX_LOGO = 500_000

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}


def asked_body(form: FormData) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return what was typed, and the body of the request it stands for; empty fields are null."""
    values = typed(form)
    first = {name: one[0] for name, one in values.items()}
    body: dict[str, Any] = {name: first.get(name) for name in (*WORDS, RUNS)}
    if "no_networks" in first:
        body["fabric_choice"] = None
    body |= {name: plain_number(first[name]) if name in first else None for name in NUMBERS}
    body["deadline_s"] = scaled(first.get("deadline_h"), "deadline_h", HOUR)
    share = scaled(first.get("scaling_efficiency"), "scaling_efficiency", 0.01)
    body["scaling_efficiency"] = 1.0 if share is None else share
    body["options"] = values.get("options")
    body["confidential"] = "confidential" in first
    branding: dict[str, Any] = {"accent": first.get("accent"), "footer": first.get("footer")}
    logo = sent_logo(form)
    if logo is not None:
        branding["logo"] = logo
    elif "no_logo" in first:
        branding["logo"] = None
    return values, {**body, "branding": branding}


def version_of(values: Mapping[str, Sequence[str]]) -> int:
    """Return the version that an edit builds on."""
    found = whole(values.get("version", [""])[0])
    if found is None:
        raise BadInput.at("version", "the form is incomplete; open the proposal again")
    return found


def scaled(text: str | None, field: str, factor: float) -> float | None:
    """Return a number in the unit of the request."""
    if text is None:
        return None
    try:
        return float(plain_number(text.removesuffix("%").strip())) * factor
    except ValueError:
        raise BadInput.at(field, "must be a number") from None


def sent_logo(form: FormData) -> dict[str, str] | None:
    """Return the picture that was sent along."""
    file = form.get("logo")
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    ending = f".{file.filename.rpartition('.')[2].lower()}"
    if ending not in MEDIA_TYPES:
        raise BadInput.at("branding.logo", "must be a PNG or an SVG")
    data = file.file.read(MAX_LOGO + 1)
    if len(data) > MAX_LOGO:
        raise BadInput.at("branding.logo", "must be at most {most} bytes", most=MAX_LOGO)
    return {"media_type": MEDIA_TYPES[ending], "data": base64.b64encode(data).decode()}


def without_nulls(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without what was left empty."""
    kept = {name: value for name, value in body.items() if value is not None}
    if isinstance(kept.get("branding"), dict):
        kept["branding"] = {name: value for name, value in kept["branding"].items() if value is not None}
    return kept


def shown(proposal: Proposal, labels: Sequence[str]) -> dict[str, list[str]]:
    """Return a draft as the form shows it."""
    content = proposal.content
    advice = content.advice
    chosen = advice.recommended if advice.recommended != advice.by_rule else None
    fields: dict[str, str | None] = {
        "customer": content.customer,
        "title": content.title,
        "locale": content.locale,
        "currency": content.currency,
        "reason": content.reason,
        "valid_until": None if content.valid_until is None else content.valid_until.isoformat(),
        "recommended": chosen,
        "deadline_h": None if advice.deadline_s is None else f"{advice.deadline_s / HOUR:.6g}",
        "price_book_id": content.price_book_id,
        "calibration_id": calibration_of(proposal),
        "budget": None if advice.budget is None else f"{advice.budget:.12g}",
        "term_years": None if content.term is None else f"{content.term.years:.6g}",
        "scaling_efficiency": f"{100 * content.comparison.scaling_efficiency:.6g}",
        "confidential": "yes" if content.confidential else None,
        "accent": content.branding.accent,
        "footer": content.branding.footer,
    }
    found = {name: [value] for name, value in fields.items() if value}
    return {**found, "options": [row.label for row in content.comparison.rows if row.label in labels]}


def calibration_of(proposal: Proposal) -> str | None:
    """Return the identifier of the runs that a draft names."""
    found = proposal.content.evidence
    if found is None:
        return None
    if found.fit is not None:
        return found.fit.calibration_id
    return next((one.calibration_id for one in found.gains if one.calibration_id is not None), None)


def has_networks(proposal: Proposal) -> bool:
    """Tell whether a draft weighs networks."""
    found = proposal.content.evidence
    return found is not None and any(one.basis == "networks" for one in found.gains)
