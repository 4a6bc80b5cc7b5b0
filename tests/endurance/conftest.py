"""What of these scripts no test may load."""

collect_ignore = ["fuzz_guided.py"]
"""Needs atheris, which the locks do not hold."""
