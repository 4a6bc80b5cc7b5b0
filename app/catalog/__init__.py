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
    ChipEntry,
    ChipKind,
    FabricEntry,
    MachineEntry,
    SystemEntry,
    SystemPart,
)
from app.catalog.figures import (
    Claim,
    Curve,
    Derived,
    Direction,
    Figure,
    FigureStatus,
    Source,
    SourceKind,
    Spread,
    Unit,
)
from app.catalog.files import DataProblem
from app.catalog.load import load_catalog, load_training
from app.catalog.vendor_ratios import Machinery, VendorRatio, VendorRun

__all__ = [
    "HOST",
    "RENTALS",
    "Acquisition",
    "BookRow",
    "Catalog",
    "ChipEntry",
    "ChipKind",
    "Claim",
    "ConvergenceTarget",
    "CostDefaults",
    "Curve",
    "DataProblem",
    "Derived",
    "Direction",
    "FabricEntry",
    "Figure",
    "FigureStatus",
    "MachineEntry",
    "Machinery",
    "PriceBook",
    "ReliabilityDefaults",
    "Source",
    "SourceKind",
    "Spread",
    "SystemEntry",
    "SystemPart",
    "Unit",
    "VendorRatio",
    "VendorRun",
    "check_directory",
    "load_catalog",
    "load_training",
]
