"""Rows of a sweep: the request of a point with its figures, or why it has none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal, get_args

from pydantic import Field, JsonValue

from app.errors import AppError, Message, need
from app.estimating.documents import Estimate, Text
from app.estimating.schema import Document, Quantity
from app.estimating.version import engine_version
from app.features.sweeps.points import SweepPoint
from app.platform.tables import taken, written


class SweepProblem(Document):
    """Why a point has no estimate."""

    field: str
    """Dotted path in the estimate request of the point; empty if no field is at fault."""
    message: str = Field(description="What is wrong and what is allowed, in English.")
    text: Text = Field(description="Sentence with its template and values, for translation.")


class SweepRow(Document):
    """One point of a sweep. Figures are null if it has a problem or does not fit."""

    position: int = Field(description="Position in the order of the sweep, from 0.")
    key: str = Field(description="Key of the point, derived from its request.")
    model: str = Field(description="Label of the model.")
    system: str = Field(description="Label of the system.")
    count: int = Field(description="Number of systems.")
    price: str = Field(description="Label of the price list; empty if there is none.")
    scenario: str = Field(description="Label of the scenario; empty if there is none.")
    model_id: str | None = Field(description="Identifier of the preset or profile.")
    system_id: str = Field(description="Identifier of the system.")
    fabric: str | None = Field(description="Identifier of the fabric.")
    devices: int | None = Field(description="Total number of accelerators.")
    software: str | None = Field(description="Identifier of the software profile.")
    precision_used: str | None = Field(description="Number format that the system uses.")
    fits: bool | None = Field(description="Whether the plan fits in memory; null if there is a problem.")
    tensor: int | None = Field(description="Tensor-parallel degree: devices that share each layer.")
    pipeline: int | None = Field(description="Number of pipeline stages.")
    data: int | None = Field(description="Data-parallel degree: replicas of the model.")
    micro_batch: int | None = Field(description="Samples per micro-batch.")
    accumulation: int | None
    """Micro-batches per step and replica (gradient accumulation)."""
    interleave: int | None = Field(description="Model chunks per pipeline stage (interleaving).")
    recompute: str | None = Field(description="Activations that the backward pass recomputes.")
    sharding: str | None = Field(description="State that replicas shard instead of each holding a full copy.")
    offload: bool | None = Field(description="Whether the optimizer state is offloaded from the device.")
    global_batch: int | None = Field(description="Samples per step.")
    steps: int | None = Field(description="Number of steps in the run.")
    step_time: float | None = Field(description="Time per step. [s]")
    time_to_train: float | None = Field(description="Time to train. [s]")
    time_to_train_low: float | None = Field(description="10th percentile of the time to train. [s]")
    time_to_train_high: float | None = Field(description="90th percentile of the time to train. [s]")
    cost: float | None = Field(description="Cost of the run; null if no price is known. [currency]")
    cost_low: float | None = Field(description="10th percentile of the cost. [currency]")
    cost_high: float | None = Field(description="90th percentile of the cost. [currency]")
    capex: float | None = Field(description="Price of the system; null if rented. [currency]")
    currency: str = Field(description="Currency of every price and cost.")
    energy: float | None = Field(description="Energy use of the run. [J]")
    mfu: float | None
    """Model FLOPs utilization (MFU): model FLOP per second over the peak."""
    memory_share: float | None
    """Memory in use on the fullest device, as a share of its memory."""
    status: str | None
    """Whether the point is covered by measured runs: validated, extrapolated or unvalidated."""
    warnings: list[str] = Field(description="Codes of the warnings of the estimate.")
    engine_version: str = Field(description="Version of the engine.")
    catalog_version: str = Field(description="Version of the catalogue.")
    problem: SweepProblem | None = Field(None, description="Why there is no estimate.")

    @property
    def system_label(self) -> str:
        """The system with its count."""
        return self.system if self.count == 1 else f"{self.count} × {self.system}"

    @property
    def duration(self) -> Quantity | None:
        return _ranged(self.time_to_train, self.time_to_train_low, self.time_to_train_high, "s")

    @property
    def price_of_run(self) -> Quantity | None:
        return _ranged(self.cost, self.cost_low, self.cost_high, self.currency)


PLAN = (
    "tensor", "pipeline", "data", "micro_batch", "accumulation", "interleave", "recompute", "sharding",
    "offload", "global_batch",
)  # fmt: skip
"""Fields of a plan that have a column."""


def row_of(point: SweepPoint, answer: Estimate) -> SweepRow:
    plan, memory, time = answer.plan, answer.memory, answer.time_to_train
    cost = answer.cost.run if answer.cost else None
    capex = answer.cost.capex if answer.cost else None
    return SweepRow(
        **_point_fields(point),
        model_id=answer.model.id,
        fabric=answer.system.fabric,
        devices=answer.system.devices,
        software=answer.software,
        precision_used=answer.precision_used,
        fits=answer.fits,
        **{name: getattr(plan, name) if plan is not None else None for name in PLAN},
        steps=answer.steps,
        step_time=_value(answer.step_time),
        time_to_train=_value(time),
        time_to_train_low=time.low if time else None,
        time_to_train_high=time.high if time else None,
        cost=_value(cost),
        cost_low=cost.low if cost else None,
        cost_high=cost.high if cost else None,
        capex=_value(capex),
        energy=_value(answer.energy),
        mfu=_value(answer.mfu),
        memory_share=memory.per_device.value / memory.capacity.value if memory else None,
        status=answer.validation.status,
        warnings=list(dict.fromkeys(warning.code for warning in answer.warnings)),
        engine_version=answer.engine_version,
        catalog_version=answer.catalog_version,
        problem=None,
    )


def refused_row(point: SweepPoint, error: AppError, catalog_version: str) -> SweepRow:
    """Return the row of a point that cannot be estimated, with its first error."""
    if error.errors:
        return problem_row(point, error.errors[0].field, error.errors[0].message, catalog_version)
    return problem_row(point, "", error.message, catalog_version)


def problem_row(point: SweepPoint, field: str, message: Message, catalog_version: str) -> SweepRow:
    request = point.request
    empty = {
        name: None
        for name, field_info in SweepRow.model_fields.items()
        if type(None) in get_args(field_info.annotation)
    }
    return SweepRow(
        **empty
        | _point_fields(point)
        | {
            "model_id": request.model.preset or request.model.profile_id,
            "fabric": request.system.fabric,
            "software": request.software,
            "warnings": [],
            "engine_version": engine_version(catalog_version),
            "catalog_version": catalog_version,
            "problem": SweepProblem(field=field, message=str(message), text=Text.of(message)),
        }
    )


def _point_fields(point: SweepPoint) -> dict[str, object]:
    return {
        "position": point.position,
        "key": point.key,
        "model": point.model,
        "system": point.system,
        "count": point.request.system.count,
        "price": point.price,
        "scenario": point.scenario,
        "system_id": point.request.system.id,
        "currency": point.request.currency,
    }


def _ranged(value: float | None, low: float | None, high: float | None, unit: str) -> Quantity | None:
    if value is None or low is None or high is None:
        return None
    return Quantity(value=value, low=low, high=high, unit=unit)


def _value(quantity: Quantity | None) -> float | None:
    return quantity.value if quantity is not None else None


def columns() -> dict[str, type]:
    """Return the columns of the exported table with their types; a problem has two of them."""
    columns: dict[str, type] = {}
    for name, field in SweepRow.model_fields.items():
        if name == "problem":
            columns |= {"problem_field": str, "problem": str}
        elif name == "warnings":
            columns[name] = str
        else:
            kinds = get_args(field.annotation) or (field.annotation,)
            columns[name] = next(kind for kind in kinds if kind is not None and kind is not type(None))
    return columns


def cells(row: SweepRow) -> Iterator[str | int | float | bool | None]:
    """Return the values of a row in the order of the columns."""
    for name in SweepRow.model_fields:
        value = getattr(row, name)
        if name == "problem":
            yield value.field if value else None
            yield value.message if value else None
        elif name == "warnings":
            yield " ".join(value)
        else:
            yield value


Status = Literal["queued", "running", "done", "cancelled", "failed"]
ENDED = frozenset({"done", "cancelled", "failed"})
"""Statuses that do not change by themselves."""


class SweepState(Document):
    """Progress of a sweep."""

    id: str = Field(description="Identifier of the sweep.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    status: Status = Field(description="Status: queued, running or ended (done, cancelled or failed).")
    total: int = Field(description="Total number of points.")
    done: int = Field(description="Number of points with a row.")
    message: Text | None = Field(None, description="Why the sweep failed.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time at which a row was last added or the status last changed.")

    @property
    def ended(self) -> bool:
        """Whether the status will not change by itself."""
        return self.status in ENDED


class SweepAnswer(SweepState):
    """A sweep with one page of its rows."""

    refused: int = Field(description="Number of points whose row has a problem instead of an estimate.")
    labels: dict[str, list[str]]
    """Labels of models, systems, prices and scenarios, for filtering rows."""
    sizes: dict[str, int]
    """Number of models, systems at each count, prices and scenarios that are combined."""
    matching: int = Field(description="Number of rows that match the filters.")
    rows: list[SweepRow] = Field(description="Rows, in the requested order.")
    next: str | None = Field(description="Cursor of the next page of rows; null on the last page.")
    request: dict[str, JsonValue] = Field(description="Original request.")


class Job(Document):
    """A long-running job, with its progress and the address of its result."""

    id: str = Field(description="Identifier of the job; the same as that of its result.")
    kind: Literal["sweep"] = Field(description="Kind of job.")
    status: Status = Field(description="Status: waiting, under way or ended.")
    total: int = Field(description="Total number of steps.")
    done: int = Field(description="Number of steps completed.")
    result: str = Field(description="Address of the result; complete once the status is “done”.")


def csv_lines(rows: Iterable[SweepRow]) -> Iterator[str]:
    """Return the lines of a CSV file (RFC 4180), starting with the header.

    Text that a spreadsheet would take for a formula is prefixed with an apostrophe. Booleans are ``true``
    or ``false``; missing values are empty.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns())
    for row in rows:
        yield taken(buffer)
        writer.writerow(written(value) for value in cells(row))
    yield taken(buffer)


def parquet(rows: Iterable[SweepRow]) -> bytes:
    """Return a Parquet file with the columns of the CSV file, typed."""
    need("polars", "parquet")
    import polars

    types = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
    schema = {name: types[kind] for name, kind in columns().items()}
    frame = polars.DataFrame([list(cells(row)) for row in rows], schema=schema, orient="row")
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
