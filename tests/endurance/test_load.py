"""A sample of the load in the suite; the whole of it by ``python -m tests.endurance.load``."""

from tests.endurance.load import MIX, measured


def test_clients_at_once_are_all_answered_and_memory_settles() -> None:
    report = measured(length=10, count=4, processes=1)
    assert report.errors == []
    # A busy machine answers few questions; those that are asked most are among them.
    assert {kind for kind, weight in MIX.items() if weight >= 20} <= set(report.seconds)
    assert report.growth() < 75e6, "\n".join(report.lines())
