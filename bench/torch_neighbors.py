"""Exact neighbors on a GPU: `spadework.torch.knn_graph` compared with the loop that people write in PyTorch, on the same tensors.

    python bench/torch_neighbors.py [--quick] [--out FILE]

Needs a CUDA device. Prints a Markdown table; the graph is compared with the CPU's, edge by edge, where that takes seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import spadework
import torch
from spadework import _cuda_neighbors
from spadework.torch import knn_graph


def naive(samples: Any, neighbors: int, block: int) -> Any:
    """Products in blocks, the k + 1 smallest distances of every row, the row itself dropped."""
    squares = samples.square().sum(1)
    found = []
    for begin in range(0, len(samples), block):
        distances = squares - 2 * samples[begin : begin + block] @ samples.T
        rows = torch.arange(len(distances), device=samples.device)
        distances[rows, rows + begin] = torch.inf
        found.append(distances.topk(neighbors, largest=False).indices)
    return torch.cat(found)


def timed(task: Any, repeats: int) -> tuple[float, Any]:
    """The best time of several, and the result."""
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = task()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return best, result


def images_like(count: int, dim: int, rank: int, seed: int) -> Any:
    """Clusters on a few axes of falling variance with fine noise, as images and features have them."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    axes = torch.randn(rank, dim, device="cuda", generator=generator) / dim**0.5
    axes *= torch.arange(1, rank + 1, device="cuda")[:, None] ** -0.5
    centers = 2 * torch.randn(10, rank, device="cuda", generator=generator)
    labels = torch.randint(10, (count,), device="cuda", generator=generator)
    samples = torch.empty(count, dim, device="cuda")
    for begin in range(0, count, 1 << 16):
        part = labels[begin : begin + (1 << 16)]
        position = centers[part] + torch.randn(len(part), rank, device="cuda", generator=generator)
        samples[begin : begin + len(part)] = position @ axes
        samples[begin : begin + len(part)] += 0.01 * torch.randn(len(part), dim, device="cuda", generator=generator)
    return samples


CASES = [
    ("images-like, 70,000 × 784", (70_000, 784, 200), 8192, True),
    ("Gaussian, no main axes, 70,000 × 784", (70_000, 784, None), 8192, True),
    ("clusters, 1,000,000 × 128", (1_000_000, 128, 64), 4096, False),
    ("features-like, 1,280,000 × 2,048", (1_280_000, 2048, 256), 4096, False),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the first two cases")
    parser.add_argument("--out", help="a JSON file of the figures")
    arguments = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, k = 10\n")
    print("| data | program | seconds | times ours | agrees |\n| --- | --- | ---: | ---: | --- |")
    figures = []
    for name, (count, dim, rank), block, on_cpu in CASES[: 2 if arguments.quick else None]:
        if rank is None:
            samples = torch.randn(count, dim, device="cuda", generator=torch.Generator(device="cuda").manual_seed(0))
        else:
            samples = images_like(count, dim, rank, seed=0)
        repeats = 3 if count < 100_000 else 1
        _cuda_neighbors.nearest(samples, 10)  # Compiles the kernels for this width.
        ours, (found, _) = timed(lambda samples=samples: _cuda_neighbors.nearest(samples, 10), repeats)
        theirs, other = timed(lambda samples=samples, block=block: naive(samples, 10, block), repeats)
        same = (found.sort(1).values == other.sort(1).values).all(1).float().mean().item()
        agrees = f"{100 * same:.3f} % of the rows the same"
        equal = None
        if on_cpu:
            equal = (knn_graph(samples) != spadework.knn_graph(samples.cpu().numpy(), verbose=False)).nnz == 0
            agrees += "; the graph equals the CPU's" if equal else "; the graph DIFFERS from the CPU's"
        print(f"| {name} | **Spadework** | {ours:.3g} | | |")
        print(f"| {name} | loop in PyTorch | {theirs:.3g} | {theirs / ours:.3g}× | {agrees} |", flush=True)
        figures.append({"data": name, "ours": ours, "loop": theirs, "same_rows": same, "equals_cpu": None if equal is None else bool(equal)})
        del samples, found, other
        torch.cuda.empty_cache()
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "figures": figures}, file, indent=1)


if __name__ == "__main__":
    main()
