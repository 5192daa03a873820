"""Results: tables, documents, files, notebooks, plots."""

from __future__ import annotations

import base64
import html
import io
import json
import pickle

import matplotlib

matplotlib.use("Agg")

import matplotlib.image
import numpy as np
import pytest
import spadework


@pytest.fixture(scope="module")
def report(digits):
    words = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "<nine>"])
    # By the alphabet the words are in another order than the outputs, which is asked about.
    with pytest.warns(spadework.SpadeworkWarning, match="are the outputs classes, in the order of the labels"):
        return spadework.score(digits["inputs"], digits["standard"], labels=words[digits["labels"]])


def test_frames(report, digits):
    nodes = report.to_frame()
    assert list(nodes.columns) == ["index", "label", "score", "rank", "margin", "fragility", "overlap"]
    assert nodes.sort_values("rank")["index"].head(10).tolist() == report.top_nodes().tolist()
    assert nodes.label[0] == "zero"
    edges = report.to_frame("edges")
    assert edges.loc[edges.score.idxmax(), ["p", "q"]].tolist() == report.top_edges(1)[0].tolist()
    labels = report.to_frame("labels")
    expected = nodes.groupby("label").score.mean()
    assert labels.set_index("label").score.to_dict() == pytest.approx(expected.to_dict())
    assert report.label_scores == pytest.approx(expected.to_dict())
    with pytest.raises(ValueError, match="`table` must be"):
        report.to_frame("faces")


def test_documents(report):
    document = json.loads(report.to_json())
    assert document["schema"] == "spadework.score/4"
    assert document == report.to_dict() == {**report.document}
    assert len(report.to_dict(top=50)["top_nodes"]) == 50
    assert json.loads(report.to_json(indent=None)) == document


def same(one, other):
    assert one.document == other.document and one.notes == other.notes
    for name, array in one.arrays().items():
        found = other.arrays()[name]
        assert (array is None) == (found is None), name
        assert array is None or (np.array_equal(array, found) and array.dtype == found.dtype), name


def test_files_and_pickles(report, tmp_path):
    report.save(tmp_path / "result.npz")
    same(spadework.Report.load(tmp_path / "result.npz"), report)
    same(pickle.loads(pickle.dumps(report)), report)
    assert [path.name for path in tmp_path.iterdir()] == ["result.npz"]


def test_a_comparison_in_a_file(digits, tmp_path):
    models = {"standard": digits["standard"], "robust/net": digits["robust"]}
    comparison = spadework.compare(digits["inputs"], models, labels=digits["labels"])
    comparison.save(tmp_path / "models.npz")
    loaded = spadework.Comparison.load(tmp_path / "models.npz")
    assert loaded.to_dict() == comparison.to_dict() and loaded.ranking == comparison.ranking
    for name in models:
        same(loaded[name], comparison[name])
    same(pickle.loads(pickle.dumps(comparison))["standard"], comparison["standard"])
    with pytest.raises(ValueError, match="expected a result of schema `spadework.score/4`"):
        spadework.Report.load(tmp_path / "models.npz")


def test_a_report_of_another_version_is_refused_by_name(report, tmp_path):
    report.save(tmp_path / "report.npz")
    with np.load(tmp_path / "report.npz") as file:
        members = {name: file[name] for name in file.files}
    members["document"] = np.array(str(members["document"]).replace("spadework.score/4", "spadework.score/3"))
    np.savez(tmp_path / "old.npz", **members)
    with pytest.raises(ValueError, match="got `spadework.score/3`, of another version of spadework: make the result again"):
        spadework.Report.load(tmp_path / "old.npz")


def test_wrong_files(report, tmp_path):
    with pytest.raises(FileNotFoundError):
        spadework.Report.load(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="text.npz: expected a result that was saved"):
        spadework.Report.load(tmp_path / "text.npz")
    np.savez(tmp_path / "arrays.npz", x=np.ones(3))
    with pytest.raises(ValueError, match="it holds no document"):
        spadework.Report.load(tmp_path / "arrays.npz")
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "no folder" / "result.npz")


def test_a_failed_save_leaves_the_old_file(report, tmp_path, monkeypatch):
    place = tmp_path / "result.npz"
    place.write_text("old")
    monkeypatch.setattr(np, "savez_compressed", lambda file, **_: file.write(b"half") and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.save(place)
    assert place.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_notebooks(report, digits):
    page = report._repr_html_()
    assert "<table>" in page and f"{report.model_score:.6g}" in page
    some = slice(0, 300)
    words = np.where(digits["labels"][some] > 4, "<u>", "<s>")
    with_words = spadework.score(digits["inputs"][some], digits["standard"][some], labels=words, verbose=False)._repr_html_()
    assert "<td>&lt;" in with_words and "<u>" not in with_words and "<s>" not in with_words
    # The answer comes first, with its interval, and says what it does not say.
    known = report.document["estimates"]["overlap"]
    assert page.startswith(f"<div><p><b>{html.escape(report.verdict)}</b>")
    assert f"{100 * known['estimate']:.0f}" in report.verdict and "of the neighbors at the input are still neighbors" in page
    assert "No attack was tried" in page
    comparison = spadework.compare(digits["inputs"], {"<b>": digits["standard"], "c": digits["robust"]})
    shown, best = comparison._repr_html_(), comparison.document["models"][0]["estimates"]["overlap"]
    assert "&lt;b&gt;" in shown and f"2 models on {len(digits['inputs']):,} samples, most robust first by unevenness" in shown
    assert f"({100 * best['lower']:.1f} – {100 * best['upper']:.1f})" in shown
    first = report.top_nodes(1)[0]
    assert f"<td>{report.margins[first]:.4g}</td><td>{report.fragility[first]:.4g}</td>" in page
    assert "<table>" in spadework.sweep(digits["inputs"], digits["standard"], neighbors=[10])._repr_html_()


def test_notebooks_show_the_weakest_images(digits, tmp_path):
    images = digits["inputs"].reshape(-1, 8, 8)
    expected = {}
    for name, inputs in {"flat": digits["inputs"], "gray": images, "channel": images[:, None]}.items():
        report = spadework.score(inputs, digits["standard"], verbose=False)
        assert len(report.thumbnails) == 10 and report._repr_html_().count("<img src") == 10
        expected[name] = report.thumbnails
    assert expected["flat"] == expected["gray"] == expected["channel"]
    # A PNG that another program reads: the weakest image, from black to white.
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(expected["flat"][0].partition(",")[2])))
    weakest = images[spadework.score(images, digits["standard"], verbose=False).top_nodes(1)[0]]
    np.testing.assert_allclose(pixels, weakest / weakest.max(), atol=1.5 / 255)
    assert spadework.score(digits["standard"], digits["inputs"], verbose=False).thumbnails == ()
    report.save(tmp_path / "report.npz")
    assert spadework.Report.load(tmp_path / "report.npz").thumbnails == ()


def test_notebooks_lead_with_the_best_evidence(digits):
    weights = np.random.default_rng(0).normal(size=(64, 10)).astype(np.float32)
    inputs = digits["inputs"][:150]
    found = spadework.probe(lambda x: x @ weights, inputs, "linf:0.1", samples=20, probes=50, verbose=False)
    report = spadework.score(inputs, inputs @ weights, probed=found, verbose=False)
    page = report._repr_html_()
    assert page.startswith("<div><p><b>Breaks easily: about ")
    assert "<td>survived (upper bound)</td>" in page


def test_plots(report, digits):
    ax = report.plot_embedding()
    assert len(ax.collections[0].get_offsets()) == 1797
    assert [bar.get_height() for bar in report.plot_labels().patches] == list(report.label_scores.values())
    ax = report.plot_spectrum(color="red")
    assert ax.lines[0].get_ydata().tolist() == report.eigenvalues.tolist()
    assert report.plot_spectrum(ax=ax) is ax
    single = spadework.score(digits["inputs"], digits["standard"], eigenpairs=1)
    assert single.plot_embedding(c="black").get_xlabel() == "sample"
    with pytest.raises(ValueError, match="needs labels"):
        single.plot_labels()
    found = spadework.sweep(digits["inputs"], {n: digits[n] for n in ("standard", "robust")}, neighbors=[9, 10])
    assert len(found.plot().lines) == 2
    matplotlib.pyplot.close("all")


def test_pages(report, digits, tmp_path):
    page, full = tmp_path / "page.html", tmp_path / "full.html"
    report.to_html(page, title="A <title>")
    text = page.read_text()
    assert text.startswith("<!doctype html>") or text.startswith("<!DOCTYPE html>")
    assert "A &lt;title&gt;" in text.replace("&#60;", "&lt;").replace("&#62;", "&gt;") and "inputs=" in text
    report.to_html(full, inputs=digits["inputs"].reshape(-1, 8, 8), outputs=digits["standard"])
    assert "This page has no scatter plots" not in full.read_text() and "data:image/png" in full.read_text()
    with pytest.raises(ValueError, match="must be those of the report"):
        report.to_html(full, inputs=digits["inputs"], outputs=digits["robust"])
    with pytest.raises(ValueError, match="both be given"):
        report.to_html(full, inputs=digits["inputs"])
    models = {name: digits[name] for name in ("standard", "robust")}
    spadework.compare(digits["inputs"], models).to_html(page)
    assert "robust" in page.read_text()
    spadework.sweep(digits["inputs"], models, neighbors=[9, 10]).to_html(page)
    assert "robust" in page.read_text() and len(list(tmp_path.iterdir())) == 2


def test_ranks_are_those_of_the_scores(report):
    order = np.argsort(report.node_ranks)
    assert np.all(np.diff(report.node_scores[order]) <= 0)


def test_what_is_missing_is_said(report, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas, .* pip install 'spadework\[frames\]'"):
        report.to_frame()
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="needs scipy"):
        _ = report.input_graph


def test_comparisons_and_sweeps_take_a_graph_in_place_of_the_inputs(digits):
    graph = spadework.knn_graph(digits["inputs"], neighbors=10)
    models = {"standard": digits["standard"], "robust": digits["robust"]}
    options = dict(connectivity="bridge", verbose=False)
    by_graph = spadework.compare(input_graph=graph, outputs=models, **options)
    by_array = spadework.compare(digits["inputs"], models, **options)
    assert by_graph.ranking == by_array.ranking
    for name in models:
        assert by_graph[name].model_score == by_array[name].model_score
    swept = spadework.sweep(input_graph=graph, outputs=digits["standard"], neighbors=[10], **options)
    assert swept.model_scores[0, 0] == by_array["standard"].model_score
