"""Which nodes of Cora and Citeseer change class, and what tells them beforehand.

usage: python scripts/measure_nodes.py FOLDER-OF-GRAPHS [VARIANTS, 40 by default]

A linear graph network (features averaged over two steps along the edges, logistic regression on the Planetoid split) is run on graphs with
3 % of the edges moved, and with 30 % of the features dropped. Half of the variants rank the nodes, the other half judge the ranking:
Spearman's ρ with the number of variants on which a node changes class, and how often the weakest tenth changes class, divided by how often
the strongest tenth does. Prints the table of docs/how-to/graphs.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import scipy.sparse
import scipy.stats
import spadework
from sklearn.linear_model import LogisticRegression
from spadework.perturb import GraphData, edge_flips, feature_dropout

TRAINED, TESTED = 1, 3


def smoothed(graph: GraphData) -> scipy.sparse.csr_array:
    """Features averaged over two steps along the edges."""
    links = scipy.sparse.csr_array(graph.adjacency) + scipy.sparse.eye_array(len(graph))
    mean = scipy.sparse.diags_array(1 / np.asarray(links.sum(axis=1)).ravel()) @ links
    return scipy.sparse.csr_array(mean @ (mean @ graph.features))


def tenths(order: np.ndarray, flips: np.ndarray) -> str:
    """How often the first tenth of a ranking changes class, compared with the last."""
    tenth = len(order) // 10
    first, last = flips[order[:tenth]].mean(), flips[order[-tenth:]].mean()
    return f"{first:.3f} : {last:.4f}"


def measure(folder: Path, name: str, variants: int) -> None:
    """The rows of one graph."""
    load = lambda part: scipy.sparse.csr_array(scipy.sparse.load_npz(folder / f"{name}_{part}.npz")).astype(float)
    stored = np.load(folder / f"{name}_labels.npz")
    labels, split = stored["labels"], stored["split"]
    graph = GraphData(load("adjacency"), load("features"))
    values = np.unique(split).tolist()
    train, test = split == TRAINED, split == TESTED
    classifier = LogisticRegression(max_iter=1000, C=10).fit(smoothed(graph)[train], labels[train])
    model = lambda graph: classifier.decision_function(smoothed(graph))
    outputs = model(graph)
    accuracy = (outputs.argmax(axis=1) == labels)[test].mean()
    print(f"{name}: {len(graph)} nodes, split {values}, test accuracy {accuracy:.1%}")
    report = spadework.score(outputs=outputs, input_graph=graph.adjacency, labels=labels, connectivity="bridge", verbose=False)
    for perturb in (edge_flips(0.03), feature_dropout(0.3)):
        options = {"perturb": perturb, "samples": len(graph), "precision": 0}
        # Other seeds are other variants.
        ranking = spadework.probe(model, graph, probes=variants // 2, seed=1, **options)
        judging = spadework.probe(model, graph, probes=variants // 2, seed=2, **options)
        share = judging.flips / judging.variants
        fragility = {"margin": -ranking.margins, "node score": report.node_scores, "probes": ranking.flips - 1e-9 * ranking.probe_margins}
        for what, values in fragility.items():
            rho = scipy.stats.spearmanr(values, judging.flips).statistic
            print(f"  {perturb.__name__:16} {what:10}  ρ {rho:+.2f}  {tenths(np.argsort(-values, kind='stable'), share)}")
        print(f"  {perturb.__name__:16} kept {judging.kept.estimate:.3f} ({judging.kept.lower:.3f} – {judging.kept.upper:.3f})")


def main() -> None:
    """Both graphs."""
    folder, *more = sys.argv[1:]
    for name in ("cora", "citeseer"):
        measure(Path(folder), name, int(more[0]) if more else 40)


if __name__ == "__main__":
    main()
