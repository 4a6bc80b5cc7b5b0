"""Use cases: one function each, which loads, calls sizing and saves. Pages and API call nothing else."""
