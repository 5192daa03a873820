"""PyTorch: outputs of models and layers, attacks with one size per sample, budgets for training.

Needs PyTorch: ``pip install 'spadework[torch]'``.

>>> import torch, spadework
>>> from spadework.torch import collect_outputs
>>> model = torch.nn.Linear(4, 3)
>>> images = torch.randn(100, 4, generator=torch.Generator().manual_seed(0))
>>> inputs, outputs, labels = collect_outputs(model, images.split(32))
>>> report = spadework.score(inputs, outputs, verbose=False)
>>> report.node_scores.shape
(100,)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _functions
from ._devices import is_out_of_memory, to_cpu
from ._functions import perturbation_budget
from ._notes import Note, tell
from ._optional import needed
from ._report import Report, matrix
from ._settings import number, whole_number

torch = needed("torch", "spadework.torch", "torch")


class Collected(NamedTuple):
    """Inputs, outputs and labels, one row per sample."""

    #: Inputs of shape (n, ...).
    inputs: npt.NDArray[Any]
    #: Outputs of shape (n, ...).
    outputs: npt.NDArray[Any]
    #: Labels of shape (n,), or None where the loader gives none.
    labels: npt.NDArray[Any] | None


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """The model as it is used, not as it is trained, and afterwards every module in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes:
            module.training = training


def _device(model: Any) -> Any:
    """Where the model is; the CPU where it has no parameters."""
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")


def _parts(batch: Any) -> tuple[Any, Any]:
    """Inputs and labels of a batch: a tensor alone, or a sequence that begins with them."""
    if isinstance(batch, (tuple, list)):
        return batch[0], batch[1] if len(batch) > 1 else None
    return batch, None


def _array(parts: Sequence[Any]) -> npt.NDArray[Any]:
    whole = torch.cat([part.detach().cpu() for part in parts])
    array: npt.NDArray[Any] = (whole.float() if whole.dtype == torch.bfloat16 else whole).numpy()
    return array


def collect_outputs(model: Any, loader: Iterable[Any]) -> Collected:
    """Run a model on all batches of a loader.

    The model runs in inference mode, and the mode of every module is restored afterwards. The loader must not shuffle or augment:
    row i of the inputs belongs to row i of the outputs, but another run would see other samples.

    Parameters
    ----------
    model : torch.nn.Module
        The model, on any device; batches are copied to it.
    loader : iterable
        Batches: tensors, or sequences of inputs and labels, as from a ``DataLoader``.

    Returns
    -------
    Collected
        Inputs, outputs and labels as NumPy arrays.
    """
    inputs, outputs, labels = [], [], []
    device = _device(model)
    with _evaluating(model):
        for batch in loader:
            x, y = _parts(batch)
            inputs.append(x.cpu())
            outputs.append(model(x.to(device)))
            if y is not None:
                labels.append(torch.as_tensor(y))
    if not inputs:
        raise ValueError("the loader must give at least one batch, got none")
    return Collected(_array(inputs), _array(outputs), _array(labels) if labels else None)


def layer_outputs(model: Any, loader: Iterable[Any], layers: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of some layers, for example to score every layer with ``compare``.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    loader : iterable
        As in `collect_outputs`.
    layers : sequence of str
        Names of modules, as in ``model.named_modules()``.

    Returns
    -------
    dict of str to ndarray of shape (n, ...)
        In the order of ``layers``.
    """
    modules = dict(model.named_modules())
    unknown = [name for name in layers if name not in modules]
    if unknown:
        raise ValueError(f"layers must be modules of the model, got {unknown[0]!r}; there are {sorted(filter(None, modules))}")
    found: dict[str, list[Any]] = {name: [] for name in layers}

    def keep(name: str) -> Any:
        return lambda module, arguments, output: found[name].append(output.detach().cpu())

    hooks = [modules[name].register_forward_hook(keep(name)) for name in found]
    device = _device(model)
    try:
        with _evaluating(model):
            for batch in loader:
                model(_parts(batch)[0].to(device))
    finally:
        for hook in hooks:
            hook.remove()
    missing = [name for name, parts in found.items() if not parts]
    if missing:
        raise ValueError(f"layer {missing[0]!r} gave nothing: the loader is empty, or the model does not use it")
    return {name: _array(parts) for name, parts in found.items()}


#: Between these, squared distances neither overflow nor lose digits in double precision.
_LEAST, _LARGEST = 1e-100, 1e100
#: Numbers whose sizes are compared at a time; a copy of all of them would take as much memory as the tensor.
_TOGETHER = 1 << 26


def knn_graph(samples: Any, *, neighbors: int = 10, verbose: bool | None = None) -> Any:
    """The neighbor graph of a tensor, found on its GPU; the same graph as that of `spadework.knn_graph` on the CPU.

    The search is exact: half precision only rules pairs out, with a proved margin, and what is left is decided in double
    precision. Needs SciPy. Distances are Euclidean and weights 1; `spadework.knn_graph` has the other choices.

    Parameters
    ----------
    samples : Tensor of shape (n, ...)
        Floating-point numbers on a CUDA device. A tensor on another device is searched on the CPU, and so is one whose rows are
        mostly equal, or that leaves the GPU too little memory even for small blocks of rows; a note says so.
    neighbors : int, default=10
        Neighbors per sample, k.
    verbose : bool, optional
        As in `score`.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Symmetric, without a diagonal. Pass it to `score` as ``input_graph=`` or ``output_graph=``.

    Examples
    --------
    >>> from spadework.torch import knn_graph
    >>> knn_graph(torch.tensor([0.0, 1.0, 2.5, 7.0]), neighbors=1, verbose=False).toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """
    try:
        reason = _why_not_on_gpu(samples)
        if reason is None:
            return _graph_on_gpu(samples, neighbors)
    except _CannotSearch as error:
        reason = str(error)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        reason = "the GPU has too little memory"
    tell([Note("searched-on-cpu", f"the neighbors were searched on the CPU: {reason}")], verbose)
    return _functions.knn_graph(to_cpu(samples, "samples"), neighbors=neighbors, verbose=verbose)


class _CannotSearch(Exception):
    """The tensor is searched on the CPU, and why."""


def _why_not_on_gpu(samples: Any) -> str | None:
    """Why a tensor cannot be searched where it is; what is wrong with it is said by the search on the CPU."""
    if not isinstance(samples, torch.Tensor) or samples.device.type != "cuda":
        return "the samples are not on a CUDA device"
    if not samples.is_floating_point():
        return f"numbers of type {str(samples.dtype).removeprefix('torch.')} have no decimal point"
    if samples.ndim == 0 or samples.numel() == 0:
        return "the tensor is empty"
    if not _LEAST < _largest(samples.detach()) < _LARGEST:
        return "the numbers are too small, too large or not finite"
    return None


def _largest(samples: Any) -> float:
    """The largest absolute value, NaN if there is one."""
    rows = max(_TOGETHER * len(samples) // samples.numel(), 1)
    return float(torch.stack([part.abs().max() for part in samples.split(rows)]).max())


def _graph_on_gpu(samples: Any, neighbors: int) -> Any:
    from . import _cuda_neighbors

    rows = samples.detach().reshape(len(samples), -1)
    count = whole_number(neighbors, "neighbors", least=1)
    if count >= len(rows):
        raise ValueError(f"neighbors must be less than the number of samples, {len(rows)}, got {count}")
    try:
        found, _ = _cuda_neighbors.nearest(rows, count)
    except _cuda_neighbors.TooManyTies:
        raise _CannotSearch("most samples have many others at nearly the same distance") from None
    try:
        return _graph_of_lists(found)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # What was found is not searched a second time.
    return _graph_of_lists(found.cpu())


def _graph_of_lists(found: Any) -> Any:
    """The graph in which two samples are joined where either is a neighbor of the other."""
    count, neighbors = found.shape
    own = torch.arange(count, device=found.device).repeat_interleave(neighbors)
    others = found.reshape(-1)
    # One number for each pair sorts and finds repetitions in one go.
    pairs = torch.unique(torch.minimum(own, others) * count + torch.maximum(own, others))
    edges = torch.stack([pairs // count, pairs % count], dim=1)
    return matrix(count, edges.cpu().numpy(), None)


def pgd(
    model: Any,
    x: Any,
    y: Any,
    eps: Any,
    *,
    steps: int = 10,
    step_size: float | None = None,
    random_start: bool = True,
    lower: float = 0.0,
    upper: float = 1.0,
    seed: int | None = None,
) -> Any:
    """Projected gradient descent in the maximum norm, with one size for all samples or for each.

    The model stays in its mode (training or inference), and its parameters get no gradients.

    Parameters
    ----------
    model : torch.nn.Module
        A classifier that returns the values before the softmax.
    x : Tensor of shape (n, ...)
        Inputs between ``lower`` and ``upper``.
    y : Tensor of shape (n,)
        Labels.
    eps : float, or array-like of shape (n,)
        Largest change of a number, for all samples or for each.
    steps : int, default=10
        Steps.
    step_size : float, optional
        Size of a step as a fraction of ``eps``; by default 2.5/steps, so that every point within ``eps`` can be reached.
    random_start : bool, default=True
        Whether to start at a random point of the box, or at ``x``.
    lower, upper : float, default=0 and 1
        Range of the inputs.
    seed : int, optional
        Seed of the random start; PyTorch's own state by default.

    Returns
    -------
    Tensor of shape (n, ...)
        The inputs after the attack.
    """
    count = whole_number(steps, "steps", least=1)
    part = 2.5 / count if step_size is None else number(step_size, "step_size")
    radius = torch.as_tensor(eps, dtype=x.dtype, device=x.device)
    if radius.ndim not in (0, 1) or (radius.ndim == 1 and len(radius) != len(x)):
        raise ValueError(f"eps must be a number or one per sample ({len(x)}), got shape {list(radius.shape)}")
    if not bool(torch.all(torch.isfinite(radius) & (radius >= 0))):
        raise ValueError("eps must be finite and not negative")
    radius = radius.reshape(-1, *[1] * (x.ndim - 1)).expand_as(x)
    start = x.detach()
    attacked = start.clone()
    if random_start:
        generator = None if seed is None else torch.Generator(device=x.device).manual_seed(seed)
        noise = torch.rand(x.shape, dtype=x.dtype, device=x.device, generator=generator) * 2 - 1
        attacked = (start + radius * noise).clamp(lower, upper)
    for _ in range(count):
        attacked.requires_grad_(True)
        loss = torch.nn.functional.cross_entropy(model(attacked), y, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, attacked)
        with torch.no_grad():
            attacked = attacked + part * radius * gradient.sign()
            attacked = torch.maximum(torch.minimum(attacked, start + radius), start - radius).clamp(lower, upper)
    return attacked.detach()


class PerturbationBudget:
    """A perturbation size for every sample of a training set, by its score: large for the fragile, small for the others.

    Parameters
    ----------
    node_scores : array-like of shape (n,), or Report
        Scores of the training samples, by a trained model.
    top : int
        How many of the most fragile samples get the large size.
    large, small : float
        The sizes.

    Examples
    --------
    In a training loop whose loader also gives the indices of the samples:

    >>> from spadework.torch import PerturbationBudget, pgd
    >>> budget = PerturbationBudget([0.1, 3.0, 0.2, 1.0], top=2, large=0.4, small=0.2)
    >>> [round(size, 1) for size in budget(torch.tensor([1, 2])).tolist()]
    [0.4, 0.2]

    ``attacked = pgd(model, x, y, budget(index))`` then attacks each sample of the batch with its own size.
    """

    def __init__(self, node_scores: npt.ArrayLike | Report, *, top: int, large: float, small: float) -> None:
        sizes = perturbation_budget(node_scores, top=top, large=large, small=small)
        self.sizes = torch.from_numpy(sizes.astype(np.float32))

    def __len__(self) -> int:
        return len(self.sizes)

    def __call__(self, indices: Any) -> Any:
        """Sizes of some samples.

        Parameters
        ----------
        indices : Tensor of int
            Indices of samples in the training set.

        Returns
        -------
        Tensor
            A size for each, on the device of the indices.
        """
        chosen = torch.as_tensor(indices)
        return self.sizes.to(chosen.device)[chosen]
