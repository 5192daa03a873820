#!/usr/bin/env python3
"""Makes the fixtures of crates/spadework-io/tests/fixtures with tools other than ours.

Needs numpy, scipy, pyarrow and safetensors. Each file is listed in expected.json with the shape and values that numpy says the reader must
give: uint8 divided by 255 in single precision, everything else by value. Run it again only to add cases.
"""

import gzip
import json
import pathlib
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse
from safetensors.numpy import save_file

OUT = pathlib.Path(__file__).resolve().parent.parent / "crates" / "spadework-io" / "tests" / "fixtures"
TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]
SINGLE = {"f2", "f4", "i1", "i2", "u1", "u2", "b1"}
expected = []


def example(kind, shape):
    """Values that use the whole range of the type and tell every position apart."""
    dtype = np.dtype(kind)
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return (np.arange(count) % 3 == 0).reshape(shape)
    if dtype.kind == "f":
        return (np.arange(count) * 0.37 - 1.5).astype(dtype).reshape(shape)
    info = np.iinfo(dtype)
    values = np.array([info.max - i if i % 2 else info.min + i for i in range(count)], dtype=dtype)
    return values.reshape(shape)


def record(argument, array, kind, shape=None):
    """What our reader must give for `argument`; doubles are written so that they can be read back exactly."""
    array = np.asarray(array)
    if kind == "u1":
        values = array.astype(np.float32) / np.float32(255.0)
    else:
        values = array
    single = kind in SINGLE
    values = values.astype(np.float32 if single else np.float64)
    expected.append({
        "argument": argument,
        "shape": list(shape or array.shape),
        "single": single,
        # As text: not every JSON reader gives back the exact double.
        "values": " ".join(repr(float(v)) for v in values.ravel(order="C")),
        "labels": [int(v) for v in array.ravel()] if array.dtype.kind in "iub" and array.ndim == 1 and kind != "u8" else None,
    })


def npy():
    for kind in TYPES:
        for order_name, order in [("le", "<"), ("be", ">")]:
            for layout in "CF":
                array = np.asarray(example(kind, (3, 4)).astype(np.dtype(order + kind)), order=layout)
                name = f"{kind}_{order_name}_{layout}.npy"
                np.save(OUT / name, array)
                record(name, array, kind)
        name = f"{kind}_1d.npy"
        np.save(OUT / name, example(kind, (5,)))
        record(name, example(kind, (5,)), kind)
    for layout in "CF":
        cube = np.asarray(example("f4", (2, 3, 2, 2)), order=layout)
        np.save(OUT / f"cube_{layout}.npy", cube)
        record(f"cube_{layout}.npy", cube, "f4")
    for version in [(1, 0), (2, 0), (3, 0)]:
        name = f"version{version[0]}.npy"
        with open(OUT / name, "wb") as file:
            np.lib.format.write_array(file, example("f8", (2, 3)), version=version)
        record(name, example("f8", (2, 3)), "f8")
    np.save(OUT / "refused_complex.npy", np.zeros((2, 2), dtype="c8"))
    np.save(OUT / "refused_text.npy", np.array(["a", "b"]))
    np.save(OUT / "refused_object.npy", np.array([None, {}], dtype=object), allow_pickle=True)
    np.save(OUT / "refused_record.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))


def npz():
    arrays = {"x": example("f4", (3, 2)), "y": np.arange(3, dtype="i8")}
    np.savez(OUT / "stored.npz", **arrays)
    np.savez_compressed(OUT / "deflated.npz", **arrays)
    np.savez_compressed(OUT / "single.npz", only=arrays["x"])
    for name in ["stored.npz", "deflated.npz"]:
        record(f"{name}:x", arrays["x"], "f4")
        record(f"{name}:y", arrays["y"], "i8")
    record("single.npz", arrays["x"], "f4")


def tensors():
    arrays = {kind: example(kind, (2, 3)) for kind in TYPES}
    save_file(arrays, OUT / "all.safetensors")
    for kind, array in arrays.items():
        record(f"all.safetensors:{kind}", array, kind)
    save_file({"only": arrays["f4"]}, OUT / "single.safetensors")
    record("single.safetensors", arrays["f4"], "f4")


def text():
    array = example("f8", (4, 3))
    for name, delimiter in [("comma.csv", ","), ("semicolon.csv", ";"), ("tab.tsv", "\t")]:
        np.savetxt(OUT / name, array, delimiter=delimiter, fmt="%.17g")
        record(name, array, "f8")
        headed = name.replace(".", "_header.")
        np.savetxt(OUT / headed, array, delimiter=delimiter, fmt="%.17g", header=delimiter.join("abc"), comments="")
        record(headed, array, "f8")
    (OUT / "packed.csv.gz").write_bytes(gzip.compress((OUT / "comma.csv").read_bytes(), mtime=0))
    record("packed.csv.gz", array, "f8")


def parquet():
    widths = {kind: example(kind, (4,)) for kind in TYPES}
    for compression in ["none", "snappy", "zstd", "gzip"]:
        for kind in ["f4", "f8"]:
            array = example(kind, (5, 3))
            table = pa.table({f"c{i}": array[:, i] for i in range(3)})
            name = f"{kind}_{compression}.parquet"
            pq.write_table(table, OUT / name, compression=compression, row_group_size=2)
            record(name, array, kind)
    pq.write_table(pa.table(widths), OUT / "widths.parquet")
    mixed = np.stack([values.astype(np.float64) for values in widths.values()], axis=1)
    record("widths.parquet", mixed, "f8")
    for kind, values in widths.items():
        record(f"widths.parquet:{kind}", values, kind, shape=(4, 1))
    for kind, arrow in [("f4", pa.float32()), ("f8", pa.float64())]:
        array = example(kind, (3, 4))
        lists = pa.array(list(array), type=pa.list_(arrow))
        pq.write_table(pa.table({"embedding": lists}), OUT / f"list_{kind}.parquet", row_group_size=2)
        record(f"list_{kind}.parquet", array, kind)
        fixed = pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), 4)
        pq.write_table(pa.table({"id": [1, 2, 3], "embedding": fixed}), OUT / f"fixed_{kind}.parquet")
        record(f"fixed_{kind}.parquet:embedding", array, kind)
    pq.write_table(pa.table({"a": pa.array([1.0, None, 3.0])}), OUT / "refused_null.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "word": ["x", "y"]}), OUT / "refused_text.parquet")
    pq.write_table(pa.table({"a": [[1.0, 2.0], [3.0]]}), OUT / "refused_ragged.parquet")
    pq.write_table(pa.table({"a": [[1.0, 2.0], None]}), OUT / "refused_null_list.parquet")
    pq.write_table(pa.table({"when": pa.array([1, 2], type=pa.timestamp("ms"))}), OUT / "refused_date.parquet")


def idx():
    codes = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}
    for kind, code in codes.items():
        array = example(kind, (3, 2, 2))
        data = struct.pack(">BBBBIII", 0, 0, code, 3, 3, 2, 2) + array.astype(np.dtype(">" + kind)).tobytes()
        (OUT / f"{kind}-idx3-ubyte").write_bytes(data)
        (OUT / f"{kind}-idx3-ubyte.gz").write_bytes(gzip.compress(data, mtime=0))
        record(f"{kind}-idx3-ubyte", array, kind)
        record(f"{kind}-idx3-ubyte.gz", array, kind)


def cifar():
    labels = np.array([3, 9], dtype="u1")
    # Black and white: the expected values of two whole images stay short.
    images = ((np.arange(2 * 3072) ** 2 % 7 < 3).astype("u1") * 255).reshape(2, 3, 32, 32)
    rows = np.concatenate([labels[:, None], images.reshape(2, -1)], axis=1)
    (OUT / "batch.bin").write_bytes(rows.tobytes())
    record("batch.bin", images, "u1")


def graphs():
    """Adjacency matrices as SciPy writes them, and the edges that they must read as: either direction, the larger weight."""
    folder = OUT / "graphs"
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(4)
    dense = np.where(rng.random((12, 12)) < 0.3, np.round(rng.random((12, 12)) * 64 + 1) / 8, 0.0)
    directed = scipy.sparse.csr_array(dense)
    hollow = dense.copy()
    np.fill_diagonal(hollow, 0)
    undirected = scipy.sparse.csr_array(np.maximum(hollow, hollow.T))
    pattern = scipy.sparse.csr_array((undirected != 0).astype(np.uint8))
    whole = scipy.sparse.csr_array((undirected * 8).astype(np.int64))
    cases = []

    def case(file, matrix):
        matrix = matrix.toarray().astype(float)
        loops = int((np.diag(matrix) != 0).sum())
        np.fill_diagonal(matrix, 0)
        matrix = np.triu(np.maximum(matrix, matrix.T))
        edges = [[int(p), int(q), float(matrix[p, q])] for p, q in zip(*np.nonzero(matrix))]
        cases.append({"file": file, "nodes": 12, "loops": loops, "edges": edges})

    for name, matrix in [("directed", directed), ("undirected", undirected), ("pattern", pattern), ("whole", whole)]:
        scipy.sparse.save_npz(folder / f"{name}.npz", matrix, compressed=name != "undirected")
        case(f"{name}.npz", matrix)
        scipy.io.mmwrite(folder / f"{name}.mtx", matrix, symmetry="general")
        case(f"{name}.mtx", matrix)
    scipy.sparse.save_npz(folder / "columns.npz", directed.tocsc())
    case("columns.npz", directed)
    scipy.io.mmwrite(folder / "symmetric.mtx", undirected, symmetry="symmetric")
    case("symmetric.mtx", undirected)
    scipy.io.mmwrite(folder / "symmetric_pattern.mtx", pattern, field="pattern", symmetry="symmetric")
    case("symmetric_pattern.mtx", pattern)
    (folder / "packed.mtx.gz").write_bytes(gzip.compress((folder / "symmetric.mtx").read_bytes(), mtime=0))
    case("packed.mtx.gz", undirected)
    entries = directed.tocoo()
    rows = np.column_stack([entries.coords[0], entries.coords[1], entries.data])
    np.savetxt(folder / "weighted.csv", rows, delimiter=",", fmt=["%d", "%d", "%.17g"])
    case("weighted.csv", directed)
    np.savetxt(folder / "header.tsv", rows, delimiter="\t", fmt=["%d", "%d", "%.17g"], header="source\ttarget\tweight", comments="")
    case("header.tsv", directed)
    np.savetxt(folder / "pairs.csv", rows[:, :2], delimiter=",", fmt="%d")
    case("pairs.csv", scipy.sparse.csr_array((directed != 0).astype(float)))
    scipy.sparse.save_npz(folder / "refused_coo.npz", directed.tocoo())
    scipy.sparse.save_npz(folder / "refused_wide.npz", directed[:5])
    scipy.sparse.save_npz(folder / "refused_negative.npz", -undirected)
    scipy.io.mmwrite(folder / "refused_dense.mtx", dense)
    scipy.io.mmwrite(folder / "refused_complex.mtx", directed.astype(complex))
    (folder / "expected.json").write_text("[\n" + ",\n".join(json.dumps(record) for record in cases) + "\n]\n")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for make in [npy, npz, tensors, text, parquet, idx, cifar, graphs]:
        make()
    # One case a line: a change of one fixture is one line of a diff.
    lines = ",\n".join(json.dumps(case) for case in expected)
    (OUT / "expected.json").write_text(f"[\n{lines}\n]\n")
