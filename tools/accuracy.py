"""docs/accuracy.md: what the engine predicts of measured runs, with nothing left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.estimating.basis import LeftOutErrors
from app.estimating.chips import IPU_SERIES
from app.estimating.regimes import FITTED_FAMILIES
from app.estimating.validation.cases import THROUGHPUT
from app.estimating.validation.run import (
    ErrorStatistics,
    RowResult,
    ValidationReport,
    summaries,
    summary,
)
from app.features.accuracy.agreement import (
    ALL,
    CORE,
    OTHER,
    SCALES,
    Chain,
    ErrorCell,
    ErrorSummary,
    Gaps,
    Ranking,
    by_kind,
    cells,
    chains,
    counted,
    in_set,
    ranking,
    scale_code,
    scale_of,
    scaled,
    worst,
)
from app.features.accuracy.fitted import FittedFigure
from app.features.accuracy.memory import LoggedPeak, peak_agreements
from app.features.accuracy.predictions import IN_SAMPLE, KINDS, Prediction
from tools.evidence import AccuracyEvidence, Counts, MemoryCase, Row
from tools.markdown import UNKNOWN, number, percent, table, whole_percent
from tools.predictions import PLAN
from tools.regret import regret_section

MEMORY = """## Memory of one GPU

Korthikanti et al. 2022, figure 1. The published parameters leave the embedding out, which the fullest stage
holds here."""

PEAKS = """## Peaks of memory that runs logged

`data/validation/memory-2026.csv`, against what is live on the fullest device: a framework does not log what
the driver and the allocator hold beside it, each group counted once. No figure is fitted to these rows. Left
out are models without known operators, rows without a layout, and detectors, whose peak lies in their
evaluation."""

RULES_WRITTEN = """Rules complete what the rows leave out. They were written with the rows in view, and some
values (a micro-batch, a split over stages) are those that agree best:"""

FILES = {
    "software.csv": "`data/software.csv`: software profiles",
    "effects.csv": "`data/effects.csv`: chips, software and families",
    "teams.csv": "`data/teams.csv`: what ordinary teams take over tuned runs",
    "kernels.csv": "`data/kernels.csv`: kernel libraries",
    "residuals.csv": "`data/residuals.csv`: width of the ranges",
    "validation/completion.csv": "`data/validation/completion.csv`: what a row leaves out",
    "validation/networks.csv": "`data/validation/networks.csv`: networks of rows",
    "catalogue": "catalogue: achieved rates, latencies, laws of convergence, cost assumptions",
}
FIGURES = FILES | {
    file: f"`data/{file}`: rules that were fitted"
    for file in ("validation/completion.csv", "validation/networks.csv")
}

RULES = {
    "software.csv": "text of a software stack to its profile",
    "completion.csv": "what a row leaves out: batch, lengths, layout",
    "networks.csv": "text of a network to fabric and ports",
    "models.csv": "name of a model to its preset",
    "systems.csv": "name of a system to the catalogue's",
}


def configuration(row: Row) -> str:
    """Describe the run of a measured row in one line."""
    parts = [row["model_name"], f"{row['accelerators']} × {row['system']}", row["precision"]]
    parts += [
        f"{name} {row[column]}"
        for column, name in (("global_batch", "batch"), *PLAN)
        if row.get(column) not in ("", "0", None)
    ]
    return ", ".join([*parts, row["software"]])


def refusals(*reports: ValidationReport) -> str:
    rows = [row for report in reports for row in report.rows]
    counts = Counter((row.family, row.reason) for row in rows if not row.supported)
    sentence = f"{counts.total()} rows of all {len(rows):,} are refused rather than guessed."
    lines = [
        [family, str(count), reason]
        for (family, reason), count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    return "\n\n".join(("## Not predicted, and why", sentence, table(("family", "rows:", "reason"), lines)))


def memory_section(cases: Iterable[MemoryCase]) -> str:
    lines = [
        [
            case.model,
            case.part,
            case.recompute,
            case.layout,
            f"{case.published:.1f}",
            f"{case.computed:.1f}",
            percent(case.computed / case.published - 1.0, signed=True),
        ]
        for case in cases
    ]
    layout = "tensor × pipeline × chunks"
    headings = (
        *("model", "part", "recomputation", layout),
        *("published, GiB:", "computed, GiB:", "difference:"),
    )
    return "\n\n".join((MEMORY, table(headings, lines)))


def peaks_section(peaks: Sequence[LoggedPeak]) -> str:
    """Return the error of logged peaks of memory, as tables of their own."""
    agreements = [
        [
            part.family or "all",
            part.kind,
            part.software,
            str(part.peaks),
            str(part.groups),
            percent(part.median),
            percent(part.ninetieth),
            percent(part.bias, signed=True),
        ]
        for part in peak_agreements(peaks)
    ]
    summary = table(
        ("family", "training", "software", "peaks:", "groups:", "median:", "90 %:", "bias:"), agreements
    )
    lines = [
        [
            peak.model,
            f"{peak.devices} × {peak.system}",
            peak.layout,
            f"{peak.logged:.1f}",
            f"{peak.computed:.1f}",
            percent(peak.computed / peak.logged - 1.0, signed=True),
        ]
        for peak in peaks
    ]
    headings = (
        "model",
        "devices",
        "tensor × pipeline × context",
        "logged, GiB:",
        "computed, GiB:",
        "difference:",
    )
    return "\n\n".join((PEAKS, summary, table(headings, lines)))


def counts_section(counts: Counts) -> str:
    fitted, assumed = counts.fitted, counts.assumed
    figures = [[text, str(fitted[name]), str(assumed.get(name, 0))] for name, text in FIGURES.items()]
    figures.append(["all", str(sum(fitted.values())), str(sum(assumed.values()))])
    rules = [[f"`data/validation/{name}`", text, str(counts.rules[name])] for name, text in RULES.items()]
    sentence = (
        f"{sum(fitted.values())} figures were fitted to measured runs and {sum(assumed.values())} assumed or "
        f"estimated.\nThe other {counts.sourced:,} accepted figures of the catalogue were read from a source."
    )
    sections = (
        "## What was fitted",
        sentence,
        table(("figures in", "fitted:", "assumed or estimated:"), figures),
        RULES_WRITTEN,
        table(("rules in", "what they decide", "rules:"), rules),
    )
    return "\n\n".join(sections)


WORST_SHOWN = 20
CHAINS_SHOWN = 20
IN_ORDER = 1.0 - 1e-9
NO_REASON = "no known reason"

COVERAGE = """## Coverage left out

Share of measured values inside the 80 % band, by what the fit knew of a run; in brackets the 95 % interval
of a binomial share (Wilson), each group one trial. Runs that nothing was fitted to are left
out as they stand."""

BY_SCALE = """## By family, chip and scale

Median, 90 % and bias in sample; coverage with each run's group left out, its binomial interval in
brackets."""

CHAINS = """## Scaling chains

A chain holds rows alike but for the number of devices, the batch and the layout, three at least. Rank is
Spearman's correlation of predicted with measured. More devices are nearly always faster, so two other
figures say more: the shape is what is left of the errors along a chain after one offset (root mean square),
and the repeats are the standard deviation between runs of one configuration, where there are any. Throughput
is that of one device, fewest devices first and most devices last."""

WORST = """## Worst cases

The largest error in sample of each model on each chip with each software, throughput and whole runs. The
reason is what the data say of runs of that kind (`data/validation/reasons.csv`); it is looked up by software,
family, chip, network and size, never by the run."""

UNTESTED = """## What is not validated

No run of the tables above tests these. Estimates say `unvalidated` or `extrapolated` there, and their bands
are assumptions."""

SETS = (
    ("BERT, GPT, LLaMA, ResNet-50 on A100 and IPU", CORE, False),
    ("all other families on A100 and IPU", OTHER, False),
    ("BERT, GPT, LLaMA, ResNet-50 on newer chips", CORE, True),
    ("all other families on newer chips", OTHER, True),
    ("1,000 devices and more", ALL, None),
)
LARGE = 1000
KIND_NAMES = {kind: kind.replace("_", " ") for kind in KINDS}


def covered(part: ErrorSummary) -> str:
    """Return a coverage with its interval: ``82 % (77–86)``."""
    if part.coverage is None or part.coverage_low is None or part.coverage_high is None:
        return UNKNOWN
    return f"{whole_percent(part.coverage)} ({100 * part.coverage_low:.0f}–{100 * part.coverage_high:.0f})"


def coverage_section(evidence: AccuracyEvidence) -> str:
    runs = counted(evidence.predictions)
    lines = []
    for name, chosen, newer in SETS:
        inside = [run for run in runs if in_set(run.family, chosen)]
        if newer is None:
            inside = [run for run in inside if run.devices >= LARGE]
        else:
            inside = [run for run in inside if ("gpu_newer_chip" in run.regimes.split()) == newer]
        parts = by_kind(inside)
        lines += [
            [name, KIND_NAMES[kind], str(part.runs), str(part.groups), percent(part.median), covered(part)]
            for kind, part in parts.items()
            if part.runs
        ]
    headings = ("of", "the fit knew", "runs:", "groups:", "median:", "in the band:")
    return "\n\n".join((COVERAGE, table(headings, lines)))


def scale_section(evidence: AccuracyEvidence) -> str:
    headings = ("family", "chip", "devices", "runs:", "groups:", "median:", "90 %:", "bias:", "left out:")
    lines = map(_cell, cells(counted(evidence.predictions)))
    return "\n\n".join((BY_SCALE, table(headings, lines)))


def _cell(cell: ErrorCell) -> list[str]:
    known = cell.in_sample
    return [
        cell.family,
        cell.chip,
        written_scale(cell.scale),
        str(known.runs),
        str(known.groups),
        percent(known.median),
        percent(known.ninetieth),
        percent(known.bias, signed=True),
        covered(cell.left_out),
    ]


def written_scale(code: str) -> str:
    """Write a class of size in words.

    >>> written_scale("9-64"), written_scale("513-")
    ('9–64', '513 and more')
    """
    least, most = code.split("-")
    return f"{least}–{most}" if most else f"{least} and more"


def chain_section(evidence: AccuracyEvidence) -> str:
    """Return the section on scaling chains: their shape, and how many pairs are ranked right."""
    scaling_chains = chains(counted(evidence.predictions), IN_SAMPLE, evidence.repeats)
    curves = scaled(scaling_chains)
    shapes = sorted(chain.shape for chain in curves)
    in_order = sum(chain.rank >= IN_ORDER for chain in scaling_chains)
    sentence = (
        f"Of {len(scaling_chains)} chains {in_order} are in exact order; "
        f"{len(curves)} are over more than one\nnumber of devices, and half of these miss the shape by less "
        f"than {percent(shapes[len(shapes) // 2])}.\n{_pairs(ranking(scaling_chains))}"
    )
    headings = ("model", "software", "chip", "devices", "n:", "measured", "predicted", "offset:", "shape:")
    lines = [_chain(chain) for chain in curves[:CHAINS_SHOWN]]
    return "\n\n".join((CHAINS, sentence, table((*headings, "repeats:", "rank:"), lines)))


def _pairs(order: Ranking) -> str:
    return (
        f"Pairs of one chain whose throughput per device differs by more than three repeat deviations: "
        f"{order.pairs:,} in\n{order.chains} chains, of which {whole_percent(order.share)} are predicted in "
        "the right order."
    )


def _chain(chain: Chain) -> list[str]:
    first, last, run = chain.points[0], chain.points[-1], chain.run
    return [
        f"{run.model}, {run.length}" if run.length else run.model,
        f"{run.software}, {run.precision}",
        run.chip,
        f"{chain.least} to {chain.most:,}",
        str(len(chain.points)),
        f"{number(first.measured)} → {number(last.measured)} {chain.unit}",
        f"{number(first.predicted)} → {number(last.predicted)}",
        percent(chain.offset, signed=True),
        percent(chain.shape),
        percent(chain.repeats),
        f"{chain.rank:.2f}",
    ]


def worst_cases(evidence: AccuracyEvidence) -> str:
    runs = [run for run in evidence.predictions if run.scope == "counted"]
    lines = [
        _missed(run, evidence.configurations, evidence.reasons) for run in worst(runs, IN_SAMPLE, WORST_SHOWN)
    ]
    headings = ("row", "configuration", "profile", "measured", "predicted:", "error:", "likely reason")
    return "\n\n".join((WORST, table(headings, lines)))


def _missed(run: Prediction, configurations: Mapping[str, Row], reasons: Mapping[str, str]) -> list[str]:
    return [
        f"`{run.id}`",
        configuration(configurations[run.id]),
        run.profile or UNKNOWN,
        f"{number(run.measured)} {run.metric}",
        number(run.predicted),
        percent(run.log_error, signed=True),
        reasons.get(run.reason, NO_REASON),
    ]


def gap_section(gaps: Gaps) -> str:
    sizes = ", ".join(f"{size.devices:,} ({size.chip})" for size in gaps.largest)
    lines = [
        ["families of models", _listed(gaps.families)],
        ["chips", _listed(gaps.chips)],
        ["more devices than the largest measured run", sizes],
        ["regimes of `data/residuals.csv`", _listed(gaps.regimes)],
        ["IPUs", "anything beyond one rack; tensor parallel and phased execution"],
        ["beside throughput", "cost, energy, failures and restarts, waiting for data"],
    ]
    return "\n\n".join((UNTESTED, table(("what", "which"), lines)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or UNKNOWN


def fitted_section(figures: Sequence[FittedFigure], counts: Counts) -> str:
    parts = []
    for file, title in FILES.items():
        inside = [figure for figure in figures if figure.file == file]
        parts.append(f"### {title} ({counts.fitted.get(file, 0)})")
        parts.append(_figures(inside) if inside else "None.")
    return "\n\n".join(parts)


def _figures(figures: Iterable[FittedFigure]) -> str:
    headings = ("of", "figure", "value:", "deviation:", "runs:", "groups:", "worth:", "rests on")
    return table(
        headings,
        (
            [
                figure.owner or "all",
                f"`{figure.name}`",
                figure.value,
                UNKNOWN if figure.deviation is None else f"{figure.deviation:g}",
                UNKNOWN if figure.runs is None else str(figure.runs),
                UNKNOWN if figure.groups is None else str(figure.groups),
                UNKNOWN if figure.worth is None else f"{figure.worth:+g}",
                "" if figure.runs is not None else figure.note.removeprefix("fitted: "),
            ]
            for figure in figures
        ),
    )


LEADING = ("bert", "gpt", "llama", "resnet50")
"""Families with the most measured runs; the headline names them."""
ERRORS = ("groups:", "median:", "90 %:", "bias:", "in the band:")

OPENING = """# Accuracy

Written by `python -m tools documents` from `data/validation/measured.csv`; with `--check` it fails where this
file is not what the engine gives today. The same comparison runs on any file with the same columns:
`rackline validate CASES.csv`."""

OTHER_FAMILIES = """Software profiles were fitted to runs of some families only; “on GPUs” and “on IPUs” are
the rows of these. The error of all others is what an unseen kind of model may show."""

READING = """## How to read it

- A row is predicted from its configuration; its measured value is not read before. What a row leaves out
  (software profile, network, batch of a recipe) comes from the rules in `data/validation`, never from who
  measured it.
- The error is ln(predicted / measured), shown as a percentage. Median and 90 % are of its absolute value. The
  bias is its mean, of the time: above zero predictions are too slow, and rates are turned to that side.
- Rows of the same run or of equal machines form a group, and every group weighs the same.
- “In the band” is the share of measured values inside the 80 % band: 80 % is right, less is too narrow, more
  is too wide.
- The tables count rows that were read from their source and have priority 1 or 2 (A100 and IPU training
  runs). The rest stands apart, below."""

UNSEEN = """## Left out

Software profiles and the widths of the bands are fitted to runs that are counted above, by
`python -m tools fit`. It also predicts every run with figures that were fitted without it
(`data/validation/held_out.csv`):

- **group left out**: without the runs of the same group (one machine, benchmark round or series).
- **software unknown**: without any run of that software, and with what the rules say of the rest of its
  text, in most cases the class of the software (tuned, fused, eager).
- **laboratory left out**: without any run of whoever measured it, as a customer's cluster is met.
- **chip left out**: without any run on its series of chips, so from its data sheet alone.
- **scale left out**: without any run of 1,000 devices or more.
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


def accuracy_document(evidence: AccuracyEvidence) -> str:
    report, counts = evidence.headline, evidence.counts
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
        refusals(report, evidence.outside_headline),
        APART,
        _families(evidence.outside_headline),
        _summaries("metric", evidence.outside_headline.by_metric),
        memory_section(evidence.memory),
        peaks_section(evidence.peaks),
        counts_section(counts),
        fitted_section(evidence.figures, counts),
        LIMITS,
    )
    return "\n\n".join(sections) + "\n"


class FamilyAgreement(NamedTuple):
    """Agreement of the leading families with measured runs."""

    lead: ErrorStatistics
    """With the figures fitted on all of them."""
    unseen: ErrorStatistics
    """With the group of each run left out of the fit."""
    general: ErrorStatistics
    """With the software taken as unknown."""
    usual: ErrorStatistics
    """On GPUs with the software of an estimate that names none."""
    whole: ErrorStatistics
    """Times to train of all families."""
    most: int
    """Devices of the largest run."""

    @classmethod
    def of(cls, evidence: AccuracyEvidence) -> FamilyAgreement:
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
    lead, unseen, general, usual, whole, most = FamilyAgreement.of(evidence)
    return (
        f"Where no software is named, the class usual on the GPU stands in: {lead.supported} published "
        f"throughput\nmeasurements (BERT, GPT, LLaMA, ResNet-50; one to {most:,} devices) are missed by "
        f"{percent(usual.median)} in the\nmedian and nine in ten by at most {percent(usual.ninetieth)}; the "
        f"80 % band holds {whole_percent(usual.coverage)}. With the software\nnamed and each of "
        f"{lead.groups} groups left out of the fit in turn it is {percent(unseen.median)} and "
        f"{percent(unseen.ninetieth)}, and the band\nholds {whole_percent(unseen.coverage)}; with the "
        f"software taken as unknown {percent(general.median)} and {percent(general.ninetieth)}. Runs of "
        f"ordinary teams take\nlonger than such records: the headline then is what people report. Whole times"
        f" to train, of all families,\nmiss by {percent(whole.median)} and {percent(whole.ninetieth)}."
    )


def korean_accuracy_sentence(evidence: AccuracyEvidence) -> str:
    lead, unseen, general, usual, whole, most = FamilyAgreement.of(evidence)
    text = (
        f"소프트웨어를 지정하지 않으면 GPU에서 통상적인 종류로 계산합니다. 공개된 처리량 측정 "
        f"{lead.supported}건(BERT·GPT·LLaMA·ResNet-50,\n장치 1~{most:,}개)에서 오차의 중앙값은 "
        f"{percent(usual.median)}, 열 건 중 아홉 건은 {percent(usual.ninetieth)} 이내이고, "
        f"80 % 범위에 {whole_percent(usual.coverage)}가 들어갑니다.\n"
        f"소프트웨어를 지정하고 {lead.groups}개 그룹을 하나씩 빼고 다시 맞추면 {percent(unseen.median)}와 "
        f"{percent(unseen.ninetieth)}이고, {whole_percent(unseen.coverage)}가 범위에 들어갑니다.\n"
        f"소프트웨어를 모른다고 보면 {percent(general.median)}와 {percent(general.ninetieth)}입니다. "
        f"일반 사용자의 실행은 이런 기록보다 오래 걸리며, 그때는 사용자 보고 기준이 제목이 됩니다.\n"
        f"전체 학습 시간의 오차는 모든 모델군에서 {percent(whole.median)}와 {percent(whole.ninetieth)}입니다."
    )
    return text.replace(" %", "%")


NEWER = "H100, B200, GB200, MI300X, TPU, Gaudi, Trainium"


def newer_chips_sentence(errors: LeftOutErrors) -> str:
    """Return the README's sentence on chips that no software profile was fitted on."""
    known, unseen = (errors[kind, "core", "newer"] for kind in ("laboratory", "chip"))
    return (
        f"On newer chips ({NEWER}; {known.runs:,} runs of these families)\n"
        f"the error is {percent(known.median)} and {percent(known.ninetieth)} without any run of the "
        f"laboratory, {percent(unseen.median)} and {percent(unseen.ninetieth)} without any of the chip."
    )


def korean_newer_chips_sentence(errors: LeftOutErrors) -> str:
    known, unseen = (errors[kind, "core", "newer"] for kind in ("laboratory", "chip"))
    text = (
        f"새 칩({NEWER}, 같은 모델군 {known.runs:,}건)의 오차는\n"
        f"해당 기관의 측정값을 모두 빼면 {percent(known.median)}와 {percent(known.ninetieth)}, "
        f"해당 칩의 측정값을 모두 빼면 {percent(unseen.median)}와 {percent(unseen.ninetieth)}입니다."
    )
    return text.replace(" %", "%")


def throughput(report: ValidationReport) -> list[RowResult]:
    """Return the rows that measure a rate or a step, not a whole run."""
    return [row for row in report.rows if row.metric in THROUGHPUT]


def size_of(row: RowResult) -> str:
    """Return the size class of a row by its devices, in words."""
    return SIZES[scale_of(row.devices)]


SIZES = {
    scale_code(least, most): f"{least} to {most}" if most else f"more than {least - 1}"
    for least, most in SCALES
}


def _of(rows: Iterable[RowResult], families: Iterable[str]) -> list[RowResult]:
    return [row for row in rows if row.family in families]


def _kind(row: RowResult) -> str:
    return "IPU" if row.chip in IPU_SERIES else "GPU"


def _errors(part: ErrorStatistics) -> list[str]:
    return [
        str(part.groups),
        percent(part.median),
        percent(part.ninetieth),
        percent(part.bias, signed=True),
        whole_percent(part.coverage),
    ]


def _summaries(name: str, parts: Iterable[ErrorStatistics]) -> str:
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
        for name in SIZES.values():
            rows = [row for row in known if _kind(row) == kind and size_of(row) == name]
            part = summary(f"{name} {kind}s", rows)
            if rows:
                lines.append([part.name, str(part.rows), *_errors(part)])
    return table(("devices", "rows:", *ERRORS), lines)


HELD_OUT = (
    ("in sample", None),
    ("group left out", "group_left_out"),
    ("software unknown", "software_unknown"),
    ("fitted on one machine", "fitted_on_one_machine"),
)


def _unseen(evidence: AccuracyEvidence) -> str:
    """Return errors in sample and left out, by family on GPUs and on IPUs."""
    rows: dict[str, dict[str, ErrorStatistics]] = {}
    for label, column in HELD_OUT:
        results = throughput(evidence.headline) if column is None else evidence.left_out[column]
        known = [row for row in results if row.family in FITTED_FAMILIES and row.supported]
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
