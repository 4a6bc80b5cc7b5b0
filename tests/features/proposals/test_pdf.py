"""The PDF of a proposal: what it says, that it is accessible, that it is the same every time."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pypdf
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pypdf.generic import DictionaryObject

from app.estimating.estimate import estimate as estimated
from app.estimating.request import EstimateRequest
from app.features.proposals.charts import printed_charts
from app.features.proposals.model import Proposal
from app.features.proposals.pdf import proposal_pdf
from app.features.studies.options import PublishedFigure
from app.features.studies.side_by_side import OptionEntry
from app.platform.fonts import SUBSTITUTE, coverage, printable
from app.platform.wording.amounts import in_words
from app.platform.wording.voice import voice
from tests.conftest import ROOT, sizing_context
from tests.features.proposals.chinese import chinese
from tests.features.proposals.conftest import CLAIMED, modelled, proposal, request_of
from tests.support.documents import estimate
from tests.support.renderings import squeezed, text_of

OFFERED = {"kind": "offer", "valid_until": "2026-12-31", "sender": {"organization": "래블업"}}

HOSTILE = [
    '#strong[x] *bold* _it_ `raw` $x^2$ @ref <label> // no /* */ \\ #import "x"',
    "<script>alert(1)</script>&amp;]]>",
    "W" * 200,
    "👩🏽‍💻🚀 emoji",
    "李在明 漢字 體",
    "مرحبا بالعالم שלום",
    "a\x00b\x1b[31m\u202egnp.exe\u2066",
    '=HYPERLINK("http://x")',
    "{braces} %s %(x)s {{ 7*7 }}",
    "\n\n\t  ",
    "é ﷽ ‍ ",
]

TEXT = st.text(min_size=1, max_size=60) | st.sampled_from(HOSTILE)


def pages(data: bytes) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]


@pytest.fixture(scope="module")
def korean() -> Proposal:
    return proposal(modelled(), reason="전력과 상면을 먼저 확보해야 합니다.", valid_until="2026-12-31")


def test_a_claimed_comparison_in_korean_says_what_the_customer_must_read() -> None:
    made = proposal()
    text = text_of(proposal_pdf(made))
    assert made.sha256 is not None
    for word in ("하이퍼커넥트", "69.5", "13.2", "23.2", "가정", "출처", "대외비", made.sha256[:12]):
        assert word in text
    for warning in made.content.warnings:
        assert squeezed(voice("ko").sentence(warning.text)) in squeezed(text)


@pytest.mark.parametrize("locale", ["ko", "en", "zh"])
def test_a_modelled_comparison_has_six_to_twelve_numbered_pages(locale: str) -> None:
    found = pages(proposal_pdf(proposal(modelled(), locale=locale)))
    assert 6 <= len(found) <= 12
    for number, text in enumerate(found, start=1):
        # Chinese takes invisible places to break a line.
        assert f"{number} / {len(found)}" in text.replace("\u200b", "")


def test_the_cover_says_who_offers_what_to_whom() -> None:
    sender = {
        "organization": "래블업",
        "contact": "김민지",
        "email": "minji@example.com",
        "phone": "02-1234-5678",
    }
    made = proposal(sender=sender, number="2026-0012")
    cover = pages(proposal_pdf(made))[0]
    for said in (
        "하이퍼커넥트",
        "래블업",
        "김민지",
        "minji@example.com",
        "2026-0012",
        "2026. 11. 2.",
        "출처",
    ):
        assert said in cover


def test_the_first_page_is_the_answer(korean: Proposal) -> None:
    first = squeezed(pages(proposal_pdf(korean))[0])
    for said in (
        "128×DGXA100구매를권합니다",
        "추천근거",
        "공급가액",
        "세금포함합계",
        "4년간1회실행의총지출",
        "P90",
        "추천을바꾸는조건",
        "서명하지않습니다",
    ):
        assert said in first
    assert first.index("구매를권합니다") < first.index("추천근거") < first.index("완료시점")


@pytest.mark.parametrize("locale", ["ko", "en", "zh"])
def test_every_amount_of_the_first_page_is_that_of_the_content(locale: str) -> None:
    made = proposal(modelled(), locale=locale)
    first = squeezed(pages(proposal_pdf(made))[0]).replace("\u200b", "")
    account = made.content.account
    assert account is not None and account.price is not None
    price, outlay = account.price, account.of(account.price.option)
    assert outlay is not None and price.vat is not None and price.total is not None
    assert price.supply + price.vat == price.total and price.vat == round(price.supply * 0.1)
    for amount in (price.supply, price.vat, price.total, outlay.total):
        assert f"₩{amount:,.0f}" in first
    for amount in (price.total, outlay.total):
        assert squeezed(in_words(amount, "KRW", locale)) in first


@pytest.mark.parametrize("locale", ["ko", "en", "zh"])
def test_of_options_that_nothing_separates_one_is_offered_and_none_advised_against(locale: str) -> None:
    twins = [estimate(name, f"{name} DGX", 34.2 * 86400, "KRW") for name in ("North", "South")]
    made = proposal([OptionEntry(request_of(one), one) for one in twins], locale=locale)
    decision = made.content.decision
    assert decision is not None and {decision.recommended, *decision.tied} == {"North DGX", "South DGX"}
    assert made.content.advice.recommended == decision.recommended and made.content.advice.avoid == []
    text = squeezed(text_of(proposal_pdf(made)))
    for name in ("North", "South"):
        assert text.count(squeezed(f"{name} DGX")) > 5
    assert squeezed(voice(locale).gettext("What not to buy")) not in text
    assert {one.option for one in made.content.acceptance} == {decision.recommended}


def test_where_nothing_fits_nothing_is_offered_and_what_would_fit_is_said() -> None:
    asked = {
        "model": {"preset": "gpt3-175b"},
        "system": {"id": "dgx-a100-640gb", "count": 1},
        "currency": "KRW",
    }
    request = EstimateRequest.model_validate({**asked, "workload": {"samples": 1e6}, "label": "one DGX"})
    made = proposal([OptionEntry(request, estimated(request, sizing_context()))], locale="en")
    text = " ".join(text_of(proposal_pdf(made)).split())
    assert made.content.decision.recommended is None and made.content.account is None
    assert "What would work instead" in text and "would be enough" in text
    for title in ("Signatures", "Scope of supply", "Acceptance criteria"):
        assert title not in text


def test_committed_figures_are_the_worse_ends_of_the_ranges(korean: Proposal) -> None:
    kept = {(one.option, one.figure): one for one in korean.content.acceptance}
    assert {option for option, _ in kept} == {"128 × DGX A100"}
    row = korean.content.comparison.rows[0]
    assert row.estimate is not None and row.estimate.time_to_train is not None
    time = kept["128 × DGX A100", "time_to_train"]
    assert (time.bound, time.level, time.basis) == ("at_most", 0.9, "range")
    assert time.committed == row.estimate.time_to_train.high > row.estimate.time_to_train.value
    throughput = row.estimate.throughput
    assert throughput is not None
    assert kept["128 × DGX A100", "throughput"].committed == throughput.low
    text = squeezed(text_of(proposal_pdf(korean)))
    assert "인수기준" in text and "글로벌배치" in text and "P90은90%확률로" in text


@pytest.mark.parametrize("locale", ["ko", "en", "zh"])
def test_no_identifier_reaches_a_customer(locale: str) -> None:
    catalog, software = sizing_context().catalog, sizing_context().software
    known = {*catalog.names("system"), *catalog.names("fabric"), *software.profiles, "unverified"}
    known = {name for name in known if "-" in name or name == "unverified"}
    for kind in ("GPT-3", "IPU"):
        made = chinese(kind)
        made = made.model_copy(update={"content": made.content.model_copy(update={"locale": locale})})
        text = re.sub(r"https?://\S+", "", text_of(proposal_pdf(made)))
        assert {name for name in known if re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", text)} == set()


def test_both_parties_can_sign_and_no_text_is_markup() -> None:
    sections = [
        {"id": "scope", "text": "#strong[x]\n<b>둘째 줄</b>"},
        {"id": "signature"},
        {"id": "sources", "shown": False},
    ]
    text = text_of(proposal_pdf(proposal(modelled(), sections=sections, **OFFERED)))
    assert "#strong[x]" in text and "<b>둘째 줄</b>" in text
    for said in ("공급사", "래블업", "하이퍼커넥트", "직책", "서명란"):
        assert said in text
    assert text.index("서명란", text.index("둘째 줄")) < text.index("선정 이유")
    assert "공개 수치는 아래 출처" not in text


def test_pages_are_filled() -> None:
    reader = pypdf.PdfReader(io.BytesIO(proposal_pdf(proposal(modelled()))))
    for page in reader.pages[1:-1]:
        heights: list[float] = []

        def seen(text: str, page_at: list[float], text_at: list[float], *_: object) -> None:
            height = page_at[1] * text_at[4] + page_at[3] * text_at[5] + page_at[5]
            if text.strip() and height > 70:
                heights.append(height)  # noqa: B023

        page.extract_text(visitor_text=seen)
        assert min(heights) < 420, "text reaches the lower half of the page"


def test_the_document_is_tagged_and_every_chart_has_words(korean: Proposal) -> None:
    reader = pypdf.PdfReader(io.BytesIO(proposal_pdf(korean)))
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"] is True or root["/MarkInfo"]["/Marked"] == True  # noqa: E712
    assert root["/Lang"].startswith("ko")
    assert "pdfuaid" in root["/Metadata"].get_data().decode()
    alternatives = list(alternative_texts(root["/StructTreeRoot"]))
    drawn = printed_charts(korean.content, voice("ko"))
    assert len(alternatives) == len(drawn) == 7
    assert all(len(text) > 20 for text in alternatives)
    assert any("34.2" in text for text in alternatives)


def alternative_texts(node: object) -> list[str]:
    """Return the alternative texts of the figures of a structure tree."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        one = one.get_object() if hasattr(one, "get_object") else one
        if isinstance(one, DictionaryObject):
            if one.get("/S") == "/Figure" and "/Alt" in one:
                found.append(str(one["/Alt"]))
            waiting.append(one.get("/K"))
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def test_only_our_fonts_are_in_it(korean: Proposal) -> None:
    reader = pypdf.PdfReader(io.BytesIO(proposal_pdf(korean)))
    names = {
        str(font.get_object()["/BaseFont"])
        for page in reader.pages
        for font in page["/Resources"].get("/Font", {}).values()
    }
    assert names
    assert all("Pretendard" in name or "NotoSansCJK" in name for name in names)


def test_the_content_is_attached_and_hashes_to_what_is_printed(korean: Proposal) -> None:
    reader = pypdf.PdfReader(io.BytesIO(proposal_pdf(korean)))
    (attached,) = reader.attachments["proposal.json"]
    assert hashlib.sha256(attached).hexdigest() == korean.sha256
    assert rfc8785.dumps(json.loads(attached)) == attached


def test_the_same_proposal_is_the_same_bytes_in_every_process(korean: Proposal) -> None:
    here = proposal_pdf(korean)
    assert proposal_pdf(korean) == here
    program = (
        "import hashlib, sys; from app.features.proposals.pdf import proposal_pdf; "
        "from app.features.proposals.model import Proposal; "
        "print(hashlib.sha256(proposal_pdf(Proposal.model_validate_json(sys.stdin.read()))).hexdigest())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        input=korean.model_dump_json(),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert told.stdout.strip() == hashlib.sha256(here).hexdigest()


@settings(max_examples=12)
@given(customer=TEXT, title=TEXT, reason=TEXT, footer=TEXT, label=st.text(min_size=1, max_size=40))
@example(*(HOSTILE[0],) * 4, "a <b> & c")
@example(*(HOSTILE[2],) * 4, "W" * 40)
@example(*(HOSTILE[3],) * 4, HOSTILE[5])
@example(*(HOSTILE[6],) * 4, HOSTILE[6][:30])
@example(*(HOSTILE[4],) * 4, HOSTILE[4])
def test_any_text_in_any_field_is_printed_and_never_read(
    customer: str, title: str, reason: str, footer: str, label: str
) -> None:
    figure = CLAIMED[0].request.model_copy(update={"label": label})
    options = [type(CLAIMED[0])(figure), CLAIMED[2]] if label != "1 × IPU-POD64" else CLAIMED
    branding = {"footer": footer}
    made = proposal(options, customer=customer, title=title, reason=reason, branding=branding)
    text = squeezed(text_of(proposal_pdf(made)))
    for said in (customer, footer, label):
        assert squeezed(printable(said).strip())[:60] in text


@given(st.text())
def test_what_is_printed_is_covered_and_as_long_as_can_be_seen(text: str) -> None:
    written = printable(text)
    known = coverage()
    assert all(ord(character) in known for character in written)
    assert printable(written) == written


@pytest.mark.parametrize("text", HOSTILE)
def test_a_mark_stands_for_what_no_font_has(text: str) -> None:
    written = printable(text)
    assert len(written) <= len(text)
    if all(ord(character) in coverage() for character in text):
        assert SUBSTITUTE not in written
    assert not re.search(r"[\x00-\x1f\u202a-\u202e\u2066-\u2069]", written)


def test_charts_are_the_same_svg_every_time_with_text_as_text(korean: Proposal) -> None:
    drawn = printed_charts(korean.content, voice("ko"))
    assert drawn == printed_charts(korean.content, voice("ko"))
    found = ElementTree.fromstring(drawn["map"])
    words = " ".join(one.text or "" for one in found.iter("{http://www.w3.org/2000/svg}text"))
    assert "총지출 (KRW)" in words and "128 × DGX A100" in words
    assert "date" not in drawn["map"].lower()


def test_times_that_span_decades_stand_as_points_with_numbers_at_the_axis() -> None:
    stated = [("long", 2160.0), ("short", 1.0)]
    options = [OptionEntry(PublishedFigure(label=name, hours=hours, kind="vendor")) for name, hours in stated]
    made = proposal(options, locale="en")
    words = printed_charts(made.content, voice("en"))["time"]
    assert "60 min" in words and "129,600 min" in words
    assert ">1,000<" in words and "mathdefault" not in words
