"""A real receiver of webhooks on this machine, plain or with TLS, that answers as it is told."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.errors import Message
from app.features.integrations.webhooks import LEASE, deliver
from app.platform.outgoing import HttpSender, Receipt
from app.platform.workspace import Installation

LOOPBACK = ipaddress.ip_address("127.0.0.1")


class Pen(HttpSender):
    """A sender that writes down what it is given and answers as it is told."""

    def __init__(self, status: int = 200) -> None:
        super().__init__(http=True)
        self.status = status
        self.sent: list[tuple[str, dict[str, str], bytes]] = []
        self.error: Exception | None = None

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        self.sent.append((url, dict(headers), body))
        if self.error is not None:
            raise self.error
        return Receipt(
            self.status, "said", None if self.status == 200 else Message(f"answered {self.status}")
        )


def deliver_due(installation: Installation, moment: datetime.datetime, sender: HttpSender) -> int:
    """Send every message that is due at a moment, one after the other, and return how many."""
    installation.sender, count = sender, 0
    while (message := installation.store.claim_message(moment, moment + LEASE)) is not None:
        deliver(installation, message)
        count += 1
    return count


@dataclass
class Receiver:
    """What was received, and what is answered."""

    port: int = 0
    status: int = 200
    answer: bytes = b"thank you"
    headers: dict[str, str] = field(default_factory=dict)
    stall: threading.Event | None = None
    """Set to let a stalled answer end."""
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@contextlib.contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Start a receiver and stop it at the end."""
    told = Receiver()

    class ReceiverHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told.received.append(
                (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            if told.stall is not None:
                # One byte at a time: no single wait is long, the whole would never end.
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not told.stall.wait(0.05):
                    with contextlib.suppress(OSError):
                        self.wfile.write(b"x")
                return
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(told.answer)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(told.answer)

        def log_message(self, *_: object) -> None:
            pass

    class ReceiverServer(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = ReceiverServer(("127.0.0.1", 0), ReceiverHandler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def certified(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the context of a server of a name, and that of a client who trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    moment = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - datetime.timedelta(hours=1))
        .not_valid_after(moment + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "receiver.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    client = ssl.create_default_context(cafile=str(path))
    return server, client
