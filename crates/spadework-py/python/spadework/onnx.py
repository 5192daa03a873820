"""Run model files in the ONNX format with the built-in engine; there is nothing else to install.

>>> import spadework.onnx
>>> logits = spadework.onnx.predict("net.onnx", X)          # doctest: +SKIP
>>> spadework.score(X, logits)                              # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, overload

import numpy as np
import numpy.typing as npt

from . import _native, _notes
from ._arrays import as_rows, sample_shape
from ._progress import progress_bars
from ._settings import named, whole_number

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ModelFile", "describe", "predict"]


def feed(
    *,
    output_name: str | Sequence[str] | None = None,
    before_softmax: bool = False,
    input_name: str | None = None,
    input_layout: str | None = None,
    normalize: Sequence[float] | None = None,
    batch_size: int | None = None,
    engine: Literal["auto", "builtin", "onnxruntime"] = "auto",
    onnxruntime: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """How a model is run, as the native module takes it; not for users."""
    names = [output_name] if isinstance(output_name, str) else list(output_name or ())
    return {
        "outputs": [str(name) for name in names],
        "before_softmax": bool(before_softmax),
        "input_name": input_name,
        "layout": input_layout,
        "normalize": None if normalize is None else [float(number) for number in normalize],
        "batch_size": None if batch_size is None else whole_number(batch_size, "batch_size", least=1),
        "engine": str(engine),
        "onnxruntime": None if onnxruntime is None else os.fspath(onnxruntime),
    }


class ModelFile(NamedTuple):
    """The description of a model file."""

    #: Names of the inputs.
    inputs: list[str]
    #: Names of the outputs.
    outputs: list[str]
    #: The name and the operator of every node, in the order of the file.
    layers: list[tuple[str, str]]
    #: Numbers that were trained.
    parameters: int
    #: Version of the operators.
    opset: int
    #: The program that wrote the file.
    producer: str | None


def describe(model: str | os.PathLike[str]) -> ModelFile:
    """Describe a model file: inputs, outputs, layers, parameters.

    Parameters
    ----------
    model : path
        An ONNX file.

    Returns
    -------
    ModelFile
    """
    return ModelFile(**_native.describe_model(os.fspath(model)))


class _Options(TypedDict, total=False):
    """The arguments of `predict` that both of its forms take."""

    before_softmax: bool
    input_name: str | None
    input_layout: Literal["nchw", "nhwc"] | None
    normalize: Sequence[float] | None
    batch_size: int | None
    engine: Literal["auto", "builtin", "onnxruntime"]
    onnxruntime: str | os.PathLike[str] | None
    threads: int | None
    verbose: bool | None


@overload
def predict(
    model: str | os.PathLike[str], inputs: Any, *, output_name: str | None = ..., **options: Unpack[_Options]
) -> npt.NDArray[np.float32]: ...
@overload
def predict(
    model: str | os.PathLike[str], inputs: Any, *, output_name: Sequence[str], **options: Unpack[_Options]
) -> dict[str, npt.NDArray[np.float32]]: ...
def predict(
    model: str | os.PathLike[str],
    inputs: Any,
    *,
    output_name: str | Sequence[str] | None = None,
    before_softmax: bool = False,
    input_name: str | None = None,
    input_layout: Literal["nchw", "nhwc"] | None = None,
    normalize: Sequence[float] | None = None,
    batch_size: int | None = None,
    engine: Literal["auto", "builtin", "onnxruntime"] = "auto",
    onnxruntime: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    verbose: bool | None = None,
) -> npt.NDArray[np.float32] | dict[str, npt.NDArray[np.float32]]:
    """Run a model on samples, in batches, on all cores.

    Parameters
    ----------
    model : path
        An ONNX file.
    inputs : array-like of shape (n, ...)
        The samples, flattened or in the shape that the model takes; uint8 counts as pixels and becomes x/255.
    output_name : str or sequence of str, optional
        The output to use, or a node or value inside the model; the first output by default. Several names give a dictionary,
        e.g. the activations of layers.
    before_softmax : bool, default=False
        Use the values before the softmax at the end of the output.
    input_name : str, optional
        The model's input for the samples, if it has several.
    input_layout : {"nchw", "nhwc"}, optional
        Order of the numbers of an image, if the shape of the array does not show it.
    normalize : sequence of float, optional
        A mean to subtract and a standard deviation to divide by, or the means and then the standard deviations of all channels.
    batch_size : int, optional
        Samples per run of the model, if the model allows a choice.
    engine : {"auto", "builtin", "onnxruntime"}, default="auto"
        What runs the model: "builtin" is the built-in engine, "onnxruntime" an onnxruntime that is installed, and "auto" the
        built-in engine and, for models that it refuses, onnxruntime.
    onnxruntime : path, optional
        An onnxruntime library, or a folder that contains one (``onnxruntime.__path__[0]``), to run the model.
    threads, verbose
        As in `spadework.score`.

    Returns
    -------
    ndarray of shape (n, ...), or dict of str to ndarray

    Raises
    ------
    ValueError
        When the file is not a model, an operator is not supported, the samples do not fit, or an output is not finite.
    """
    fed = feed(**named(locals(), feed))
    count = None if threads is None else whole_number(threads, "threads", least=1)
    shape = sample_shape(inputs)
    rows = as_rows(inputs, "inputs")
    with progress_bars(verbose) as progress:
        made, notes = _native.run_model(os.fspath(model), rows, shape, fed, count, progress)
    _notes.told_of(json.loads(notes), verbose)
    if output_name is None or isinstance(output_name, str):
        return made[0]
    return dict(zip(fed["outputs"], made))
