"""Every request can be found again, is logged without what it said, and is counted by the template it met."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from fastapi import FastAPI, Request
from pydantic import BaseModel, ValidationError

from app.errors import SignInRequired, Unavailable
from app.features.operation.api import admit
from app.features.operation.readiness import ReadinessCheck
from app.main import create_app
from app.platform.store.upload_files import FileDirectory
from app.platform.web.problems import Forbidden
from app.settings import Settings
from app.telemetry import set_up_logs, traceback_text
from tests.conftest import ROOT, run
from tests.support.application import Ask

SECRET = "unmistakable-customer"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What is logged as JSON, filled at the end of each read."""
    root, written = logging.getLogger(), io.StringIO()
    before, level = root.handlers[:], root.level
    monkeypatch.setattr("sys.stderr", written)
    set_up_logs("json", "info")

    class Lines(list[dict[str, Any]]):
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return (json.loads(line) for line in written.getvalue().splitlines())

    yield Lines()
    root.handlers = before
    root.setLevel(level)


def requests(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["logger"] == "rackline.request"]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("5f0c6a52-quote-17", True),
        ("short", False),
        ("a" * 65, False),
        ("two words here", False),
        ("ünicode-id", False),
    ],
)
def test_a_sane_identifier_is_kept_and_given_back(ask: Ask, given: str, taken: bool) -> None:
    found = ask("GET", "/api/v1/estimates/nosuch", headers={"x-request-id": given.encode()})
    identifier = found.headers["x-request-id"]
    assert (identifier == given) is taken and re.fullmatch(r"[\w.:-]{8,64}", identifier)
    assert found.json()["instance"] == f"/requests/{identifier}"


def test_what_the_guard_refuses_has_an_identifier_too(ask: Ask) -> None:
    found = ask("GET", "/", headers={"host": "elsewhere.example"})
    assert found.status_code == 421
    assert found.json()["instance"].endswith(found.headers["x-request-id"])


def test_a_line_says_who_what_and_how_long_but_not_what_was_sent(
    ask: Ask, lines: list[dict[str, Any]]
) -> None:
    ask("GET", f"/api/v1/estimates/{SECRET}?fields={SECRET}", headers={"cookie": f"x={SECRET}"})
    ask("GET", f"/s/{SECRET}", headers={"accept": "text/html"})
    ask("POST", "/api/v1/price-books", json={"name": SECRET, "rows": 1})
    ask("GET", f"/nothing/{SECRET}")
    found = requests(lines)
    assert [(line["method"], line["route"], line["status"]) for line in found] == [
        ("GET", "/api/v1/estimates/{id}", 400),
        ("GET", "/s/{token}", 404),
        ("POST", "/api/v1/price-books", 422),
        ("GET", "(none)", 404),
    ]
    assert found[0]["workspace"] == "ws_local" and found[0]["principal"] == "local"
    assert all(
        line["ms"] >= 0 and len(line["request_id"]) == 24 and line["level"] == "info" for line in found
    )
    assert SECRET not in json.dumps(list(lines))


def test_files_and_checks_of_the_server_keep_quiet(ask: Ask, lines: list[dict[str, Any]]) -> None:
    ask("GET", "/healthz")
    ask("GET", "/static/css/rackline.css")
    assert [line["route"] for line in requests(lines)] == ["/static/"]


def test_a_fault_of_ours_is_logged_once_with_its_request(
    application: FastAPI, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("app.features.estimates.service.get_estimate", fail)
    monkeypatch.setattr("app.features.estimates.api.get_estimate", fail, raising=False)

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/api/v1/estimates/est_a", headers={"x-request-id": "known-to-me"})

    found = run(send())
    assert found.status_code == 500 and found.json()["instance"] == "/requests/known-to-me"
    assert found.headers["x-request-id"] == "known-to-me"
    (said,) = (line for line in lines if line["logger"] == "rackline.web")
    assert said["request_id"] == "known-to-me" and "no such luck" in said["exception"]
    assert requests(lines)[0]["level"] == "error"


def test_a_traceback_names_the_fields_of_a_document_and_not_their_values() -> None:
    class Inner(BaseModel):
        customer: int

    try:
        try:
            Inner.model_validate({"customer": SECRET})
        except ValidationError as error:
            raise RuntimeError("outer") from error
    except RuntimeError as error:
        text = traceback_text((type(error), error, error.__traceback__))
    assert "customer (int_parsing)" in text and "outer" in text
    assert SECRET not in text


def test_the_console_is_for_reading(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        set_up_logs("console", "warning")
        logging.getLogger("rackline.jobs").warning("job taken", extra={"job": "swp_a", "other": SECRET})
        logging.getLogger("rackline.jobs").info("unheard")
    finally:
        root.handlers = before
        root.setLevel(level)
    said = capsys.readouterr().err
    assert "job taken" in said and "job=swp_a" in said and SECRET not in said and "unheard" not in said


def sample(text: str, name: str, **labels: str) -> float:
    """Return the value of a figure."""
    for line in text.splitlines():
        found = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if found and dict(re.findall(r'(\w+)="([^"]*)"', found[1] or "")) == labels:
            return float(found[2])
    raise AssertionError(f"{name} {labels} is not there")


def test_requests_and_work_are_counted(ask: Ask) -> None:
    about = {"method": "POST", "route": "/api/v1/estimates", "status": "201"}
    body = {"model": {"total_flop": 1e20}, "system": {"id": "dgx-a100-640gb"}}
    ask("POST", "/api/v1/estimates", json=body)
    before = ask("GET", "/metrics").text
    ask("POST", "/api/v1/estimates", json=body)
    ask(
        "POST",
        "/api/v1/sweeps",
        json={"models": [{"model": {"total_flop": 1e20}}], "systems": [{"id": "ipu-pod16"}]},
    )
    after = ask("GET", "/metrics").text
    for name, labels in (("rackline_request_seconds_count", about), ("rackline_estimates_total", {})):
        assert sample(after, name, **labels) == sample(before, name, **labels) + 1
    assert sample(after, "rackline_requests_in_flight") == 1
    assert sample(after, "rackline_jobs", kind="sweep", status="queued") >= 1
    assert sample(after, "rackline_job_oldest_seconds", kind="sweep", status="queued") >= 0
    assert sample(after, "rackline_queue_length") >= 1
    assert sample(after, "rackline_database_connections", state="open") >= 1


def test_addresses_do_not_multiply_the_figures(ask: Ask) -> None:
    for place in range(5):
        ask("GET", f"/api/v1/estimates/est_{place}")
        ask("GET", f"/nowhere/{place}")
        ask("PROPFIND", "/")
    text = ask("GET", "/metrics").text
    assert "est_3" not in text and "nowhere" not in text and "PROPFIND" not in text


def admitted(address: str, token: str = "", **headers: str) -> bool:
    """Tell whether who asks from an address with such headers may read the figures."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "client": (address, 1), "headers": raw})
    try:
        admit(request, token)
    except (Forbidden, SignInRequired):
        return False
    return True


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.10", "::1"])
def test_without_a_token_figures_are_for_this_machine(address: str) -> None:
    assert admitted(address)
    assert not admitted(address, x_forwarded_for="10.0.0.7"), "through a proxy everybody is of this machine"
    for other in ("10.0.0.7", "::2", "localhost", ""):
        assert not admitted(other)


def test_with_a_token_figures_are_for_who_has_it() -> None:
    token = "a-long-token"
    assert admitted("10.0.0.7", token, authorization=f"Bearer {token}", x_forwarded_for="10.0.0.8")
    for given in ("", "Bearer", "Bearer wrong", f"Basic {token}", f"Bearer {token}x"):
        assert not admitted("127.0.0.1", token, authorization=given)


def test_a_server_that_ends_is_not_ready(tmp_path_factory: Any) -> None:
    app = create_app(Settings.at(tmp_path_factory.mktemp("ending")))

    before = readiness(app)
    app.state.stopping.set()
    assert [before.status_code, readiness(app).status_code] == [200, 503]


def asked_locally(app: FastAPI, path: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    return run(asked())


def readiness(app: FastAPI) -> httpx.Response:
    figures = asked_locally(app, "/metrics")
    assert figures.status_code == 200 and "rackline_part_ready" in figures.text
    return asked_locally(app, "/readyz")


def test_the_part_that_is_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.features.operation.readiness.KEPT_SECONDS", 0.0)
    secret, key, needed = "unmistakable-secret-of-the-bucket", "AKIAXYZ", {"database", "schema"}
    bucket = {
        "uploads": "s3://files/kept",
        "s3_endpoint": "http://127.0.0.1:9",
        "s3_access_key_id": key,
    }
    app = create_app(Settings.at(tmp_path, **bucket, s3_secret_access_key=secret))
    said = readiness(app)
    assert said.status_code == 200 and said.json()["status"] == "impaired"
    assert {name for name, words in said.json().items() if words != "ok"} == {"status", "uploads"}
    assert not any(word in said.text for word in (secret, key, "127.0.0.1:9", "s3://"))

    monkeypatch.setattr("app.features.operation.readiness.LEAST_SPACE", 1 << 60)
    monkeypatch.setattr("app.features.operation.readiness.state", lambda: "no compiler")
    app.state.installation.files.storage = FileDirectory(tmp_path / "uploads")
    parts = readiness(app).json()
    assert {name for name, words in parts.items() if words != "ok"} == {"status", "disk", "engine"}

    engine = app.state.installation.store.engine
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    schema = readiness(app)
    assert schema.status_code == 503 and "retry-after" in schema.headers
    assert {fault["field"] for fault in schema.json()["errors"]} & needed == {"schema"}
    monkeypatch.setattr(engine, "connect", unreachable)
    database = readiness(app)
    assert database.status_code == 503
    assert {fault["field"] for fault in database.json()["errors"]} >= needed


def test_an_engine_that_gives_other_answers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Settings.at(tmp_path))
    assert readiness(app).json()["engine"] == "ok"
    app.state.readiness = ReadinessCheck(app.state.installation, app.state.stopping)
    monkeypatch.setattr("app.estimating.golden.SAME", -1.0)
    said = readiness(app).json()
    assert said["status"] == "impaired" and said["engine"] != "ok"


def unreachable() -> None:
    raise Unavailable("the database cannot be reached")


def test_alerts_ask_for_figures_that_there_are(tmp_path: Path) -> None:
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    app = create_app(Settings.at(tmp_path))
    figures = asked_locally(app, "/metrics").text
    kinds = dict(re.findall(r"# TYPE (rackline_\w+) (\w+)", figures))
    histograms = [name for name, kind in kinds.items() if kind == "histogram"]
    there = kinds.keys() | {f"{name}_{end}" for name in histograms for end in ("bucket", "count", "sum")}
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(rackline_\w+)` \|([^|]*)\|", page, re.MULTILINE))
    assert kinds.keys() == table.keys(), "the table of metrics names each"
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    for rule in rules:
        assert rule["labels"]["severity"] in {"warning", "critical"} and rule["annotations"]["summary"]
        for name, labels in re.findall(r"(rackline_\w+)(?:\{([^}]*)\})?", rule["expr"]):
            assert name in there, (rule["alert"], name)
            base = re.sub("_(bucket|count|sum)$", "", name)
            known = set(re.findall(r"`(\w+)`", table.get(base, table.get(name, ""))))
            assert set(re.findall(r"(\w+)(?:=|!)", labels)) <= known, (rule["alert"], labels)
