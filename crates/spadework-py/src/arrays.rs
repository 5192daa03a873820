//! NumPy arrays in and out. Nothing that comes in is copied.

use half::slice::HalfBitsSliceExt;
use half::{bf16, f16};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::neighbors::SparseRows;
use spadework::samples::Values;
use spadework::{Graph, Samples};
use spadework_io::{Labels, LoadedGraph, graph_of_entries};

use crate::errors::Failure;

/// Rows of samples, C-contiguous, as `_arrays.py` makes them.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
    Bytes(PyReadonlyArray2<'py, u8>),
    Int8(PyReadonlyArray2<'py, i8>),
    Int16(PyReadonlyArray2<'py, i16>),
    Half(PyReadonlyArray2<'py, f16>),
    /// The bits of bfloat16, for which NumPy has no type of its own.
    Bfloat16(PyReadonlyArray2<'py, u16>),
}

/// The same without the interpreter; what a worker may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BorrowedRows<'a> {
    len: usize,
    dim: usize,
    values: BorrowedValues<'a>,
}

#[derive(Debug, Clone, Copy)]
enum BorrowedValues<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
    Bytes(&'a [u8]),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Half(&'a [f16]),
    Bfloat16(&'a [bf16]),
}

impl Rows<'_> {
    pub(crate) fn borrowed(&self) -> PyResult<BorrowedRows<'_>> {
        let (shape, values) = match self {
            Rows::Single(array) => (array.shape(), BorrowedValues::Single(array.as_slice()?)),
            Rows::Double(array) => (array.shape(), BorrowedValues::Double(array.as_slice()?)),
            Rows::Bytes(array) => (array.shape(), BorrowedValues::Bytes(array.as_slice()?)),
            Rows::Int8(array) => (array.shape(), BorrowedValues::Int8(array.as_slice()?)),
            Rows::Int16(array) => (array.shape(), BorrowedValues::Int16(array.as_slice()?)),
            Rows::Half(array) => (array.shape(), BorrowedValues::Half(array.as_slice()?)),
            Rows::Bfloat16(array) => {
                (array.shape(), BorrowedValues::Bfloat16(array.as_slice()?.reinterpret_cast()))
            }
        };
        Ok(BorrowedRows { len: shape[0], dim: shape[1], values })
    }
}

impl<'a> BorrowedRows<'a> {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Numbers per row.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// The samples, of which there may be a single one; what is wrong with them names the argument.
    pub(crate) fn samples(self, argument: &str) -> Result<Samples<'a>, Failure> {
        let Self { len, dim, values } = self;
        let values = match values {
            BorrowedValues::Single(values) => Values::F32(values.into()),
            BorrowedValues::Double(values) => Values::F64(values.into()),
            BorrowedValues::Bytes(values) => Values::U8(values.into()),
            BorrowedValues::Int8(values) => Values::I8(values.into()),
            BorrowedValues::Int16(values) => Values::I16(values.into()),
            BorrowedValues::Half(values) => Values::F16(values.into()),
            BorrowedValues::Bfloat16(values) => Values::Bf16(values.into()),
        };
        Samples::new(len, dim, values).map_err(|error| Failure::about(argument, error))
    }

    /// The samples that are scored: at least two.
    pub(crate) fn several_samples(self, argument: &str) -> Result<Samples<'a>, Failure> {
        let samples = self.samples(argument)?;
        samples.check_several().map_err(|error| Failure::about(argument, error))?;
        Ok(samples)
    }
}

/// A matrix of a graph by its entries: nodes, rows, columns, weights.
#[derive(FromPyObject)]
pub(crate) struct Entries<'py>(
    usize,
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, f64>,
);

impl Entries<'_> {
    /// The graph, with the same rules and messages as for a graph from a file.
    pub(crate) fn graph(&self, argument: &str) -> PyResult<LoadedGraph> {
        let Self(nodes, rows, columns, weights) = self;
        let (rows, columns, weights) = (rows.as_slice()?, columns.as_slice()?, weights.as_slice()?);
        let entries =
            rows.iter().zip(columns).zip(weights).map(|((&row, &column), &weight)| (row, column, weight));
        graph_of_entries(argument, *nodes, entries).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Sparse rows by their entries: rows, columns, then the row, the column and the value of each.
#[derive(FromPyObject)]
pub(crate) struct SparseEntries<'py>(
    usize,
    usize,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
);

impl SparseEntries<'_> {
    /// The same without the interpreter.
    pub(crate) fn borrowed(&self) -> PyResult<BorrowedEntries<'_>> {
        let Self(len, dim, rows, columns, values) = self;
        let (rows, columns, values) = (rows.as_slice()?, columns.as_slice()?, values.as_slice()?);
        Ok(BorrowedEntries { len: *len, dim: *dim, rows, columns, values })
    }
}

/// Entries of sparse rows; what a worker may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BorrowedEntries<'a> {
    len: usize,
    dim: usize,
    rows: &'a [u32],
    columns: &'a [u32],
    values: &'a [f64],
}

impl BorrowedEntries<'_> {
    /// The rows; what is wrong with them names the argument.
    pub(crate) fn rows(self, argument: &str) -> Result<SparseRows, Failure> {
        let places = self.rows.iter().zip(self.columns).zip(self.values);
        let entries = places.map(|((&row, &column), &value)| (row, column, value)).collect();
        SparseRows::new(self.len, self.dim, entries).map_err(|error| Failure::about(argument, error))
    }
}

/// Labels: the number of each sample's class, and the names of the classes where they are words.
#[derive(FromPyObject)]
pub(crate) struct LabelArrays<'py>(PyReadonlyArray1<'py, i64>, Option<Vec<String>>);

impl LabelArrays<'_> {
    pub(crate) fn labels(&self) -> PyResult<Labels> {
        let ids = self.0.as_slice()?.to_vec();
        Ok(match &self.1 {
            None => Labels::from_ids(ids),
            Some(names) => Labels::with_names(ids, names.clone()),
        })
    }
}

/// Numbers, one per row.
pub(crate) fn column<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_slice(py, values)
}

/// Numbers in rows of `dim`.
pub(crate) fn rows<'py>(py: Python<'py>, dim: usize, values: &[f64]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, values).reshape([values.len() / dim, dim])
}

/// Pairs of nodes, a pair a row.
pub(crate) fn pairs(
    py: Python<'_>,
    pairs: impl ExactSizeIterator<Item = (u32, u32)>,
) -> PyResult<Bound<'_, PyArray2<i64>>> {
    let count = pairs.len();
    let ends = pairs.flat_map(|(p, q)| [i64::from(p), i64::from(q)]).collect();
    PyArray1::from_vec(py, ends).reshape([count, 2])
}

/// The edges of a graph and their weights, `None` if all are 1.
pub(crate) fn set_graph(result: &Bound<'_, PyDict>, side: &str, graph: &Graph) -> PyResult<()> {
    let py = result.py();
    let edges: Vec<(u32, u32)> = graph.edges().map(|(p, q, _)| (p, q)).collect();
    let weights: Option<Vec<f64>> =
        (!graph.is_unit()).then(|| graph.edges().map(|(.., weight)| weight).collect());
    result.set_item(format!("{side}_edges"), pairs(py, edges.into_iter())?)?;
    result.set_item(format!("{side}_weights"), weights.map(|weights| PyArray1::from_vec(py, weights)))
}
