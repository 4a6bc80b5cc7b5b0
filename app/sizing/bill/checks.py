"""What to ask about a bill, and what to beware of."""

from __future__ import annotations

from collections.abc import Sequence

from app.catalog import Catalog, ChipKind, SystemEntry
from app.engine.units import KILOWATT
from app.errors import Message
from app.sizing.bill.documents import FabricPlan
from app.sizing.bill.lines import BillPart
from app.sizing.bill.racks import Packed, RackLimits
from app.sizing.bill.request import BillRequest
from app.sizing.document import CheckWarning


def bill_warnings(
    catalog: Catalog,
    system: SystemEntry,
    request: BillRequest,
    parts: Sequence[BillPart],
    packed: Sequence[Packed],
    limits: RackLimits,
    plan: FabricPlan | None,
) -> list[CheckWarning]:
    """Return the warnings of a bill."""
    found = [] if plan is None else list(plan.warnings)
    unknown = list(dict.fromkeys(line.name for line in parts if line.price is None))
    if unknown:
        message = Message(
            "no price is known of {parts}: the total is at least what the other lines come to",
            {"parts": ", ".join(unknown)},
        )
        found.append(CheckWarning.of("price_unknown", "caution", message, "price_book_id"))
    estimated = sum(line.price is not None and line.price.estimated for line in parts)
    if estimated:
        message = Message(
            "the prices of {estimated} of {lines} lines are estimates; a quote or a price book replaces them",
            {"estimated": estimated, "lines": len(parts)},
        )
        found.append(CheckWarning.of("prices_estimated", "info", message, "price_book_id"))
    over = max((rack.greatest for rack in packed), default=0.0)
    if over > limits.power:
        message = Message(
            "what has to stand together draws up to {power} kW, and a rack may draw {limit} kW: ask the site "
            "for the higher limit, or for a second rack within the reach of short cables",
            {"power": round(over / KILOWATT, 1), "limit": round(limits.power / KILOWATT, 1)},
        )
        found.append(CheckWarning.of("rack_power_exceeded", "caution", message, "rack_power_kw"))
    if not request.storage_tb:
        message = Message("no shared storage is counted; give storage_tb for it")
        found.append(CheckWarning.of("storage_not_counted", "info", message, "storage_tb"))
    if system.chip_kind is ChipKind.IPU and request.count > 1:
        message = Message(
            "{count} × {system} are billed as separate systems; larger pods are joined by GW-Links",
            {"count": request.count, "system": system.name},
        )
        found.append(CheckWarning.of("pods_not_joined", "info", message, "count"))
    unweighed = list(dict.fromkeys(line.name for line in parts if line.weight is None and line.height > 0))
    if unweighed:
        message = Message("no weight is known of {parts}", {"parts": ", ".join(unweighed)})
        found.append(CheckWarning.of("weight_unknown", "info", message, "racks"))
    return found
