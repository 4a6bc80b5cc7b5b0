"""Who gets which devices, what is refused with which way out, and what does not keep teams apart."""

from typing import Any

import pytest

from app.catalog.catalog import Catalog, load_catalog
from app.errors import AppError, BadInput, Conflict, NotFound
from app.features.tenancy.model import PartitionPlan, PartitionRequest
from app.features.tenancy.partitions import plan_partitions
from tests.conftest import DATA

J5 = (16, 16, 8, 4, 16)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(DATA)


def teams(*sizes: int, **more: Any) -> list[dict[str, Any]]:
    return [{"team": chr(65 + at), "devices": size} | more for at, size in enumerate(sizes)]


def plan(
    catalog: Catalog, requests: list[dict[str, Any]], system: str = "bow-pod64", **more: Any
) -> PartitionPlan:
    return plan_partitions(
        PartitionRequest.model_validate({"system": system, "requests": requests} | more), catalog
    )


def refused(catalog: Catalog, requests: list[dict[str, Any]], **more: Any) -> AppError:
    with pytest.raises(AppError) as raised:
        plan(catalog, requests, **more)
    return raised.value


def codes(found: PartitionPlan) -> dict[str, str]:
    return {warning.code: warning.severity for warning in found.warnings}


def test_five_teams_leave_four_ipus(catalog: Catalog) -> None:
    found = plan(catalog, teams(*J5), isolation="strict", orchestrator="backend.ai")
    assert (found.devices, found.allocated, found.free, found.largest_free) == (64, 60, 4, 4)
    assert found.fragmentation == 0.0 and found.utilisation == 60 / 64
    held = [one.pod * 64 + one.first_device + at for one in found.placements for at in range(one.devices)]
    assert len(held) == len(set(held)) == 60
    assert all(one.first_device % one.devices == 0 for one in found.placements)
    assert [one.request for one in found.placements] == [0, 1, 2, 3, 4]
    assert found.warnings == []
    assert {rule.id for rule in found.rules} >= {
        "vipu-power-of-two",
        "vipu-no-spanning",
        "seed-backend-ai-isolated",
    }


def test_figures_of_the_pod_have_sources(catalog: Catalog) -> None:
    figures = {one.name: one for one in plan(catalog, teams(*J5)).figures}
    assert figures["machines"].quantity.value == 16
    assert figures["sram_nominal"].quantity.value == 900e6
    peak = figures["published_peak_fp16"]
    assert peak.quantity.value == pytest.approx(348.6e12)
    assert [(other.value, other.source.id) for other in peak.rejected] == [(350.0, "lablup-ipu-2022")]
    assert all(one.source.id and one.url.startswith("/catalog/") for one in figures.values())


def test_twelve_is_refused_and_eight_or_sixteen_offered(catalog: Catalog) -> None:
    error = refused(catalog, teams(*J5, 12))
    assert isinstance(error, Conflict)
    assert error.errors[0].field == "requests.5.devices"
    assert "8 and 16" in str(error.errors[0].message)
    assert error.errors[1].field == "count" and "2 × Bow Pod64" in str(error.errors[1].message)


def test_host_network_of_gc_docker(catalog: Catalog) -> None:
    strict = plan(catalog, teams(*J5), isolation="strict", orchestrator="gc-docker")
    assert codes(strict) == {"gc_docker_host_network": "serious"}
    assert "lablup-ipu-2022" in {
        rule.source.id for rule in strict.rules if rule.code == "gc_docker_host_network"
    }
    assert codes(plan(catalog, teams(*J5), orchestrator="gc-docker")) == {"gc_docker_host_network": "caution"}
    assert "hosts_shared" in codes(plan(catalog, teams(*J5), isolation="strict"))
    assert codes(plan(catalog, teams(*J5))) == {}


@pytest.mark.parametrize("spanning", [None, True])
def test_two_pods_in_one_session(catalog: Catalog, spanning: bool | None) -> None:
    found = plan(catalog, teams(128, spanning=spanning), count=2, orchestrator="backend.ai")
    assert [(one.pod, one.devices, one.part, one.parts) for one in found.placements] == [
        (0, 64, 1, 2),
        (1, 64, 2, 2),
    ]
    assert codes(found) == {"session_spans_pods": "info"}


def test_only_backend_ai_joins_pods(catalog: Catalog) -> None:
    for orchestrator in ("none", "gc-docker"):
        error = refused(catalog, teams(128), count=2, orchestrator=orchestrator)
        assert isinstance(error, Conflict)
        assert {one.field: one.message.values for one in error.errors}["orchestrator"]["pods"] == 2
        asked = refused(catalog, teams(128, spanning=True), count=2, orchestrator=orchestrator)
        assert isinstance(asked, BadInput) and asked.errors[0].field == "requests.0.spanning"
    stays = refused(catalog, teams(128, spanning=False), count=2, orchestrator="backend.ai")
    assert isinstance(stays, Conflict)


def test_more_than_there_is_names_both_numbers(catalog: Catalog) -> None:
    alone = refused(catalog, teams(128))
    assert isinstance(alone, Conflict) and "128" in str(alone) and "64" in str(alone)
    together = refused(catalog, teams(32, 32, 16))
    assert "80" in str(together) and "64" in str(together) and "2 × Bow Pod64" in str(together)


def test_who_would_have_to_move(catalog: Catalog) -> None:
    running = [
        {"team": "A", "devices": 8, "pod": 0, "first_device": 8},
        {"team": "B", "devices": 16, "pod": 0, "first_device": 32},
        {"team": "C", "devices": 32},
    ]
    error = refused(catalog, running)
    hints = {one.field: str(one.message) for one in error.errors}
    assert "moving A to pod 0" in hints["requests.0.first_device"]
    moved = [{**running[0], "first_device": 48}, *running[1:]]
    assert plan(catalog, moved).allocated == 56
    scattered = plan(catalog, running[:2])
    assert codes(scattered)["partition_power_of_two"] == "info"
    assert scattered.fragmentation == pytest.approx(1 - 16 / 40)
    assert codes(scattered)["fragmented"] == "caution"


def test_places_are_checked(catalog: Catalog) -> None:
    def at(**place: int) -> AppError:
        return refused(catalog, [{"team": "A", "devices": 8} | place])

    assert at(pod=0).errors[0].field == "requests.0.first_device"
    assert isinstance(at(pod=1, first_device=0), Conflict)
    assert at(pod=0, first_device=4).errors[0].field == "requests.0.first_device"
    assert isinstance(at(pod=0, first_device=60), Conflict)
    twice = [{"team": name, "devices": 8, "pod": 0, "first_device": 8} for name in "AB"]
    taken = refused(catalog, twice)
    assert taken.errors[0].field == "requests.1.first_device"
    assert taken.message.values == {"first": 8, "pod": 0}


def test_teams_in_one_machine_share_its_allocation(catalog: Catalog) -> None:
    small = teams(2, 2, 16)
    found = plan(catalog, small, isolation="strict")
    assert codes(found)["partition_machine_shared"] == "caution"
    assert "A + B" in next(one.message for one in found.warnings if one.code == "partition_machine_shared")
    assert codes(plan(catalog, small, isolation="strict", orchestrator="backend.ai")) == {
        "partition_power_of_two": "info"
    }


def test_a_partition_over_racks_is_told(catalog: Catalog) -> None:
    assert codes(plan(catalog, teams(128), system="bow-pod128")) == {"partition_over_gateways": "info"}


def test_gpus_of_a_node_need_no_power_of_two(catalog: Catalog) -> None:
    found = plan(catalog, teams(5, 3, 7), system="dgx-a100-640gb", count=2)
    assert (found.allocated, found.free, found.pods, found.devices_per_pod) == (15, 1, 2, 8)
    assert {one.team: one.pod for one in found.placements} == {"A": 1, "B": 1, "C": 0}


def test_kept_apart_a_job_takes_whole_nodes(catalog: Catalog) -> None:
    loose = plan(catalog, teams(12, 4), system="dgx-a100-640gb", count=2)
    assert loose.free == 0
    strict = plan(catalog, teams(12), system="dgx-a100-640gb", count=2, isolation="strict")
    assert strict.allocated == 16 and codes(strict) == {"whole_nodes": "info"}
    error = refused(catalog, teams(12, 4), system="dgx-a100-640gb", count=2, isolation="strict")
    assert {one.field: one.message.values.get("needed") for one in error.errors}["count"] == 3
    assert codes(plan(catalog, teams(4, 4), system="dgx-a100-640gb", isolation="strict")) == {
        "node_shared": "caution"
    }


def test_the_way_out_of_full_nodes_holds(catalog: Catalog) -> None:
    error = refused(catalog, teams(5, 5, 5), system="dgx-a100-640gb", count=2)
    values = error.errors[0].message.values
    assert (values["asked"], values["free"], values["largest"]) == (5, 6, 3)
    assert plan(catalog, teams(5, 5, 5), system="dgx-a100-640gb", count=3).allocated == 15


def test_instances_of_gpus(catalog: Catalog) -> None:
    asked = [
        {"team": "A", "devices": 3, "slice": "3g.40gb"},
        {"team": "B", "devices": 2, "slice": "1g.10gb"},
        {"team": "C", "devices": 4},
    ]
    found = plan(catalog, asked, system="dgx-a100-640gb")
    assert (found.allocated, found.free) == (6, 2)
    cut = [one for one in found.placements if one.slice]
    slices = [
        (one.pod, one.first_device, one.first_slice + at) for one in cut for at in range(one.memory_slices)
    ]
    assert len(slices) == len(set(slices)) == 14
    assert codes(found) == {"mig_no_nvlink": "caution"}
    assert {room.slice: room.more for room in found.slice_room} == {"1g.10gb": 2, "1g.20gb": 1, "2g.20gb": 1}


@pytest.mark.parametrize(
    ("asked", "more", "kind", "field"),
    [
        ({"slice": "3g.20gb"}, {"system": "dgx-a100-640gb"}, NotFound, "requests.0.slice"),
        ({"slice": "1g.5gb"}, {"system": "dgx1-v100"}, BadInput, "requests.0.slice"),
        ({"slice": "1g.5gb"}, {}, BadInput, "requests.0.slice"),
        ({"devices": 9, "slice": "7g.80gb"}, {"system": "dgx-a100-640gb"}, Conflict, "requests.0.devices"),
        ({"devices": 501, "slice": "1g.10gb"}, {"system": "dgx-a100-640gb"}, BadInput, "requests.0.devices"),
        ({"devices": 9}, {"system": "dgx-a100-640gb"}, Conflict, "requests.0.devices"),
        (
            {"devices": 9, "spanning": False},
            {"system": "dgx-a100-640gb", "count": 2},
            Conflict,
            "requests.0.spanning",
        ),
        ({}, {"system": "dgx-a100-640gb", "orchestrator": "gc-docker"}, BadInput, "orchestrator"),
        ({}, {"system": "bow-pod"}, NotFound, "system"),
        ({}, {"system": "bow-pod1024", "count": 65}, BadInput, "count"),
    ],
)
def test_refusals_stand_at_their_field(
    catalog: Catalog, asked: dict[str, Any], more: dict[str, Any], kind: type[AppError], field: str
) -> None:
    error = refused(catalog, [{"team": "A", "devices": 4} | asked], **more)
    assert isinstance(error, kind)
    assert error.errors[0].field == field
