"""ART and Foolbox on the samples that a report names."""

from __future__ import annotations

import numpy as np
import pytest
import spadework
import torch
from spadework.torch import collect_outputs


@pytest.fixture(scope="module")
def scored(data, network):
    images, _ = data
    return spadework.score(images, collect_outputs(network, images.split(500)).outputs, verbose=False)


@pytest.mark.filterwarnings("ignore")
def test_art(data, network, scored):
    import spadework.art
    from art.attacks.evasion import FastGradientMethod
    from art.estimators.classification import PyTorchClassifier

    images, labels = (part.numpy() for part in data)
    classifier = PyTorchClassifier(
        network, torch.nn.CrossEntropyLoss(), input_shape=(1, 8, 8), nb_classes=10, clip_values=(0, 1), device_type="cpu"
    )
    found = spadework.art.evaluate(classifier, FastGradientMethod(classifier, eps=0.2), images, labels, scored)
    assert found.indices.tolist() == scored.top_nodes(100).tolist()
    # ART attacks one by one what we ask for: the same by hand.
    chosen = images[found.indices]
    by_hand = classifier.predict(FastGradientMethod(classifier, eps=0.2).generate(x=chosen)).argmax(1)
    right = classifier.predict(chosen).argmax(1) == labels[found.indices]
    assert np.array_equal(found.robust, right & (by_hand == labels[found.indices]))
    assert np.all(found.distances <= 0.2 + 1e-6) and found.robust_accuracy < found.accuracy
    scores = spadework.art.clever(classifier, images, [3, 5], nb_batches=3, batch_size=8, radius=0.3, norm=2)
    assert scores.shape == (2,) and np.all(scores >= 0)
    with pytest.raises(ValueError, match="indices must be below the number of samples"):
        spadework.art.evaluate(classifier, FastGradientMethod(classifier), images, labels, [5000])


@pytest.mark.filterwarnings("ignore")
def test_foolbox(data, network, scored):
    import foolbox
    import spadework.foolbox

    images, labels = (part.numpy() for part in data)
    model = foolbox.PyTorchModel(network, bounds=(0, 1), device="cpu")
    found = spadework.foolbox.evaluate(model, foolbox.attacks.LinfPGD(), images, labels, scored, epsilon=0.2)
    assert len(found.indices) == 100 and found.robust_accuracy < found.accuracy
    assert np.all(found.distances <= 0.2 + 1e-6)
