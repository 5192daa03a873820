"""One measurement of one peer: prints one JSON line. Loading, importing and compiling are not timed.

peers.py knn PEER X.npy K LISTS.npy [QUERIES]
peers.py eigen PEER GRAPHS R TOLERANCE
peers.py product GRAPHS
peers.py model NET.onnx X.npy BATCH Y.npy
peers.py whole X.npy Y.npy K R SCORES.npy
"""

import json
import pathlib
import sys
import time

import numpy as np

# A measurement is repeated until it has taken this long, at most three times; the best counts. Ours follow the same rule
# (bench/src/measure.rs).
ENOUGH_SECONDS = 8.0
MOST_REPEATS = 3


def memory_mib(field):
    for line in open("/proc/self/status"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure(work):
    """The last result, and the least that any repeat cost."""
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins here
    except OSError:
        pass
    before, best, spent = memory_mib("VmRSS"), (float("inf"), float("inf")), 0.0
    for _ in range(MOST_REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        best = min(best[0], cpu), min(best[1], wall)
        spent += wall
        if spent > ENOUGH_SECONDS:
            break
    peak = memory_mib("VmHWM")
    return result, dict(cpu_s=best[0], wall_s=best[1], peak_mib=peak, grown_mib=max(peak - before, 0.0))


# Neighbors


def query_rows(samples, queries):
    """Evenly spread rows; all of them where as many are asked for."""
    return np.linspace(0, samples - 1, queries).astype(np.int64)


def without_self(lists, rows):
    """k of k + 1 neighbors: drops each row itself by its number, or the last where a copy took its place."""
    keep = lists != rows[:, None]
    keep[keep.all(axis=1), -1] = False
    return lists[keep].reshape(len(lists), -1)


# A search is prepared (imported, compiled) and gives two functions: one builds an index, one searches it for some rows.


def sklearn_search(algorithm, metric="minkowski"):
    def prepare(x, k, rows):
        from sklearn.neighbors import NearestNeighbors

        def build():
            return NearestNeighbors(n_neighbors=k, algorithm=algorithm, metric=metric, n_jobs=1).fit(x)

        def search(index):
            if len(rows) == len(x):
                return index.kneighbors(return_distance=False)
            return without_self(index.kneighbors(x[rows], n_neighbors=k + 1, return_distance=False), rows)

        return build, search

    return prepare


def faiss_flat(x, k, rows):
    import faiss

    faiss.omp_set_num_threads(1)

    def build():
        index = faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        return index

    return build, lambda index: without_self(index.search(x[rows], k + 1)[1], rows)


def faiss_cosine(x, k, rows):
    """Inner products of unit rows."""
    import faiss

    faiss.omp_set_num_threads(1)

    def build():
        index = faiss.IndexFlatIP(x.shape[1])
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        index.add(unit)
        return index, unit

    return build, lambda built: without_self(built[0].search(built[1][rows], k + 1)[1], rows)


def hnswlib_48_100(threads):
    def prepare(x, k, rows):
        import hnswlib

        def build():
            index = hnswlib.Index(space="l2", dim=x.shape[1])
            index.init_index(max_elements=len(x), ef_construction=100, M=48, random_seed=0)
            index.set_num_threads(threads)
            index.set_ef(100)
            index.add_items(x, num_threads=threads)
            return index

        def search(index):
            return without_self(index.knn_query(x[rows], k=k + 1, num_threads=threads)[0].astype(np.int64), rows)

        return build, search

    return prepare


def pynndescent_search(threads, kept=None):
    """`kept`: neighbors that it works with, of which the nearest k are taken; more of them, more recall."""

    def prepare(x, k, rows):
        import pynndescent

        def build(x=x):
            index = pynndescent.NNDescent(x, n_neighbors=kept or k + 1, n_jobs=threads, random_state=0)
            return index.neighbor_graph[0][:, : k + 1].astype(np.int64)

        build(np.ascontiguousarray(x[:2000]))  # compiles
        return build, lambda lists: without_self(lists, np.arange(len(x)))[rows]

    return prepare


SEARCHES = {
    "scikit-learn brute": sklearn_search("brute"),
    "scikit-learn kd_tree": sklearn_search("kd_tree"),
    "FAISS flat": faiss_flat,
    "scikit-learn brute, cosine": sklearn_search("brute", "cosine"),
    "FAISS flat, cosine": faiss_cosine,
    "hnswlib M=48 ef=100": hnswlib_48_100(1),
    "pynndescent": pynndescent_search(1),
    "hnswlib M=48 ef=100, 2 threads": hnswlib_48_100(2),
    "pynndescent keeping 30, 2 threads": pynndescent_search(2, 30),
}


def knn(peer, x, k, save, queries=None):
    """Where some rows are searched for only, the time of the search, and not that of the index, is scaled up to all."""
    x = np.load(x)
    # Bytes are pixels, for us as for other programs: single precision from 0 to 1.
    x = np.divide(x, 255, dtype=np.float32) if x.dtype == np.uint8 else np.ascontiguousarray(x, np.float32)
    x = x.reshape(len(x), -1)
    rows = query_rows(len(x), int(queries or len(x)))
    build, search = SEARCHES[peer](x, int(k), rows)
    if len(rows) == len(x):
        lists, cost = measure(lambda: search(build()))
    else:
        index, building = measure(build)
        lists, cost = measure(lambda: search(index))
        for clock in ("cpu_s", "wall_s"):
            cost[clock] = building[clock] + cost[clock] * len(x) / len(rows)
        # An index is memory in addition to the data, and stays.
        cost["grown_mib"] += building["grown_mib"]
    np.save(save, lists)
    return cost


# Eigenpairs


def laplacian(edges, nodes):
    import scipy.sparse as sp

    p, q = edges.T
    adjacency = sp.coo_matrix((np.ones(len(edges)), (p, q)), (nodes, nodes)).tocsr()
    adjacency = adjacency + adjacency.T
    return (sp.diags(np.asarray(adjacency.sum(1)).ravel()) - adjacency).tocsc()


def cholmod(c):
    from sksparse.cholmod import cholesky

    return cholesky(c)


def superlu(c):
    import scipy.sparse.linalg as sla

    options = dict(SymmetricMode=True)
    return sla.splu(c, permc_spec="MMD_AT_PLUS_A", options=options, diag_pivot_thresh=0.0).solve


def arpack(factor):
    """Grounds one node, which is exact for a connected graph, and factors once."""

    def solve(lx, ly, r, tolerance):
        import scipy.sparse.linalg as sla

        b, c = lx[:-1, :-1].tocsc(), ly[:-1, :-1].tocsc()
        inverse = sla.LinearOperator(c.shape, matvec=factor(c), dtype=float)
        start = np.random.default_rng(0).standard_normal(c.shape[0])
        values, vectors = sla.eigsh(b, k=r, M=c, Minv=inverse, which="LM", tol=tolerance, v0=start)
        return values[::-1], np.vstack([vectors[:, ::-1], np.zeros((1, r))])

    return solve


def lobpcg_pyamg(lx, ly, r, tolerance):
    import pyamg
    import scipy.sparse as sp
    import scipy.sparse.linalg as sla

    # The shift moves eigenvalues by about 1e-9 times the largest entry of the spectrum of L_Y⁺: far below 1e-6.
    n = ly.shape[0]
    a, b = lx.tocsr(), (ly + 1e-9 * sp.identity(n)).tocsr()
    amg = pyamg.smoothed_aggregation_solver(b, B=np.ones((n, 1)), max_coarse=50)
    start = np.random.default_rng(0).standard_normal((n, r))
    start -= start.mean(axis=0)
    values, vectors = sla.lobpcg(
        a, start, B=b, M=amg.aspreconditioner(), Y=np.ones((n, 1)), tol=tolerance, maxiter=400, largest=True
    )
    order = np.argsort(-values)
    return values[order], vectors[:, order]


SOLVERS = {
    "ARPACK + CHOLMOD": arpack(cholmod),
    "ARPACK + SuperLU": arpack(superlu),
    "LOBPCG + pyamg": lobpcg_pyamg,
}


def eigen(peer, graphs, r, tolerance):
    import warnings

    warnings.simplefilter("ignore")  # LOBPCG warns where it stops short; its values are compared in any case
    edges = [np.load(f"{graphs}/{side}.npy") for side in ("input", "output")]
    nodes = 1 + int(max(side.max() for side in edges))
    lx, ly = (laplacian(side, nodes) for side in edges)
    (values, _), cost = measure(lambda: SOLVERS[peer](lx, ly, int(r), float(tolerance)))
    return dict(cost, values=[float(value) for value in values])


def product(graphs):
    """One product of L_X with four vectors: work that is linear in n by any count, as a yardstick."""
    edges = np.load(f"{graphs}/input.npy")
    nodes = 1 + int(edges.max())
    lx, vectors = laplacian(edges, nodes).tocsr(), np.random.default_rng(0).standard_normal((nodes, 4))
    times = max(1, 1_000_000 // nodes)

    def products():
        for _ in range(times):
            lx @ vectors

    _, cost = measure(products)
    return dict(cost, cpu_s=cost["cpu_s"] / times, wall_s=cost["wall_s"] / times)


# Models


def model(path, x, batch, save):
    """onnxruntime on one thread, in batches."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows, batch, name = np.load(x), int(batch), session.get_inputs()[0].name
    run = lambda: np.concatenate([session.run(None, {name: rows[at : at + batch]})[0] for at in range(0, len(rows), batch)])
    outputs, cost = measure(run)
    np.save(save, outputs)
    return dict(cost, samples=len(rows))


# The whole


def whole(x, y, k, r, save):
    """What a Python user would write: scikit-learn for the graphs, SciPy for the eigenpairs, NumPy for the scores."""
    import scipy.sparse as sp
    from sklearn.neighbors import NearestNeighbors

    k, r = int(k), int(r)
    NearestNeighbors(n_neighbors=2, algorithm="brute").fit(np.eye(3)).kneighbors()  # loads what loads on first use

    def graph(z, algorithm):
        a = NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=1).fit(z).kneighbors_graph()
        return a.maximum(a.T)

    def minus(a):
        return (sp.diags(np.asarray(a.sum(1)).ravel()) - a).tocsc()

    def work():
        gx, gy = graph(np.load(x), "brute"), graph(np.load(y), "auto")
        ly = minus(gy)
        values, v = arpack(superlu)(minus(gx), ly, r, 1e-6)
        v /= np.sqrt(np.einsum("ij,ij->j", v, ly @ v))
        upper = sp.triu(gx, 1).tocoo()
        edge = (((v[upper.row] - v[upper.col]) ** 2) * values).sum(1)
        node = np.bincount(upper.row, edge, len(v)) + np.bincount(upper.col, edge, len(v))
        np.save(save, node / np.asarray(gx.sum(1)).ravel())
        return values

    values, cost = measure(work)
    return dict(cost, values=[float(value) for value in values])


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    print(json.dumps(dict(knn=knn, eigen=eigen, product=product, model=model, whole=whole)[task](*arguments)))
