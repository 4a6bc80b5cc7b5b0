"""Facts as data: chips, machines, systems, links, prices, energy, reliability, convergence.

Every number has a unit, a source and a date; a competing claim stays with the reason why it is not
used. :func:`load_catalog` refuses files that break these rules.
"""
