"""What the options cost over a term, all for the same useful hours."""

from __future__ import annotations

from app.sizing.document import BasisCost, Comparison, ComparisonRow
from app.sizing.proposal.documents import OptionTerm, Term, TermLine


def term_of(comparison: Comparison) -> Term | None:
    """Return the costs of all estimates over the term of their one basis; None where none has a cost.

    An option stands as it is asked for; what else it could be rented for follows it.
    """
    basis = comparison.one_basis
    options = [option_term(row, cost) for row in comparison.rows for cost in row.costs]
    if basis is None or not options:
        return None
    return Term(years=basis.term_years, useful_hours_per_year=basis.useful_hours_per_year, options=options)


def option_term(row: ComparisonRow, cost: BasisCost) -> OptionTerm:
    """Return what one option costs over the term, had in one way."""
    return OptionTerm(
        label=row.label,
        acquisition=cost.acquisition,
        rental=cost.rental,
        own=cost.own,
        hourly=cost.hourly,
        yearly=cost.yearly,
        over_term=cost.over_term,
        runs=cost.runs,
        lines=[TermLine(item=line.item, amount=line.over_term or 0.0) for line in cost.lines],
    )
