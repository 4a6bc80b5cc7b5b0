"""A network as its switches come out: how far it is really oversubscribed."""

from __future__ import annotations

from app.catalog import Catalog, SystemEntry
from app.errors import BadInput
from app.sizing.bill.network import NetworkBill, has_bill, network_bill
from app.sizing.fabric_choice.options import NetworkOption


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
