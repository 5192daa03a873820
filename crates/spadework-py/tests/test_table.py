"""Tables: distances that one computes by hand, estimators of scikit-learn on its own data sets, and ties of forests."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import spadework
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from spadework.perturb import column_noise

TABLE = pandas.DataFrame(
    {
        "age": [20, 30, 60, 40],
        "income": [1e3, 5e4, 2e4, 3e4],
        "city": ["Bonn", "Köln", "Bonn", "Aachen"],
        "member": [True, False, True, True],
        "same": [7, 7, 7, 7],
    }
)


def test_onehot_puts_two_categories_at_a_distance_of_one():
    rows, names, metric, _ = spadework.encode_table(TABLE)
    assert names == ["age", "income", "city=Aachen", "city=Bonn", "city=Köln", "member=False", "member=True", "same"]
    assert metric == "euclidean"
    ages, incomes = (TABLE[name] / TABLE[name].std(ddof=0) for name in ("age", "income"))
    squared = (ages[0] - ages[1]) ** 2 + (incomes[0] - incomes[1]) ** 2 + 1 + 1
    assert np.sum((rows[0] - rows[1]) ** 2) == pytest.approx(squared)
    np.testing.assert_allclose(rows[:, :2], StandardScaler().fit_transform(TABLE[["age", "income"]]))


def test_gower_is_the_mean_over_columns():
    rows, _, metric, _ = spadework.encode_table(TABLE, categories="gower")
    assert metric == "manhattan"

    def gower(p, q):
        numeric = sum(abs(TABLE[name][p] - TABLE[name][q]) / np.ptp(TABLE[name]) for name in ("age", "income"))
        return (numeric + (TABLE["city"][p] != TABLE["city"][q]) + (TABLE["member"][p] != TABLE["member"][q])) / 5

    for p in range(4):
        for q in range(4):
            assert np.abs(rows[p] - rows[q]).sum() == pytest.approx(gower(p, q), abs=1e-15)


def test_missing_values_are_refused_with_row_and_column():
    for name, value in [("age", np.nan), ("city", None), ("income", np.inf)]:
        broken = TABLE.astype({"age": float}).copy()
        broken.loc[2, name] = value
        with pytest.raises(ValueError, match=f"at row 2 .counted from 0., column '{name}'"):
            spadework.encode_table(broken)
    with pytest.raises(ValueError, match="row 0 .counted from 0., column 1"):
        spadework.encode_table([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(ValueError, match="'b' has no interquartile range"):
        spadework.encode_table(pandas.DataFrame({"b": [0, 0, 0, 0, 1]}), standardize="robust")
    with pytest.raises(ValueError, match='"onehot" or "gower"'):
        spadework.encode_table(TABLE, categories="ordinal")
    with pytest.raises(ValueError, match="columns of the table, got 'weight'"):
        spadework.encode_table(TABLE, columns=["weight"])
    dated = TABLE.assign(when=pandas.date_range("2026-01-01", periods=len(TABLE)))
    with pytest.raises(ValueError, match="column 'when' must hold numbers or categories, got datetime64"):
        spadework.encode_table(dated)
    assert spadework.encode_table(dated, columns=["age", "city"]).names[0] == "age"
    with pytest.raises(ValueError, match="pass a DataFrame"):
        spadework.encode_table(np.array([["a", "b"]]))


def test_new_rows_are_encoded_like_a_known_table():
    rng = np.random.default_rng(0)
    old = pandas.DataFrame({"size": rng.gamma(2, 5, 60), "kind": rng.choice(["flat", "house", "loft"], 60), "same": 1.0})
    new = pandas.DataFrame({"size": [3.0, 50.0], "kind": ["loft", "flat"], "same": [1.0, 2.0]})
    encoded = spadework.encode_table(new, like=old)
    scaler, onehot = StandardScaler().fit(old[["size"]]), OneHotEncoder(sparse_output=False).fit(old[["kind"]])
    kinds = onehot.transform(new[["kind"]]) / np.sqrt(2)
    np.testing.assert_allclose(encoded.rows, np.hstack([scaler.transform(new[["size"]]), kinds, [[0], [0]]]))
    assert encoded.names == spadework.encode_table(old).names
    gower = spadework.encode_table(new, like=old, categories="gower").rows
    np.testing.assert_allclose(gower[:, 0], MinMaxScaler().fit(old[["size"]]).transform(new[["size"]])[:, 0] / 3)
    np.testing.assert_array_equal(spadework.encode_table(old, like=old).rows, spadework.encode_table(old).rows)
    for categories in ("onehot", "gower"):
        with pytest.raises(ValueError, match="categories of `like`, got 'hut' at row 1 .counted from 0., column 'kind'"):
            spadework.encode_table(new.assign(kind=["flat", "hut"]), like=old, categories=categories)
    with pytest.raises(ValueError, match="columns of `like`"):
        spadework.encode_table(new[["kind", "size", "same"]], like=old)
    with pytest.raises(ValueError, match="column 'kind' holds categories in `like`, got numbers"):
        spadework.encode_table(new.assign(kind=[1, 2]), like=old)
    # New samples of a fitted model.
    outputs = old[["size"]].to_numpy()
    spade = spadework.Spade(neighbors=5, connectivity="bridge", verbose=False).fit(spadework.encode_table(old).rows, outputs)
    found = spade.score_samples(encoded.rows, new[["size"]].to_numpy())
    assert found.shape == (2,) and np.isfinite(found).all()


def test_a_pipeline_says_which_category_it_has_never_seen():
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(TABLE[["city"]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="Found unknown categories .*Rom.* in column 0"):
        spadework.score_table(model, TABLE[["city"]].assign(city=["Bonn", "Rom", "Bonn", "Bonn"]), neighbors=2, verbose=False)


def test_breast_cancer_by_probabilities():
    data = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, data.target)
    report = spadework.score_table(model, data.data, labels=data.target, verbose=False)
    assert report.document["accuracy"] == pytest.approx(model.score(data.data, data.target))
    assert report.document["columns"][0] == "mean radius" and report.document["output_dim"] == 2
    scaled = StandardScaler().fit_transform(data.data)
    theirs = kneighbors_graph(scaled, report.neighbors)
    edges = np.transpose(((theirs + theirs.T) > 0).nonzero())
    np.testing.assert_array_equal(report.edges, edges[edges[:, 0] < edges[:, 1]])


def kinds_of_wine(words):
    """The wines with their kinds as other labels than positions, of which the last rows lack one."""
    data = load_wine(as_frame=True)
    kinds = np.array(words)[data.target]
    return data.data, kinds, kinds != words[0]


@pytest.mark.parametrize("words", [["dry", "red", "rosé"], [1, 2, 3], [10.0, 20.0, 40.0], ["0", "1", "2"]])
def test_labels_are_the_classes_that_an_estimator_was_fitted_with(words, tmp_path):
    table, kinds, rows = kinds_of_wine(words)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(table, kinds)
    # One class is missing among these rows, so their words cannot be counted.
    expected = model.score(table[rows], kinds[rows])
    assert expected < 1
    report = spadework.score_table(model, table[rows], labels=kinds[rows], verbose=False)
    assert report.accuracy == pytest.approx(expected)
    probabilities = model.predict_proba(table[rows])
    own = np.searchsorted(model.classes_, kinds[rows])
    others = np.where(np.arange(3) == own[:, None], -1, probabilities).max(axis=1)
    np.testing.assert_allclose(report.margins, probabilities[np.arange(len(own)), own] - others, atol=1e-12)
    assert set(report.label_scores) == {str(word) for word in words[1:]}
    # The class that is missing has no name among the labels, and the page does without it.
    report.to_html(tmp_path / "page.html", inputs=table[rows], outputs=probabilities)
    assert str(words[1]) in (tmp_path / "page.html").read_text(encoding="utf-8")
    found = spadework.probe(model, table[rows], perturb=lambda batch, i, rng: batch.copy(), labels=kinds[rows], probes=2)
    assert found.accuracy == found.survived.estimate == pytest.approx(expected)
    # Pandas' categories are words, too.
    categories = pandas.Categorical(kinds[rows], categories=words)
    again = spadework.score_table(model, table[rows], labels=categories, verbose=False)
    assert again.accuracy == report.accuracy
    called = []

    def counted(batch, variant, rng):
        called.append(variant)
        return batch.copy()

    wrong = np.array([*kinds[rows][:-1].tolist(), {str: "green"}.get(type(words[0]), 7)], dtype=object)
    for call in (
        lambda: spadework.score_table(model, table[rows], labels=wrong, verbose=False),
        lambda: spadework.probe(model, table[rows], perturb=counted, labels=wrong),
    ):
        with pytest.raises(ValueError, match=f"must be classes of the model .{words[0]!r}, .* got .* at row {rows.sum() - 1}"):
            call()
    assert called == [], "labels are refused before any variant"


def test_positions_are_labels_of_classes_that_are_words():
    table, kinds, _ = kinds_of_wine(["dry", "red", "rosé"])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(table, kinds)
    report = spadework.score_table(model, table, labels=np.searchsorted(model.classes_, kinds), verbose=False)
    assert report.accuracy == pytest.approx(model.score(table, kinds))


def test_estimators_without_probabilities_are_classifiers():
    data = load_breast_cancer(as_frame=True)
    margins = make_pipeline(StandardScaler(), LinearSVC()).fit(data.data, data.target)
    # One number per sample, with and without labels.
    report = spadework.score_table(margins, data.data, verbose=False)
    np.testing.assert_allclose(report.margins, 2 * np.abs(margins.decision_function(data.data)))
    labeled = spadework.score_table(margins, data.data, labels=data.target, verbose=False)
    assert labeled.accuracy == pytest.approx(margins.score(data.data, data.target))
    noise = column_noise(data.data, 0.2)
    found = spadework.probe(margins, data.data, perturb=noise, labels=data.target, probes=20, precision=0)
    by_hand = spadework.probe(margins.predict, data.data, perturb=noise, labels=data.target, probes=20, precision=0)
    np.testing.assert_array_equal(found.flips, by_hand.flips)
    np.testing.assert_allclose(found.margins, 2 * np.abs(margins.decision_function(data.data)))
    assert found.accuracy == by_hand.accuracy == labeled.accuracy

    # A committee that only votes: classes, whatever they are called.
    table, kinds, _ = kinds_of_wine(["dry", "red", "rosé"])
    committee = VotingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]).fit(table, kinds)
    report = spadework.score_table(committee, table, labels=kinds, verbose=False)
    assert report.document["output_dim"] == 3 and report.accuracy == pytest.approx(committee.score(table, kinds))
    found = spadework.probe(committee, table, perturb=column_noise(table, 0.5), labels=kinds, probes=10)
    assert found.margins is None and found.accuracy == report.accuracy and found.flips.sum() > 0


def test_pages_name_the_columns_of_a_table(tmp_path):
    data = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, data.target)
    outputs, page = model.predict_proba(data.data), tmp_path / "page.html"
    report = spadework.score_table(model, data.data, labels=data.target, verbose=False)
    report.to_html(page, inputs=data.data, outputs=outputs, verbose=False)
    text = page.read_text()
    assert all(f'"{name}"' in text for name in data.data.columns)
    # Its encoded rows, and a report that was saved.
    report.save(tmp_path / "report.npz")
    kept = spadework.Report.load(tmp_path / "report.npz")
    kept.to_html(page, inputs=spadework.encode_table(data.data), outputs=outputs, verbose=False)
    assert page.read_text() == text
    with pytest.raises(ValueError, match=r"`inputs` must be the table .* got ndarray"):
        kept.to_html(page, inputs=data.data.to_numpy(), outputs=outputs, verbose=False)
    # A frame of numbers, without an encoding.
    spadework.score(data.data, outputs, verbose=False).to_html(page, inputs=data.data, outputs=outputs, verbose=False)
    assert '"mean radius"' in page.read_text()
    spadework.score(data.data, outputs, verbose=False).to_html(page, inputs=data.data.to_numpy(), outputs=outputs, verbose=False)
    assert '"mean radius"' not in page.read_text()


def test_pages_name_categories(tmp_path):
    table = pandas.concat([TABLE.assign(age=TABLE["age"] + 7 * at) for at in range(10)], ignore_index=True)

    def model(rows):
        return rows[["age", "income"]].to_numpy() / [50, 4e4]

    for categories in ("onehot", "gower"):
        report = spadework.score_table(model, table, categories=categories, neighbors=5, verbose=False)
        report.to_html(tmp_path / "page.html", inputs=table, outputs=model(table), verbose=False)
        assert '"city=Köln"' in (tmp_path / "page.html").read_text()


def test_diabetes_by_a_single_number():
    data = load_diabetes(as_frame=True)
    report = spadework.score_table(Ridge().fit(data.data, data.target), data.data, verbose=False)
    assert report.margins is None and report.document["output_dim"] == 1


def neighbors_of_ties(inputs, outputs, k):
    """Edges of the k nearest by distance at the output, then at the input, then by index: all pairs, by NumPy alone."""
    at_output, at_input = (((rows[:, None] - rows[None]) ** 2).sum(axis=2) for rows in (outputs, inputs))
    found = set()
    for p in range(len(inputs)):
        order = np.lexsort((np.arange(len(inputs)), at_input[p], at_output[p]))
        found |= {(min(p, int(q)), max(p, int(q))) for q in order[order != p][:k]}
    return sorted(found)


def test_the_inputs_decide_which_equal_outputs_of_a_forest_are_neighbors():
    data = load_wine(as_frame=True)
    forest = RandomForestClassifier(8, random_state=0).fit(data.data, data.target)
    # Eighths, whose squared distances have no rounding.
    outputs = forest.predict_proba(data.data)
    rows = spadework.encode_table(data.data).rows
    report = spadework.score(rows, outputs, verbose=False)
    assert report.document["graphs"]["output"]["ties"] == report.document["request"]["ties"] == "inputs"
    assert [tuple(edge) for edge in report.output_edges] == neighbors_of_ties(rows, outputs, report.neighbors)
    table = spadework.score_table(forest, data.data, verbose=False)
    np.testing.assert_array_equal(table.output_edges, report.output_edges)
    for threads in (1, 3):
        again = spadework.score(rows, outputs, threads=threads, verbose=False)
        np.testing.assert_array_equal(again.node_scores, report.node_scores)


def test_scores_of_a_forest_do_not_depend_on_the_order_of_the_rows():
    data = load_wine(as_frame=True)
    forest = RandomForestClassifier(10, random_state=0).fit(data.data, data.target)
    outputs, rows = forest.predict_proba(data.data), spadework.encode_table(data.data).rows
    order = np.random.default_rng(0).permutation(len(rows))
    report = spadework.score(rows, outputs, verbose=False)
    moved = spadework.score(rows[order], outputs[order], verbose=False)
    assert moved.model_score == pytest.approx(report.model_score, rel=1e-6)
    np.testing.assert_allclose(moved.node_scores, report.node_scores[order], rtol=0, atol=1e-4 * report.node_scores.max())
    compared = spadework.compare(rows[order], {"forest": outputs[order], "same": rows[order]}, verbose=False)
    whole = spadework.compare(rows, {"forest": outputs, "same": rows}, verbose=False)
    assert compared.reports["forest"].model_score == pytest.approx(whole.reports["forest"].model_score, rel=1e-6)
    by_index = [spadework.score(rows[at], outputs[at], ties="index", verbose=False) for at in (slice(None), order)]
    assert abs(by_index[0].model_score / by_index[1].model_score - 1) > 1e-3
    assert any("the index decides" in note for note in by_index[0].notes)
    spade = spadework.Spade(ties="index", verbose=False).fit(rows, outputs)
    assert spade.model_score_ == by_index[0].model_score


def test_inputs_without_distances_decide_nothing():
    data = load_wine(as_frame=True)
    outputs = RandomForestClassifier(10, random_state=0).fit(data.data, data.target).predict_proba(data.data)
    graph = spadework.knn_graph(spadework.encode_table(data.data).rows, graph="mutual", neighbors=40)
    report = spadework.score(outputs=outputs, input_graph=graph, verbose=False)
    assert report.document["graphs"]["output"]["ties"] == "index"
    assert any("a graph of the inputs has no distances" in note for note in report.notes)


def test_ties_of_a_forest_are_split_by_the_inputs_and_by_nothing_else():
    data = load_wine(as_frame=True)
    forest = RandomForestClassifier(10, random_state=0).fit(data.data, data.target)
    outputs = forest.predict_proba(data.data)
    report = spadework.score_table(forest, data.data, labels=data.target, verbose=False)
    assert any("exact copies: their distance at the input decides" in note for note in report.notes)
    # Accuracy and margins are those of the probabilities.
    assert report.document["accuracy"] == pytest.approx(forest.score(data.data, data.target))
    second, first = np.sort(outputs, axis=1)[:, -2:].T
    np.testing.assert_allclose(np.abs(report.margins), first - second, atol=1e-12)
    # The order of the rows does not matter: with ties by index it does.
    order = np.random.default_rng(0).permutation(len(outputs))
    again = spadework.score_table(forest, data.data.iloc[order], verbose=False)
    assert again.model_score == pytest.approx(report.model_score, rel=1e-6)
    kept = [
        spadework.score_table(forest, table, ties="index", verbose=False).model_score
        for table in (data.data, data.data.iloc[order])
    ]
    assert abs(kept[0] / kept[1] - 1) > 1e-6


def test_bad_calls_are_refused():
    data = load_wine(as_frame=True)
    with pytest.raises(ValueError, match="`input_metric` is not an argument here"):
        spadework.score_table(lambda table: table, data.data, input_metric="cosine")
    with pytest.raises(ValueError, match='`ties` must be inputs or index, got "keep"'):
        spadework.score_table(lambda table: table, data.data, ties="keep")
    with pytest.raises(ValueError, match="must return numbers, got"):
        spadework.score_table(lambda table: np.full(len(table), "red"), data.data)
    with pytest.raises(ValueError, match="one row per sample .178., got 3"):
        spadework.score_table(lambda table: np.zeros((3, 2)), data.data)
    with pytest.raises(ValueError, match="an estimator with predict_proba or predict"):
        spadework.score_table(3, data.data)
