"""ONNX graphs for the tests, with weights that are declared but not there."""

import onnx
from onnx import TensorProto, helper


class Builder:
    """Adds nodes one after the other; every weight is external."""

    def __init__(self, *inputs: onnx.ValueInfoProto) -> None:
        self.inputs = list(inputs)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *dims: int) -> str:
        tensor = TensorProto(name=f"w{len(self.weights)}", data_type=TensorProto.FLOAT, dims=dims)
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "/no/such/file"
        self.weights.append(tensor)
        return tensor.name

    def shape(self, *dims: int) -> str:
        tensor = helper.make_tensor(f"w{len(self.weights)}", TensorProto.INT64, [len(dims)], dims)
        self.weights.append(tensor)
        return tensor.name

    def node(self, kind: str, *inputs: str, **attributes: object) -> str:
        output = f"t{len(self.nodes)}"
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=name, **attributes))
        return output

    def bytes(self, output: str) -> bytes:
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", self.inputs, [result], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def image(batch: object = "batch", size: int = 224) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, size, size])


def resnet50(batch: object = "batch") -> bytes:
    """ResNet-50 v1.5 as PyTorch exports it for training: convolution, norm, activation apart."""
    b = Builder(image(batch))

    def convolution(x: str, ci: int, co: int, k: int, stride: int, relu: bool = True) -> str:
        weight = b.weight(co, ci, k, k)
        x = b.node("Conv", x, weight, strides=[stride] * 2, pads=[k // 2] * 4, kernel_shape=[k, k])
        x = b.node("BatchNormalization", x, *(b.weight(co) for _ in range(4)))
        return b.node("Relu", x) if relu else x

    x = convolution("x", 3, 64, 7, 2)
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, repeats in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for index in range(repeats):
            stride = 2 if stage and not index else 1
            y = convolution(x, channels, width, 1, 1)
            y = convolution(y, width, width, 3, stride)
            y = convolution(y, width, 4 * width, 1, 1, relu=False)
            if not index:
                x = convolution(x, channels, 4 * width, 1, stride, relu=False)
            x = b.node("Relu", b.node("Add", y, x))
            channels = 4 * width
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.bytes(b.node("Gemm", x, b.weight(1000, 2048), b.weight(1000), transB=1))


def encoder(
    layers: int = 2, hidden: int = 64, heads: int = 4, length: int = 16, vocabulary: int = 100
) -> bytes:
    """An encoder as exporters write it: norm and activation taken apart, attention as products."""
    b = Builder(helper.make_tensor_value_info("x", TensorProto.INT64, ["batch", length]))
    width = hidden // heads

    def norm(x: str) -> str:
        mean = b.node("ReduceMean", x, axes=[-1])
        centred = b.node("Sub", x, mean)
        variance = b.node("ReduceMean", b.node("Mul", centred, centred), axes=[-1])
        x = b.node("Div", centred, b.node("Sqrt", variance))
        return b.node("Add", b.node("Mul", x, b.weight(hidden)), b.weight(hidden))

    def dense(x: str, inputs: int, outputs: int) -> str:
        return b.node("Add", b.node("MatMul", x, b.weight(inputs, outputs)), b.weight(outputs))

    def split(x: str) -> str:
        return b.node("Transpose", b.node("Reshape", x, b.shape(-1, length, heads, width)), perm=[0, 2, 1, 3])

    x = b.node("Gather", b.weight(vocabulary, hidden), "x")
    for _ in range(layers):
        y = norm(x)
        query, key, value = (split(dense(y, hidden, hidden)) for _ in range(3))
        scores = b.node("MatMul", query, b.node("Transpose", key, perm=[0, 1, 3, 2]))
        weights = b.node("Softmax", b.node("Div", scores, b.weight()), axis=-1)
        y = b.node("Transpose", b.node("MatMul", weights, value), perm=[0, 2, 1, 3])
        x = b.node("Add", x, dense(b.node("Reshape", y, b.shape(-1, length, hidden)), hidden, hidden))
        y = dense(norm(x), hidden, 4 * hidden)
        y = b.node("Mul", y, b.node("Erf", y))
        x = b.node("Add", x, dense(y, 4 * hidden, hidden))
    return b.bytes(b.node("MatMul", norm(x), b.weight(hidden, vocabulary)))
