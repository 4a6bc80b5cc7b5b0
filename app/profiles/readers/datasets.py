"""Data that is not text: listings of image files, and rows of features of advertisements (Criteo)."""

from __future__ import annotations

import re

IMAGE = re.compile(r"(?i)\.(?:jpe?g|png|webp|bmp|tiff?|gif)\"?\s*$")
NEITHER = re.compile(r"^\s*$|:\s*$|^total \d+$|/\s*$")
"""Lines of a listing that name no file: blank ones, folders, sums."""
CRITEO = re.compile(r"[01](?:\t-?\d*){13}(?:\t[0-9a-f]{0,8}){26}\s*")
CRITEO_HEADING = re.compile(r"(?i)\s*(?:id,)?(?:label|click)[,\t]I1[,\t]I2[,\t]")


def listed_images(text: str) -> tuple[int, int] | None:
    r"""Return how many images a listing of folders names, and in how many folders; None for other text.

    >>> listed_images("n01/a.JPEG\nn01/b.JPEG\nn02/c.JPEG")
    (3, 2)
    """
    images, others, folder = 0, 0, ""
    folders: set[str] = set()
    for line in text.splitlines():
        if IMAGE.search(line):
            images += 1
            name = line.split()[-1]
            folders.add(name.rpartition("/")[0] or folder)
        elif NEITHER.search(line):
            folder = line.strip() or folder
        else:
            others += 1
            if others > images + 20:
                return None
    return (images, len(folders)) if images > 2 and images > 9 * others else None


def criteo_rows(text: str) -> int | None:
    """Return how many rows of 13 numbers and 26 categories a text has; None for any other."""
    first = text[:10_000].partition("\n")[0]
    heading = CRITEO_HEADING.match(first) is not None
    if not heading and CRITEO.fullmatch(first) is None:
        return None
    return max(sum(1 for line in text.splitlines() if line.strip()) - heading, 0)
