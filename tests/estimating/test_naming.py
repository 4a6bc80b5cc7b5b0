"""Names as people write them: which identifiers they mean, and what requests keep of them."""

import csv

import pytest

from app.errors import NotFound
from app.estimating.context import SizingContext
from app.estimating.hardware import known_id
from app.estimating.naming import finder
from app.estimating.request import EstimateRequest
from app.features.sizings.model import SizingRequest
from app.profiles.presets import preset
from tests.conftest import DATA

KINDS = ("model preset", "system", "fabric", "software profile")


@pytest.mark.parametrize("kind", KINDS)
def test_an_identifier_means_itself(kind: str) -> None:
    for name in finder(kind).texts:
        assert finder(kind).find(name) == [name]


@pytest.mark.parametrize(
    ("kind", "text", "name"),
    [
        ("model preset", "Llama 2 7B", "llama2-7b"),
        ("model preset", "llama-2-7b", "llama2-7b"),
        ("model preset", "라마 3 8B", "llama3-8b"),
        ("model preset", "GPT-3", "gpt3-175b"),
        ("model preset", "GPT-3 6.7B", "gpt3-6.7b"),
        ("model preset", "BERT large", "bert-large"),
        ("model preset", "bert_large_uncased", "bert-large"),
        ("model preset", "BERT base", "bert-base"),
        ("model preset", "meta-llama/Llama-2-7b-hf", "llama2-7b"),
        ("model preset", "meta-llama/Llama-2-7b-chat-hf", "llama2-7b"),
        ("model preset", "딥시크 V3", "deepseek-v3"),
        ("model preset", "llama 3.1 8b", "llama3.1-8b"),
        ("model preset", "meta-llama/Llama-3.1-8B", "llama3.1-8b"),
        ("model preset", "meta-llama/Llama-3.1-8B-Instruct", "llama3.1-8b"),
        ("model preset", "라마 3.3", "llama3.3-70b"),
        ("model preset", "Llama 3.1 405B", "llama3-405b"),
        ("model preset", "Gemma 3 27B", "gemma3-27b"),
        ("model preset", "엑사원 4.0 32B", "exaone4.0-32b"),
        ("model preset", "Solar Pro", "solar-pro-22b"),
        ("model preset", "카나나 나노", "kanana-nano-2.1b"),
        ("model preset", "Mistral Small", "mistral-small-3-24b"),
        ("model preset", "mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral-8x22b"),
        ("model preset", "gpt-oss 20B", "gpt-oss-20b"),
        ("model preset", "Phi-4", "phi-4"),
        ("system", "DGX H100", "dgx-h100"),
        ("system", "엔비디아 DGX H100 서버", "dgx-h100"),
        ("system", "DGX-A100-640GB", "dgx-a100-640gb"),
        ("system", "DGX A100 640 GB", "dgx-a100-640gb"),
        ("system", "MI300X", "mi300x-8"),
        ("system", "MI300X 8장", "mi300x-8"),
        ("system", "AWS p5.48xlarge", "aws-p5"),
        ("system", "IPU-POD 64", "ipu-pod64"),
        ("system", "8x DGX H100", "dgx-h100"),
        ("fabric", "HDR InfiniBand", "hdr-infiniband"),
        ("fabric", "NDR 인피니밴드", "ndr-infiniband"),
        ("software profile", "megatron 2022", "megatron-2022"),
    ],
)
def test_a_name_means_one_identifier(kind: str, text: str, name: str) -> None:
    assert finder(kind).find(text) == [name]


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [
        ("system", "A100 80GB", {"a100-sxm-80gb", "a100-pcie-80gb", "lambda-8xa100-80gb"}),
        ("system", "엔비디아 H100", {"dgx-h100", "h100-sxm-80gb", "h100-pcie-80gb-8"}),
        ("system", "H100 8장", {"dgx-h100", "h100-sxm-80gb", "h100-pcie-80gb-8"}),
        ("model preset", "BERT", {"bert-base", "bert-large"}),
        ("model preset", "ViT", {"vit-base", "vit-large", "vit-huge"}),
        ("model preset", "GPT-2", {"gpt2-124m", "gpt2-355m", "gpt2-774m", "gpt2-1.5b"}),
    ],
)
def test_all_that_a_name_can_mean_is_listed_and_none_is_taken(kind: str, text: str, names: set[str]) -> None:
    assert names <= set(finder(kind).find(text))
    assert finder(kind).resolve(text) == text


@pytest.mark.parametrize("text", ["", "8", "405B", "nobody/nothing-7b", "carrier-pigeon", "💾"])
def test_what_means_nothing_is_kept_as_it_is(text: str) -> None:
    assert [finder(kind).find(text) for kind in KINDS] == [[]] * len(KINDS)
    assert finder("system").resolve(text) == text


def test_a_request_keeps_identifiers() -> None:
    written = EstimateRequest.model_validate(
        {
            "model": {"preset": "라마 2 7B"},
            "system": {"id": "DGX H100", "fabric": "NDR InfiniBand"},
            "software": "Megatron 2022",
        }
    )
    assert (written.model.preset, written.system.id) == ("llama2-7b", "dgx-h100")
    assert (written.system.fabric, written.software) == ("ndr-infiniband", "megatron-2022")
    sizing = SizingRequest.model_validate({"model": {"preset": "GPT-3"}, "systems": ["DGX H100", "mi300x"]})
    assert sizing.systems == ["dgx-h100", "mi300x-8"]


def test_what_can_mean_several_is_refused_with_all_of_them(context: SizingContext) -> None:
    with pytest.raises(NotFound) as system:
        known_id(context.catalog, "system", "A100 80GB", "system.id")
    assert [error.field for error in system.value.errors] == ["system.id"]
    assert "a100-sxm-80gb, a100-pcie-80gb" in str(system.value)
    with pytest.raises(NotFound) as model:
        preset("GPT-2")
    assert "gpt2-124m, gpt2-355m" in str(model.value)


def test_aliases_are_of_identifiers_that_exist() -> None:
    with (DATA / "aliases.csv").open(encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if row["kind"] != "word"]
    assert {row["kind"] for row in rows} <= set(KINDS)
    assert [row for row in rows if row["id"] not in finder(row["kind"]).texts] == []
