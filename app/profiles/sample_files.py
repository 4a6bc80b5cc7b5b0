"""The formats a data sample may come in, read one sample after the other."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from app.errors import Message
from app.profiles.documents import DEPTH, parse_json, printable, unreadable
from app.profiles.parquet import parquet_samples
from app.profiles.sample_lengths import LENGTH_COLUMNS, LIST_COLUMNS, TEXT_COLUMNS, Sample

MOST_LINE = 4_000_000
"""Longest line read. [B]"""
ACCEPTED = Message("JSON lines, CSV, plain text with one sample per line, or Parquet")


def open_samples(name: str, stream: io.RawIOBase) -> Iterator[Sample]:
    """Return the samples of a file, whose format follows from its content, then from its name."""
    buffered: io.BufferedReader = io.BufferedReader(stream, 1 << 16)
    start = buffered.peek(1 << 16)[: 1 << 16]
    if not start:
        raise unreadable("{file} is empty; accepted: {accepted}", file=name, accepted=ACCEPTED)
    if start.startswith(b"PAR1"):
        return parquet_samples(name, buffered)
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise unreadable(
            "{file} is compressed; unpack it first; accepted: {accepted}", file=name, accepted=ACCEPTED
        )
    lines = text_lines(name, buffered)
    first = next(lines, (1, ""))
    lines = chain([first], lines)
    suffix = name.rpartition(".")[2].lower()
    if first[1].lstrip().startswith("{") or suffix in {"jsonl", "ndjson"}:
        return json_samples(name, lines)
    header = first[1].lower()
    if suffix in {"csv", "tsv"} or any(
        cell.strip().strip('"') in {*LENGTH_COLUMNS, *LIST_COLUMNS}
        for separator in ",;\t"
        for cell in header.split(separator)
    ):
        return csv_samples(name, lines)
    return (Sample(line, text=text) for line, text in lines if text.strip())


def text_lines(name: str, stream: io.BufferedReader) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers; refuse those that are too long."""
    marked = stream.peek(4)[:2] in {b"\xff\xfe", b"\xfe\xff"}
    if marked:
        raise unreadable("{file} is UTF-16; save it as UTF-8", file=name)
    number = 0
    while raw := stream.readline(MOST_LINE + 1):
        number += 1
        if len(raw) > MOST_LINE:
            raise unreadable(
                "{file}, line {line}: longer than {most} MB; one sample per line is expected",
                file=name,
                line=number,
                most=MOST_LINE / 1e6,
            )
        yield number, _text(name, raw, number)


def _text(name: str, raw: bytes, line: int) -> str:
    try:
        text = raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise unreadable(
            "{file}, line {line}: not text in UTF-8; save it as UTF-8", file=name, line=line
        ) from error
    if "\0" in text:
        raise unreadable("{file}, line {line}: contains a NUL character", file=name, line=line)
    return text


def json_samples(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Sample]:
    for number, text in lines:
        if not text.strip():
            continue
        value = parse_json(name, text, line=number)
        if not isinstance(value, Mapping):
            raise unreadable(
                "{file}, line {line}: each line must contain one JSON object", file=name, line=number
            )
        yield object_sample(name, number, value)


def object_sample(name: str, line: int, value: Mapping[str, object]) -> Sample:
    """Return the sample of one object: a length, a list of tokens, or text."""
    for column in LENGTH_COLUMNS:
        if column in value:
            return Sample(line, length=_length(name, line, column, value[column]))
    for column in LIST_COLUMNS:
        tokens = value.get(column)
        if isinstance(tokens, list | tuple):
            return Sample(line, length=max(len(tokens), 1))
        if isinstance(tokens, int | float) and not isinstance(tokens, bool):
            return Sample(line, length=_length(name, line, column, tokens))
    for column in TEXT_COLUMNS:
        text = value.get(column)
        if isinstance(text, str):
            return Sample(line, text=text)
    parts = list(_strings(value))
    if not parts:
        raise unreadable(
            "{file}, line {line}: no length ({lengths}), no list of tokens ({lists}) and no text ({texts})",
            file=name,
            line=line,
            lengths=", ".join(LENGTH_COLUMNS[:3]),
            lists=LIST_COLUMNS[0],
            texts=", ".join(TEXT_COLUMNS[:3]),
        )
    return Sample(line, text=" ".join(parts))


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts of nested messages, as conversations store them."""
    if isinstance(value, str):
        yield value
    elif depth < DEPTH and isinstance(value, Mapping | list):
        for child in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(child, depth + 1)


def _length(name: str, line: int, column: str, value: object) -> int:
    number: object = value
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
    if isinstance(number, int | float) and not isinstance(number, bool):
        # A whole number of hundreds of digits has no float to ask about.
        finite = isinstance(number, int) or math.isfinite(number)
        if finite and 0 <= number == int(number):
            return max(int(number), 1)
    raise unreadable(
        "{file}, line {line}: {column} must be a whole number of tokens, not {value}",
        file=name,
        line=line,
        column=column,
        value=printable(str(value)),
    )


def csv_samples(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Sample]:
    source = iter(lines)
    _, header = next(source)
    separator = max(",;\t", key=header.count)
    reader = csv.reader(chain([header], (text for _, text in source)), delimiter=separator, strict=True)
    try:
        names = [cell.strip().lower() for cell in next(reader, [])]
        length, tokens, text = (
            next((names.index(column) for column in columns if column in names), None)
            for columns in (LENGTH_COLUMNS, LIST_COLUMNS, TEXT_COLUMNS)
        )
        if length is None and tokens is None and text is None:
            raise unreadable(
                "{file}, line 1: no length column ({lengths}) and no text column ({texts})",
                file=name,
                lengths=", ".join(LENGTH_COLUMNS),
                texts=", ".join(TEXT_COLUMNS),
            )
        for cells in reader:
            if not any(cells):
                continue
            line = reader.line_num
            if length is not None:
                cell = _cell(name, line, cells, length)
                yield Sample(line, length=_length(name, line, names[length], cell))
            elif tokens is not None:
                cell = _cell(name, line, cells, tokens)
                count = len(cell.replace(",", " ").split())
                yield Sample(line, length=max(count, 1))
            elif text is not None:
                yield Sample(line, text=_cell(name, line, cells, text))
    except csv.Error as error:
        raise unreadable(
            "{file}, line {line}: the CSV cannot be read: {reason}",
            file=name,
            line=reader.line_num,
            reason=str(error),
        ) from error


def _cell(name: str, line: int, cells: list[str], index: int) -> str:
    if index >= len(cells):
        raise unreadable(
            "{file}, line {line}: {cells} cells, fewer than the columns",
            file=name,
            line=line,
            cells=len(cells),
        )
    return cells[index]
