"""docs/accuracy.md: what the engine predicts of measured runs, with nothing left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.reports.accuracy_cases import counts_section, memory_section, refusals
from app.reports.accuracy_runs import (
    chain_section,
    coverage_section,
    fitted_section,
    gap_section,
    scale_section,
    worst_cases,
)
from app.reports.agreement import counted
from app.reports.evidence import AccuracyEvidence, Counts
from app.reports.markdown import percent, table, whole_percent
from app.reports.regret import regret_section
from app.sizing.families import FITTED_FAMILIES, IPU_SERIES
from app.sizing.validation.cases import THROUGHPUT
from app.sizing.validation.report import ErrorSummary, RowResult, summaries, summary
from app.sizing.validation.run import ValidationReport

LEADING = ("bert", "gpt", "llama", "resnet50")
"""Families with the most measured runs; the headline names them."""

SIZES = ((4, "1 to 4"), (8, "5 to 8"), (64, "9 to 64"), (512, "65 to 512"))
LARGEST = "more than 512"
ERRORS = ("groups:", "median:", "90 %:", "bias:", "in the band:")

OPENING = """# Accuracy

Written by `rackline docs` from `data/validation/measured.csv`; `rackline docs --check` fails where this file
is not what the engine gives today. The same comparison runs on any file with the same columns:
`rackline validate CASES.csv`."""

OTHER_FAMILIES = """Software profiles were fitted to runs of some families only; “on GPUs” and “on IPUs” are
the rows of these. The error of all others is what an unseen kind of model may show."""

READING = """## How to read it

- A row is predicted from its configuration; its measured value is not read before. What a row leaves out
  (software profile, network, batch of a recipe) comes from the rules in `data/validation`, never from who
  measured it.
- The error is ln(predicted / measured), shown as a percentage. Median and 90 % are of its absolute value. The
  bias is its mean: above zero the prediction is too large.
- Rows of the same run or of equal machines form a group, and every group weighs the same.
- “In the band” is the share of measured values inside the 80 % band: 80 % is right, less is too narrow, more
  is too wide.
- The tables count rows that were read from their source and have priority 1 or 2 (A100 and IPU training
  runs). The rest stands apart, below."""

UNSEEN = """## Left out

Software profiles and the widths of the bands are fitted to runs that are counted above, by `rackline fit`. It
also predicts every run with figures that were fitted without it (`data/validation/held_out.csv`):

- **group left out**: without the runs of the same group (one machine, benchmark round or series).
- **software unknown**: without any run of that software, and with what the rules say of the rest of its
  text, in most cases the class of the software (tuned, fused, eager).
- **fitted on one machine**: with runs of at most eight devices, predicting all larger ones.
- **default**: every row predicted with the software that an estimate takes where none is named.

Kernel constants, rules and structure stay as they are."""

APART = """## Rows apart

Other chips and older rounds (priority 3 and 4), and rows that were remembered and not read. Nothing was
fitted to them."""

LIMITS = """## What these figures do not say

- They are in sample: profiles, kernel constants and rules were chosen on rows that are counted here. Leaving
  groups out tests the profiles alone, so that a run of a new kind may do worse than those columns say.
- Memory passes and kernel counts in code (`app/engine/gpu/passes.py`, `app/engine/ipu/vector.py`) were
  counted by hand from published kernels, with the measured runs known.
- Published runs are tuned runs. A first attempt on a new cluster is slower.
- No row crosses from one IPU rack to another, and none uses tensor parallelism or phases on IPUs. Such
  estimates are marked `unvalidated`.
- Cost, energy and failures have no rows here: those figures are only as good as their sources."""


def accuracy_document(report: ValidationReport, counts: Counts, evidence: AccuracyEvidence) -> str:
    """Return the document as Markdown."""
    sections = (
        OPENING,
        _headline(evidence),
        READING,
        "## By family and chip",
        _families(report),
        "## By metric",
        _summaries("metric", report.by_metric),
        "## By number of devices",
        "Throughput rows of the fitted families.",
        _devices(report),
        UNSEEN,
        _unseen(evidence),
        coverage_section(evidence),
        scale_section(evidence),
        chain_section(evidence),
        regret_section(counted(evidence.predictions), evidence.configurations, evidence.repeats),
        worst_cases(evidence),
        gap_section(evidence.gaps),
        refusals(report, evidence.apart),
        APART,
        _families(evidence.apart),
        _summaries("metric", evidence.apart.by_metric),
        memory_section(evidence.memory),
        counts_section(counts),
        fitted_section(evidence.figures, counts),
        LIMITS,
    )
    return "\n\n".join(sections) + "\n"


@dataclass(frozen=True, slots=True)
class FamilyAgreement:
    """Agreement of the leading families with measured runs."""

    lead: ErrorSummary
    """With the figures fitted on all of them."""
    unseen: ErrorSummary
    """With the group of each run left out of the fit."""
    general: ErrorSummary
    """With the software taken as unknown."""
    usual: ErrorSummary
    """On GPUs with the software of an estimate that names none."""
    whole: ErrorSummary
    """Times to train of all families."""
    most: int
    """Devices of the largest run."""

    @classmethod
    def of(cls, evidence: AccuracyEvidence) -> FamilyAgreement:
        """Return the agreement that a README begins with."""
        rows = _of(throughput(evidence.headline), LEADING)
        unseen, general = (
            summary("", _of(evidence.left_out[kind], LEADING))
            for kind in ("group_left_out", "software_unknown")
        )
        usual = [row for row in _of(throughput(evidence.defaults), LEADING) if _kind(row) == "GPU"]
        whole = [row for row in evidence.headline.rows if row.metric == "time_to_train_min"]
        return cls(
            summary("", rows),
            unseen,
            general,
            summary("", usual),
            summary("", whole),
            max((row.devices for row in rows), default=0),
        )


def accuracy_sentence(evidence: AccuracyEvidence) -> str:
    """Return the agreement with measured runs in a few sentences, for the README."""
    found = FamilyAgreement.of(evidence)
    lead, unseen, general, most = found.lead, found.unseen, found.general, found.most
    usual, whole = found.usual, found.whole
    return (
        f"On {lead.supported} throughput measurements in {lead.groups} groups (BERT, GPT, LLaMA, ResNet-50; "
        f"one\nto {most:,} devices) the median error is {percent(lead.median)} and nine in ten lie within\n"
        f"{percent(lead.ninetieth)}. Software profiles were fitted on these runs. With each group left out\n"
        f"in turn the figures are {percent(unseen.median)} and {percent(unseen.ninetieth)}, and the 80 % "
        f"band holds\n{whole_percent(unseen.coverage)} of them; with the software taken as unknown they are "
        f"{percent(general.median)} and {percent(general.ninetieth)}. Where\nno software is named, the class "
        f"usual on a GPU stands in: {percent(usual.median)} and {percent(usual.ninetieth)}, and its "
        f"wider\nband holds {whole_percent(usual.coverage)}. Whole times to train, of all families, miss by "
        f"{percent(whole.median)} and {percent(whole.ninetieth)}."
    )


def korean_accuracy_sentence(evidence: AccuracyEvidence) -> str:
    """Return the same in Korean, for the Korean README."""
    found = FamilyAgreement.of(evidence)
    lead, unseen, general = found.lead, found.unseen, found.general
    usual, whole = found.usual, found.whole
    text = (
        f"처리량 측정 {lead.supported}건({lead.groups}개 그룹, BERT·GPT·LLaMA·ResNet-50, "
        f"장치 1~{found.most:,}개)에서 오차의 중앙값은\n{percent(lead.median)}이고, 열 건 중 아홉 건은 "
        f"{percent(lead.ninetieth)} 이내입니다. 소프트웨어 프로파일은 이 측정값에 맞춘 것입니다.\n"
        f"그룹을 하나씩 빼고 다시 맞추면 각각 {percent(unseen.median)}와 {percent(unseen.ninetieth)}이고, "
        f"80 % 범위에 측정값의 {whole_percent(unseen.coverage)}가 들어갑니다.\n"
        f"소프트웨어를 모른다고 보면 {percent(general.median)}와 {percent(general.ninetieth)}입니다. "
        f"소프트웨어를 지정하지 않으면\n"
        f"GPU에서 통상적인 종류로 계산하며, 오차는 {percent(usual.median)}와 {percent(usual.ninetieth)}, "
        f"더 넓어진 범위에 {whole_percent(usual.coverage)}가 들어갑니다.\n"
        f"전체 학습 시간의 오차는 모든 모델군에서 {percent(whole.median)}와 {percent(whole.ninetieth)}입니다."
    )
    return text.replace(" %", "%")


def throughput(report: ValidationReport) -> list[RowResult]:
    """Return the rows that measure a rate or a step, not a whole run."""
    return [row for row in report.rows if row.metric in THROUGHPUT]


def size_of(row: RowResult) -> str:
    """Return the size class of a row by its devices."""
    return next((name for most, name in SIZES if row.devices <= most), LARGEST)


def _of(rows: Iterable[RowResult], families: Iterable[str]) -> list[RowResult]:
    return [row for row in rows if row.family in families]


def _kind(row: RowResult) -> str:
    return "IPU" if row.chip in IPU_SERIES else "GPU"


def _errors(part: ErrorSummary) -> list[str]:
    return [
        str(part.groups),
        percent(part.median),
        percent(part.ninetieth),
        percent(part.bias, signed=True),
        whole_percent(part.coverage),
    ]


def _summaries(name: str, parts: Iterable[ErrorSummary]) -> str:
    return table(
        (name, "rows:", "predicted:", *ERRORS),
        ([part.name, str(part.rows), str(part.supported), *_errors(part)] for part in parts),
    )


def _headline(evidence: AccuracyEvidence) -> str:
    rows = throughput(evidence.headline)
    known = _of(rows, FITTED_FAMILIES)
    parts = [
        *(summary(family, _of(rows, (family,))) for family in LEADING),
        summary("these four", _of(rows, LEADING)),
        summary("on GPUs", [row for row in known if _kind(row) == "GPU"]),
        summary("on IPUs", [row for row in known if _kind(row) == "IPU"]),
        summary("fitted families", known),
        summary("all other families", [row for row in rows if row.family not in FITTED_FAMILIES]),
    ]
    tabled = _summaries("throughput of", parts)
    return "\n\n".join(("## Headline", accuracy_sentence(evidence), tabled, OTHER_FAMILIES))


def _families(report: ValidationReport) -> str:
    parts = summaries(throughput(report), lambda row: f"{row.family} × {row.chip or 'unknown chip'}")
    return _summaries("family × chip", parts)


def _devices(report: ValidationReport) -> str:
    known = [row for row in _of(throughput(report), FITTED_FAMILIES) if row.supported]
    lines = []
    for kind in ("GPU", "IPU"):
        for name in (*(name for _, name in SIZES), LARGEST):
            rows = [row for row in known if _kind(row) == kind and size_of(row) == name]
            part = summary(f"{name} {kind}s", rows)
            if rows:
                lines.append([part.name, str(part.rows), *_errors(part)])
    return table(("devices", "rows:", *ERRORS), lines)


KINDS = (
    ("in sample", None),
    ("group left out", "group_left_out"),
    ("software unknown", "software_unknown"),
    ("fitted on one machine", "fitted_on_one_machine"),
)


def _unseen(evidence: AccuracyEvidence) -> str:
    """Return errors in sample and left out, by family on GPUs and on IPUs."""
    rows: dict[str, dict[str, ErrorSummary]] = {}
    for label, column in KINDS:
        found = throughput(evidence.headline) if column is None else evidence.left_out[column]
        known = [row for row in found if row.family in FITTED_FAMILIES and row.supported]
        leading = [row for row in known if row.family in LEADING and _kind(row) == "GPU"]
        rows[label] = {"these four on GPU": summary("", leading)}
        rows[label] |= {
            part.name: part for part in summaries(known, lambda row: f"{row.family} on {_kind(row)}")
        }
    general = [row for row in throughput(evidence.defaults) if row.family in LEADING and _kind(row) == "GPU"]
    rows["default"] = {"these four on GPU": summary("", general)}
    lines = [
        [label, name, str(part.supported), *_errors(part)]
        for label, parts in rows.items()
        for name, part in parts.items()
    ]
    return table(("left out", "family", "rows:", *ERRORS), lines)
