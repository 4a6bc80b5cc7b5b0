"""Send messages to webhooks: signed, to checked addresses, within limits of time and size."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import httpx

from app import __version__
from app.errors import BadInput, Message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

Resolve = Callable[[str, int], Sequence[Address]]

LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".home.arpa", ".lan")
"""Names that lead nowhere public (RFC 6761, RFC 6762, RFC 8375)."""

TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 behind a translator (RFC 6052)."""

AZURE = ipaddress.IPv4Address("168.63.129.16")
"""Public by its number, but inside Azure the platform's own services answer there
(https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16)."""

LOOK_UP_SECONDS = 5.0
"""Longest time for finding the addresses of a name. [s]"""


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class PrivateHosts:
    """Hosts and networks inside, which the operator allows messages to be sent to."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def read(cls, entries: Sequence[str]) -> PrivateHosts:
        """Return what a setting allows: names, addresses and networks.

        >>> PrivateHosts.read(["crm.corp.internal", "10.1.0.0/16"]).names
        frozenset({'crm.corp.internal'})
        """
        names, networks = set(), []
        for entry in entries:
            try:
                networks.append(ipaddress.ip_network(entry.strip("[]")))
            except ValueError:
                names.add(entry.lower().rstrip("."))
        return cls(frozenset(names), tuple(networks))

    def allows(self, host: str, addresses: Sequence[Address] = ()) -> bool:
        """Tell whether a host may lead to addresses that are not public, once it was looked up."""
        if host.lower().rstrip(".") in self.names:
            return True
        literal = literal_address(host)
        resolved_addresses = addresses or ([] if literal is None else [literal])
        return bool(resolved_addresses) and all(
            is_public(address) or any(address in network for network in self.networks)
            for address in resolved_addresses
        )


NO_HOSTS = PrivateHosts()


def checked_url(field: str, text: str, *, http: bool, private: PrivateHosts = NO_HOSTS) -> httpx.URL:
    """Return an address that messages may be sent to, as far as can be told without looking it up."""
    try:
        url = httpx.URL(text.strip())
        # A name that is no name of the internet's shows only once it is read.
        host = url.host.lower().rstrip(".")
    except (httpx.InvalidURL, UnicodeError):
        raise BadInput.at(field, "is not a valid address; use https://host/path") from None
    if url.scheme not in ({"https", "http"} if http else {"https"}):
        raise BadInput.at(field, "must begin with https://")
    if not host or url.userinfo or url.fragment:
        raise BadInput.at(field, "must have a host, and no user name or fragment")
    if len(str(url)) > MOST_URL or (url.port is not None and not 0 < url.port < 65536):
        raise BadInput.at(field, "is not a valid address; use https://host/path")
    literal = literal_address(host)
    local = host.endswith(LOCAL_NAMES) or (literal is not None and not is_public(literal))
    # Which addresses a local name stands for shows once it is looked up.
    named = literal is None and bool(private.networks)
    if local and not named and not private.allows(host):
        raise BadInput.at(
            field,
            "must point to a public address, not to this machine or a private network; the operator of the "
            "server can allow hosts with RACKLINE_WEBHOOK_HOSTS",
        )
    return url


MOST_URL = 500


def literal_address(host: str) -> Address | None:
    """Return a host that is written as an address; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Tell whether an address is one of the public internet, also where it hides another one.

    >>> [is_public(ipaddress.ip_address(one)) for one in ("8.8.8.8", "2606:4700::1111")]
    [True, True]
    >>> [is_public(ipaddress.ip_address(one)) for one in ("10.0.0.1", "::ffff:127.0.0.1", "fec0::1")]
    [False, False, False]
    >>> is_public(AZURE)
    False
    """
    inner = hidden(address)
    if inner is not None:
        return is_public(inner)
    return (
        address.is_global
        and address != AZURE
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_loopback
        and not address.is_link_local
        and not address.is_unspecified
        # Sites still use them inside, though they count as global since RFC 3879.
        and not (isinstance(address, ipaddress.IPv6Address) and address.is_site_local)
    )


def hidden(address: Address) -> Address | None:
    """Return the IPv4 address that an IPv6 one stands for: mapped, 6to4, Teredo or translated."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def resolved(host: str, port: int) -> list[Address]:
    """Return the addresses of a name, in the order to be tried; none where none is found in time."""
    literal = literal_address(host)
    if literal is not None:
        return [literal]
    answers: SimpleQueue[list[Any]] = SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError):
            answers.put([])

    # The system's own limit may be far longer, and nothing ends a look-up sooner: it is left to its thread.
    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    try:
        entries = answers.get(timeout=LOOK_UP_SECONDS)
    except Empty:
        return []
    # A zone, as in fe80::1%eth0, is of this machine's links and of no use here.
    names = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries)
    return [ipaddress.ip_address(name) for name in names]


SECRET_MARK = "whsec_"

SECONDS = 10.0
"""Longest time for one try, from connecting to the end of the answer. [s]"""

READ_BYTES = 4096
"""Most that is read of an answer. [B]"""

SHOWN_LETTERS = 500
"""Most that is kept of an answer."""

MOST_ADDRESSES = 3
"""Addresses of one name that are tried."""

# Both write addresses and header fields into the log; an address may hold a secret of the receiver's.
for name in ("httpx", "httpcore"):
    logging.getLogger(name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a receiver answered."""

    status: int
    text: str


class Undelivered(Exception):
    """A message did not reach its receiver."""

    def __init__(self, template: str, **values: object) -> None:
        self.message = Message(template, values)
        super().__init__(str(self.message))


class Sender(Protocol):
    """Sends messages."""

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Post a body and return the answer, or raise :class:`Undelivered`."""


def signature(secret: str, identifier: str, moment: int, body: bytes) -> str:
    """Return the signature of a message as Standard Webhooks 1.0 has it.

    >>> signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
    ...           b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_MARK), validate=True)
    except binascii.Error:
        raise ValueError("not a secret of a webhook") from None
    signed = f"{identifier}.{moment}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def signed_headers(secrets: Sequence[str], identifier: str, moment: int, body: bytes) -> dict[str, str]:
    """Return the header fields of a message, with a signature by each secret that counts."""
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Rackline/{__version__}",
        "webhook-id": identifier,
        "webhook-timestamp": str(moment),
        "webhook-signature": " ".join(signature(secret, identifier, moment, body) for secret in secrets),
    }


class HttpSender:
    """Sends over HTTPS to the address that was checked, and to no other.

    A name is looked up once; the connection goes to the address found, while host and TLS keep the name.
    Thus a name that leads elsewhere a moment later gains nothing. Redirects are not followed.
    """

    def __init__(
        self,
        *,
        http: bool = False,
        private: PrivateHosts = NO_HOSTS,
        resolve: Resolve = resolved,
        permits: Callable[[Address], bool] = is_public,
        context: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._http = http
        self._private = private
        self._resolve = resolve
        self._permits = permits
        self._given = context
        self._seconds = seconds

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._given or httpx.create_ssl_context(trust_env=False)

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        try:
            target = checked_url("url", url, http=self._http, private=self._private)
        except BadInput as error:
            raise Undelivered(error.message.template, **error.message.values) from None
        port = target.port or (443 if target.scheme == "https" else 80)
        addresses = self._resolve(target.host, port)
        if not addresses:
            raise Undelivered("the host name {host} has no address", host=target.host)
        # One that is not public is enough: whoever mixes them means to be sent there sooner or later.
        permitted = all(self._permits(address) for address in addresses)
        if not permitted and not self._private.allows(target.host, addresses):
            raise Undelivered("{host} resolves to an address that is not public", host=target.host)
        try:
            return asyncio.run(self._post(target, addresses[:MOST_ADDRESSES], headers, body))
        except TimeoutError:
            raise Undelivered("no complete response within {seconds} s", seconds=self._seconds) from None
        except (httpx.HTTPError, OSError, ValueError) as error:
            raise Undelivered("cannot be reached: {reason}", reason=type(error).__name__) from None

    async def _post(
        self, target: httpx.URL, addresses: Sequence[Address], headers: Mapping[str, str], body: bytes
    ) -> Reply:
        fields = {**headers, "Host": target.netloc.decode("ascii"), "Accept-Encoding": "identity"}
        # The limit holds for the whole, however slowly single bytes come.
        async with (
            asyncio.timeout(self._seconds),
            httpx.AsyncClient(
                verify=self._context, trust_env=False, follow_redirects=False, timeout=self._seconds
            ) as client,
        ):
            for address in addresses[:-1]:
                try:
                    return await read(client, pinned(target, address), target.host, fields, body)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    continue
            return await read(client, pinned(target, addresses[-1]), target.host, fields, body)


def pinned(target: httpx.URL, address: Address) -> httpx.URL:
    """Return an address of the web with the network address in place of the name.

    >>> import ipaddress
    >>> pinned(httpx.URL("https://hooks.example.com:8443/a?b=c"), ipaddress.ip_address("2001:db8::1"))
    URL('https://[2001:db8::1]:8443/a?b=c')
    """
    return target.copy_with(host=str(address))


async def read(
    client: httpx.AsyncClient, url: httpx.URL, host: str, headers: Mapping[str, str], body: bytes
) -> Reply:
    """Post a body and read the beginning of the answer."""
    extensions = {"sni_hostname": host}
    async with client.stream("POST", url, headers=headers, content=body, extensions=extensions) as response:
        content = b""
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) >= READ_BYTES:
                break
        return Reply(response.status_code, shown(content[:READ_BYTES]))


def shown(content: bytes) -> str:
    r"""Return the beginning of an answer without what cannot be shown.

    >>> shown(b"thank\x00 you\r\n\xff")
    'thank you\n�'
    """
    text = content.decode("utf-8", "replace")
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")[:SHOWN_LETTERS]
