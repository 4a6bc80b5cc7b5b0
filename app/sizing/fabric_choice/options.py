"""The networks that are weighed: those asked for, or those that suit the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from app.catalog import Catalog
from app.errors import BadInput, Conflict, NotFound
from app.sizing.fabric_choice.request import FabricChoiceRequest, NetworkInput
from app.sizing.hardware import MOST_PORTS, Hardware, known_id

POD_FABRIC = "ipu-fabric"

USUAL: tuple[tuple[str, Callable[[int], int]], ...] = (
    ("hdr-infiniband", lambda ports: ports),
    ("hdr-infiniband", lambda ports: ports // 2),
    ("ndr-infiniband", lambda ports: ports // 2),
    ("roce-400", lambda ports: ports // 2),
    ("roce-200", lambda ports: ports),
    ("roce-200", lambda ports: ports // 2),
    ("roce-200", lambda ports: 1),
    ("roce-100", lambda ports: ports),
    ("roce-100", lambda ports: ports // 2),
    ("roce-100", lambda ports: 2),
    ("roce-100", lambda ports: 1),
    ("ethernet-100", lambda ports: 2),
    ("ethernet-100", lambda ports: 1),
)
"""Fabrics and ports weighed where nothing else is asked, from those of a machine's own network."""

LADDER = ("roce-100", "roce-200")
"""Fabrics of the ladder from one port of 100 Gb/s to all ports of 200."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class NetworkOption:
    """One network to weigh."""

    fabric: str
    ports: int
    oversubscription: float
    label: str
    installed: bool = False
    own_ratio: bool = False
    """True where the oversubscription was asked for of this network and not of all."""

    @property
    def id(self) -> str:
        """Identifier within an answer; it stays where the oversubscription of all networks changes."""
        ratio = f"-{self.oversubscription:g}to1" if self.own_ratio and self.oversubscription > 1.0 else ""
        return f"{self.fabric}-{self.ports}{ratio}"


def networks(request: FabricChoiceRequest, hardware: Hardware, catalog: Catalog) -> list[NetworkOption]:
    """Return the networks to weigh, none of them twice."""
    found = _listed(request, hardware, catalog)
    there = {
        named_network(name, found, f"installed.{place}").id for place, name in enumerate(request.installed)
    }
    return [replace(network, installed=network.id in there) for network in found]


def _listed(request: FabricChoiceRequest, hardware: Hardware, catalog: Catalog) -> list[NetworkOption]:
    if request.options is None:
        return usual_networks(hardware, catalog, request.oversubscription)
    found: list[NetworkOption] = []
    for place, asked in enumerate(request.options):
        found.append(_network(asked, place, request.oversubscription, hardware, catalog))
        for earlier in found[:-1]:
            if earlier.id == found[-1].id:
                raise BadInput.at(
                    f"options.{place}", "{network} is among the options twice", network=found[-1].id
                )
            if earlier.label == found[-1].label:
                raise BadInput.at(
                    f"options.{place}.label",
                    "two networks are called “{label}”; give each its own label",
                    label=earlier.label,
                )
    return found


def _network(
    asked: NetworkInput, place: int, oversubscription: float, hardware: Hardware, catalog: Catalog
) -> NetworkOption:
    fabric = known_id(catalog, "fabric", asked.fabric, f"options.{place}.fabric")
    if fabric == POD_FABRIC:
        raise Conflict.at(f"options.{place}.fabric", "{fabric} joins IPUs only", fabric=fabric)
    ports = hardware.ports_per_node if asked.ports_per_node is None else asked.ports_per_node
    if not 1 <= ports <= MOST_PORTS:
        raise BadInput.at(
            f"options.{place}.ports_per_node",
            "{ports} is not between 1 and {most} ports",
            ports=ports,
            most=MOST_PORTS,
        )
    ratio = oversubscription if asked.oversubscription is None else asked.oversubscription
    label = asked.label or network_label(catalog, fabric, ports, ratio)
    return NetworkOption(fabric, ports, ratio, label, own_ratio=asked.oversubscription is not None)


def network_label(catalog: Catalog, fabric: str, ports: int, oversubscription: float = 1.0) -> str:
    """Return the name of a network as it is bought: so many ports of a fabric."""
    ratio = "" if oversubscription == 1.0 else f", {oversubscription:g}:1"
    return f"{ports} × {catalog.items[fabric].name}{ratio}"


def usual_networks(
    hardware: Hardware, catalog: Catalog, oversubscription: float = 1.0
) -> list[NetworkOption]:
    """Return the networks that suit a machine, its own first."""
    most = max(hardware.ports_per_node, hardware.entry.ports_per_node)
    shapes = [(hardware.fabric, hardware.ports_per_node)]
    shapes += [(fabric, max(1, min(ports(most), most))) for fabric, ports in USUAL]
    return [
        NetworkOption(
            fabric, ports, oversubscription, network_label(catalog, fabric, ports, oversubscription)
        )
        for fabric, ports in dict.fromkeys(shapes)
    ]


def ladder(hardware: Hardware, catalog: Catalog, oversubscription: float) -> list[NetworkOption]:
    """Return networks from one port of 100 Gb/s to all ports of 200."""
    most = max(hardware.ports_per_node, hardware.entry.ports_per_node)
    counts = [ports for ports in (1, 2, 4, 8, 16) if ports <= most]
    return [
        NetworkOption(fabric, ports, oversubscription, network_label(catalog, fabric, ports))
        for ports in counts
        for fabric in LADDER
    ]


def named_network(name: str, known: Sequence[NetworkOption], field: str) -> NetworkOption:
    """Return the network that a label, an identifier or the only option of a fabric names."""
    for matches in (_labels, _identifiers, _fabrics):
        found = [network for network in known if matches(network) == name]
        if len(found) == 1:
            return found[0]
    raise NotFound.named("network", name, [label for one in known for label in (one.label, one.id)], field)


def _labels(network: NetworkOption) -> str:
    return network.label


def _identifiers(network: NetworkOption) -> str:
    return network.id


def _fabrics(network: NetworkOption) -> str:
    return network.fabric


def by_network(values: Mapping[str, Value], known: Sequence[NetworkOption], field: str) -> dict[str, Value]:
    """Return values that came by name of a network by its identifier."""
    found: dict[str, Value] = {}
    for name, value in values.items():
        network = named_network(name, known, f"{field}.{name[:80]}")
        if network.id in found:
            raise BadInput.at(field, "runs of {network} are given twice", network=network.label)
        found[network.id] = value
    return found
