"""Facts as data: chips, machines, systems, links, prices, energy, reliability, convergence.

Every number has a unit, a source and a date; a competing claim stays with the reason why it is not
used. :func:`load_catalog` refuses files that break these rules.
"""

from app.catalog.books import RENTALS, BookRow, PriceBook
from app.catalog.catalog import Catalog
from app.catalog.check import check_directory
from app.catalog.defaults import ConvergenceTarget, CostDefaults, ReliabilityDefaults
from app.catalog.entries import (
    HOST,
    Acquisition,
    BillLine,
    ChipEntry,
    ChipKind,
    FabricEntry,
    MachineEntry,
    SystemEntry,
)
from app.catalog.figures import (
    Claim,
    Curve,
    Derived,
    Direction,
    Figure,
    Source,
    SourceKind,
    Spread,
    Status,
    Unit,
)
from app.catalog.files import Problem
from app.catalog.load import load_catalog, load_training
from app.catalog.vendor_ratios import Machinery, VendorRatio, VendorRun

__all__ = [
    "HOST",
    "RENTALS",
    "Acquisition",
    "BillLine",
    "BookRow",
    "Catalog",
    "ChipEntry",
    "ChipKind",
    "Claim",
    "ConvergenceTarget",
    "CostDefaults",
    "Curve",
    "Derived",
    "Direction",
    "FabricEntry",
    "Figure",
    "MachineEntry",
    "Machinery",
    "PriceBook",
    "Problem",
    "ReliabilityDefaults",
    "Source",
    "SourceKind",
    "Spread",
    "Status",
    "SystemEntry",
    "Unit",
    "VendorRatio",
    "VendorRun",
    "check_directory",
    "load_catalog",
    "load_training",
]
