"""The form of a proposal: what was typed, as a request, and a draft as it is shown in it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import FormData, QueryParams, UploadFile

from app.engine.units import HOUR
from app.errors import AppError, BadInput, FieldError
from app.features.networks.pages import choice_at
from app.features.proposals.model import Proposal
from app.platform.web.forms import plain_number, typed, whole
from app.platform.workbench import Workbench

TEXTS = (
    *("customer", "title", "locale", "currency", "reason", "valid_until", "recommended", "price_book_id"),
    "calibration_id",
)

NUMBERS = ("budget", "term_years")

MAX_LOGO = 500_000

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}

NETWORKS_PAGE = re.compile(r"/studies/(?P<study>[a-z0-9_-]{1,40})/network(?:\.json)?/?")

LONGEST_ADDRESS = 4_000
"""Letters of an address that is pasted."""


def asked_body(bench: Workbench, workspace: str, form: FormData) -> dict[str, Any]:
    """Return the body of the request that a form stands for; empty fields are null."""
    values = typed(form)
    first = {name: one[0] for name, one in values.items()}
    body: dict[str, Any] = {name: first.get(name) for name in TEXTS}
    body |= {name: plain_number(first[name]) if name in first else None for name in NUMBERS}
    body["deadline_s"] = scaled(first.get("deadline_h"), "deadline_h", HOUR)
    share = scaled(first.get("scaling_efficiency"), "scaling_efficiency", 0.01)
    body["scaling_efficiency"] = 1.0 if share is None else share
    body["options"] = values.get("options")
    body["confidential"] = "confidential" in first
    body["branding"] = {"accent": first.get("accent"), "footer": first.get("footer")}
    logo = sent_logo(form)
    if logo is not None or "no_logo" in first:
        body["branding"]["logo"] = logo
    if "networks" in first:
        body["fabric_choice"] = named_networks(bench, workspace, first["networks"])
    elif "no_networks" in first:
        body["fabric_choice"] = None
    return body


def named_networks(bench: Workbench, workspace: str, address: str) -> dict[str, Any]:
    """Return the choice of networks that an address asks for: the address of that page is its state."""
    try:
        parts = urlsplit(address[:LONGEST_ADDRESS])
    except ValueError:
        raise not_an_address() from None
    page = NETWORKS_PAGE.fullmatch(parts.path)
    if page is None:
        raise not_an_address()
    try:
        choice = choice_at(bench, workspace, page["study"], QueryParams(parts.query))
    except AppError as error:
        error.errors = (FieldError("networks", error.message),)
        raise
    return choice.model_dump(mode="json", exclude_unset=True)


def not_an_address() -> BadInput:
    return BadInput.at("networks", "is not the address of a network choice; copy the address of its page")


def version_of(values: Mapping[str, Sequence[str]]) -> int:
    """Return the version that an edit builds on."""
    version = whole(values.get("version", [""])[0])
    if version is None:
        raise BadInput.at("version", "the form is incomplete; open the proposal again")
    return version


def scaled(text: str | None, field: str, factor: float) -> float | None:
    """Return a number in the unit of the request."""
    if text is None:
        return None
    try:
        return float(plain_number(text.removesuffix("%").strip())) * factor
    except ValueError:
        raise BadInput.at(field, "must be a number") from None


def sent_logo(form: FormData) -> dict[str, str] | None:
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
    return {
        name: without_nulls(value) if name == "branding" else value
        for name, value in body.items()
        if value is not None
    }


def shown(proposal: Proposal, labels: Sequence[str]) -> dict[str, list[str]]:
    """Return a draft as the form shows it."""
    content = proposal.content
    advice = content.advice
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
        "accent": content.branding.accent,
        "footer": content.branding.footer,
    }
    filled = {name: [value] for name, value in fields.items() if value}
    return {**filled, "options": [row.label for row in content.comparison.rows if row.label in labels]}


def calibration_of(proposal: Proposal) -> str | None:
    """Return the identifier of the runs that a draft names."""
    evidence = proposal.content.evidence
    if evidence is None:
        return None
    if evidence.fit is not None:
        return evidence.fit.calibration_id
    return next((gain.calibration_id for gain in evidence.gains if gain.calibration_id is not None), None)


def has_networks(proposal: Proposal) -> bool:
    """Tell whether a draft weighs networks."""
    evidence = proposal.content.evidence
    return evidence is not None and any(gain.basis == "networks" for gain in evidence.gains)
