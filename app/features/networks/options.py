"""What is uncertain of a network, as samples that two networks of one cluster partly share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.entries import SystemEntry
from app.catalog.figures import Figure
from app.engine.records import Fabric, Floats
from app.engine.uncertainty import banded_samples
from app.errors import BadInput, Conflict, NotFound
from app.estimating.hardware import MOST_PORTS, Hardware, known_id
from app.estimating.network_parts import NetworkBill, has_bill, network_bill
from app.estimating.ranges import NETWORK
from app.features.networks.model import FabricChoiceRequest, NetworkInput

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
                raise BadInput.at(f"options.{place}", "{network} is listed twice", network=found[-1].id)
            if earlier.label == found[-1].label:
                raise BadInput.at(
                    f"options.{place}.label",
                    "two networks are labelled “{label}”; use different labels",
                    label=earlier.label,
                )
    return found


def _network(
    asked: NetworkInput, place: int, oversubscription: float, hardware: Hardware, catalog: Catalog
) -> NetworkOption:
    fabric = known_id(catalog, "fabric", asked.fabric, f"options.{place}.fabric")
    if fabric == POD_FABRIC:
        raise Conflict.at(f"options.{place}.fabric", "{fabric} connects IPUs only", fabric=fabric)
    ports = hardware.ports_per_node if asked.ports_per_node is None else asked.ports_per_node
    if not 1 <= ports <= MOST_PORTS:
        raise BadInput.at(
            f"options.{place}.ports_per_node",
            "ports must be between 1 and {most}, not {ports}",
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
            raise BadInput.at(field, "the runs of {network} are given twice", network=network.label)
        found[network.id] = value
    return found


def bill_of(
    catalog: Catalog, entry: SystemEntry, machines: int, network: NetworkOption
) -> NetworkBill | None:
    """Return the parts of a network; None where nobody sells it by the switch, or not of this size."""
    if not has_bill(catalog, network.fabric):
        return None
    try:
        return network_bill(
            catalog,
            fabric=network.fabric,
            nodes=machines,
            ports_per_node=network.ports,
            oversubscription=network.oversubscription,
            machine=entry.machine,
        )
    except BadInput:
        # More machines than three levels of its switches join.
        return None


def built_oversubscription(
    catalog: Catalog, entry: SystemEntry, machines: int, network: NetworkOption
) -> float:
    """Return ports towards machines per uplink as built: none on a single switch, which has no uplinks."""
    if network.oversubscription == 1.0:
        return 1.0
    bill = bill_of(catalog, entry, machines, network)
    return network.oversubscription if bill is None else float(bill.tree.oversubscription)


ONE_SIDED = 1.2816
"""Standard deviations from the middle to the 90th percentile of a normal distribution."""

COLUMNS = len([name for name in NETWORK if name.startswith("bandwidth_")])


def shared_variance(catalog: Catalog) -> float:
    """Return the share of what networks may miss their figures by that all of one cluster share."""
    return catalog.figure("network-choice", "shared_network_variance").si


def sampled_fabric(catalog: Catalog, central: Fabric, slot: float, normals: Mapping[str, Floats]) -> Fabric:
    r"""Return samples of a fabric as one cluster may find it.

    .. math:: z = \sqrt{s} \, z_{shared} + \sqrt{1 - s} \, z_{own}

    The bandwidth of a port varies by the range of its figure and by what collectives of one cluster miss it
    by, the latencies by their ranges; no port beats its line or the slot of its adapter.

    Parameters
    ----------
    catalog : Catalog
        Ranges of the figures, and :math:`s`.
    central : Fabric
        The fabric at its central figures.
    slot : float
        What the slots of the machine carry for one port. [B/s]
    normals : mapping
        Standard normals by column.
    """
    figures = catalog.fabric_figures(central.name)
    bandwidth = own_normals(catalog, central.name, "bandwidth", normals)
    latency = own_normals(catalog, central.name, "latency", normals)
    found = catalog.find(central.name, "achieved_deviation")
    middle = float(np.ravel(central.port_bandwidth)[0])
    ends = _widened(middle, figures["port_bandwidth"], 0.0 if found is None else found.si)
    most = min(catalog.figure(central.name, "line_rate").si, slot)
    return replace(
        central,
        port_bandwidth=np.minimum(banded_samples(middle, *ends, bandwidth), most),
        hop_latency=_varied(figures["hop_latency"], latency),
        tree_latency=_varied(figures["tree_latency"], latency),
        message_latency=_varied(figures["message_latency"], latency),
    )


def own_normals(catalog: Catalog, fabric: str, what: str, normals: Mapping[str, Floats]) -> Floats:
    """Return the normals of one fabric, correlated with those of every other by what they share."""
    share = shared_variance(catalog)
    place = catalog.names("fabric").index(fabric) % COLUMNS
    common, own = normals[f"network_{what}"], normals[f"{what}_{place:02d}"]
    return np.asarray(math.sqrt(share) * common + math.sqrt(1.0 - share) * own)


def residual_normals(
    catalog: Catalog, fabric: str, column: str, normals: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Return normals in which the column of a plan stands for the plan on one network."""
    share = catalog.figure("network-choice", "shared_residual_variance").si
    own = own_normals(catalog, fabric, "bandwidth", normals)
    return {**normals, column: math.sqrt(share) * normals[column] + math.sqrt(1.0 - share) * own}


def _widened(middle: float, figure: Figure, deviation: float) -> tuple[float, float]:
    """Return the ends of a range in proportion to a figure's where a cluster may miss it besides."""
    below, above = math.log(figure.si / figure.si_low), math.log(figure.si_high / figure.si)
    return (
        middle * math.exp(-math.hypot(below, ONE_SIDED * deviation)),
        middle * math.exp(math.hypot(above, ONE_SIDED * deviation)),
    )


def _varied(figure: Figure, normals: Floats) -> Floats:
    return banded_samples(figure.si, figure.si_low, figure.si_high, normals)
