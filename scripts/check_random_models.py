"""Compare `spadework predict` with onnxruntime on small random models.

usage: python scripts/check_random_models.py PATH-OF-SPADEWORK [--models 300] [--seed 1] [--minutes M]

Every model is a chain of random operators with random attributes. The built-in engine must give what onnxruntime gives, or refuse
with a message that names onnxruntime. Exit code 0: it does. 1: an output differs, or a run ended in another way; the model is kept
in the folder that is named. From 3,000 models on, also 1 if an operator that the engine is trusted with
(crates/spadework-model/src/operators.rs) was in no model that agrees.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROWS = 5
#: Models among which every operator must be.
ENOUGH = 3000
TRUSTED = Path(__file__).resolve().parent.parent / "crates/spadework-model/src/operators.rs"
# Single precision through ten operators, some of which (exponentials, powers) stretch a last digit.
TOLERANCE = 2e-4


class Maker:
    """One model in the making: values with the shape of one sample, without the batch."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.opset = int(random.choice([11, 12, 13, 14, 17, 18, 20]))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        shapes = [(6,), (3, 6, 6), (2, 5, 7), (4, 8, 8), (5, 6), (7, 4)]
        self.shape = shapes[random.integers(len(shapes))]
        self.input_shape = self.shape
        self.top = "x"

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def int(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.random.integers(low, high + 1))

    def weight(self, *shape: int, scale: float = 0.5) -> str:
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def add(self, operator: str, inputs: list[str], outputs: int = 1, **attributes) -> list[str]:
        names = [f"v{len(self.nodes)}_{at}" for at in range(outputs)]
        # A node with the name of a value: exporters do that.
        self.nodes.append(helper.make_node(operator, inputs, names, name=names[0], **attributes))
        return names

    def apply(self, operator: str, *inputs: str, shape=None, **attributes) -> None:
        [self.top] = self.add(operator, [self.top, *inputs], **attributes)
        self.shape = self.shape if shape is None else tuple(shape)

    # Operators by the number of axes that they need.

    def unary(self) -> None:
        names = ["Abs", "Atan", "Asinh", "Ceil", "Cos", "Erf", "Exp", "Floor", "Neg", "Relu", "Round", "Sigmoid", "Sign", "Sin"]
        names += ["Softplus", "Softsign", "Tanh", "Identity", "Tan", "Sinh", "Cosh"]
        if self.opset >= 14:
            names.append("HardSwish")
        name = self.pick(*names)
        if name in ("Exp", "Sinh", "Cosh", "Tan"):
            self.apply("Tanh")
        if name in ("Ceil", "Floor", "Round", "Sign"):
            # Steps would make a difference of a last digit into one of 1.
            self.apply("Mul", self.constant(np.array(64.0, np.float32)))
            self.apply("Tanh")
            self.apply("Mul", self.constant(np.array(0.9, np.float32)))
        self.apply(name)

    def safe(self) -> None:
        """Operators that are not defined everywhere."""
        name = self.pick("Sqrt", "Log", "Reciprocal", "Acos", "Asin", "Acosh", "Atanh", "Pow")
        self.apply("Sigmoid")
        if name == "Acosh":
            self.apply("Add", self.constant(np.array(1.5, np.float32)))
        elif name in ("Acos", "Asin", "Atanh"):
            self.apply("Mul", self.constant(np.array(0.9, np.float32)))
        else:
            self.apply("Add", self.constant(np.array(0.1, np.float32)))
        if name == "Pow":
            self.apply("Pow", self.constant(np.array(self.pick(2.0, 0.5, 3.0, -1.0), np.float32)))
        else:
            self.apply(name)

    def shaped(self) -> None:
        name = self.pick("Elu", "LeakyRelu", "HardSigmoid", "Clip", "Dropout", "PRelu", "Selu", "ThresholdedRelu", "Celu")
        if name == "Clip":
            low, high = (self.constant(np.array(limit, np.float32)) for limit in (-0.4, 0.6))
            self.apply("Clip", *self.pick([low, high], [low, high], [low], ["", high]))
        elif name == "PRelu":
            self.apply("PRelu", self.weight(*([self.shape[0]] + [1] * (len(self.shape) - 1))))
        elif name == "HardSigmoid":
            self.apply(name, alpha=0.3, beta=0.4)
        elif name == "Dropout":
            self.apply(name)
        else:
            self.apply(name, alpha=0.3)

    def binary(self) -> None:
        shape = [extent if self.random.random() < 0.6 else 1 for extent in self.shape]
        shape = shape[self.int(0, len(shape) - 1) :]
        name = self.pick("Add", "Sub", "Mul", "Div", "Max", "Min")
        other = self.weight(*shape)
        if name == "Div":
            other = self.constant((np.abs(self.random.standard_normal(shape)) + 0.5).astype(np.float32))
        if self.random.random() < 0.3 and name != "Div":
            [self.top] = self.add(name, [other, self.top])
        else:
            self.apply(name, other)

    def comparison(self) -> None:
        name = self.pick("Less", "Greater", "LessOrEqual", "GreaterOrEqual")
        if self.opset < 12 and "Or" in name:
            return
        [mask] = self.add(name, [self.top, self.constant(np.array(0.1, np.float32))])
        if self.random.random() < 0.5:
            [mask] = self.add("Not", [mask])
        # Continuous at the step: x - 0.1 on one side, half of it on the other.
        [left] = self.add("Sub", [self.top, self.constant(np.array(0.1, np.float32))])
        [right] = self.add("Mul", [left, self.constant(np.array(0.5, np.float32))])
        [self.top] = self.add("Where", [mask, left, right])

    def gelu(self) -> None:
        self.apply("Gelu", approximate=self.pick("none", "tanh"))

    def several(self) -> None:
        """One to three values of shapes that need not be equal."""
        shape = [extent if self.random.random() < 0.6 else 1 for extent in self.shape]
        others = [self.add("Tanh", [self.top])[0], self.weight(*shape)][: self.int(0, 2)]
        self.apply(self.pick("Sum", "Mean", "Max", "Min"), *others)

    def logic(self) -> None:
        """Truth values. What is made of them is continuous where they change."""
        low, high = (self.constant(np.array(limit, np.float32)) for limit in (-0.3, 0.4))
        half = self.constant(np.array(0.5, np.float32))
        kind = self.pick("And", "Or", "Xor", "Equal", "Equal to zero", "IsNaN")
        if kind == "IsNaN":
            [root] = self.add("Sqrt", [self.top])
            [mask] = self.add("IsNaN", [root])
            [other] = self.add("Mul", [self.top, half])
        elif kind == "Equal to zero":
            [positive] = self.add("Relu", [self.top])
            [mask] = self.add("Equal", [positive, self.constant(np.zeros((), np.float32))])
            [other] = self.add("Mul", [self.top, half])
        else:
            [above] = self.add("Greater", [self.top, low])
            [below] = self.add("Less", [self.top, high])
            if kind == "Equal":
                to = self.pick(TensorProto.INT32, TensorProto.INT64)
                [above, below] = (self.add("Cast", [value], to=to)[0] for value in (above, below))
            [mask] = self.add(kind, [above, below])
            # What is added is 0 at both limits.
            factors = [self.add("Sub", [self.top, limit])[0] for limit in (low, high)]
            [added] = self.add("Mul", factors)
            # Large numbers would be squared.
            [added] = self.add("Tanh", [added])
            [other] = self.add("Add", [self.top, added])
        if self.random.random() < 0.3:
            [mask] = self.add("Not", [mask])
        [self.top] = self.add("Where", [mask, *self.pick([self.top, other], [other, self.top])])

    def one_hot(self) -> None:
        """Of the side of a limit, times what is 0 there."""
        limit = self.constant(np.array(0.1, np.float32))
        [side] = self.add("Greater", [self.top, limit])
        [index] = self.add("Cast", [side], to=TensorProto.INT64)
        if self.random.random() < 0.3:
            # From the end.
            [index] = self.add("Sub", [index, self.ints(2)])
        depth, axis = self.int(2, 3), self.pick(-1, 1)
        values = self.constant(np.array(self.pick([0, 1], [0.3, -0.7]), np.float32))
        [hot] = self.add("OneHot", [index, self.constant(np.array(depth, np.int64)), values], axis=axis)
        self.apply("Sub", limit)
        self.unsqueeze(axis)
        self.apply("Mul", hot, shape=[*self.shape[:-1], depth] if axis == -1 else [depth, *self.shape[1:]])

    def counted(self) -> None:
        """Numbers that are made of shapes or of nothing."""
        kind = self.pick("Range", "counted Range", "Size", "Constant")
        if kind == "Range":
            extent, step = self.shape[-1], self.pick(0.25, -0.5)
            # The limit is half a step beyond the last number.
            limits = [np.array(limit, np.float32) for limit in (0.1, 0.1 + step * (extent - 0.5), step)]
            [made] = self.add("Range", [self.constant(limit) for limit in limits])
        elif kind == "counted Range":
            [sizes] = self.add("Shape", [self.top])
            [extent] = self.add("Gather", [sizes, self.constant(np.array(-1, np.int64))], axis=0)
            [made] = self.add("Range", [self.constant(np.array(0, np.int64)), extent, self.constant(np.array(1, np.int64))])
            [made] = self.add("Cast", [made], to=FLOAT)
        elif kind == "Size":
            # Per sample, whatever the batch.
            [size] = self.add("Size", [self.top])
            [sizes] = self.add("Shape", [self.top])
            [rows] = self.add("Gather", [sizes, self.constant(np.array(0, np.int64))], axis=0)
            [made] = self.add("Div", [size, rows])
            [made] = self.add("Cast", [made], to=FLOAT)
            [made] = self.add("Mul", [made, self.constant(np.array(0.01, np.float32))])
        else:
            values = (self.random.standard_normal(self.shape[-1]) * 0.5).astype(np.float32)
            kinds = [{"value": numpy_helper.from_array(values)}, {"value_floats": values.tolist()}, {"value_float": 0.7}]
            [made] = self.add("Constant", [], **self.pick(*kinds[: 3 if self.opset >= 12 else 1]))
        self.apply("Add", made)

    def softmax(self) -> None:
        self.apply(self.pick("Softmax", "LogSoftmax"), axis=self.pick(-1, 1))

    def reduction(self) -> None:
        names = ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]
        names += ["ReduceLogSum", "ReduceProd"]
        name = self.pick(*names)
        if name in ("ReduceLogSum", "ReduceProd"):
            # A logarithm of positive numbers, and no product of large ones.
            self.apply("Sigmoid")
        axis = self.int(1, len(self.shape))
        keeps = self.int(0, 1) if len(self.shape) > 1 else 1
        shape = list(self.shape)
        shape[axis - 1 : axis] = [1] if keeps else []
        as_input = self.opset >= (13 if name == "ReduceSum" else 18)
        if as_input:
            self.apply(name, self.ints(axis), keepdims=keeps, shape=shape)
        else:
            self.apply(name, axes=[self.pick(axis, axis - len(self.shape) - 1)], keepdims=keeps, shape=shape)

    def arg(self) -> None:
        """Of whole numbers, so that there are ties and no near-ties; the index is added to what goes on."""
        values = self.constant(self.random.integers(0, 3, (3, 4)).astype(np.float32))
        axis, keeps = self.int(0, 1), 1
        last = {"select_last_index": self.int(0, 1)} if self.opset >= 12 else {}
        [index] = self.add(self.pick("ArgMax", "ArgMin"), [values], axis=axis, keepdims=keeps, **last)
        [index] = self.add("Cast", [index], to=TensorProto.FLOAT)
        [total] = self.add("ReduceMax", [index], keepdims=0)
        self.apply("Add", total)

    def product(self) -> None:
        width = self.int(2, 6)
        if len(self.shape) == 1 and self.random.random() < 0.6:
            transposed = self.int(0, 1)
            shape = (width, self.shape[0]) if transposed else (self.shape[0], width)
            bias = [self.weight(*self.pick((width,), (1,), (1, width), ()))] if self.random.random() < 0.8 else []
            self.apply("Gemm", self.weight(*shape), *bias, transB=transposed, alpha=self.pick(1.0, 0.7), beta=self.pick(1.0, 0.3), shape=[width])
        else:
            shape = [self.shape[-1], width]
            if len(self.shape) == 3 and self.random.random() < 0.3:
                shape = [self.shape[0], *shape]
            self.apply("MatMul", self.weight(*shape), shape=[*self.shape[:-1], width])

    def window(self, extent: int, most: int) -> dict:
        auto = self.pick("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
        kernel = [self.int(1, min(most, extent)) for _ in range(2)]
        made = {"kernel_shape": kernel, "strides": [self.int(1, 3), self.int(1, 3)]}
        if auto == "NOTSET":
            made["pads"] = [self.int(0, kernel[at % 2] - 1) for at in range(4)]
        else:
            made["auto_pad"] = auto
        return made

    def conv(self) -> None:
        channels, height, width = self.shape
        attributes = self.window(min(height, width), 4)
        kernel = attributes["kernel_shape"]
        group = self.pick(1, 1, channels)
        out = group * self.int(1, 3)
        if "pads" in attributes and self.random.random() < 0.3:
            attributes["dilations"] = [2, 1]
            if 2 * (kernel[0] - 1) + 1 > height:
                attributes["dilations"] = [1, 1]
        weights = self.weight(out, channels // group, *kernel)
        if self.random.random() < 0.3 and "pads" in attributes:
            del attributes["kernel_shape"]
        bias = [self.weight(out)] if self.random.random() < 0.7 else []
        self.apply("Conv", weights, *bias, group=group, shape=self.shape, **attributes)
        self.infer()

    def transposed(self) -> None:
        channels, height, width = self.shape
        kernel = [self.int(1, 3), self.int(1, 3)]
        strides = [self.int(1, 2), self.int(1, 2)]
        attributes = {"kernel_shape": kernel, "strides": strides, "pads": [0, 0, *[kernel[0] - 1, 0]][:4]}
        attributes["pads"] = [self.int(0, kernel[at % 2] - 1) for at in range(4)]
        if self.random.random() < 0.3:
            attributes["output_padding"] = [strides[0] - 1, strides[1] - 1]
        group = self.pick(1, 1, channels)
        bias = []
        out = self.int(1, 2)
        if self.random.random() < 0.5:
            bias = [self.weight(out * group)]
        self.apply("ConvTranspose", self.weight(channels, out, *kernel), *bias, group=group, **attributes)
        self.infer()

    def pool(self) -> None:
        attributes = self.window(min(self.shape[1:]), 3)
        name = self.pick("MaxPool", "AveragePool")
        if self.random.random() < 0.3 and "pads" in attributes:
            attributes["ceil_mode"] = 1
        if name == "AveragePool":
            attributes["count_include_pad"] = self.int(0, 1)
        elif self.random.random() < 0.2 and "pads" in attributes and min(self.shape[1:]) > 5 and max(attributes["kernel_shape"]) < 3:
            attributes["dilations"] = [2, 2]
        self.apply(name, **attributes)
        self.infer()

    def global_pool(self) -> None:
        self.apply(self.pick("GlobalAveragePool", "GlobalMaxPool"), shape=[self.shape[0], 1, 1])

    def normalize(self) -> None:
        channels = self.shape[0]
        variance = self.constant((1 + self.random.random(channels)).astype(np.float32))
        if self.random.random() < 0.5 or len(self.shape) == 1:
            self.apply("BatchNormalization", self.weight(channels), self.weight(channels), self.weight(channels), variance, epsilon=1e-3)
        else:
            self.apply("InstanceNormalization", self.weight(channels), self.weight(channels), epsilon=1e-2)

    def layer_normalize(self) -> None:
        if self.opset >= 17 and self.shape[-1] > 1:
            axis = self.pick(-1, len(self.shape)) if len(self.shape) < 3 or self.random.random() < 0.5 else -2
            self.apply("LayerNormalization", self.weight(*self.shape[axis if axis < 0 else -1 :]), *([self.weight(*self.shape[axis if axis < 0 else -1 :])] if self.random.random() < 0.6 else []), axis=axis, epsilon=1e-2)

    def reshape(self) -> None:
        total = int(np.prod(self.shape))
        kind = self.pick("Flatten", "Reshape", "Transpose", "Unsqueeze", "Squeeze", "computed")
        if kind == "Flatten":
            self.apply("Flatten", axis=1, shape=[total])
        elif kind == "Reshape":
            first = self.shape[0]
            self.apply("Reshape", self.ints(0, first, -1), shape=[first, total // first])
        elif kind == "computed":
            [sizes] = self.add("Shape", [self.top])
            [rows] = self.add("Gather", [sizes, self.ints(0)], axis=0)
            [flat] = self.add("Concat", [rows, self.ints(-1)], axis=0)
            self.apply("Reshape", flat, shape=[total])
        elif kind == "Transpose":
            order = self.random.permutation(len(self.shape))
            self.apply("Transpose", perm=[0, *(int(axis) + 1 for axis in order)], shape=[self.shape[axis] for axis in order])
        elif kind == "Squeeze":
            # An axis that is there, or one that is made for it.
            rank = len(self.shape) + 1
            single = [at for at, extent in enumerate(self.shape, 1) if extent == 1] if rank > 2 else []
            if not single:
                self.unsqueeze(self.pick(1, -1, -2))
                rank += 1
                single = [at for at, extent in enumerate(self.shape, 1) if extent == 1]
            axis = self.pick(*single)
            shape = [extent for at, extent in enumerate(self.shape, 1) if at != axis]
            self.axes("Squeeze", self.pick(axis, axis - rank), shape)
        elif len(self.shape) < 3:
            self.unsqueeze(1)

    def unsqueeze(self, axis: int) -> None:
        """A new axis of one."""
        shape = list(self.shape)
        shape.insert(axis - 1 if axis > 0 else len(shape) + 1 + axis, 1)
        self.axes("Unsqueeze", axis, shape)

    def axes(self, operator: str, axis: int, shape: list[int]) -> None:
        """The axis is an input from opset 13 on."""
        if self.opset >= 13:
            self.apply(operator, self.ints(axis), shape=shape)
        else:
            self.apply(operator, axes=[axis], shape=shape)

    def pick_apart(self) -> None:
        axis = self.int(1, len(self.shape))
        extent = self.shape[axis - 1]
        kind = self.pick("Slice", "Gather", "Concat", "Pad", "Split", "Tile", "Expand", "GatherElements", "CumSum", "TopK")
        shape = list(self.shape)
        if kind == "Slice":
            start, step = self.int(0, extent - 1), self.pick(1, 2, -1)
            end = self.pick(2**62, extent) if step > 0 else self.pick(-(2**62), -extent - 1)
            start = start if step > 0 else extent - 1
            shape[axis - 1] = len(range(extent)[slice(start, None if step < 0 else end, step)])
            self.apply("Slice", self.ints(start), self.ints(end), self.ints(self.pick(axis, axis - len(shape) - 1)), self.ints(step), shape=shape)
        elif kind == "Gather":
            indices = self.random.integers(-extent, extent, self.int(1, 3))
            shape[axis - 1] = len(indices)
            self.apply("Gather", self.constant(indices.astype(np.int64)), axis=axis, shape=shape)
        elif kind == "GatherElements":
            # An index for every element of the batch, which may have any size.
            shape[axis - 1] = self.int(1, extent + 1)
            indices = self.constant(self.random.integers(-extent, extent, [1, *shape]))
            [sizes] = self.add("Shape", [self.top])
            [rows] = self.add("Gather", [sizes, self.ints(0)], axis=0)
            [size] = self.add("Concat", [rows, self.ints(*shape)], axis=0)
            [indices] = self.add("Expand", [indices, size])
            self.apply("GatherElements", indices, axis=self.pick(axis, axis - len(shape) - 1), shape=shape)
        elif kind == "Concat":
            [other] = self.add("Tanh", [self.top])
            shape[axis - 1] *= 2
            self.apply("Concat", other, axis=self.pick(axis, axis - len(shape) - 1), shape=shape)
        elif kind == "Pad":
            mode = self.pick("constant", "reflect", "edge") if len(shape) == 3 else "constant"
            pads = [0] * (2 * len(shape) + 2)
            # Negative ones cut off.
            pads[axis] = -1 if mode == "constant" and extent > 1 and self.random.random() < 0.3 else self.int(0, min(2, extent - 1))
            pads[len(shape) + 1 + axis] = self.int(0, min(2, extent - 1))
            shape[axis - 1] += pads[axis] + pads[len(shape) + 1 + axis]
            value = [self.constant(np.array(0.3, np.float32))] if mode == "constant" and self.random.random() < 0.5 else []
            self.apply("Pad", self.ints(*pads), *value, mode=mode, shape=shape)
        elif kind == "Split" and extent > 1:
            first = self.int(1, extent - 1)
            sizes = [first, extent - first]
            if self.opset >= 13:
                parts = self.add("Split", [self.top, self.ints(*sizes)], 2, axis=axis)
            else:
                parts = self.add("Split", [self.top], 2, axis=axis, split=sizes)
            keep = self.int(0, 1)
            self.top, shape[axis - 1] = parts[keep], sizes[keep]
            self.shape = tuple(shape)
        elif kind == "Tile":
            repeats = [1] * (len(shape) + 1)
            repeats[axis] = 2
            shape[axis - 1] *= 2
            self.apply("Tile", self.ints(*repeats), shape=shape)
        elif kind == "Expand":
            self.apply("Expand", self.ints(*[1] * (len(shape) + 1)))
        elif kind == "CumSum":
            self.apply("CumSum", self.ints(axis) if self.random.random() < 0 else self.constant(np.array(axis, np.int64)), exclusive=self.int(0, 1), reverse=self.int(0, 1))
        elif kind == "TopK":
            count = self.int(1, extent)
            values, _ = self.add("TopK", [self.top, self.ints(count)], 2, axis=axis, largest=self.int(0, 1))
            self.top, shape[axis - 1] = values, count
            self.shape = tuple(shape)

    def resize(self) -> None:
        channels, height, width = self.shape
        scale = [1.0, 1.0, self.pick(2.0, 1.5, 0.5), self.pick(2.0, 3.0)]
        modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
        attributes = {"mode": self.pick("nearest", "linear", "cubic"), "coordinate_transformation_mode": self.pick(*modes)}
        if attributes["mode"] == "nearest":
            attributes["nearest_mode"] = self.pick("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
        if self.random.random() < 0.5:
            self.apply("Resize", "", self.constant(np.array(scale, np.float32)), **attributes)
        else:
            # A batch of any size cannot be given sizes.
            self.apply("Resize", "", self.constant(np.array([1, 1, 2, 2], np.float32)), **attributes)
        self.infer()

    def depth(self) -> None:
        if self.shape[0] % 4 == 0:
            self.apply("DepthToSpace", blocksize=2, mode=self.pick("DCR", "CRD"), shape=[self.shape[0] // 4, self.shape[1] * 2, self.shape[2] * 2])

    def recurrent(self) -> None:
        """Sequences of the batch: [n, t, d] to [t, n, d] and back."""
        steps, width = self.shape
        hidden, kind = self.int(1, 4), self.pick("LSTM", "LSTM", "GRU", "GRU", "RNN")
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
        direction = self.pick("forward", "reverse", "bidirectional")
        both = 2 if direction == "bidirectional" else 1
        self.apply("Transpose", perm=[1, 0, 2])
        inputs = [self.weight(both, gates * hidden, width), self.weight(both, gates * hidden, hidden)]
        if self.random.random() < 0.7:
            inputs.append(self.weight(both, 2 * gates * hidden))
        attributes = {"direction": direction, "hidden_size": hidden}
        if kind == "GRU":
            attributes["linear_before_reset"] = self.int(0, 1)
        outputs = self.add(kind, [self.top, *inputs], 2, **attributes)
        # [t, directions, n, h] to [n, t, directions, h]; or the last state, [directions, n, h].
        if self.random.random() < 0.6:
            [self.top] = self.add("Transpose", [outputs[0]], perm=[2, 0, 1, 3])
            self.shape = (steps, both, hidden)
        else:
            [self.top] = self.add("Transpose", [outputs[1]], perm=[1, 0, 2])
            self.shape = (both, hidden)

    def filled(self) -> None:
        """A constant that is made of a shape, with and without a value."""
        value = {} if self.random.random() < 0.5 else {"value": helper.make_tensor("value", FLOAT, [1], [0.7])}
        [constant] = self.add("ConstantOfShape", [self.ints(*self.shape)], **value)
        self.apply("Add", constant)

    def cast(self) -> None:
        """To integers and back, of numbers that are far from a step."""
        [scaled] = self.add("Mul", [self.top, self.constant(np.array(3.0, np.float32))])
        to = self.pick(TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.UINT8)
        [cast] = self.add("Cast", [scaled], to=to)
        [back] = self.add("Cast", [cast], to=FLOAT)
        self.apply("Mul", self.constant(np.array(64.0, np.float32)))
        self.apply("Add", back)

    def residual(self) -> None:
        """Convolutions, and what goes around them: what came before, another convolution of it, or sizes of it."""
        before, shape = self.top, self.shape
        channels = shape[0]
        for _ in range(self.int(1, 2)):
            self.apply("Conv", self.weight(channels, channels, 3, 3), pads=[1, 1, 1, 1])
            if self.random.random() < 0.7:
                self.apply("Relu")
        kind = self.pick("plain", "convolved", "sizes", "twice")
        if kind == "plain":
            self.apply("Add", before)
        elif kind == "convolved":
            [other] = self.add("Conv", [before, self.weight(channels, channels, 1, 1)])
            self.apply("Add", other)
        elif kind == "twice":
            # The same node twice, and both results used on the other side of the convolutions.
            once, again = (self.add("Tanh", [before])[0] for _ in range(2))
            self.apply("Add", once)
            self.apply("Mul", again)
        else:
            # Exporters write a size again wherever it is used.
            flat = []
            for value in (self.top, self.add("Tanh", [self.top])[0]):
                [sizes] = self.add("Shape", [before])
                [rows] = self.add("Gather", [sizes, self.ints(0)], axis=0)
                [size] = self.add("Concat", [rows, self.ints(-1)], axis=0)
                flat += self.add("Reshape", [value, size])
            [self.top] = self.add("Add", flat)
            self.shape = (int(np.prod(shape)),)

    def branch(self) -> None:
        """An If whose branches read values from outside."""
        def graph(operator: str) -> onnx.GraphProto:
            name = f"branch_{operator}_{len(self.nodes)}"
            node = helper.make_node(operator, [self.top], [name])
            return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, FLOAT, None)])
        condition = self.constant(np.array(self.random.random() < 0.5))
        [self.top] = self.add("If", [condition], then_branch=graph("Tanh"), else_branch=graph("Relu"))

    def infer(self) -> None:
        """The shape by onnxruntime."""
        session = session_of(self.model().SerializeToString())
        self.shape = tuple(session.run(None, {"x": np.zeros((2, *self.input_shape), np.float32)})[0].shape[1:])

    def model(self) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info("x", FLOAT, ["n", *self.input_shape])]
        outputs = [helper.make_tensor_value_info(self.top, FLOAT, None)]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def step(self) -> None:
        steps = [self.unary, self.safe, self.shaped, self.binary, self.comparison, self.softmax, self.reshape, self.pick_apart]
        steps += [self.product, self.filled, self.several, self.logic, self.counted]
        if len(self.shape) > 1 or self.shape[0] > 1:
            steps.append(self.reduction)
        if len(self.shape) < 3:
            steps.append(self.one_hot)
        if self.opset >= 20:
            steps.append(self.gelu)
        if len(self.shape) == 2:
            steps += [self.recurrent] * 4 + [self.layer_normalize]
        if len(self.shape) == 3:
            steps += [self.conv] * 5 + [self.residual] * 5 + [self.pool] * 4 + [self.transposed, self.resize, self.resize, self.normalize, self.depth, self.global_pool, self.layer_normalize]
        # Most of what the last three make is refused, and the rest of such a model then proves nothing.
        self.pick(*steps * 3, self.cast, self.branch, self.arg)()


FLOAT = TensorProto.FLOAT


def session_of(model: bytes) -> onnxruntime.InferenceSession:
    """Without optimizations, which have errors of their own."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options)


def made(random: np.random.Generator) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray]:
    """A model that onnxruntime runs to finite numbers of a sensible size, with its inputs and outputs."""
    while True:
        maker = Maker(random)
        try:
            for _ in range(int(random.integers(1, 8))):
                maker.step()
                if np.prod(maker.shape) > 4000 or min(maker.shape) < 1 or len(maker.shape) > 4:
                    raise ValueError("too large")
            model = maker.model()
            rows = random.standard_normal((ROWS, *maker.input_shape)).astype(np.float32)
            # Signs, roots and the like are special at 0, which inputs and rectified values often are.
            rows[random.random(rows.shape) < 0.2] = 0
            want = session_of(model.SerializeToString()).run(None, {"x": rows})[0]
        except Exception:  # noqa: BLE001 - not a valid model, in whichever way: another one
            continue
        if want.size and len(want) == ROWS and np.isfinite(want).all() and np.abs(want).max() < 1e4:
            return model, rows, want


def check(spadework: str, random: np.random.Generator, folder: Path) -> tuple[str, str]:
    """One model: what came of it, and more about it."""
    model, rows, want = made(random)
    files = [folder / "model.onnx", folder / "x.npy", folder / "y.npy"]
    onnx.save(model, files[0])
    np.save(files[1], rows)
    call = [spadework, "predict", "--quiet", "--engine", "builtin", "--model", files[0], "--inputs", files[1], "--out", files[2]]
    operators = " ".join(node.op_type for node in model.graph.node)
    done = subprocess.run([str(part) for part in call], capture_output=True, text=True, check=False)
    # An operator is refused by its name. If the engine fails on a model, nothing has checked what it was given.
    if done.returncode == 2 and "onnxruntime" in done.stderr and "cannot run this model" not in done.stderr:
        return "refused", done.stderr.strip()
    if done.returncode:
        return "failed", f"{operators}: exit code {done.returncode}: {done.stderr.strip()}"
    got = np.load(files[2])
    if got.shape != want.shape:
        return "differs", f"{operators}: shape {got.shape}, by onnxruntime {want.shape}"
    furthest = float(np.abs(got - want).max() / max(1.0, np.abs(want).max()))
    if furthest > TOLERANCE:
        return "differs", f"{operators}: by {furthest:.1e}"
    return "agrees", operators


def trusted() -> set[str]:
    """The operators that the engine is trusted with."""
    [body] = re.findall(r"^pub\(super\) fn allowed.*?^}", TRUSTED.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    arms = re.findall(r"((?:\"\w+\"[\s|]*)+)=>", body)
    return {name for arm in arms for name in re.findall(r"\w+", arm)} | {"Constant"}


def main() -> int:
    """As many models as asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("spadework")
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="stop after so long, however many models that are")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    refused: collections.Counter[str] = collections.Counter()
    unseen = trusted()
    kept = Path(tempfile.gettempdir()) / f"spadework-random-models-{options.seed}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        until = time.monotonic() + 60 * (options.minutes or float("inf"))
        for at in range(options.models):
            if time.monotonic() >= until:
                break
            outcome, detail = check(options.spadework, np.random.default_rng([options.seed, at]), folder)
            counts[outcome] += 1
            if outcome == "refused":
                refused[detail.split(" of node")[0].rsplit(" ", 1)[-1]] += 1
            elif outcome == "agrees":
                unseen -= set(detail.split())
            else:
                kept.mkdir(exist_ok=True)
                (kept / f"{at}.onnx").write_bytes((folder / "model.onnx").read_bytes())
                (kept / f"{at}.npy").write_bytes((folder / "x.npy").read_bytes())
                print(f"{outcome:8} model {at} ({kept}/{at}.onnx): {detail}")
    total = counts.total()
    without = f"; in no model that agrees: {', '.join(sorted(unseen))}" if unseen else ""
    print(f"{total} random models, seed {options.seed}: {dict(counts)}; refused: {dict(refused)}{without}")
    # A generator or an engine that refuses everything would prove nothing.
    proves = counts["agrees"] >= total // 2 and not (unseen and total >= ENOUGH)
    return int(counts["differs"] + counts["failed"] > 0 or not proves)


if __name__ == "__main__":
    sys.exit(main())
