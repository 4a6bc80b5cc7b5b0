"""What is measured is measured as it is served: garbage is looked for as often as Python does by itself."""

import gc

import pytest

OFTEN = gc.get_threshold()
"""As it is before the tests are collected, after which it is looked for seldom."""


@pytest.fixture(scope="session", autouse=True)
def garbage_as_in_service() -> None:
    gc.set_threshold(*OFTEN)


def report(name: str, value: object) -> None:
    """Print one figure; ``pytest -m benchmark -rP`` shows them."""
    print(f"{name}: {value}")
