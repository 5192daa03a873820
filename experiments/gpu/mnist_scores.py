"""Scores MNIST's training images by Spadework, on the outputs that mnist_scorer.py wrote.

    python mnist_scores.py --data DIR --scorer SCORER --authors mnist_train_node_scores.npy --spadework spadework --out scores.npz

scores.npz has one number per image, higher for images to be moved farther: `spade` (node scores), `fragility`, `margin` (smaller margins
first) and `authors` (the node scores that the paper's authors published). scores.json next to it says how they were made.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import jobs
from mnist_data import images


def columns(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("index", "score", "margin", "fragility")}


def agreement(a, b, top):
    """Spearman's correlation, and the share of the `top` highest that both have."""
    rank_a, rank_b = a.argsort().argsort(), b.argsort().argsort()
    shared = len(set(np.argsort(-a)[:top]) & set(np.argsort(-b)[:top])) / top
    return {"spearman": float(np.corrcoef(rank_a, rank_b)[0, 1]), f"top_{top}_shared": shared}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with MNIST's four files")
    parser.add_argument("--scorer", required=True, type=Path)
    parser.add_argument("--authors", required=True, type=Path)
    parser.add_argument("--spadework", default="spadework", help="the command")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()

    pixels, labels = images(options.data, "train")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.save(folder / "inputs.npy", pixels.reshape(len(pixels), -1).astype(np.float32) / 255)
        np.save(folder / "labels.npy", labels.astype(np.int64))
        command = [
            options.spadework, "score", "--inputs", folder / "inputs.npy", "--outputs", options.scorer / "logits.npy",
            "--labels", folder / "labels.npy", "-k", str(options.neighbors), "--out", folder / "scores",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        found = columns(folder / "scores" / "nodes.csv")
        result = json.loads((folder / "scores" / "result.json").read_text())
    order = np.argsort(found["index"])
    scores = {
        "spade": found["score"][order],
        "fragility": found["fragility"][order],
        "margin": -found["margin"][order],
        "authors": np.load(options.authors),
    }
    for name, values in scores.items():
        if len(values) != len(pixels):
            raise SystemExit(f"{name} has {len(values)} scores, expected one for each of {len(pixels)} images")
    np.savez_compressed(options.out, **scores)
    asked = ("neighbors", "eigenpairs", "model_score", "version", "accuracy", "samples", "eigenvalues", "search")
    record = {
        "scorer": json.loads((options.scorer / "scorer.json").read_text()),
        "spadework": {name: result[name] for name in asked if name in result},
        "version": subprocess.run([options.spadework, "--version"], check=True, capture_output=True, text=True).stdout.strip(),
        "neighbors_asked": options.neighbors,
        "digests": {name: jobs.digest(values.tobytes()) for name, values in scores.items()},
        "agreement": {
            f"{a} and {b}": agreement(scores[a], scores[b], 45000)
            for at, a in enumerate(scores) for b in list(scores)[at + 1 :]
        },
    }  # fmt: skip
    options.out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
