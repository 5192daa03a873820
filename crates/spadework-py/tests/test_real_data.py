"""The oracle's numbers on MNIST and LeNet-5 networks: λ_1 and λ_2 by SciPy's ARPACK on exact neighbors."""

from __future__ import annotations

import numpy as np
import pytest
import spadework

ORACLE = {
    "lenet5_eps0.0": (41.46679534, 37.44303724),
    "lenet5_eps0.2": (40.62757860, 25.61636601),
    "lenet5_eps0.4": (34.45482013, 18.55177056),
}


def test_the_oracle_agrees(mnist):
    pixels, logits = mnist
    comparison = spadework.compare(pixels, {name: logits[name] for name in ORACLE})
    for name, expected in ORACLE.items():
        # The oracle's numbers have ten digits; ours are off by about the square of the residual, 1e-12.
        assert comparison[name].eigenvalues == pytest.approx(expected, rel=1e-8)
    scaled = pixels.reshape(10000, 784).astype(np.float32) / 255
    report = spadework.score(scaled, logits["lenet5_eps0.4"])
    assert report.model_score == comparison["lenet5_eps0.4"].model_score
