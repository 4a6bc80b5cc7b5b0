"""The form of a network choice: its terms, and measured runs by network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import QueryParams

from app.errors import AppError, BadInput, FieldError
from app.estimating.numbers import PERCENT, PLAIN, number_in, numbers_in
from app.features.networks.model import FabricChoiceRequest, NetworkTerms
from app.features.studies.frame import StudyQuestion
from app.platform.json_bodies import checked
from app.platform.web.forms import typed
from app.platform.web.query_forms import QueryForm

KNOWN = ("threshold", "oversubscription", "reference", "installed", "options")

RUNS = "runs-"
"""Prefix of the fields of measured runs, before the identifier of the network."""

NETWORK = re.compile(
    r"(?P<fabric>[a-z0-9-]{1,60}?)-(?P<ports>\d{1,3})(?:-(?P<ratio>\d{1,2}(?:\.\d{1,2})?)to1)?"
)
"""Identifier of a network: fabric, ports and oversubscription."""

SEPARATOR = re.compile(r"[\s,;]+")

USUAL_TERMS = {"threshold": "5", "oversubscription": "1"}

VIEW = "network"


class NetworkForm(QueryForm[NetworkTerms]):
    """A form whose threshold is in per cent, whose networks are a list, and which has runs by network."""

    def values(self, query: QueryParams | Mapping[str, Sequence[str]]) -> dict[str, str]:
        texts_by_name = typed(query) if isinstance(query, QueryParams) else query
        fields = {name: texts[-1].strip() for name, texts in texts_by_name.items()}
        own = [name for name in fields if name in KNOWN or name.startswith(RUNS)]
        return {name: fields[name] for name in own if fields[name]}

    def request(self, values: Mapping[str, str]) -> NetworkTerms:
        try:
            return checked(NetworkTerms, body_of(values))
        except AppError as error:
            raise at_form_fields(error) from None


FORM = NetworkForm(NetworkTerms)


def body_of(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a form as the body of network terms."""
    body: dict[str, Any] = {}
    if "reference" in values:
        body["reference"] = values["reference"]
    if "threshold" in values:
        body["threshold"] = number_in(values["threshold"], PERCENT, "threshold")
    if "oversubscription" in values:
        text = values["oversubscription"].removesuffix(":1")
        body["oversubscription"] = number_in(text, PLAIN, "oversubscription")
    if "installed" in values:
        body["installed"] = [values["installed"]]
    if "options" in values:
        body["options"] = [_network(network) for network in SEPARATOR.split(values["options"]) if network]
    runs = {name: numbers_in(text, PLAIN, name) for name, text in values.items() if name.startswith(RUNS)}
    body["measured"] = {name.removeprefix(RUNS): rates for name, rates in runs.items()}
    return body


def choice_request(question: StudyQuestion, terms: NetworkTerms | None = None) -> FabricChoiceRequest:
    """Return the request for an option; the terms default to those its study holds."""
    assert question.request is not None, "a stated figure has no network"
    if terms is None:
        terms = FORM.request(FORM.filled({**USUAL_TERMS, **question.content.views.get(VIEW, {})}))
    fields = terms.model_dump(exclude_unset=True)
    limits = question.content.limits.model_dump(exclude_unset=True)
    estimate = question.request.model_dump(exclude_unset=True)
    return checked(FabricChoiceRequest, {**fields, "limits": limits, "estimate": estimate})


def _network(text: str) -> dict[str, Any]:
    match = NETWORK.fullmatch(text)
    if match is None:
        raise BadInput.at(
            "options",
            "“{text}” is not a network; enter fabric and ports, such as hdr-infiniband-8 or roce-100-4-2to1",
            text=text[:60],
        )
    ratio = match["ratio"]
    return {
        "fabric": match["fabric"],
        "ports_per_node": int(match["ports"]),
        **({"oversubscription": float(ratio)} if ratio else {}),
    }


def at_form_fields(error: AppError) -> AppError:
    """Return an error at the fields of the form, each once."""
    fields: dict[str, FieldError] = {}
    for entry in error.errors:
        name = parameter_of(entry.field)
        fields.setdefault(name, FieldError(name, entry.message))
    entries = list(fields.values())
    return type(error)(entries[0].message if len(entries) == 1 else error.message, entries)


def parameter_of(field: str) -> str:
    """Return the form's field for a field of the request.

    >>> parameter_of("measured.roce-100-8.0"), parameter_of("options.1.fabric"), parameter_of("installed.0")
    ('runs-roce-100-8', 'options', 'installed')
    """
    head, _, rest = field.partition(".")
    return f"{RUNS}{rest.partition('.')[0]}" if head == "measured" and rest else head
