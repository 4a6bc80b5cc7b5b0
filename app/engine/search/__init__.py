"""Search over plans: every legal one as arrays, memory first, then time for what fits."""
