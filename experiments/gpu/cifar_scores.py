"""Scores CIFAR-10's training images by Spadework, on the outputs of the plain network that cifar.py trained.

    python cifar_scores.py --data DIR --scorer RUNS --spadework spadework --out DIR/scores.npz

RUNS holds train-logits.npy and cifar-plain-seed0.json. scores.npz has one number per image, higher for images to be moved farther: `spade`
(node scores), `fragility` and `margin` (smaller margins first). scores.json next to it says how they were made.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import jobs
from mnist_scores import agreement, columns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="folder with CIFAR-10's binary files")
    parser.add_argument("--scorer", required=True, type=Path)
    parser.add_argument("--spadework", default="spadework", help="the command")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--images", type=int, default=50000, help="score only the first images (for trials)")
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()

    names = [options.data / f"data_batch_{at}.bin" for at in range(1, 6)]
    for name in names:
        jobs.awaited(name)
    rows = np.concatenate([np.fromfile(name, np.uint8).reshape(-1, 3073) for name in names])[: options.images]
    outputs = np.load(jobs.awaited(options.scorer / "train-logits.npy"))
    if len(outputs) != len(rows):
        raise SystemExit(f"{len(outputs)} outputs for {len(rows)} images")
    begun = time.time()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.save(folder / "inputs.npy", rows[:, 1:])
        np.save(folder / "outputs.npy", outputs.astype(np.float32))
        np.save(folder / "labels.npy", rows[:, 0].astype(np.int64))
        command = [
            options.spadework, "score", "--inputs", folder / "inputs.npy", "--outputs", folder / "outputs.npy",
            "--labels", folder / "labels.npy", "-k", str(options.neighbors), "--search", "exact", "--out", folder / "scores",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        found = columns(folder / "scores" / "nodes.csv")
        result = json.loads((folder / "scores" / "result.json").read_text())
    order = np.argsort(found["index"])
    scores = {"spade": found["score"][order], "fragility": found["fragility"][order], "margin": -found["margin"][order]}
    for name, values in scores.items():
        if len(values) != len(rows) or not np.isfinite(values).all():
            raise SystemExit(f"{name} has {len(values)} scores or some that are no numbers, expected one for each of {len(rows)} images")
    asked = ("neighbors", "eigenpairs", "model_score", "version", "accuracy", "samples", "eigenvalues", "search")
    record = {
        "scorer": "cifar-plain-seed0, the PreAct-ResNet-18 trained without attacks, on images as they are",
        "train_accuracy": float((outputs.argmax(1) == rows[:, 0]).mean()),
        "spadework": {name: result[name] for name in asked if name in result},
        "version": subprocess.run([options.spadework, "--version"], check=True, capture_output=True, text=True).stdout.strip(),
        "neighbors_asked": options.neighbors,
        "seconds": time.time() - begun,
        "digests": {name: jobs.digest(values.tobytes()) for name, values in scores.items()},
        "agreement": {
            f"{a} and {b}": agreement(scores[a], scores[b], round(0.9 * len(rows)))
            for at, a in enumerate(scores) for b in list(scores)[at + 1 :]
        },
    }  # fmt: skip
    options.out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    beside = options.out.with_name(f"{os.getpid()}.part.npz")
    np.savez_compressed(beside, **scores)
    beside.replace(options.out)  # last, because runs begin when it is there
    print(json.dumps(record, indent=1), flush=True)


if __name__ == "__main__":
    main()
