"""spadework.torch with the real library."""

from __future__ import annotations

import copy
import doctest

import numpy as np
import pytest
import spadework
import spadework.torch
import torch
from spadework._arrays import as_rows, as_samples
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


class OnGpu(torch.Tensor):
    """What the rest of the package sees of a tensor on a CUDA device; its numbers lie in the memory of the CPU."""

    def __dlpack_device__(self):
        return 2, 0

    def cpu(self):
        return self.as_subclass(torch.Tensor)


def on_gpu(samples, monkeypatch):
    monkeypatch.setattr(spadework.torch, "_why_not_on_gpu", lambda samples: None)
    return samples.as_subclass(OnGpu)


def same_graph(graph, samples, neighbors):
    return (graph != spadework.knn_graph(samples.numpy(), neighbors=neighbors, verbose=False)).nnz == 0


@pytest.mark.parametrize("kind", ["whole numbers", "equal rows", "tiny numbers"])
def test_a_tensor_that_the_gpu_cannot_search_is_searched_on_the_cpu_with_a_note(kind, monkeypatch):
    generator = torch.Generator().manual_seed(2)
    samples = {
        "whole numbers": torch.randint(0, 100, (60, 4), generator=generator),
        "equal rows": torch.ones(5000, 2),
        "tiny numbers": 1e-120 * torch.randn(60, 4, generator=generator, dtype=torch.float64),
    }[kind]
    if kind == "equal rows":
        there = on_gpu(samples, monkeypatch)
        reason = "most samples have many others"
    else:
        there = samples.as_subclass(OnGpu)
        reason = "the samples are not on a CUDA device"
    with pytest.warns(spadework.SpadeworkWarning, match=f"searched on the CPU: {reason}"):
        graph = knn_graph(there, neighbors=3)
    assert same_graph(graph, samples, 3)


class NoMemory:
    """A step of the search that runs out of memory, as PyTorch's allocator, cuBLAS or Triton say it, where `refuses` its arguments."""

    def __init__(self, step, refuses, error):
        self.step, self.refuses, self.error, self.calls = step, refuses, error, []

    def __call__(self, *arguments):
        refused = self.refuses(*arguments)
        self.calls.append(refused)
        if refused:
            raise self.error
        return self.step(*arguments)


def errors():
    return [
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("Triton Error [CUDA]: out of memory"),
    ]


@pytest.mark.parametrize("error", errors(), ids=["allocator", "cublas", "triton"])
@pytest.mark.parametrize("step", ["_rounded", "_nearest_in_blocks"])
def test_a_gpu_that_never_has_enough_memory_leaves_the_search_to_the_cpu(step, error, monkeypatch):
    samples = torch.from_numpy(neighbor_cases()["gaussian"])
    without = NoMemory(getattr(_cuda_neighbors, step), lambda *arguments: True, error)
    monkeypatch.setattr(_cuda_neighbors, step, without)
    with pytest.warns(spadework.SpadeworkWarning, match="searched on the CPU: the GPU has too little memory"):
        graph = knn_graph(on_gpu(samples, monkeypatch), neighbors=5)
    assert same_graph(graph, samples, 5)
    # In smaller and smaller blocks first.
    assert len(without.calls) > 5


def test_memory_that_runs_out_while_rows_are_rounded_makes_parts_smaller(monkeypatch):
    samples = torch.from_numpy(neighbor_cases()["far from the origin"])
    expected, distances = _cuda_neighbors.nearest(samples, 5)
    short = NoMemory(_cuda_neighbors._rounded, lambda samples, together: together > 100, errors()[0])
    monkeypatch.setattr(_cuda_neighbors, "_rounded", short)
    found = _cuda_neighbors.nearest(samples, 5)
    assert short.calls[-2:] == [True, False]
    assert torch.equal(found[0], expected) and torch.equal(found[1], distances)


def test_lists_that_were_found_become_a_graph_on_the_cpu_where_the_gpu_is_full(monkeypatch, recwarn):
    samples = torch.from_numpy(neighbor_cases()["ties"])
    short = NoMemory(spadework.torch._graph_of_lists, lambda found: isinstance(found, OnGpu), errors()[0])
    nearest = _cuda_neighbors.nearest
    monkeypatch.setattr(_cuda_neighbors, "nearest", lambda samples, count: tuple(of.as_subclass(OnGpu) for of in nearest(samples, count)))
    monkeypatch.setattr(spadework.torch, "_graph_of_lists", short)
    assert same_graph(knn_graph(on_gpu(samples, monkeypatch), neighbors=4), samples, 4)
    # Nothing was searched a second time.
    assert short.calls == [True, False] and not any("searched on the CPU" in str(note.message) for note in recwarn)


def test_too_little_memory_for_a_look_at_the_numbers_leaves_the_search_to_the_cpu(monkeypatch):
    samples = torch.from_numpy(neighbor_cases()["gaussian"])

    def look(samples):
        raise torch.cuda.OutOfMemoryError("none left")

    monkeypatch.setattr(spadework.torch, "_why_not_on_gpu", look)
    with pytest.warns(spadework.SpadeworkWarning, match="the GPU has too little memory"):
        graph = knn_graph(samples.as_subclass(OnGpu), neighbors=5)
    assert same_graph(graph, samples, 5)


def test_other_errors_of_a_gpu_are_not_taken_for_a_lack_of_memory(monkeypatch):
    samples = torch.from_numpy(neighbor_cases()["gaussian"])
    broken = NoMemory(None, lambda *arguments: True, RuntimeError("CUDA error: device-side assert triggered"))
    monkeypatch.setattr(_cuda_neighbors, "nearest", broken)
    with pytest.raises(RuntimeError, match="device-side assert"):
        knn_graph(on_gpu(samples, monkeypatch), neighbors=5)


@pytest.mark.parametrize("shape", [(7, 3), (5, 2, 2), (9,)])
def test_the_largest_number_is_found_by_parts(shape, monkeypatch):
    monkeypatch.setattr(spadework.torch, "_TOGETHER", 8)
    samples = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    assert spadework.torch._largest(samples) == float(samples.abs().max())
    samples[1] = float("nan")
    assert np.isnan(spadework.torch._largest(samples))


def test_brain_floating_point_is_searched_by_its_bits():
    samples = torch.randn(120, 3, 4, generator=torch.Generator().manual_seed(4)).bfloat16()
    rows = as_samples(samples, "samples")
    assert rows.dtype == np.uint16 and rows.shape == (120, 12)
    assert rows.ctypes.data == samples.data_ptr()
    for neighbors in [1, 5]:
        graph = spadework.knn_graph(samples, neighbors=neighbors, verbose=False)
        assert (graph != spadework.knn_graph(samples.float(), neighbors=neighbors, verbose=False)).nnz == 0
    # Columns that do not follow one another are copied, and a parameter has no gradient here.
    turned = torch.nn.Parameter(samples.reshape(120, 12).T.contiguous().T)
    assert np.array_equal(as_samples(turned, "samples"), rows)
    for samples, rows in [(samples.half(), np.float16), (samples.to(torch.int8), np.int8)]:
        assert as_samples(samples, "samples").dtype == rows
