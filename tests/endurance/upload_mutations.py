"""Uploads for the fuzz: files as they should be, the ways they are broken, and files meant to blow up."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx

from app.platform.web.examples import BOOK, CONFIG, STUDY_FILE, TRANSFORMER
from tests.profiles.conftest import CONFIGS, FVCORE, TABLE, TORCHINFO
from tests.profiles.files import columns
from tests.support.graphs import encoder, resnet50

PROFILES, WORKLOADS, BOOKS, STUDIES = (
    "/api/v1/profiles",
    "/api/v1/workloads",
    "/api/v1/price-books",
    "/studies/import",
)

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, 10**15, 10**18, 10**299, 10**390, -(10**390), 1.5, 1e-300,
    1e300, -0.0,
    "", "1", "1e999", "nan", "\u202e", "\u0000", "=1+1", "../../etc/passwd", "x" * 5000, "한국어", "\ud800",
    [], {}, [[]], [1] * 300, {"a": {"a": {"a": {}}}},
)  # fmt: skip

PIECES = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"{",
    b"}", b"[",
    b"NaN", b"Infinity", b"1e999", b"9" * 390, b"-1", b"0", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80",
    b"=cmd|' /C'!A0",
    b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]>", b"\x80\x02", b"\\u0000",
    b"\\ud800",
)  # fmt: skip

NAMES = (
    b"file", b"model.onnx", b"data.jsonl", b"data.csv", b"data.tsv", b"data.parquet", b"config.json",
    b"a" * 5000,
    b"../../etc/passwd", b"..\\..\\boot.ini", b"a\x00b", b"\xff\xfe", b"\xe2\x80\xae.exe", b"=1+1.csv", b"",
    b"<script>alert(1)</script>", b"{file}", b"%s%n", b"CON",
    b"+2AA-", b"\\ud800",
)  # fmt: skip

CHARSETS = ("utf-8", "utf-7", "unicode_escape", "utf-16", "latin-1", "idna", "punycode", "rot13", "x", "")


@dataclass(frozen=True, slots=True)
class UploadSeed:
    """One file as it should be, and where it is sent."""

    path: str
    name: str
    content: bytes
    kind: str


@dataclass(frozen=True, slots=True)
class UploadCase:
    """One request of the fuzz."""

    path: str
    kind: str
    content_type: str
    body: bytes


@cache
def seeds() -> tuple[UploadSeed, ...]:
    """Return the files that are mutated: presets, configurations, graphs, tables and samples."""
    found = [
        UploadSeed(PROFILES, "config.json", json.dumps(document).encode(), "config")
        for _, document, _ in CONFIGS
    ]
    found += [
        UploadSeed(PROFILES, path.name, json.dumps(entry).encode(), "preset")
        for path in sorted(Path("data/models").glob("*.json"))
        for entry in json.loads(path.read_text())["models"][:3]
    ]
    found += [
        UploadSeed(PROFILES, "model.onnx", graph, "onnx")
        for graph in (encoder(), resnet50())
        for _ in range(12)
    ]
    rows = list(csv.DictReader(io.StringIO(TABLE)))
    layers = {"layers": [{name: cell for name, cell in row.items() if cell} for row in rows]}
    for name, content in (
        ("config.json", json.dumps(CONFIG)),
        ("transformer.json", json.dumps(TRANSFORMER)),
        ("layers.json", json.dumps(layers)),
        ("layers.csv", TABLE),
        ("summary.txt", TORCHINFO),
        ("flops.txt", FVCORE),
    ):
        found += [UploadSeed(PROFILES, name, content.encode(), "table")] * 4
    lengths = [5, 17, 128, 300, 300, 512, 700, 4096] * 5
    texts = ["the quick brown fox", "한국어 문장입니다", "a, b", 'say "yes"', "=1+1"] * 8
    turns = [{"messages": [{"role": "user", "content": text}]} for text in texts]
    for name, content in (
        ("data.jsonl", "\n".join(json.dumps({"length": length}) for length in lengths)),
        ("data.jsonl", "\n".join(json.dumps({"input_ids": list(range(length % 50))}) for length in lengths)),
        ("data.jsonl", "\n".join(json.dumps({"text": text}) for text in texts)),
        ("data.jsonl", "\n".join(json.dumps(turn) for turn in turns)),
        ("data.csv", "length,name\n" + "\n".join(f"{length},x" for length in lengths)),
        ("data.csv", "id,input_ids\n" + "\n".join(f'{length},"1 2 3"' for length in lengths)),
        ("data.tsv", "id\ttext\n" + "\n".join(f"{length}\tsome words" for length in lengths)),
        ("data.txt", "\n".join(texts)),
    ):
        found += [UploadSeed(WORKLOADS, name, content.encode(), "sample")] * 4
    book = io.StringIO()
    writer = csv.writer(book)
    writer.writerow(("item", "parameter", "condition", "value", "unit", "note"))
    for row in BOOK["rows"]:
        writer.writerow(
            [row.get(name, "") for name in ("item", "parameter", "condition", "value", "unit", "note")]
        )
    found += [UploadSeed(BOOKS, "book.csv", book.getvalue().encode(), "book")] * 6
    found += [UploadSeed(STUDIES, "study.json", json.dumps(STUDY_FILE).encode(), "study")] * 4
    return tuple(found)


def flipped(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with a few of them changed, cut out, put in, or repeated."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(changed) + 1)
        end = min(len(changed), at + chance.choice((1, 2, 8, 64, 1024)))
        match chance.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = changed[at:end] * chance.choice((1, 2, 50))
            case 3:
                changed[at:at] = chance.choice(PIECES)
            case 4:
                changed[at:end] = chance.choice(PIECES)
            case 5:
                changed[at:end] = chance.randbytes(end - at)
            case 6 if chance.random() < 0.2:
                del changed[at:]
    return bytes(changed[:1_000_000])


def rearranged(data: bytes, chance: random.Random) -> bytes:
    """Return JSON with odd values, missing or moved parts; other text with odd cells."""
    try:
        value = json.loads(data)
    except ValueError:
        return recelled(data, chance)
    for _ in range(chance.choice((1, 1, 2, 5))):
        parent, key = value, None
        while isinstance(parent, dict | list) and parent:
            key = chance.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
            if not isinstance(parent[key], dict | list) or chance.random() < 0.3:
                break
            parent = parent[key]
        if key is None or not isinstance(parent, dict | list) or not parent:
            continue
        match chance.randrange(5):
            case 0:
                del parent[key]
            case 1:
                parent[key] = [parent[key]]
            case 2 if isinstance(parent, dict):
                other = chance.choice(list(parent))
                parent[other] = parent.pop(key)
            case _:
                parent[key] = deepcopy(chance.choice(ODD))
    return json.dumps(value, ensure_ascii=chance.random() < 0.8).encode("utf-8", "surrogatepass")


def recelled(data: bytes, chance: random.Random) -> bytes:
    """Return lines with odd words in place of some, or lines repeated and exchanged."""
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 2, 5))):
        at = chance.randrange(len(lines))
        match chance.randrange(4):
            case 0:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 1 if len(lines) > 1:
                del lines[at]
            case _:
                separator = chance.choice((b",", b":", b" ", b"\t"))
                cells = lines[at].split(separator)
                odd = str(chance.choice(ODD)).encode("utf-8", "surrogatepass")
                cells[chance.randrange(len(cells))] = odd
                lines[at] = separator.join(cells)
    return b"\n".join(lines)


def regraphed(data: bytes, chance: random.Random) -> bytes:
    """Return an ONNX graph with sizes, attributes, operators or edges changed."""
    model = onnx.load_model_from_string(data)
    graph = model.graph
    sizes = (0, -1, 1, 3, 2**31 - 1, 2**31, 2**62, 10**9, 10**15)
    for _ in range(chance.choice((1, 2, 5))):
        node = chance.choice(graph.node)
        match chance.randrange(8):
            case 0:
                tensor = chance.choice(graph.initializer)
                del tensor.dims[chance.randrange(len(tensor.dims) + 1) :]
                tensor.dims.append(chance.choice(sizes))
            case 1:
                node.op_type = chance.choice(graph.node).op_type
            case 2 if node.input:
                donor = chance.choice(graph.node)
                node.input[chance.randrange(len(node.input))] = (donor.output or [""])[0]
            case 3 if node.input:
                del node.input[chance.randrange(len(node.input)) :]
            case 4 if node.attribute:
                attribute = chance.choice(node.attribute)
                attribute.i = chance.choice(sizes)
                if attribute.ints:
                    attribute.ints[chance.randrange(len(attribute.ints))] = chance.choice(sizes)
            case 5 if graph.input and graph.input[0].type.tensor_type.shape.dim:
                chance.choice(graph.input[0].type.tensor_type.shape.dim).dim_value = chance.choice(sizes)
            case 6:
                node.output[:] = chance.choice(graph.node).output
            case 7:
                node.op_type = chance.choice(
                    ("Reshape", "Expand", "Tile", "ConstantOfShape", "Range", "Einsum", "LSTM", "Pad",
                     "Resize",
                     "Loop", "Gather", "Split", "Concat", "Conv", "ConvTranspose", "MatMul", "Gemm",
                     "Softmax")
                )  # fmt: skip
    return bytes(model.SerializeToString())


def multipart(content: bytes, name: bytes, fields: tuple[tuple[str, bytes], ...] = ()) -> tuple[str, bytes]:
    """Return the content type and body of a form with one file."""
    mark = b"rackline-fuzz-boundary"
    parts = [
        b"--%b\r\nContent-Disposition: form-data; name=%b\r\n\r\n%b\r\n" % (mark, field.encode(), value)
        for field, value in fields
    ]
    name = name.replace(b'"', b"%22").replace(b"\r", b"").replace(b"\n", b"")
    head = b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n\r\n' % (mark, name)
    return f"multipart/form-data; boundary={mark.decode()}", b"".join(
        (*parts, head, content, b"\r\n--", mark, b"--\r\n")
    )


def mutated(number: int) -> UploadCase:
    """Return one case; the number decides everything about it."""
    chance = random.Random(f"rackline {number}")
    seed = chance.choice(seeds())
    if number % 200 == 0 and (parquet := columns()) is not None:
        seed = UploadSeed(WORKLOADS, "data.parquet", parquet, "parquet")
    ways: list[Callable[[bytes, random.Random], bytes]] = [flipped]
    if seed.kind == "onnx":
        ways += [regraphed] * 3
    elif seed.kind != "parquet":
        ways += [rearranged] * 2
    content = chance.choice(ways)(seed.content, chance)
    if chance.random() < 0.1:
        content = flipped(content, chance)
    path = chance.choice((PROFILES, WORKLOADS, BOOKS, STUDIES)) if chance.random() < 0.1 else seed.path
    name = chance.choice(NAMES) if chance.random() < 0.2 else seed.name.encode()
    fields: tuple[tuple[str, bytes], ...] = ()
    if path == WORKLOADS and chance.random() < 0.3:
        fields = (
            ("seq_len", chance.choice((b"512", b"1", b"10000000", b"0", b"-1", b"1e3", b"\xff", b"9" * 400))),
        )
    kind, body = multipart(content, name, fields)
    if chance.random() < 0.05:
        body = flipped(body, chance)
    if chance.random() < 0.05:
        kind += f"; charset={chance.choice(CHARSETS)}"
    return UploadCase(path, seed.kind, kind, body)


def bombs() -> list[tuple[str, UploadCase]]:
    """Return small files that stand for much work, by name."""
    chain = onnx.load_model_from_string(encoder())
    first = chain.graph.node[0]
    for index in range(19_000):
        chain.graph.node.append(
            onnx.helper.make_node("Relu", [first.output[0] if not index else f"c{index - 1}"], [f"c{index}"])
        )
    many = 100_000
    made: list[tuple[str, str, str, bytes]] = [
        ("names, the last twice", PROFILES, "a.json",
         b"{" + b",".join(b'"%d":1' % index for index in range(many)) + b',"%d":2}' % (many - 1)),
        ("names of a line, the last twice", WORKLOADS, "a.jsonl",
         b"{" + b",".join(b'"%d":1' % index for index in range(many)) + b',"%d":2}' % (many - 1)),
        ("lengths, all different", WORKLOADS, "a.csv",
         b"length\n" + b"\n".join(b"%d" % (37 * index + 1) for index in range(many))),
        ("long lengths, all different", WORKLOADS, "a.csv",
         b"length\n" + b"\n".join(b"%d" % (9_000_000 - index) for index in range(many))),
        ("a length of 390 digits", WORKLOADS, "a.jsonl", b'{"length": ' + b"9" * 390 + b"}"),
        ("a size of 390 digits", PROFILES, "config.json",
         json.dumps({**CONFIGS[0][1], "num_experts": 10**390, "hidden_size": 4096}).encode()),
        ("every size of 390 digits", PROFILES, "layers.json",
         json.dumps([{"kind": "norm", "elements": 10**390}]).encode()),
        ("brackets", PROFILES, "a.json", b"[" * 900_000),
        ("brackets of a line", WORKLOADS, "a.jsonl", b'{"a":' * 500_000),
        ("spaces of a summary", PROFILES, "a.txt",
         b"Layer (type:depth-idx)  Output Shape\n" + (b" " * 990 + b"\n") * 1900),
        ("digits of a summary", PROFILES, "a.txt",
         b"Layer (type:depth-idx)  Output Shape\n" + (b"Conv2d: 1-1 " + b"1," * 480 + b"\n") * 1900),
        ("brackets of a summary", PROFILES, "a.txt",
         b"Layer (type:depth-idx)  Output Shape\n" + (b"Conv2d: 1-1 " + b"[1, " * 240 + b"\n") * 1900),
        ("a head of 900,000 columns", WORKLOADS, "a.csv", b"length" + b"," * 900_000 + b"\n1"),
        ("a table of 900,000 columns", PROFILES, "a.csv",
         b"kind" + b"," * 900_000 + b"\nnorm" + b"," * 900_000),
        ("empty lines", WORKLOADS, "a.csv", b"length\n" + b"\n" * 3_000_000 + b"5"),
        ("a quote left open", WORKLOADS, "a.csv", b'text\n"' + b"a\n" * 1_500_000),
        ("spaces of a text", WORKLOADS, "a.txt", b" \t" * 1_500_000),
        ("a chain of 19,000 nodes", PROFILES, "a.onnx", chain.SerializeToString()),
        ("pipes", PROFILES, "a.txt", b"| module" + b" " * 900_000 + b"|\n"),
        ("columns of a book", BOOKS, "a.csv", b"item" + b";" * 900_000),
        ("a study of brackets", STUDIES, "a.json", b"[" * 900_000),
        ("rows of a table", PROFILES, "a.csv", b"kind,elements\n" + b"norm,5\n" * 9_999),
    ]  # fmt: skip
    return [
        (name, UploadCase(path, "bomb", *multipart(content, file.encode())))
        for name, path, file, content in made
    ]
