"""Eigenpairs of a staged result by SLEPc, on as many processes as MPI starts.

    mpirun -n 8 python3 -m spadework.slepc RESULT

reads the graphs that ``spadework graph --out RESULT`` wrote, solves L_X v = λ L_Y v for the largest eigenvalues, and writes
``RESULT/stages/eigenpairs.npz``, which ``spadework scores RESULT`` reads, and edge and node scores as
``RESULT/edges.npy``, ``edge_scores.npy`` and ``node_scores.npy``.

Needs slepc4py, petsc4py, mpi4py and NumPy (Debian: python3-slepc4py python3-petsc4py python3-mpi4py openmpi-bin). The file
needs nothing else of the package: ``python3 …/spadework/slepc.py RESULT`` does the same.

Every process has its rows of both Laplacians. The solver is SLEPc's generalized Davidson iteration with a multigrid
preconditioner of L_Y; the constant vector, which both Laplacians send to 0, is deflated. The residuals are measured
afterwards, by solves with L_Y.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import io
import json
import os
import sys
import time
import zipfile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SCHEMA = "spadework.stage/3"
#: SLEPc measures residuals in another norm than ours, which comes out larger where L_Y has small eigenvalues: its tolerance
#: is a part of ours, and where that was not enough the iteration goes on with a part of that.
TIGHTER, ATTEMPTS = 0.03, 4
#: Relative accuracy of the solves by which residuals are measured: two digits of them are enough.
SOLVE_TOLERANCE = 1e-3


class Rows(NamedTuple):
    """Some consecutive rows of an adjacency matrix."""

    #: Nodes of the whole graph.
    nodes: int
    #: The first of these rows.
    first: int
    #: Where each row starts among the entries, and where the last one ends.
    starts: npt.NDArray[np.int64]
    #: Column of every entry.
    columns: npt.NDArray[np.int64]
    #: Weight of every entry.
    weights: npt.NDArray[np.float64]


class Solved(NamedTuple):
    """Eigenvalues with their relative residuals, and this process's rows of the eigenvectors."""

    #: Eigenvalues, largest first.
    values: npt.NDArray[np.float64]
    #: Relative residual of every eigenvalue.
    residuals: npt.NDArray[np.float64]
    #: The rows of the eigenvectors that belong to this process.
    vectors: npt.NDArray[np.float64]
    #: Iterations of the solver.
    iterations: int


class Refused(Exception):
    """A mistake that the user can correct."""


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit code is that of `spadework`."""
    options = _parser().parse_args(arguments)
    libraries = _libraries()
    try:
        _run(options, *libraries)
    except Refused as error:
        comm = libraries[2].COMM_WORLD
        if comm.rank == 0:
            print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spadework.slepc", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("result", help="the folder that `spadework graph --out` wrote")
    parser.add_argument("-r", "--eigenpairs", type=int, default=2, help="eigenpairs to find [default: 2]")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative residual to reach [default: 1e-6]")
    parser.add_argument("--preconditioner", choices=["gamg", "hypre"], default="gamg", help="[default: gamg]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the start vector [default: 0]")
    parser.add_argument("--force", action="store_true", help="make it again, whatever is there")
    return parser


def _libraries() -> tuple[Any, Any, Any]:
    """PETSc, SLEPc and MPI; Debian keeps the first two where Python looks only if their development packages are there."""
    for place in ("petscdir/petsc*", "slepcdir/slepc*"):
        sys.path.extend(sorted(glob.glob(f"/usr/lib/{place}/*-real/lib/python3/dist-packages")))
    try:
        import slepc4py

        # PETSc reads options of its own from here, e.g. PETSC_OPTIONS="-log_view"; ours are none of them.
        slepc4py.init([])
        from mpi4py import MPI
        from petsc4py import PETSc
        from slepc4py import SLEPc
    except ImportError as error:
        raise SystemExit(
            f"error: spadework.slepc needs slepc4py, petsc4py and mpi4py ({error}); on Debian: apt install python3-slepc4py "
            "python3-petsc4py python3-mpi4py openmpi-bin, and run it with /usr/bin/python3"
        ) from error
    return PETSc, SLEPc, MPI


def _run(options: argparse.Namespace, PETSc: Any, SLEPc: Any, MPI: Any) -> None:
    comm = MPI.COMM_WORLD
    stages = os.path.join(options.result, "stages")
    document = _graph_document(stages)
    recipe = {
        "graphs": hashlib.sha256(json.dumps(document["made_from"], sort_keys=True).encode()).hexdigest(),
        "solver": "slepc",
        "eigenpairs": str(options.eigenpairs),
        "tolerance": repr(options.tolerance),
        "seed": str(options.seed),
    }
    path = os.path.join(stages, "eigenpairs.npz")
    began = time.perf_counter()
    input_rows = _read_rows(os.path.join(stages, "input_graph.npz"), comm)
    output_rows = _read_rows(os.path.join(stages, "output_graph.npz"), comm)
    if not 0 < options.eigenpairs < input_rows.nodes:
        raise Refused(f"`eigenpairs` must be at least 1 and below the number of samples, got {options.eigenpairs}")
    read_s = time.perf_counter() - began
    began = time.perf_counter()
    solved = None if options.force else _earlier(path, recipe, input_rows, comm)
    if solved is None:
        solved = _solve(options, input_rows, output_rows, PETSc, SLEPc, MPI)
        _write_eigenpairs(path, recipe, solved, options, time.perf_counter() - began, comm)
    solve_s = time.perf_counter() - began
    began = time.perf_counter()
    _write_scores(options.result, input_rows, solved, PETSc, MPI)
    if comm.rank == 0:
        values = "  ".join(f"{value:.9g}" for value in solved.values)
        residuals = "  ".join(f"{residual:.1e}" for residual in solved.residuals)
        scores_s = time.perf_counter() - began
        print(f"eigenvalues   {values}\nresiduals     {residuals}\neigenpairs    in {path}")
        print(f"processes     {comm.size}: read {read_s:.2f} s, eigenpairs {solve_s:.2f} s, scores {scores_s:.2f} s")


def _graph_document(stages: str) -> dict[str, Any]:
    """What the graphs say of themselves: only those of `spadework graph` are known to be symmetric and connected."""
    path = os.path.join(stages, "output_graph.npz")
    try:
        with np.load(path) as archive:
            if "spadework" not in archive.files:
                raise Refused(
                    f"{path}: another program wrote it; `spadework graph --input-graph … --output-graph …` checks graphs and "
                    "takes them in"
                )
            document: dict[str, Any] = json.loads(archive["spadework"].item())
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise Refused(f"{path}: expected a graph of `spadework graph --out RESULT`: {error}") from error
    return document


def _member(archive: zipfile.ZipFile, key: str, first: int, count: int) -> npt.NDArray[Any]:
    """A part of an array of one dimension; what comes before it is skipped, what comes behind is not looked at."""
    with archive.open(f"{key}.npy") as file:
        # Older versions of NumPy have no types here.
        headers: Any = np.lib.format
        version = headers.read_magic(file)
        read = headers.read_array_header_1_0 if version == (1, 0) else headers.read_array_header_2_0
        _, _, dtype = read(file)
        file.seek(file.tell() + first * dtype.itemsize)
        data = file.read(count * dtype.itemsize)
    return np.frombuffer(data, dtype)


def _read_rows(path: str, comm: Any) -> Rows:
    """This process's share of a graph."""
    try:
        with zipfile.ZipFile(path) as archive:
            nodes = int(_member(archive, "shape", 0, 1)[0])
            first, last = nodes * comm.rank // comm.size, nodes * (comm.rank + 1) // comm.size
            starts = _member(archive, "indptr", first, last - first + 1)
            entries = int(starts[-1] - starts[0])
            columns = _member(archive, "indices", int(starts[0]), entries)
            weights = _member(archive, "data", int(starts[0]), entries)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise Refused(f"{path}: expected a whole graph of `spadework graph --out RESULT`: {error}") from error
    return Rows(nodes, first, starts - starts[0], columns.astype(np.int64), weights.astype(np.float64))


def _laplacian(rows: Rows, PETSc: Any) -> Any:
    """L = D − A, distributed by rows."""
    local = len(rows.starts) - 1
    of_row = np.repeat(np.arange(local), np.diff(rows.starts))
    degrees = np.bincount(of_row, weights=rows.weights, minlength=local)
    columns = np.concatenate([rows.columns, rows.first + np.arange(local)])
    values = np.concatenate([-rows.weights, degrees])
    order = np.lexsort((columns, np.concatenate([of_row, np.arange(local)])))
    csr = (
        (rows.starts + np.arange(local + 1)).astype(PETSc.IntType),
        columns[order].astype(PETSc.IntType),
        values[order],
    )
    matrix = PETSc.Mat().createAIJ(((local, rows.nodes), (local, rows.nodes)), csr=csr, comm=PETSc.COMM_WORLD)
    matrix.setOption(PETSc.Mat.Option.SYMMETRIC, True)
    return matrix


def _solve(
    options: argparse.Namespace, input_rows: Rows, output_rows: Rows, PETSc: Any, SLEPc: Any, MPI: Any
) -> Solved:
    """The largest eigenpairs, to the tolerance asked for."""
    left, right = _laplacian(input_rows, PETSc), _laplacian(output_rows, PETSc)
    constant = PETSc.NullSpace().create(constant=True, comm=PETSc.COMM_WORLD)
    right.setNullSpace(constant)
    solver = PETSc.KSP().create(PETSc.COMM_WORLD)
    solver.setOperators(right)
    solver.setType(PETSc.KSP.Type.CG)
    solver.setTolerances(rtol=SOLVE_TOLERANCE, max_it=2000)
    solver.getPC().setType(options.preconditioner)
    solver.setUp()
    preconditioner = _Centered(solver.getPC(), constant)
    start = _random_vector(right, input_rows, options.seed)
    constant.remove(start)
    space, iterations = [start], 0
    for attempt in range(ATTEMPTS):
        tolerance = options.tolerance * TIGHTER ** (attempt + 1)
        eigen = _eigensolver(left, right, preconditioner, options.eigenpairs, tolerance, PETSc, SLEPc)
        eigen.setInitialSpace(space)
        eigen.solve()
        iterations += int(eigen.getIterationNumber())
        if eigen.getConverged() < options.eigenpairs:
            break
        pairs = [_pair(eigen, at, left, right, solver, constant, MPI) for at in range(options.eigenpairs)]
        pairs.sort(key=lambda pair: -pair[0])
        values, residuals, space = (list(part) for part in zip(*pairs))
        if max(residuals) <= options.tolerance:
            vectors = np.column_stack([vector.getArray() for vector in space])
            return Solved(np.array(values), np.array(residuals), vectors, iterations)
    raise Refused(f"the residuals must reach {options.tolerance}, but did not after {iterations} iterations")


class _Centered:
    """Multigrid, and the constant taken off what it gives: multiples of it are large where the matrix is singular, and a
    vector that is nearly constant has no length in the inner product of L_Y."""

    def __init__(self, multigrid: Any, constant: Any) -> None:
        self.multigrid, self.constant = multigrid, constant

    def apply(self, _: Any, x: Any, y: Any) -> None:
        self.multigrid.apply(x, y)
        self.constant.remove(y)


def _eigensolver(
    left: Any, right: Any, preconditioner: _Centered, wanted: int, tolerance: float, PETSc: Any, SLEPc: Any
) -> Any:
    """A solver for the largest eigenvalues of left v = λ right v, both of which ignore constants."""
    eigen = SLEPc.EPS().create(PETSc.COMM_WORLD)
    eigen.setOperators(left, right)
    eigen.setProblemType(SLEPc.EPS.ProblemType.GHEP)
    eigen.setType(SLEPc.EPS.Type.GD)
    eigen.setWhichEigenpairs(SLEPc.EPS.Which.LARGEST_REAL)
    eigen.setDimensions(wanted)
    eigen.setTolerances(tol=tolerance, max_it=10000)
    transform = eigen.getST()
    transform.setType(SLEPc.ST.Type.PRECOND)
    transform.setPreconditionerMat(right)
    transform.getKSP().setType(PETSc.KSP.Type.PREONLY)
    transform.getKSP().getPC().setType(PETSc.PC.Type.PYTHON)
    transform.getKSP().getPC().setPythonContext(preconditioner)
    ones = right.createVecLeft()
    ones.set(1.0)
    eigen.setDeflationSpace(ones)
    return eigen


def _random_vector(matrix: Any, rows: Rows, seed: int) -> Any:
    """A vector that does not depend on the number of processes: entry p is a function of p and the seed."""
    vector = matrix.createVecLeft()
    indices = np.arange(rows.first, rows.first + len(rows.starts) - 1, dtype=np.uint64)
    # The finalizer of splitmix64 (Steele, Lea and Flood 2014).
    mixed = (indices + np.uint64(seed * 0x10001 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    vector.setArray((mixed >> np.uint64(11)) / 2.0**53 - 0.5)
    return vector


def _pair(
    eigen: Any, at: int, left: Any, right: Any, solver: Any, constant: Any, MPI: Any
) -> tuple[float, float, Any]:
    """One eigenvalue, its relative residual in the norm of L_Y⁺, and its vector in normal form: mean zero, vᵀL_Yv = 1, the
    entry of largest magnitude positive."""
    vector, product, residual, step = (left.createVecLeft() for _ in range(4))
    eigen.getEigenvector(at, vector)
    constant.remove(vector)
    right.mult(vector, product)
    vector.scale(_sign_of_largest(vector, MPI) / np.sqrt(vector.dot(product)))
    left.mult(vector, residual)
    value = residual.dot(vector)
    right.mult(vector, product)
    residual.axpy(-value, product)
    constant.remove(residual)
    solver.solve(residual, step)
    return value, float(np.sqrt(max(residual.dot(step), 0.0)) / value), vector


def _sign_of_largest(vector: Any, MPI: Any) -> float:
    local = vector.getArray()
    largest = local[np.argmax(np.abs(local))] if len(local) else 0.0
    everywhere = MPI.COMM_WORLD.allgather(float(largest))
    return float(np.sign(max(everywhere, key=abs)))


def _earlier(path: str, recipe: dict[str, str], rows: Rows, comm: Any) -> Solved | None:
    """The eigenpairs that are there already, where they were found from the same."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path) as archive:
            document = json.loads(archive["spadework"].item()) if "spadework" in archive.files else {}
            if document.get("made_from") != recipe:
                raise Refused(f"{path}: was made from something else; --force makes it again")
            local = archive["vectors"][rows.first : rows.first + len(rows.starts) - 1]
            solved = Solved(archive["values"], archive["residuals"], local, int(document["iterations"]))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise Refused(f"{path}: expected whole eigenpairs: {error}; --force makes them again") from error
    if comm.rank == 0:
        print(f"note: {path}: the eigenpairs already exist and are not computed again", file=sys.stderr)
    return solved


def _write_eigenpairs(
    path: str, recipe: dict[str, str], solved: Solved, options: argparse.Namespace, took: float, comm: Any
) -> None:
    """The file of a stage, as `spadework eigen` writes it but for the bounds of the first eigenvalue."""
    parts = comm.gather(solved.vectors)
    if parts is None:
        return
    document = {
        "schema": SCHEMA,
        "stage": "eigen",
        "made_from": recipe,
        "method": "slepc",
        "iterations": solved.iterations,
        "tolerance": options.tolerance,
        "seed": options.seed,
        "eigen_s": took,
    }
    temporary = f"{path}.tmp-{os.getpid()}"
    with open(temporary, "wb") as file:
        np.savez(
            file,
            values=solved.values,
            residuals=solved.residuals,
            vectors=np.concatenate(parts),
            spadework=np.array(json.dumps(document).encode()),
        )
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _write_scores(result: str, rows: Rows, solved: Solved, PETSc: Any, MPI: Any) -> None:
    """Edge and node scores (the paper's Definitions 6 and 7), every process its own rows."""
    local = len(rows.starts) - 1
    own = solved.vectors * np.sqrt(solved.values)
    ghosts, place = np.unique(rows.columns, return_inverse=True)
    others = _embedding_at(ghosts, own, rows, PETSc)
    of_row = np.repeat(np.arange(local), np.diff(rows.starts))
    scores = ((own[of_row] - others[place.ravel()]) ** 2).sum(axis=1)
    degrees = np.maximum(np.diff(rows.starts), 1)
    node_scores = np.bincount(of_row, weights=scores, minlength=local) / degrees
    upper = rows.columns > of_row + rows.first
    edges = np.column_stack([of_row[upper] + rows.first, rows.columns[upper]])
    _write_together(os.path.join(result, "node_scores.npy"), node_scores, MPI)
    _write_together(os.path.join(result, "edges.npy"), edges, MPI)
    _write_together(os.path.join(result, "edge_scores.npy"), scores[upper], MPI)


def _embedding_at(
    nodes: npt.NDArray[np.int64], own: npt.NDArray[np.float64], rows: Rows, PETSc: Any
) -> npt.NDArray[np.float64]:
    """Rows of the embedding that this process needs, most of which others hold."""
    wanted = PETSc.IS().createGeneral(nodes.astype(PETSc.IntType), comm=PETSc.COMM_SELF)
    found = np.empty((len(nodes), own.shape[1]))
    for column in range(own.shape[1]):
        whole = PETSc.Vec().createMPI((len(own), rows.nodes), comm=PETSc.COMM_WORLD)
        whole.setArray(np.ascontiguousarray(own[:, column]))
        part = PETSc.Vec().createSeq(len(nodes))
        scatter = PETSc.Scatter().create(whole, wanted, part, None)
        scatter.scatter(whole, part)
        found[:, column] = part.getArray()
    return found


def _write_together(path: str, local: npt.NDArray[Any], MPI: Any) -> None:
    """One array of which every process has some rows, in the order of the processes. It has its name when it is whole."""
    comm = MPI.COMM_WORLD
    counts = comm.allgather(len(local))
    header = b""
    if comm.rank == 0:
        shape = (sum(counts), *local.shape[1:])
        head = {"descr": np.lib.format.dtype_to_descr(local.dtype), "fortran_order": False, "shape": shape}
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(buffer, head)
        header = buffer.getvalue()
    header = comm.bcast(header)
    temporary = f"{path}.tmp-{comm.bcast(os.getpid())}"
    file = MPI.File.Open(comm, temporary, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    if comm.rank == 0:
        file.Write_at(0, header)
    row = local.dtype.itemsize * int(np.prod(local.shape[1:], dtype=int))
    file.Write_at_all(len(header) + row * sum(counts[: comm.rank]), np.ascontiguousarray(local).view(np.uint8))
    file.Sync()
    file.Close()
    if comm.rank == 0:
        os.replace(temporary, path)
    comm.Barrier()


if __name__ == "__main__":
    sys.exit(main())
