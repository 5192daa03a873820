//! Graphs as files: `input.npy` and `output.npy` in a folder, each an m × 2 array of node numbers.

use std::fs;
use std::path::Path;

use spadework::graph::ConnectedGraph;
use spadework::samples::Values;
use spadework::{Graph, GraphPair};
use spadework_io::output::write_npy;

use crate::Failure;

pub(crate) fn save(folder: &Path, graphs: &GraphPair) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    for (name, graph) in [("input.npy", graphs.input()), ("output.npy", graphs.output())] {
        let ends: Vec<i64> = graph.edges().flat_map(|(p, q, _)| [i64::from(p), i64::from(q)]).collect();
        write_npy(&folder.join(name), &[graph.edge_count(), 2], ends.as_slice())?;
    }
    Ok(())
}

/// Reads what [`save`] wrote. In neighbor graphs every node has an edge, so the largest number tells how many there are.
pub(crate) fn load(folder: &Path) -> Result<GraphPair, Failure> {
    let input = edges(&folder.join("input.npy"))?;
    let output = edges(&folder.join("output.npy"))?;
    let nodes = input.iter().chain(&output).map(|&(p, q)| p.max(q) as usize + 1).max().unwrap_or(0);
    let output = ConnectedGraph::new(Graph::from_edges(nodes, &output)?)
        .map_err(|parts| format!("the output graph has {} components", parts.count()))?;
    Ok(GraphPair::new(Graph::from_edges(nodes, &input)?, output)?)
}

fn edges(path: &Path) -> Result<Vec<(u32, u32)>, Failure> {
    let dataset = spadework_io::load(&path.display().to_string())?;
    let samples = dataset.samples()?;
    // 64-bit integers are read as doubles, which hold every node number.
    let (Values::F64(ends), 2) = (samples.values(), samples.dim()) else {
        return Err(format!("{}: expected rows of two 64-bit integers", path.display()).into());
    };
    Ok(ends.chunks_exact(2).map(|ends| (ends[0] as u32, ends[1] as u32)).collect())
}
