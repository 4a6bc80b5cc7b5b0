"""ONNX graphs, built here with weights that are declared but not there."""

import time

import onnx
import pytest
from onnx import TensorProto, helper

from app.engine.operators.table import Kind, Operator, Section
from app.errors import TooLarge, Unprocessable
from app.profiles import bodies, onnx_graph
from app.profiles.bodies import OperatorBody
from app.profiles.model import ModelProfile
from app.profiles.onnx_graph import read_onnx
from app.profiles.presets import preset
from tests.support.graphs import Builder, encoder, image, resnet50


@pytest.mark.parametrize("batch", ["batch", 1, 8])
def test_resnet50_is_counted_as_published(batch: object) -> None:
    profile = read_onnx("resnet50.onnx", resnet50(batch))
    assert profile.parameters == 25_557_032
    assert profile.forward_flop_per_sample / 2 == pytest.approx(4.1e9, rel=0.02)
    assert profile.operators().depth == 1
    assert ModelProfile.from_json(profile.to_json()) == profile


def test_resnet50_has_the_operators_of_the_preset() -> None:
    read, written = read_onnx("r", resnet50()), preset("resnet50")
    for kind in ("convolution", "batch_norm", "relu", "add", "matmul", "max_pool", "average_pool"):
        for column in ("count", "elements", "forward_flop", "parameters"):
            sums = [
                sum(float(str(row[column])) for row in profile.summary() if row["kind"] == kind)
                for profile in (read, written)
            ]
            assert sums[0] == pytest.approx(sums[1], rel=1e-6), (kind, column)


def test_an_encoder_taken_apart_is_put_together() -> None:
    layers, hidden, length, vocabulary = 3, 64, 16, 100
    profile = read_onnx("encoder.onnx", encoder(layers, hidden, 4, length, vocabulary))
    kinds = {str(row["kind"]): float(str(row["count"])) for row in profile.summary()}
    assert kinds["attention"] == layers
    assert kinds["layer_norm"] == 2 * layers + 1
    assert kinds["gelu"] == layers
    assert profile.operators().depth == layers
    products = layers * 12 * hidden**2
    assert profile.parameters == (products + layers * 13 * hidden + 2 * hidden + 2 * vocabulary * hidden)
    assert profile.forward_flop_per_sample == 2 * length * (
        products + layers * 2 * length * hidden + vocabulary * hidden
    )


def test_recurrent_and_grouped_layers() -> None:
    b = Builder(helper.make_tensor_value_info("x", TensorProto.FLOAT, [50, 1, 128]))
    weights = b.weight(2, 4 * 64, 128), b.weight(2, 4 * 64, 64), b.weight(2, 8 * 64)
    x = b.node("LSTM", "x", *weights, hidden_size=64, direction="bidirectional")
    profile = read_onnx("lstm.onnx", b.bytes(x))
    assert profile.parameters == 2 * (4 * 64 * (128 + 64) + 8 * 64)

    b = Builder(image("n", 8))
    x = b.node("Conv", "x", b.weight(32, 3, 3, 3), pads=[1] * 4)
    x = b.node("Conv", x, b.weight(32, 1, 3, 3), pads=[1] * 4, group=32)
    x = b.node("ConvTranspose", x, b.weight(32, 16, 2, 2), strides=[2, 2])
    profile = read_onnx("conv.onnx", b.bytes(x))
    assert [row["kind"] for row in profile.summary()] == ["convolution", "depthwise", "convolution"]
    assert profile.forward_flop_per_sample == 2 * 64 * (32 * 27 + 32 * 9 + 32 * 16 * 4)


def test_open_sizes_are_assumed_in_words() -> None:
    b = Builder(helper.make_tensor_value_info("x", TensorProto.INT64, ["batch", "sequence"]))
    profile = read_onnx("m.onnx", b.bytes(b.node("Gather", b.weight(100, 8), "x")))
    assert "512" in str(profile.assumptions[0])
    assert "sequence" in str(profile.assumptions[0])


def test_no_file_is_opened_for_external_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(onnx.external_data_helper, "load_external_data_for_tensor", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    assert read_onnx("r", resnet50()).parameters == 25_557_032


@pytest.mark.parametrize(
    ("kind", "attributes", "said"),
    [
        ("QLinearConv", {}, "QLinearConv_0"),
        ("MatMul", {}, "MatMul_0"),
        ("Conv", {"group": 0}, "Conv_0"),
        ("FusedThing", {"domain": "com.example"}, "com.example.FusedThing"),
    ],
)
def test_the_node_that_cannot_be_counted_is_named(
    kind: str, attributes: dict[str, object], said: str
) -> None:
    b = Builder(image(1, 8))
    b.node(kind, "x", *([b.weight(4, 3, 3, 3)] if kind == "Conv" else []), **attributes)
    with pytest.raises(Unprocessable, match=said):
        read_onnx("m.onnx", b.bytes("t0"))


def test_control_flow_is_refused() -> None:
    b = Builder(image(1, 8))
    inner = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "inner", [], [])
    b.nodes.append(helper.make_node("If", ["x"], ["y"], name="choose", then_branch=inner, else_branch=inner))
    with pytest.raises(Unprocessable, match="choose"):
        read_onnx("m.onnx", b.bytes("y"))


@pytest.mark.parametrize("dims", [(2**62,), (10**9, 10**9), (-4, 4)])
def test_impossible_sizes_are_refused(dims: tuple[int, ...]) -> None:
    b = Builder(image(1, 8))
    x = b.node("Mul", "x", b.weight(*dims))
    with pytest.raises(Unprocessable, match="invalid size"):
        read_onnx("m.onnx", b.bytes(x))


def test_limits_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    data = resnet50()
    monkeypatch.setattr(onnx_graph, "MOST_NODES", 10)
    with pytest.raises(Unprocessable, match="limit is 10"):
        read_onnx("m.onnx", data)
    monkeypatch.setattr(onnx_graph, "MOST_ONNX_BYTES", 100)
    with pytest.raises(TooLarge):
        read_onnx("m.onnx", data)


def test_a_profile_is_kept_as_it_was_read() -> None:
    profile = read_onnx("encoder.onnx", encoder())
    assert any(operator.section is Section.EMBEDDING for operator in profile.body.operators)  # type: ignore[union-attr]
    assert ModelProfile.from_json(profile.to_json()) == profile


def test_tables_of_large_bodies_are_kept_for_few_models_only() -> None:
    def body(count: int) -> OperatorBody:
        one = Operator(name="m", kind=Kind.MATMUL, rows=1.0, inner=1.0, columns=1.0)
        return OperatorBody((one,) * count)

    bodies._table.cache_clear()
    bodies._large_table.cache_clear()
    for count in (2, bodies.LARGE + 1, bodies.LARGE + 1):
        bodies.operator_table(body(count), None, None, 0.0)
    assert bodies._table.cache_info().currsize == 1
    assert bodies._large_table.cache_info()[:2] == (1, 1)


@pytest.mark.parametrize("length", [1, 2, 15_000])
def test_a_graph_that_runs_in_a_circle_is_refused_by_its_names(length: int) -> None:
    nodes = [
        helper.make_node("Relu", [f"t{(index or length) - 1}"], [f"t{index}"], name=f"node {index}")
        for index in range(length)
    ]
    sizes = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "t0"))
    graph = helper.make_graph(nodes, "circle", [next(sizes)], [next(sizes)])
    began = time.monotonic()
    with pytest.raises(Unprocessable, match=r"circle, .*node 0.* → ") as caught:
        read_onnx("circle.onnx", helper.make_model(graph).SerializeToString())
    assert time.monotonic() - began < onnx_graph.SECONDS
    assert len(str(caught.value.message)) < 300


def test_open_sizes_are_those_that_are_asked() -> None:
    def flop(seq_len: int | None) -> float:
        b = Builder(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", 8]))
        return read_onnx("m", b.bytes(b.node("MatMul", "x", b.weight(8, 4))), seq_len).forward_flop_per_sample

    assert [flop(None), flop(64)] == [2 * 512 * 32, 2 * 64 * 32]


def test_a_graph_without_weights_is_questioned() -> None:
    b = Builder(
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, [8, 4]),
    )
    profile = read_onnx("bare.onnx", b.bytes(b.node("MatMul", "x", "w")))
    assert profile.parameters == 0
    assert profile.doubts
