"""The functions of the package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native, _notebook, _notes
from ._alone import check_alone
from ._arrays import (
    GraphEntries,
    LabelArray,
    as_entries,
    as_labels,
    as_models,
    as_names,
    as_samples,
    as_sparse_rows,
    is_sparse,
    sample_shape,
)
from ._comparison import Comparison
from ._distortion import Distortion
from ._probe import Probed, ProbedRegressor
from ._progress import progress_bars
from ._report import Report, largest, matrix
from ._settings import Metric, Settings, named, number, settings, whole_number
from ._sweep import Sweep

#: Samples selected where the caller names no number.
_SELECTED = 100


def score(
    inputs: Any = None,
    outputs: Any = None,
    *,
    labels: Any = None,
    ids: Any = None,
    neighbors: int = 10,
    eigenpairs: int | Literal["all"] = 2,
    input_graph: Any = None,
    output_graph: Any = None,
    connectivity: Literal["grow", "bridge", "error"] = "grow",
    graph: str = "knn",
    weights: Literal["unit", "gaussian"] = "unit",
    input_metric: Metric = "euclidean",
    output_metric: Metric = "euclidean",
    standardize: bool | Literal["robust"] = False,
    ties: Literal["inputs", "index"] = "inputs",
    search: Literal["auto", "exact", "approximate"] = "auto",
    solver: Literal["davidson", "power"] = "davidson",
    sketch_error: float = 0.3,
    tolerance: float = 1e-6,
    certify: bool = False,
    bounds: bool = True,
    interval: bool = False,
    references: bool = False,
    indices: bool = False,
    probed: Probed | ProbedRegressor | None = None,
    task: Literal["auto", "classes", "embedding", "regression"] = "auto",
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Report:
    """Score one model from its inputs and outputs.

    Parameters
    ----------
    inputs, outputs : array-like of shape (n, ...)
        The model's inputs, and its outputs on the same samples; for a classifier the values right before the softmax.
        NumPy arrays, PyTorch and JAX tensors on the CPU, pandas and polars frames, lists. More than two dimensions are
        flattened to one row per sample. float32, float16, bfloat16, int8, int16 and uint8 in C order are used without a copy; a uint8
        counts as a pixel, x/255. Nothing is modified. ``outputs`` may also be the model itself, a callable, which is called with ``inputs``.
        ``inputs`` may also be a SciPy sparse matrix, such as tf-idf. It is searched exactly, by the Euclidean or the cosine distance,
        without being made dense; ``connectivity`` then applies only to the outputs.
    labels : array-like of shape (n,), optional
        One integer or word per sample, for label scores and overlaps.
    ids : array-like of shape (n,), optional
        The name of every sample, for the result, its tables and its page.
    neighbors : int, default=10
        Neighbors per sample, k.
    eigenpairs : int or "all", default=2
        Eigenpairs, r, for edge and node scores.
    input_graph, output_graph : SciPy sparse matrix of shape (n, n), optional
        A graph instead of ``inputs`` or ``outputs``. Entries are weights (strengths, not distances), in one direction or
        in both. An output graph must be connected.
    connectivity : {"grow", "bridge", "error"}, default="grow"
        What to do if a graph is not connected: use the smallest larger k that connects both graphs, keep k and add the shortest
        edges, or raise `DisconnectedGraphError`.
    graph : str, default="knn"
        Kind of graph: ``"knn"``, ``"mutual"``, ``"pca:50"``, ``"pca:0.95"``, ``"cknn:1"``, ``"sparse:density=2"``,
        ``"sparse:kappa=50"``.
    weights : {"unit", "gaussian"}, default="unit"
        Edge weights.
    input_metric, output_metric : {"euclidean", "cosine", "manhattan", "chebyshev"}, default="euclidean"
        The distance between inputs, and between outputs. Cosine is Euclidean on rows of length 1; rows of zeros are refused.
        Manhattan and Chebyshev distances are always searched exactly, pair by pair.
    standardize : bool or "robust", default=False
        Whether to scale the columns of the inputs first, by mean and standard deviation, or by median and interquartile range.
        Constant columns become 0.
    ties : {"inputs", "index"}, default="inputs"
        What decides which of equally near outputs are neighbors, if some outputs are equal, as those of forests are: their distance
        at the input, so that the order of the rows does not matter, or the lower index. A graph of inputs has no distances, so the
        index decides.
    search : {"auto", "exact", "approximate"}, default="auto"
        How neighbors are searched; "auto" is exact unless that would take more than about ten minutes of one core.
    solver : {"davidson", "power"}, default="davidson"
        How eigenpairs are found.
    sketch_error : float, default=0.3
        With ``eigenpairs="all"``: relative error of every score, with probability 0.999.
    tolerance : float, default=1e-6
        Relative residual that every eigenpair must reach.
    certify : bool, default=False
        Prove the upper bound of the SPADE score by a factorization (up to about 20,000 samples).
    bounds : bool, default=True
        Compute an upper bound of the SPADE score. Without it, the call saves about a quarter of the time of the eigenpairs, but does not find out
        whether the solver missed the largest one.
    interval : bool, default=False
        Also compute a 95 % confidence interval of the SPADE score, from 100 half-samples.
    references : bool, default=False
        Also score the permuted baseline: the model's outputs, randomly permuted.
    indices : bool, default=False
        Also compute `Report.indices`: mean eigenvalue, distortion of random edges, trustworthiness and continuity.
    probed : Probed or ProbedRegressor, optional
        Result of `spadework.probe` for the same model and samples: `Report.verdict` then leads with it, and `Report.fragility`
        of a classifier uses it.
    task : {"auto", "classes", "embedding", "regression"}, default="auto"
        What the outputs are. By default several numbers per sample are classes, or an embedding if ``labels`` show that they are not, or if
        there are no ``labels`` and all rows have the length 1 or are compared by cosine distance, but are not probabilities. A single
        number stands for two classes if ``labels`` has two values, and is a regression otherwise. Embeddings and regressions have no
        margins: the fragility of an embedding comes from the neighbors that a sample keeps and from how far away its former neighbors
        are now, that of a regression from the node score.
    seed : int, default=0
        Seed of everything random. The same seed gives the same result for any number of threads.
    threads : int, optional
        Threads to use; all cores by default.
    verbose : bool, optional
        True draws progress bars, False neither draws nor warns; by default bars are drawn in terminals and notebooks. They
        need tqdm.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        When an argument is wrong; the message names it.
    DisconnectedGraphError, ConvergenceError, SpadeworkError
        When the problem has no answer as posed.

    Warns
    -----
    SpadeworkWarning
        When there is something that a reader of the scores should know; also in `Report.notes`.

    Examples
    --------
    Sixty samples on a ring; the "model" opens the ring into a line.

    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> report = spadework.score(ring, angle, neighbors=2)
    >>> round(report.model_score, 4)
    57.3177
    >>> report.node_scores.shape, report.edges.shape
    ((60,), (60, 2))
    """
    chosen = settings(**named(locals(), settings))
    check_sense(chosen, input_graph, output_graph, interval)
    _check_interval(inputs, interval)
    outputs = answers(outputs, inputs)
    one, other = side(inputs, input_graph, "input", chosen), side(outputs, output_graph, "output")
    given = as_labels(labels, samples_of(one))
    left, names = known_probes(probed, samples_of(one)), as_names(ids)
    extras = {"interval": bool(interval), "references": bool(references), "indices": bool(indices)}
    with progress_bars(verbose) as progress:
        found = _native.score((one, other, (given, left, names)), extras, (chosen, progress))
    document = json.loads(found["document"])
    _notes.add_sparse(document, inputs, chosen)
    report = report_of(document, found, found, given, _notes.told(document, verbose))
    return replace(
        report,
        ids=None if names is None else np.array(names, dtype=np.str_),
        thumbnails=_notebook.thumbnails(inputs, report.top_nodes()),
    )


def answers(outputs: Any, inputs: Any) -> Any:
    """The outputs, or what a model that is given instead says."""
    if not callable(outputs) or hasattr(outputs, "__array__") or hasattr(outputs, "__dlpack__"):
        return outputs
    if inputs is None:
        raise ValueError("`outputs` is a model, which needs `inputs` to be called with")
    answers = outputs(inputs)
    check_alone(outputs, inputs, answers, "outputs")
    return answers


def known_probes(
    probed: Any, samples: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], str] | str | None:
    """The samples that were probed, what was left of their margins, and what a document says of it; of a regressor the last alone."""
    if probed is None:
        return None
    if not isinstance(probed, (Probed, ProbedRegressor)):
        raise ValueError(f"`probed` must be what `spadework.probe` returns, got {type(probed).__name__}")
    if probed.inputs != samples:
        raise ValueError(f"`probed` must be for the same samples ({samples}), got those of {probed.inputs}")
    if isinstance(probed, ProbedRegressor):
        return json.dumps(probed.document)
    return probed.indices, probed.probe_margins, json.dumps(probed.document)


def check_sense(chosen: Settings, input_graph: Any, output_graph: Any, interval: bool) -> None:
    if input_graph is not None and chosen["graph"].startswith("pca"):
        raise ValueError('graph="pca:…" projects the inputs, but `input_graph` is given instead')
    of_inputs = (chosen["input_metric"], chosen["standardize"]) != ("euclidean", "none")
    if input_graph is not None and of_inputs:
        raise ValueError(
            "`input_metric` and `standardize` are about distances between inputs, but `input_graph` is given instead"
        )
    if output_graph is not None and chosen["output_metric"] != "euclidean":
        raise ValueError("`output_metric` is about distances between outputs, but `output_graph` is given instead")
    if interval and (input_graph is not None or output_graph is not None):
        raise ValueError("`interval` needs the samples of both sides, but one side is given as a graph")


def _check_interval(inputs: Any, interval: bool) -> None:
    if interval and is_sparse(inputs):
        raise ValueError("`interval` needs dense rows, but inputs are sparse: use .toarray(), or leave it out")


def side(samples: Any, graph: Any, name: str, chosen: Settings | None = None) -> Any:
    """Rows with the shape of a sample, or a graph in their place; sparse inputs become the graph of the k asked for."""
    if (samples is None) == (graph is None):
        raise ValueError(f"exactly one of `{name}s` and `{name}_graph` must be given")
    if chosen is not None and is_sparse(samples):
        return as_entries(_sparse_graph(samples, chosen, f"{name}s", None), f"{name}s")
    if graph is not None:
        return as_entries(graph, f"{name}_graph")
    return rows_and_shape(samples, f"{name}s")


def rows_and_shape(samples: Any, argument: str) -> tuple[Any, list[int]]:
    """Rows, and the shape that a sample had before they were flattened."""
    rows = as_samples(samples, argument)
    shape = sample_shape(samples)
    return rows, shape if int(np.prod(shape)) == rows.shape[1] else [rows.shape[1]]


def samples_of(one: Any) -> int:
    """How many samples a side has."""
    return one.nodes if isinstance(one, GraphEntries) else len(one[0])


def report_of(
    document: dict[str, Any],
    own: Mapping[str, Any],
    shared: Mapping[str, Any],
    labels: LabelArray | None,
    notes: tuple[str, ...],
) -> Report:
    return Report(
        document=document,
        node_scores=own["node_scores"],
        edges=shared["input_edges"],
        edge_scores=own["edge_scores"],
        embedding=own["embedding"],
        labels=None if labels is None else labels.ids,
        input_weights=shared["input_weights"],
        output_edges=own["output_edges"],
        output_weights=own["output_weights"],
        notes=notes,
        margins=own["margins"],
        fragility=own["fragility"],
        overlap=own["overlap"],
    )


def compare(
    inputs: Any = None,
    outputs: Mapping[str, Any] | None = None,
    *,
    labels: Any = None,
    neighbors: int = 10,
    eigenpairs: int | Literal["all"] = 2,
    input_graph: Any = None,
    connectivity: Literal["grow", "bridge", "error"] = "grow",
    graph: str = "knn",
    weights: Literal["unit", "gaussian"] = "unit",
    input_metric: Metric = "euclidean",
    output_metric: Metric = "euclidean",
    standardize: bool | Literal["robust"] = False,
    ties: Literal["inputs", "index"] = "inputs",
    search: Literal["auto", "exact", "approximate"] = "auto",
    solver: Literal["davidson", "power"] = "davidson",
    sketch_error: float = 0.3,
    tolerance: float = 1e-6,
    certify: bool = False,
    interval: bool = False,
    references: bool = False,
    indices: bool = False,
    rank_by: Literal["auto", "unevenness", "overlap", "model-score"] = "auto",
    task: Literal["auto", "classes", "embedding", "regression"] = "auto",
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Comparison:
    """Score many models on one input graph and rank them.

    Neighbors among the inputs are searched once, and k is the same for all models.

    Parameters
    ----------
    inputs : array-like of shape (n, ...)
        The inputs of all models.
    outputs : dict of str to array-like of shape (n, ...)
        The outputs of each model, by its name; at least two. A callable gets the unchanged ``inputs``.
    labels : array-like of shape (n,), optional
        One integer or word per sample, for accuracies and label scores.
    input_graph : SciPy sparse matrix of shape (n, n), optional
        A graph instead of ``inputs``, as in `score`.
    interval : bool, default=False
        Also compute 95 % confidence intervals of the SPADE scores, and how often half-samples rank two models the same way.
    rank_by : {"auto", "unevenness", "overlap", "model-score"}, default="auto"
        What the models are ranked by. "auto" is the unevenness of classifiers: of the numbers that
        need only arrays, it is the most consistent over data sets and sizes. If the outputs of some model are not classes, it is the
        neighborhood overlap. Models that cannot be distinguished share a rank (`Comparison.ranks`).
    neighbors, eigenpairs, connectivity, graph, weights, input_metric, output_metric, standardize, ties, search, solver, \
sketch_error, tolerance, certify, references, indices, task, seed, threads, verbose
        As in `score`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> spadework.compare(ring, {"cut": angle, "turn": ring[:, ::-1]}, neighbors=2, task="embedding").ranking
    ['turn', 'cut']
    """
    chosen = settings(**named(locals(), settings))
    check_sense(chosen, input_graph, None, interval)
    _check_interval(inputs, interval)
    one = side(inputs, input_graph, "input", chosen)
    if isinstance(outputs, Mapping):
        outputs = {name: answers(of_model, inputs) for name, of_model in outputs.items()}
    models = as_models(outputs)
    given = as_labels(labels, samples_of(one))
    extras = {"interval": bool(interval), "references": bool(references), "indices": bool(indices)}
    with progress_bars(verbose) as progress:
        found = _native.compare(one, models, given, extras, (chosen, progress))
    document = json.loads(found["document"])
    _notes.add_sparse(document, inputs, chosen)
    notes = _notes.told(document, verbose)
    reports = {part["name"]: report_of(json.loads(part["document"]), part, found, given, ()) for part in found["models"]}
    return Comparison(document=document, reports=reports, notes=notes)


def sweep(
    inputs: Any = None,
    outputs: Any = None,
    *,
    neighbors: Iterable[int] = range(5, 21),
    eigenpairs: int = 2,
    input_graph: Any = None,
    connectivity: Literal["grow", "bridge", "error"] = "grow",
    graph: str = "knn",
    weights: Literal["unit", "gaussian"] = "unit",
    input_metric: Metric = "euclidean",
    output_metric: Metric = "euclidean",
    standardize: bool | Literal["robust"] = False,
    ties: Literal["inputs", "index"] = "inputs",
    search: Literal["auto", "exact", "approximate"] = "auto",
    solver: Literal["davidson", "power"] = "davidson",
    tolerance: float = 1e-6,
    certify: bool = False,
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Sweep:
    """Score one or more models over a range of k: is the ranking stable?

    Parameters
    ----------
    inputs : array-like of shape (n, ...)
        The inputs of all models.
    outputs : array-like of shape (n, ...), or dict of str to array-like
        The outputs of one model, or of several by their names.
    neighbors : iterable of int, default=range(5, 21)
        Every k, ascending.
    eigenpairs : int, default=2
        Eigenpairs, r, to find; the first eigenvalue is the SPADE score.
    input_graph : SciPy sparse matrix of shape (n, n), optional
        A graph instead of ``inputs``, the same for every k.
    connectivity : {"grow", "bridge", "error"}, default="grow"
        As in `score`; under "error" a k at which a graph is not connected has no score (NaN).
    graph, weights, input_metric, output_metric, standardize, ties, search, solver, tolerance, certify, seed, threads, verbose
        As in `score`.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> found = spadework.sweep(ring, angle, neighbors=[2, 4])
    >>> round(float(found.model_scores[0, 0]), 4)
    57.3177
    """
    numbers = [whole_number(k, "neighbors", least=1) for k in neighbors]
    if not numbers:
        raise ValueError("`neighbors` must have at least one number")
    own = {**named(locals(), settings), "neighbors": numbers[0], "eigenpairs": whole_number(eigenpairs, "eigenpairs", least=1)}
    chosen = settings(**own)
    check_sense(chosen, input_graph, None, interval=False)
    one = side(inputs, input_graph, "input")
    if outputs is None:
        raise ValueError("`outputs` must be given")
    several = hasattr(outputs, "items") and not hasattr(outputs, "columns")
    models = as_models(outputs) if several else [("model", as_samples(outputs, "outputs"))]
    with progress_bars(verbose) as progress:
        document = json.loads(_native.sweep(one, models, numbers, (chosen, progress)))
    return Sweep(document=document, notes=_notes.told(document, verbose))


def distortion(
    inputs: Any = None,
    outputs: Any = None,
    *,
    top: int | None = None,
    pairs: Iterable[tuple[int, int]] = (),
    all_edges: bool = False,
    labels: Any = None,
    neighbors: int = 10,
    eigenpairs: int | Literal["all"] = 2,
    input_graph: Any = None,
    output_graph: Any = None,
    connectivity: Literal["grow", "bridge", "error"] = "grow",
    graph: str = "knn",
    weights: Literal["unit", "gaussian"] = "unit",
    input_metric: Metric = "euclidean",
    output_metric: Metric = "euclidean",
    standardize: bool | Literal["robust"] = False,
    ties: Literal["inputs", "index"] = "inputs",
    search: Literal["auto", "exact", "approximate"] = "auto",
    solver: Literal["davidson", "power"] = "davidson",
    sketch_error: float = 0.3,
    tolerance: float = 1e-6,
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Distortion:
    """Measure how far the model pulls neighbors apart, find the sparsest cut, and bound both.

    Parameters
    ----------
    inputs, outputs : array-like of shape (n, ...)
        As in `score`.
    top : int, optional
        Number of edges with the largest scores to compare with random edges; 100 by default, or half of the edges if there are
        fewer than 200.
    pairs : iterable of (int, int), optional
        Pairs of samples to measure as well.
    all_edges : bool, default=False
        Also measure every edge of the input graph, resistances to the relative error ``sketch_error``.
    labels, neighbors, eigenpairs, input_graph, output_graph, connectivity, graph, weights, input_metric, output_metric, \
standardize, ties, search, solver, sketch_error, tolerance, seed, threads, verbose
        As in `score`.

    Returns
    -------
    Distortion

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> found = spadework.distortion(ring, angle, neighbors=2, top=1)
    >>> found.largest["p"], found.largest["q"]
    (0, 59)
    """
    chosen = settings(**named(locals(), settings))
    check_sense(chosen, input_graph, output_graph, False)
    wanted = None if top is None else whole_number(top, "top", least=1)
    asked = [_pair(pair) for pair in pairs]
    one, other = side(inputs, input_graph, "input", chosen), side(outputs, output_graph, "output")
    given = as_labels(labels, samples_of(one))
    with progress_bars(verbose) as progress:
        model = (one, other, (given, None, None))
        found = _native.distortion(model, wanted, asked, bool(all_edges), (chosen, progress))
    document = json.loads(found.pop("document"))
    _notes.add_sparse(document, inputs, chosen)
    return Distortion(document=document, notes=_notes.told(document, verbose), **found)


def _pair(pair: Any) -> tuple[int, int]:
    try:
        p, q = pair
    except (TypeError, ValueError):
        raise ValueError(f"`pairs` must be pairs of samples, got {pair!r}") from None
    most = 2**32 - 1
    return whole_number(p, "pairs", least=0, most=most), whole_number(q, "pairs", least=0, most=most)


def select(
    inputs: Any = None,
    outputs: Any = None,
    *,
    top: int | None = None,
    by: Literal["fragility", "margin", "overlap", "node"] | None = None,
    **options: Any,
) -> npt.NDArray[np.int64]:
    """Indices of the most fragile samples, for an evaluation that is too expensive for all samples.

    Parameters
    ----------
    inputs, outputs : array-like of shape (n, ...)
        As in `score`.
    top : int, optional
        How many; 100 by default, or all if there are fewer.
    by : {"fragility", "margin", "overlap", "node"}, optional
        What samples are ranked by: a large fragility (`Report.fragility`, with ``probed=`` by probes too), a small margin
        (`Report.margins`), a small overlap (`Report.overlap`) or a large node score. By default the fragility of a classifier, and
        the node score otherwise.
    **options
        As in `score`.

    Returns
    -------
    ndarray of shape (top,)
        Most fragile first; equal overlaps are ordered by node score, other ties by index.

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> sorted(spadework.select(ring, angle, top=2, neighbors=2).tolist())
    [0, 59]
    """
    wanted = None if top is None else whole_number(top, "top", least=1)
    if by not in (None, "fragility", "margin", "overlap", "node"):
        raise ValueError(f'`by` must be "fragility", "margin", "overlap" or "node", got {by!r}')
    report = score(inputs, outputs, **options)
    samples = len(report.node_scores)
    scores = report.node_scores if by == "node" or report.fragility is None else report.fragility
    if by == "margin":
        if report.margins is None:
            raise ValueError('by="margin" needs `outputs` of at least two numbers per sample, one per class')
        scores = -report.margins
    if wanted is not None and wanted > samples:
        raise ValueError(f"`top` must be at most the number of samples ({samples}), got {wanted}")
    count = min(_SELECTED, samples) if wanted is None else wanted
    if by == "overlap" and report.overlap is not None:
        # As the command orders them; lexsort is stable and puts NaN last: samples without neighbors, of a graph that was given.
        order: npt.NDArray[np.int64] = np.lexsort((-report.node_scores, report.overlap))[:count].astype(np.int64)
        return order
    return largest(scores, count)


def perturbation_budget(node_scores: Any, *, top: int, large: float, small: float) -> npt.NDArray[np.float64]:
    """A perturbation size for every sample: a large one for the most fragile, a small one for the others.

    The paper trains this way: 45,000 of the 55,000 samples of MNIST with 0.4 and the others with 0.2.

    Parameters
    ----------
    node_scores : array-like of shape (n,), or Report
        Scores of the samples; for a report, its node scores. For a classifier, ``report.fragility`` predicts better which
        samples break.
    top : int
        How many of the most fragile samples get the large size.
    large, small : float
        The sizes.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import spadework
    >>> spadework.perturbation_budget([0.1, 3.0, 0.2, 1.0], top=2, large=0.4, small=0.2)
    array([0.2, 0.4, 0.2, 0.4])
    """
    scores = np.asarray(node_scores.node_scores if isinstance(node_scores, Report) else node_scores, dtype=np.float64)
    if scores.ndim != 1 or not np.all(np.isfinite(scores)):
        raise ValueError(f"node_scores must be one finite number per sample, got an array of shape {list(scores.shape)}")
    count = whole_number(top, "top", least=0)
    if count > len(scores):
        raise ValueError(f"`top` must be at most the number of samples ({len(scores)}), got {count}")
    sizes = {name: number(value, name) for name, value in (("large", large), ("small", small))}
    for name, size in sizes.items():
        if size < 0:
            raise ValueError(f"`{name}` must not be negative, got {size}")
    budget = np.full(len(scores), sizes["small"])
    budget[largest(scores, count)] = sizes["large"]
    return budget


def knn_graph(
    samples: Any,
    *,
    neighbors: int = 10,
    graph: str = "knn",
    weights: Literal["unit", "gaussian"] = "unit",
    metric: Metric = "euclidean",
    standardize: bool | Literal["robust"] = False,
    search: Literal["auto", "exact", "approximate"] = "auto",
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Any:
    """The neighbor graph of some samples as a SciPy matrix, connected or not.

    Needs SciPy. Pass the matrix to `score` as ``input_graph=`` or ``output_graph=``.

    Parameters
    ----------
    samples : array-like of shape (n, ...), or SciPy sparse matrix of shape (n, d)
        The samples. Sparse rows are searched exactly, by the Euclidean or the cosine distance, and are not made dense.
    neighbors : int, default=10
        Neighbors per sample, k.
    graph : str, default="knn"
        How the graph is made, as in `score`; ``"cknn:…"`` needs a factor of at most 1, and ``"sparse:…"`` a connected graph.
    metric : {"euclidean", "cosine", "manhattan", "chebyshev"}, default="euclidean"
        The distance between samples.
    weights, standardize, search, seed, threads, verbose
        As in `score`.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Symmetric, without a diagonal.

    Examples
    --------
    >>> import spadework
    >>> spadework.knn_graph([0.0, 1.0, 2.5, 7.0], neighbors=1).toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """
    own = named(locals(), settings)
    chosen = settings(**own, eigenpairs=1, input_metric=metric)
    if is_sparse(samples):
        return _sparse_graph(samples, chosen, "samples", verbose)
    rows = as_samples(samples, "samples")
    with progress_bars(verbose) as progress:
        found = _native.knn_graph(rows, (chosen, progress))
    return matrix(len(rows), found["graph_edges"], found["graph_weights"])


def _sparse_graph(samples: Any, chosen: Settings, argument: str, verbose: bool | None) -> Any:
    """The neighbor graph of sparse rows, which are not made dense."""
    usual = {"standardize": "none", "graph": "knn", "weights": "unit"}
    for name, value in usual.items():
        if chosen[name] != value:  # type: ignore[literal-required]
            raise ValueError(f"`{name}` needs dense rows, but {argument} are sparse: use .toarray(), or leave it out")
    entries = as_sparse_rows(samples, argument)
    with progress_bars(verbose) as progress:
        found = _native.sparse_knn_graph(entries, (chosen, progress))
    return matrix(entries.rows, found["graph_edges"], found["graph_weights"])
