"""What can be checked without a GPU: python -m pytest test_gpu.py"""

import json

import numpy as np
import torch
import torch.nn.functional as F

import analyze
import cifar
import conv2
import jobs
import mnist
from preact import PreActResNet18


def plain_logits(parameters, images):
    """The network as Madry et al. wrote it."""
    p = parameters
    hidden = F.max_pool2d(F.relu(F.conv2d(images[:, None], p["w1"], p["b1"], padding=2)), 2)
    hidden = F.max_pool2d(F.relu(F.conv2d(hidden, p["w2"], p["b2"], padding=2)), 2)
    flat = hidden.permute(0, 2, 3, 1).reshape(len(images), -1)
    return F.linear(F.relu(F.linear(flat, p["w3"], p["b3"])), p["w4"], p["b4"])


def example():
    torch.manual_seed(0)
    parameters = conv2.initial(torch.Generator().manual_seed(1), "cpu")
    parameters = {name: value.detach().double().requires_grad_() for name, value in parameters.items()}
    images = torch.rand(3, 28, 28, dtype=torch.double, requires_grad=True)
    return parameters, images, torch.tensor([3, 0, 7])


def test_blocks_are_the_plain_network():
    parameters, images, labels = example()
    weights = conv2.Blocks("cpu").weights(parameters, torch.double)
    plain, blocks = plain_logits(parameters, images), conv2.logits(weights, conv2.to_blocks(images))[:, :10]
    torch.testing.assert_close(blocks, plain, rtol=0, atol=1e-11)
    of_plain = torch.autograd.grad(F.cross_entropy(plain, labels), list(parameters.values()))
    of_blocks = torch.autograd.grad(F.cross_entropy(blocks, labels), list(parameters.values()))
    for one, other in zip(of_blocks, of_plain, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_input_gradients_are_those_of_autograd_up_to_a_positive_factor():
    parameters, images, labels = example()
    weights = [weight.detach() for weight in conv2.Blocks("cpu").weights(parameters, torch.double)]
    one_hot = F.one_hot(labels, conv2.CLASSES).double()
    out, found = conv2.input_gradient(weights, conv2.turned(weights), conv2.to_blocks(images.detach()), one_hot)
    plain = plain_logits(parameters, images)
    (expected,) = torch.autograd.grad(F.cross_entropy(plain, labels, reduction="sum"), images)
    factor = 1 - torch.softmax(plain, 1)[torch.arange(3), labels]
    # The logits pass through single precision.
    torch.testing.assert_close(found * factor.reshape(-1, 1, 1, 1), conv2.to_blocks(expected), rtol=0, atol=1e-6)


def test_arms_give_the_larger_size_to_the_highest_scores():
    scores = {"spade": np.array([0.1, 0.9, 0.5, 0.7])}
    assert (mnist.epsilons("vanilla", 4, 2, scores, 0) == np.float32(0.4)).all()
    np.testing.assert_array_equal(mnist.epsilons("spade", 4, 2, scores, 0), np.float32([0.2, 0.4, 0.2, 0.4]))
    for seed in range(3):
        assert (mnist.epsilons("random", 100, 80, scores, seed) == np.float32(0.4)).sum() == 80
    assert (cifar.epsilons("random", 100, 90, scores, 0) == np.float32(14 / 255)).sum() == 90
    assert (mnist.epsilons("random", 100, 80, scores, 0) != mnist.epsilons("random", 100, 80, scores, 1)).any()


def test_momentum_is_that_of_torch():
    torch.manual_seed(0)
    one, other = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    ours = cifar.Momentum([one], torch.device("cpu"))
    theirs = torch.optim.SGD([other], lr=0.1, momentum=cifar.MOMENTUM, weight_decay=cifar.DECAY)
    ours.rate.fill_(0.1)
    for step in range(4):
        gradient = torch.randn(3)
        one.grad, other.grad = gradient.clone(), gradient.clone()
        ours.step()
        theirs.step()
    torch.testing.assert_close(one, other)


def test_crops_are_parts_of_the_image():
    images = torch.arange(2 * 3 * 32 * 32).reshape(2, 3, 32, 32).float() + 1
    crops = cifar.cropped(images, torch.Generator().manual_seed(3))
    assert crops.shape == images.shape
    padded = F.pad(images, (4, 4, 4, 4))
    for crop, image in zip(crops, padded, strict=True):
        places = [image[:, top : top + 32, left : left + 32] for top in range(9) for left in range(9)]
        assert any(torch.equal(crop, place) or torch.equal(crop, place.flip(2)) for place in places)


def test_network_has_the_usual_size():
    # The 11,171,146 parameters of the widely used PyTorch version, and a last batch norm of 512 channels, as Wong et al. have it.
    assert sum(parameter.numel() for parameter in PreActResNet18().parameters()) == 11_171_146 + 2 * 512


def test_flags_come_back():
    flags = np.random.default_rng(0).random(1003) < 0.3
    np.testing.assert_array_equal(jobs.unpacked(jobs.packed(flags), 1003), flags)


def test_pairs_have_the_intervals_of_the_rust_tests():
    def flags(rows):
        return np.array([[digit == "1" for digit in row] for row in rows])

    one = flags(["111101111011", "111111110011", "111101111111"])
    other = flags(["110101011011", "101111010011", "110100011110"])
    found = analyze.paired(one, other)
    np.testing.assert_allclose(found["for_other_images"], [0.013665949857953, 0.430778494586491], atol=1e-12)
    np.testing.assert_allclose(found["for_other_seeds"], [-0.016814040541637, 0.461258484986081], atol=1e-12)
    np.testing.assert_allclose(found["overall"], [-0.017101254866939, 0.461545699311383], atol=1e-12)
    assert analyze.verdict(found, True) is None
    assert analyze.verdict({"overall": [0.1, 0.2]}, True) is True
    assert analyze.verdict({"overall": [0.1, 0.2]}, False) is None
    assert "overall" not in analyze.paired(one[:1], other[:1])


def test_a_network_takes_off_after_epsilon_has_grown():
    def record(*accuracies):
        curve = [{"adversarial_train_accuracy": accuracy} for accuracy in accuracies]
        return {"settings": {"epochs_of_growing_epsilon": 2}, "curve": curve}

    assert analyze.took_off(record(0.9, 0.6, 0.1, 0.2, 0.5)) == 5
    assert analyze.took_off(record(0.9, 0.6, 0.1)) is None


def test_finished_jobs_are_not_done_again_and_none_begins_too_late(tmp_path):
    done = []

    def run(name):
        done.append(name)
        return {"name": name}

    archive = tmp_path / "all.tar.gz"
    jobs.work(["a", "b"], tmp_path / "runs", archive, 4e9, 1, run)
    jobs.work(["a", "b", "c"], tmp_path / "runs", archive, 4e9, 1, run)
    jobs.work(["d"], tmp_path / "runs", archive, 0, 1, run)
    assert done == ["a", "b", "c"]
    assert json.loads((tmp_path / "runs" / "c.json").read_text())["name"] == "c"
    assert archive.exists()
