"""Systems at counts, what an hour of each costs, and which of them share their hardware."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from pydantic import JsonValue

from app.catalog.entries import ChipKind, SystemEntry
from app.catalog.figures import Figure
from app.engine.records import Floats, IpuChip
from app.engine.units import HOUR
from app.errors import AppError, BadInput
from app.estimating.capital import spot_interruptions, taken, terms_of
from app.estimating.context import SizingContext
from app.estimating.costing import Charges, system_power
from app.estimating.deciding import PlanQuestion, question_of
from app.estimating.documents import CheckWarning
from app.estimating.hardware import Hardware, Reliability, known_id, reliability
from app.estimating.prices import prices
from app.estimating.ranges import common_normals, spread_quantity
from app.estimating.schema import Quantity
from app.estimating.workload import ADAPTER_PAPERS
from app.features.sizings.model import OptionPrice, PriceShares, SizingRequest, estimate_request
from app.profiles.model import ModelProfile

SCALABLE_UNIT = 20
"""Nodes of one scalable unit of a DGX SuperPOD, in which clusters of A100 are ordered."""

TRIED_BETWEEN = 4
"""Counts tried between one that misses and the next of the lattice that meets."""


def lattice(entry: SystemEntry, most: int) -> list[int]:
    """Return the counts of a system that are considered, rising.

    IPU systems are sold and partitioned by powers of two; nodes are counted by powers of two and by scalable
    units of twenty.
    """
    counts = range(1, most // entry.devices + 1)
    if entry.chip_kind is ChipKind.IPU:
        return [count for count in counts if is_power_of_two(count)]
    nodes = ((count, count * entry.machines) for count in counts)
    return [count for count, number in nodes if is_power_of_two(number) or number % SCALABLE_UNIT == 0]


def is_power_of_two(number: int) -> bool:
    """Return True for 1, 2, 4, 8 and so on."""
    return number & (number - 1) == 0


def between(low: int, high: int) -> list[int]:
    """Return a few counts between two, those first that divide most evenly."""
    step = 1 << max(((high - low) // TRIED_BETWEEN).bit_length() - 1, 0)
    first = (low // step + 1) * step
    return list(range(first, high, step))


@dataclass(eq=False)
class Group:
    """Systems that share chip, node, host memory and fabric: a plan for so many machines serves them all."""

    hardware: Hardware
    """One machine or the smallest system of them."""
    question: PlanQuestion
    reliability: Reliability

    @cached_property
    def asked(self) -> dict[str, JsonValue]:
        """The request of an estimate, but for its system and its plan."""
        return self.question.request.model_dump(mode="json", exclude_none=True, exclude_defaults=True)

    @cached_property
    def workload(self) -> dict[str, JsonValue]:
        """The workload of it."""
        return self.question.request.workload.model_dump(
            mode="json", exclude_none=True, exclude_defaults=True
        )


@dataclass(slots=True, eq=False)
class Candidate:
    """A system at a count: what may become an option."""

    group: Group
    hardware: Hardware
    charges: Charges | None
    """None where no price is known."""
    power: Quantity
    owned: bool
    price: OptionPrice | None
    """Of one machine, or of one hour of a rented system."""
    warnings: list[CheckWarning] = field(default_factory=list)

    @property
    def identifier(self) -> str:
        """System and count, as options are called."""
        return f"{self.hardware.entry.id}-x{self.hardware.count}"

    @property
    def hourly(self) -> tuple[float, Floats]:
        """Cost of one hour, central and as samples; infinite where no price is known. [currency/h]"""
        if self.charges is None:
            return float("inf"), np.full_like(common_normals()["price"], np.inf)
        return self.charges.hourly, self.charges.hourly_samples


class Candidates:
    """Makes candidates of one request; groups and defaults are found once."""

    def __init__(self, request: SizingRequest, profile: ModelProfile, context: SizingContext) -> None:
        self.request = request
        self.profile = profile
        self.context = context
        self._groups: list[Group] = []
        self._first: dict[str, tuple[Hardware, Group]] = {}
        self._priced: dict[tuple[str, int], Candidate] = {}

    def systems(self) -> dict[str, list[int]]:
        """Return the counts to consider of each system."""
        catalog, request = self.context.catalog, self.request
        names = request.systems
        if names is None:
            on_gpus = request.workload.kind in ADAPTER_PAPERS
            names = [
                entry.id for entry in catalog.systems() if entry.chip_kind is ChipKind.GPU or not on_gpus
            ]
        else:
            for place, name in enumerate(names):
                known_id(catalog, "system", name, f"systems.{place}")
        found = {}
        for name in dict.fromkeys(names):
            entry = catalog.system(name)
            counts = lattice(entry, request.most_accelerators)
            if request.counts is not None:
                counts = sorted(set(request.counts))
                counts = [count for count in counts if count * entry.devices <= request.most_accelerators]
            if counts:
                found[name] = counts
        if not found:
            raise BadInput.at(
                "most_accelerators",
                "every requested system has more than {most} accelerators even at its smallest count",
                most=request.most_accelerators,
            )
        return found

    def candidate(self, system: str, count: int) -> Candidate:
        """Return a system at a count with its prices."""
        if system not in self._first:
            hardware = self.context.hardware.system(system, 1)
            self._first[system] = hardware, self._group(hardware)
        first, group = self._first[system]
        if (system, count) not in self._priced:
            self._priced[system, count] = self._at_prices(replace(first, count=count), group)
        return self._priced[system, count]

    def _at_prices(self, hardware: Hardware, group: Group) -> Candidate:
        request, catalog = self.request, self.context.catalog
        warnings: list[CheckWarning] = []
        family = self.profile.family
        found = prices(hardware, request.assumptions, request.currency, catalog, warnings, family)
        charges = None
        if found is not None:
            charges = Charges(hardware, found, normals=common_normals(), currency=request.currency)
        return Candidate(
            group=group,
            hardware=hardware,
            charges=charges,
            power=spread_quantity(system_power(hardware, 1.0, catalog, family)),
            owned=terms_of(hardware, request.assumptions, catalog).owned,
            price=None if charges is None else self._price(hardware, charges),
            warnings=warnings,
        )

    def _price(self, hardware: Hardware, charges: Charges) -> OptionPrice:
        """Return the price that most of the cost of a system hangs on."""
        found = charges.found
        catalog, currency = self.context.catalog, self.request.currency
        one = found.rate if currency == "KRW" else 1.0
        basis = found.figures["machines" if found.owned else "instances"][0]
        if isinstance(basis, Figure):
            known = taken(basis, catalog.book)
            factor = one if found.owned else one * HOUR
            amounts = [end * factor for end in (basis.si, basis.si_low, basis.si_high)]
            item, status = catalog.items[basis.item].name, known.status
            part = basis.item == hardware.entry.machine
        else:
            amounts = [(basis.value * one if found.owned else basis.value)] * 3
            item, status, part = hardware.entry.name, "stated", hardware.entry.machines == 1
        purchase, hour = charges.shares
        return OptionPrice(
            item=item,
            per="hour" if not found.owned else "machine" if part else "system",
            price=Quantity(value=amounts[0], low=amounts[1], high=amounts[2], unit=currency),
            status=status,
            shares=PriceShares(purchase=purchase if found.owned else None, run=hour, term=hour),
        )

    def _group(self, hardware: Hardware) -> Group:
        catalog, asked_of = self.context.catalog, self.request.assumptions
        assumed = reliability(
            catalog.reliability_defaults(hardware.entry.chip_kind),
            asked_of,
            spot_interruptions(hardware, asked_of, catalog),
        )
        for group in self._groups:
            if group.reliability == assumed and _alike(group.hardware, hardware):
                return group
        software = self._software(hardware.entry.chip_kind)
        asked = estimate_request(self.request, hardware.entry.id, hardware.count, software)
        group = Group(hardware, question_of(asked, self.profile, hardware, self.context), assumed)
        self._groups.append(group)
        return group

    def _software(self, kind: ChipKind) -> str | None:
        if self.request.software is None:
            return None
        profile = self.context.software_profile(self.request.software)
        return self.request.software if profile.kind == kind.value else None


def _alike(one: Hardware, other: Hardware) -> bool:
    """Return True for systems of the same chip, node, host memory and fabric."""
    return _same_hosts(one, other) and _same_links(one, other)


def _same_hosts(one: Hardware, other: Hardware) -> bool:
    """Return True where an optimizer kept in the hosts' memory fits and takes as long on both."""
    if isinstance(one.engine, IpuChip) or isinstance(other.engine, IpuChip):
        return True
    return (
        one.engine.host_memory == other.engine.host_memory
        and one.engine.host_memory_bandwidth == other.engine.host_memory_bandwidth
    )


def _same_links(one: Hardware, other: Hardware) -> bool:
    """Return True for systems of the same chip, node and fabric."""
    if one.entry.chip != other.entry.chip or one.devices_per_machine != other.devices_per_machine:
        return False
    if isinstance(one.engine, IpuChip) or isinstance(other.engine, IpuChip):
        return True
    pairs = ((one.engine.machine, other.engine.machine), (one.engine.fabric, other.engine.fabric))
    return all(
        np.array_equal(getattr(mine, entry.name), getattr(theirs, entry.name))
        for mine, theirs in pairs
        for entry in fields(mine)
        if entry.name != "name"
    )


def allowed(error: AppError) -> bool:
    """Return True for an error of one count alone: no plan divides it. Others concern the whole request."""
    fields = {entry.field for entry in error.errors}
    return isinstance(error, BadInput) and bool(fields) and fields <= {"plan", "workload.global_batch"}
