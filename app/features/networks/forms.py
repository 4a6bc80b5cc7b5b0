"""Addresses of network choices: query parameters to a request, and its errors back to the parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from app.errors import AppError, BadInput, FieldError, Unprocessable
from app.estimating.request import EstimateRequest
from app.features.networks.model import FabricChoiceRequest
from app.platform.web.forms import checked, plain_number, typed
from app.platform.web.rendering import DISPLAY_PARAMS

KNOWN = ("threshold", "oversubscription", "reference", "installed", "options", "price_book_id")

RUNS = "runs-"
"""Start of the parameters that hold measured runs; the identifier of the network follows."""

NETWORK = re.compile(
    r"(?P<fabric>[a-z0-9-]{1,60}?)-(?P<ports>\d{1,3})(?:-(?P<ratio>\d{1,2}(?:\.\d{1,2})?)to1)?"
)
"""Identifier of a network: fabric, ports and oversubscription."""

TOGETHER = re.compile(r"\d{1,3}(?:,\d{3})+")
"""Numbers joined by commas alone, which may also be one number with its thousands set apart."""

SEPARATOR = re.compile(r"[\s,;]+")

Values = Mapping[str, str]


def read_query(query: QueryParams) -> dict[str, str]:
    """Return the parameters of an address apart from how it is shown; of repeated ones the last."""
    return {name: found[-1] for name, found in typed(query).items() if name not in DISPLAY_PARAMS}


def written_query(values: Mapping[str, str]) -> str:
    """Return parameters as the query of an address, without those that are empty."""
    order = {name: place for place, name in enumerate(KNOWN)}
    names = sorted(values, key=lambda name: (order.get(name, len(order)), name))
    return urlencode([(name, values[name]) for name in names if values[name]], safe=",")


def asked(values: Values, estimate: EstimateRequest) -> FabricChoiceRequest:
    """Return the choice that an address asks for."""
    for name in values:
        if name not in KNOWN and not name.startswith(RUNS):
            raise Unprocessable.at(
                name[:80], "unknown parameter; use {known} or runs-…", known=", ".join(KNOWN)
            )
    body: dict[str, Any] = {name: values[name] for name in ("reference", "price_book_id") if name in values}
    if "threshold" in values:
        body["threshold"] = _share(values["threshold"])
    if "oversubscription" in values:
        body["oversubscription"] = plain_number(values["oversubscription"].removesuffix(":1"))
    if "installed" in values:
        body["installed"] = [values["installed"]]
    if "options" in values:
        body["options"] = [_network(one) for one in SEPARATOR.split(values["options"]) if one]
    runs = {name: _runs(name, text) for name, text in values.items() if name.startswith(RUNS)}
    body["measured"] = {name.removeprefix(RUNS): rates for name, rates in runs.items()}
    try:
        # The estimate is one already; what was typed is checked with it as the schema reads it.
        return checked(FabricChoiceRequest, {**body, "estimate": estimate.model_dump(exclude_unset=True)})
    except AppError as error:
        raise placed(error) from None


def _share(text: str) -> str:
    """Return a threshold in per cent as a share; other text as it is, for the schema to refuse."""
    try:
        return repr(float(plain_number(text.removesuffix("%").strip())) / 100.0)
    except ValueError:
        return text


def _network(text: str) -> dict[str, Any]:
    found = NETWORK.fullmatch(text)
    if found is None:
        raise BadInput.at(
            "options",
            "“{text}” is not a network; enter fabric and ports, such as hdr-infiniband-8 or roce-100-4-2to1",
            text=text[:60],
        )
    ratio = found["ratio"]
    return {
        "fabric": found["fabric"],
        "ports_per_node": int(found["ports"]),
        **({"oversubscription": float(ratio)} if ratio else {}),
    }


def _runs(name: str, text: str) -> list[str]:
    if TOGETHER.search(text):
        raise BadInput.at(
            name,
            "put a space after each comma, so that “{text}” is not read as one number",
            text=text[:60],
        )
    return [one for one in SEPARATOR.split(text) if one]


def placed(error: AppError) -> AppError:
    """Return an error with its fields named as the parameters of the address, each once."""
    fields: dict[str, FieldError] = {}
    for one in error.errors:
        name = parameter_of(one.field)
        fields.setdefault(name, FieldError(name, one.message))
    kept = list(fields.values())
    return type(error)(kept[0].message if len(kept) == 1 else error.message, kept)


def parameter_of(field: str) -> str:
    """Return the parameter of the address that a field of the request comes from.

    >>> parameter_of("measured.roce-100-8.0"), parameter_of("options.1.fabric"), parameter_of("installed.0")
    ('runs-roce-100-8', 'options', 'installed')
    """
    head, _, rest = field.partition(".")
    return f"{RUNS}{rest.partition('.')[0]}" if head == "measured" and rest else head
