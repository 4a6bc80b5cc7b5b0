"""Commands that ask a server, or store what they answer: the same words, the same errors."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest
from fastapi import FastAPI

from app.__main__ import main
from app.commands.remote import InProcess
from app.main import create_app
from app.platform.web.examples import BILL_OF_POD, BREAK_EVEN, CONFIG, HEAD_TO_HEAD, RESNET, SEARCH
from app.settings import Settings
from tests.conftest import run as run_apart
from tests.conftest import sizing_context

SERVER = ("--server", "http://localhost")

Ran = tuple[int, str, str]

Rackline = Callable[..., Ran]


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(Settings.at(tmp_path_factory.mktemp("server")))


@pytest.fixture
def rackline(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Rackline:
    """Return the command in a folder of its own: exit code, output, error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.commands.asking.load_context", lambda _: sizing_context())
    monkeypatch.setattr("app.commands.remote.asyncio.run", run_apart)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "RACKLINE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, stdin: str | bytes = "") -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "argv", ["rackline", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    return run


def carried(monkeypatch: pytest.MonkeyPatch, transport: httpx.BaseTransport) -> None:
    """Let every client speak to this instead of the network."""
    client = httpx.Client
    monkeypatch.setattr(httpx, "Client", lambda **given: client(**{**given, "transport": transport}))


@pytest.fixture
def _served(application: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    carried(monkeypatch, InProcess(httpx.ASGITransport(application)))


def written(name: str, body: object) -> str:
    Path(name).write_text(json.dumps(body), encoding="utf-8")
    return name


@pytest.mark.usefixtures("_served")
@pytest.mark.parametrize(
    ("command", "body"),
    [
        ("estimate", RESNET),
        ("compare", {"rows": [RESNET, *HEAD_TO_HEAD["rows"]]}),
        ("bill", BILL_OF_POD),
        ("break-even", BREAK_EVEN),
        ("search", SEARCH),
        ("profile", CONFIG),
    ],
)
def test_a_server_answers_in_the_words_of_this_machine(
    rackline: Rackline, command: str, body: dict[str, Any]
) -> None:
    path = written("config.json", body)
    for lang in ("en", "ko"):
        here, there = (rackline(command, path, "--lang", lang, *server) for server in ((), SERVER))
        said = [
            [
                line
                for line in text.splitlines()
                if line and not line.startswith("id: ") and line[-1] not in "s초"
            ]
            for _, text, _ in (here, there)
        ]
        assert said[0] == said[1] and len(said[0]) > 3
        assert here[0] == there[0] == 0
        assert not any(mark in here[1] for mark in ("{'", "None", "True", "Quantity("))
    documents = [json.loads(rackline(command, path, "--json", *server)[1]) for server in ((), SERVER)]
    assert documents[0].keys() >= documents[1].keys()


@pytest.mark.usefixtures("_served")
def test_a_proposal_is_made_frozen_and_fetched(rackline: Rackline) -> None:
    made = json.loads(rackline("compare", written("rows.json", HEAD_TO_HEAD), "--json", *SERVER)[1])
    asked = {"comparison_id": made["id"], "customer": "하이퍼커넥트", "locale": "ko", "currency": "KRW"}
    # Published figures are recommended by their author alone.
    asked["recommended"] = "IPU-POD64"
    files = [f"offer.{kind}" for kind in ("pdf", "xlsx", "csv", "json")]
    out = [word for name in files for word in ("--out", name)]
    code, text, _ = rackline("proposal", written("asked.json", asked), "--freeze", *out, *SERVER)
    assert code == 0 and "하이퍼커넥트" in text and "frozen" in text
    pdf = Path("offer.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert openpyxl.load_workbook("offer.xlsx").sheetnames
    document = json.loads(Path("offer.json").read_text(encoding="utf-8"))
    assert document["sha256"] in text
    code, _, said = rackline("proposal", document["id"], "--out", "offer.pdf", *SERVER)
    assert code == 2 and "offer.pdf exists" in said and "--force" in said
    Path("offer.pdf").write_bytes(b"")
    assert rackline("proposal", document["id"], "--out", "offer.pdf", "--force", *SERVER)[0] == 0
    assert Path("offer.pdf").read_bytes() == pdf
    assert rackline("proposal", document["id"], "--out", "offer.docx", *SERVER)[0] == 2
    assert {path.name for path in Path.cwd().iterdir()} == {*files, "rows.json", "asked.json"}


def test_a_proposal_needs_no_server(rackline: Rackline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKLINE_DATA_DIR", str(Path("data").absolute()))
    made = json.loads(rackline("compare", written("rows.json", HEAD_TO_HEAD), "--save", "--json")[1])
    asked = {"comparison_id": made["id"], "customer": "Customer A", "locale": "en", "currency": "USD"}
    asked["recommended"] = "IPU-POD64"
    code, text, _ = rackline("proposal", written("asked.json", asked), "--out", "offer.csv")
    assert code == 0 and "draft" in text and "Customer A" in Path("offer.csv").read_text(encoding="utf-8")
    code, _, said = rackline("proposal", "prp_aaaaaaaaaaaaaaaa", "--lang", "ko")
    assert code == 2 and "제안서" in said


@pytest.mark.usefixtures("_served")
@pytest.mark.parametrize("server", [(), SERVER], ids=["here", "there"])
@pytest.mark.parametrize(
    ("body", "said", "korean"),
    [
        (b"", "standard input: not JSON: Expecting value in line 1, column 1", "JSON이 아닙니다"),
        (b'{"system":\n}', "standard input: not JSON: Expecting value in line 2, column 1", "2행"),
        (b"\xff{}", "standard input: not text in UTF-8", "UTF-8"),
        (b"[" * 100 + b"]" * 100, "standard input: nested too deeply: at most 64 levels", "64"),
        (b"1" * 5000, "standard input: contains an out-of-range number", "범위"),
        (b'{"fabric": [{"a": 1e999}]}', "  fabric[0].a: must be a finite number", "fabric[0].a"),
        (b"[]", "standard input: must be an object", "객체"),
        (b" " * 2_000_001, "standard input is larger than 2 MB", "2 MB"),
        (b'{"system": "ipu-pod64", "system": "x"}', "  system: stands more than once", "system"),
        (b'{"system": "ipu-pod65"}', "system: no system is named “ipu-pod65”", "ipu-pod64"),
        (b'{"system": "ipu-pod64", "count": 0}', "count: must be at least 1", "1 이상"),
        (b'{"system": "ipu-pod64", "a": 1, "b": 1}', "  b: unknown field", "  b: "),
    ],
)
def test_bad_input_is_named_wherever_it_is_found(
    rackline: Rackline, server: tuple[str, ...], body: bytes, said: str, korean: str
) -> None:
    for lang, words in (("en", said), ("ko", korean)):
        code, output, error = rackline("bill", "-", "--lang", lang, *server, stdin=body)
        assert (code, output) == (2, "") and words in error
        assert "the body" not in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "https://rackline.example.com"),
        ("ftp://a", "https://rackline.example.com"),
        ("https://", "https://rackline.example.com"),
        ("https://name:secret@a.example", "must not contain a password"),
        ("http://a.example", "unencrypted"),
    ],
)
def test_an_address_that_no_key_may_go_to_is_refused(
    rackline: Rackline, monkeypatch: pytest.MonkeyPatch, address: str, said: str
) -> None:
    monkeypatch.setenv("RACKLINE_API_KEY", "rk_secret")
    code, output, error = rackline("bill", written("pod.json", BILL_OF_POD), "--server", address)
    assert (code, output) == (2, "") and said in error and "secret" not in error


def test_the_key_comes_from_a_file_or_the_environment(
    rackline: Rackline, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = rackline("bill", written("pod.json", BILL_OF_POD), "--key-file", "key")
    assert refused[0] == 2 and "--server" in refused[2]
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization", ""))
        return httpx.Response(401, json={"detail": "send an API key", "errors": []})

    carried(monkeypatch, httpx.MockTransport(answer))
    path = written("pod.json", BILL_OF_POD)
    Path("key").write_text("rk_file\n", encoding="utf-8")
    server = ("--server", "https://a.example")
    assert rackline("bill", path, *server)[0] == 2
    monkeypatch.setenv("RACKLINE_API_KEY", "rk_environment")
    assert "send an API key" in rackline("bill", path, *server)[2]
    assert rackline("bill", path, *server, "--key-file", "key")[0] == 2
    assert seen == ["", "Bearer rk_environment", "Bearer rk_file"]
    Path("key").write_text("", encoding="utf-8")
    empty = rackline("bill", path, *server, "--key-file", "key")
    assert empty[0] == 2 and "--key-file" in empty[2]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(502, text="<html>"),
        httpx.Response(302, headers={"location": "https://b.example"}),
        httpx.Response(200, json={"id": "bom_a"}),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
    ],
)
def test_what_is_no_server_of_ours_is_said(
    rackline: Rackline, monkeypatch: pytest.MonkeyPatch, answer: httpx.Response | httpx.RequestError
) -> None:
    def answered(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, httpx.RequestError):
            raise answer
        return answer

    carried(monkeypatch, httpx.MockTransport(answered))
    code, output, error = rackline("bill", written("pod.json", BILL_OF_POD), "--server", "https://a.example")
    assert (code, output) == (2, "") and error.startswith("error: ") and error.count("\n") == 1


def test_names_give_a_terminal_no_orders(rackline: Rackline) -> None:
    rows = [{"label": "\x1b[2J\x07A", "hours": 1, "kind": "measured"}]
    code, *said = rackline("compare", "-", stdin=json.dumps({"rows": rows, "title": "\x1b]0;x\x07"}))
    assert code == 2 and "U+001B" in said[1] and not {"\x1b", "\x07"} & {*said[0], *said[1]}


def test_no_answer_ends_with_1(rackline: Rackline) -> None:
    never = {**BREAK_EVEN, "cloud_monthly": 1_000_000}
    code, text, _ = rackline("break-even", "-", stdin=json.dumps(never))
    assert code == 1 and text.startswith("Never pays back")
    huge = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9}, "system": {"id": "ipu-m2000"}}
    code, text, _ = rackline("compare", "-", stdin=json.dumps({"rows": [huge]}))
    assert code == 1 and "does not fit" in text


def test_the_language_is_that_of_the_environment(rackline: Rackline, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps(HEAD_TO_HEAD)
    monkeypatch.setenv("LANG", "ko_KR.UTF-8")
    assert "학습 시간" in rackline("compare", "-", stdin=body)[1]
    assert "Training time" in rackline("compare", "-", "--lang", "en", stdin=body)[1]
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert "Training time" in rackline("compare", "-", stdin=body)[1]
