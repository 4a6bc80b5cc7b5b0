"""The API held against its own description: cases made from it, every check of schemathesis on each answer.

Requests are made from the OpenAPI document, right and wrong ones, and sent to the application in this
process. Nothing is left out. One check is narrowed, where a schema cannot say what makes a request right:
which operations, and why, is :data:`MORE_THAN_A_SCHEMA_SAYS`; two are off for one operation each,
:data:`KEPT` and :data:`UPLOADED`.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from fastapi import FastAPI
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

DESCRIPTION = "/api/v1/openapi.json"
HOST = "localhost"
THIS_MACHINE = ("127.0.0.1", 50000)

ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "429"]
"""What the check of right requests takes of itself, without server errors."""

CURSORS = "a cursor or a tag is one of an earlier answer"
RELATED = "fields that go together, exclude each other or must fit the model, system or entry that is named"
CONTENT = "whether a file can be read is known once it has been read"
NAMES = "what things are called must be of characters that can be shown"
MEASURED = "families, chips, sizes and kinds of errors are those of measured runs"
STATE = "a row, option or version must be there in the state that is changed"

MORE_THAN_A_SCHEMA_SAYS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "list_(chips|machines|systems|fabrics|models|software|sources)",
            "list_(profiles|workloads|estimates|sizings|comparisons|studies|calibrations|sweeps|proposals)",
            "list_(accelerators|price_books|bills|keys|webhooks|deliveries|audit_events)",
            "export_audit_(events|lines)",
            "get_(sweep|sizing)",
        ),
        CURSORS,
    ),
    **dict.fromkeys(
        (
            "create_(accelerator|estimate|sizing|comparison|study|calibration|sweep|proposal|bill)",
            "import_study",
            "run_search",
            "scale_system",
            "choose_fabric",
            "serve_model",
            "map_model",
            "check_plan",
            "plan_(partitions|fabric)",
            "simulate_queue",
            "find_break_even",
            "list_claims",
            "get_claim",
            "compare_bills",
        ),
        RELATED,
    ),
    "create_key": NAMES,
    "get_accuracy": MEASURED,
    **dict.fromkeys(("create_(profile|workload|price_book)",), f"{CONTENT}; {RELATED}"),
    **dict.fromkeys(
        (
            "change_(accelerator|comparison|study|proposal|price_book)",
            "replace_price_book",
            "(answer|compare|duplicate)_study",
            "(share|review)_proposal",
            "delete_study",
            "delete_(comparison|price_book|proposal)",
            "(create|change)_webhook",
        ),
        f"{STATE}; {CURSORS}; {RELATED}",
    ),
}
"""Operations that may answer a request of the right form with 400, 412, 413 or 422, by a pattern of their
names, and why. The answer is still held against its description, and must be a problem."""

KEPT = "get_key"
"""What can still be read once it was deleted: a revoked key stays in the list, as revoked."""

UPLOADED = "get_profile_file"
"""What not every profile has: one that was sent as JSON came without a file."""

NARROWING = ("fields", "view")
"""Parameters that are left alone: an answer in part lacks fields of its description, as was asked."""

REPEATED = "Idempotency-Key"
"""A parameter that chains of requests leave alone: to a key used before, the first answer is given again,
and what it names may be gone since."""

REFUSED = ["400", "412", "413", "422"]
REJECTED = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "428", "429"]
"""How wrong input may be refused: what is larger than allowed may be so before it is read (413)."""


GIVEN_UP = "Cannot generate an array with"
"""What schemathesis says when one of its ways to a wrong array turns out to lead nowhere: it then makes no
further cases of the operation in this phase. That is a fault of its own and tells nothing of an answer."""


@dataclass(slots=True)
class Findings:
    """What came out of a run."""

    operations: set[str] = field(default_factory=set)
    cases: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """One failure of each check and operation, with the request that shows it."""
    counted: collections.Counter[str] = field(default_factory=collections.Counter)
    given_up: set[str] = field(default_factory=set)
    """Operations of which no further cases were made: see :data:`GIVEN_UP`."""

    def note(self, kind: str, operation: str, told: str) -> None:
        """Note a failure."""
        self.counted[kind] += 1
        self.failures.setdefault(f"{kind}: {operation}", told[:2000])

    def report(self) -> str:
        """Return all failures as text."""
        return "\n\n".join(f"{where}\n{told}" for where, told in self.failures.items())


def examine(
    application: FastAPI, *phases: str, examples: int = 5, seconds: int | None = None, only: str | None = None
) -> Findings:
    """Make requests out of the description and hold every answer against it.

    Parameters
    ----------
    application : FastAPI
        The application, which has to answer to the host ``localhost``. [-]
    phases : str
        Of ``examples``, ``coverage``, ``fuzzing`` and ``stateful``. [-]
    examples : int
        Cases that fuzzing makes for one operation. [-]
    seconds : int, optional
        Time after which no further case is begun. [s]
    only : str, optional
        Pattern of the names of the operations to look at. [-]
    """
    config = SchemathesisConfig.from_dict(settings(phases, examples, only))
    config.max_time = seconds
    schema = schemathesis.openapi.from_asgi(
        DESCRIPTION, without_background(application), config=config, headers={"Host": HOST}
    )
    for operations in schema.raw_schema["paths"].values():
        for operation in operations.values():
            # A parameter that several operations take is called in its reference as it is in itself.
            named = {
                one.get("name") or one["$ref"].rpartition("/")[2]: one
                for one in operation.get("parameters", ())
            }
            left_alone = (*NARROWING, REPEATED) if "stateful" in phases else NARROWING
            operation["parameters"] = [one for name, one in named.items() if name not in left_alone]
    found = Findings()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            found.operations |= {case.value.operation.label for case in event.recorder.cases.values()}
            found.cases += len(event.recorder.interactions)
            for checks in event.recorder.checks.values():
                for check in checks:
                    if check.failure_info is not None:
                        told = f"{check.failure_info.failure.message}\n{check.failure_info.code_sample}"
                        found.note(check.name, event.label or event.recorder.label, told)
        elif isinstance(event, events.NonFatalError):
            told = event.info.format()
            if GIVEN_UP in told:
                found.given_up.add(event.label)
            else:
                found.note("error", event.label, told)
        elif isinstance(event, events.FatalError):
            raise event.exception
    return found


def settings(phases: tuple[str, ...], examples: int, only: str | None = None) -> dict[str, Any]:
    """Return the settings of a run: every check, the same cases each time, some operations only."""
    others = [] if only is None else [{"exclude-operation-id-regex": only, "enabled": False}]
    return {
        "base-url": f"http://{HOST}",
        # How long an answer takes on a busy machine is no fault of it.
        "request-timeout": 60,
        "cache": {"enabled": False},
        "continue-on-failure": True,
        "seed": 1,
        "generation": {"max-examples": examples, "deterministic": True, "no-shrink": True},
        "phases": {
            name: {"enabled": name in phases} for name in ("examples", "coverage", "fuzzing", "stateful")
        },
        "checks": {"negative_data_rejection": {"expected-statuses": REJECTED}},
        "operations": [
            *others,
            {
                "include-operation-id-regex": f"^{KEPT}$",
                "checks": {"use_after_free": {"enabled": False}},
            },
            {
                "include-operation-id-regex": f"^{UPLOADED}$",
                "checks": {"ensure_resource_availability": {"enabled": False}},
            },
            *(
                {
                    "include-operation-id-regex": f"^({pattern})$",
                    "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, *REFUSED]}},
                }
                for pattern in MORE_THAN_A_SCHEMA_SAYS
            ),
        ],
    }


def without_background(application: FastAPI) -> Any:
    """Return an application that answers and computes nothing in the background."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await application({**scope, "client": THIS_MACHINE}, receive, send)
            return
        for stage in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{stage}.complete"})

    return serve
