"""Logos from outside: drawn anew, and refused where they are more than a picture."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from contextlib import suppress

import pytest
from PIL import Image, PngImagePlugin

from app.errors import BadInput
from app.features.proposals.branding import LOGO_SIZE, MAX_BYTES, read_logo
from app.features.proposals.model import Logo, LogoInput
from app.features.proposals.pdf import proposal_pdf
from tests.features.proposals.conftest import proposal

SVG = '<svg xmlns="http://www.w3.org/2000/svg" {head} viewBox="0 0 100 40">{body}</svg>'


def svg(body: str, head: str = "") -> LogoInput:
    return given(SVG.format(head=head, body=body).encode(), "image/svg+xml")


def given(data: bytes, kind: str) -> LogoInput:
    return LogoInput(media_type=kind, data=base64.b64encode(data).decode())  # type: ignore[arg-type]


def png(width: int, height: int, profile: bytes | None = None, **info: str) -> bytes:
    extra = PngImagePlugin.PngInfo()
    for name, text in info.items():
        extra.add_text(name, text)
    buffer = io.BytesIO()
    Image.new("RGBA", (width, height), (10, 90, 200, 128)).save(
        buffer, "PNG", pnginfo=extra, icc_profile=profile
    )
    return buffer.getvalue()


def content_of(logo: Logo) -> bytes:
    return base64.b64decode(logo.data)


def test_a_png_keeps_its_pixels_and_nothing_else() -> None:
    logo = read_logo(given(png(2000, 500, b"profile", comment="secret"), "image/png"))
    assert logo.width <= LOGO_SIZE[0] and logo.height <= LOGO_SIZE[1]
    assert b"secret" not in content_of(logo)
    assert b"tEXt" not in content_of(logo) and b"iCCP" not in content_of(logo)


def test_an_svg_keeps_shapes_gradients_and_colours() -> None:
    logo = read_logo(
        svg(
            '<defs><linearGradient id="g"><stop offset="0%" stop-color="#f00"/></linearGradient></defs>'
            '<title>private</title><g transform="translate(2 3) scale(1.5)">'
            '<path d="M0 0L10 10z" fill="url(#g)"/></g><rect width="5" height="5" class="x" data-note="y"/>'
        )
    )
    kept = content_of(logo).decode()
    assert "linearGradient" in kept and "url(#g)" in kept and "translate(2 3)" in kept
    assert "private" not in kept and "data-note" not in kept
    assert (logo.width, logo.height) == (100, 40)


@pytest.mark.parametrize(
    "body",
    [
        "<script>alert(1)</script>",
        '<foreignObject><b xmlns="http://www.w3.org/1999/xhtml">x</b></foreignObject>',
        '<image href="http://example.org/x.png" width="5" height="5"/>',
        '<rect width="5" height="5" onload="alert(1)"/>',
        '<rect width="5" height="5" style="fill:url(http://example.org)"/>',
        '<rect width="5" height="5" fill="url(http://example.org/#a)"/>',
        '<rect width="5" height="5" fill="url(file:///etc/passwd)"/>',
        '<use href="#a"/>',
        "<style>@import url(http://example.org)</style>",
        "<text>hello</text>",
        '<a href="javascript:alert(1)"><rect width="5" height="5"/></a>',
        '<animate attributeName="x"/>',
        '<filter id="f"/>',
        '<path d="M0 0 L1e9 0"/>',
        '<rect width="1e300" height="5"/>',
        "<g>" * 40 + "</g>" * 40,
        "<g/>" * 3000,
    ],
)
def test_an_svg_that_is_more_than_a_picture_is_refused_by_field(body: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_logo(svg(body))
    assert caught.value.errors[0].field == "branding.logo"


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>',
        b'<!DOCTYPE svg SYSTEM "file:///etc/passwd"><svg xmlns="http://www.w3.org/2000/svg"/>',
        b"<html/>",
        b"not xml",
        b"\xff\xfe\x00",
        b'<svg xmlns="http://www.w3.org/2000/svg"/>',
        b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000000 1"/>',
    ],
)
def test_what_is_no_svg_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput):
        read_logo(given(data, "image/svg+xml"))


def bomb(width: int, height: int) -> bytes:
    """Return a small PNG that unpacks to very many pixels."""
    return of_chunks(width, height, (b"IDAT", zlib.compress(b"\0" * 100_000)))


def of_chunks(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of these chunks between its head and its end."""
    head = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    written = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (head, *chunks, (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


BROKEN = [
    of_chunks(4, 4, (b"IDAT", zlib.compress(b"\0" * 20)), (kind, data))
    for kind in (
        b"iCCP",
        b"tRNS",
        b"gAMA",
        b"cHRM",
        b"pHYs",
        b"sRGB",
        b"iTXt",
        b"tEXt",
        b"zTXt",
        b"acTL",
        b"fcTL",
    )
    for data in (b"", b"\0")
]
"""PNGs with a broken chunk behind their pixels."""


@pytest.mark.parametrize("data", BROKEN)
def test_a_broken_chunk_behind_the_pixels_is_no_fault_of_ours(data: bytes) -> None:
    with suppress(BadInput):
        assert read_logo(given(data, "image/png")).width == 4


def test_an_empty_profile_behind_the_pixels_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        read_logo(given(BROKEN[0], "image/png"))
    assert "PNG" in str(caught.value.message)


@pytest.mark.parametrize(
    "data",
    [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", bomb(60_000, 60_000), png(20, 20)[:60], b"0" * (MAX_BYTES + 1)],
)
def test_what_is_no_png_or_too_much_of_one_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        read_logo(LogoInput(media_type="image/png", data=base64.b64encode(data).decode() or "="))
    assert caught.value.errors[0].field.startswith("branding.logo")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_logo_is_drawn_on_the_document(kind: str) -> None:
    asked = given(png(300, 100), "image/png") if kind == "png" else svg('<circle cx="20" cy="20" r="9"/>')
    with_logo, without = proposal_pdf(proposal(logo=read_logo(asked))), proposal_pdf(proposal())
    assert with_logo != without
