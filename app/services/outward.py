"""Where this server may send to: public addresses, checked after names are looked up."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import httpx

from app.errors import BadInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[Address]]

LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".home.arpa", ".lan")
"""Names that lead nowhere public (RFC 6761, RFC 6762, RFC 8375)."""

TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 behind a translator (RFC 6052)."""

LOOK_UP_SECONDS = 5.0
"""Longest time for finding the addresses of a name. [s]"""


def checked_url(field: str, text: str, *, http: bool) -> httpx.URL:
    """Return an address that messages may be sent to, as far as can be told without looking it up."""
    try:
        url = httpx.URL(text.strip())
        # A name that is no name of the internet's shows only once it is read.
        host = url.host.lower().rstrip(".")
    except (httpx.InvalidURL, UnicodeError):
        raise BadInput.at(field, "is not an address; give https://host/path") from None
    if url.scheme not in ({"https", "http"} if http else {"https"}):
        raise BadInput.at(field, "must begin with https://")
    if not host or url.userinfo or url.fragment:
        raise BadInput.at(field, "must have a host, and no user name or fragment")
    if len(str(url)) > MOST_URL or (url.port is not None and not 0 < url.port < 65536):
        raise BadInput.at(field, "is not an address; give https://host/path")
    literal = literal_address(host)
    if host.endswith(LOCAL_NAMES) or (literal is not None and not is_public(literal)):
        raise BadInput.at(field, "must lead to a public address, not to this machine or a private network")
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
    >>> [is_public(ipaddress.ip_address(one)) for one in ("10.0.0.1", "100.64.0.1", "::ffff:127.0.0.1")]
    [False, False, False]
    """
    inner = hidden(address)
    if inner is not None:
        return is_public(inner)
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_loopback
        and not address.is_link_local
        and not address.is_unspecified
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
    found: SimpleQueue[list[Any]] = SimpleQueue()

    def look_up() -> None:
        try:
            found.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError):
            found.put([])

    # The system's own limit may be far longer, and nothing ends a look-up sooner: it is left to its thread.
    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    try:
        entries = found.get(timeout=LOOK_UP_SECONDS)
    except Empty:
        return []
    # A zone, as in fe80::1%eth0, is of this machine's links and of no use here.
    names = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries)
    return [ipaddress.ip_address(name) for name in names]
