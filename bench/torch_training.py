#!/usr/bin/env python3
"""Steps a second of training in PyTorch, with the settings of `cargo run --release -p spadework-nn --example speed`.

    OMP_NUM_THREADS=1 bench/torch_training.py [--device cpu] [--seconds 10] [--threads 1] [MODEL ...]

LeNet-5 on images of 28 x 28 and ResNet-18 on colored ones of 32 x 32: batches of 128 random images from the memory of the
host, Adam; plain, and against PGD of 7 steps (random start, network in inference mode, gradients by the images alone). Loss
and hits are read back after every step, as a training log needs them. Prints one line of JSON for each.
"""

import time

BEGAN = time.perf_counter()

import argparse
import json

import torch
from torch import nn
from torch.nn import functional as F

BATCH, SAMPLES, WARM_UP = 128, 16 * 128, 3
PGD_STEPS, EPSILON = 7, 0.1


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet18():
    layers, before = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for after, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(before, after, stride), Block(after, after, 1)]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def perturbed(model, x, y):
    model.eval()
    low, high = (x - EPSILON).clamp(min=0), (x + EPSILON).clamp(max=1)
    points = (x + torch.empty_like(x).uniform_(-EPSILON, EPSILON)).clamp(0, 1)
    for _ in range(PGD_STEPS):
        points.requires_grad_(True)
        loss = F.cross_entropy(model(points), y, reduction="sum")
        gradient, = torch.autograd.grad(loss, points)
        points = torch.clamp(points.detach() + 2.5 * EPSILON / PGD_STEPS * gradient.sign(), low, high)
    model.train()
    return points


def measure(name, training, device, seconds):
    model = {"lenet5": lenet5, "resnet18": resnet18}[name]().to(device)
    x = torch.rand(SAMPLES, *((3, 32, 32) if name == "resnet18" else (1, 28, 28)))
    y = torch.arange(SAMPLES) % 10
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    steps, first, warm = 0, None, None
    while True:
        for rows in torch.randperm(SAMPLES).split(BATCH):
            if warm is not None and time.perf_counter() - warm >= seconds:
                rate = (steps - WARM_UP) / (last - warm)
                return {"model": name, "training": training, "device": device, "batch": BATCH, "steps_per_second": round(rate, 2),
                        "cpu_ms_per_step": round(1e3 * (time.process_time() - warm_cpu) / (steps - WARM_UP), 2), "first_step_after_s": round(first - BEGAN, 2), "torch": torch.__version__}
            images, labels = x[rows].to(device), y[rows].to(device)
            if training == "pgd":
                images = perturbed(model, images, labels)
            outputs = model(images)
            loss = F.cross_entropy(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item(), (outputs.argmax(1) == labels).sum().item()
            last = time.perf_counter()
            steps += 1
            first = first or last
            if steps == WARM_UP:
                warm, warm_cpu = last, time.process_time()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("models", nargs="*", default=["lenet5", "resnet18"])
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for name in args.models:
        for training in ("standard", "pgd"):
            print(json.dumps(measure(name, training, args.device, args.seconds)), flush=True)


if __name__ == "__main__":
    main()
