"""The model profile: a model as operators with counts, shapes and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from app.catalog.figures import Figure, Source
from app.engine.operators.table import Kind, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.errors import BadInput, Message
from app.profiles.bodies import (
    ArchitectureBody,
    Body,
    FigureBody,
    OperatorBody,
    TransformerBody,
    operator_from_json,
    operator_table,
    operator_to_json,
    scaled_target,
    shape_from_json,
    shape_to_json,
)

FORMAT = 1
"""Version of the stored form."""
LONGEST_TAKEN = 4096
"""Largest number of positions of a configuration that is taken for a training length. [tokens]"""


@dataclass(frozen=True, slots=True)
class DimensionSource:
    title: str
    url: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """Published parameter count and training of a model."""

    parameters: float | None = None
    note: str = ""
    """How the authors count the parameters, where that differs."""
    training: tuple[Figure, ...] = field(default=(), compare=False)
    """Lengths, amount and batch of the training; assumptions are marked by their source."""

    @property
    def seq_len(self) -> int | None:
        """Length of a sequence in that training. [tokens]"""
        return self._whole("seq_len")

    @property
    def image_size(self) -> int | None:
        """Side of an image in that training. [pixels]"""
        return self._whole("image_size")

    @property
    def tokens(self) -> float | None:
        return self._value("tokens")

    @property
    def epochs(self) -> float | None:
        return self._value("epochs")

    @property
    def dataset_samples(self) -> float | None:
        return self._value("dataset_samples")

    @property
    def samples(self) -> float | None:
        """Samples trained on, where they are stated or follow from the epochs."""
        epochs, size = self.epochs, self.dataset_samples
        return epochs * size if epochs is not None and size is not None else self._value("samples")

    @property
    def target(self) -> str | None:
        """Convergence target of the catalogue at which the training stops."""
        figure = self._figure("target")
        return figure.text if figure else None

    @property
    def global_batch(self) -> int | None:
        tokens, seq_len = self._value("batch_tokens"), self.seq_len
        if tokens is not None and seq_len is not None:
            return round(tokens / seq_len)
        return self._whole("global_batch")

    @property
    def amount(self) -> Figure | None:
        """The figure of the length of the training."""
        return next(filter(None, map(self._figure, ("target", "tokens", "epochs", "samples"))), None)

    @property
    def source(self) -> Source | None:
        """Source of the length of the training."""
        return self.amount.source if self.amount else None

    @property
    def assumed(self) -> bool:
        """True where the length of the training is an assumption."""
        return self.amount is not None and self.amount.source.id == ASSUMED

    @property
    def workload(self) -> dict[str, str | int | float]:
        """The fields of a request that repeat the training; the batch is left to the search."""
        fields = {
            name: value
            for name in ("seq_len", "image_size", "tokens", "epochs", "dataset_samples", "samples")
            if (value := self._value(name)) is not None
        }
        whole: dict[str, str | int | float] = {
            name: int(value) if value == int(value) else value for name, value in fields.items()
        }
        return {**whole, "target": self.target} if self.target else whole

    def _figure(self, parameter: str) -> Figure | None:
        return next((figure for figure in self.training if figure.parameter == parameter), None)

    def _value(self, parameter: str) -> float | None:
        figure = self._figure(parameter)
        return figure.value if figure else None

    def _whole(self, parameter: str) -> int | None:
        value = self._value(parameter)
        return None if value is None else round(value)


ASSUMED = "rackline-assumption"
"""Source of assumed figures of a training."""


@dataclass(frozen=True, slots=True)
class ScoredTokens:
    """Tokens of a sample that the output layer scores."""

    share: float = 1.0
    table: tuple[tuple[int, int], ...] = ()
    """Published pairs of length and scored tokens; they go before the share."""

    def of(self, seq_len: float) -> float:
        """Return the scored tokens of one sample."""
        return float(dict(self.table).get(int(seq_len), self.share * seq_len))


@dataclass(frozen=True)
class ModelProfile:
    """A model that can be sized.

    A profile is either computed at any length and image size (transformer, architecture), or
    fixed at the size its file was written for (operators), or a bare figure.
    """

    id: str
    name: str
    family: str
    origin: str
    """preset, config, onnx, layers, transformer or total_flop."""
    body: Body
    source: DimensionSource | None = None
    published: Publication = Publication()
    assumptions: tuple[Message, ...] = ()
    doubts: tuple[Message, ...] = ()
    """What of the file is not understood: its figures may be far off."""
    default_seq_len: int | None = None
    default_image_size: int | None = None
    stated_length: bool = False
    """True where the default length was stated, and is no limit on positions."""
    scored: ScoredTokens = ScoredTokens()
    hugging_face: tuple[str, ...] = ()
    """Names under which the same dimensions are published on Hugging Face."""

    @property
    def usual_seq_len(self) -> int | None:
        """Default length of a sample: a limit on positions is not a training length. [tokens]"""
        return LONGEST_TAKEN if self.limited else self.default_seq_len

    @property
    def limited(self) -> bool:
        """True where the default length is a limit on positions above :data:`LONGEST_TAKEN`."""
        longest = self.default_seq_len or 0
        return self.origin == "config" and not self.stated_length and longest > LONGEST_TAKEN

    def of_length(self, seq_len: int | None) -> ModelProfile:
        """Return the profile with another default length of a sample; itself without one. [tokens]"""
        if seq_len is None or self.default_seq_len is None:
            return self
        body = self.body
        if isinstance(body, TransformerBody):
            shape = scaled_target(body.shape, float(seq_len), float(self.default_seq_len))
            body = replace(body, shape=shape)
        notes = tuple(note for note in self.assumptions if not note.template.startswith("samples "))
        return replace(self, body=body, default_seq_len=seq_len, assumptions=notes, stated_length=True)

    def of_side(self, image_size: int | None) -> ModelProfile:
        """Return the profile with another default size of an image; itself without one. [pixels]"""
        if image_size is None or self.default_image_size is None:
            return self
        return replace(self, default_image_size=image_size)

    def operators(self, tokens: Tokens | None = None, image_size: int | None = None) -> OperatorTable:
        """Return the operators of one sample, by default at the profile's usual size."""
        if tokens is None and self.usual_seq_len is not None:
            tokens = self.tokens(self.usual_seq_len)
        if image_size is None:
            image_size = self.default_image_size
        return operator_table(self.body, tokens, image_size, float(self.default_seq_len or 0))

    def tokens(
        self,
        seq_len: int,
        mean_tokens: float | None = None,
        squared: float | None = None,
        *,
        packed: bool = False,
    ) -> Tokens:
        if seq_len < 1:
            raise BadInput.at("workload.seq_len", "must be at least 1, not {value}", value=seq_len)
        rows = float(seq_len)
        if mean_tokens is None:
            return Tokens(rows=rows, mean=rows, squared=rows * rows, scored=self.scored.of(rows))
        if not 0 < mean_tokens <= rows:
            raise BadInput.at(
                "workload.mean_tokens",
                "must be above 0 and at most the row length {seq_len}, not {value}",
                seq_len=seq_len,
                value=mean_tokens,
            )
        if packed:
            area = mean_tokens * rows
        elif squared is not None:
            area = min(max(squared, mean_tokens**2), mean_tokens * rows)
        else:
            area = mean_tokens**2 + min(mean_tokens, rows - mean_tokens) ** 2 / 3
        scored = self.scored.of(rows) if mean_tokens == rows else self.scored.share * mean_tokens
        return Tokens(rows=rows, mean=mean_tokens, squared=area, scored=scored)

    @property
    def total_flop(self) -> float | None:
        """Training compute of a bare figure. [FLOP]"""
        return self.body.total_flop if isinstance(self.body, FigureBody) else None

    @cached_property
    def parameters(self) -> float:
        """Parameters of the model; 0 for a bare figure."""
        return 0.0 if isinstance(self.body, FigureBody) else self.operators().parameters

    @cached_property
    def active_parameters(self) -> float:
        """Parameters one token uses; 0 for a bare figure."""
        return 0.0 if isinstance(self.body, FigureBody) else self.operators().active_parameters

    @cached_property
    def forward_flop_per_sample(self) -> float:
        """Model FLOP of the forward pass of one sample at the default size. [FLOP]"""
        return 0.0 if isinstance(self.body, FigureBody) else float(np.sum(self.operators().forward_flop))

    def summary(self) -> list[dict[str, object]]:
        """Return the operators at the default size as rows a reader can check."""
        if isinstance(self.body, FigureBody):
            return []
        table = self.operators()
        flop = table.forward_flop
        rows: list[dict[str, object]] = []
        for index, name in enumerate(table.names):
            kind = Kind(int(table.kind[index]))
            pointwise = Pointwise(int(table.pointwise[index]))
            label = pointwise.name if kind is Kind.POINTWISE else kind.name
            rows.append(
                {
                    "name": name,
                    "kind": label.lower(),
                    "count": float(table.count[index]),
                    "parameters": float(table.weights[index] * table.count[index]),
                    "forward_flop": float(flop[index]),
                    "elements": float(table.elements[index] * table.count[index]),
                }
            )
        return rows

    def to_json(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "id": self.id,
            "name": self.name,
            "family": self.family,
            "origin": self.origin,
            "source": None
            if self.source is None
            else {"title": self.source.title, "url": self.source.url, "date": self.source.date},
            "published": None
            if self.published.parameters is None
            else {"parameters": self.published.parameters, "note": self.published.note},
            "assumptions": [message_to_json(message) for message in self.assumptions],
            **({"doubts": [message_to_json(message) for message in self.doubts]} if self.doubts else {}),
            "default_seq_len": self.default_seq_len,
            "default_image_size": self.default_image_size,
            "scored": {"share": self.scored.share, "table": [list(pair) for pair in self.scored.table]},
            **({"stated_length": True} if self.stated_length else {}),
            **({"hugging_face": list(self.hugging_face)} if self.hugging_face else {}),
            "body": body_to_json(self.body),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> ModelProfile:
        """Return the profile of a document written by :meth:`to_json` or of a preset file."""
        source = cast("Mapping[str, str] | None", document.get("source"))
        published = cast("Mapping[str, object] | None", document.get("published"))
        scored = cast("Mapping[str, object]", document.get("scored") or {})
        pairs = cast("list[list[int]]", scored.get("table", []))
        return cls(
            id=str(document["id"]),
            name=str(document["name"]),
            family=str(document["family"]),
            origin=str(document["origin"]),
            body=body_from_json(cast("Mapping[str, object]", document["body"])),
            source=None if source is None else DimensionSource(**source),
            published=Publication(**published) if published else Publication(),  # type: ignore[arg-type]
            assumptions=tuple(
                message_from_json(entry)
                for entry in cast("list[Mapping[str, object]]", document.get("assumptions", []))
            ),
            doubts=tuple(
                message_from_json(entry)
                for entry in cast("list[Mapping[str, object]]", document.get("doubts", []))
            ),
            default_seq_len=cast("int | None", document.get("default_seq_len")),
            default_image_size=cast("int | None", document.get("default_image_size")),
            scored=ScoredTokens(
                cast("float", scored.get("share", 1.0)), tuple((pair[0], pair[1]) for pair in pairs)
            ),
            stated_length=document.get("stated_length") is True,
            hugging_face=tuple(cast("list[str]", document.get("hugging_face", []))),
        )


def body_to_json(body: Body) -> dict[str, object]:
    match body:
        case TransformerBody(shape=shape, patch=patch):
            return {"kind": "transformer", "shape": shape_to_json(shape), "patch": patch}
        case ArchitectureBody(name=name, options=options):
            return {"kind": "architecture", "name": name, "options": dict(options)}
        case OperatorBody():
            return {
                "kind": "operators",
                "operators": [operator_to_json(operator) for operator in body.operators],
                "depth": body.depth,
                "hidden": body.hidden,
                "tokens": body.tokens,
                "heads": body.heads,
            }
        case FigureBody(total_flop=total_flop):
            return {"kind": "figure", "total_flop": total_flop}


def body_from_json(document: Mapping[str, object]) -> Body:
    values = {name: value for name, value in document.items() if name != "kind"}
    match document["kind"]:
        case "transformer":
            shape = shape_from_json(cast("Mapping[str, object]", values["shape"]))
            return TransformerBody(shape, int(cast("int", values.get("patch", 0))))
        case "architecture":
            options = cast("Mapping[str, int | float | str | bool]", values.get("options", {}))
            return ArchitectureBody(str(values["name"]), tuple(sorted(options.items())))
        case "operators":
            rows = cast("list[Mapping[str, object]]", values.pop("operators"))
            return OperatorBody(tuple(map(operator_from_json, rows)), **values)  # type: ignore[arg-type]
        case _:
            return FigureBody(cast("float", values["total_flop"]))


def message_to_json(message: Message) -> dict[str, object]:
    return {
        "template": message.template,
        "values": {
            name: message_to_json(value) if isinstance(value, Message) else value
            for name, value in message.values.items()
        },
    }


def message_from_json(document: Mapping[str, object]) -> Message:
    values = cast("Mapping[str, object]", document.get("values", {}))
    return Message(
        str(document["template"]),
        {
            name: message_from_json(value) if isinstance(value, Mapping) else value
            for name, value in values.items()
        },
    )
