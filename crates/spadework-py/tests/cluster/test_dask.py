"""Neighbor graphs on a real cluster: two worker processes on loopback, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import spadework

da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="Dask's scheduler is not installed")

from spadework.dask import knn_graph

# What a killed worker makes the others say, and what Dask says of sockets that are left to the collector.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        yield client


def same(graph, expected):
    """Both matrices, bit by bit."""
    return all(
        np.array_equal(getattr(graph, part), getattr(expected, part)) for part in ("indptr", "indices", "data")
    )


def test_the_graph_is_that_of_one_machine(client, digits):
    images = digits["inputs"]
    for neighbors, rows in [(10, 300), (3, 1000), (40, 37)]:
        expected = spadework.knn_graph(images, neighbors=neighbors, search="exact")
        assert same(knn_graph(da.from_array(images, chunks=(rows, 50)), neighbors=neighbors), expected)


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev"])
def test_every_metric_gives_the_graph_of_one_machine(client, digits, metric):
    images = digits["inputs"]
    expected = spadework.knn_graph(images, neighbors=10, search="exact", metric=metric)
    assert same(knn_graph(da.from_array(images, chunks=(400, 64)), neighbors=10, metric=metric), expected)


@pytest.mark.parametrize("standardize", [True, "robust"])
def test_standardized_columns_give_the_graph_of_one_machine(client, standardize):
    # Columns of many scales, one of them constant; a single column is summed in another order by NumPy.
    rng = np.random.default_rng(5)
    samples = rng.normal(3, 1, (900, 7)) * 10.0 ** np.arange(-3, 4)
    samples[:, 2] = 0.1
    for columns, rows in [(samples, 250), (samples[:, :1], 77), (samples.astype(np.float32), 900)]:
        expected = spadework.knn_graph(columns, neighbors=8, search="exact", standardize=standardize)
        found = knn_graph(da.from_array(columns, chunks=(rows, 3)), neighbors=8, standardize=standardize)
        assert same(found, expected)
    plain = spadework.knn_graph(samples, neighbors=8, search="exact")
    assert not same(spadework.knn_graph(samples, neighbors=8, search="exact", standardize=standardize), plain)


def test_a_column_without_spread_is_named(client):
    samples = np.random.default_rng(5).normal(size=(100, 3))
    samples[:80, 1] = 0
    with pytest.raises(ValueError, match="column 1"):
        knn_graph(da.from_array(samples, chunks=(30, 3)), neighbors=3, standardize="robust")
    with pytest.raises(ValueError, match="`standardize` must be"):
        knn_graph(da.from_array(samples, chunks=(30, 3)), neighbors=3, standardize="yes")


def test_zero_rows_are_named_by_their_place_among_all(client, digits):
    images = digits["inputs"].copy()
    images[777] = 0
    with pytest.raises(ValueError, match="row 777"):
        knn_graph(da.from_array(images, chunks=(400, 64)), neighbors=10, metric="cosine")


def test_bytes_and_images_are_taken_as_elsewhere(client, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (200, 6, 6), dtype=np.uint8)
    expected = spadework.knn_graph(pixels, neighbors=5, search="exact")
    assert same(knn_graph(da.from_array(pixels, chunks=(70, 3, 6)), neighbors=5), expected)
    # Beside blocks of another type, too.
    np.save(tmp_path / "bytes.npy", pixels[:90])
    np.save(tmp_path / "numbers.npy", pixels[90:].astype(np.float32) / np.float32(255))
    assert same(knn_graph([tmp_path / "bytes.npy", tmp_path / "numbers.npy"], neighbors=5), expected)


@pytest.mark.parametrize("kind", ["int8", "int16", "float16", "bfloat16"])
def test_narrow_numbers_are_taken_as_elsewhere(client, tmp_path, kind):
    rng = np.random.default_rng(6)
    wide = rng.normal(size=(210, 7)) if "float" in kind else rng.integers(-120, 120, (210, 7))
    dtype = pytest.importorskip("ml_dtypes").bfloat16 if kind == "bfloat16" else kind
    samples = wide.astype(dtype)
    for metric in ["euclidean", "cosine"]:
        expected = spadework.knn_graph(samples.astype(np.float32), neighbors=5, search="exact", metric=metric)
        found = knn_graph(da.from_array(samples, chunks=(80, 4)), neighbors=5, metric=metric)
        assert same(found, expected)
    if kind != "bfloat16":  # which a NumPy file forgets
        # Next to blocks of another type, too.
        expected = spadework.knn_graph(samples.astype(np.float32), neighbors=5, search="exact")
        np.save(tmp_path / "narrow.npy", samples[:90])
        np.save(tmp_path / "numbers.npy", samples[90:].astype(np.float64))
        assert same(knn_graph([tmp_path / "narrow.npy", tmp_path / "numbers.npy"], neighbors=5), expected)
    samples[30] = 0
    if "float" in kind:
        samples[30] = -samples[30]
    with pytest.raises(ValueError, match="row 30"):
        knn_graph(da.from_array(samples, chunks=(80, 4)), neighbors=5, metric="cosine")


def test_shards_are_read_by_the_workers(client, digits, tmp_path):
    images = digits["inputs"]
    expected = spadework.knn_graph(images, neighbors=10, search="exact")
    parts = [images[:500], images[500:505], images[505:]]
    for at, part in enumerate(parts):
        np.save(tmp_path / f"{at}.npy", part)
    assert same(knn_graph([tmp_path / f"{at}.npy" for at in range(3)], neighbors=10), expected)
    parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed")
    import pyarrow

    for at, part in enumerate(parts):
        columns = {f"c{column}": part[:, column] for column in range(part.shape[1])}
        parquet.write_table(pyarrow.table(columns), tmp_path / f"{at}.parquet")
    assert same(knn_graph([str(tmp_path / f"{at}.parquet") for at in range(3)], neighbors=10), expected)
    pytest.importorskip("zarr", reason="Zarr is not installed")
    da.from_array(images, chunks=(600, 64)).to_zarr(str(tmp_path / "x.zarr"))
    assert same(knn_graph([str(tmp_path / "x.zarr")], neighbors=10), expected)


def test_a_lost_worker_costs_only_its_tasks(client):
    samples = np.random.default_rng(2).normal(size=(9000, 300)).astype(np.float32)
    expected = spadework.knn_graph(samples, neighbors=10, search="exact")
    found = []
    blocks = da.from_array(samples, chunks=(750, 300))
    thread = threading.Thread(target=lambda: found.append(knn_graph(blocks, neighbors=10)))
    thread.start()

    def lists_in_memory(dask_scheduler):
        return sum(
            task.state == "memory" and "nearest" in str(task.key) for task in dask_scheduler.tasks.values()
        )

    for _ in range(1000):
        if client.run_on_scheduler(lists_in_memory) >= 4:
            break
        time.sleep(0.02)
    nanny = next(iter(client.cluster.workers.values()))
    os.kill(nanny.pid, signal.SIGKILL)
    assert thread.is_alive(), "the graph was there before the worker was killed"
    thread.join(timeout=300)
    assert found and same(found[0], expected)


def test_wrong_calls_are_named(client):
    with pytest.raises(ValueError, match="smaller than the number of samples \\(4\\), got 4"):
        knn_graph(da.zeros((4, 2), chunks=2), neighbors=4)
    with pytest.raises(ValueError, match="expected a dask.array or a list of paths, got ndarray"):
        knn_graph(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="x.csv: expected a .npy, .parquet or .zarr file"):
        knn_graph(["x.csv"])
