"""IPU arithmetic of the field engineer's journey."""

import pytest

from app.errors import AppError, BadInput, Conflict, NotFound
from app.estimating.context import SizingContext, load_context
from app.features.plans.mapping import map_model
from app.features.plans.model import MappingRequest, ModelMapping
from app.profiles.presets import data_directory

GPT3 = {
    "system": "ipu-pod256",
    "parameters": 175e9,
    "layers": 96,
    "tensor": 8,
    "pipeline": 8,
    "replicas": 4,
    "replica_batch": 6,
}


@pytest.fixture(scope="module")
def context() -> SizingContext:
    return load_context(data_directory())


def mapped(context: SizingContext, **values: object) -> ModelMapping:
    request = MappingRequest.model_validate(GPT3 | values)
    return map_model(request, context.catalog, context.software.profile("ipu-base").ipu())


def test_gpt3_on_a_pod256(context: SizingContext) -> None:
    found = mapped(context)
    assert (found.devices, found.devices_per_replica, found.global_batch) == (256, 64, 24)
    assert found.weight_fraction == 1 / 64
    assert found.resident_weight_fraction == 1 / 64
    assert found.layers_per_stage == 12
    assert found.weights_per_device == pytest.approx(5.47e9, rel=1e-3)
    assert found.needs_phased_execution
    assert found.minimum_phases == 7
    assert found.planned_phases is not None and found.planned_phases > 7


def test_sharding_lowers_what_is_resident_but_not_the_phases_of_the_weights(context: SizingContext) -> None:
    found = mapped(context, replicated_tensor_sharding=4)
    assert found.resident_weight_fraction == 1 / 256
    assert found.weights_per_device == pytest.approx(5.47e9, rel=1e-3)
    assert found.minimum_phases == 7


@pytest.mark.parametrize(("pipeline", "replicas", "layers"), [(4, 4, 6), (8, 2, 3)])
def test_bert_large_on_a_pod16(context: SizingContext, pipeline: int, replicas: int, layers: int) -> None:
    found = mapped(
        context,
        system="ipu-pod16",
        parameters=336e6,
        layers=24,
        tensor=1,
        pipeline=pipeline,
        replicas=replicas,
    )
    assert (found.devices, found.layers_per_stage, found.minimum_phases) == (16, layers, 1)
    assert not found.needs_phased_execution


def test_more_ipus_than_the_pod_has_are_refused_with_both_numbers(context: SizingContext) -> None:
    with pytest.raises(Conflict, match=r"320.*256"):
        mapped(context, replicas=5)


@pytest.mark.parametrize(
    ("values", "kind", "field"),
    [
        ({"system": "ipu-pod255"}, NotFound, "system"),
        ({"system": "dgx-a100-640gb"}, BadInput, "system"),
        ({"layers": 7}, BadInput, "pipeline"),
        ({"replicated_tensor_sharding": 3}, BadInput, "replicated_tensor_sharding"),
    ],
)
def test_impossible_mappings_are_refused_by_field(
    context: SizingContext, values: dict[str, object], kind: type[AppError], field: str
) -> None:
    with pytest.raises(kind) as caught:
        mapped(context, **values)
    assert [error.field for error in caught.value.errors] == [field]


def test_uneven_stages_are_named(context: SizingContext) -> None:
    found = mapped(context, layers=100)
    assert found.layers_per_stage == 12.5
    assert "stages_uneven" in {warning.code for warning in found.warnings}
