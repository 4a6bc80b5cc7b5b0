"""What a bought system is paid for: machines, hosts, network and storage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.catalog import Catalog, CostDefaults, Figure, PriceBook
from app.sizing.cost.documents import CostFigure
from app.sizing.cost.figures import stated, taken
from app.sizing.cost.terms import STORAGE, Terms
from app.sizing.failures import DECILES
from app.sizing.hardware import Hardware
from app.sizing.request import AssumptionsInput

HOST = "host-server"
TERABYTE = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Capital:
    """Purchase price by line."""

    lines: Mapping[str, float]
    """[USD]"""
    deviation: float
    """Log-deviation of the prices. [-]"""
    figures: Mapping[str, list[CostFigure]]
    """What each line rests on."""


NOTHING = Capital(lines={}, deviation=0.0, figures={})


def capital_of(
    hardware: Hardware,
    price: float | None,
    asked: AssumptionsInput,
    terms: Terms,
    defaults: CostDefaults,
    catalog: Catalog,
) -> Capital:
    """Return what a system is bought for; nothing where a part has no price.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    price : float or None
        Stated price of one system. [USD]
    asked : AssumptionsInput
        Storage that was asked for. [-]
    terms : Terms
        What is counted. [-]
    defaults : CostDefaults
        Price of storage, and how much of it a machine usually has. [-]
    catalog : Catalog
        Prices of parts. [-]
    """
    book = catalog.book
    whole = _whole_price(hardware, catalog)
    lines: dict[str, float] = {}
    figures: dict[str, list[CostFigure]] = {}
    deviation = 0.0
    if price is not None:
        lines["machines"] = price * hardware.count
        figures["machines"] = [stated("system_price", price, "USD")]
    elif whole is not None:
        lines["machines"] = whole.si * hardware.count
        figures["machines"] = [taken(whole, book)]
        deviation = _deviation(whole.si_low, whole.si_high)
    elif hardware.entry.price is not None:
        _parts(hardware, terms, book, lines, figures)
        deviation = _deviation(hardware.entry.price.low, hardware.entry.price.high)
    else:
        return NOTHING
    if price is None and hardware.count > 1 and "fabric" in terms.include and "fabric" not in lines:
        network = catalog.figure("dgx-cluster", "network_share")
        lines["fabric"] = sum(lines.values()) * network.si / (1.0 - network.si)
        figures["fabric"] = [taken(network, book)]
    if STORAGE in terms.include:
        size = stored_bytes(hardware, asked, defaults)
        lines[STORAGE] = size * defaults.storage_flash.si
        figures[STORAGE] = [storage_size(size, asked, defaults, book), taken(defaults.storage_flash, book)]
    return Capital(lines=lines, deviation=deviation, figures=figures)


def stored_bytes(hardware: Hardware, asked: AssumptionsInput, defaults: CostDefaults) -> float:
    """Return the shared storage of a system.

    Parameters
    ----------
    hardware : Hardware
        The system. [-]
    asked : AssumptionsInput
        Storage that was asked for. [-]
    defaults : CostDefaults
        What a machine usually has. [-]
    """
    if asked.storage_tb is not None:
        return asked.storage_tb * TERABYTE
    return defaults.storage_per_node.si * hardware.machines


def storage_size(
    size: float, asked: AssumptionsInput, defaults: CostDefaults, book: PriceBook | None
) -> CostFigure:
    """Return the size of the storage as a line shows it.

    Parameters
    ----------
    size : float
        Shared storage. [B]
    asked : AssumptionsInput
        Storage that was asked for. [-]
    defaults : CostDefaults
        What a machine usually has. [-]
    book : PriceBook or None
        The book that is laid over the catalogue. [-]
    """
    if asked.storage_tb is not None:
        return stated("storage_tb", size / TERABYTE, "TB")
    return taken(defaults.storage_per_node, book)


def _whole_price(hardware: Hardware, catalog: Catalog) -> Figure | None:
    """Price of a pod as a whole, where a price book states one."""
    entry = hardware.entry
    return None if entry.id == entry.machine else catalog.find(entry.id, "price")


def _parts(
    hardware: Hardware,
    terms: Terms,
    book: PriceBook | None,
    lines: dict[str, float],
    figures: dict[str, list[CostFigure]],
) -> None:
    entry = hardware.entry
    for part in entry.bill:
        name = "hosts" if part.item == HOST else "machines" if part.item == entry.machine else "fabric"
        if part.price is not None and (name == "machines" or name in terms.include):
            lines[name] = lines.get(name, 0.0) + part.count * part.price.si * hardware.count
            figures.setdefault(name, []).append(taken(part.price, book))


def _deviation(low: float, high: float) -> float:
    return math.log(high / low) / DECILES if low > 0 else 0.0
