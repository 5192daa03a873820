"""Results handed to what tracks experiments: a callback, and the real MLflow on a local store."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import spadework

SHARES = ("accuracy", "overlap", "robust_accuracy", "survived")


@pytest.fixture(scope="module")
def report(digits):
    return spadework.score(digits["inputs"], digits["robust"], labels=digits["labels"], interval=True, references=True, verbose=False)


def test_a_callback_gets_the_numbers_of_the_document(report):
    seen = {}

    def callback(metrics, files):
        seen.update(metrics)
        assert list(files) == ["result.json", "report.npz", "page.html"]
        assert json.loads(files["result.json"].read_text(encoding="utf-8")) == json.loads(report.to_json())
        assert spadework.Report.load(files["report.npz"]).model_score == report.model_score
        assert files["page.html"].read_text(encoding="utf-8").startswith("<!doctype html>")
        seen["folder"] = files["page.html"].parent

    report.log(callback, prefix="val/")
    assert not seen.pop("folder").exists()
    estimates = report.document["estimates"]
    expected = {f"val/{name}{end}": share[key] for name, share in estimates.items() for end, key in ENDS.items()}
    interval, references = report.document["interval"], report.document["references"]
    expected |= {"val/model_score": report.model_score, "val/permuted_score": references["permuted"]}
    expected |= {"val/model_score_lower": interval["lower"], "val/model_score_upper": interval["upper"]}
    assert seen == expected
    assert {"val/accuracy", "val/overlap_lower"} <= set(seen)


ENDS = {"": "estimate", "_lower": "lower", "_upper": "upper"}


def test_every_share_that_probes_add_is_a_metric(digits):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(64, 10))
    probed = spadework.probe(lambda rows: rows @ weights, digits["inputs"], "linf:0.1", samples=50, probes=40, verbose=False)
    found = spadework.score(digits["inputs"], digits["inputs"] @ weights, probed=probed, verbose=False)
    found.log(lambda metrics, files: metrics_seen.update(metrics), page=False)
    assert metrics_seen["survived"] == probed.survived
    assert metrics_seen["robust_accuracy"] == pytest.approx(probed.robust_accuracy)
    assert set(SHARES[1:]) <= set(metrics_seen)


metrics_seen: dict[str, float] = {}


def test_a_page_may_be_left_out_and_a_failure_leaves_no_files(report, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report.log(lambda metrics, files: metrics_seen.update(dict.fromkeys(files, 0.0)), page=False)
    assert "page.html" not in metrics_seen

    def full(metrics, files):
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        report.log(full)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="`callback` must be callable with metrics and files, got dict"):
        report.log({})


def test_compared_models_have_metrics_under_their_names(digits):
    models = {"standard": digits["standard"], "robust": digits["robust"]}
    comparison = spadework.compare(digits["inputs"], models, labels=digits["labels"])
    seen = {}
    comparison.log(lambda metrics, files: seen.update(metrics), prefix="cmp/", page=False)
    for name, report in comparison.items():
        assert seen[f"cmp/{name}/model_score"] == report.model_score
        assert seen[f"cmp/{name}/accuracy"] == report.accuracy
        assert seen[f"cmp/{name}/rank"] == comparison.ranks[name]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """MLflow with runs in files, which newer versions allow on request."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow = pytest.importorskip("mlflow")
        mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
        yield mlflow
        while mlflow.active_run():
            mlflow.end_run()


def test_mlflow_keeps_metrics_and_artifacts(report, store, tmp_path):
    import spadework.mlflow

    with store.start_run() as run:
        spadework.mlflow.log(report, step=3)
        # Again, as after the next epoch.
        spadework.mlflow.log(report, step=4)
    client = store.MlflowClient()
    kept = client.get_run(run.info.run_id).data
    assert kept.metrics["spadework/overlap"] == report.neighborhood_overlap
    assert kept.metrics["spadework/model_score"] == report.model_score
    assert kept.tags["spadework.version"] == spadework.__version__
    history = client.get_metric_history(run.info.run_id, "spadework/accuracy")
    assert [entry.step for entry in history] == [3, 4]
    names = [entry.path for entry in client.list_artifacts(run.info.run_id, "spadework")]
    assert sorted(names) == ["spadework/page.html", "spadework/report.npz", "spadework/result.json"]
    there = client.download_artifacts(run.info.run_id, "spadework/report.npz", str(tmp_path))
    assert np.array_equal(spadework.Report.load(there).node_scores, report.node_scores)


def test_mlflow_logs_to_a_run_that_is_named_and_starts_one_where_there_is_none(report, store):
    import spadework.mlflow

    with store.start_run() as named:
        pass
    spadework.mlflow.log(report, prefix="", run_id=named.info.run_id, page=False)
    client = store.MlflowClient()
    assert client.get_run(named.info.run_id).data.metrics["model_score"] == report.model_score
    assert [entry.path for entry in client.list_artifacts(named.info.run_id)] == ["report.npz", "result.json"]
    spadework.mlflow.log(report, page=False)
    assert store.active_run().info.run_id != named.info.run_id
    with pytest.raises(ValueError, match="`result` must be what `score` or `compare` returns, got dict"):
        spadework.mlflow.log({})
