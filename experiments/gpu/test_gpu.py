"""What can be checked without a GPU: python -m pytest test_gpu.py"""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
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


def test_networks_for_attacks_share_batch_norms_and_round_weights():
    torch.manual_seed(0)
    model = PreActResNet18().train()
    other, pairs = cifar.for_attacks(model, torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
        torch._foreach_copy_([mine for mine, _ in pairs], [theirs for _, theirs in pairs])
    images = torch.rand(4, 3, 32, 32)
    before = model.norm.running_mean.clone()
    one, two = model(images), other(images)
    torch.testing.assert_close(one, two)
    assert other.norm.running_mean is model.norm.running_mean and not torch.equal(before, model.norm.running_mean)
    assert not any(parameter.requires_grad for parameter in other.parameters())
    assert all(mine.data_ptr() != theirs.data_ptr() for mine, theirs in pairs)
    assert {mine.dtype for mine, _ in cifar.for_attacks(model, torch.bfloat16)[1]} == {torch.bfloat16}
    assert len(pairs) == 20 + 2  # convolutions (three in shortcuts), and the last layer with its bias


def training(arm, skip=False):
    options = SimpleNamespace(batch=8, train_steps=3, train_step_size=2, epochs=1)
    generator = torch.Generator().manual_seed(0)
    data = SimpleNamespace(
        train=torch.randint(0, 256, (8, 3, 32, 32), generator=generator, dtype=torch.uint8), train_labels=torch.arange(8)
    )
    sizes = cifar.epsilons(arm, 8, 7, {}, 0)
    return cifar.Training(data, sizes, skip, options, 0, torch.device("cpu"))


def test_perturbed_images_stay_within_their_sizes_and_skipped_ones_stay():
    run = training("random")
    clean, size = torch.rand(8, 3, 32, 32), run.sizes
    run.labels.copy_(torch.arange(8))
    moved = (run._perturbed(clean, size) - clean).abs().amax((1, 2, 3))
    assert (moved <= size.flatten() + 1e-6).all() and (moved > 8 / 255).all()
    skipping = training("random", skip=True)
    with torch.no_grad():
        right = skipping.model(clean).argmax(1)
    skipping.labels.copy_(torch.where(torch.arange(8) % 2 == 0, right, (right + 1) % 10))
    moved = (skipping._perturbed(clean, size) - clean).abs().amax((1, 2, 3))
    assert (moved[1::2] == 0).all() and (moved[::2] > 0).all()


def test_plain_training_leaves_images_alone():
    run = training("plain")
    assert not run.is_attacked and training("vanilla-8").is_attacked
    run._perturbed = None  # would fail if it were called
    before = run.model.linear.weight.detach().clone()
    run.optimizer.rate.fill_(0.1)
    run.iterate()
    assert not torch.equal(before, run.model.linear.weight)


def test_names_of_runs():
    assert cifar.split_name("cifar-spade-skip-seed2") == ("spade", True, 2)
    assert cifar.split_name("cifar-vanilla-8-seed0") == ("vanilla-8", False, 0)
    assert cifar.names_of(["random-skip:0,3"]) == ["cifar-random-skip-seed0", "cifar-random-skip-seed3"]
    with pytest.raises(SystemExit):
        cifar.names_of(["randm:0"])
    assert len(set(cifar.names_of(cifar.DEFAULT))) == len(cifar.names_of(cifar.DEFAULT))
    # Everything that Table 4 needs: every way of training, with misclassified images perturbed and left alone, three seeds each.
    arms = ("vanilla-8", "vanilla-12", "vanilla-14", "random", "spade", "fragility")
    wanted = {(arm, skip, seed) for arm in arms for skip in (False, True) for seed in range(3)}
    assert wanted <= {cifar.split_name(name) for name in cifar.names_of(cifar.DEFAULT)}


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


def test_jobs_that_cannot_begin_are_waited_for_and_then_left(tmp_path):
    done, polls = [], []

    def run(name):
        done.append(name)
        return {}

    def can_begin(name):
        polls.append(name)
        return name != "guided" or len(polls) > 3

    jobs.work(["guided", "other"], tmp_path / "patient", None, 4e9, 1, run, can_begin, patience=60)
    assert done == ["guided", "other"]
    done.clear()
    polls.clear()
    jobs.work(["guided", "other"], tmp_path / "hasty", None, 4e9, 1, run, can_begin)
    assert done == ["other", "guided"]


def test_counts_of_images_come_from_each_run():
    assert analyze.count_of({"counts": {"clean": 7, "x": 3}}, "x") == 3
    assert analyze.count_of({"settings": {"attack_images": 5}}, "clean") == 5
    assert analyze.count_of({"settings": {"attack_images": 5, "clean_images": 9}}, "clean") == 9
    assert analyze.is_asked(("spade", True), ("random", False)) and analyze.is_asked(("spade", True), ("spade", False))
    assert not analyze.is_asked(("random", True), ("vanilla-8", False))


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
    # A short job fits where a long one does not.
    jobs.work(["long", "short"], tmp_path / "runs", archive, time.time() + 50, 100, run, weight=lambda name: 0.2 if name == "short" else 1)
    assert done == ["a", "b", "c", "short"]
    assert json.loads((tmp_path / "runs" / "c.json").read_text())["name"] == "c"
    assert archive.exists()
