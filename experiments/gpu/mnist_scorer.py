"""Trains the plain network whose outputs score MNIST's training images (mnist_scores.py does the scoring).

    python mnist_scorer.py --data DIR --out SCORER
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import conv2
from mnist_data import images


def outputs(weights, blocks, batch=1000):
    with torch.no_grad():
        return torch.cat([conv2.logits(weights, part)[:, :10] for part in blocks.split(batch)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with MNIST's four files")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()

    pixels, labels = images(options.data, "train")
    test_pixels, test_labels = images(options.data, "t10k")
    device = torch.device(options.device)

    def on_device(pixels):
        return conv2.to_blocks(torch.from_numpy(pixels.copy()).float().div(255).to(device))

    train, test = on_device(pixels), on_device(test_pixels)
    targets = torch.from_numpy(labels.astype(np.int64)).to(device)
    generator = torch.Generator().manual_seed(options.seed)
    parameters = conv2.initial(generator, device)
    optimizer = torch.optim.Adam(parameters.values(), lr=options.rate)
    blocks = conv2.Blocks(device)
    for epoch in range(options.epochs):
        order = torch.randperm(len(train), generator=generator).to(device)
        for chosen in order.split(options.batch):
            loss = F.cross_entropy(conv2.logits(blocks.weights(parameters, torch.float32), train[chosen]), targets[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)
    weights = [weight.detach() for weight in blocks.weights(parameters, torch.float32)]
    logits = outputs(weights, train).cpu().numpy()
    test_logits = outputs(weights, test).cpu().numpy()
    options.out.mkdir(parents=True, exist_ok=True)
    np.save(options.out / "logits.npy", logits)
    record = {
        "architecture": "conv2", "training": "plain", "optimizer": "Adam", "rate": options.rate, "batch": options.batch,
        "epochs": options.epochs, "seed": options.seed, "images": len(pixels), "device": str(device),
        "train_accuracy": float((logits.argmax(1) == labels).mean()),
        "test_accuracy": float((test_logits.argmax(1) == test_labels).mean()),
        "torch": torch.__version__,
    }  # fmt: skip
    (options.out / "scorer.json").write_text(json.dumps(record, indent=1) + "\n")
    print(record)


if __name__ == "__main__":
    main()
