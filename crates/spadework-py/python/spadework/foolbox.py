"""Evaluate selected samples with Foolbox.

Needs Foolbox and PyTorch: ``pip install 'spadework[foolbox,torch]'``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._guided import Guided, guided, indices_of, labels_of
from ._optional import needed

needed("foolbox", "spadework.foolbox", "foolbox")

__all__ = ["Guided", "evaluate"]


def evaluate(model: Any, attack: Any, x: npt.ArrayLike, y: npt.ArrayLike, indices: Any, *, epsilon: float) -> Guided:
    """Attack some samples with an attack of Foolbox.

    Parameters
    ----------
    model : foolbox.models.PyTorchModel
        The model, as Foolbox wraps it.
    attack : foolbox.attacks.Attack
        The attack.
    x : array-like of shape (n, ...)
        All inputs, as the model takes them.
    y : array-like of shape (n,)
        All labels.
    indices : array-like of int, or Report
        The samples to attack; for a report, its 100 most fragile.
    epsilon : float
        Size of the attack.

    Returns
    -------
    Guided
    """
    torch = needed("torch", "spadework.foolbox", "torch")
    all_inputs = np.asarray(x)
    chosen = indices_of(indices, len(all_inputs))
    labels = labels_of(y, chosen)
    inputs = torch.as_tensor(all_inputs[chosen]).to(model.device)
    _, attacked, _ = attack(model, inputs, torch.as_tensor(labels).to(model.device), epsilons=epsilon)

    def array(tensor: Any) -> npt.NDArray[Any]:
        numbers: npt.NDArray[Any] = tensor.detach().cpu().numpy()
        return numbers

    return guided(chosen, labels, array(model(inputs)), array(model(attacked)), array(inputs), array(attacked))
