"""Make the data behind `spadework demo`: two small digit classifiers, one ordinary, one adversarially trained.

The demo needs two models of about the same accuracy whose robustness really differs, small enough to embed. Both are
the same multilayer perceptron, written in plain NumPy, trained on the same 80 % of the UCI digits (1,797 images of
8 x 8 pixels, values 0..16, used as pixels / 16) for the same number of epochs from the same initial weights in the same
order. The only difference is what they see: `standard` sees the images, `robust` sees what a projected-gradient (PGD)
attack within an L-infinity ball makes of them. The demo scores the logits of all 1,797 images, trained on or not.

This script computes no SPADE score. The settings were chosen by hand, on seeds 0 to 2, with the scores in view: a
one-layer network trained briefly scores about the same either way, and attacks weaker than 0.2 (seed 0) often left the
robust model's logits so well separated that their 10-nearest-neighbor graph falls apart, which a first demo should not
have to explain.

usage: python scripts/make_demo.py [--seed 0] [--digits FILE] [--out DIR]

Writes demo_standard.npy and demo_robust.npy (float32, 1797 x 10, C order, little endian) and demo.json into DIR, by
default the command-line crate's assets. The same seed gives the same arrays on the same machine and NumPy; another BLAS
rounds differently, training amplifies that, and the models then come out alike in kind but not in their digits.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

Array = np.ndarray
Attack = Callable[["Network", Array, Array], Array]

CRATES = Path(__file__).resolve().parent.parent / "crates"
ASSETS = CRATES / "spadework-cli" / "assets"
DIGITS = CRATES / "spadework-io" / "assets" / "digits.csv.gz"
CREDIT = (
    "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, "
    "https://doi.org/10.24432/C50P49 (CC BY 4.0); the 1,797 images as distributed with scikit-learn (BSD 3-Clause)."
)


@dataclass(frozen=True)
class Settings:
    """Every choice that shapes the two models; written to demo.json as it is."""

    hidden: tuple[int, ...] = (256, 256)
    epochs: int = 100
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    train_share: float = 0.8
    train_epsilon: float = 0.2
    train_steps: int = 10
    eval_epsilon: float = 0.15
    eval_steps: int = 50
    eval_restarts: int = 5


class Network:
    """Multilayer perceptron with ReLU between layers; the last layer's values are the logits."""

    def __init__(self, sizes: tuple[int, ...], rng: np.random.Generator) -> None:
        pairs = list(pairwise(sizes))
        self.weights = [rng.standard_normal(p) * np.sqrt(2.0 / p[0]) for p in pairs]
        self.biases = [np.zeros(p[1]) for p in pairs]

    def activations(self, x: Array) -> list[Array]:
        """Input of every layer, and the logits last."""
        values = [x]
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ w + b
            if i + 1 < len(self.weights):
                x = np.maximum(x, 0.0)
            values.append(x)
        return values

    def logits(self, x: Array) -> Array:
        """Values right before the softmax: what SPADE takes as the model's output."""
        return self.activations(x)[-1]

    def input_gradient(self, x: Array, y: Array) -> Array:
        """Gradient of each sample's cross-entropy with respect to its pixels."""
        values = self.activations(x)
        delta = cross_entropy_gradient(values[-1], y)
        for i in range(len(self.weights) - 1, 0, -1):
            delta = (delta @ self.weights[i].T) * (values[i] > 0)
        return delta @ self.weights[0].T

    def parameter_gradients(self, x: Array, y: Array) -> list[Array]:
        """Gradients of the mean cross-entropy, in the order of `parameters`."""
        values = self.activations(x)
        delta = cross_entropy_gradient(values[-1], y) / len(x)
        by_layer: list[tuple[Array, Array]] = []
        for i in range(len(self.weights) - 1, -1, -1):
            by_layer.append((values[i].T @ delta, delta.sum(axis=0)))
            if i:
                delta = (delta @ self.weights[i].T) * (values[i] > 0)
        by_layer.reverse()
        return [w for w, _ in by_layer] + [b for _, b in by_layer]

    def parameters(self) -> list[Array]:
        """The arrays themselves, so that an optimizer can update them in place."""
        return self.weights + self.biases


class Adam:
    """Adam with decoupled weight decay on the weight matrices (biases are left alone)."""

    def __init__(self, network: Network, weight_decay: float) -> None:
        self.network, self.weight_decay, self.step_count = network, weight_decay, 0
        self.first = [np.zeros_like(p) for p in network.parameters()]
        self.second = [np.zeros_like(p) for p in network.parameters()]

    def step(self, gradients: list[Array], rate: float) -> None:
        """Update the network's parameters in place."""
        self.step_count += 1
        c1, c2 = 1 - 0.9**self.step_count, 1 - 0.999**self.step_count
        for w in self.network.weights:
            w *= 1 - rate * self.weight_decay
        for p, g, m, v in zip(self.network.parameters(), gradients, self.first, self.second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= rate * (m / c1) / (np.sqrt(v / c2) + 1e-8)


def cross_entropy_gradient(logits: Array, y: Array) -> Array:
    """softmax(logits) - one_hot(y), row by row."""
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1.0
    return p


def pgd(network: Network, x: Array, y: Array, epsilon: float, steps: int, rng: np.random.Generator) -> Array:
    """L-infinity projected gradient ascent on the loss, from a random point of the ball, inside the pixel range."""
    low, high = np.maximum(x - epsilon, 0.0), np.minimum(x + epsilon, 1.0)
    adversarial = rng.uniform(low, high)
    for _ in range(steps):
        step = 2.5 * epsilon / steps * np.sign(network.input_gradient(adversarial, y))
        adversarial = np.clip(adversarial + step, low, high)
    return adversarial


def train(x: Array, y: Array, settings: Settings, seed: int, attack: Attack | None) -> Network:
    """Train from the seed's weights and batch order; with an attack, on its images in place of the clean ones."""
    rng = np.random.default_rng([seed, 1])
    network = Network((x.shape[1], *settings.hidden, 10), rng)
    optimizer = Adam(network, settings.weight_decay)
    for epoch in range(settings.epochs):
        rate = settings.learning_rate * 0.5 * (1 + np.cos(np.pi * epoch / settings.epochs))
        order = rng.permutation(len(x))
        for start in range(0, len(x), settings.batch):
            rows = order[start : start + settings.batch]
            seen = x[rows] if attack is None else attack(network, x[rows], y[rows])
            optimizer.step(network.parameter_gradients(seen, y[rows]), rate)
    return network


def accuracy(network: Network, x: Array, y: Array) -> float:
    """Share of samples whose largest logit is the label's."""
    return float((network.logits(x).argmax(axis=1) == y).mean())


def pgd_accuracy(network: Network, x: Array, y: Array, settings: Settings, seed: int) -> float:
    """Share of samples that are right on the clean image and on every restart of the attack."""
    rng = np.random.default_rng([seed, 3])
    right = network.logits(x).argmax(axis=1) == y
    for _ in range(settings.eval_restarts):
        adversarial = pgd(network, x, y, settings.eval_epsilon, settings.eval_steps, rng)
        right &= network.logits(adversarial).argmax(axis=1) == y
    return float(right.mean())


def read_digits(path: Path) -> tuple[Array, Array]:
    """Images as pixels / 16 (exact in float32: multiples of 1/16) and their labels."""
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :-1] / 16.0, table[:, -1].astype(np.int64)


def split(n: int, share: float, seed: int) -> tuple[Array, Array]:
    """Seeded rows to train on and rows held out."""
    order = np.random.default_rng([seed, 0]).permutation(n)
    cut = round(n * share)
    return np.sort(order[:cut]), np.sort(order[cut:])


def train_both(x: Array, y: Array, rows: Array, settings: Settings, seed: int) -> dict[str, Network]:
    """The two models, alike in everything but the attack."""
    rng = np.random.default_rng([seed, 2])

    def attack(network: Network, images: Array, labels: Array) -> Array:
        return pgd(network, images, labels, settings.train_epsilon, settings.train_steps, rng)

    return {
        "standard": train(x[rows], y[rows], settings, seed, None),
        "robust": train(x[rows], y[rows], settings, seed, attack),
    }


def describe(network: Network, x: Array, y: Array, held_out: Array, settings: Settings, seed: int) -> dict[str, float]:
    """What the model gets right on rows it was not trained on."""
    return {
        "clean_accuracy": round(accuracy(network, x[held_out], y[held_out]), 4),
        "pgd_accuracy": round(pgd_accuracy(network, x[held_out], y[held_out], settings, seed), 4),
    }


def facts(settings: Settings, seed: int, n: int, trained: int) -> dict[str, object]:
    """The part of demo.json that says how the models came to be."""
    return {
        "data": {
            "name": "UCI digits",
            "samples": n,
            "input_dim": 64,
            "scaling": "pixels / 16",
            "train_rows": trained,
            "held_out_rows": n - trained,
            "credit": CREDIT,
        },
        "attack": {
            "norm": "linf",
            "epsilon": settings.eval_epsilon,
            "steps": settings.eval_steps,
            "restarts": settings.eval_restarts,
            "rows": "held out",
        },
        "training": {"seed": seed, "network": "MLP, ReLU", "optimizer": "Adam, cosine rate", **asdict(settings)},
        "made_by": "scripts/make_demo.py",
    }


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description="Make the models behind `spadework demo`.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--digits", type=Path, default=DIGITS)
    parser.add_argument("--out", type=Path, default=ASSETS)
    args = parser.parse_args()

    settings = Settings()
    x, y = read_digits(args.digits)
    rows, held_out = split(len(x), settings.train_share, args.seed)
    record = {"schema": "spadework.demo/1", **facts(settings, args.seed, len(x), len(rows)), "models": []}
    for name, network in train_both(x, y, rows, settings, args.seed).items():
        measured = describe(network, x, y, held_out, settings, args.seed)
        file = f"demo_{name}.npy"
        np.save(args.out / file, np.ascontiguousarray(network.logits(x), dtype="<f4"))
        record["models"].append({"name": name, "file": file, **measured})
        print(f"{name:9} held out: clean {measured['clean_accuracy']:.4f}, PGD {measured['pgd_accuracy']:.4f}")
    (args.out / "demo.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
