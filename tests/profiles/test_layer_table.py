"""Layer tables and printed summaries."""

import math
from typing import Any

import pytest

from app.errors import BadInput, Unprocessable
from app.profiles.layer_table import layers_profile
from app.profiles.model import ModelProfile
from app.profiles.readers.models import read_profile
from tests.profiles.conftest import FVCORE, TABLE, TORCHINFO


def test_a_table_in_csv() -> None:
    profile = read_profile("table.csv", TABLE.encode())
    rows = profile.summary()
    assert [row["kind"] for row in rows] == [
        "convolution", "batch_norm", "relu", "depthwise", "matmul", "layer_norm",
    ]  # fmt: skip
    assert rows[0]["forward_flop"] == 2 * 112 * 112 * 64 * 147
    assert rows[3]["count"] == 2
    assert rows[3]["forward_flop"] == 2 * 2 * 112 * 112 * 64 * 9
    assert rows[4]["parameters"] == 2_049_000
    assert profile.origin == "layers"
    assert ModelProfile.from_json(profile.to_json()) == profile


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(separator: str) -> None:
    assert (
        read_profile("t", TABLE.replace(",", separator).encode()).parameters
        == read_profile("t", TABLE.encode()).parameters
    )


def test_a_table_as_the_request_gives_it() -> None:
    profile = layers_profile(
        [
            {"name": "words", "kind": "embedding", "entries": 1e6, "columns": 128, "rows": 4},
            {"kind": "attention", "count": 12, "rows": 128, "heads": 12, "inner": 64},
            {"kind": "rnn", "cell": "lstm", "inner": 1024, "hidden": 1024, "steps": 50},
            {"kind": "elementwise", "op": "residual", "elements": 1000},
            {"kind": "gemm", "rows": 128, "inner": 768, "columns": 768, "bias": False},
        ]
    )
    assert profile.parameters == 128e6 + 8_396_800 + 768 * 768
    assert profile.operators().forward_flop[1] == 12 * 4 * 12 * 64 * 128 * 128


@pytest.mark.parametrize(
    ("layer", "error", "field"),
    [
        (7, Unprocessable, "model.layers[0]"),
        ({}, Unprocessable, "model.layers[0].kind"),
        ({"kind": "magic"}, Unprocessable, "model.layers[0].kind"),
        ({"kind": ["gemm"]}, Unprocessable, "model.layers[0].kind"),
        ({"kind": "gemm", "inner": 4}, Unprocessable, "model.layers[0].columns"),
        ({"kind": "gemm", "inner": 4, "columns": 4, "colour": 1}, Unprocessable, "model.layers[0].colour"),
        ({"kind": "gemm", "inner": 4, "columns": 4, "count": math.nan}, BadInput, "model.layers[0].count"),
        ({"kind": "gemm", "inner": 4, "columns": 4, "rows": -1}, BadInput, "model.layers[0].rows"),
        ({"kind": "gemm", "inner": 10**9, "columns": 10**9, "rows": 1e12}, BadInput, "model.layers[0]"),
        ({"kind": "conv", "channels_in": 3, "channels_out": 8, "height": 8, "groups": 2}, BadInput,
         "model.layers[0].channels_in"),
        ({"kind": "norm", "elements": 3, "op": []}, Unprocessable, "model.layers[0].op"),
    ],
)  # fmt: skip
def test_the_wrong_field_is_named(layer: Any, error: type[BadInput], field: str) -> None:
    with pytest.raises(error) as caught:
        layers_profile([layer])
    assert type(caught.value) is error
    assert caught.value.errors[0].field == field


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind,inner,columns\ngemm,3,4\ngemm,x,4\n", "line 3"),
        ("kind,inner,columns\ngemm,3,4,5\n", "line 2"),
        ('kind,inner,columns\n"gemm,3,4\n', "line 2"),
        ("kind\n", "no rows"),
        ("name,inner\na,3\n", "line 1"),
        ("just some words", "line 1"),
        ("kind,inner,columns\ngemm,nan,4\n", "line 2"),
    ],
)
def test_the_wrong_line_is_named(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_profile("t.csv", text.encode())


def test_a_summary_by_torchinfo() -> None:
    profile = read_profile("summary.txt", TORCHINFO.encode())
    assert profile.parameters == 2_058_536
    assert profile.forward_flop_per_sample == 2 * (112 * 112 * 9408 + 2048 * 1000)
    assert [row["kind"] for row in profile.summary()] == [
        "convolution", "batch_norm", "relu", "max_pool", "matmul",
    ]  # fmt: skip


def test_a_summary_by_fvcore() -> None:
    profile = read_profile("flops.txt", FVCORE.encode())
    assert profile.parameters == pytest.approx(2.0585e6, rel=1e-3)
    assert profile.forward_flop_per_sample == pytest.approx(2 * 0.120e9, rel=0.01)


def test_a_cut_off_fvcore_table_says_how_to_print_it() -> None:
    text = "\n".join(line for line in FVCORE.splitlines() if "conv1.weight" not in line)
    with pytest.raises(Unprocessable, match=r"line 4.*max_depth=10"):
        read_profile("flops.txt", text.encode())
