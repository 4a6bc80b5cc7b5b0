"""Sections of docs/accuracy.md that are made from the single runs, as the accuracy page is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.reports.accuracy_cases import configuration
from app.reports.agreement import (
    ALL,
    CORE,
    OTHER,
    Agreement,
    AgreementCell,
    by_kind,
    cells,
    counted,
    in_set,
    worst,
)
from app.reports.chains import Chain, Ranking, chains, ranking, scaled
from app.reports.evidence import AccuracyEvidence, Counts, Row
from app.reports.fitted import FittedFigure
from app.reports.gaps import Gaps
from app.reports.markdown import UNKNOWN, number, percent, table, whole_percent
from app.reports.predictions import IN_SAMPLE, KINDS, Prediction

WORST_SHOWN = 20
CHAINS_SHOWN = 20
IN_ORDER = 1.0 - 1e-9
NO_REASON = "no reason known"

COVERAGE = """## Coverage left out

Share of measured values inside the 80 % band, by what the fit knew of a run; in brackets the 95 % interval
of a binomial share (Wilson), each group one trial. Runs that nothing was fitted to are left
out as they stand."""

SCALES = """## By family, chip and scale

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

SETS = (("BERT, GPT, LLaMA, ResNet-50", CORE), ("all other families", OTHER), ("all families", ALL))
KIND_NAMES = {kind: kind.replace("_", " ") for kind in KINDS}

FILES = {
    "software.csv": "`data/software.csv`: software profiles",
    "kernels.csv": "`data/kernels.csv`: kernel libraries",
    "residuals.csv": "`data/residuals.csv`: width of the ranges",
    "validation/completion.csv": "`data/validation/completion.csv`: what a row leaves out",
    "validation/networks.csv": "`data/validation/networks.csv`: networks of rows",
    "catalogue": "catalogue: achieved rates, latencies, laws of convergence, cost assumptions",
}


def covered(part: Agreement) -> str:
    """Return a coverage with its interval: ``82 % (77–86)``."""
    if part.coverage is None or part.coverage_low is None or part.coverage_high is None:
        return UNKNOWN
    return f"{whole_percent(part.coverage)} ({100 * part.coverage_low:.0f}–{100 * part.coverage_high:.0f})"


def coverage_section(evidence: AccuracyEvidence) -> str:
    """Return coverage by what the fit knew, with binomial intervals."""
    runs = counted(evidence.predictions)
    lines = []
    for name, chosen in SETS:
        parts = by_kind([one for one in runs if in_set(one.family, chosen)])
        lines += [
            [name, KIND_NAMES[kind], str(part.runs), str(part.groups), percent(part.median), covered(part)]
            for kind, part in parts.items()
            if part.runs
        ]
    headings = ("of", "the fit knew", "runs:", "groups:", "median:", "in the band:")
    return "\n\n".join((COVERAGE, table(headings, lines)))


def scale_section(evidence: AccuracyEvidence) -> str:
    """Return errors by family, chip and class of size."""
    headings = ("family", "chip", "devices", "runs:", "groups:", "median:", "90 %:", "bias:", "left out:")
    lines = map(_cell, cells(counted(evidence.predictions)))
    return "\n\n".join((SCALES, table(headings, lines)))


def _cell(one: AgreementCell) -> list[str]:
    known = one.in_sample
    return [
        one.family,
        one.chip,
        written_scale(one.scale),
        str(known.runs),
        str(known.groups),
        percent(known.median),
        percent(known.ninetieth),
        percent(known.bias, signed=True),
        covered(one.left_out),
    ]


def written_scale(code: str) -> str:
    """Return a class of size as it is read.

    >>> written_scale("9-64"), written_scale("513-")
    ('9–64', '513 and more')
    """
    least, most = code.split("-")
    return f"{least}–{most}" if most else f"{least} and more"


def chain_section(evidence: AccuracyEvidence) -> str:
    """Return how well scaling chains are followed, and how many pairs are ranked right."""
    found = chains(counted(evidence.predictions), IN_SAMPLE, evidence.repeats)
    curves = scaled(found)
    shapes = sorted(chain.shape for chain in curves)
    told = (
        f"Of {len(found)} chains {sum(chain.rank >= IN_ORDER for chain in found)} are in exact order; "
        f"{len(curves)} are over more than one\nnumber of devices, and half of these miss the shape by less "
        f"than {percent(shapes[len(shapes) // 2])}.\n{_pairs(ranking(found))}"
    )
    headings = ("model", "software", "chip", "devices", "n:", "measured", "predicted", "offset:", "shape:")
    lines = [_chain(one) for one in curves[:CHAINS_SHOWN]]
    return "\n\n".join((CHAINS, told, table((*headings, "repeats:", "rank:"), lines)))


def _pairs(found: Ranking) -> str:
    return (
        f"Pairs of one chain whose throughput per device differs by more than three repeat deviations: "
        f"{found.pairs:,} in\n{found.chains} chains, of which {whole_percent(found.share)} are predicted in "
        "the right order."
    )


def _chain(one: Chain) -> list[str]:
    first, last = one.points[0], one.points[-1]
    return [
        f"{one.model}, {one.length}" if one.length else one.model,
        f"{one.software}, {one.precision}",
        one.chip,
        f"{one.least} to {one.most:,}",
        str(len(one.points)),
        f"{number(first.measured)} → {number(last.measured)} {one.unit}",
        f"{number(first.predicted)} → {number(last.predicted)}",
        percent(one.offset, signed=True),
        percent(one.shape),
        percent(one.repeats),
        f"{one.rank:.2f}",
    ]


def worst_cases(evidence: AccuracyEvidence) -> str:
    """Return the worst rows, with their likely reasons."""
    runs = [one for one in evidence.predictions if one.scope == "counted"]
    lines = [
        _missed(one, evidence.configurations, evidence.reasons) for one in worst(runs, IN_SAMPLE, WORST_SHOWN)
    ]
    headings = ("row", "configuration", "profile", "measured", "predicted:", "error:", "likely reason")
    return "\n\n".join((WORST, table(headings, lines)))


def _missed(one: Prediction, configurations: Mapping[str, Row], reasons: Mapping[str, str]) -> list[str]:
    return [
        f"`{one.id}`",
        configuration(configurations[one.id]),
        one.profile or UNKNOWN,
        f"{number(one.measured)} {one.metric}",
        number(one.predicted),
        percent(one.log_error, signed=True),
        reasons.get(one.reason, NO_REASON),
    ]


def gap_section(found: Gaps) -> str:
    """Return what no run tests."""
    sizes = ", ".join(f"{one.devices:,} ({one.chip})" for one in found.largest)
    lines = [
        ["families of models", _listed(found.families)],
        ["chips", _listed(found.chips)],
        ["more devices than the largest measured run", sizes],
        ["regimes of `data/residuals.csv`", _listed(found.regimes)],
        ["IPUs", "anything beyond one rack; tensor parallel and phased execution"],
        ["beside throughput", "cost, energy, failures and restarts, waiting for data"],
    ]
    return "\n\n".join((UNTESTED, table(("what", "which"), lines)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or UNKNOWN


def fitted_section(figures: Sequence[FittedFigure], counts: Counts) -> str:
    """Return every fitted figure by file, each file with its count."""
    parts = []
    for file, title in FILES.items():
        inside = [one for one in figures if one.file == file]
        parts.append(f"### {title} ({counts.fitted.get(file, 0)})")
        parts.append(_figures(inside) if inside else "None.")
    return "\n\n".join(parts)


def _figures(figures: Iterable[FittedFigure]) -> str:
    headings = ("of", "figure", "value:", "deviation:", "runs:", "groups:", "worth:", "rests on")
    return table(
        headings,
        (
            [
                one.owner or "all",
                f"`{one.name}`",
                one.value,
                UNKNOWN if one.deviation is None else f"{one.deviation:g}",
                UNKNOWN if one.runs is None else str(one.runs),
                UNKNOWN if one.groups is None else str(one.groups),
                UNKNOWN if one.worth is None else f"{one.worth:+g}",
                "" if one.runs is not None else one.note.removeprefix("fitted: "),
            ]
            for one in figures
        ),
    )
