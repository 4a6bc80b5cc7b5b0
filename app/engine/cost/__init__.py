"""Money: capital, hours of a system owned or rented, runs, and what they come to over a term.

Amounts are in one currency throughout; the caller says which. Capital is counted in years, as its
interest is.
"""
