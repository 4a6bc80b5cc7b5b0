"""Layer tables in CSV."""

from __future__ import annotations

import csv
import io

from app.profiles.documents import unreadable
from app.profiles.layer_table import MOST_ROWS, layers_profile
from app.profiles.model import ModelProfile


def read_layer_csv(name: str, text: str) -> ModelProfile:
    """Return the profile of a layer table in CSV, whose first row names the columns."""
    layers: list[dict[str, object]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), dialect=_dialect(text), strict=True)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        if "kind" not in header:
            raise unreadable(
                "{file}, line 1: a layer table needs a column named kind; its first row names the columns",
                file=name,
            )
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(header):
                raise unreadable(
                    "{file}, line {line}: {cells} cells under {columns} columns",
                    file=name, line=reader.line_num, cells=len(cells), columns=len(header),
                )  # fmt: skip
            if len(layers) == MOST_ROWS:
                raise unreadable("{file} has more than {most} rows", file=name, most=MOST_ROWS)
            pairs = zip(header, cells, strict=False)
            layers.append({field: _cell(cell) for field, cell in pairs if field and cell.strip()})
            lines.append(reader.line_num)
    except csv.Error as error:
        raise unreadable(
            "{file}, line {line}: the CSV cannot be read; {reason}",
            file=name,
            line=reader.line_num,
            reason=str(error),
        ) from error
    if not layers:
        raise unreadable("{file} has no rows under its column names", file=name)
    return layers_profile(layers, name=name, lines=lines)


def _dialect(text: str) -> type[csv.Dialect]:
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    return {";": _Semicolons, "\t": csv.excel_tab}.get(separator, csv.excel)


class _Semicolons(csv.excel):
    delimiter = ";"


def _cell(cell: str) -> object:
    word = cell.strip()
    if word.lower() in {"true", "yes"}:
        return True
    if word.lower() in {"false", "no"}:
        return False
    try:
        return int(word) if word.lstrip("+-").isdigit() and len(word) < 20 else float(word)
    except ValueError:
        return word
