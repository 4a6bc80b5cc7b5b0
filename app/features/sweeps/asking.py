"""The form for a sweep of a study: models, systems, batches and prices chosen by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.datastructures import FormData

from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.naming import finder
from app.estimating.numbers import WHOLE, numbers_in
from app.features.price_books.service import list_books
from app.features.studies.model import AMOUNTS, StudyContent, stated, training_of
from app.features.sweeps.model import MOST_COUNTS, SweepRequest
from app.features.uploads.service import list_profiles
from app.features.workloads import suggestions
from app.features.workloads.filling import known_profile
from app.platform.json_bodies import checked
from app.platform.web.contexts import Choice
from app.platform.workspace import Workspace

OFFERED = 50
"""Most uploaded models and price books that are offered; the newest."""

SPARE, LEAST, MOST = 2, 3, 30
"""Empty rows below the filled ones; fewest and most rows."""

CATALOGUE = "catalogue"
"""Value that stands for the prices of the catalogue among the price books."""

NETWORK = ("fabric", "ports_per_node", "streaming_memory_gb")
"""Fields of the network of a system."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class SweepChoices:
    """Choices of the form."""

    models: Sequence[Choice]
    """Presets, then uploads."""
    systems: Sequence[Choice]
    books: Sequence[Choice]


def offer_of(workspace: Workspace) -> SweepChoices:
    presets = workspace.catalogue.models.documents.values()
    uploads = list_profiles(workspace, OFFERED, None).items
    books = list_books(workspace, OFFERED, None).items
    return SweepChoices(
        models=[
            *(Choice(model.id, model.name) for model in presets),
            *(Choice(model.id, model.name) for model in uploads),
        ],
        systems=[Choice(system.id, system.name) for system in workspace.catalogue.systems.listed],
        books=[Choice(book.id, book.name) for book in books],
    )


@dataclass(frozen=True, slots=True)
class ManyForm:
    """Values of the form; empty rows are ignored."""

    own: bool = True
    """Whether the model of the study is one of the models."""
    models: Sequence[str] = ()
    systems: Sequence[tuple[str, str]] = ()
    """Name and counts of each system, as typed."""
    batches: str = ""
    books: Sequence[str] = (CATALOGUE,)
    title: str = ""

    @classmethod
    def of_study(cls, workspace: Workspace, content: StudyContent) -> ManyForm:
        """Return the form filled with the options of a study."""
        counts: dict[str, list[int]] = {}
        for option in content.options:
            if option.system is not None:
                counts.setdefault(option.system.id, []).append(option.system.count)
        names = workspace.catalogue.systems.documents
        batch, book = content.base.workload.global_batch, content.base.assumptions.price_book_id
        return cls(
            systems=[
                (names[system].name if system in names else system, ", ".join(map(str, sorted(set(numbers)))))
                for system, numbers in counts.items()
            ],
            batches="" if batch is None else str(batch),
            books=[book.partition("@")[0]] if book else [CATALOGUE],
            title=content.name,
        )

    @classmethod
    def of(cls, form: FormData) -> ManyForm:
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


def padded(rows: Sequence[Row], empty: Row) -> list[Row]:
    """Return rows with a few empty ones below."""
    used = max((index for index, row in enumerate(rows) if row != empty), default=-1) + 1
    length = min(max(used + SPARE, LEAST), MOST)
    return [*rows[:length], *[empty] * (length - len(rows))]


class _FieldReader:
    """Reads fields of the form and collects their errors."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def choice(self, field: str, text: str, choices: Sequence[Choice], kind: Message) -> Choice | None:
        """Return the first choice with this name or identifier."""
        names = {text.casefold(), *(finder(known).resolve(text) for known in ("model preset", "system"))}
        for choice in choices:
            if names & {choice.id.casefold(), choice.name.casefold()}:
                return choice
        template = "there is no {kind} “{name}”; choose one of the list"
        self.errors.append(FieldError(field, Message(template, {"kind": kind, "name": text[:80]})))
        return None

    def numbers(self, field: str, text: str) -> list[int]:
        """Return a list of whole numbers without repetitions."""
        try:
            numbers = [int(number) for number in numbers_in(text, WHOLE, field)]
        except AppError as error:
            self.errors += error.errors
            return []
        if len(numbers) > MOST_COUNTS or any(number < 1 for number in numbers):
            message = Message("enter whole numbers above 0, at most {most} of them", {"most": MOST_COUNTS})
            self.errors.append(FieldError(field, message))
        return list(dict.fromkeys(numbers))


def request_of(
    workspace: Workspace, content: StudyContent, form: ManyForm, study_id: str, own_name: str
) -> SweepRequest:
    """Return the sweep request of a form; what the form lacks comes from the study."""
    offer, reader, base = offer_of(workspace), _FieldReader(), content.base
    own_model, workload = training_of(content)
    workload.pop("global_batch", None)
    models: list[dict[str, Any]] = []
    if form.own and own_model:
        models.append({"label": own_name[:200], "model": own_model, "workload": workload})
    for index, name in enumerate(form.models):
        field = f"model.{index}"
        if not name or not (choice := reader.choice(field, name, offer.models, Message("model"))):
            continue
        model = {"profile_id" if choice.id.startswith("prf_") else "preset": choice.id}
        model_workload = workload
        if "target" in workload or not any(amount in workload for amount in AMOUNTS):
            # A target belongs to one model; others get the training that is known for them.
            profile = known_profile(workspace, choice.id)
            model_workload = (
                {}
                if profile is None
                else {**suggestions.usual_training(profile, workspace.sizing.catalog).workload}
            )
            if not model_workload:
                message = Message("no training is known for this model; give the study tokens or samples")
                reader.errors.append(FieldError(field, message))
        models.append({"label": choice.name, "model": model, "workload": model_workload})
    if not models and not reader.errors:
        reader.errors.append(FieldError("model.0", Message("choose at least one model")))
    systems: list[dict[str, Any]] = []
    for index, (name, counts) in enumerate(form.systems):
        if not name or not (
            choice := reader.choice(f"system.{index}", name, offer.systems, Message("system"))
        ):
            continue
        numbers = reader.numbers(f"counts.{index}", counts) or [1]
        details = _network_and_software(workspace, content, choice.id)
        systems.append({"label": choice.name, "id": choice.id, "counts": numbers, **details})
    if not systems and not reader.errors:
        reader.errors.append(FieldError("system.0", Message("choose at least one system")))
    assumptions = stated(base.assumptions)
    assumptions.pop("price_book_id", None)
    batches = reader.numbers("batches", form.batches)
    books = {book.id: book.name for book in offer.books}
    if reader.errors:
        raise BadInput(reader.errors[0].message, reader.errors)
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


def _network_and_software(workspace: Workspace, content: StudyContent, system: str) -> Mapping[str, Any]:
    """Return network and software of a system as the study states them."""
    details: dict[str, Any] = {}
    own_software: str | None = None
    for option in content.options:
        if option.system is not None and option.system.id == system:
            fields = stated(option.system)
            details = {name: fields[name] for name in NETWORK if name in fields}
            own_software = option.software
            break
    software = own_software or content.base.software
    profile = workspace.sizing.software.profiles.get(software or "")
    chip_kind = workspace.catalogue.systems.documents[system].chip_kind
    # A profile is for one kind of chip; a calibration is used only if the option states it.
    if software and (profile.kind == chip_kind if profile else own_software):
        details["software"] = software
    return details
