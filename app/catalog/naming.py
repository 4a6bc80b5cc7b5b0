"""Names as people write them → identifiers: "Llama 2 7B", "라마 3 8B", "엔비디아 H100", a Hugging Face name.

A name is compared by its words: capitals, hyphens and spaces do not matter, numbers stand apart from letters,
and words of data/aliases.csv are translated or left out. Identifiers stay as they are and go first.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from unicodedata import normalize

WORD = re.compile(r"\d+(?:\.\d+)?[a-z]*|[a-z]+|[가-힣]+")

COUNTED = re.compile(
    r"^\s*\d+\s*[x×]\s+|\s+[x×]\s*\d+\s*$|\s+\d+\s*(?:장|개|대|노드|gpus?|nodes?)\s*$", re.IGNORECASE
)
"""How many of something: 8 × H100, H100 x8, H100 8장."""

UNITS = frozenset({"b", "m", "t", "gb", "tb"})
"""Sizes that belong to the number before them: 80 GB is 80GB."""

Words = tuple[str, ...]


@dataclass(frozen=True)
class Aliases:
    """Names and words of data/aliases.csv."""

    names: Mapping[str, Sequence[tuple[str, str]]]
    """Kind → alias and identifier."""
    words: Mapping[str, Words]
    """Word → the words that mean the same; none where it says nothing."""

    def translated(self, text: str) -> str:
        """Return what is typed into a search with its known words translated, and without a count.

        >>> Aliases({}, {"엔비디아": ("nvidia",)}).translated("엔비디아 H100 8장")
        'nvidia H100'
        """
        plain = COUNTED.sub("", normalize("NFKC", text)).split()
        return " ".join(part for word in plain for part in self.words.get(word, (word,)))

    def words_of(self, text: str) -> Words:
        """Return the words of a name.

        >>> Aliases({}, {"라마": ("llama",), "hf": ()}).words_of("라마-3.1 8 B hf")
        ('llama', '3.1', '8b')
        """
        plain = COUNTED.sub("", normalize("NFKC", text).casefold())
        words: list[str] = []
        for word in WORD.findall(plain):
            if word in UNITS and words and words[-1][-1].isdecimal():
                words[-1] += word
            else:
                words.append(word)
        translated = [part for word in words for part in self.words.get(word, (word,))]
        return tuple(translated or words)


@lru_cache(maxsize=1)
def read_aliases(directory: Path) -> Aliases:
    names: dict[str, list[tuple[str, str]]] = {}
    words: dict[str, Words] = {}
    with (directory / "aliases.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if row["kind"] == "word":
                words[row["alias"]] = tuple(row["id"].split())
            else:
                names.setdefault(row["kind"], []).append((row["alias"], row["id"]))
    return Aliases(names, words)


@dataclass(frozen=True)
class Finder:
    """Finds the identifiers of one kind by name."""

    kind: str
    texts: Mapping[str, Sequence[str]]
    """Identifier → its names and what else is said of it."""
    aliases: Aliases

    @cached_property
    def _by_words(self) -> dict[Words, list[str]]:
        """Identifiers by each whole name."""
        names = [(text, name) for name, texts in self.texts.items() for text in (name, *texts)]
        by_words: dict[Words, list[str]] = {}
        for text, name in (*names, *self.aliases.names.get(self.kind, ())):
            known = by_words.setdefault(self.aliases.words_of(text), [])
            if name not in known:
                known.append(name)
        return by_words

    @cached_property
    def _sets(self) -> dict[str, frozenset[str]]:
        """All words of each identifier."""
        words = self.aliases.words_of
        return {
            name: frozenset(word for text in (name, *texts) for word in words(text))
            for name, texts in self.texts.items()
        }

    def find(self, text: str) -> list[str]:
        """Return the identifiers that a name can mean: one, several, or none."""
        if text in self.texts:
            return [text]
        words = self.aliases.words_of(text)
        if not any(word.isalpha() for word in words):
            return []
        return self._by_words.get(words) or [
            name for name, known in self._sets.items() if known.issuperset(words)
        ]

    def resolve(self, text: str) -> str:
        """Return the identifier that a name means; the name itself where it means none, or several."""
        found = self.find(text)
        return found[0] if len(found) == 1 else text


def named_items(directory: Path, file: str, columns: Iterable[str], kind: str = "") -> dict[str, list[str]]:
    """Return the identifiers of a file of data/, of one kind if it has several, with the texts of columns."""
    identifier, *others = columns
    with (directory / file).open(encoding="utf-8", newline="") as handle:
        return {
            row[identifier]: [row[column] for column in others]
            for row in csv.DictReader(handle)
            if not kind or kind in row["kinds"].split()
        }
