"""The errors that estimates quote: of which runs they are, and that they are those of the software used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.estimating.context import SizingContext
from app.estimating.nearest import NAMED, PRESUMED, FamilyError, family_error, load_family_errors
from app.estimating.validation.run import read_rows, summary, validate
from app.features.accuracy.predictions import read_predictions
from tests.conftest import DATA, sizing_context
from tools.error_tables import errors_table, left_out_table
from tools.evidence import in_headline, with_default_software


@pytest.fixture(scope="module")
def context() -> SizingContext:
    return sizing_context()


@pytest.fixture(scope="module")
def errors(
    context: SizingContext, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str, str], FamilyError]:
    """Errors as they are written, of the rows of two families."""
    rows = read_rows((DATA / "validation" / "measured.csv").read_text(encoding="utf-8"))
    rows = [row for row in rows if in_headline(row) and row["family"] in ("dlrm", "resnext101")]
    usual = with_default_software(context)
    path = tmp_path_factory.mktemp("errors") / "errors.csv"
    path.write_text(
        errors_table(
            {NAMED: (validate(rows, context),), PRESUMED: (validate(rows, usual),)}, read_predictions(DATA)
        ),
        encoding="utf-8",
    )
    return load_family_errors(path)


def test_the_file_of_errors_has_named_and_presumed_software(
    errors: dict[tuple[str, str, str], FamilyError],
) -> None:
    key = ("dlrm", "a100-sxm-80gb")
    assert errors[*key, NAMED] != errors[*key, PRESUMED]
    assert ("resnext101", "bow", NAMED) not in errors, "one group of machines tells no error"
    assert all(error.groups >= 2 for error in errors.values())


@pytest.mark.parametrize(
    ("software", "presumed", "kind"),
    [
        ("hugectr", True, PRESUMED),
        ("hugectr", False, NAMED),
        ("ngc-pytorch-recommendation", False, NAMED),
        ("megatron-2022", False, None),
    ],
)
def test_the_error_quoted_is_that_of_the_software_used(
    context: SizingContext,
    errors: dict[tuple[str, str, str], FamilyError],
    software: str,
    presumed: bool,
    kind: str | None,
) -> None:
    profile = replace(context.software.profile(software), presumed=presumed)
    found = family_error(errors, context.runs, profile, family="dlrm", chip="a100-sxm-80gb", usual="hugectr")
    assert found == (None if kind is None else errors["dlrm", "a100-sxm-80gb", kind])


def test_the_default_that_is_named_has_the_error_of_the_default(
    context: SizingContext, errors: dict[tuple[str, str, str], FamilyError]
) -> None:
    named = context.software.profile("gpu-eager")
    key = ("resnext101", "a100-sxm-80gb")
    found = family_error(errors, context.runs, named, family=key[0], chip=key[1], usual="gpu-eager")
    assert found == errors[*key, PRESUMED]


def test_ranges_of_presumed_software_hold_as_often_as_they_should(context: SizingContext) -> None:
    rows = read_rows((DATA / "validation" / "measured.csv").read_text(encoding="utf-8"))
    rows = [row for row in rows if in_headline(row) and row["family"] not in ("gpt", "bert", "resnet50")]
    report = validate(rows, with_default_software(context))
    found = summary("", [row for row in report.rows if row.metric != "time_to_train_min"])
    assert found.coverage is not None and found.coverage >= 0.8


def test_the_table_is_what_the_predictions_say(context: SizingContext) -> None:
    written = (DATA / "validation" / "left_out.csv").read_text(encoding="utf-8")
    assert written == left_out_table(read_predictions(DATA), context.measured)
