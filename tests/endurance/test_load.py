"""A sample of the load in the suite; the whole of it by ``python -m tests.endurance.load``."""

from tests.endurance.load import MIX, measured


def test_sessions_at_once_are_all_answered_and_memory_settles() -> None:
    report = measured(10, 4, 0, workers=1)
    assert report.errors == []
    # A busy machine answers few questions.
    assert set(report.seconds) <= set(MIX) and sum(map(len, report.seconds.values())) >= 4
    assert report.growth() < 75e6, "\n".join(report.lines())
