"""Settings come from the environment, with directories of the user's where it says nothing."""

from pathlib import Path

import pytest

from app.errors import BadInput
from app.main import create_app
from app.settings import Settings


def test_the_default_is_a_directory_of_the_user() -> None:
    found = Settings.from_environment({})
    assert found.data_dir == Path.home() / ".local" / "share" / "rackline"
    assert found.database_url == f"sqlite:///{found.data_dir}/rackline.sqlite3"


def test_xdg_decides_where_data_lives(tmp_path: Path) -> None:
    assert Settings.from_environment({"XDG_DATA_HOME": str(tmp_path)}).data_dir == tmp_path / "rackline"
    assert Settings.from_environment({"XDG_DATA_HOME": "relative"}).data_dir.is_relative_to(Path.home())


def test_what_the_environment_says_is_taken(tmp_path: Path) -> None:
    found = Settings.from_environment(
        {"RACKLINE_DATA_DIR": str(tmp_path), "RACKLINE_DATABASE_URL": "", "RACKLINE_MAX_BODY_BYTES": "100"}
    )
    assert found.data_dir == tmp_path
    assert found.database_url == f"sqlite:///{tmp_path}/rackline.sqlite3"
    assert found.max_body_bytes == 100
    other = Settings.from_environment({"RACKLINE_DATABASE_URL": "postgresql+psycopg://x/y"})
    assert other.database_url == "postgresql+psycopg://x/y"


@pytest.mark.parametrize("value", ["many", "0", "-1", "1.5"])
def test_an_unusable_value_names_its_variable(value: str) -> None:
    with pytest.raises(BadInput) as caught:
        Settings.from_environment({"RACKLINE_MAX_UPLOAD_BYTES": value})
    assert [error.field for error in caught.value.errors] == ["RACKLINE_MAX_UPLOAD_BYTES"]


def test_a_directory_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        create_app(Settings.at(tmp_path / "file" / "data"))
    assert [error.field for error in caught.value.errors] == ["RACKLINE_DATA_DIR"]
