#!/usr/bin/env python3
"""Writes crates/spadework-model/tests/fixtures/onnx: small models, and what onnxruntime makes of them.

Needs numpy, onnx and onnxruntime. Every model NAME.onnx that can be run comes with NAME.npz, which holds its inputs `x` and,
under their own names, its outputs and the inner values that tests look at. The others are files that must be refused.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "crates/spadework-model/tests/fixtures/onnx"
RANDOM = np.random.default_rng(5)
FLOAT = TensorProto.FLOAT


def tensor(name, shape, scale=0.5, dtype=np.float32):
    return numpy_helper.from_array((RANDOM.standard_normal(shape) * scale).astype(dtype), name)


def info(name, shape, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, inputs, outputs, weights, opset=17, domains=()):
    graph = helper.make_graph(nodes, "fixture", inputs, outputs, weights)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, producer_name="make_onnx_fixtures", opset_imports=imports, ir_version=8)


def write(name, made):
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.onnx").write_bytes(made.SerializeToString())


def save(name, made, rows, inner=(), batch=None, fed=None):
    """Writes a model and its values by onnxruntime; `batch` rows at a time where the model takes no other number."""
    onnx.checker.check_model(made)
    write(name, made)
    tapped = onnx.ModelProto()
    tapped.CopyFrom(made)
    tapped.graph.output.extend(onnx.ValueInfoProto(name=value) for value in inner)
    session = onnxruntime.InferenceSession(tapped.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    fed = rows if fed is None else fed
    step = batch or len(fed)
    feeds = {"x": fed, **({"offset": np.zeros_like(fed)} if "offset" in {i.name for i in session.get_inputs()} else {})}
    parts = []
    for start in range(0, len(fed), step):
        part = {key: value[start : start + step] for key, value in feeds.items()}
        short = step - len(part["x"])
        part = {key: np.concatenate([value, np.repeat(value[-1:], short, 0)]) for key, value in part.items()}
        parts.append([value[: step - short] for value in session.run(names, part)])
    values = {name: np.concatenate([part[at] for part in parts]) for at, name in enumerate(names)}
    np.savez(FOLDER / f"{name}.npz", x=rows, **values)


def linear():
    """A product and a sum in double precision."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"], "product"), helper.make_node("Add", ["z", "b"], ["logits"], "sum")]
    weights = [tensor("w", (4, 3), dtype=np.float64), tensor("b", 3, dtype=np.float64)]
    return model(nodes, [info("x", ["n", 4], TensorProto.DOUBLE)], [info("logits", ["n", 3], TensorProto.DOUBLE)], weights)


def mlp(last=(), outputs=("logits",)):
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["z1"], "fc1", transB=1),
        helper.make_node("Relu", ["z1"], ["a1"], "relu1"),
        helper.make_node("Gemm", ["a1", "w2", "b2"], ["z2"], "fc2", transB=1),
        helper.make_node("Tanh", ["z2"], ["a2"], "tanh2"),
        helper.make_node("Gemm", ["a2", "w3", "b3"], ["logits"], "fc3", transB=1),
        *last,
    ]
    weights = [
        tensor("w1", (8, 4)), tensor("b1", 8), tensor("w2", (6, 8)), tensor("b2", 6), tensor("w3", (3, 6)), tensor("b3", 3),
    ]
    return model(nodes, [info("x", ["n", 4])], [info(name, ["n", 3]) for name in outputs], weights)


def convolution(batch, layout="nchw"):
    """A convolution, a maximum, a full connection; the batch may be fixed, the image in either order."""
    first = [helper.make_node("Transpose", ["x"], ["image"], "to_nchw", perm=[0, 3, 1, 2])] if layout == "nhwc" else []
    image = "image" if layout == "nhwc" else "x"
    nodes = [
        *first,
        helper.make_node("Conv", [image, "k", "c"], ["z1"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["z1"], ["a1"], "relu"),
        helper.make_node("MaxPool", ["a1"], ["p1"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p1"], ["f1"], "flatten"),
        helper.make_node("Gemm", ["f1", "w", "b"], ["logits"], "fc", transB=1),
    ]
    weights = [tensor("k", (5, 3, 3, 3)), tensor("c", 5), tensor("w", (4, 5 * 3 * 2)), tensor("b", 4)]
    shape = [batch, 3, 6, 4] if layout == "nchw" else [batch, 6, 4, 3]
    return model(nodes, [info("x", shape)], [info("logits", [batch, 4])], weights)


def residual():
    """Two blocks with batch normalization around a shortcut, as in a ResNet; shapes are computed as PyTorch exports them."""
    nodes, weights = [], []

    def add(operator, inputs, output, **attributes):
        nodes.append(helper.make_node(operator, inputs, [output], output + "_node", **attributes))
        return output

    def block(source, name, channels_in, channels, stride):
        def normalized(value, at, kernel, width, pads, step):
            key = f"{name}_{at}"
            weights.append(tensor(f"{key}_k", (channels, width, kernel, kernel), 0.3))
            add("Conv", [value, f"{key}_k"], f"{key}_conv", kernel_shape=[kernel] * 2, pads=[pads] * 4, strides=[step] * 2)
            weights.extend([tensor(f"{key}_{part}", channels) for part in ("scale", "shift", "mean")])
            variance = (1 + RANDOM.random(channels)).astype(np.float32)
            weights.append(numpy_helper.from_array(variance, f"{key}_var"))
            parts = [f"{key}_{part}" for part in ("scale", "shift", "mean", "var")]
            return add("BatchNormalization", [f"{key}_conv", *parts], f"{key}_norm")

        inner = add("Relu", [normalized(source, 1, 3, channels_in, 1, stride)], f"{name}_relu1")
        inner = normalized(inner, 2, 3, channels, 1, 1)
        shortcut = source if stride == 1 else normalized(source, 3, 1, channels_in, 0, stride)
        return add("Relu", [add("Add", [inner, shortcut], f"{name}_sum")], f"{name}_out")

    top = block("x", "block1", 3, 3, 1)
    top = block(top, "block2", 3, 6, 2)
    add("GlobalAveragePool", [top], "mean")
    add("Shape", ["mean"], "sizes")
    weights.append(numpy_helper.from_array(np.array([0], np.int64), "zero"))
    weights.append(numpy_helper.from_array(np.array([-1], np.int64), "rest"))
    add("Gather", ["sizes", "zero"], "rows")
    add("Concat", ["rows", "rest"], "flat", axis=0)
    add("Reshape", ["mean", "flat"], "features")
    weights.extend([tensor("w", (6, 4)), tensor("b", 4)])
    add("MatMul", ["features", "w"], "product")
    add("Add", ["product", "b"], "logits")
    return model(nodes, [info("x", ["batch", 3, 8, 8])], [info("logits", ["batch", 4])], weights)


def two_sided():
    """Two outputs, and two inputs of which the first output needs one."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1"], ["features"], "fc1", transB=1),
        helper.make_node("Gemm", ["features", "w2"], ["logits"], "fc2", transB=1),
        helper.make_node("Add", ["features", "offset_part"], ["moved"], "move"),
        helper.make_node("Gemm", ["offset", "w1"], ["offset_part"], "fc3", transB=1),
    ]
    nodes = [nodes[0], nodes[1], nodes[3], nodes[2]]
    weights = [tensor("w1", (5, 4)), tensor("w2", (3, 5))]
    outputs = [info("logits", ["n", 3]), info("features", ["n", 5]), info("moved", ["n", 5])]
    return model(nodes, [info("x", ["n", 4]), info("offset", ["n", 4])], outputs, weights)


def runnable():
    rows = RANDOM.standard_normal((20, 4)).astype(np.float32)
    images = RANDOM.random((12, 3, 6, 4)).astype(np.float32)
    save("mlp", mlp(), rows, inner=["z1", "a1", "z2", "a2"])
    save("two_sided", two_sided(), rows)
    softmax = [helper.make_node("Softmax", ["logits"], ["p"], "softmax", axis=1), helper.make_node("Identity", ["p"], ["prob"], "out")]
    save("softmax", mlp(softmax, ["prob"]), rows, inner=["logits"])
    save("double", linear(), rows.astype(np.float64))
    save("dynamic", convolution("n"), images)
    save("fixed_1", convolution(1), images, batch=1)
    save("fixed_5", convolution(5), images, batch=5)
    save("nhwc", convolution("n", "nhwc"), images, fed=images.transpose(0, 2, 3, 1))
    save("residual", residual(), RANDOM.random((9, 3, 8, 8)).astype(np.float32), inner=["block1_out", "block2_out"])
    external()
    ones = numpy_helper.from_array(np.ones((1, 4), np.float32), "ones")
    summed = helper.make_node("Gemm", ["x", "ones"], ["sum"], "sum", transB=1)
    save("single", model([summed], [info("x", ["n", 4])], [info("sum", ["n", 1])], [ones]), rows)


def external():
    made = mlp()
    onnx.save_model(made, FOLDER / "external.onnx", save_as_external_data=True, location="external.bin", size_threshold=0)
    rows = RANDOM.standard_normal((6, 4)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(FOLDER / "external.onnx"))
    np.savez(FOLDER / "external.npz", x=rows, logits=session.run(None, {"x": rows})[0])


def refused():
    def unary(operator, output="y", **attributes):
        return helper.make_node(operator, ["x"], [output], f"the_{operator.lower()}", **attributes)

    flat, out = info("x", ["n", 4]), info("y", ["n", 4])
    write("unknown_operator", model([unary("Frobnicate", domain="acme")], [flat], [out], [], domains=["acme"]))
    # The name of an operator that everybody knows, of somebody else's making.
    write("foreign_relu", model([unary("Relu", domain="acme")], [flat], [out], [], domains=["acme"]))
    write("not_a_number", model([unary("Log")], [flat], [out], []))
    write("random", model([unary("RandomNormalLike")], [flat], [out], []))
    write("bytes", model([helper.make_node("Cast", ["x"], ["y"], "cast", to=FLOAT)], [info("x", ["n", 4], TensorProto.UINT8)], [out], []))
    # onnxruntime moves these windows to the middle, which the standard does not say.
    pool = helper.make_node("AveragePool", ["x"], ["y"], "pool", auto_pad="SAME_UPPER", kernel_shape=[1, 1], strides=[3, 3])
    write("strided_pool", model([pool], [info("x", ["n", 2, 6, 6])], [info("y", ["n", 2, 2, 2])], []))
    mean = helper.make_node("ReduceMean", ["x"], ["middle"], "mean", axes=[0], keepdims=1)
    write("mixes_mean", model([mean, helper.make_node("Sub", ["x", "middle"], ["y"], "off")], [flat], [out], []))
    axis = numpy_helper.from_array(np.array(0, np.int64), "axis")
    write("mixes_sum", model([helper.make_node("CumSum", ["x", "axis"], ["y"], "running")], [flat], [out], [axis]))
    write("no_rows", model([helper.make_node("ReduceSum", ["x"], ["y"], "sum", keepdims=0)], [flat], [info("y", [])], []))
    write("huge_batch", model([unary("Relu")], [info("x", [1 << 40, 4])], [info("y", [1 << 40, 4])], []))
    # Constants that a few bytes ask for.
    size = numpy_helper.from_array(np.array([1 << 20, 1 << 20], np.int64), "size")
    filled = [helper.make_node("ConstantOfShape", ["size"], ["big"], "fill"), helper.make_node("ReduceMax", ["big"], ["top"], "top", keepdims=0)]
    write("huge_constant", model([*filled, helper.make_node("Add", ["x", "top"], ["y"], "add")], [flat], [out], [size]))
    side = numpy_helper.from_array(np.array([1 << 10], np.int64), "side")
    doubled = [
        helper.make_node("Mul", ["side", "side"], ["wide"], "wide"),
        helper.make_node("Concat", ["wide", "wide"], ["size"], "size", axis=0),
    ]
    write("huge_computed", model([*doubled, *filled, helper.make_node("Add", ["x", "top"], ["y"], "add")], [flat], [out], [side]))
    product = [helper.make_node("MatMul", ["column", "row"], ["big"], "outer"), filled[1], helper.make_node("Add", ["x", "top"], ["y"], "add")]
    column = helper.make_node("ConstantOfShape", ["tall"], ["column"], "column")
    row = helper.make_node("ConstantOfShape", ["long"], ["row"], "row")
    sizes = [numpy_helper.from_array(np.array(shape, np.int64), name) for name, shape in (("tall", [1 << 19, 1]), ("long", [1, 1 << 19]))]
    write("huge_product", model([column, row, *product], [flat], [out], sizes))
    pad = numpy_helper.from_array(np.array([0, 1 << 40, 0, 0], np.int64), "pads")
    write("huge_pad", model([helper.make_node("Pad", ["x", "pads"], ["y"], "pad")], [flat], [out], [pad]))
    claims = mlp()
    claims.graph.initializer[0].dims[0] = 1 << 60
    write("huge_claim", claims)
    away = mlp()
    onnx.external_data_helper.set_external_data(away.graph.initializer[0], "gone.bin", length=128)
    away.graph.initializer[0].ClearField("raw_data")
    away.graph.initializer[0].data_location = TensorProto.EXTERNAL
    write("missing_external", away)
    outside = onnx.ModelProto()
    outside.CopyFrom(away)
    outside.graph.initializer[0].external_data[0].value = "../../../../etc/passwd"
    write("outside_external", outside)
    loop = model([helper.make_node("Add", ["x", "y"], ["y"], "self")], [flat], [out], [])
    write("cycle", loop)
    missing = model([helper.make_node("Add", ["x", "nowhere"], ["y"], "add")], [flat], [out], [])
    write("dangling", missing)
    write("no_such_output", model([unary("Relu", "z")], [flat], [out], []))


def single(name, node, sample, weights=(), runs=True):
    """One node on samples of that shape, with what onnxruntime makes of it."""
    made = model([node], [info("x", ["n", *sample])], [info(node.output[0], ["n"] + [None] * len(sample))], list(weights))
    rows = RANDOM.standard_normal((6, *sample)).astype(np.float32)
    if runs:
        save(name, made, rows)
    else:
        write(name, made)


def recurrent(name, kind, gates, direction, runs=True, **attributes):
    """Sequences of five vectors of four numbers: from [n, t, d] to [t, n, d], and the outputs back to one row per sample."""
    both = 2 if direction == "bidirectional" else 1
    weights = [tensor("w", (both, gates * 3, 4)), tensor("r", (both, gates * 3, 3)), tensor("b", (both, 2 * gates * 3))]
    nodes = [
        helper.make_node("Transpose", ["x"], ["steps"], "steps", perm=[1, 0, 2]),
        helper.make_node(kind, ["steps", "w", "r", "b"], ["h"], "layer", hidden_size=3, direction=direction, **attributes),
        helper.make_node("Transpose", ["h"], ["y"], "rows", perm=[2, 0, 1, 3]),
    ]
    made = model(nodes, [info("x", ["n", 5, 4])], [info("y", ["n", 5, both, 3])], weights)
    rows = RANDOM.standard_normal((6, 5, 4)).astype(np.float32)
    if runs:
        save(name, made, rows)
    else:
        write(name, made)


def forest():
    """Two trees of one split each, as scikit-learn's converter writes them: labels first, then dictionaries of probabilities."""
    trees = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "probabilities"],
        "trees",
        domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0, 1, 1, 1],
        nodes_nodeids=[0, 1, 2, 0, 1, 2],
        nodes_featureids=[0, 0, 0, 2, 0, 0],
        nodes_values=[0.1, 0.0, 0.0, -0.2, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
        nodes_truenodeids=[1, 0, 0, 1, 0, 0],
        nodes_falsenodeids=[2, 0, 0, 2, 0, 0],
        nodes_hitrates=[1.0] * 6,
        nodes_missing_value_tracks_true=[0] * 6,
        class_treeids=[0, 0, 0, 0, 1, 1, 1, 1],
        class_nodeids=[1, 1, 2, 2, 1, 1, 2, 2],
        class_ids=[0, 1] * 4,
        class_weights=[0.4, 0.1, 0.05, 0.45, 0.3, 0.2, 0.15, 0.35],
        classlabels_int64s=[0, 1],
        post_transform="NONE",
    )
    maps = helper.make_node("ZipMap", ["probabilities"], ["maps"], "maps", domain="ai.onnx.ml", classlabels_int64s=[0, 1])
    dictionaries = helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, None))))
    outputs = [helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]), dictionaries]
    graph = helper.make_graph([trees, maps], "forest", [helper.make_tensor_value_info("x", FLOAT, ["n", 4])], outputs)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def many_constants():
    """Three constants of 400 MB each, none of which is too large by itself."""
    size = numpy_helper.from_array(np.array([1 << 20, 100], np.int64), "size")
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["a"], "fill"),
        helper.make_node("Relu", ["a"], ["b"], "first"),
        helper.make_node("Relu", ["b"], ["c"], "second"),
        helper.make_node("ReduceMax", ["c"], ["top"], "top", keepdims=0),
        helper.make_node("Add", ["x", "top"], ["y"], "add"),
    ]
    write("huge_constants", model(nodes, [info("x", ["n", 4])], [info("y", ["n", 4])], [size]))


def engines():
    """Operators that engines have got wrong, silently."""
    for direction in ("forward", "reverse", "bidirectional"):
        recurrent(f"lstm_{direction}", "LSTM", 4, direction)
        recurrent(f"gru_{direction}", "GRU", 3, direction, linear_before_reset=1)
    recurrent("gru_reset_after", "GRU", 3, "forward", runs=False)
    many_constants()
    write("forest", forest())
    recurrent("rnn_reverse", "RNN", 1, "reverse", runs=False)
    pool = dict(kernel_shape=[2, 2], strides=[1, 1])
    single("dilated_pool", helper.make_node("MaxPool", ["x"], ["y"], "pool", dilations=[2, 2], **pool), (2, 6, 6), runs=False)
    single("same_lower_pool", helper.make_node("MaxPool", ["x"], ["y"], "pool", auto_pad="SAME_LOWER", kernel_shape=[2, 2], strides=[2, 1]), (2, 5, 5))
    single("cast_to_integers", helper.make_node("Cast", ["x"], ["y"], "cast", to=TensorProto.INT64), (4,), runs=False)
    scales = numpy_helper.from_array(np.array([1, 1, 2, 3], np.float32), "scales")
    for mode in ("linear", "nearest", "cubic"):
        node = helper.make_node("Resize", ["x", "", "scales"], ["y"], "resize", mode=mode, coordinate_transformation_mode="align_corners")
        single(f"resize_{mode}", node, (2, 4, 5), [scales], runs=mode != "cubic")
    size = numpy_helper.from_array(np.array([4], np.int64), "size")
    nodes = [helper.make_node("ConstantOfShape", ["size"], ["zeros"], "zeros"), helper.make_node("Add", ["x", "zeros"], ["y"], "add")]
    save("zeros", model(nodes, [info("x", ["n", 4])], [info("y", ["n", 4])], [size]), RANDOM.standard_normal((6, 4)).astype(np.float32))

    def outer(operator):
        node = helper.make_node(operator, ["x"], [f"inner_{operator}"])
        return helper.make_graph([node], operator, [], [info(f"inner_{operator}", ["n", 4])])

    flag = numpy_helper.from_array(np.array(True), "flag")
    branch = helper.make_node("If", ["flag"], ["y"], "branch", then_branch=outer("Tanh"), else_branch=outer("Relu"))
    write("branch", model([branch], [info("x", ["n", 4])], [info("y", ["n", 4])], [flag]))
    for name, operator, node in (("arg_max", "ArgMax", "largest"), ("arg_min", "ArgMin", "smallest")):
        # The first of equal numbers.
        nodes = [helper.make_node(operator, ["x"], ["place"], node, axis=1), helper.make_node("Cast", ["place"], ["y"], "cast", to=FLOAT)]
        write(name, model(nodes, [info("x", ["n", 4])], [info("y", ["n", 1])], []))
    write("sign", model([helper.make_node("Sign", ["x"], ["y"], "sign")], [info("x", ["n", 4])], [info("y", ["n", 4])], []))


def budgets():
    """Files of a kilobyte that ask for minutes, or for gigabytes."""
    x, y = [info("x", ["n", 4])], [info("y", ["n", 4])]
    ints = lambda name, values: numpy_helper.from_array(np.array(values, np.int64), name)
    value = helper.make_tensor("value", FLOAT, [1], [1e-4])
    products = lambda count: [helper.make_node("MatMul", [f"a{at}", "a0"], [f"a{at + 1}"], f"product{at}") for at in range(count)]
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["a0"], "filled", value=value),
        *products(6),
        helper.make_node("ReduceMax", ["a6"], ["most"], "most", keepdims=0),
        helper.make_node("Add", ["x", "most"], ["y"], "add"),
    ]
    write("dear_constants", model(nodes, x, y, [ints("size", [2048, 2048])]))
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["largest"], "largest", axes=[1], keepdims=1),
        helper.make_node("Reshape", ["largest", "points"], ["a"], "point"),
        helper.make_node("Expand", ["a", "size"], ["a0"], "expanded"),
        *products(3),
        helper.make_node("ReduceMax", ["a3"], ["most"], "most", axes=[1, 2], keepdims=0),
        helper.make_node("Reshape", ["most", "column"], ["added"], "column"),
        helper.make_node("Add", ["x", "added"], ["y"], "add"),
    ]
    write("dear", model(nodes, x, y, [ints("points", [-1, 1, 1]), ints("size", [1, 2048, 2048]), ints("column", [-1, 1])]))
    nodes = [helper.make_node("Concat", [f"v{at}" if at else "x"] * 2, [f"v{at + 1}"], f"twice{at}", axis=1) for at in range(26)]
    nodes += [
        helper.make_node("ReduceMax", ["v26"], ["most"], "most", axes=[1], keepdims=1),
        helper.make_node("Add", ["x", "most"], ["y"], "add"),
    ]
    write("wide", model(nodes, x, y, []))


def stages():
    """Convolutions between which values go around them: some are read before and after, and a group, a stride and a bias are missing once."""
    random = np.random.default_rng(11)

    def weight(name, shape):
        return numpy_helper.from_array((random.standard_normal(shape) * 0.3).astype(np.float32), name)

    window = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nodes = [
        helper.make_node("Conv", ["x", "k1", "b1"], ["first"], **window),
        helper.make_node("Sigmoid", ["first"], ["bent"]),
        helper.make_node("Conv", ["bent", "k2", "b2"], ["second"], strides=[2, 2], **window),
        helper.make_node("Relu", ["second"], ["kept"]),
        helper.make_node("Conv", ["kept", "k3"], ["third"], group=2, **window),
        helper.make_node("Add", ["third", "kept"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["even"]),
        helper.make_node("Conv", ["even", "k4"], ["fourth"], group=1, **window),
        helper.make_node("Add", ["fourth", "sum"], ["total"]),
        helper.make_node("GlobalAveragePool", ["total"], ["means"]),
        helper.make_node("Flatten", ["means"], ["logits"]),
    ]
    weights = [weight("k1", (4, 2, 3, 3)), weight("b1", 4), weight("k2", (6, 4, 3, 3)), weight("b2", 6)]
    weights += [weight("k3", (6, 3, 3, 3)), weight("k4", (6, 6, 3, 3))]
    made = model(nodes, [info("x", ["n", 2, 12, 10])], [info("logits", ["n", 6])], weights)
    rows = random.standard_normal((5, 2, 12, 10)).astype(np.float32)
    save("stages", made, rows, inner=["first", "second", "kept", "third", "sum", "fourth"])


if __name__ == "__main__":
    runnable()
    refused()
    engines()
    budgets()
    stages()
