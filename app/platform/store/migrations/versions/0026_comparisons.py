"""Comparisons as studies, whose estimates are kept with them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import DOCUMENT

revision = "0026"
down_revision = "0025"

MOVED = ("comparison_option", "comparison")

KEYS = "abcdefgh"
"""Keys of the options of a comparison, of which there are at most eight."""


def upgrade() -> None:
    op.add_column("study", sa.Column("kind", sa.String(20), nullable=False, server_default="study"))
    op.add_column("study_version", sa.Column("estimates", DOCUMENT, nullable=False, server_default="{}"))
    op.drop_index("ix_study_listing", "study")
    listed = ["workspace_id", "kind", "archived", "saved", "created_at", "id"]
    op.create_index("ix_study_listing", "study", listed)
    move_comparisons()
    for table in MOVED:
        op.drop_table(table)


def move_comparisons() -> None:
    connection = op.get_bind()
    metadata = sa.MetaData()
    metadata.reflect(
        connection, only=["comparison", "comparison_option", "estimate", "study", "study_version"]
    )
    tables = metadata.tables
    # Reflected columns would give documents as SQLite keeps them.
    for table, column in (("comparison_option", "request"), ("comparison", "limits")):
        tables[table].c[column].type = DOCUMENT
    for column in ("content", "changes", "estimates"):
        tables["study_version"].c[column].type = DOCUMENT
    option, estimate = tables["comparison_option"], tables["estimate"]
    for row in connection.execute(sa.select(tables["comparison"])).mappings().all():
        comparison = dict(row)
        rows = connection.execute(
            sa.select(option.c.request, option.c.estimate_id, estimate.c.label)
            .outerjoin(
                estimate,
                sa.and_(
                    estimate.c.workspace_id == option.c.workspace_id, estimate.c.id == option.c.estimate_id
                ),
            )
            .where(option.c.workspace_id == row["workspace_id"], option.c.comparison_id == row["id"])
            .order_by(option.c.position)
        ).all()
        labels = labels_of([(request.get("label") or "", label or "") for request, _, label in rows])
        content = study_of(comparison, dict(zip(labels, (request for request, _, _ in rows), strict=True)))
        shared = {"workspace_id": row["workspace_id"], "version": row["version"]}
        study = {
            **{name: row[name] for name in ("id", "created_at", "updated_at")},
            **shared,
            "name": content["name"],
            "sought": " ".join(content["name"].casefold().split())[:600],
            "options": len(rows),
            "archived": False,
            "saved": True,
            "customer": "",
            "kind": "comparison",
        }
        version = {
            **shared,
            "study_id": row["id"],
            "content": content,
            "changes": [],
            "created_at": row["updated_at"],
            "estimates": {key: each.estimate_id for key, each in zip(KEYS, rows, strict=False) if each[1]},
        }
        connection.execute(sa.insert(tables["study"]).values(**study))
        connection.execute(sa.insert(tables["study_version"]).values(**version))


def labels_of(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return labels, each its own or that of its estimate; the later ones of equal ones are numbered."""
    labels: list[str] = []
    for own, usual in pairs:
        label = own or usual or str(len(labels) + 1)
        numbered = itertools.chain([label], (f"{label} ({number})" for number in itertools.count(2)))
        free = own and own not in labels
        taken = labels if free else [*labels, *(other for other, _ in pairs)]
        labels.append(next(name for name in numbered if name not in taken))
    return labels


def stated(part: Any) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None} if part else {}


def study_of(comparison: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the study of a comparison states; fields that all estimates share are its base."""
    estimates = [request for request in rows.values() if "hours" not in request and "kind" not in request]
    shared = {part: shared_by([stated(each.get(part)) for each in estimates]) for part in PARTS}
    model = stated(estimates[0].get("model")) if estimates else {}
    software = {request.get("software") for request in estimates}
    base: dict[str, Any] = {"model": model, **shared, "currency": comparison["currency"]}
    if len(software) == 1 and (only := software.pop()):
        base["software"] = only
    keys = dict(zip(rows, KEYS, strict=False))
    options = []
    for label, request in rows.items():
        option: dict[str, Any] = {"key": keys[label], "label": label[:200]}
        if "hours" in request or "kind" in request:
            figure = {name: value for name, value in stated(request).items() if name != "label"}
            # Figures with hours of their own could name what is no row.
            base_key = keys.get(figure.pop("scaled_from", ""))
            option["figure"] = {**figure, **({"scaled_from": base_key} if base_key else {})}
            options.append(option)
            continue
        option |= {part: stated(request.get(part)) for part in ("system", "plan")}
        for part in PARTS:
            own = stated(request.get(part)).items()
            option[part] = {name: value for name, value in own if name not in shared[part]}
        if stated(request.get("model")) != model:
            option["model"] = stated(request.get("model"))
        if "software" not in base and request.get("software"):
            option["software"] = request["software"]
        options.append(option)
    name = comparison["title"].strip() or " · ".join(rows)
    content = {"name": name[:200], "base": base, "options": options}
    content["limits"] = comparison["limits"]
    if comparison["locale"] != "en":
        content["views"] = {"proposal": {"locale": comparison["locale"]}}
    return content


PARTS = ("workload", "assumptions")
"""Parts of a request of which an option of a study states only what differs from its base."""


def shared_by(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = parts or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
