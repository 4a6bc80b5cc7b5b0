"""A sample of many consulting sessions; the whole of it by ``python -m tests.endurance.sessions``."""

from tests.endurance.sessions import measured


def test_readers_at_once_are_all_answered() -> None:
    heard = measured(count=6, length=4.0, pause=0.5, processes=1)
    assert set(heard.answers) == {200} and heard.answers[200] >= 6
