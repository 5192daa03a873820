"""Scores: closed forms, SciPy, and what the options do."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import spadework


def laplacian(graph):
    return np.diag(np.asarray(graph.sum(axis=0)).ravel()) - graph.toarray()


def test_a_ring_opened_into_a_path_scores_the_number_of_its_nodes():
    # House of closed forms: input C_n, output P_n: λ_1 = n and all others 1.
    n = 40
    path = scipy.sparse.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)).tocsr()
    ring = path.tolil()
    ring[0, n - 1] = 1
    report = spadework.score(input_graph=ring.tocsr(), output_graph=path, eigenpairs=1)
    # A dense decomposition of 40 nodes: rounding times the condition number n² leaves ten digits.
    assert report.model_score == pytest.approx(n, rel=1e-10)
    closing = np.all(report.edges == [0, n - 1], axis=1)
    assert report.edge_scores[closing] == pytest.approx(n * (n - 1), rel=1e-9)
    assert report.edge_scores[~closing] == pytest.approx(n / (n - 1), rel=1e-9)


def test_scores_are_what_dense_linear_algebra_says(digits):
    inputs, outputs = digits["inputs"][:300], digits["standard"][:300]
    report = spadework.score(inputs, outputs, neighbors=10, eigenpairs=3, connectivity="bridge", verbose=False)
    lx, ly = laplacian(report.input_graph), laplacian(report.output_graph)
    # The constant vector is taken out of both by adding it to the right side: its eigenvalue becomes 0.
    values, vectors = scipy.linalg.eigh(lx, ly + np.ones_like(ly))
    top = slice(-1, -4, -1)
    # The eigenpairs have relative residuals of 1e-6; their values are good to about the square of that.
    assert report.eigenvalues == pytest.approx(values[top], rel=1e-9)
    embedding = vectors[:, top] * np.sqrt(values[top])
    p, q = report.edges.T
    expected = np.sum((embedding[p] - embedding[q]) ** 2, axis=1)
    # Vectors are off by the residual over the gap between eigenvalues, of which 1e-4 leaves room for a small one.
    assert report.edge_scores == pytest.approx(expected, rel=1e-4, abs=1e-4 * expected.max())
    sums = np.bincount(p, expected, 300) + np.bincount(q, expected, 300)
    degrees = np.bincount(p, minlength=300) + np.bincount(q, minlength=300)
    assert report.node_scores == pytest.approx(sums / degrees, rel=1e-4, abs=1e-4 * expected.max())


def test_the_input_graph_is_the_union_of_the_neighbors(digits):
    from sklearn.neighbors import kneighbors_graph

    inputs = digits["inputs"][:500].astype(np.float64)
    ours = spadework.knn_graph(inputs, neighbors=7)
    theirs = kneighbors_graph(inputs, 7, include_self=False)
    theirs = theirs.maximum(theirs.T)
    # Pixels are sixteenths, so that distances tie; a tie at the seventh place is decided by index here, not there.
    assert (ours != theirs).nnz <= 0.005 * ours.nnz
    assert ours.nnz == pytest.approx(theirs.nnz, rel=0.01)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(digits):
    one, three = (
        spadework.score(digits["inputs"], digits["standard"], seed=7, threads=threads) for threads in (1, 3)
    )
    assert one.model_score == three.model_score
    assert np.array_equal(one.node_scores, three.node_scores)
    assert np.array_equal(one.embedding, three.embedding)


def test_graphs_in_place_of_arrays_give_the_same_scores(digits):
    inputs, outputs = digits["inputs"], digits["standard"]
    of_arrays = spadework.score(inputs, outputs, connectivity="error")
    of_graphs = spadework.score(
        input_graph=spadework.knn_graph(inputs), output_graph=spadework.knn_graph(outputs).tocsc()
    )
    assert np.array_equal(of_arrays.node_scores, of_graphs.node_scores)
    mixed = spadework.score(inputs, output_graph=of_arrays.output_graph)
    assert np.array_equal(of_arrays.node_scores, mixed.node_scores)
    one_end = scipy.sparse.triu(of_arrays.input_graph)
    assert spadework.score(input_graph=one_end, outputs=outputs).model_score == of_arrays.model_score


def test_entries_that_are_no_edges_are_told(ring):
    inputs, outputs = ring
    graph = spadework.knn_graph(inputs, neighbors=2).tolil()
    graph[3, 3] = 5.0
    with pytest.warns(spadework.SpadeworkWarning, match="input_graph: 1 entry on the diagonal"):
        spadework.score(input_graph=graph.tocsr(), outputs=outputs, neighbors=2)


def test_weights_and_kinds_of_graphs_go_through(digits):
    inputs, outputs = digits["inputs"][:400], digits["standard"][:400]
    for options in ({"weights": "gaussian"}, {"graph": "pca:10"}, {"graph": "sparse:density=2"}, {"graph": "mutual"}):
        options = {"connectivity": "bridge", "verbose": False, **options}
        report = spadework.score(inputs, outputs, **options)
        assert report.model_score > 0
        given = spadework.score(input_graph=report.input_graph, output_graph=report.output_graph, verbose=False)
        # The same graphs, so the same problem; weights take part in sums in another order.
        assert given.model_score == pytest.approx(report.model_score, rel=1e-9), options


def test_intervals_and_references(digits):
    inputs, outputs = digits["inputs"][:200], digits["standard"][:200]
    plain = spadework.score(inputs, outputs, verbose=False)
    assert plain.interval is None and plain.permuted_score is None
    more = spadework.score(inputs, outputs, interval=True, references=True, verbose=False)
    assert more.interval.lower < more.model_score < more.interval.upper
    assert more.permuted_score > more.model_score
    certified = spadework.score(inputs, outputs, certify=True, verbose=False)
    assert certified.numerical_bounds.method in ("inertia", "dense") and certified.numerical_bounds.probability == 1
    unbounded = spadework.score(inputs, outputs, bounds=False, verbose=False)
    assert unbounded.numerical_bounds.method == "none" and unbounded.numerical_bounds.upper == math.inf
    assert unbounded.model_score == plain.model_score
    with pytest.raises(ValueError, match="`certify` proves the upper bound that `bounds=False` leaves out"):
        spadework.score(inputs, outputs, certify=True, bounds=False)


def test_all_eigenpairs(digits):
    report = spadework.score(digits["inputs"], digits["standard"], eigenpairs="all")
    assert report.document["full_spectrum"]["error"] <= 0.3
    assert report.embedding.shape[1] == 2


def test_growing_is_told(ring):
    inputs, outputs = ring
    far = np.where(np.arange(60) < 30, outputs, outputs + 1000)
    with pytest.warns(spadework.SpadeworkWarning, match="neighbors connect both graphs and are used"):
        report = spadework.score(inputs, far, neighbors=3)
    assert report.neighbors > 3 and "components" in report.notes[0]


def test_probabilities_are_told(digits):
    logits = digits["standard"]
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    with pytest.warns(spadework.SpadeworkWarning) as told:
        spadework.score(digits["inputs"], shifted / shifted.sum(axis=1, keepdims=True), connectivity="bridge")
    assert any("look like probabilities" in str(warning.message) for warning in told)
    # The line that is to blame is the caller's.
    assert {warning.filename for warning in told} == {__file__}


def test_margins_and_fragility(digits):
    inputs, outputs, labels = digits["inputs"], digits["standard"], digits["labels"]
    report = spadework.score(inputs, outputs, labels=labels)
    rows = np.arange(len(labels))
    others = outputs.astype(np.float64)
    others[rows, labels] = -np.inf
    assert np.array_equal(report.margins, outputs[rows, labels].astype(np.float64) - others.max(axis=1))
    assert report.document["margins"]["median"] == np.median(report.margins)
    assert np.array_equal(np.sort(report.fragility), (np.arange(len(labels)) + 0.5) / len(labels))
    wrong = report.margins < 0
    assert wrong.any() and report.fragility[wrong].min() > report.fragility[~wrong].max()
    plain = spadework.score(inputs, outputs)
    two = np.sort(outputs.astype(np.float64), axis=1)[:, -2:]
    assert np.array_equal(plain.margins, two[:, 1] - two[:, 0])
    comparison = spadework.compare(inputs, {"a": outputs, "b": digits["robust"]}, labels=labels)
    assert np.array_equal(comparison["a"].fragility, report.fragility)
    assert comparison["a"].document["margins"] == report.document["margins"]


def test_fragility_is_what_its_definition_says(digits):
    """The formula of `docs/what-the-scores-mean.md`, in NumPy."""
    inputs, outputs = digits["inputs"][:400].astype(np.float64), digits["standard"][:400].astype(np.float64)
    report = spadework.score(inputs, outputs, neighbors=16)
    p, q = report.edges.T
    change = (outputs[p] - outputs[q]) / np.linalg.norm(inputs[p] - inputs[q], axis=1)[:, None]
    pairs = np.abs(change[:, :, None] - change[:, None, :]).mean(axis=0)
    steep = np.linalg.norm(change, axis=1)
    local = (np.bincount(p, steep, 400) + np.bincount(q, steep, 400)) / (np.bincount(p, minlength=400) + np.bincount(q, minlength=400))
    rows, classes = np.arange(400), outputs.argmax(axis=1)
    with np.errstate(invalid="ignore"):
        reach = (outputs[rows, classes][:, None] - outputs) / np.sqrt(pairs[classes])
    reach[rows, classes] = np.inf
    expected = reach.min(axis=1) / local**0.25
    assert np.array_equal(np.argsort(expected), np.argsort(-report.fragility))


def test_indices(digits):
    inputs, outputs = digits["inputs"], digits["standard"]
    assert spadework.score(inputs, outputs).indices is None
    found = spadework.score(inputs, outputs, indices=True).indices
    assert 0.5 < found["neighborhoods"]["trustworthiness"] <= 1
    assert found["mean_eigenvalue"]["standard_error"] < 0.1 * found["mean_eigenvalue"]["value"]
    comparison = spadework.compare(inputs, {"a": outputs, "b": digits["robust"]}, indices=True)
    models = {model["name"]: model for model in comparison.document["models"]}
    assert models["a"]["indices"]["neighborhoods"] == found["neighborhoods"]
    assert comparison["a"].indices == models["a"]["indices"]


def test_embeddings_are_no_classes(digits):
    inputs, labels = digits["inputs"], digits["labels"]
    generator = np.random.default_rng(1)
    # The same logits seen by 32 random directions: ten labels name ten of the columns, and nothing is right by them.
    embedding = digits["standard"].astype(np.float64) @ generator.normal(size=(10, 32))
    with pytest.warns(spadework.SpadeworkWarning, match="the labels are not classes of the 32 outputs"):
        report = spadework.score(inputs, embedding, labels=labels)
    assert report.accuracy is None and report.margins is None and report.fragility_basis == "neighborhood overlap and distances"
    told = spadework.score(inputs, embedding, labels=labels, task="classes")
    assert told.accuracy is None and told.document["margins"]["kind"] == "predicted"
    two = np.sort(embedding, axis=1)[:, -2:]
    assert np.array_equal(told.margins, two[:, 1] - two[:, 0])
    classifier = spadework.score(inputs, digits["standard"], labels=labels)
    assert classifier.accuracy == np.mean(digits["standard"].argmax(axis=1) == labels)
    # Some classes only: the predictions of most of them tell.
    some = labels < 4
    part = spadework.score(inputs[some], digits["standard"][some], labels=labels[some], verbose=False)
    assert part.accuracy == np.mean(digits["standard"][some].argmax(axis=1) == labels[some])
    with pytest.warns(spadework.SpadeworkWarning, match="only .* % of the samples have their largest output at their label"):
        spadework.score(inputs, digits["standard"], labels=(labels + 1) % 10)


def test_select_and_budgets(digits):
    report = spadework.score(digits["inputs"], digits["standard"])
    chosen = spadework.select(digits["inputs"], digits["standard"], top=50)
    assert chosen.tolist() == sorted(range(1797), key=lambda i: (-report.fragility[i], i))[:50]
    assert len(spadework.select(digits["inputs"][:60], digits["standard"][:60], verbose=False)) == 60
    ranked = {"node": report.node_scores, "fragility": report.fragility, "margin": -report.margins}
    for by, scores in ranked.items():
        chosen_by = spadework.select(digits["inputs"], digits["standard"], top=50, by=by)
        assert chosen_by.tolist() == np.argsort(-scores, kind="stable")[:50].tolist()
    # Equal overlaps by node score, as the command orders them.
    order = sorted(range(1797), key=lambda i: (report.overlap[i], -report.node_scores[i], i))
    assert order != sorted(range(1797), key=lambda i: (report.overlap[i], i))
    by_overlap = spadework.select(digits["inputs"], digits["standard"], top=1797, by="overlap")
    assert by_overlap.tolist() == order
    with pytest.raises(ValueError, match='`by` must be "fragility", "margin", "overlap" or "node", got \'luck\''):
        spadework.select(digits["inputs"], digits["standard"], by="luck")
    with pytest.raises(ValueError, match='by="margin" needs `outputs` of at least two numbers per sample'):
        spadework.select(digits["inputs"], digits["standard"][:, 0], by="margin", verbose=False)
    budget = spadework.perturbation_budget(report, top=50, large=0.4, small=0.2)
    by_node = spadework.select(digits["inputs"], digits["standard"], top=50, by="node")
    assert np.flatnonzero(budget == 0.4).tolist() == sorted(by_node.tolist())
    assert np.count_nonzero(budget == 0.2) == 1797 - 50


def test_overlap_is_the_share_of_neighbors_that_stay(digits):
    """By SciPy's matrices of both graphs."""
    report = spadework.score(digits["inputs"], digits["standard"])
    before, after = report.input_graph.astype(bool), report.output_graph.astype(bool)
    stay = before.multiply(after).sum(axis=1)
    assert np.allclose(report.overlap, np.asarray(stay / before.sum(axis=1)).ravel(), rtol=1e-15)


def test_samples_without_neighbors_are_selected_last():
    graph = scipy.sparse.csr_array(np.diag(np.ones(38), 1)[:39, :39] + np.diag(np.ones(38), -1)[:39, :39])
    graph = scipy.sparse.csr_array(scipy.sparse.block_diag([np.zeros((1, 1)), graph]))
    outputs = np.random.default_rng(0).normal(size=(40, 2))
    options = {"input_graph": graph, "connectivity": "bridge", "neighbors": 3, "task": "embedding", "verbose": False}
    assert spadework.select(outputs=outputs, top=40, by="overlap", **options)[-1] == 0


def test_labels_have_the_overlap_of_their_samples(digits):
    """By SciPy's matrices of both graphs: every edge counts for each of its ends."""
    words = np.array(["even", "odd"])[digits["labels"] % 2]
    names = [f"digit {at}" for at in range(1797)]
    report = spadework.score(digits["inputs"], digits["standard"], labels=words, ids=names, task="embedding", verbose=False)
    before, after = report.input_graph.astype(bool), report.output_graph.astype(bool)
    stay = before.multiply(after)
    expected = {word: stay[words == word].sum() / before[words == word].sum() for word in ("even", "odd")}
    assert report.label_overlaps == pytest.approx(expected, rel=1e-14)
    assert list(report.label_overlaps) == sorted(expected, key=lambda word: expected[word])
    assert dict(zip(*report.to_frame("labels")[["label", "overlap"]].to_numpy().T)) == pytest.approx(expected, rel=1e-14)
    for label in report.document["label_scores"]:
        assert label["overlap"]["lower"] < label["overlap"]["estimate"] < label["overlap"]["upper"]


def test_samples_have_names(digits, tmp_path):
    names = np.array([f"digit {at}" for at in range(300)])
    inputs, outputs = digits["inputs"][:300], digits["standard"][:300]
    report = spadework.score(inputs, outputs, ids=names, verbose=False)
    weakest = report.top_nodes(1)[0]
    assert report.to_dict()["top_nodes"][0]["id"] == report.document["top_nodes"][0]["id"] == names[weakest]
    assert report.to_frame()["id"].tolist() == names.tolist()
    report.save(tmp_path / "report.npz")
    kept = spadework.Report.load(tmp_path / "report.npz")
    assert kept.ids.tolist() == names.tolist()
    kept.to_html(tmp_path / "page.html", inputs=inputs, outputs=outputs, verbose=False)
    assert f'"{names[weakest]}"' in (tmp_path / "page.html").read_text()
    moved = spadework.moved(outputs, outputs[::-1].copy(), ids=names, top=5, verbose=False)
    assert moved.ids == names[moved.indices].tolist() and moved.document["metric"] == "euclidean"
    assert spadework.moved(outputs, inputs, metric="cosine", verbose=False).document["metric"] == "cosine"
    with pytest.raises(ValueError, match="`ids`: ids must be one per sample, got 3 for 300 samples"):
        spadework.score(inputs, outputs, ids=names[:3])
    with pytest.raises(ValueError, match="`ids`: ids must be one per sample, got 3 for 300 samples"):
        spadework.moved(outputs, outputs, ids=names[:3])
    with pytest.raises(ValueError, match="`ids` must be one name per sample, got 'names.txt'"):
        spadework.score(inputs, outputs, ids="names.txt")
    twice = spadework.score(inputs, outputs, ids=[*names[:299], names[0]], verbose=False)
    assert any("`ids`: samples 0 and 299 (counted from 0) have the same id, digit 0" in note for note in twice.notes)


def test_comparisons_rank_and_agree_with_single_scores(digits):
    models = {"standard": digits["standard"], "robust": digits["robust"]}
    comparison = spadework.compare(digits["inputs"], models, labels=digits["labels"])
    assert comparison.ranking == ["robust", "standard"]
    for name, outputs in models.items():
        alone = spadework.score(digits["inputs"], outputs, neighbors=comparison.neighbors)
        assert comparison[name].model_score == alone.model_score
        assert np.array_equal(comparison[name].node_scores, alone.node_scores)
    frame = comparison.to_frame()
    correct = np.mean(digits["robust"].argmax(axis=1) == digits["labels"])
    assert frame.accuracy[0] == correct


def test_sweeps_agree_with_single_scores(digits):
    found = spadework.sweep(digits["inputs"], digits["standard"], neighbors=[8, 12])
    for k, score in zip(found.neighbors, found.model_scores[:, 0]):
        assert spadework.score(digits["inputs"], digits["standard"], neighbors=int(k)).model_score == score
    models = {name: digits[name] for name in ("standard", "robust")}
    both = spadework.sweep(digits["inputs"], models, neighbors=range(8, 11))
    assert both.model_scores.shape == (3, 2) and both.stable["ranking"] == ["robust", "standard"]


def test_a_refused_k_of_a_sweep_has_no_score(ring):
    inputs, outputs = ring
    far = np.where(np.arange(60) < 30, outputs, outputs + 1000)
    found = spadework.sweep(inputs, far, neighbors=[3, 40], connectivity="error")
    assert np.isnan(found.model_scores[0, 0]) and found.model_scores[1, 0] > 0
    assert np.isnan(found.to_frame().model_score[0])


def test_a_model_may_stand_for_its_outputs(digits):
    inputs = digits["inputs"][:200]
    weights = np.random.default_rng(0).standard_normal((inputs.shape[1], 4)).astype(np.float32)
    by_array = spadework.score(inputs, inputs @ weights, verbose=False)
    by_model = spadework.score(inputs, lambda x: x @ weights, verbose=False)
    assert by_model.model_score == by_array.model_score
    compared = spadework.compare(inputs, {"array": inputs @ weights, "model": lambda x: x @ weights}, verbose=False)
    assert compared.ranks == {"array": 1, "model": 1}
    with pytest.raises(ValueError, match="is a model, which needs `inputs`"):
        spadework.score(outputs=lambda x: x, input_graph=scipy.sparse.eye_array(3))


def test_one_output_with_two_labels_is_a_classifier():
    random = np.random.default_rng(1)
    inputs = random.standard_normal((120, 5))
    logit = inputs @ random.standard_normal(5)
    labels = np.where(logit + 0.5 * random.standard_normal(120) > 0, 7, 3)
    report = spadework.score(inputs, logit, labels=labels, verbose=False)
    assert report.accuracy == np.mean((logit > 0) == (labels == 7))
    # The lead of z over −z, negative where the label is missed.
    assert report.margins == pytest.approx(2 * logit * np.where(labels == 7, 1, -1))
    regression = spadework.score(inputs, logit, labels=labels, task="regression", verbose=False)
    assert regression.accuracy is None and regression.margins is None
    assert regression.model_score == report.model_score
    with pytest.raises(ValueError, match="`task` must be auto, classes, embedding or regression"):
        spadework.score(inputs, logit, task="ranking")


def test_embeddings_have_no_margins(digits):
    report = spadework.score(digits["inputs"], digits["standard"], task="embedding", verbose=False)
    assert report.margins is None and report.document["fragility_basis"] == "neighborhood overlap and distances"
    assert report.document["request"]["task"] == "embedding"


def test_notes_have_codes_in_the_document():
    random = np.random.default_rng(0)
    groups = np.repeat([0, 50], 60)[:, None]
    inputs = random.standard_normal((120, 3)) + groups
    with pytest.warns(spadework.SpadeworkWarning, match='connectivity="bridge"'):
        report = spadework.score(inputs, inputs[:, :2], neighbors=5)
    (note,) = report.document["notes"]
    assert note == {"code": "neighbors-grown", "message": report.notes[0]}
    quiet = spadework.score(inputs, inputs[:, :2], neighbors=5, verbose=False)
    assert quiet.document["notes"] == report.document["notes"]


def test_models_are_ranked_by_unevenness_with_intervals(digits):
    models = {name: digits[name] for name in ("standard", "robust")}
    found = spadework.compare(digits["inputs"], models, verbose=False)
    known = {model["name"]: model["estimates"]["unevenness"] for model in found.document["models"]}
    assert found.ranked_by == "unevenness"
    assert found.ranking == sorted(known, key=lambda name: known[name]["estimate"])
    assert all(number["lower"] < number["estimate"] < number["upper"] for number in known.values())
    robust = found["robust"]
    assert robust.unevenness == pytest.approx(robust.roughness + 1 - robust.agreement)
    by_overlap = spadework.compare(digits["inputs"], models, rank_by="overlap", verbose=False)
    assert by_overlap.ranking == sorted(models, key=lambda name: -by_overlap[name].neighborhood_overlap)
    by_score = spadework.compare(digits["inputs"], models, rank_by="model-score", verbose=False)
    assert by_score.ranking == sorted(models, key=lambda name: by_score[name].model_score)
    with pytest.raises(ValueError, match="needs probes of models that can be run"):
        spadework.compare(digits["inputs"], models, rank_by="robust-accuracy", verbose=False)
