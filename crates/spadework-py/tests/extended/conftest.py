"""Networks that several tests use."""

from __future__ import annotations

import pytest
import torch
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def data():
    digits = load_digits()
    return torch.tensor(digits.images / 16, dtype=torch.float32)[:, None], torch.tensor(digits.target)


@pytest.fixture(scope="session")
def network(data):
    """A small convolutional network with batch normalization and dropout, trained for a while."""
    torch.manual_seed(0)
    images, labels = data
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(512, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return model.eval()
