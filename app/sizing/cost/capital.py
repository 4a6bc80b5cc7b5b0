"""What a bought system is paid for: machines, hosts, network and storage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.catalog import HOST, Catalog, ChipKind, CostDefaults, Spread
from app.engine.units import TERABYTE
from app.errors import BadInput
from app.sizing.bill.network import has_bill, network_bill
from app.sizing.cost.figures import Basis, Stated
from app.sizing.cost.terms import STORAGE, Terms
from app.sizing.failures import DECILES
from app.sizing.hardware import Hardware
from app.sizing.request import AssumptionsInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Capital:
    """Purchase price by line."""

    lines: Mapping[str, float]
    """[USD]"""
    low: float
    """Where the prices of machines, hosts and network may begin; 0 where they are exact. [USD]"""
    high: float
    """Where they may end. [USD]"""
    figures: Mapping[str, list[Basis]]
    """What each line rests on."""

    @property
    def deviation(self) -> float:
        """Log-deviation of the prices."""
        return math.log(self.high / self.low) / DECILES if self.low > 0 else 0.0


NOTHING = Capital(lines={}, low=0.0, high=0.0, figures={})


def capital_of(
    hardware: Hardware,
    price: float | None,
    asked: AssumptionsInput,
    terms: Terms,
    defaults: CostDefaults,
    catalog: Catalog,
) -> Capital:
    """Return what a system is bought for; nothing where a part has no price."""
    whole = hardware.entry.whole_price
    lines: dict[str, float] = {}
    figures: dict[str, list[Basis]] = {}
    low = high = 0.0
    if price is not None:
        lines["machines"] = low = high = price * hardware.count
        figures["machines"] = [Stated("system_price", price, "USD")]
    elif whole is not None:
        lines["machines"] = whole.si * hardware.count
        figures["machines"] = [whole]
        low, high = whole.si_low * hardware.count, whole.si_high * hardware.count
    elif hardware.entry.price is not None:
        low, high = _parts(hardware, terms, lines, figures)
    else:
        return NOTHING
    by_parts = price is None and whole is None
    if "fabric" in terms.include and _is_joined(hardware, by_parts=by_parts):
        network, rests = _network(hardware, sum(lines.values()), catalog)
        lines["fabric"], figures["fabric"] = network.value, rests
        low, high = low + network.low, high + network.high
    if STORAGE in terms.include:
        size = stored_bytes(hardware, asked, defaults)
        lines[STORAGE] = size * defaults.storage_flash.si
        figures[STORAGE] = [storage_size(size, asked, defaults), defaults.storage_flash]
    return Capital(lines=lines, low=low, high=high, figures=figures)


def stored_bytes(hardware: Hardware, asked: AssumptionsInput, defaults: CostDefaults) -> float:
    """Return the shared storage of a system."""
    if asked.storage_tb is not None:
        return asked.storage_tb * TERABYTE
    return defaults.storage_per_node.si * hardware.machines


def storage_size(size: float, asked: AssumptionsInput, defaults: CostDefaults) -> Basis:
    """Return the size of the storage as a line shows it."""
    if asked.storage_tb is not None:
        return Stated("storage_tb", size / TERABYTE, "TB")
    return defaults.storage_per_node


def _network(hardware: Hardware, others: float, catalog: Catalog) -> tuple[Spread, list[Basis]]:
    """Price of the network between machines: its switches, cables and adapters.

    A network nobody can buy, and one beyond three levels of switches, costs the share of a published cluster.
    """
    if has_bill(catalog, hardware.fabric):
        try:
            bill = network_bill(
                catalog,
                fabric=hardware.fabric,
                nodes=hardware.machines,
                ports_per_node=hardware.ports_per_node,
                machine=hardware.entry.machine,
            )
        except BadInput:
            pass
        else:
            return bill.price, [line.price for line in bill.lines if line.price is not None]
    share = catalog.figure("dgx-cluster", "network_share")
    price = others * share.si / (1.0 - share.si)
    return Spread(price, price, price, "USD"), [share]


def _is_joined(hardware: Hardware, *, by_parts: bool) -> bool:
    """Tell whether a network between machines is bought beside them.

    IPU pods, and pods of GPUs at one price for the whole, have switches of their own, which their price
    holds. A pod of GPUs priced by its parts is joined as its bill joins it: as many machines anywhere.
    """
    if by_parts and _built_of_gpus(hardware):
        return hardware.machines > 1
    own = {hardware.entry.machine, HOST}
    return hardware.count > 1 and all(part.item in own for part in hardware.entry.bill)


def _built_of_gpus(hardware: Hardware) -> bool:
    return hardware.entry.chip_kind is not ChipKind.IPU


def _parts(
    hardware: Hardware, terms: Terms, lines: dict[str, float], figures: dict[str, list[Basis]]
) -> tuple[float, float]:
    """Fill in what the parts cost, and return where their prices may begin and end. [USD]"""
    entry = hardware.entry
    low = high = 0.0
    for part in entry.bill:
        name = "hosts" if part.item == HOST else "machines" if part.item == entry.machine else "fabric"
        if name == "fabric" and _built_of_gpus(hardware):
            continue
        if part.price is not None and (name == "machines" or name in terms.include):
            count = part.count * hardware.count
            lines[name] = lines.get(name, 0.0) + count * part.price.si
            low, high = low + count * part.price.si_low, high + count * part.price.si_high
            figures.setdefault(name, []).append(part.price)
    return low, high
