"""Proposals in Chinese: nothing a proposal says is left in English, and the document is set as Chinese is."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import unicodedata
from collections.abc import Iterator

import openpyxl
import pypdf
import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from app.features.proposals.model import Proposal
from app.features.proposals.pdf import payload, proposal_pdf, written_payload
from app.features.proposals.sheets import proposal_csv, proposal_workbook, rows_of
from app.features.proposals.writing.proposal import write_proposal
from app.platform.fonts import SUBSTITUTE, coverage
from app.platform.wording import voice as catalogs
from app.platform.wording.voice import voice
from tests.features.proposals.chinese import ENGLISH, KINDS, attentive, chinese
from tests.features.proposals.conftest import MOMENT
from tests.support.renderings import squeezed, text_of
from tools import printed_fonts as printed
from tools import translations as keys

PLACES = re.compile(r"\{(\w+)\}|%\((\w+)\)s")

HAN = re.compile(r"[\u4e00-\u9fff]")


def catalog_of(language: str) -> Catalog:
    with (catalogs.folder() / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file)


def test_the_catalogue_has_every_key_of_a_proposal_and_no_other() -> None:
    found = {message.id: message.string for message in catalog_of("zh") if message.id}
    assert sorted(keys.of_proposals() - {key for key, said in found.items() if said}) == []
    assert sorted(set(found) - keys.of_proposals()) == []


def test_translations_keep_the_places_of_their_values() -> None:
    for message in catalog_of("zh"):
        if message.id:
            found = set(PLACES.findall(str(message.string)))
            assert found == set(PLACES.findall(str(message.id))), message.id


def test_what_korean_says_in_its_own_words_chinese_does_too() -> None:
    korean = {message.id: str(message.string) for message in catalog_of("ko") if message.id}
    hangul = re.compile(r"[가-힣]")
    left = [
        message.id
        for message in catalog_of("zh")
        if message.id and hangul.search(korean[message.id]) and not HAN.search(str(message.string))
    ]
    assert set(left) <= {"leaf", "spine", "rack PDU"}, "network engineers say Leaf, Spine and PDU"


def test_every_letter_of_the_catalogue_can_be_printed() -> None:
    said = "".join(str(message.string) for message in catalog_of("zh") if message.id)
    assert not {letter for letter in said if ord(letter) not in coverage() and letter.isprintable()}
    assert all(unicodedata.category(letter) != "Lo" or not "가" <= letter <= "힣" for letter in said)


@pytest.mark.parametrize("weight", ["Regular", "Bold"])
def test_the_fonts_have_all_of_gb_2312(weight: str) -> None:
    file = printed.FOLDER / f"NotoSansCJKSC-{weight}.otf"
    assert file.stat().st_size < 3e6
    assert not printed.chinese() - printed.covered(file)


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_of_a_proposal_is_missing(kind: str) -> None:
    made = chinese(kind)
    speaker, misses = attentive()
    payload(made, speaker)
    written_payload(write_proposal(made, speaker), speaker, MOMENT)
    assert list(rows_of(made, made.content, speaker))
    # Names such as IPU-POD64 have no words in them.
    assert sorted(key for key in misses.keys & keys.every() if re.search("[a-z]{2}", key)) == []


@functools.cache
def paper_of(kind: str) -> bytes:
    return proposal_pdf(chinese(kind))


def quoted(made: Proposal) -> str:
    """Return what stands in another language for good: sources, and what the author typed."""
    content = made.content
    sources = [f"{one.title}{one.publisher}" for one in content.sources]
    typed = [content.title, *(row.label for row in content.comparison.rows)]
    typed += [row.estimate.model.name for row in content.comparison.rows if row.estimate is not None]
    typed += [gain.label for gain in (content.evidence.gains if content.evidence else ())]
    return squeezed("".join([*sources, *typed]))


def english(text: str, made: Proposal) -> Iterator[str]:
    """Return what looks like a sentence of English and is no quotation."""
    known = quoted(made)
    for line in text.splitlines():
        for found in ENGLISH.findall(line):
            if squeezed(found) not in known:
                yield found


@pytest.mark.parametrize("kind", KINDS)
def test_no_english_sentence_is_left_in_document_and_tables(kind: str) -> None:
    made = chinese(kind)
    paper = text_of(paper_of(kind))
    assert list(english(paper, made)) == []
    assert SUBSTITUTE not in paper
    book = openpyxl.load_workbook(io.BytesIO(proposal_workbook(made)))
    cells = [str(cell) for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row if cell]
    assert list(english("\n".join(cells), made)) == []
    for row in csv.DictReader(io.StringIO(proposal_csv(made))):
        assert list(english(f"{row['label']}\n{row['written']}", made)) == []


def test_the_document_is_chinese_accessible_and_the_same_every_time() -> None:
    made = chinese("GPT-3")
    first = paper_of("GPT-3")
    assert proposal_pdf(made) == first
    reader = pypdf.PdfReader(io.BytesIO(first))
    root = reader.trailer["/Root"]
    assert root["/Lang"] == "zh-CN"
    assert "pdfuaid" in root["/Metadata"].get_data().decode()
    fonts = {
        str(font.get_object()["/BaseFont"]).partition("+")[2]
        for page in reader.pages
        for font in page["/Resources"].get("/Font", {}).values()
    }
    assert any("NotoSansCJKsc-Regular" in name for name in fonts)
    assert any("NotoSansCJKsc-Bold" in name for name in fonts)
    assert not any("NotoSansCJKkr" in name for name in fonts)


def test_the_summary_says_what_is_recommended_in_chinese() -> None:
    made = chinese("GPT-3")
    read = pypdf.PdfReader(io.BytesIO(paper_of("GPT-3"))).pages[:3]
    first = squeezed("".join(page.extract_text() for page in read))
    assert "2026年11月2日" in first and MOMENT.day == 2
    for word in (
        "基础设施估算书",
        "推荐方案",
        "不应采购的方案",
        "装不下",
        "时限：30天",
        "₩5,000,000,000",
    ):
        assert word in first
    paper = squeezed(text_of(paper_of("GPT-3")))
    for warning in made.content.warnings:
        assert squeezed(voice("zh").sentence(warning.text)) in paper


def test_amounts_counts_and_shares_are_written_as_in_chinese() -> None:
    speaker = voice("zh")
    assert speaker.value(437_800_000, "KRW") == "₩4.38亿"
    assert speaker.value(1.2e12, "KRW") == "₩1.20万亿"
    assert speaker.value(52_000, "USD") == "52,000美元"
    assert speaker.full(4_378_000_000, "KRW") == "₩4,378,000,000"
    assert speaker.count(174.6e9) == "1,746亿"
    assert speaker.value(47520.0, "s") == "13.2小时"
    assert speaker.value(80e9, "B") == "80 GB"
    assert speaker.date("2026-12-31") == "2026年12月31日"
    assert speaker.value(2.5 * 365 * 86400, "s") == "2.5年"


def test_the_attached_content_names_its_language() -> None:
    reader = pypdf.PdfReader(io.BytesIO(paper_of("published")))
    (attached,) = reader.attachments["proposal.json"]
    assert json.loads(attached)["locale"] == "zh"
