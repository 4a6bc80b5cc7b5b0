"""Generated documents: what they say, that they follow the data, and how well the engine does."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.__main__ import command_line
from app.catalog.entries import ChipKind
from app.errors import CatalogError
from app.estimating.context import SizingContext, choose_software, load_context
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.regimes import CORE_FAMILIES
from app.estimating.request import EstimateRequest
from app.estimating.validation.run import SLOWER_IS_MORE, RowResult, summary, validate
from app.features.accuracy.agreement import (
    SCALE_CODES,
    RunChoice,
    agreement,
    cells,
    chains,
    counted,
    scale_of,
    scaled,
    worst,
)
from app.features.accuracy.memory import peak_agreements, read_peaks
from app.features.accuracy.predictions import (
    load_patterns,
    read_predictions,
    reason_texts,
)
from tests.conftest import ROOT
from tools.accuracy import (
    accuracy_document,
    accuracy_sentence,
    configuration,
    korean_accuracy_sentence,
    size_of,
    throughput,
)
from tools.evidence import AccuracyEvidence, collect, in_headline, with_default_software
from tools.markdown import number, percent, table, whole_percent
from tools.methodology import read_constants, refreshed
from tools.predictions import predictions_of, predictions_text
from tools.readme import REQUEST, with_answers

DATA = ROOT / "data"

LEADING = ("bert", "gpt", "llama", "resnet50")

METHODOLOGY = sorted(
    (ROOT / "docs" / "methodology").glob("*.md"), key=lambda path: (path.name != "index.md", path.name)
)

PAGES = [ROOT / "README.md", ROOT / "README.ko.md", ROOT / "docs" / "accuracy.md", *METHODOLOGY]


@pytest.fixture(scope="module")
def context() -> SizingContext:
    return load_context(DATA)


@pytest.fixture(scope="module")
def evidence(context: SizingContext) -> AccuracyEvidence:
    return collect(context, DATA)


@pytest.fixture(scope="module")
def document(evidence: AccuracyEvidence) -> str:
    return accuracy_document(evidence)


def leading(rows: list[RowResult] | tuple[RowResult, ...]) -> list[RowResult]:
    return [row for row in rows if row.family in LEADING]


@pytest.mark.parametrize("family", LEADING)
def test_nearly_all_rows_of_the_leading_families_are_predicted(
    evidence: AccuracyEvidence, family: str
) -> None:
    part = summary(family, [row for row in throughput(evidence.headline) if row.family == family])
    assert part.supported >= 0.95 * part.rows


def test_measured_throughput_is_met(evidence: AccuracyEvidence) -> None:
    part = summary("", leading(throughput(evidence.headline)))
    assert part.median is not None and part.median <= 0.05
    assert part.ninetieth is not None and part.ninetieth <= 0.15
    assert part.coverage is not None and 0.8 <= part.coverage <= 0.96, (
        "widths are those of left-out laboratories"
    )


LIMITS = {
    "group_left_out": (0.04, 0.12),
    "laboratory_left_out": (0.05, 0.18),
    "scale_left_out": (0.10, 0.40),
    "software_unknown": (0.09, 0.25),
    "fitted_on_one_machine": (0.07, 0.23),
}
"""Median and 90th percentile that left-out runs of the leading families on GPUs stay within."""


@pytest.mark.parametrize("name", LIMITS)
def test_runs_left_out_of_the_fit_are_met(evidence: AccuracyEvidence, name: str) -> None:
    rows = [row for row in leading(evidence.left_out[name]) if row.chip.startswith("a100")]
    part = summary(name, rows)
    assert part.median is not None and part.median <= LIMITS[name][0]
    assert part.ninetieth is not None and part.ninetieth <= LIMITS[name][1]


@pytest.mark.parametrize(
    # Chips that figures were fitted on cannot be left out of their own fit.
    ("kind", "newer"),
    [("laboratory_left_out", False), ("laboratory_left_out", True), ("chip_left_out", True)],
)
def test_bands_hold_left_out_runs_as_often_as_they_say(
    evidence: AccuracyEvidence, kind: str, newer: bool
) -> None:
    """Four in five of strangers' runs, on chips that figures were fitted on and on newer ones."""
    runs = [
        run
        for run in counted(evidence.predictions)
        if run.error(kind) is not None and ("gpu_newer_chip" in run.regimes) == newer
    ]
    part = agreement(runs, kind)
    assert part.coverage is not None and 0.76 <= part.coverage <= 0.88


@pytest.mark.parametrize(
    ("kind", "median", "ninetieth"), [("laboratory_left_out", 0.12, 0.45), ("chip_left_out", 0.14, 0.45)]
)
def test_newer_chips_are_met(evidence: AccuracyEvidence, kind: str, median: float, ninetieth: float) -> None:
    part = agreement(
        [
            run
            for run in counted(evidence.predictions)
            if "gpu_newer_chip" in run.regimes and run.error(kind) is not None
        ],
        kind,
    )
    assert part.groups > 400
    assert part.median is not None and part.median <= median
    assert part.ninetieth is not None and part.ninetieth <= ninetieth


def test_an_unknown_software_has_ranges_that_hold_as_often(evidence: AccuracyEvidence) -> None:
    part = summary("", evidence.left_out["software_unknown"])
    assert part.coverage is not None and 0.74 <= part.coverage <= 0.86


def test_left_out_rows_are_those_that_were_predicted(evidence: AccuracyEvidence) -> None:
    known = {row.id: row for row in evidence.headline.rows if row.supported}
    for name in ("group_left_out", "fitted_on_one_machine"):
        for row in evidence.left_out[name]:
            own = known[row.id]
            assert (
                row.high is not None and row.low is not None and own.high is not None and own.low is not None
            )
            assert row.high / row.low == pytest.approx(own.high / own.low)


def test_published_memory_is_met(evidence: AccuracyEvidence) -> None:
    for case in evidence.memory:
        assert case.computed == pytest.approx(case.published, rel=0.1), case
    activations = [case for case in evidence.memory if case.part == "activations"]
    assert len(activations) == 8
    for case in activations:
        assert case.computed == pytest.approx(case.published, rel=0.001), case


def test_every_row_is_counted_once(evidence: AccuracyEvidence) -> None:
    rows = [*evidence.headline.rows, *evidence.newer.rows, *evidence.outside_headline.rows]
    assert len({row.id for row in rows}) == len(rows) == len(evidence.configurations)


def test_headline_rows_were_read_and_matter(evidence: AccuracyEvidence) -> None:
    for row in evidence.headline.rows:
        measured = evidence.configurations[row.id]
        assert measured["confidence"] != "memory" and measured["priority"] in ("1", "2")
    assert not in_headline({"confidence": "memory", "priority": "1"})
    assert not in_headline({"confidence": "verbatim", "priority": ""})


def test_default_software_is_that_of_an_estimate(context: SizingContext) -> None:
    rules = with_default_software(context).rules
    for family in ("bert", "dlrm", "resnet50"):
        for chip in ("a100-sxm-80gb", "bow"):
            kind = ChipKind.IPU if chip == "bow" else ChipKind.GPU
            chosen = choose_software(None, family, family == "resnet50", chip, kind, context, [])
            assert rules.profile({"family": family, "chip": chip, "software": "MXNet"}) is None
            assert rules.usual(family, chip) == chosen.id


def test_counts_are_those_of_the_data(evidence: AccuracyEvidence, context: SizingContext) -> None:
    counts = evidence.counts
    assert counts.fitted["software.csv"] + counts.fitted["kernels.csv"] == context.software.fitted
    assert counts.fitted["residuals.csv"] == context.residuals.fitted
    lines = len((DATA / "kernels.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert counts.fitted["kernels.csv"] + counts.assumed["kernels.csv"] <= lines


def test_the_document_has_every_part(document: str, evidence: AccuracyEvidence) -> None:
    headings = re.findall(r"^## (.*)$", document, re.MULTILINE)
    assert headings == [
        "Headline",
        "How to read it",
        "By family and chip",
        "By metric",
        "By number of devices",
        "Left out",
        "Coverage left out",
        "By family, chip and scale",
        "Scaling chains",
        "Regret of the plan search",
        "Worst cases",
        "What is not validated",
        "Not predicted, and why",
        "Rows apart",
        "Memory of one GPU",
        "Peaks of memory that runs logged",
        "What was fitted",
        "What these figures do not say",
    ]
    assert accuracy_sentence(evidence) in document
    refused = {row.reason for row in evidence.headline.rows if not row.supported}
    assert all(reason in document for reason in refused)


def test_the_document_is_the_same_each_time(document: str, evidence: AccuracyEvidence) -> None:
    assert accuracy_document(evidence) == document


def test_tiny_differences_between_machines_do_not_show(document: str, evidence: AccuracyEvidence) -> None:
    def moved(row: RowResult) -> RowResult:
        return row if row.predicted is None else replace(row, predicted=row.predicted * (1.0 + 1e-13))

    headline = replace(evidence.headline, rows=tuple(map(moved, evidence.headline.rows)))
    assert accuracy_document(replace(evidence, headline=headline)) == document


def test_tables_have_equal_rows(document: str) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", document, re.MULTILINE):
        widths = {line.replace("\\|", "").count("|") for line in block.splitlines()}
        assert len(widths) == 1, block[:200]


def test_devices_fall_into_classes(evidence: AccuracyEvidence) -> None:
    row = evidence.headline.rows[0]
    sizes = {devices: size_of(replace(row, devices=devices)) for devices in (1, 8, 64, 512, 513)}
    assert sizes == {1: "1 to 4", 8: "5 to 8", 64: "9 to 64", 512: "65 to 512", 513: "more than 512"}


def test_a_configuration_leaves_out_what_a_row_does_not_say(evidence: AccuracyEvidence) -> None:
    row = {**next(iter(evidence.configurations.values())), "tp": "8", "pp": "", "zero": "0"}
    assert "tensor 8" in configuration(row)
    assert "pipeline" not in configuration(row) and "ZeRO" not in configuration(row)


def test_every_measured_row_is_in_the_file_once_and_sorted(evidence: AccuracyEvidence) -> None:
    names = [one.id for one in evidence.predictions]
    assert names == sorted(set(evidence.configurations)) and len(set(names)) == len(names)


def test_the_file_is_read_as_it_was_written(evidence: AccuracyEvidence, tmp_path: Path) -> None:
    (tmp_path / "validation").mkdir()
    text = predictions_text(evidence.predictions)
    (tmp_path / "validation" / "predictions.csv").write_text(text, encoding="utf-8")
    assert read_predictions(tmp_path) == evidence.predictions
    assert read_predictions(tmp_path / "nowhere") == ()


def test_tiny_differences_between_machines_do_not_show_in_the_file(evidence: AccuracyEvidence) -> None:
    def moved(scope: str, row: object) -> tuple[str, object]:
        value = row.predicted  # type: ignore[attr-defined]
        return scope, row if value is None else replace(row, predicted=value * (1 + 1e-13))  # type: ignore[type-var]

    rows = [("counted", row) for row in (*evidence.headline.rows, *evidence.newer.rows)]
    rows += [("apart", row) for row in evidence.outside_headline.rows]
    reasons = load_patterns(DATA / "validation" / "reasons.csv")
    again = predictions_of(
        [moved(*one) for one in rows],  # type: ignore[misc]
        evidence.configurations,
        DATA / "validation" / "held_out.csv",
        reasons,
    )
    assert predictions_text(again) == predictions_text(evidence.predictions)


def test_a_chain_is_that_of_the_validation(evidence: AccuracyEvidence) -> None:
    parts = (evidence.headline, evidence.newer, evidence.outside_headline)
    rows = {row.id: row for part in parts for row in part.rows}
    for one in evidence.predictions:
        if one.status == "predicted":
            assert one.chain == rows[one.id].chain and one.regimes.split() == [*rows[one.id].regimes]


def test_figures_are_those_of_the_validation(evidence: AccuracyEvidence) -> None:
    rows = [*throughput(evidence.headline), *throughput(evidence.newer)]
    known = summary("", [row for row in rows if row.family in CORE_FAMILIES])
    found = agreement(filter(RunChoice(family="core").holds, counted(evidence.predictions)), "in_sample")
    assert (found.runs, found.groups) == (known.supported, known.groups)
    for name in ("median", "ninetieth", "bias", "coverage"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), abs=2e-3)


def test_left_out_errors_count_in_the_unit_of_the_metric(evidence: AccuracyEvidence) -> None:
    with (DATA / "validation" / "held_out.csv").open(encoding="utf-8", newline="") as handle:
        slower = {row["id"]: row for row in csv.DictReader(handle)}
    joined = [one for one in evidence.predictions if one.group_left_out is not None]
    assert len(joined) > 100
    for one in joined:
        sign = 1 if one.metric in SLOWER_IS_MORE else -1
        assert one.group_left_out == pytest.approx(sign * float(slower[one.id]["group_left_out"]))


def test_every_predicted_run_is_in_one_cell(evidence: AccuracyEvidence) -> None:
    runs = counted(evidence.predictions)
    found = cells(runs)
    assert sum(one.in_sample.runs for one in found) == sum(one.log_error is not None for one in runs)
    assert len({(one.family, one.chip, one.scale) for one in found}) == len(found)
    assert [scale_of(devices) for devices in (1, 8, 64, 512, 513)] == [*SCALE_CODES]


def test_repeat_deviations_are_known_apart_or_the_usual(evidence: AccuracyEvidence) -> None:
    found = chains(counted(evidence.predictions), "in_sample", evidence.repeats)
    stated = [float(one.result["deviation"]) for one in evidence.repeats]
    iterations = [one for one in found if "Feb 2022" in one.run.software]
    assert iterations and {one.repeat_deviation for one in iterations} == {stated[0]}
    alone = [one for one in found if one.repeats is None and one not in iterations]
    assert alone and {one.repeat_deviation for one in alone} == {stated[-1]}


def test_every_reason_has_a_sentence_and_is_met(evidence: AccuracyEvidence) -> None:
    texts = reason_texts(DATA)
    assert {one.reason for one in evidence.predictions} - {""} == set(texts)
    assert all(one.reason == "" for one in evidence.predictions if one.status == "refused")


def test_worst_cases_are_of_different_kinds(evidence: AccuracyEvidence) -> None:
    found = worst(counted(evidence.predictions), "in_sample", 20)
    errors = [abs(one.log_error or 0.0) for one in found]
    assert errors == sorted(errors, reverse=True)
    assert len({(one.model, one.chip, one.software) for one in found}) == len(found) == 20


def test_what_is_not_validated_has_no_run(evidence: AccuracyEvidence) -> None:
    runs = [one for one in counted(evidence.predictions) if one.log_error is not None]
    assert not set(evidence.gaps.families) & {one.family for one in runs}
    assert not set(evidence.gaps.chips) & {one.chip for one in runs}
    assert {"ipu_phased", "gpu_offload"} <= set(evidence.gaps.regimes)
    for largest in evidence.gaps.largest:
        assert largest.devices == max(one.devices for one in runs if one.chip == largest.chip)


def test_every_fitted_figure_is_listed(evidence: AccuracyEvidence) -> None:
    listed = {name: sum(one.file == name for one in evidence.figures) for name in evidence.counts.fitted}
    assert listed == dict(evidence.counts.fitted)


def test_the_document_prints_every_fitted_figure_and_gap(evidence: AccuracyEvidence) -> None:
    text = accuracy_document(evidence)
    for file, count in evidence.counts.fitted.items():
        assert re.search(rf"^### .*{re.escape(file)}.*\({count}\)$", text, re.MULTILINE)
    assert all(f"`{name}`" in text for name in evidence.gaps.regimes)
    chain = scaled(chains(counted(evidence.predictions), "in_sample", evidence.repeats))[0]
    assert f"| {chain.run.model}, {chain.run.length} |" in text


def test_nothing_is_predicted_from_what_was_measured(
    context: SizingContext, evidence: AccuracyEvidence
) -> None:
    some = [*evidence.configurations.values()][::5]
    parts = (evidence.headline, evidence.newer, evidence.outside_headline)
    known = {row.id: row for part in parts for row in part.rows}
    again = validate(some, replace(context, outcomes={})).rows
    assert [*again] == [known[row["id"]] for row in some]


def test_constants_follow_the_data() -> None:
    row = "| `matrix_efficiency` | {} | {} | `data/software.csv` gpu-base | of products |\n| plain | row |\n"
    constants = {("software", "gpu-base", "matrix_efficiency"): ("0.5", "assumed")}
    assert refreshed(row.format("?", "?"), constants, "page.md") == row.format("0.5", "assumed")


def test_a_constant_that_is_gone_is_named() -> None:
    with pytest.raises(CatalogError, match=r"page\.md: data/kernels\.csv has no gone"):
        refreshed("| `gone` | 1 | fitted | `data/kernels.csv` | what |\n", read_constants(DATA), "page.md")


@pytest.mark.parametrize("path", METHODOLOGY, ids=lambda path: path.stem)
def test_methodology_quotes_todays_constants(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert refreshed(text, read_constants(DATA), path.name) == text, "run “python -m tools documents”"
    assert "| ? |" not in text


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_files_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:app|data|docs|tests|static|tools)/[\w./-]+)`", text))
    linked = {path.parent / link for link in re.findall(r"\]\(([\w./-]+)\)", text)}
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing + [link for link in linked if not link.exists()]


def test_the_index_links_every_page() -> None:
    first, *pages = METHODOLOGY
    linked = re.findall(r"^\d+\. \[.*?\]\((.*?)\)", first.read_text(encoding="utf-8"), re.MULTILINE)
    assert first.name == "index.md" and linked == [page.name for page in pages]


def test_every_page_says_what_it_does_not_cover() -> None:
    for page in METHODOLOGY[1:]:
        text = page.read_text(encoding="utf-8")
        assert all(f"**{part}" in text for part in ("What.", "Why.", "References.", "Not covered")), page.name


def test_the_request_of_the_readme_is_answered_as_printed(context: SizingContext, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = REQUEST.search(readme)
    assert shown is not None
    path = tmp_path / "request.json"
    path.write_text(shown["text"], encoding="utf-8")
    printed = CliRunner().invoke(command_line("estimate"), ["estimate", str(path)]).stdout
    block = re.search(r"<!-- generated: estimate -->\n```text\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    assert all(line in printed for line in block[1].splitlines()), "run “python -m tools documents”"


def test_the_readme_follows_the_runs(context: SizingContext, evidence: AccuracyEvidence) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    again = with_answers(readme, context, evidence)
    assert accuracy_sentence(evidence) in again
    for code in ("does_not_fit", "batch_not_divisible", "sparse_peak"):
        assert f"`{code}`" in again
    with pytest.raises(CatalogError, match="parts do not match: surprise"):
        with_answers(f"{readme}<!-- generated: surprise -->\n<!-- end -->", context, evidence)
    with pytest.raises(CatalogError, match="no request"):
        with_answers("nothing", context, evidence)


def test_the_korean_readme_says_the_same(context: SizingContext, evidence: AccuracyEvidence) -> None:
    english, korean = (
        (ROOT / name).read_text(encoding="utf-8").strip() for name in ("README.md", "README.ko.md")
    )
    again = with_answers(korean, context, evidence, "README.ko.md")
    said = korean_accuracy_sentence(evidence)
    assert said in again
    assert set(re.findall(r"[\d.]+%", said)) == {
        one.replace(" ", "") for one in re.findall(r"[\d.]+ %", accuracy_sentence(evidence))
    }
    blocks = [re.search(r"```text\n.*?```", text, re.DOTALL) for text in (english, again)]
    assert blocks[0] and blocks[1] and blocks[0][0] == blocks[1][0]
    with pytest.raises(CatalogError, match=r"README\.ko\.md: generated parts do not match: surprise"):
        with_answers(f"{korean}<!-- generated: surprise -->\n<!-- end -->", context, evidence, "README.ko.md")


def test_the_answer_behind_the_readme_is_an_estimate(context: SizingContext) -> None:
    shown = REQUEST.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown is not None
    answer = estimate(EstimateRequest.model_validate_json(shown["text"]), context)
    assert isinstance(answer, Estimate) and answer.fits


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (0.0314, "3.1 %"), (-0.0004, "0.0 %"), (1.5, "150.0 %")],
)
def test_percentages(value: float | None, written: str) -> None:
    assert percent(value) == written


def test_numbers_and_cells() -> None:
    assert percent(-0.0004, signed=True) == "+0.0 %"
    assert (whole_percent(0.784), whole_percent(None)) == ("78 %", "–")
    assert [number(value) for value in (None, 0.0012345, 12.345, 123456.0)] == [
        "–",
        "0.00123",
        "12.3",
        "123,000",
    ]
    assert table(("a", "b:"), [("x|y", " 1\n")]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"


def test_peaks_of_memory_are_computed_as_runs_log_them(evidence: AccuracyEvidence) -> None:
    everything, *_ = peak_agreements(evidence.peaks)
    assert everything.median <= 0.04 and everything.ninetieth <= 0.10
    assert read_peaks(DATA) == evidence.peaks
