"""Appearance of a proposal: accent colour and logos, redrawn to remove all but the picture."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from typing import Any
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from app.errors import BadInput, Message
from app.estimating.documents import Text
from app.features.proposals.model import Branding, BrandingInput, Logo, LogoInput
from app.platform.fonts import font_folder

ACCENT = "#2447d6"
"""Accent of the pages, the default."""

READABLE = 4.5
"""Contrast of text with its ground (WCAG 2.2, success criterion 1.4.3)."""

STEP = 0.96
"""Factor of one step of darkening a colour."""


def branding_of(branding: BrandingInput, logo: Logo | None, customer_logo: Logo | None = None) -> Branding:
    accent, note = accent_of(branding.accent)
    footer = branding.footer or None
    return Branding(accent=accent, footer=footer, logo=logo, customer_logo=customer_logo, note=note)


def accent_of(colour: str | None) -> tuple[str, Text | None]:
    """Return the accent used, and a note if it is not the one asked for."""
    used = ACCENT if colour is None else readable(colour)
    if colour is None or used == colour.lower():
        return used, None
    colours = {"asked": colour.lower(), "used": used}
    template = "The accent colour {asked} is too light to read on white; it is darkened to {used}"
    return used, Text.of(Message(template, colours))


def readable(colour: str) -> str:
    """Return a colour, darkened in its own hue until text in it can be read on white.

    >>> readable("#0b5fff"), readable("#ffe600")
    ('#0b5fff', '#847700')
    """
    channels = [float(channel) for channel in bytes.fromhex(colour[1:])]
    readable_colour = colour.lower()
    while contrast_with_white(readable_colour) < READABLE:
        channels = [channel * STEP for channel in channels]
        readable_colour = "#" + "".join(f"{int(channel):02x}" for channel in channels)
    return readable_colour


def contrast_with_white(colour: str) -> float:
    """Return the contrast of a colour with white, 1 to 21 (WCAG 2.2, contrast ratio).

    >>> contrast_with_white("#000000"), contrast_with_white("#ffffff")
    (21.0, 1.0)
    """
    red, green, blue = (linear(channel) for channel in bytes.fromhex(colour[1:]))
    return round(1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05), 9)


def linear(channel: int) -> float:
    """Return one channel of an sRGB colour as light (WCAG 2.2, relative luminance)."""
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


FIELD = "branding.logo"

FORMATS = {"image/png": "png", "image/svg+xml": "svg"}
"""Media type → format in Typst."""

MAX_BYTES = 500_000

MAX_PIXELS = 16_000_000
"""Largest PNG that is decoded. [pixels]"""

LOGO_SIZE = (840, 320)
"""Largest stored logo: 42 × 16 mm at 500 dots per inch. [pixels]"""

MAX_ELEMENTS, MAX_DEPTH, MAX_NUMBER = 2_000, 24, 1e6

SVG = "http://www.w3.org/2000/svg"

SHAPES = {
    *("svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "defs", "stop"),
    *("linearGradient", "radialGradient"),
}

DROPPED = {"title", "desc", "metadata"}
"""Elements that describe the picture and draw nothing."""

# Possessive quantifiers (++, *+) keep matching linear in the length of the text.
NUMERIC = re.compile(r"[\s,]*+(?:[-+]?(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d{1,2}+)?(?:%|px)?[\s,]*+)++")

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?")

COLOUR = re.compile(
    r"none|currentColor|transparent|[a-zA-Z]{3,20}|#[0-9a-fA-F]{3,8}|rgba?\([\d\s.,%]{1,40}\)|url\(#[\w-]{1,60}\)"
)

PATH = re.compile(r"[MmZzLlHhVvCcSsQqTtAa\s\d.,eE+-]*")

TRANSFORM = re.compile(
    r"(?:\s*+(?:matrix|translate|scale|rotate|skewX|skewY)\([\d\s.,eE+-]{1,200}+\)[\s,]*+)++"
)

NAME = re.compile(r"[A-Za-z_][\w-]{0,60}")

LENGTHS = (
    *("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "fx", "fy", "width", "height", "offset"),
    *("opacity", "fill-opacity", "stroke-opacity", "stop-opacity", "stroke-width", "stroke-miterlimit"),
    *("viewBox", "points", "stroke-dasharray", "stroke-dashoffset"),
)

WORDS = ("id", "fill-rule", "clip-rule", "stroke-linecap", "stroke-linejoin", "gradientUnits", "spreadMethod")

ATTRIBUTES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("fill", "stroke", "stop-color", "color"), COLOUR),
    **dict.fromkeys(LENGTHS, NUMERIC),
    **dict.fromkeys(WORDS, NAME),
    **dict.fromkeys(("transform", "gradientTransform"), TRANSFORM),
    "d": PATH,
}
"""Drawing attribute → pattern of its values."""


def read_logo(logo_input: LogoInput) -> Logo:
    """Return a redrawn logo: a PNG by its pixels, an SVG by its allowed shapes."""
    try:
        data = base64.b64decode(logo_input.data, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput.at(f"{FIELD}.data", "is not valid base64") from None
    if len(data) > MAX_BYTES:
        raise BadInput.at(FIELD, "has {size} bytes; the limit is {most}", size=len(data), most=MAX_BYTES)
    logo = png(data) if logo_input.media_type == "image/png" else svg(data)
    check_drawable(logo)
    return logo


def png(data: bytes) -> Logo:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
                width, height = picture.size
                if width * height > MAX_PIXELS:
                    refusal = "has {width} × {height} pixels; the limit is {most} pixels"
                    raise BadInput.at(FIELD, refusal, width=width, height=height, most=MAX_PIXELS)
                drawn = picture.convert("RGBA")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadInput.at(FIELD, "has more than {most} pixels", most=MAX_PIXELS) from None
    except (BadInput, MemoryError):
        raise
    except Exception:  # A broken chunk fails in the decoder as it comes: also with an index or a key.
        raise BadInput.at(FIELD, "is not a readable PNG; use a PNG or an SVG") from None
    drawn.thumbnail(LOGO_SIZE)
    buffer = io.BytesIO()
    drawn.save(buffer, "PNG", optimize=True, icc_profile=None)
    return logo_of("image/png", buffer.getvalue(), drawn.size)


def logo_of(media_type: str, data: bytes, size: tuple[int, int]) -> Logo:
    width, height = size
    encoded = base64.b64encode(data).decode()
    return Logo(media_type=media_type, data=encoded, width=width, height=height)


def svg(data: bytes) -> Logo:
    try:
        root = fromstring(data.decode("utf-8"), forbid_dtd=True)
    except (DefusedXmlException, ParseError, UnicodeDecodeError, ValueError):
        refusal = "is not a readable SVG; use plain XML in UTF-8 without document type or entities"
        raise BadInput.at(FIELD, refusal) from None
    if root.tag != f"{{{SVG}}}svg":
        raise BadInput.at(FIELD, "is not an SVG: its root element is a different one")
    count = 0

    def copy(element: Element, parent: Element | None, depth: int) -> Element:
        nonlocal count
        count += 1
        if depth > MAX_DEPTH or count > MAX_ELEMENTS:
            refusal = "has more than {elements} elements, or is nested deeper than {depth} levels"
            raise BadInput.at(FIELD, refusal, elements=MAX_ELEMENTS, depth=MAX_DEPTH)
        name = element.tag.rpartition("}")[2]
        copied = Element(name) if parent is None else SubElement(parent, name)
        for attribute, value in element.attrib.items():
            if (allowed := allowed_attribute(name, attribute, value)) is not None:
                copied.set(*allowed)
        for child in filter(drawable, element):
            copy(child, copied, depth + 1)
        return copied

    clean = copy(root, None, 0)
    size = size_of(clean)
    clean.set("xmlns", SVG)
    return logo_of("image/svg+xml", tostring(clean, encoding="utf-8"), size)


def drawable(element: Any) -> bool:
    """Return whether an element is drawn; metadata is left out, anything else is refused."""
    if not isinstance(element.tag, str):
        return False
    namespace, _, name = element.tag.rpartition("}")
    if namespace != f"{{{SVG}" or name in DROPPED:
        return False
    if name not in SHAPES:
        refusal = (
            "contains the element “{name}”; only shapes, paths, groups and gradients are "
            "allowed: convert text to paths"
        )
        raise BadInput.at(FIELD, refusal, name=name[:40])
    return True


def allowed_attribute(element: str, attribute: str, value: str) -> tuple[str, str] | None:
    """Return an allowed attribute; others are left out, and scripts and links are refused."""
    name, value = attribute.rpartition("}")[2], value.strip()
    if name.lower().startswith("on") or name == "href":
        refusal = "contains the attribute “{name}”; a logo must not run anything or link elsewhere"
        raise BadInput.at(FIELD, refusal, name=name[:40])
    if attribute == name == "style":
        raise BadInput.at(FIELD, "contains styles; set colors as attributes such as fill")
    if attribute != name or name not in ATTRIBUTES:
        return None
    if not ATTRIBUTES[name].fullmatch(value):
        refusal = "the attribute “{name}” of “{element}” has an unreadable value"
        raise BadInput.at(FIELD, refusal, name=name, element=element)
    numeric = ATTRIBUTES[name] in (NUMERIC, PATH, TRANSFORM)
    if numeric and any(abs(float(number)) > MAX_NUMBER for number in NUMBER.findall(value)):
        refusal = "the attribute “{name}” contains a number beyond {most}"
        raise BadInput.at(FIELD, refusal, name=name, most=MAX_NUMBER)
    return name, value


def size_of(root: Element) -> tuple[int, int]:
    """Return width and height of an SVG, by default those of its view box."""
    box = [float(number) for number in NUMBER.findall(root.get("viewBox", ""))]
    sides = [NUMBER.findall(root.get(name, "")) for name in ("width", "height")]
    if len(box) != 4 and not all(sides):
        raise BadInput.at(FIELD, "needs a viewBox, or width and height")
    if len(box) == 4:
        for name in ("width", "height"):
            root.attrib.pop(name, None)
        width, height = box[2:]
    else:
        width, height = (float(numbers[0]) for numbers in sides)
        root.set("viewBox", f"0 0 {width:g} {height:g}")
    if not (width >= 1e-3 and height >= 1e-3 and 1e-3 <= width / height <= 1e3):
        raise BadInput.at(FIELD, "has no area, or its proportions are too extreme")
    return max(1, round(width)), max(1, round(height))


def check_drawable(logo: Logo) -> None:
    """Check that Typst can draw a picture."""
    # Seven megabytes, which a server that writes no document needs not.
    import typst

    source = (
        '#set page(width: 50mm, height: 20mm)\n#image(bytes(json(bytes(sys.inputs.at("data")))), '
        f'format: "{FORMATS[logo.media_type]}", width: 42mm, height: 16mm, fit: "contain", alt: "logo")'
    )
    try:
        typst.compile(  # type: ignore[misc]
            source.encode(),
            font_paths=[str(font_folder())],
            ignore_system_fonts=True,
            sys_inputs={"data": str(list(base64.b64decode(logo.data)))},
        )
    except typst.TypstError:
        raise BadInput.at(FIELD, "cannot be drawn; save it again as a PNG") from None
