"""Lengths of the samples of a data file. Their text is not kept."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

from app.errors import Message, check_between
from app.profiles.documents import Deadline, printable, too_large, unreadable
from app.profiles.model import message_from_json, message_to_json
from app.profiles.sample_files import open_samples
from app.profiles.sample_lengths import RULE, Sample, estimated_tokens

MOST_BYTES = 200_000_000
MOST_SAMPLES = 5_000_000
MOST_LENGTH = 10_000_000
SECONDS = 60.0
BINS = 40
MOST_DISTINCT = 2_000
"""Distinct lengths that are packed as they are."""
MOST_FORMS = 100
"""Different sets of fields of rows that are told."""
PRECISION = 512
"""Beyond them, lengths are rounded up by less than one part in so many."""


@dataclass(frozen=True, slots=True)
class LengthSample:
    """Lengths of the samples of a data set, in tokens."""

    samples: int
    tokens: int
    mean_tokens: float
    mean_low: float
    """Mean under the least tokens the rule allows; the mean itself where lengths are given."""
    mean_high: float
    p50: int
    p95: int
    max: int
    seq_len: int
    """Length of a row the shares below refer to."""
    padding_share: float
    """Share of padded rows of ``seq_len`` that is padding; longer samples are cut."""
    packing_factor: float
    """Samples that packing puts into one row of ``seq_len``, first fit decreasing."""
    mean_used: float
    """Mean length after samples are cut at ``seq_len``."""
    mean_squared: float
    """Mean square of the lengths after they are cut."""
    histogram: tuple[tuple[int, int, int], ...]
    """From, to (inclusive) and samples of each bin."""
    assumptions: tuple[Message, ...] = ()

    def to_json(self) -> dict[str, object]:
        document: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        document["histogram"] = [list(entry) for entry in self.histogram]
        document["assumptions"] = [message_to_json(message) for message in self.assumptions]
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> LengthSample:
        values = dict(document)
        bins = cast("list[list[int]]", values["histogram"])
        values["histogram"] = tuple((low, high, count) for low, high, count in bins)
        notes = cast("list[Mapping[str, object]]", values["assumptions"])
        values["assumptions"] = tuple(map(message_from_json, notes))
        return cls(**values)  # type: ignore[arg-type]


def read_sample(name: str, data: bytes | BinaryIO, *, seq_len: int | None = None) -> LengthSample:
    if seq_len is not None:
        check_between("seq_len", seq_len, 1, MOST_LENGTH)
    stream = StreamLimit(name, io.BytesIO(data) if isinstance(data, bytes) else data, MOST_BYTES)
    deadline = Deadline(name, SECONDS)
    tally = Tally(name)
    for sample in open_samples(name, stream):
        tally.add(sample)
        if tally.samples % 1024 == 0:
            deadline.check()
    return tally.result(seq_len)


class StreamLimit(io.RawIOBase):
    """A stream that raises an error beyond a number of bytes."""

    def __init__(self, name: str, stream: BinaryIO, most: int) -> None:
        super().__init__()
        self._name = name
        self._stream = stream
        self._most = most
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._read += len(data)
        if self._read > self._most:
            raise too_large(
                "{file} exceeds the limit of {most} MB; send part of it",
                file=self._name,
                most=self._most / 1e6,
            )
        buffer[: len(data)] = data
        return len(data)


class Tally:
    def __init__(self, name: str) -> None:
        self._name = name
        self._lengths: Counter[int] = Counter()
        self._low = self._high = 0.0
        self._estimated = False
        self._fields: Counter[tuple[str, ...]] = Counter()
        self.samples = 0

    def add(self, sample: Sample) -> None:
        if self.samples + sample.count > MOST_SAMPLES:
            raise too_large(
                "{file} has more than {most} samples; send part of it", file=self._name, most=MOST_SAMPLES
            )
        self.samples += sample.count
        if sample.fields and len(self._fields) < MOST_FORMS:
            self._fields[sample.fields] += sample.count
        if sample.length is not None:
            length = sample.length
            low = length if sample.low is None else sample.low
            high = length if sample.high is None else sample.high
            self._estimated |= low < high
        else:
            estimated = estimated_tokens(sample.text)
            length, low, high = estimated.tokens, estimated.low, estimated.high
            self._estimated = True
        if length > MOST_LENGTH:
            raise unreadable(
                "{file}, line {line}: a sample of {length} tokens; the limit is {most}",
                file=self._name, line=sample.line, length=length, most=MOST_LENGTH,
            )  # fmt: skip
        self._lengths[length] += sample.count
        self._low += low * sample.count
        self._high += high * sample.count

    def result(self, seq_len: int | None) -> LengthSample:
        if not self.samples:
            raise unreadable("{file} contains no samples", file=self._name)
        lengths = sorted(self._lengths.items())
        tokens = sum(length * count for length, count in lengths)
        longest = lengths[-1][0]
        row = seq_len or 1 << max(longest - 1, 0).bit_length()
        cut: Counter[int] = Counter()
        for length, count in lengths:
            cut[min(length, row)] += count
        used = sum(length * count for length, count in cut.items())
        squared = sum(length * length * count for length, count in cut.items())
        rows = packed_rows(cut, row)
        over = sum(count for length, count in lengths if length > row)
        assumptions = [RULE] if self._estimated else []
        if self._fields:
            counted = dict.fromkeys(name for fields, _ in self._fields.most_common() for name in fields)
            assumptions.insert(
                0,
                Message("fields counted in a row: {fields}", {"fields": printable(", ".join(counted), 200)}),
            )
        if over:
            assumptions.append(
                Message(
                    "{share} % of the samples are longer than {seq_len} tokens and are truncated",
                    {"share": round(100 * over / self.samples, 2), "seq_len": row},
                )
            )
        if seq_len is None:
            assumptions.append(
                Message("rows of {seq_len} tokens, long enough for the longest sample", {"seq_len": row})
            )
        return LengthSample(
            samples=self.samples,
            tokens=tokens,
            mean_tokens=tokens / self.samples,
            mean_low=min(self._low, tokens) / self.samples,
            mean_high=max(self._high, tokens) / self.samples,
            p50=_percentile(lengths, self.samples, 0.5),
            p95=_percentile(lengths, self.samples, 0.95),
            max=longest,
            seq_len=row,
            padding_share=1 - used / (self.samples * row),
            packing_factor=self.samples / rows,
            mean_used=used / self.samples,
            mean_squared=squared / self.samples,
            histogram=tuple(_histogram(lengths, longest)),
            assumptions=tuple(assumptions),
        )


def packed_rows(lengths: Mapping[int, int], row: int) -> int:
    """Return the rows that first-fit-decreasing packing fills.

    Equal lengths are placed together, so that the time depends on distinct lengths, not on samples. Beyond
    :data:`MOST_DISTINCT`, long ones are rounded up by less than one part in :data:`PRECISION`, which adds at
    most about as large a share of rows.

    >>> packed_rows({512: 1, 300: 2, 200: 2}, 512)
    3
    """
    if len(lengths) > MOST_DISTINCT:
        lengths = rounded_up(lengths, row)
    free: Counter[int] = Counter()

    def fill(room: int, length: int, count: int) -> None:
        """Put samples of one length into rows with so much room, and note the room that is left."""
        full, rest = divmod(count, room // length)
        free[room - room // length * length] += full
        if rest:
            free[room - rest * length] += 1

    rows = 0
    for length, count in sorted(lengths.items(), reverse=True):
        remaining = count
        # The fullest rows that still have room come first, which is best fit; it never needs more.
        for room in sorted(space for space in free if space >= length):
            if not remaining:
                break
            per_row = room // length
            used = min(free[room], -(-remaining // per_row))
            placed = min(remaining, used * per_row)
            free[room] -= used
            if not free[room]:
                del free[room]
            fill(room, length, placed)
            remaining -= placed
        rows += -(-remaining // (row // length))
        fill(row, length, remaining)
        del free[0]
    return rows


def rounded_up(lengths: Mapping[int, int], row: int) -> Counter[int]:
    """Return counts of lengths that are rounded up to a few significant bits, none beyond the row.

    >>> rounded_up({5: 1, 2001: 2, 2002: 1}, 4000)
    Counter({2002: 3, 5: 1})
    """
    coarse: Counter[int] = Counter()
    for length, count in lengths.items():
        step = 1 << max(length.bit_length() - PRECISION.bit_length(), 0)
        coarse[min(-(-length // step) * step, row)] += count
    return coarse


def _percentile(lengths: list[tuple[int, int]], samples: int, share: float) -> int:
    """Return the least length that ``share`` of the samples do not exceed."""
    reached = 0
    for length, count in lengths:
        reached += count
        if reached >= share * samples:
            return length
    return lengths[-1][0]


def _histogram(lengths: list[tuple[int, int]], longest: int) -> Iterator[tuple[int, int, int]]:
    width = -(-longest // BINS)
    counts: Counter[int] = Counter()
    for length, count in lengths:
        counts[max(length - 1, 0) // width] += count
    for index in range(-(-longest // width)):
        yield index * width + 1, (index + 1) * width, counts[index]
