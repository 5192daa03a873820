"""Models that take arrays on a device, such as PyTorch tensors on a GPU.

Probes are made on the CPU. If the inputs lie on another device, every batch goes there before it is given to the model, as an array of the
same library, and of the outputs only the numbers come back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import is_elsewhere


def _as_it_is(array: Any) -> Any:
    return array


class Placed(NamedTuple):
    """Inputs in the memory of the CPU, and how batches of them go to the model and its outputs come back."""

    inputs: Any
    to_model: Callable[[npt.NDArray[np.float32]], Any] = _as_it_is
    from_model: Callable[[Any], Any] = _as_it_is


def placed(inputs: Any) -> Placed:
    """Inputs of any device; those in the memory of the CPU stay as they are, and so do batches of them."""
    if not is_elsewhere(inputs):
        return Placed(inputs)
    return Placed(to_cpu(inputs, "inputs"), _sender(inputs), lambda outputs: to_cpu(outputs, "outputs of the model"))


def to_cpu(array: Any, argument: str) -> Any:
    """The same numbers in the memory of the CPU."""
    if not is_elsewhere(array):
        return array
    if hasattr(array, "detach"):  # PyTorch, whose tensors may need gradients
        return array.detach().cpu()
    if hasattr(array, "get"):  # CuPy
        return array.get()
    try:
        return np.from_dlpack(array, device="cpu", copy=True)  # type: ignore[call-arg,unused-ignore]
    except (AttributeError, BufferError, RuntimeError, TypeError) as error:
        raise ValueError(
            f"{argument}: an array of type {type(array).__name__} cannot be copied to the memory of the CPU by DLPack: {error}"
        ) from error


def _sender(like: Any) -> Callable[[npt.NDArray[np.float32]], Any]:
    """What brings NumPy's arrays to the device of another one, as arrays of its library."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return lambda batch: torch.from_numpy(np.ascontiguousarray(batch)).to(like.device)
    if not hasattr(like, "__array_namespace__"):
        raise ValueError(
            f"inputs: batches cannot be made on the device of an array of type {type(like).__name__}, whose library has no array API "
            "(`__array_namespace__`): pass a copy in the memory of the CPU, and let the model move its batches"
        )
    library = like.__array_namespace__()
    return lambda batch: library.asarray(batch, device=like.device)


#: What cuBLAS, Triton and CUDA itself say when memory of the GPU runs out; PyTorch's allocator has an error of its own.
_OUT_OF_MEMORY = ("CUBLAS_STATUS_ALLOC_FAILED", "Triton Error [CUDA]: out of memory", "CUDA error: out of memory")


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether work on a GPU failed because its memory ran out."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(error, torch.cuda.OutOfMemoryError):
        return True
    return any(words in str(error) for words in _OUT_OF_MEMORY)
