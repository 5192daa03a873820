//! Distances of pairs, boundaries, and the bounds of both.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::pipeline::{DistortionParams, EdgeDistances, MeasuredDistortion, MeasuredPair};
use spadework::scores::Distortion;
use spadework_app::{DistortionRequest, distortion as measure};

use super::Found;
use super::score::{Model, ModelArgument};
use crate::arrays::pairs as pair_rows;
use crate::errors::without_panics;
use crate::watch::Asked;

/// Scores a model and measures its distortions; gives the document as JSON, and the tables.
#[pyfunction]
pub(crate) fn distortion<'py>(
    py: Python<'py>,
    model: ModelArgument<'py>,
    top: Option<usize>,
    pairs: Vec<(u32, u32)>,
    all_edges: bool,
    asked: Asked<'py>,
) -> Found<'py> {
    without_panics(|| {
        let model = Model::new(&model)?;
        let wanted = DistortionParams::default()
            .with_top(top)
            .with_pairs(pairs)
            .with_all_edges(all_edges.then_some(asked.0.sketch_error));
        let found = asked.watched(py, |settings, watch| {
            let request = DistortionRequest {
                data: model.data(settings.task()?)?,
                params: settings.params()?,
                distortion: wanted,
                folder: None,
            };
            Ok(measure(&request, watch)?)
        })?;
        let measured = &found.measured;
        let result = PyDict::new(py);
        result.set_item("document", found.document.to_json())?;
        set_pairs(&result, measured)?;
        let cut: Vec<i64> = measured.cut.samples().iter().map(|&p| i64::from(p)).collect();
        result.set_item("cut", PyArray1::from_vec(py, cut))?;
        result
            .set_item("edges", measured.all_edges.as_ref().map(|edges| edge_table(py, edges)).transpose()?)?;
        Ok(result)
    })
}

/// What a column of the table of pairs says of a pair.
type Column = fn(&MeasuredPair) -> f64;

/// The table of pairs: one entry per column.
fn set_pairs(result: &Bound<'_, PyDict>, measured: &MeasuredDistortion) -> PyResult<()> {
    let py = result.py();
    let table = PyDict::new(py);
    let groups: Vec<String> = measured.pairs.iter().map(|pair| pair.group.to_string()).collect();
    table.set_item("group", groups)?;
    let ends = pair_rows(py, measured.pairs.iter().map(|pair| (pair.geodesic.p, pair.geodesic.q)))?;
    table.set_item("pairs", ends)?;
    let columns: [(&str, Column); 7] = [
        ("score", |pair| pair.score.unwrap_or(f64::NAN)),
        ("input_hops", |pair| pair.geodesic.input),
        ("output_hops", |pair| pair.geodesic.output),
        ("geodesic_distortion", |pair| pair.geodesic.ratio()),
        ("input_resistance", |pair| pair.resistance.input),
        ("output_resistance", |pair| pair.resistance.output),
        ("resistance_distortion", |pair| pair.resistance.ratio()),
    ];
    for (name, of) in columns {
        table.set_item(name, PyArray1::from_iter(py, measured.pairs.iter().map(of)))?;
    }
    result.set_item("pairs", table)
}

/// The table of all edges, in the order of the input graph's.
fn edge_table<'py>(py: Python<'py>, edges: &EdgeDistances) -> Found<'py> {
    let table = PyDict::new(py);
    let of = |distances: &mut dyn Iterator<Item = f64>| PyArray1::from_iter(py, distances);
    table.set_item("pairs", pair_rows(py, edges.resistances.iter().map(|edge| (edge.p, edge.q)))?)?;
    table.set_item("geodesic_distortion", of(&mut edges.hops.iter().map(|&hops| f64::from(hops))))?;
    table.set_item("input_resistance", of(&mut edges.resistances.iter().map(|edge| edge.input)))?;
    table.set_item("output_resistance", of(&mut edges.resistances.iter().map(|edge| edge.output)))?;
    table.set_item("resistance_distortion", of(&mut edges.resistances.iter().map(Distortion::ratio)))?;
    Ok(table)
}
