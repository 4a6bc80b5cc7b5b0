"""The networks to choose from, their parts, and their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from app.catalog.catalog import Catalog
from app.catalog.figures import Figure
from app.engine.records import Floats, ScaleOutFabric
from app.engine.uncertainty import banded_samples
from app.errors import BadInput, Conflict, NotFound
from app.estimating.hardware import DECILES, MOST_PORTS, Hardware, known_id
from app.estimating.network_parts import NetworkBill, listed_network
from app.estimating.ranges import NETWORK
from app.features.networks.model import FabricChoiceRequest, NetworkInput

POD_FABRIC = "ipu-fabric"

USUAL_PORTS: Mapping[str, tuple[int | str, ...]] = {
    "hdr-infiniband": ("all", "half"),
    "ndr-infiniband": ("half",),
    "roce-400": ("half",),
    "roce-200": ("all", "half", 1),
    "roce-100": ("all", "half", 2, 1),
    "ethernet-100": (2, 1),
}
"""Fabrics compared by default, and on how many of a machine's ports."""

LADDER = ("roce-100", "roce-200")
"""Fabrics of the ladder from one port of 100 Gb/s to all ports of 200."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class NetworkOption:
    """One network to compare."""

    fabric: str
    ports: int
    oversubscription: float
    label: str
    installed: bool = False
    own_ratio: bool = False
    """Whether the oversubscription was requested for this network alone."""
    unusual: bool = False
    """Whether it is compared only because the option has it."""

    @property
    def id(self) -> str:
        """Identifier within an answer, independent of the oversubscription of all networks."""
        ratio = f"-{self.oversubscription:g}to1" if self.own_ratio and self.oversubscription > 1.0 else ""
        return f"{self.fabric}-{self.ports}{ratio}"


def network_options(
    request: FabricChoiceRequest, hardware: Hardware, catalog: Catalog
) -> list[NetworkOption]:
    """Return the networks to compare; refuse duplicates."""
    ratio = request.oversubscription
    if request.options is None:
        options = usual_networks(hardware, catalog, ratio)
    else:
        options = []
        for index, network in enumerate(request.options):
            option = _requested(network, f"options.{index}", ratio, hardware, catalog)
            _check_distinct(option, options, f"options.{index}")
            options.append(option)
    installed = {
        named_network(name, options, f"installed.{index}").id for index, name in enumerate(request.installed)
    }
    return [replace(option, installed=option.id in installed) for option in options]


def _requested(
    network: NetworkInput, field: str, usual_ratio: float, hardware: Hardware, catalog: Catalog
) -> NetworkOption:
    fabric = known_id(catalog, "fabric", network.fabric, f"{field}.fabric")
    if fabric == POD_FABRIC:
        raise Conflict.at(f"{field}.fabric", "{fabric} connects IPUs only", fabric=fabric)
    ports = hardware.ports_per_node if network.ports_per_node is None else network.ports_per_node
    if not 1 <= ports <= MOST_PORTS:
        raise BadInput.at(
            f"{field}.ports_per_node",
            "ports must be between 1 and {most}, not {ports}",
            ports=ports,
            most=MOST_PORTS,
        )
    ratio = usual_ratio if network.oversubscription is None else network.oversubscription
    label = network.label or network_label(catalog, fabric, ports, ratio)
    return NetworkOption(fabric, ports, ratio, label, own_ratio=network.oversubscription is not None)


def _check_distinct(option: NetworkOption, others: Sequence[NetworkOption], field: str) -> None:
    for other in others:
        if other.id == option.id:
            raise BadInput.at(field, "{network} is listed twice", network=option.id)
        if other.label == option.label:
            raise BadInput.at(
                f"{field}.label",
                "two networks are labelled “{label}”; use different labels",
                label=option.label,
            )


def network_label(catalog: Catalog, fabric: str, ports: int, oversubscription: float = 1.0) -> str:
    """Return the default label of a network: ports × fabric."""
    ratio = "" if oversubscription == 1.0 else f", {oversubscription:g}:1"
    return f"{ports} × {catalog.items[fabric].name}{ratio}"


def usual_networks(
    hardware: Hardware, catalog: Catalog, oversubscription: float = 1.0
) -> list[NetworkOption]:
    """Return the networks compared by default for a machine: the option's own, that of the system, the usual.

    But for its own they do not depend on which the option has, so that advice which is followed stays.
    """
    entry, most = hardware.entry, hardware.entry.ports_per_node
    counts: dict[int | str, int] = {"all": most, "half": max(most // 2, 1), 1: 1, 2: min(2, most)}
    own, usual = (hardware.fabric, hardware.ports_per_node), [(entry.fabric, entry.ports_per_node)]
    usual += [(fabric, counts[ports]) for fabric, shares in USUAL_PORTS.items() for ports in shares]
    return [
        NetworkOption(
            fabric,
            ports,
            oversubscription,
            network_label(catalog, fabric, ports, oversubscription),
            unusual=(fabric, ports) not in usual,
        )
        for fabric, ports in dict.fromkeys([own, *usual])
    ]


def ladder(hardware: Hardware, catalog: Catalog, oversubscription: float) -> list[NetworkOption]:
    """Return networks from one port of 100 Gb/s to all ports of 200."""
    return [
        NetworkOption(fabric, ports, oversubscription, network_label(catalog, fabric, ports))
        for ports in (1, 2, 4, 8, 16)
        if ports <= hardware.entry.ports_per_node
        for fabric in LADDER
    ]


def named_network(name: str, known: Sequence[NetworkOption], field: str) -> NetworkOption:
    """Return the network with a label or identifier, or the only one of a fabric."""
    for attribute in ("label", "id", "fabric"):
        matching = [network for network in known if getattr(network, attribute) == name]
        if len(matching) == 1:
            return matching[0]
    raise NotFound.named(
        "network", name, [text for network in known for text in (network.label, network.id)], field
    )


def by_network(values: Mapping[str, Value], known: Sequence[NetworkOption], field: str) -> dict[str, Value]:
    """Return values keyed by any name of a network, keyed by its identifier."""
    by_id: dict[str, Value] = {}
    for name, value in values.items():
        network = named_network(name, known, f"{field}.{name[:80]}")
        if network.id in by_id:
            raise BadInput.at(field, "the runs of {network} are given twice", network=network.label)
        by_id[network.id] = value
    return by_id


def bill_of(catalog: Catalog, hardware: Hardware, network: NetworkOption) -> NetworkBill | None:
    return listed_network(
        catalog,
        fabric=network.fabric,
        nodes=hardware.machines,
        ports_per_node=network.ports,
        oversubscription=network.oversubscription,
        machine=hardware.entry.machine.id,
    )


def built_oversubscription(catalog: Catalog, hardware: Hardware, network: NetworkOption) -> float:
    """Return ports to machines per uplink as built; 1 on a single switch, which has no uplinks."""
    if network.oversubscription == 1.0:
        return 1.0
    bill = bill_of(catalog, hardware, network)
    return network.oversubscription if bill is None else float(bill.tree.oversubscription)


ONE_SIDED = DECILES / 2.0
"""Standard deviations from the middle to the 90th percentile of a normal distribution."""

COLUMNS = len([name for name in NETWORK if name.startswith("bandwidth_")])


def shared_variance(catalog: Catalog) -> float:
    """Return the share of the variance of achieved bandwidth that all networks of a cluster share."""
    return catalog.figure("network-choice", "shared_network_variance").si


def sampled_fabric(
    catalog: Catalog, central: ScaleOutFabric, slot: float, normals: Mapping[str, Floats]
) -> ScaleOutFabric:
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
    deviation = catalog.find(central.name, "achieved_deviation")
    middle = float(np.ravel(central.port_bandwidth)[0])
    ends = _widened(middle, figures["port_bandwidth"], 0.0 if deviation is None else deviation.si)
    most = min(catalog.figure(central.name, "line_rate").si, slot)

    def varied(name: str) -> Floats:
        return banded_samples(figures[name].si, figures[name].si_low, figures[name].si_high, latency)

    return replace(
        central,
        port_bandwidth=np.minimum(banded_samples(middle, *ends, bandwidth), most),
        hop_latency=varied("hop_latency"),
        tree_latency=varied("tree_latency"),
        message_latency=varied("message_latency"),
    )


def _widened(middle: float, figure: Figure, deviation: float) -> tuple[float, float]:
    """Return the range of a figure around another middle, widened by the deviation between clusters."""
    below, above = math.log(figure.si / figure.si_low), math.log(figure.si_high / figure.si)
    return (
        middle * math.exp(-math.hypot(below, ONE_SIDED * deviation)),
        middle * math.exp(math.hypot(above, ONE_SIDED * deviation)),
    )


def own_normals(catalog: Catalog, fabric: str, what: str, normals: Mapping[str, Floats]) -> Floats:
    """Return the normals of one fabric, correlated with those of the others by the shared variance."""
    share = shared_variance(catalog)
    index = catalog.names("fabric").index(fabric) % COLUMNS
    common, own = normals[f"network_{what}"], normals[f"{what}_{index:02d}"]
    return np.asarray(math.sqrt(share) * common + math.sqrt(1.0 - share) * own)


def residual_normals(
    catalog: Catalog, fabric: str, column: str, normals: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Return normals whose column of a plan is that of the plan on one network."""
    share = catalog.figure("network-choice", "shared_residual_variance").si
    own = own_normals(catalog, fabric, "bandwidth", normals)
    return {**normals, column: math.sqrt(share) * normals[column] + math.sqrt(1.0 - share) * own}
