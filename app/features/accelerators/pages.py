"""Pages of the accelerators of a workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.catalog.catalog import Catalog
from app.catalog.entries import SystemEntry
from app.catalog.own import PEAKS, gpus, link_figure
from app.catalog.records import domain_devices
from app.errors import AppError, BadInput, Message
from app.features.accelerators import service as accelerators
from app.features.accelerators.model import (
    Accelerator,
    AcceleratorPatch,
    AcceleratorRequest,
    AcceleratorSummary,
)
from app.features.catalogue.views import StatementView, statement_view
from app.platform.json_bodies import checked
from app.platform.listing import Page
from app.platform.web import choices
from app.platform.web.contexts import Choice, ChoiceGroup, Form
from app.platform.web.deps import ALL, WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormFields
from app.platform.web.rendering import FOR_GOOD, DeletePage, deleted, render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()

FIELDS = FormFields(AcceleratorRequest)

PLACES = {
    "study": "/studies", "estimate": "/estimates", "comparison": "/comparisons", "sizing": "/api/v1/sizings",
    "sweep": "/sweeps", "bill": "/api/v1/boms", "calibration": "/calibrations", "proposal": "/proposals",
    "price-book": "/price-books",
}  # fmt: skip
"""Kind of object → address of its pages."""

HIDDEN = frozenset({"chip", "chip_name", "availability", "acquisition", "machines", "hosts", "matrix_units"})
"""Figures that the page shows elsewhere."""

LINK = re.compile(r"https?://[^\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorsPage:
    """The accelerators of a workspace, and the form to add one."""

    accelerators: Sequence[AcceleratorSummary]
    form: Form
    message: Message | None
    """Why the form was refused."""
    fabrics: Sequence[Choice]
    like: Sequence[ChoiceGroup]
    """Systems of the catalogue whose figures can be copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorPage:
    """One accelerator: the form to change it, its figures and uses."""

    accelerator: Accelerator
    form: Form
    message: Message | None
    """Why the form was refused."""
    fabrics: Sequence[Choice]
    editable: bool
    figures: Sequence[StatementView]
    link: str
    """Address of the data sheet; may be empty."""
    places: Mapping[str, str]
    """Kind of object → address of its pages."""


def fabrics_of(workspace: Workspace) -> list[Choice]:
    fabrics = workspace.catalogue.fabrics.documents.values()
    return [Choice(fabric.id, fabric.name) for fabric in fabrics if fabric.id != "ipu-fabric"]


def accelerators_page(
    request: Request,
    listed: Page[AcceleratorSummary],
    form: Form | None = None,
    message: Message | None = None,
) -> AcceleratorsPage:
    workspace = workspace_of(request)
    catalog = workspace.installation.sizing.catalog
    machines = set(gpus(catalog, "machine"))
    known = {name for name in catalog.names("system") if catalog.system(name).machine.id in machines}
    like = request.query_params.get("like", "")
    return AcceleratorsPage(
        accelerators=listed.items,
        form=form
        or Form({"like": [like], **(copied(catalog, like) if like in known else {"devices": ["8"]})}),
        message=message,
        fabrics=fabrics_of(workspace),
        like=[
            ChoiceGroup(group.name, offered)
            for group in choices.system_names(workspace.catalogue)
            if (offered := [choice for choice in group.choices if choice.id in known])
        ],
    )


def copied(catalog: Catalog, system: str) -> dict[str, list[str]]:
    """Return the fields with the figures of a catalogue system, without its name and price."""
    entry: SystemEntry = catalog.system(system)
    chip, machine = entry.machine.chip.id, entry.machine.id
    figures = {name: catalog.find(chip, parameter) for name, parameter in PEAKS.items()}
    link = link_figure(catalog, chip, entry.machine.intra)
    numbers = {name: peak.si / 1e12 for name, peak in figures.items() if peak is not None}
    power = catalog.find(chip, "power_limit")
    numbers |= {
        "memory_gb": catalog.figure(chip, "memory_capacity").si / 1e9,
        "memory_gb_per_s": catalog.figure(chip, "memory_bandwidth").si / 1e9,
        **({} if power is None else {"power_w": power.si}),
        **({} if link is None else {"link_gb_per_s": link.si / 1e9}),
        "devices": entry.machine.devices,
        "ports": entry.ports_per_node,
    }
    linked = domain_devices(catalog, machine)
    if linked > entry.machine.devices:
        numbers["linked_devices"] = linked
    words = {
        "maker": entry.maker,
        "link": entry.machine.intra.value,
        "fabric": entry.fabric,
        "sparsity": "none",
    }
    return {name: [f"{value:.6g}"] for name, value in numbers.items()} | {
        name: [value] for name, value in words.items() if value
    }


@resource(router, "/accelerators", "accelerators/accelerators.html", accelerators_page)
def show_accelerators(workspace: WorkspaceDep) -> Page[AcceleratorSummary]:
    return accelerators.list_accelerators(workspace, ALL, None)


@router.post("/accelerators", response_class=HTMLResponse)
@requires(Right.MAKE)
def add_accelerator(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Add an accelerator and go there; what is wrong stands beside its field."""
    values = typed(form)
    try:
        accelerator = accelerators.create_accelerator(
            workspace, checked(AcceleratorRequest, FIELDS.body(values))
        )
    except AppError as error:
        listed = show_accelerators(workspace)
        page = accelerators_page(request, listed, Form(values, error.errors), error.message)
        return render(request, "accelerators/accelerators.html", page, status=error.status)
    return RedirectResponse(f"/accelerators/{accelerator.id}", 303)


def accelerator_page(
    request: Request, accelerator: Accelerator, form: Form | None = None, message: Message | None = None
) -> AcceleratorPage:
    voice = voice_of(request)
    values = {name: getattr(accelerator, name) for name in AcceleratorRequest.model_fields}
    texts = {
        name: [f"{value:.15g}" if isinstance(value, int | float) else str(value)]
        for name, value in values.items()
        if value is not None
    }
    return AcceleratorPage(
        accelerator=accelerator,
        form=form or Form(texts),
        message=message,
        fabrics=fabrics_of(workspace_of(request)),
        editable=accelerator.version == accelerator.newest and accelerator.deleted_at is None,
        figures=[
            statement_view(figure, voice, figure.description)
            for figure in accelerator.figures
            if figure.parameter not in HIDDEN
        ],
        link=accelerator.data_sheet if LINK.fullmatch(accelerator.data_sheet) else "",
        places=PLACES,
    )


@resource(router, "/accelerators/{identifier}", "accelerators/accelerator.html", accelerator_page)
def show_accelerator(workspace: WorkspaceDep, identifier: str, version: int | None = None) -> Accelerator:
    """Return an accelerator: the newest version to change, an earlier one to read."""
    return accelerators.get_accelerator(workspace, identifier, version)


@router.post("/accelerators/{identifier}", response_class=HTMLResponse)
@requires(Right.MAKE)
def save_accelerator(request: Request, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Keep what was typed as a new version; what is wrong stands beside its field."""
    values = typed(form)
    try:
        expected = whole(values.get("version", [""])[0])
        if expected is None:
            raise BadInput.at("version", "the form is incomplete; open the accelerator again")
        # An emptied field is omitted from now on.
        emptied = dict.fromkeys(AcceleratorRequest.model_fields)
        patch = checked(AcceleratorPatch, {**emptied, **FIELDS.body(values)})
        accelerators.change_accelerator(workspace, identifier, patch, expected)
    except AppError as error:
        accelerator = show_accelerator(workspace, identifier)
        page = accelerator_page(request, accelerator, Form(values, error.errors), error.message)
        return render(request, "accelerators/accelerator.html", page, status=error.status)
    return RedirectResponse(f"/accelerators/{identifier}", 303)


@router.get("/accelerators/{identifier}/delete", response_class=HTMLResponse)
def ask_about_accelerator(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Ask whether an accelerator is really to be deleted."""
    return render(request, "delete.html", accelerator_question(workspace, identifier))


@router.post("/accelerators/{identifier}/delete", response_class=HTMLResponse)
@requires(Right.MAKE)
def remove_accelerator(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an accelerator and go to the list."""
    return deleted(
        request,
        lambda: accelerators.delete_accelerator(workspace, identifier),
        lambda error: accelerator_question(workspace, identifier, error),
        "/accelerators",
    )


def accelerator_question(workspace: Workspace, identifier: str, error: AppError | None = None) -> DeletePage:
    accelerator = accelerators.get_accelerator(workspace, identifier)
    consequences = [Message("It is offered for no new study any more.")]
    if accelerator.used_by:
        names = ", ".join(f"“{use.name[:80]}”" for use in accelerator.used_by[:5])
        more = " …" if len(accelerator.used_by) > 5 else ""
        consequences.append(
            Message(
                "These were made with it, can still be opened and computed again, and say then that it was "
                "deleted: {names}",
                {"names": names + more},
            )
        )
    else:
        consequences.append(Message("Nothing was made with it: its figures are deleted too."))
    return DeletePage(
        title=Message("Delete the accelerator?"),
        name=accelerator.name,
        consequences=[*consequences, FOR_GOOD],
        action=f"/accelerators/{identifier}/delete",
        back=f"/accelerators/{identifier}",
        refused=error,
    )
