#!/usr/bin/env python3
"""Writes the PETSc fixture of the graph readers, with PETSc itself: a matrix that SciPy saved, as MatView writes it.

Needs petsc4py, NumPy and SciPy (Debian: python3-petsc4py python3-scipy, run with /usr/bin/python3).
"""

import pathlib

import scipy.sparse
from petsc4py import PETSc

GRAPHS = pathlib.Path(__file__).parent.parent / "crates/spadework-io/tests/fixtures/graphs"

matrix = scipy.sparse.load_npz(GRAPHS / "directed.npz").tocsr().astype(float)
indices = [array.astype(PETSc.IntType) for array in (matrix.indptr, matrix.indices)]
stored = PETSc.Mat().createAIJ(matrix.shape, csr=(*indices, matrix.data))
viewer = PETSc.Viewer().createBinary(str(GRAPHS / "directed.petsc"), "w")
# A second file with options of PETSc is of no use to us.
viewer.setSkipInfo(True) if hasattr(viewer, "setSkipInfo") else None
stored.view(viewer)
viewer.destroy()
(GRAPHS / "directed.petsc.info").unlink(missing_ok=True)
