"""The configuration of deploy/nginx.conf in a real nginx before a real server."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import dev
from tests.conftest import ROOT
from tests.support.receiving import certified
from tests.support.serving import serving, spoken
from tests.support.sweeping import wide

PASSWORD = "a password of Ann's"
NGINX = dev.find("tests of the reverse proxy")

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@dataclass(frozen=True)
class Proxy:
    """A server behind nginx."""

    address: str
    trusted: ssl.SSLContext
    log: Path
    said: list[str]

    def client(self, **more: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.address, verify=self.trusted, headers=more, timeout=60, trust_env=False
        )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def nginx(folder: Path, server: int, plain: int, port: int) -> Iterator[ssl.SSLContext]:
    """Run nginx with our configuration, but for ports and paths."""
    _, trusted = certified(folder, "localhost")
    site = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    for written, meant in (
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("rackline.example.com", "localhost"),
        ("127.0.0.1:8000", f"127.0.0.1:{server}"),
        ("/etc/ssl/rackline/certificate.pem", str(folder / "receiver.pem")),
        ("/etc/ssl/rackline/key.pem", str(folder / "receiver.pem")),
        ("/var/log/nginx/rackline.log", str(folder / "access.log")),
    ):
        assert written in site
        site = site.replace(written, meant)
    (folder / "site.conf").write_text(site, encoding="utf-8")
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; user root; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ {places} include {folder}/site.conf; }}\n",
        encoding="utf-8",
    )
    assert NGINX is not None
    with subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf"), "-p", str(folder)]) as process:
        try:
            until = time.monotonic() + 30
            while not (folder / "pid").exists() and time.monotonic() < until:
                time.sleep(0.05)
            yield trusted
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxied")
    data, port = folder / "data", free_port()
    settings = {
        "RACKLINE_PUBLIC_URL": f"https://localhost:{port}",
        "RACKLINE_TRUSTED_PROXIES": "127.0.0.1",
        "RACKLINE_LOG": "json",
    }
    command = [sys.executable, "-m", "app", "user", "add", "ann@example.com", "--password-stdin"]
    subprocess.run(
        command, cwd=ROOT, env={"PATH": "/usr/bin:/bin", "RACKLINE_DATA_DIR": str(data)},
        input=PASSWORD, text=True, check=True, timeout=300,
    )  # fmt: skip
    with ExitStack() as stack:
        process, direct = stack.enter_context(serving(data, **settings))
        server = direct.base_url.port
        assert server is not None
        trusted = stack.enter_context(nginx(folder, server, free_port(), port))
        yield Proxy(f"https://localhost:{port}", trusted, folder / "access.log", spoken(process))


@pytest.fixture
def ann(proxied: Proxy) -> Iterator[httpx.Client]:
    """Somebody who has signed in, and claims to come from elsewhere."""
    with proxied.client(**{"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}) as client:
        fields = {"email": "ann@example.com", "password": PASSWORD, "next": "/"}
        answer = client.post("/sign-in", data=fields, headers={"Origin": proxied.address})
        assert answer.status_code == 303, answer.text
        assert "Secure" in answer.headers["set-cookie"] and "HttpOnly" in answer.headers["set-cookie"]
        yield client


def test_who_comes_through_the_proxy_is_who_the_proxy_saw(proxied: Proxy, ann: httpx.Client) -> None:
    answer = ann.get("/")
    assert answer.status_code == 200 and answer.headers["strict-transport-security"]
    assert not any("203.0.113.9" in line for line in proxied.said)
    assert "203.0.113.9" not in ann.get("/account").text


def test_progress_arrives_while_the_work_goes_on(ann: httpx.Client, proxied: Proxy) -> None:
    asked = wide(400).request.model_dump(mode="json", exclude_unset=True)
    sweep = ann.post("/api/v1/sweeps", json=asked, headers={"Origin": proxied.address})
    assert sweep.status_code == 201, sweep.text
    address, moments = sweep.headers["location"], []
    with ann.stream("GET", f"{address}/events", headers={"Accept": "text/event-stream"}) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        for line in events.iter_lines():
            moments += [time.monotonic()] if line.startswith("data:") else []
    assert len(moments) > 1 and moments[-1] > moments[0]


def test_large_uploads_are_answered_by_rackline(ann: httpx.Client, proxied: Proxy) -> None:
    rows = b"".join(b'{"text": "%s"}\n' % (b"word " * (number % 300)) for number in range(10_000))
    with proxied.client() as stranger:
        for client, status in ((ann, 201), (stranger, 401)):
            file = {"file": ("sample.jsonl", rows)}
            answer = client.post("/api/v1/workloads", files=file, headers={"Origin": proxied.address})
            assert answer.status_code == status, answer.text
            assert answer.headers["content-type"].endswith("json")


def test_an_address_takes_no_more_than_its_share_of_connections(proxied: Proxy) -> None:
    port = httpx.URL(proxied.address).port
    assert port is not None
    ask = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    with ExitStack() as stack:
        answers = []
        for _ in range(60):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            held = stack.enter_context(proxied.trusted.wrap_socket(raw, server_hostname="localhost"))
            held.sendall(ask)
            answers.append(held)
        refused = answers[-1].recv(100)
        assert b" 429 " in refused


def test_secrets_in_addresses_are_not_logged(proxied: Proxy, ann: httpx.Client) -> None:
    for path in ("/s/a-secret-of-a-link", "/password/a-secret-of-a-link", "/?q=a-secret-of-a-link"):
        ann.get(path)
    log = proxied.log.read_text(encoding="utf-8")
    assert "GET /s/... " in log and "GET /password/... " in log and "secret" not in log
