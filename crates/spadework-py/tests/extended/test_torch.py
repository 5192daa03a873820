"""spadework.torch with the real library."""

from __future__ import annotations

import copy
import doctest

import numpy as np
import pytest
import spadework
import spadework.torch
import torch
from spadework._arrays import as_rows
from spadework import _cuda_neighbors
from spadework.torch import PerturbationBudget, collect_outputs, knn_graph, layer_outputs, pgd
from torch.utils.data import DataLoader, TensorDataset


def test_tensors_go_in_without_a_copy(data, network):
    images, _ = data
    rows = as_rows(images, "inputs")
    assert rows.shape == (1797, 64) and np.shares_memory(rows, images.numpy())
    assert as_rows(torch.nn.Parameter(images[:3]), "inputs").shape == (3, 64)
    assert np.array_equal(as_rows(images[:3].to(torch.bfloat16), "inputs"), rows[:3].astype(np.float32))
    assert np.array_equal(as_rows(images[:3].half(), "inputs"), rows[:3])
    pixels = (images[:3] * 255).to(torch.uint8)
    assert np.array_equal(as_rows(pixels, "inputs"), pixels.numpy().reshape(3, 64) / np.float32(255))
    with torch.inference_mode():
        outputs = network(images)
    report = spadework.score(images, outputs, verbose=False)
    assert report.model_score == spadework.score(images.numpy(), outputs.numpy(), verbose=False).model_score


def test_outputs_are_collected_in_inference_mode_and_modes_restored(data, network):
    images, labels = data
    network.train()
    network[1].eval()
    modes = [module.training for module in network.modules()]
    inputs, outputs, target = collect_outputs(network, DataLoader(TensorDataset(images, labels), batch_size=200))
    assert [module.training for module in network.modules()] == modes
    network.eval()
    with torch.no_grad():
        expected = network(images).numpy()
    # Batches of another size sum in another order.
    assert outputs == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert np.array_equal(inputs, images.numpy()) and np.array_equal(target, labels.numpy())
    assert collect_outputs(network, images.split(300)).labels is None
    with pytest.raises(ValueError, match="at least one batch"):
        collect_outputs(network, [])


def test_a_failing_model_gets_its_modes_back(network):
    network.train()
    with pytest.raises(RuntimeError):
        collect_outputs(network, [torch.zeros(2, 7)])
    assert network.training
    network.eval()


def test_layers(data, network):
    images, _ = data
    layers = layer_outputs(network, images.split(500), ["2", "5"])
    assert layers["2"].shape == (1797, 8, 8, 8)
    assert layers["5"] == pytest.approx(collect_outputs(network, images.split(500)).outputs, abs=1e-5)
    assert not network[2]._forward_hooks
    comparison = spadework.compare(images, layers, verbose=False)
    assert set(comparison) == {"2", "5"}
    with pytest.raises(ValueError, match="layers must be modules of the model, got 'conv9'"):
        layer_outputs(network, images.split(500), ["conv9"])


def test_a_network_is_probed_by_dlpack(data, network):
    images, labels = data

    def model(x):
        with torch.inference_mode():
            return network(torch.from_dlpack(x))

    call = dict(probe="linf:0.1", labels=labels, probes=16, samples=50, verbose=False)
    found = spadework.probe(model, images, **call)
    assert found.accuracy > 0.8 and 0 < found.survived < found.accuracy
    by_copies = spadework.probe(lambda x: model(x.copy()).numpy(), images.numpy(), **{**call, "labels": labels.numpy()})
    assert np.array_equal(found.probe_margins, by_copies.probe_margins)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_network_on_a_gpu_is_probed_there(data, network):
    images, labels = (tensor.to("cuda") for tensor in data)
    seen, there = set(), copy.deepcopy(network).to("cuda")

    def model(x):
        seen.add((type(x), x.device, x.dtype))
        with torch.inference_mode():
            return there(x)

    found = spadework.probe(model, images, "linf:0.1", labels=labels, probes=16, samples=50, verbose=False)
    assert seen == {(torch.Tensor, images.device, torch.float32)}
    assert found.accuracy > 0.8 and found.survived < found.accuracy


def test_attacks_stay_in_their_box_and_hurt(data, network):
    images, labels = data
    x, y = images[:200], labels[:200]
    eps = torch.where(torch.arange(200) < 100, 0.3, 0.05)
    before = [parameter.grad for parameter in network.parameters()]
    attacked = pgd(network, x, y, eps, steps=10, seed=1)
    change = (attacked - x).abs().amax(dim=(1, 2, 3))
    # Sums of x and eps round in single precision.
    assert torch.all(change <= eps + 1e-6) and attacked.min() >= 0 and attacked.max() <= 1
    assert change[:100].max() > 0.29 and change[100:].max() > 0.04
    with torch.no_grad():
        clean, hurt = ((network(inputs).argmax(1) == y).float() for inputs in (x, attacked))
    assert hurt[:100].mean() < clean[:100].mean() - 0.2
    assert all(a is b for a, b in zip(before, [parameter.grad for parameter in network.parameters()]))
    assert torch.equal(attacked, pgd(network, x, y, eps, steps=10, seed=1))
    assert torch.equal(pgd(network, x, y, 0.0), x)
    for wrong in (torch.ones(3), -0.1, float("nan")):
        with pytest.raises(ValueError, match="eps must be"):
            pgd(network, x, y, wrong)


def test_a_training_loop_with_a_budget(data, network):
    images, labels = data
    report = spadework.score(images, collect_outputs(network, images.split(500)).outputs, verbose=False)
    budget = PerturbationBudget(report, top=1600, large=0.2, small=0.1)
    assert len(budget) == 1797 and int((budget.sizes > 0.15).sum()) == 1600
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(15):
        for x, y, index in DataLoader(TensorDataset(images, labels, torch.arange(1797)), batch_size=256):
            attacked = pgd(model, x, y, budget(index), steps=3)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(attacked), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_the_examples_run():
    failed, tried = doctest.testmod(spadework.torch)
    assert tried > 5 and failed == 0


def neighbor_cases():
    rng = np.random.default_rng(0)
    centers = 100 * rng.normal(size=(20, 30))
    return {
        "gaussian": rng.normal(size=(1500, 37)).astype(np.float32),
        "ties": rng.integers(0, 3, size=(1200, 9)).astype(np.float32),
        "far from the origin": rng.normal(size=(900, 20)) + 1e6,
        "tiny": 1e-30 * rng.normal(size=(700, 20)),
        "clusters": (centers[rng.integers(0, 20, 1200)] + 0.01 * rng.normal(size=(1200, 30))).astype(np.float32),
        "one far row": np.vstack([rng.normal(size=(999, 10)), np.full((1, 10), 1e4)]).astype(np.float32),
    }


@pytest.mark.parametrize("name", neighbor_cases())
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA"))])
@pytest.mark.parametrize("neighbors", [1, 10])
def test_half_precision_with_its_margin_finds_the_same_graph_as_the_cpu(name, device, neighbors, monkeypatch):
    # Small enough that several blocks, and the step that narrows the radii, take part.
    monkeypatch.setattr(_cuda_neighbors, "_SAMPLE", 32)
    monkeypatch.setattr(_cuda_neighbors, "_BLOCK", 100)
    samples = neighbor_cases()[name]
    found, distances = _cuda_neighbors.nearest(torch.from_numpy(samples).to(device), neighbors)
    expected = spadework.knn_graph(samples, neighbors=neighbors, search="exact", verbose=False)
    assert (spadework.torch._graph_of_lists(found) != expected).nnz == 0
    assert np.all(np.diff(distances.cpu().numpy(), axis=1) >= 0)


def test_rows_that_are_mostly_equal_are_given_up(monkeypatch):
    monkeypatch.setattr(_cuda_neighbors, "_SAMPLE", 32)
    with pytest.raises(_cuda_neighbors.TooManyTies):
        _cuda_neighbors.nearest(torch.zeros(5000, 4), 2)


def test_memory_that_runs_out_makes_blocks_smaller(monkeypatch):
    samples = torch.from_numpy(neighbor_cases()["gaussian"])
    whole, _ = _cuda_neighbors.nearest(samples, 5)
    sizes = []
    candidates = _cuda_neighbors._candidates

    def short_of_memory(rounded, begin, end, neighbors):
        sizes.append(end - begin)
        if end - begin > 500:
            raise torch.cuda.OutOfMemoryError("none left")
        return candidates(rounded, begin, end, neighbors)

    monkeypatch.setattr(_cuda_neighbors, "_candidates", short_of_memory)
    found, _ = _cuda_neighbors.nearest(samples, 5)
    assert sizes[0] == 1500 and max(sizes[1:]) <= 500 and torch.equal(found, whole)


def test_a_tensor_on_the_cpu_is_searched_there_with_a_note():
    samples = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    with pytest.warns(spadework.SpadeworkWarning, match="searched on the CPU: the samples are not on a CUDA device"):
        graph = knn_graph(samples, neighbors=3)
    assert (graph != spadework.knn_graph(samples.numpy(), neighbors=3, verbose=False)).nnz == 0
    with pytest.raises(ValueError, match="neighbors"):
        knn_graph(samples, neighbors=50, verbose=False)
