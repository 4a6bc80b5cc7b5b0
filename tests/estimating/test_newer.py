"""Accelerators after A100 are sized, billed and compared as the A100 systems are."""

from __future__ import annotations

import pytest

from app.engine.records import IpuChip
from app.estimating.context import SizingContext
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.bills.bill import make_bill
from app.features.bills.model import BillRequest
from app.features.sizings.answering import size
from app.features.sizings.model import SizingRequest
from app.features.sizings.search import SCALABLE_UNIT, is_power_of_two, lattice

BERT = {"preset": "bert-large"}
SAMPLES = {"samples": 1e7, "seq_len": 128}


def test_every_system_of_the_catalogue_trains_a_model(context: SizingContext) -> None:
    for system in context.catalog.systems():
        asked = {"model": BERT, "workload": {**SAMPLES, "global_batch": 2304}, "system": {"id": system.id}}
        answer = estimate(EstimateRequest.model_validate(asked), context)
        assert answer.time_to_train is not None, system.id
        assert answer.time_to_train.value > 0
        assert answer.energy is not None
        known = system.price is not None or system.price_hour is not None
        assert (answer.cost is not None and answer.cost.run is not None) == known, system.id
        if not known:
            assert "price_unknown" in {warning.code for warning in answer.warnings}


def test_newer_chips_are_faster_than_the_a100(context: SizingContext) -> None:
    hours = {}
    for name in ("dgx-a100-640gb", "dgx-h100", "dgx-h200", "dgx-b200"):
        asked = {"model": BERT, "workload": {**SAMPLES, "global_batch": 2048}, "system": {"id": name}}
        answer = estimate(EstimateRequest.model_validate(asked), context)
        assert answer.time_to_train is not None
        hours[name] = answer.time_to_train.value
    assert hours["dgx-a100-640gb"] > 1.5 * hours["dgx-h100"] > 1.5 * hours["dgx-h200"]
    assert hours["dgx-h200"] > 1.3 * hours["dgx-b200"]


def test_a_bare_figure_divides_by_the_bf16_peak_where_there_is_no_fp16(context: SizingContext) -> None:
    asked = {"model": {"total_flop": 1e21}, "system": {"id": "tpu-v5p"}}
    answer = estimate(EstimateRequest.model_validate(asked), context)
    assert {one.field: one.value for one in answer.defaults}["assumptions.peak"] == "bf16_dense"
    assert answer.time_to_train is not None
    assert answer.time_to_train.value == pytest.approx(1e21 / (4 * 459e12))


def test_a_stated_dense_peak_of_eight_bits_is_not_called_sparse(context: SizingContext) -> None:
    asked = {
        "model": {"total_flop": 1e21},
        "system": {"id": "dgx-h100"},
        "assumptions": {"peak": "fp8_dense"},
    }
    answer = estimate(EstimateRequest.model_validate(asked), context)
    assert "sparse_peak" not in {warning.code for warning in answer.warnings}
    assert answer.time_to_train is not None
    assert answer.time_to_train.value == pytest.approx(1e21 / (8 * 1979e12))


@pytest.mark.parametrize("precision", ["tf32", "fp32", "fp16"])
def test_a_tpu_runs_in_bf16_what_it_has_no_format_for(context: SizingContext, precision: str) -> None:
    workload = {**SAMPLES, "global_batch": 256, "precision": precision}
    asked = {"model": BERT, "workload": workload, "system": {"id": "tpu-v4"}}
    answer = estimate(EstimateRequest.model_validate(asked), context)
    assert answer.precision_used == "bf16"
    assert "precision_substituted" in {warning.code for warning in answer.warnings}


def test_a_rack_that_is_sold_whole_stands_in_one_rack(context: SizingContext) -> None:
    bill = make_bill(BillRequest.model_validate({"system": "gb200-nvl72", "count": 2}), context)
    trays = [rack.count for rack in bill.racks for place in rack.placements if place.item == "gb200-tray"]
    assert len(trays) in (18, 36)
    assert sum(trays) == 36
    holding = [rack for rack in bill.racks if any(one.item == "gb200-tray" for one in rack.placements)]
    assert sum(rack.count for rack in holding) == 2
    assert "rack_power_exceeded" in {warning.code for warning in bill.warnings}


def test_ports_on_the_chips_are_no_adapters_to_buy(context: SizingContext) -> None:
    bill = make_bill(BillRequest.model_validate({"system": "gaudi2-8", "count": 4}), context)
    assert "adapter" not in {line.use for line in bill.lines}
    engine = context.hardware.system("gaudi2-8", 4).engine
    assert not isinstance(engine, IpuChip)
    assert engine.fabric.ports_per_node == 24


def test_pods_of_eighteen_trays_are_counted_by_powers_of_two(context: SizingContext) -> None:
    counts = lattice(context.catalog.system("gb200-nvl72"), 4096)
    assert counts[:4] == [1, 2, 4, 8]


def test_where_no_system_is_named_all_are_tried_and_the_best_at_every_count(context: SizingContext) -> None:
    asked = {
        "model": BERT,
        "workload": {**SAMPLES, "global_batch": 4096},
        "deadline_s": 3600 * 2,
        "most_accelerators": 512,
    }
    found = size(SizingRequest.model_validate(asked), context).document
    catalog = context.catalog
    tried = {option.system for option in found.options} | {one.system for one in found.left_out}
    assert tried == {system.id for system in catalog.systems() if system.devices <= 512}
    counts: dict[str, set[int]] = {}
    for option in found.options:
        counts.setdefault(option.system, set()).add(option.count)
    in_units = {name for name, some in counts.items() if any(one % SCALABLE_UNIT == 0 for one in some)}
    plain = set(counts) - in_units
    assert in_units
    assert len(plain) > len(in_units)
    assert all(is_power_of_two(count) for name in plain for count in counts[name])
    assert found.recommended is not None


@pytest.mark.parametrize("precision", ["fp8", "mxfp8", "nvfp4"])
def test_a_network_of_convolutions_runs_in_16_bit(context: SizingContext, precision: str) -> None:
    def asked(form: str) -> Estimate:
        workload = {"samples": 1e6, "global_batch": 512, "precision": form}
        request = {"model": {"preset": "resnet50"}, "workload": workload, "system": {"id": "dgx-b200"}}
        return estimate(EstimateRequest.model_validate(request), context)

    answer, plain = asked(precision), asked("bf16")
    assert answer.precision_used == "bf16" and answer.step_time == plain.step_time
    (said,) = [one.message for one in answer.warnings if one.code == "precision_substituted"]
    assert precision in said and "bf16 is used instead" in said
