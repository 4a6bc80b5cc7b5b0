"""A choice of network: advice both ways, what decides, and what is known of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.catalog.books import BookRow, PriceBook
from app.errors import AppError, BadInput, Conflict, NotFound
from app.estimating.estimate import estimate
from app.features.networks.answering import choose_fabric
from app.features.networks.model import FabricChoice, FabricChoiceRequest, FabricGain, FabricOption
from tests.conftest import answer, asked, sizing_context

GPT2: dict[str, Any] = {
    "model": {"preset": "gpt2-355m"},
    "workload": {"samples": 1e8, "global_batch": 512, "seq_len": 1024, "precision": "bf16"},
    "system": {"id": "dgx-a100-640gb", "count": 2},
}

BERT: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 512, "precision": "fp16"},
    "system": {"id": "dgx-a100-640gb", "count": 4},
}

PAIR = [
    {"fabric": "hdr-infiniband", "ports_per_node": 8, "label": "infiniband"},
    {"fabric": "roce-100", "ports_per_node": 8, "label": "roce"},
]

RUNS = {"infiniband": [1003.0, 998.0, 999.0], "roce": [985.0, 990.0, 980.0]}


def choose(estimate: dict[str, Any] = BERT, **more: Any) -> FabricChoice:
    request = FabricChoiceRequest.model_validate({"estimate": estimate, **more})
    return choose_fabric(request, sizing_context())


def on(count: int, batch: int) -> dict[str, Any]:
    """Return BERT-Large on so many machines, data parallel without sharding."""
    return {
        **BERT,
        "workload": {**BERT["workload"], "global_batch": batch},
        "system": {"id": "dgx-a100-640gb", "count": count},
    }


def option(found: FabricChoice, name: str) -> FabricOption:
    return next(one for one in found.options if name in (one.id, one.label))


def gain(found: FabricChoice, name: str) -> FabricGain:
    return next(one for one in found.gains if one.option == option(found, name).id)


def codes(found: FabricChoice) -> set[str]:
    return {one.code for one in found.warnings}


@pytest.fixture(scope="module")
def usual() -> FabricChoice:
    return choose()


def test_the_network_of_the_estimate_takes_as_long_as_the_estimate(usual: FabricChoice) -> None:
    known = answer(**BERT)
    assert known.step_time is not None and known.time_to_train is not None
    own = option(usual, "hdr-infiniband-8")
    assert own.step_time.value == pytest.approx(known.step_time.value, rel=1e-12)
    assert own.time_to_train.value == pytest.approx(known.time_to_train.value, rel=1e-12)
    assert own.plan_basis == "reference"
    assert known.cost is not None and own.run_cost is not None
    assert own.run_cost.value == pytest.approx(known.cost.run.value, rel=1e-9)


def test_taken_is_the_first_by_price_from_which_no_dearer_one_gains_the_threshold(
    usual: FabricChoice,
) -> None:
    prices = [one.network.price.value for one in usual.options if one.network]
    assert prices == sorted(prices)
    steps = [one.step_time.value for one in usual.options]
    place = next(
        number for number, step in enumerate(steps) if step / min(steps[number:]) - 1 < usual.threshold
    )
    assert usual.advice is not None
    assert usual.advice.recommendation == usual.options[place].id == usual.reference


def test_advice_turns_with_the_threshold(usual: FabricChoice) -> None:
    assert usual.advice is not None and usual.advice.not_worth_it
    assert usual.advice.sentence.values["against"] == "8 × HDR InfiniBand, 200 Gb/s"
    greedy = choose(threshold=0.005)
    assert greedy.advice is not None
    assert greedy.advice.recommendation == "hdr-infiniband-8"
    modest = choose(threshold=0.5)
    assert modest.advice is not None
    assert modest.options[0].id == modest.advice.recommendation


def test_gains_rise_with_bandwidth_and_shared_doubt_cancels(usual: FabricChoice) -> None:
    ladder = [gain(usual, name).gain.value for name in ("roce-100-1", "roce-100-2", "roce-100-8")]
    assert ladder == sorted(ladder)
    narrow, wide = gain(usual, "hdr-infiniband-8").gain, option(usual, "hdr-infiniband-8").step_time
    assert narrow.high - narrow.low < 0.25 * (wide.high - wide.low) / wide.value


def test_what_is_the_networks_own_does_not_cancel() -> None:
    found = choose(options=[PAIR[0], {"fabric": "roce-200", "ports_per_node": 8, "label": "roce"}])
    (only,) = found.gains
    assert only.gain.value == pytest.approx(0.0, abs=1e-12)
    assert only.gain.low < only.gain.high
    assert 0.0 < only.probability_real < 1.0
    assert found.advice is not None and found.advice.decided_by.term == "same_network"


def test_terms_add_up_to_the_difference_with_one_plan(usual: FabricChoice) -> None:
    base = option(usual, usual.reference or "").step_time_reference_plan.value
    for one in usual.gains:
        other = option(usual, one.option).step_time_reference_plan.value
        assert sum(term.seconds for term in one.terms) == pytest.approx(base - other, abs=1e-9)


def test_messages_are_the_gradients_and_hide_as_the_step_says(usual: FabricChoice) -> None:
    for one in usual.options:
        data = [message for message in one.messages if message.kind == "data"]
        assert data[0].bytes * data[0].count == pytest.approx(2 * 335e6, rel=0.02)
        shown = sum(message.count * message.seconds * (1 - message.hidden) for message in data)
        assert shown == pytest.approx(one.exposed.data, rel=1e-6)


def test_pipeline_and_tensor_messages_of_a_large_model() -> None:
    found = choose(
        {
            "model": {"preset": "gpt3-175b"},
            "workload": {"tokens": 300e9, "global_batch": 1536, "seq_len": 2048, "precision": "bf16"},
            "system": {"id": "dgx-a100-640gb", "count": 128},
            "plan": {"tensor": 8, "pipeline": 8, "micro_batch": 1, "sharding": "optimizer"},
        },
        options=PAIR,
    )
    one = option(found, "infiniband")
    kinds = {message.kind: message for message in one.messages}
    assert kinds["tensor"].algorithm == "in_machine" and kinds["tensor"].hidden == 0
    assert kinds["pipeline"].bytes == pytest.approx(2 * 2048 * 12288)
    for kind in ("tensor", "pipeline"):
        shown = sum(m.count * m.seconds * (1 - m.hidden) for m in one.messages if m.kind == kind)
        assert shown == pytest.approx(getattr(one.exposed, kind), rel=1e-6)
    assert gain(found, "infiniband").terms[0].term == "pipeline_across_machines"


def test_where_it_turns_moves_with_accumulation() -> None:
    plan = {"tensor": 1, "pipeline": 1, "micro_batch": 16, "sharding": "none"}
    once, often = (
        choose({**on(4, 512 * times), "plan": {**plan, "accumulation": times}}, options=PAIR)
        for times in (1, 8)
    )
    assert once.turning is not None and often.turning is not None
    exposed = [point.exposed_share for point in once.turning.accumulation]
    assert exposed == sorted(exposed, reverse=True)
    enough = [[rung.enough for rung in found.turning.rungs].index(True) for found in (once, often)]
    assert enough[0] > enough[1]
    steps = [rung.step_time for rung in once.turning.rungs]
    assert steps == sorted(steps, reverse=True)
    assert once.turning.slowest_enough_from == often.turning.slowest_enough_from


def test_ethernet_without_runs_of_the_family_is_marked(usual: FabricChoice) -> None:
    marked = {one.id for one in usual.options if one.validation.status == "unvalidated"}
    assert {one.id for one in usual.options if one.fabric.startswith(("roce", "ethernet"))} <= marked
    assert option(usual, "hdr-infiniband-8").validation.status in {"validated", "extrapolated"}
    assert "fabric_unvalidated" in codes(usual)


def test_runs_known_over_roce_count_for_their_own_family_only() -> None:
    found = choose(GPT2, options=[*PAIR, {"fabric": "roce-200", "label": "faster"}])
    assert option(found, "faster").validation.runs > 0
    assert option(found, "faster").validation.status in {"validated", "extrapolated"}
    # LLaMA ran over it, and an Omni-Path network that it only stands in for does not count.
    assert option(found, "roce").validation.status == "unvalidated"
    assert option(found, "roce").validation.families == ["llama"]


def test_measured_runs_take_the_place_of_the_model() -> None:
    found = choose(GPT2, options=PAIR, measured=RUNS)
    advice = found.advice
    assert advice is not None and advice.gain is not None and advice.money_saved is not None
    assert advice.gain.value == pytest.approx(1000 / 985 - 1)
    assert advice.recommendation == "roce-100-8" and advice.not_worth_it
    assert "1.5 %" in advice.sentence.message and "threshold of 5 %" in advice.sentence.message
    assert advice.money_saved.value > 0
    assert {line.name: line.count for line in advice.not_bought} == {
        "QM8790 HDR switch": 1,
        "HDR copper cable, 2 m": 16,
    }
    assert advice.probability_real is not None and advice.probability_real > 0.95
    assert advice.probability_above_threshold is not None and advice.probability_above_threshold < 0.05
    one = option(found, "roce")
    assert one.validation.status == "measured" and "fabric_unvalidated" not in codes(found)
    assert one.throughput.value == pytest.approx(985) and one.measured is not None
    assert one.measured.deviation == pytest.approx(5.0)
    assert found.fitted is not None and found.fitted.gap_after < found.fitted.gap_before
    assert one.measured.fitted is not None
    assert abs(one.measured.fitted.value / 985 - 1) < abs(one.measured.gap)


def test_advice_turns_with_the_runs_and_says_that_the_model_disagrees() -> None:
    found = choose(GPT2, options=PAIR, measured={**RUNS, "roce": [700.0, 702.0, 698.0]})
    assert found.advice is not None
    assert found.advice.recommendation == "hdr-infiniband-8" and not found.advice.not_worth_it
    assert found.advice.sentence.values["gain"] == 43
    assert found.advice.decided_by.term == "measured"
    assert "measured_contradicts_model" in codes(found)


def test_runs_of_one_network_alone_leave_the_advice_to_the_model() -> None:
    found = choose(GPT2, options=PAIR, measured={"roce": RUNS["roce"]})
    assert gain(found, "infiniband").basis == "modelled"
    assert option(found, "roce").validation.status == "measured"


def test_the_advice_rests_on_the_measured_where_several_are() -> None:
    found = choose(GPT2, measured={"hdr-infiniband-8": [1000.0, 1001.0], "roce-100-8": [995.0, 996.0]})
    assert found.advice is not None
    assert found.advice.recommendation == "roce-100-8"
    assert {"unmeasured_left_out", "gain_few_runs"} <= codes(found)


def test_a_reference_states_the_gains_and_does_not_decide() -> None:
    dear = [PAIR[0], {"fabric": "roce-200", "ports_per_node": 8, "label": "roce"}]
    found, plain = (choose(GPT2, options=dear, measured=RUNS, **more) for more in ({"reference": "roce"}, {}))
    assert found.reference == "roce-200-8"
    assert found.decision is not None and found.decision == plain.decision
    assert found.decision.recommended == "hdr-infiniband-8"


def test_the_decision_is_that_of_every_other_choice(usual: FabricChoice) -> None:
    decision, advice = usual.decision, usual.advice
    assert decision is not None and advice is not None
    assert decision.recommended == advice.recommendation
    assert [one.id for one in decision.options] == [one.id for one in usual.options]
    reasons = {one.id: one.why_not for one in decision.options}
    slow = {one.option for one in usual.gains if one.gain.value < -usual.threshold}
    assert slow <= {name for name, reason in reasons.items() if reason == "too_slow"}
    # Of the networks that are fast enough the one of least purchase, for they tie in outlay.
    enough = [one for one in decision.options if one.why_not != "too_slow" and one.purchase is not None]
    least = min(enough, key=lambda one: one.purchase.value if one.purchase else 0.0)
    assert least.id == decision.recommended
    known = answer(**BERT)
    own = next(one for one in decision.options if one.id == "hdr-infiniband-8")
    assert known.cost is not None and own.run is not None
    assert own.run.value == pytest.approx(known.cost.run.value, rel=1e-9)


def test_limits_choose_a_faster_network(usual: FabricChoice) -> None:
    assert usual.decision is not None
    times = sorted(one.time.value for one in usual.decision.options if one.time)
    limits = {"deadline_s": (times[0] + times[-1]) / 2.0, "probability": 0.5}
    slow, found = choose(threshold=10.0), choose(threshold=10.0, limits=limits)
    assert slow.decision is not None and slow.decision.recommended == slow.options[0].id
    assert found.decision is not None and found.decision.recommended is not None
    assert "too_late" in {one.why_not for one in found.decision.options}
    fast = option(found, found.decision.recommended)
    assert fast.time_to_train.value < slow.options[0].time_to_train.value
    hopeless = choose(limits={"deadline_s": 1.0})
    assert hopeless.advice is not None and hopeless.advice.recommendation is None
    assert hopeless.decision is not None and hopeless.decision.nearest is not None


def test_a_machine_without_a_price_has_gains_and_no_recommendation() -> None:
    found = choose({**BERT, "system": {"id": "h100-sxm-96gb", "count": 4}})
    assert found.decision is not None and found.decision.recommended is None
    assert {one.why_not for one in found.decision.options} == {"no_price", "too_slow"}
    assert found.gains and found.advice is not None and found.advice.decided_by.term == "limits"


def test_a_rack_that_its_links_join_brings_the_ports_of_all_its_machines() -> None:
    found = choose({**BERT, "system": {"id": "gb200-nvl72", "count": 4}})
    known = answer(**{**BERT, "system": {"id": "gb200-nvl72", "count": 4}})
    own = next(one for one in found.options if one.fabric == known.system.fabric)
    assert known.time_to_train is not None
    assert own.time_to_train.value == pytest.approx(known.time_to_train.value, rel=1e-9)


def test_a_network_that_is_there_costs_nothing() -> None:
    dear = [PAIR[0], {"fabric": "roce-200", "ports_per_node": 8, "label": "roce"}]
    found = choose(GPT2, options=dear, installed=["roce"])
    assert found.advice is not None and found.advice.money_saved is not None
    assert found.advice.recommendation == "roce-200-8" and found.advice.instead == []
    bill = option(found, "infiniband").network
    assert bill is not None
    assert found.advice.money_saved.value == pytest.approx(bill.price.value)


def test_the_run_may_cost_less_on_the_network_that_is_not_worth_it() -> None:
    found = choose({**BERT, "software": "mlperf-bert"}, options=PAIR, threshold=0.5)
    assert found.advice is not None and found.advice.run_cost_difference is not None
    assert found.advice.run_cost_difference.low > 0
    assert "run_cost_disagrees" in codes(found)


def test_oversubscription_costs_bandwidth_and_saves_switches_where_there_are_uplinks() -> None:
    large = on(40, 10240)
    flat, thin = (choose(large, options=PAIR, oversubscription=ratio) for ratio in (1, 4))
    before, after = option(flat, "infiniband"), option(thin, "infiniband")
    assert before.id == after.id
    assert after.step_time.value > before.step_time.value
    assert before.network is not None and after.network is not None
    assert after.network.switches < before.network.switches
    assert after.network.price.value < before.network.price.value


def test_one_switch_has_no_uplinks_to_save(usual: FabricChoice) -> None:
    thin = choose(oversubscription=4)
    steps = [{one.id: one.step_time.value for one in found.options} for found in (usual, thin)]
    assert steps[0] == steps[1]
    assert "oversubscription_no_effect" in codes(thin)


def test_a_port_is_no_faster_than_its_slot(usual: FabricChoice) -> None:
    fast, slow = option(usual, "ndr-infiniband-4"), option(usual, "hdr-infiniband-4")
    assert fast.node_bandwidth.value == slow.node_bandwidth.value
    assert "port_faster_than_slot" in codes(usual)


def test_one_machine_needs_no_network() -> None:
    found = choose(on(1, 256))
    assert found.advice is not None and found.turning is None
    assert found.advice.recommendation is None and found.advice.decided_by.term == "one_machine"
    cost = estimate(found.request.estimate, sizing_context()).cost
    assert cost is not None
    for one in found.options:
        assert one.network is None and one.run_cost is not None
        assert one.run_cost.value == pytest.approx(cost.run.value, rel=1e-3)
    assert {gain.gain.value for gain in found.gains} == {0.0}


def test_a_model_that_does_not_fit_is_an_answer() -> None:
    whole = {"tensor": 1, "pipeline": 1, "sharding": "none", "offload": False}
    found = choose({**GPT2, "model": {"preset": "gpt3-175b"}, "plan": whole})
    assert not found.fits and found.advice is None and found.options == []
    assert "does_not_fit" in codes(found)


def test_a_price_book_turns_the_advice() -> None:
    """With a dear Ethernet switch InfiniBand is the cheaper of the two, although no step has changed."""
    rows = (BookRow("sn2700", "price", "", 90000.0, "USD", ""),)
    book = PriceBook("pbk_one", "Offers", 1, "2026-11-21", rows)
    context = replace(sizing_context(), find_book=lambda name: book)
    asked_for = {"estimate": GPT2, "options": PAIR}
    before, after = (
        choose_fabric(FabricChoiceRequest.model_validate({**asked_for, **more}), context)
        for more in ({}, {"price_book_id": "pbk_one"})
    )
    assert before.advice is not None and after.advice is not None
    assert before.advice.recommendation == "roce-100-8"
    assert after.advice.recommendation == "hdr-infiniband-8"
    assert [one.step_time for one in before.options] == [one.step_time for one in after.options][::-1]


def test_won_and_dollars_lead_to_one_advice(usual: FabricChoice) -> None:
    won = choose({**BERT, "currency": "KRW"})
    assert won.advice is not None and usual.advice is not None
    assert won.advice.recommendation == usual.advice.recommendation
    assert won.advice.money_saved is not None and won.advice.money_saved.unit == "KRW"


@pytest.mark.parametrize(
    ("changes", "kind", "field"),
    [
        ({"estimate": {**BERT, "system": {"id": "ipu-pod16"}}}, Conflict, "estimate.system.id"),
        ({"estimate": {**BERT, "system": {"id": "aws-p4d", "count": 2}}}, Conflict, "estimate.system.id"),
        (
            {"estimate": {"model": {"total_flop": 1e20}, "system": BERT["system"]}},
            BadInput,
            "estimate.model.total_flop",
        ),
        ({"options": [PAIR[0], {"fabric": "roce-10"}]}, NotFound, "options.1.fabric"),
        ({"options": [PAIR[0], {"fabric": "ipu-fabric"}]}, Conflict, "options.1.fabric"),
        ({"options": [PAIR[0], {**PAIR[0], "label": "again"}]}, BadInput, "options.1"),
        ({"options": [PAIR[0], {**PAIR[1], "label": "infiniband"}]}, BadInput, "options.1.label"),
        (
            {"options": [PAIR[0], {"fabric": "roce-100", "ports_per_node": 99}]},
            BadInput,
            "options.1.ports_per_node",
        ),
        ({"reference": "carrier pigeon"}, NotFound, "reference"),
        ({"installed": ["string"]}, NotFound, "installed.0"),
        ({"measured": {"string": [1.0]}}, NotFound, "measured.string"),
        ({"price_book_id": "pb_none"}, NotFound, "price_book_id"),
    ],
)
def test_what_cannot_be_weighed_is_refused_at_its_field(
    changes: dict[str, Any], kind: type[AppError], field: str
) -> None:
    with pytest.raises(kind) as refused:
        choose(**{"estimate": BERT, **changes})
    assert refused.value.errors[0].field == field


def test_an_estimate_with_a_calibrated_profile_may_be_weighed() -> None:
    """Nothing is fitted a second time; the request of the tests is one without runs."""
    found = choose(asked(system={"count": 2}).model_dump(exclude_unset=True))
    assert found.fitted is None and found.advice is not None
