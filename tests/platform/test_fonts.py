"""One small font has every letter of our own words."""

import pytest

from tools import own_font as letters


def test_the_font_has_every_letter_of_our_words() -> None:
    missing = letters.needed() - letters.covered()
    hangul = {letter for letter in missing if "가" <= letter <= "힣"}
    assert not hangul, "make it anew: python -m tools.own_font PretendardVariable.ttf"
    assert len(missing) < 30


@pytest.mark.parametrize("ending", ["woff2", "css"])
def test_there_is_one_file_named_by_its_content(ending: str) -> None:
    (file,) = letters.FOLDER.glob(f"*.{ending}")
    assert file.stem == letters.files()[0].stem


def test_the_reserved_name_is_not_used() -> None:
    """The licence keeps the name for the unmodified font."""
    from fontTools.ttLib import TTFont

    names = TTFont(letters.files()[0])["name"]
    shown = {names.getDebugName(entry) for entry in (letters.FAMILY, letters.FULL, letters.POSTSCRIPT)}
    assert shown == {letters.NAME, letters.NAME.replace(" ", "")}
