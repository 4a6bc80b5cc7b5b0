"""What is kept in memory: the same for the same key, bounded, one workspace apart from another."""

from app.estimating.request import SystemInput
from app.platform.caches import LruCache, request_key


def test_what_was_asked_last_is_kept_and_no_more() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    latest: LruCache[str] = LruCache(2)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert latest.get(name, lambda name=name: make(name)) == name
    # “b” was the oldest when “c” came.
    assert made == ["a", "b", "c", "b"]
    assert len(latest) == 2


def test_requests_have_keys_of_their_own() -> None:
    one, other = SystemInput(id="dgx-a100-640gb"), SystemInput(id="dgx-a100-640gb", count=1)
    assert request_key(one) != request_key(other)
    assert request_key(one) == request_key(SystemInput(id="dgx-a100-640gb"))
