"""Which system a study needs: its question as a sizing, its filters, and a search with progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.errors import AppError, BadInput, Message
from app.estimating.numbers import WHOLE, number_in
from app.features.sizings.model import (
    LARGEST_ACCELERATORS,
    MOST_ACCELERATORS,
    MOST_SYSTEMS,
    Sizing,
    SizingOption,
    SizingRequest,
    check,
)
from app.features.sizings.service import find_sizing, judged_sizing, sizing_id, stored_sizing
from app.features.studies.model import StudyContent, stated, training_of
from app.platform.json_bodies import checked
from app.platform.worker_processes import ClientGone, never
from app.platform.workspace import Workspace

logger = logging.getLogger("rackline.sizing")

KINDS = ("gpu", "ipu", "cloud")
"""Kinds of systems to choose from: owned ones by their chips, and rented ones."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which systems are considered; fields of the view beside those of the study."""

    kinds: Sequence[str] = KINDS
    systems: Sequence[str] = ()
    """Identifiers; empty for the whole catalogue."""
    most: int | None = None
    """Accelerators of the largest system."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Filters:
        """Return the filters that the fields of a view hold."""
        kinds = [kind for kind in KINDS if kind in fields.get("kind", "").split(",")]
        most = None
        if text := fields.get("accelerators", "").strip():
            most = int(number_in(text, WHOLE, "accelerators"))
            if not 1 <= most <= LARGEST_ACCELERATORS:
                raise BadInput.at(
                    "accelerators", "must be a whole number from 1 to {most}", most=LARGEST_ACCELERATORS
                )
        return cls(kinds or KINDS, [name for name in fields.get("system", "").split(",") if name], most)

    def named(self, workspace: Workspace) -> list[str]:
        """Return the systems that are chosen by name, without those of other kinds."""
        known = workspace.catalogue.systems.documents
        return sorted(name for name in self.systems if name in known and self._of_kind(workspace, name))

    def _of_kind(self, workspace: Workspace, name: str) -> bool:
        system = workspace.catalogue.systems.documents[name]
        return ("cloud" if system.acquisition == "rent" else system.chip_kind) in self.kinds

    def wanted(self, workspace: Workspace) -> Callable[[SizingOption], bool]:
        """Return the predicate that selects the options to consider."""

        def wants(option: SizingOption) -> bool:
            chosen = not self.systems or option.system in self.systems
            few = option.accelerators <= (self.most or LARGEST_ACCELERATORS)
            return chosen and few and self._of_kind(workspace, option.system)

        return wants


@dataclass(frozen=True, slots=True)
class SystemQuestion:
    """The question of a study about all systems, with its limits and filters."""

    workspace: Workspace
    unlimited: SizingRequest
    """Request without limits and filters, which need no search of their own."""
    request: SizingRequest
    """Request with limits."""
    filters: Filters

    @property
    def identifier(self) -> str:
        """Identifier of the answer."""
        return sizing_id(self.workspace, self.unlimited)

    def answer(self) -> Sizing | None:
        """Return the answer if the search has been made."""
        stored = stored_sizing(self.workspace, self.identifier)
        if stored is None:
            return None
        wanted = self.filters.wanted(self.workspace)
        return judged_sizing(self.workspace, stored, self.request, wanted)

    def search(self, gone: Callable[[], bool] = never) -> Sizing:
        """Return the answer, searching first unless it is stored; stops when ``gone`` returns True."""
        if stored_sizing(self.workspace, self.identifier) is None:
            find_sizing(self.workspace, self.identifier, self.unlimited, gone=gone)
        answer = self.answer()
        assert answer is not None, "a search stores its answer"
        return answer


def question_of(workspace: Workspace, content: StudyContent, filters: Filters) -> SystemQuestion | None:
    """Return the question of a study about all systems; None if it has no model."""
    body = asked_of(content)
    if body is None:
        return None
    if (filters.most or 0) > MOST_ACCELERATORS:
        body["most_accelerators"] = filters.most
    if filters.systems:
        # What is named is searched at every count, also where the whole catalogue has something better.
        body["systems"] = filters.named(workspace)[:MOST_SYSTEMS]
        if not body["systems"]:
            raise BadInput("no system is left: use fewer filters")
    limits = {**stated(content.limits)}
    unlimited, request = checked(SizingRequest, body), checked(SizingRequest, {**body, **limits})
    check(request)
    return SystemQuestion(workspace, unlimited, request, filters)


def asked_of(content: StudyContent) -> dict[str, Any] | None:
    """Return a study's question as the body of a sizing request; None if it has no model."""
    base, (model, workload) = content.base, training_of(content)
    if not model:
        return None
    parts = {"assumptions": stated(base.assumptions), "software": base.software}
    return {"model": model, "workload": workload, "currency": base.currency} | {
        name: part for name, part in parts.items() if part
    }


class SizingCancellation(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """Progress of a search."""

    status: Literal["running", "done", "failed"] = "running"
    done: int = 0
    total: int = 1
    system: str = ""
    """Name of the system being searched."""
    message: Message | None = None
    """Why it failed."""

    @property
    def ended(self) -> bool:
        return self.status != "running"


class WatchedSearch:
    """A search that reports its progress and can be stopped."""

    def __init__(self, question: SystemQuestion) -> None:
        self.question = question
        known = stored_sizing(question.workspace, question.identifier) is not None
        self.state = SearchState("done", 1) if known else SearchState()
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        question = self.question
        if self.state.ended:
            return
        try:
            find_sizing(
                question.workspace,
                question.identifier,
                question.unlimited,
                self._watch,
                lambda: self._stopped,
            )
            self.state = replace(self.state, status="done", done=self.state.total)
        except (SizingCancellation, ClientGone):
            pass
        except AppError as error:
            self.state = replace(self.state, status="failed", message=error.message)
        except Exception:
            logger.exception("the search of systems failed")
            message = Message("the search failed; see the server's log")
            self.state = replace(self.state, status="failed", message=message)

    def _watch(self, done: int, total: int, system: str) -> None:
        if self._stopped:
            raise SizingCancellation
        self.state = SearchState("running", done, total, system)
