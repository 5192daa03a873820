//! Neighbors of one block of samples in another, for searches that are spread over machines.

use std::num::NonZeroUsize;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use spadework::neighbors::nearest_between as search;
use spadework::samples::{Geometry, Side, Standardize};

use crate::arrays::{Rows, rows};
use crate::errors::without_panics;
use crate::settings::word;
use crate::watch::watched;

/// Squared distances and indices.
type Nearest<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i64>>);

/// The nearest samples of `base` for every query; an index of -1 where there are too few.
#[pyfunction]
pub(crate) fn nearest_between<'py>(
    py: Python<'py>,
    queries: Rows<'py>,
    base: Rows<'py>,
    shift: i64,
    neighbors: NonZeroUsize,
    metric: &str,
    threads: Option<NonZeroUsize>,
) -> PyResult<Nearest<'py>> {
    without_panics(|| {
        let neighbors = neighbors.get();
        let geometry = Geometry::new(word("metric", metric)?, Standardize::None);
        let (queries, base) = (queries.borrowed()?, base.borrowed()?);
        let found = watched(py, threads, None, |watch| {
            let place =
                |samples| geometry.fit(Side::Input, &samples).and_then(|fitted| fitted.place(samples));
            let queries = place(queries.samples("samples")?)?;
            let base = place(base.samples("samples")?)?;
            let found = search(&queries, &base, shift, neighbors, watch)?;
            found.check_resolved(Side::Input, &queries, &base)?;
            Ok(found)
        })?;
        let indices: Vec<i64> = found.indices.iter().map(|index| index.map_or(-1, i64::from)).collect();
        let count = indices.len() / neighbors;
        let indices = PyArray1::from_vec(py, indices).reshape([count, neighbors])?;
        Ok((rows(py, neighbors, &found.squared_distances)?, indices))
    })
}
