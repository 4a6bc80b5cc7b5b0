"""The certificate of an erasure as PDF."""

from __future__ import annotations

import hashlib
from typing import get_args

from app import __version__
from app.errors import BadInput
from app.features.erasure.model import Erasure
from app.features.proposals.branding import ACCENT
from app.features.proposals.pdf import set_pdf
from app.features.proposals.writing.blocks import (
    Head,
    Paragraph,
    Points,
    SectionBlock,
    Signatures,
    View,
    table,
)
from app.features.proposals.writing.proposal import FINGERPRINT
from app.platform.store.trail import ActorKind
from app.platform.wording.voice import Voice

MOST_NAMED = 40
"""Most proposals listed in the PDF; the attachment has all."""


def certificate_pdf(erasure: Erasure, voice: Voice) -> bytes:
    """Return the certificate as reproducible bytes, with the API's answer attached."""
    if erasure.erased_at is None:
        raise BadInput.at("dry_run", "a dry run erases nothing and has no certificate")
    look = {
        "accent": ACCENT,
        "cover": False,
        "charts": {},
        "attached": "erasure.json",
        "attachment": voice.gettext("This certificate as data"),
        "made_with": f"Rackline {__version__}",
    }
    return set_pdf(write_certificate(erasure, voice), voice, erasure.erased_at, attachment(erasure), look)


def attachment(erasure: Erasure) -> str:
    return erasure.model_dump_json(indent=1) + "\n"


def write_certificate(erasure: Erasure, voice: Voice) -> View:
    by = erasure.erased_by or ""
    facts = [
        (voice.gettext("Certificate"), erasure.id or ""),
        (voice.gettext("Workspace"), erasure.workspace),
        (voice.gettext("Erased on"), voice.moment(erasure.erased_at)),
        (voice.gettext("Erased by"), voice.label(by, "actor") if by in get_args(ActorKind) else by),
        (voice.gettext("Text in its place"), erasure.replacement),
    ]
    return View(
        language=voice.language,
        title=voice.gettext("Certificate of erasure"),
        kicker=voice.gettext("A customer's name was erased"),
        customer="",
        facts=facts,
        confidential="",
        footer="",
        fingerprint="SHA-256 " + hashlib.sha256(attachment(erasure).encode()).hexdigest()[:FINGERPRINT],
        sections=[erased(erasure, voice), not_reached(voice), signed(voice)],
    )


def erased(erasure: Erasure, voice: Voice) -> SectionBlock:
    counted = table(
        "erased",
        voice.gettext("Entries changed"),
        list(erasure.rows.items()),
        (Head(voice.gettext("Kind"), width=3), lambda row: voice.label(row[0], "erased")),
        (Head(voice.gettext("Entries"), True), lambda row: voice.number(row[1])),
    )
    names = erasure.proposals[:MOST_NAMED]
    if left := len(erasure.proposals) - len(names):
        names.append(voice.gettext("{count} more: see the attachment").format(count=voice.number(left)))
    what = voice.gettext(
        "The name of a customer was replaced in every text that Rackline keeps of this workspace, "
        "whatever its case. The name itself is kept nowhere, not even in this certificate."
    )
    frozen = Points(voice.gettext("Frozen proposals, each with a new hash and a new PDF"), names)
    return SectionBlock(
        "erased", voice.gettext("What was erased"), [Paragraph(what), counted, *([frozen] if names else [])]
    )


def not_reached(voice: Voice) -> SectionBlock:
    lines = [
        voice.gettext("Uploaded files, which are kept as they came: delete them one by one."),
        voice.gettext("Backups made before: let them run out, or restore, erase and back up again."),
        voice.gettext("E-mails that were sent, and files that were downloaded."),
        voice.gettext("The names of the workspace and of its members."),
    ]
    return SectionBlock("not_reached", voice.gettext("What this does not reach"), [Points("", lines)])


def signed(voice: Voice) -> SectionBlock:
    lines = [voice.gettext("Name"), voice.gettext("Signature"), voice.gettext("Date")]
    parties = [(voice.gettext("For the operator of Rackline"), ""), (voice.gettext("For the customer"), "")]
    return SectionBlock("signature", voice.gettext("Signatures"), [Signatures(parties, lines)])
