"""Memory verdicts against configurations that ran on IPUs and against ones that cannot."""

import csv
from collections.abc import Mapping

import pytest

from app.engine.ipu.case import STATE_BYTES
from app.engine.ipu.examples import BOW, POPART
from app.engine.ipu.plan_steps import ipu_memory
from app.engine.ipu.stage_memory import REFUSED_ABOVE
from app.engine.plans import Plans
from app.profiles.presets import presets
from tests.conftest import DATA, sizing_context

Row = Mapping[str, str]

with (DATA / "validation" / "ipu_memory.csv").open(encoding="utf-8", newline="") as handle:
    ROWS = list(csv.DictReader(handle))


def filled(row: Row, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return what a configuration needs of the fullest IPU over what there is."""
    monkeypatch.setitem(STATE_BYTES, "stated", float(row["state_bytes"]))
    model = presets()[row["model"]]
    length = int(row["seq_len"]) if row["seq_len"] else model.default_seq_len
    tokens = model.tokens(length, None) if length else None
    table = model.operators(tokens, int(row["image_size"]) if row["image_size"] else None)
    split = tuple(float(layers) for layers in row["stage_layers"].split())
    assert not split or sum(split) == table.depth
    replicas = float(row["replicas"])
    plans = Plans.of(
        pipeline=max(len(split), 1),
        data=replicas,
        micro_batch=float(row["micro_batch"]),
        accumulation=float(row["accumulation"]),
        recompute=float(row["recompute"]),
        offload=float(row["offload"]),
        rts_optimizer=replicas if row["shared"] == "1" else 1.0,
    )
    software = POPART._replace(available_memory=float(row["available_memory"]))
    use = ipu_memory(table, plans, BOW, software, optimizer="stated", split=split)
    return float(use.total / use.capacity)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}-{row['stage_layers'] or 1}")
def test_published_configurations_fit_and_impossible_ones_do_not(
    row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = filled(row, monkeypatch)
    refused = share > REFUSED_ABOVE
    assert refused == (row["runs"] == "no"), f"{share:.3f} of the memory: {row['source']}"


def test_the_table_has_both_kinds_of_rows() -> None:
    runs = [row["runs"] for row in ROWS]
    assert runs.count("yes") >= 20
    assert runs.count("no") >= 5
    assert all(row["source"] for row in ROWS)


def test_rules_that_complete_ipu_rows_name_a_published_configuration() -> None:
    with (DATA / "validation" / "completion.csv").open(encoding="utf-8", newline="") as handle:
        rules = [row for row in csv.DictReader(handle) if "bow" in row["chip"] or "gc200" in row["chip"]]
    assert len(rules) > 40
    for rule in rules:
        named = ("graphcore/examples", "MLPerf v", "the default of the libraries")
        assert rule["note"].startswith(named), rule


def test_stated_splits_have_all_layers_of_their_model() -> None:
    with (DATA / "validation" / "completion.csv").open(encoding="utf-8", newline="") as handle:
        splits = [row for row in csv.DictReader(handle) if row["field"].startswith("stage_layers/")]
    depths = {24.0, 12.0, 33.0, 32.0, 16.0, 36.0, 9.0}
    for row in splits:
        layers = [float(part) for part in row["value"].split()]
        assert len(layers) == int(row["field"].split("/")[1])
        assert sum(layers) in depths, row


def test_the_catalogue_chips_are_those_of_the_examples() -> None:
    """The worked examples use a Bow IPU; the catalogue's differs in nothing that memory depends on."""
    chip = sizing_context().catalog.ipu_chip("bow")
    assert (chip.tiles, chip.sram_per_tile, chip.code_share) == (BOW.tiles, BOW.sram_per_tile, BOW.code_share)
