"""Send messages to webhooks: to addresses that were checked, within limits of time and size."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import httpx

from app.errors import BadInput, Message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".home.arpa", ".lan")
"""Names that lead nowhere public (RFC 6761, RFC 6762, RFC 8375)."""

TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 behind a translator (RFC 6052)."""

AZURE = ipaddress.IPv4Address("168.63.129.16")
"""Public by its number, but inside Azure the platform's own services answer there
(https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16)."""

LOOK_UP_SECONDS = 5.0
"""Longest time for finding the addresses of a name. [s]"""

SECONDS = 10.0
"""Longest time for one try, from connecting to the end of the answer. [s]"""

READ_BYTES = 4096
"""Most that is read of an answer. [B]"""

SHOWN_LETTERS = 500
"""Most that is kept of an answer."""

MOST_ADDRESSES = 3
"""Addresses of one name that are tried."""

MOST_URL = 500

# Both write addresses and header fields into the log; an address may hold a secret of the receiver's.
for name in ("httpx", "httpcore"):
    logging.getLogger(name).setLevel(logging.WARNING)


class Receipt(NamedTuple):
    """What a receiver answered, and why that is no success; None where it is one."""

    status: int | None = None
    text: str = ""
    reason: Message | None = None


def is_public(address: Address) -> bool:
    """Tell whether an address is one of the public internet, also where it hides another one.

    >>> [is_public(ipaddress.ip_address(one)) for one in ("8.8.8.8", "2606:4700::1111")]
    [True, True]
    >>> [is_public(ipaddress.ip_address(one)) for one in ("10.0.0.1", "::ffff:127.0.0.1", "fec0::1")]
    [False, False, False]
    """
    if isinstance(address, ipaddress.IPv6Address):
        translated = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in TRANSLATED else None
        teredo = address.teredo[1] if address.teredo else None
        inner = translated or address.ipv4_mapped or address.sixtofour or teredo
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            # Sites still use them inside, though they count as global since RFC 3879.
            return False
    return address.is_global and address != AZURE and not (address.is_multicast or address.is_reserved)


def literal_address(host: str) -> Address | None:
    """Return a host that is written as an address; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def resolved(host: str, port: int) -> list[Address]:
    """Return the addresses of a name, in the order to be tried; none where none is found in time."""
    found: list[Any] = []

    def look_up() -> None:
        with suppress(OSError, UnicodeError):
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

    # The system's own limit may be far longer, and nothing ends a look-up sooner: it is left to its thread.
    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(LOOK_UP_SECONDS)
    # A zone, as in fe80::1%eth0, is of this machine's links and of no use here.
    names = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [ipaddress.ip_address(name) for name in names]


@dataclass
class HttpSender:
    """Sends over HTTPS to the address that was checked, and to no other.

    A name is looked up once; the connection goes to the address found, while host and TLS keep the name.
    Thus a name that leads elsewhere a moment later gains nothing. Redirects are not followed.
    """

    http: bool = False
    """Whether messages may be sent without TLS."""
    names: frozenset[str] = frozenset()
    """Hosts inside that the operator allows."""
    networks: tuple[Network, ...] = ()
    """Networks inside that the operator allows."""

    @classmethod
    def of(cls, hosts: Sequence[str], *, http: bool = False) -> HttpSender:
        """Return a sender that may reach hosts inside: names, addresses and networks."""
        names, networks = set(), []
        for host in hosts:
            try:
                networks.append(ipaddress.ip_network(host.strip("[]")))
            except ValueError:
                names.add(host.lower().rstrip("."))
        return cls(http, frozenset(names), tuple(networks))

    def may_reach(self, host: str, addresses: Iterable[Address]) -> bool:
        """Tell whether a message may go to a host that leads to these addresses.

        One that is not public is enough to refuse them all: whoever mixes them means to be sent there.
        """
        return host.lower().rstrip(".") in self.names or all(
            is_public(address) or any(address in network for network in self.networks)
            for address in addresses
        )

    def checked(self, field: str, text: str) -> httpx.URL:
        """Return an address that messages may be sent to, as far as can be told without looking it up."""
        try:
            url = httpx.URL(text.strip())
            # A name that is no name of the internet's shows only once it is read.
            host = url.host.lower().rstrip(".")
        except (httpx.InvalidURL, UnicodeError):
            raise BadInput.at(field, "is not a valid address; use https://host/path") from None
        if url.scheme != "https" and not (self.http and url.scheme == "http"):
            raise BadInput.at(field, "must begin with https://")
        if not host or url.userinfo or url.fragment:
            raise BadInput.at(field, "must have a host, and no user name or fragment")
        if len(str(url)) > MOST_URL or (url.port is not None and not 0 < url.port < 65536):
            raise BadInput.at(field, "is not a valid address; use https://host/path")
        literal = literal_address(host)
        # Which addresses a local name stands for shows once it is looked up.
        local = host.endswith(LOCAL_NAMES) and host not in self.names and not self.networks
        if local if literal is None else not self.may_reach(host, [literal]):
            raise BadInput.at(
                field,
                "must point to a public address, not to this machine or a private network; the operator of "
                "the server can allow hosts with RACKLINE_WEBHOOK_HOSTS",
            )
        return url

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """Post a body once."""
        try:
            target = self.checked("url", url)
        except BadInput as error:
            return Receipt(reason=error.message)
        addresses = resolved(target.host, target.port or (443 if target.scheme == "https" else 80))
        if not addresses:
            return Receipt(reason=Message("the host name {host} has no address", {"host": target.host}))
        if not self.may_reach(target.host, addresses):
            message = "{host} resolves to an address that is not public"
            return Receipt(reason=Message(message, {"host": target.host}))
        try:
            return asyncio.run(self._post(target, addresses[:MOST_ADDRESSES], headers, body))
        except TimeoutError:
            return Receipt(reason=Message("no complete response within {seconds} s", {"seconds": SECONDS}))
        except (httpx.HTTPError, OSError, ValueError) as error:
            return Receipt(reason=Message("cannot be reached: {reason}", {"reason": type(error).__name__}))

    async def _post(
        self, target: httpx.URL, addresses: Sequence[Address], headers: Mapping[str, str], body: bytes
    ) -> Receipt:
        """Post a body to the first address that can be connected to."""
        fields = {**headers, "Host": target.netloc.decode("ascii"), "Accept-Encoding": "identity"}
        client = httpx.AsyncClient(
            verify=self._context, trust_env=False, follow_redirects=False, timeout=SECONDS
        )
        # The limit holds for the whole, however slowly single bytes come.
        async with asyncio.timeout(SECONDS), client:
            for address in addresses[:-1]:
                with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                    return await read(client, target, address, headers=fields, content=body)
            return await read(client, target, addresses[-1], headers=fields, content=body)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return httpx.create_ssl_context(trust_env=False)


async def read(client: httpx.AsyncClient, target: httpx.URL, address: Address, **message: Any) -> Receipt:
    """Post a message to a network address in the place of the name, and read the beginning of the answer."""
    url, name, content = target.copy_with(host=str(address)), {"sni_hostname": target.host}, b""
    async with client.stream("POST", url, extensions=name, **message) as response:
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) >= READ_BYTES:
                break
    text = content[:READ_BYTES].decode("utf-8", "replace")
    shown = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")[:SHOWN_LETTERS]
    refused = Message("the receiver responded with {status}", {"status": str(response.status_code)})
    return Receipt(response.status_code, shown, None if response.is_success else refused)
