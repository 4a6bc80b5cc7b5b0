"""What decisions are made with, loaded once for all tests."""

import pytest

from app.estimating.context import SizingContext
from tests.sizing.asking import sizing_context


@pytest.fixture(scope="session")
def context() -> SizingContext:
    return sizing_context()
