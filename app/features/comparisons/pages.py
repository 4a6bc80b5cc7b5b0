"""Options side by side: the comparisons that were made, and each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends

from app.errors import BadInput
from app.features.comparisons.model import Comparison
from app.features.comparisons.one_basis import BasisAsked
from app.features.comparisons.service import USUAL_BASIS, get_comparison
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.rights import page_router

router = page_router()

PARAMETER, UTILISATION, YEARS = ASKED = ("scaling_efficiency", "utilisation", "term_years")


@dataclass(frozen=True, slots=True)
class TypedBasis:
    """What an address states of the basis, as it was typed."""

    scaling_efficiency: str = ""
    utilisation: str = ""
    term_years: str = ""


TypedDep = Annotated[TypedBasis, Depends()]


def share_of(text: str, field: str = PARAMETER) -> float:
    """Return a share from what was typed: 0.85, 85 and 85% all mean the same."""
    try:
        number = float(text.strip().removesuffix("%").replace(",", ".") or "1")
    except ValueError:
        number = 0.0
    share = number / 100 if number > 1 or text.strip().endswith("%") else number
    if not 0 < share <= 1:
        raise BadInput.at(field, "must be above 0 and at most 100")
    return share


def address(identifier: str, share: float, basis: BasisAsked = USUAL_BASIS) -> str:
    """Return the one address of a comparison at a scaling efficiency, its costs on a basis."""
    scaled = [] if share == 1 else [(PARAMETER, f"{share:.6g}")]
    query = urlencode([*scaled, *stated(basis)])
    return f"/comparisons/{identifier}" + (f"?{query}" if query else "")


def stated(basis: BasisAsked) -> list[tuple[str, str]]:
    """Return what an address holds of a basis."""
    asked = {UTILISATION: basis.utilisation, YEARS: basis.term_years}
    return [(name, f"{value:.6g}") for name, value in asked.items() if value is not None]


def basis_of(utilisation: str, term_years: str) -> BasisAsked:
    """Return the basis that was typed: 0.5, 50 and 50% are the same utilisation; empty is the usual."""
    years = None
    if term_years.strip():
        try:
            years = float(term_years.strip().replace(",", "."))
        except ValueError:
            raise BadInput.at(YEARS, "enter a number of years") from None
    basis = BasisAsked(share_of(utilisation, UTILISATION) if utilisation.strip() else None, years)
    basis.check()
    return basis


@router.get("/comparisons/{identifier}.json")
def show_comparison_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, typed: TypedDep
) -> Comparison:
    basis = basis_of(typed.utilisation, typed.term_years)
    return get_comparison(bench, workspace, identifier, share_of(typed.scaling_efficiency), basis).comparison
