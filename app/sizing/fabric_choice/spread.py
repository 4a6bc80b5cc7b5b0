"""What is uncertain of a network, as samples that two networks of one cluster partly share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from app.catalog import Catalog, Figure
from app.engine.records import Fabric, Floats
from app.engine.uncertainty import banded_samples
from app.sizing.spread import NETWORK

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
