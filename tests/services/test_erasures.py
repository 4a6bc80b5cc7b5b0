"""An erased name comes back neither from memory, of whichever server, nor from work under way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.features.accelerators.model import AcceleratorRequest
from app.features.accelerators.service import create_accelerator
from app.features.calibration.model import CalibrationRequest
from app.features.calibration.service import create_calibration
from app.features.erasure.model import Erasure, ErasureRequest
from app.features.erasure.service import erase_customer
from app.features.price_books.model import PriceBookRequest
from app.features.price_books.service import create_book
from app.features.uploads.model import ProfileRequest
from app.features.uploads.service import describe_profile
from app.platform.store.database import Store
from app.platform.web.examples import ACCELERATOR, BOOK, CALIBRATION, TRANSFORMER
from app.platform.workbench import LOCAL_WORKSPACE, Workbench
from tests.sizing.asking import sizing_context


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Workbench]]:
    """Two servers of one database."""
    url = f"sqlite:///{tmp_path / 'erasures.sqlite3'}"
    both = [Workbench(sizing_context(), Store(url)) for _ in range(2)]
    both[0].prepare()
    yield both
    for bench in both:
        bench.store.close()


def erase(bench: Workbench, name: str) -> Erasure:
    request = ErasureRequest(customer=name, replacement="Erased", dry_run=False)
    return erase_customer(bench, LOCAL_WORKSPACE, request)


def test_no_server_finds_in_memory_what_was_erased(servers: list[Workbench]) -> None:
    bench = servers[0]
    book = create_book(bench, LOCAL_WORKSPACE, PriceBookRequest.model_validate(BOOK | {"name": "Zanfor"})).id
    stated = AcceleratorRequest.model_validate(ACCELERATOR | {"name": "Zanfor X1"})
    own = create_accelerator(bench, LOCAL_WORKSPACE, stated).id
    fitted = CalibrationRequest.model_validate(CALIBRATION | {"label": "Runs of Zanfor"})
    calibration = create_calibration(bench, LOCAL_WORKSPACE, fitted).id
    described = ProfileRequest.model_validate(TRANSFORMER | {"name": "Zanfor 7B"})
    profile = describe_profile(bench, LOCAL_WORKSPACE, described).id

    def read(server: Workbench) -> list[str]:
        context, catalogue = server.context(LOCAL_WORKSPACE), server.of(LOCAL_WORKSPACE).catalogue
        found = (
            context.find_book(book),
            context.find_profile(profile),
            context.find_calibration(calibration),
        )
        return [repr(part).casefold() for part in (*found, catalogue.systems.documents[own].name)]

    for server in servers:
        assert [text for text in read(server) if "zanfor" not in text] == []
    erase(bench, "Zanfor")
    for server in servers:
        assert not any("zanfor" in text for text in read(server))
