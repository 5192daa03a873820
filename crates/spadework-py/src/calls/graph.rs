//! The graph of one side.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spadework::graph::{ConnectedGraph, GraphKind, construct, project};
use spadework::monitor::Stage;
use spadework::neighbors::search_by;
use spadework::pipeline::sparsify;
use spadework::samples::Side;
use spadework::{Error as CoreError, Graph, Monitor, Samples, SpadeParams};
use spadework_app::{Voice, sparse_inputs};

use super::Found;
use crate::arrays::{Rows, SparseEntries, set_graph};
use crate::errors::{Failure, without_panics};
use crate::settings::Settings;
use crate::watch::{Asked, Watch};

/// The graph of some samples, connected or not: its edges and their weights.
#[pyfunction]
pub(crate) fn knn_graph<'py>(py: Python<'py>, samples: Rows<'py>, asked: Asked<'py>) -> Found<'py> {
    without_panics(|| {
        let params = asked.0.params()?;
        if matches!(params.graph, GraphKind::Continuous { delta } if delta > 1.0) {
            // Its edges may lie beyond the k nearest, which are all that is searched here.
            return Err(PyValueError::new_err(format!(
                "`graph` must have a factor of at most 1 here, as in cknn:1, got {}",
                params.graph
            )));
        }
        let rows = samples.borrowed()?;
        let graph = asked.watched(py, |_, watch| {
            let samples = rows.several_samples("samples")?;
            params.check_for(samples.len())?;
            made(&samples, &params, watch)
        })?;
        edges_of(py, &graph)
    })
}

/// The graph of sparse rows (rows, columns, and the row, the column and the value of every entry), as `spadework score` makes it of a file.
#[pyfunction]
pub(crate) fn sparse_knn_graph<'py>(
    py: Python<'py>,
    samples: SparseEntries<'py>,
    asked: Asked<'py>,
) -> Found<'py> {
    without_panics(|| {
        let params = asked.0.params()?;
        let entries = samples.borrowed()?;
        let graph = asked.watched(py, |_, watch| {
            let rows = entries.rows("samples")?;
            watch.begin(Stage::NeighborsInput);
            let lists = rows.neighbors(Side::Input, params.input_metric, params.neighbors, watch)?;
            Ok(Graph::from_neighbors(&lists, params.neighbors))
        })?;
        edges_of(py, &graph)
    })
}

/// The edges of a graph and their weights.
fn edges_of<'py>(py: Python<'py>, graph: &Graph) -> Found<'py> {
    let result = PyDict::new(py);
    set_graph(&result, "graph", graph)?;
    Ok(result)
}

/// What a reader must know of sparse inputs, by their rows, their columns and their entries.
#[pyfunction]
pub(crate) fn sparse_note(shape: [usize; 3], settings: Settings) -> PyResult<String> {
    without_panics(|| Ok(sparse_inputs("inputs", shape, &settings.params()?, Voice::Python)))
}

fn made(samples: &Samples<'_>, params: &SpadeParams, watch: &Watch) -> Result<Graph, Failure> {
    let samples = &params.geometry(Side::Input).place(Side::Input, samples.view())?;
    let projection = match params.graph {
        GraphKind::Pca(dimensions) => Some(project(samples, dimensions, watch)?),
        _ => None,
    };
    let samples = projection.as_ref().map_or(samples, |projection| projection.samples());
    watch.begin(Stage::NeighborsInput);
    let lists = search_by(params.search, params.seed).search(samples, params.neighbors, watch)?;
    lists.check_resolved(Side::Input, samples)?;
    let graph = construct(samples, &lists, params.neighbors, params.graph, params.weights);
    let GraphKind::Sparse(target) = params.graph else { return Ok(graph) };
    let connected = ConnectedGraph::new(graph).map_err(|components| CoreError::Disconnected {
        side: Side::Input,
        components: components.count(),
        largest: components.largest(),
        samples: samples.len(),
        neighbors: params.neighbors,
    })?;
    Ok(sparsify(&connected, target, params.seed, watch)?.0.into_graph())
}
