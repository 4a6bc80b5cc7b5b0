"""A sweep as a study asks for it: models, systems, batches and prices chosen by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.datastructures import FormData

from app.errors import BadInput, FieldError, Message
from app.features.price_books.service import list_books
from app.features.studies.model import AMOUNTS, StudyContent, StudyOption, stated, training_of
from app.features.sweeps.model import MOST_COUNTS, SweepRequest
from app.features.uploads.service import list_profiles
from app.features.workloads import suggestions
from app.features.workloads.filling import known_profile
from app.platform.web.contexts import Choice
from app.platform.web.forms import checked, whole
from app.platform.workbench import Workbench

OFFERED = 50
"""Uploaded models and price books that are offered, the newest."""

SPARE, LEAST, MOST = 2, 3, 30
"""Empty rows below those in use, and the fewest and most rows."""

CATALOGUE = "catalogue"
"""Names the prices of the catalogue among the price books."""

NETWORK = ("fabric", "ports_per_node", "streaming_memory_gb")
"""Fields of a system that go with it."""

SEPARATORS = re.compile(r"[\s,;]+")

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is to choose from."""

    models: Sequence[Choice]
    """Presets, then uploads."""
    systems: Sequence[Choice]
    books: Sequence[Choice]


def offer_of(bench: Workbench, workspace: str) -> Offer:
    shelf = bench.catalogue
    uploads = list_profiles(bench, workspace, OFFERED, None).items
    return Offer(
        models=[
            *(Choice(one.id, one.name) for one in shelf.models.documents.values()),
            *(Choice(one.id, one.name) for one in uploads),
        ],
        systems=[Choice(one.id, one.name) for one in shelf.systems.listed],
        books=[Choice(one.id, one.name) for one in list_books(bench, workspace, OFFERED, None).items],
    )


@dataclass(frozen=True, slots=True)
class ManyForm:
    """What is typed into the form; rows that are empty stay out of the question."""

    own: bool = True
    """Whether the model of the study is among those tried."""
    models: Sequence[str] = ()
    systems: Sequence[tuple[str, str]] = ()
    """Name of each system, and its counts."""
    batches: str = ""
    books: Sequence[str] = (CATALOGUE,)
    title: str = ""

    @classmethod
    def of_study(cls, bench: Workbench, content: StudyContent) -> ManyForm:
        """Return the form that asks for what a study compares."""
        counts: dict[str, list[int]] = {}
        for option in content.options:
            if option.system is not None:
                counts.setdefault(option.system.id, []).append(option.system.count)
        names = bench.catalogue.systems.documents
        batch, book = content.base.workload.global_batch, content.base.assumptions.price_book_id
        return cls(
            systems=[
                (names[system].name if system in names else system, ", ".join(map(str, sorted(set(found)))))
                for system, found in counts.items()
            ],
            batches="" if batch is None else str(batch),
            books=[book.partition("@")[0]] if book else [CATALOGUE],
            title=content.name,
        )

    @classmethod
    def of(cls, form: FormData) -> ManyForm:
        """Return what was sent."""

        def all_of(name: str) -> list[str]:
            return [text.strip()[:200] for text in form.getlist(name)[:MOST] if isinstance(text, str)]

        def first(name: str) -> str:
            return next(iter(all_of(name)), "")

        return cls(
            own=bool(first("own")),
            models=all_of("model"),
            systems=list(zip(all_of("system"), [*all_of("counts"), *[""] * MOST], strict=False)),
            batches=first("batches"),
            books=all_of("book"),
            title=first("title"),
        )

    @property
    def model_rows(self) -> list[str]:
        return padded(self.models, "")

    @property
    def system_rows(self) -> list[tuple[str, str]]:
        return padded(self.systems, ("", ""))


def padded(rows: Sequence[Found], empty: Found) -> list[Found]:
    """Return rows with a few empty ones below."""
    used = max((place for place, row in enumerate(rows) if row != empty), default=-1) + 1
    wanted = min(max(used + SPARE, LEAST), MOST)
    return [*rows[:wanted], *[empty] * (wanted - len(rows))]


class _Reading:
    """Reads the names of a form; what is wrong is collected by field."""

    def __init__(self) -> None:
        self.wrong: list[FieldError] = []

    def named(self, field: str, text: str, offered: Sequence[Choice], kind: Message) -> Choice | None:
        """Return what is called so; the first where several are."""
        sought = text.casefold()
        for one in offered:
            if sought in {one.id.casefold(), one.name.casefold()}:
                return one
        template = "there is no {kind} “{name}”; choose one of the list"
        self.wrong.append(FieldError(field, Message(template, {"kind": kind, "name": text[:80]})))
        return None

    def numbers(self, field: str, text: str) -> list[int]:
        """Return whole numbers typed one after the other."""
        found = [whole(part) for part in SEPARATORS.split(text.strip(" ,;")) if part]
        numbers = [number for number in found if number]
        if len(numbers) != len(found) or len(numbers) > MOST_COUNTS:
            message = Message("enter whole numbers above 0, at most {most} of them", {"most": MOST_COUNTS})
            self.wrong.append(FieldError(field, message))
        return list(dict.fromkeys(numbers))


def request_of(
    bench: Workbench, workspace: str, content: StudyContent, form: ManyForm, study_id: str, own_name: str
) -> SweepRequest:
    """Return the sweep that a form asks for on top of what its study says."""
    offer, reading, base = offer_of(bench, workspace), _Reading(), content.base
    own_model, workload = training_of(content)
    workload.pop("global_batch", None)
    models: list[dict[str, Any]] = []
    if form.own and own_model:
        models.append({"label": own_name[:200], "model": own_model, "workload": workload})
    for place, name in enumerate(form.models):
        field = f"model.{place}"
        if not name or not (chosen := reading.named(field, name, offer.models, Message("model"))):
            continue
        model = {"profile_id" if chosen.id.startswith("prf_") else "preset": chosen.id}
        asked = workload
        if "target" in workload or not any(amount in workload for amount in AMOUNTS):
            # A target belongs to one model: others are trained as they are known to be.
            profile = known_profile(bench, workspace, chosen.id)
            asked = dict(suggestions.training_of(bench, profile).workload) if profile is not None else {}
            if not asked:
                message = Message("no training is known for this model; give the study tokens or samples")
                reading.wrong.append(FieldError(field, message))
        models.append({"label": chosen.name, "model": model, "workload": asked})
    if not models and not reading.wrong:
        reading.wrong.append(FieldError("model.0", Message("choose at least one model")))
    systems = list[dict[str, Any]]()
    for place, (name, counts) in enumerate(form.systems):
        if not name or not (
            chosen := reading.named(f"system.{place}", name, offer.systems, Message("system"))
        ):
            continue
        numbers = reading.numbers(f"counts.{place}", counts) or [1]
        option = _option(bench, content, chosen.id)
        systems.append({"label": chosen.name, "id": chosen.id, "counts": numbers, **option})
    if not systems and not reading.wrong:
        reading.wrong.append(FieldError("system.0", Message("choose at least one system")))
    assumptions = {name: one for name, one in stated(base.assumptions).items() if name != "price_book_id"}
    batches = reading.numbers("batches", form.batches)
    books = {one.id: one.name for one in offer.books}
    if reading.wrong:
        raise BadInput(reading.wrong[0].message, reading.wrong)
    prices = [
        {"label": books[book], "price_book_id": book} if book in books else {"label": "Catalogue"}
        for book in dict.fromkeys(form.books)
        if book in books or book == CATALOGUE
    ]
    body: dict[str, Any] = {
        "title": form.title or content.name,
        "study_id": study_id,
        "models": models,
        "systems": systems,
        "currency": base.currency,
        "prices": prices if prices != [{"label": "Catalogue"}] else [],
        "scenarios": [
            {"label": f"{batch:,}", "workload": {"global_batch": batch}, "assumptions": assumptions}
            for batch in batches
        ],
    }
    if assumptions and not batches:
        body["scenarios"] = [{"label": content.name, "assumptions": assumptions}]
    return checked(SweepRequest, body)


def _option(bench: Workbench, content: StudyContent, system: str) -> Mapping[str, Any]:
    """Return network and software of a system as the study has them."""
    option: StudyOption | None = next(
        (one for one in content.options if one.system is not None and one.system.id == system), None
    )
    asked = stated(option.system) if option is not None and option.system is not None else {}
    found: dict[str, Any] = {name: asked[name] for name in NETWORK if name in asked}
    software = (option.software if option is not None else None) or content.base.software
    profile = bench.sizing.software.profiles.get(software or "")
    entry = bench.catalogue.systems.documents[system]
    # A profile is for one kind of chip; a calibration is used where the study itself uses it.
    if software and (profile.kind == entry.chip_kind if profile else option is not None and option.software):
        found["software"] = software
    return found
