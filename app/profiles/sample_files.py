"""The formats a data sample may come in, read one sample after the other."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from app.errors import Message, Unprocessable
from app.profiles.documents import DEPTH, decode, parse_json, printable, unreadable
from app.profiles.parquet import parquet_samples
from app.profiles.sample_lengths import (
    ALONE,
    BESIDE,
    LENGTH_COLUMNS,
    LIST_COLUMNS,
    PAIRS,
    TEXT_COLUMNS,
    Sample,
)

MOST_LINE = 4_000_000
"""Longest line read. [B]"""
MOST_DOCUMENT = 50_000_000
"""Largest JSON document read whole. [B]"""
MOST_PEEK = 1 << 16
ACCEPTED = Message("JSON lines, JSON arrays, CSV, plain text with one sample per line, or Parquet")


def open_samples(name: str, stream: io.RawIOBase) -> Iterator[Sample]:
    """Return the samples of a file, whose format follows from its content, then from its name."""
    buffered: io.BufferedReader = io.BufferedReader(stream, MOST_PEEK)
    start = buffered.peek(MOST_PEEK)[:MOST_PEEK]
    if not start:
        raise unreadable("{file} is empty; accepted: {accepted}", file=name, accepted=ACCEPTED)
    if start.startswith(b"PAR1"):
        return parquet_samples(name, buffered)
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise unreadable(
            "{file} is compressed; unpack it first; accepted: {accepted}", file=name, accepted=ACCEPTED
        )
    encoding = encoding_of(start)
    if start.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"[" or is_document(start):
        whole = buffered.read(MOST_DOCUMENT + 1)
        if len(whole) > MOST_DOCUMENT:
            raise unreadable(
                "{file}: one JSON document of more than {most} MB; send JSON lines",
                file=name,
                most=MOST_DOCUMENT / 1e6,
            )
        return document_samples(name, decode(name, whole))
    lines = text_lines(name, buffered, encoding)
    first = next(lines, (1, ""))
    lines = chain([first], lines)
    suffix = name.rpartition(".")[2].lower()
    if first[1].lstrip().startswith("{") or suffix in {"jsonl", "ndjson"}:
        return json_samples(name, lines)
    header = first[1].lower()
    if suffix in {"csv", "tsv"} or any(
        cell.strip().strip('"')
        in {
            *LENGTH_COLUMNS,
            *LIST_COLUMNS,
            *(TEXT_COLUMNS if "," in header or "\t" in header or ";" in header else ()),
        }
        for separator in ",;\t"
        for cell in header.split(separator)
    ):
        return csv_samples(name, lines)
    return (Sample(line, text=text) for line, text in lines if text.strip())


def is_document(start: bytes) -> bool:
    """Tell whether a file is one JSON object over many lines, not an object on each line."""
    head, _, rest = start.lstrip(b"\xef\xbb\xbf \r\n\t").partition(b"\n")
    if head[:1] != b"{":
        return False
    try:
        json.loads(head)
    except (ValueError, RecursionError):
        return bool(rest.strip()) or len(start) < MOST_PEEK
    # A whole object on the only line that holds a list of rows is a document as well.
    return (
        not rest.strip()
        and re.search(rb":\s*\[\s*\{", head) is not None
        and b'"role"' not in head
        and b'"from"' not in head
    )


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text: UTF-8, UTF-16 with its mark, or CP949 as Excel writes it in Korea."""
    if start[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        decoder.decode(start)
    except UnicodeDecodeError:
        korean = codecs.getincrementaldecoder("cp949")()
        try:
            text = korean.decode(start)
        except UnicodeDecodeError:
            return "utf-8-sig"
        hangul = sum("\uac00" <= character <= "\ud7a3" for character in text)
        wide = sum(character > "\x7f" for character in text)
        return "cp949" if wide and hangul >= 0.8 * wide else "utf-8-sig"
    return "utf-8-sig"


def text_lines(name: str, stream: io.BufferedReader, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers; refuse those that are too long."""
    if encoding == "utf-16":
        yield from _wide_lines(name, stream)
        return
    number = 0
    while raw := stream.readline(MOST_LINE + 1):
        number += 1
        if len(raw) > MOST_LINE:
            raise _long_line(name, number)
        yield number, _text(name, raw, number, encoding)


def _wide_lines(name: str, stream: io.BufferedReader) -> Iterator[tuple[int, str]]:
    reader = io.TextIOWrapper(stream, encoding="utf-16")
    number = 0
    try:
        while text := reader.readline(MOST_LINE + 1):
            number += 1
            if len(text) > MOST_LINE:
                raise _long_line(name, number)
            yield number, text
    except UnicodeError as error:
        raise unreadable("{file}, line {line}: not text in UTF-16", file=name, line=number + 1) from error


def _long_line(name: str, number: int) -> Unprocessable:
    return unreadable(
        "{file}, line {line}: longer than {most} MB; one sample per line is expected",
        file=name,
        line=number,
        most=MOST_LINE / 1e6,
    )


def _text(name: str, raw: bytes, line: int, encoding: str) -> str:
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise unreadable(
            "{file}, line {line}: not text in UTF-8; save it as UTF-8", file=name, line=line
        ) from error
    if "\0" in text:
        raise unreadable("{file}, line {line}: contains a NUL character", file=name, line=line)
    return text.removeprefix("\ufeff")


def json_samples(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Sample]:
    for number, text in lines:
        if not text.strip():
            continue
        value = parse_json(name, text, line=number)
        if not isinstance(value, Mapping):
            raise unreadable(
                "{file}, line {line}: each line must contain one JSON object", file=name, line=number
            )
        yield from row_samples(name, number, value)


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
    fields = counted_fields(value)
    parts = [text for field in fields for text in _strings(value[field])]
    if not any(parts) and not any(isinstance(value.get(column), str) for column in TEXT_COLUMNS):
        raise unreadable(
            "{file}, line {line}: no length ({lengths}), no list of tokens ({lists}) and no text ({texts})",
            file=name,
            line=line,
            lengths=", ".join(LENGTH_COLUMNS[:3]),
            lists=LIST_COLUMNS[0],
            texts=", ".join(TEXT_COLUMNS[:3]),
        )
    return Sample(line, text=" ".join(parts), fields=fields)


def row_samples(name: str, line: int, value: Mapping[str, object]) -> Iterator[Sample]:
    """Yield the samples of a row: two for a preference, each with what both answer."""
    for one, other in PAIRS:
        if value.get(one) and value.get(other):
            for left_out in (other, one):
                yield object_sample(name, line, {key: text for key, text in value.items() if key != left_out})
            return
    yield object_sample(name, line, value)


def counted_fields(value: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields of a row that a model reads.

    >>> counted_fields({"id": "7", "instruction": "Add", "input": "1 2", "output": "3", "category": "sums"})
    ('instruction', 'input', 'output')
    >>> counted_fields({"text": "A page.", "url": "https://example.org"})
    ('text',)
    """
    texts = [name for name, entry in value.items() if isinstance(entry, str | list | Mapping) and entry]
    alone = [name for name in texts if name.lower() in ALONE]
    if alone:
        return (alone[0],)
    translated = "target" in value or "tgt" in value
    counted = [
        name for name in texts if not BESIDE.match(name.lower()) or (translated and name.lower() == "source")
    ]
    return tuple(counted or texts)


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts of nested messages, as conversations store them, without who speaks."""
    if isinstance(value, str):
        yield value
    elif depth < DEPTH and isinstance(value, Mapping):
        for name, child in value.items():
            if depth == 0 or not BESIDE.match(str(name).lower()):
                yield from _strings(child, depth + 1)
    elif depth < DEPTH and isinstance(value, list):
        for child in value:
            yield from _strings(child, depth + 1)


def document_samples(name: str, text: str) -> Iterator[Sample]:
    """Yield the samples of one JSON document: a list of rows, or an object that holds one."""
    for number, row in enumerate(rows_of(name, parse_json(name, text)), start=1):
        if isinstance(row, str):
            yield Sample(number, text=row)
        elif isinstance(row, Mapping):
            inner = row.get("row")
            yield from row_samples(name, number, inner if isinstance(inner, Mapping) else row)
        elif isinstance(row, list):
            yield Sample(number, text=" ".join(_strings(row)))
        else:
            raise unreadable("{file}, entry {number}: neither an object nor text", file=name, number=number)


def rows_of(name: str, document: object) -> list[object]:
    """Return the rows of a document; questions of a reading test come with the passage each is about."""
    if isinstance(document, list):
        return document
    assert isinstance(document, Mapping)
    if "images" in document and "annotations" in document:
        images = document["images"]
        raise unreadable(
            "{file} describes {count} images (COCO), which have no tokens; state them as samples with "
            "image_size",
            file=name,
            count=len(images) if isinstance(images, list) else 0,
        )
    lists = [entry for entry in document.values() if isinstance(entry, list) and entry]
    rows = max(lists, key=len, default=[])
    passages = [
        passage
        for article in rows
        if isinstance(article, Mapping) and isinstance(article.get("paragraphs"), list)
        for passage in article["paragraphs"]
        if isinstance(passage, Mapping)
    ]
    if passages:
        return [
            {"context": passage.get("context"), "question": question.get("question"),
             "answers": (question.get("answers") or [""])[:1]}
            for passage in passages
            for question in passage.get("qas", ())
            if isinstance(question, Mapping) and isinstance(question.get("answers") or [], list)
        ]  # fmt: skip
    if not rows:
        # One object alone is one sample.
        return [document]
    return rows


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
        first = list(islice(reader, 50))
        words = () if (length, tokens, text) != (None, None, None) else _worded(names, first)
        if length is None and tokens is None and text is None and not words:
            raise unreadable(
                "{file}, line 1: no length column ({lengths}) and no text column ({texts})",
                file=name,
                lengths=", ".join(LENGTH_COLUMNS),
                texts=", ".join(TEXT_COLUMNS),
            )
        for number, cells in enumerate(chain(first, reader), start=2):
            if not any(cells):
                continue
            line = max(number, reader.line_num if number > len(first) + 1 else 0)
            if length is not None:
                cell = _grouped(_cell(name, line, cells, length), separator)
                yield Sample(line, length=_length(name, line, names[length], cell))
            elif tokens is not None:
                cell = _grouped(_cell(name, line, cells, tokens), separator)
                if re.fullmatch(r"\d[\d.,]*", cell) and names[tokens] == "tokens":
                    yield Sample(line, length=_length(name, line, names[tokens], cell))
                    continue
                count = len(cell.replace(",", " ").split())
                yield Sample(line, length=max(count, 1))
            elif words:
                told = [cells[at] for at in words if at < len(cells)]
                yield Sample(line, text=" ".join(told), fields=tuple(names[at] for at in words))
            elif text is not None:
                _cell(name, line, cells, text)
                row = {column: cell for column, cell in zip(names, cells, strict=False) if not _number(cell)}
                yield from row_samples(name, line, row)
    except csv.Error as error:
        raise unreadable(
            "{file}, line {line}: the CSV cannot be read: {reason}",
            file=name,
            line=reader.line_num,
            reason=str(error),
        ) from error


def _worded(names: list[str], rows: list[list[str]]) -> tuple[int, ...]:
    """Return the columns of sentences: of two words or more in most rows, seldom the same twice."""
    found = []
    for at in range(len(names)):
        cells = [row[at] for row in rows if at < len(row)]
        wordy = sum(len(re.findall(r"[^\W\d]{2,}", cell)) >= 2 for cell in cells)
        if len(cells) > 1 and 2 * wordy > len(cells) and 2 * len(set(cells)) > len(cells):
            found.append(at)
    return tuple(found)


def _grouped(cell: str, separator: str) -> str:
    """Return a whole number without the marks between its thousands; a point is one beside semicolons."""
    marks = ",." if separator == ";" else ","
    return re.sub(f"[{marks}]", "", cell) if re.fullmatch(rf"\d{{1,3}}([{marks}]\d{{3}})+", cell) else cell


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _cell(name: str, line: int, cells: list[str], index: int) -> str:
    if index >= len(cells):
        raise unreadable(
            "{file}, line {line}: {cells} cells, fewer than the columns",
            file=name,
            line=line,
            cells=len(cells),
        )
    return cells[index]
