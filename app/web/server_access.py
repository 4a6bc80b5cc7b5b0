"""How a server is reached: under which names, through which proxies, by whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

MOST_HOPS = 20


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """What stands between a server and those who ask."""

    hosts: frozenset[str]
    """Names that are answered to, with any port."""
    alone: bool = True
    """Without accounts: this machine alone may ask, and never through a proxy."""
    public_url: str = ""
    """Address as people write it; empty where there is none."""
    proxies: tuple[IPv4Network | IPv6Network, ...] = field(default=())
    """Networks of proxies whose word on where a request came from counts."""

    @property
    def https(self) -> bool:
        """Whether people reach it by https."""
        return self.public_url.startswith("https://")

    def trusts(self, address: str) -> bool:
        """Tell whether an address is that of a trusted proxy."""
        found = plain_address(address)
        return found is not None and not self.alone and any(found in one for one in self.proxies)

    def is_stranger(self, scope: Scope) -> bool:
        """Tell whether a server for this machine alone is asked from another one."""
        client = scope.get("client")
        if not self.alone or client is None:
            return False
        found = plain_address(client[0])
        return found is None or not found.is_loopback


def plain_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return a network address; one of IPv4 in the dress of IPv6 as what it is."""
    try:
        found = ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def behind_proxy(scope: Scope, headers: Headers, reach: ServerAccess) -> Scope | None:
    """Return a request as it reached the trusted proxy; None where the proxy's word cannot be read.

    The last address of X-Forwarded-For that is no trusted proxy is the client: what stands before it may
    have been written by anybody.
    """
    client = scope.get("client")
    if client is None or not reach.trusts(client[0]):
        return None
    hops = [one.strip() for line in headers.getlist("x-forwarded-for") for one in line.split(",")]
    if len(hops) > MOST_HOPS:
        return None
    address = client[0]
    for hop in reversed(hops):
        found = plain_address(hop)
        if found is None:
            return None
        address = str(found)
        if not reach.trusts(address):
            break
    scheme = headers.get("x-forwarded-proto", scope["scheme"]).strip().lower()
    if scheme not in {"http", "https"}:
        return None
    return {**scope, "client": (address, 0), "scheme": scheme}
