//! Graphs as files that [`load_graph`](crate::load_graph) and others read.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use spadework::Graph;
use spadework::error::Readable;

use super::npz::write_packed_npz;
use super::{NpyValues, NpzMember, OutputFile};
use crate::error::{Error, Result};

/// Writes a graph in the format of the path's ending: `.csv` (edges), `.npz` (SciPy, csr) or `.petsc` (PETSc's binary layout
/// with indices of 32 bits).
///
/// # Errors
/// When the ending is another, or the file cannot be written.
pub fn write_graph(path: &Path, graph: &Graph) -> Result<()> {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("csv") => write_lines(path, |file| csv(graph, file)),
        Some("petsc") => write_lines(path, |file| petsc(graph, file)),
        Some("npz") => write_packed_npz(path, &ScipyMatrix::of(graph).members()),
        _ => Err(Error::GraphEnding { path: path.to_owned() }),
    }
}

fn write_lines(path: &Path, write: impl Fn(&mut OutputFile) -> io::Result<()>) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    write(&mut file).map_err(|cause| file.error(cause))?;
    file.commit()
}

fn csv(graph: &Graph, file: &mut OutputFile) -> io::Result<()> {
    if graph.is_unit() {
        file.write_all(b"p,q\n")?;
        return graph.edges().try_for_each(|(p, q, _)| writeln!(file, "{p},{q}"));
    }
    file.write_all(b"p,q,weight\n")?;
    graph.edges().try_for_each(|(p, q, weight)| writeln!(file, "{p},{q},{}", Readable(weight)))
}

/// What `MatView` writes to a binary viewer.
fn petsc(graph: &Graph, file: &mut OutputFile) -> io::Result<()> {
    const CLASS: u32 = 1_211_216;
    let nodes = graph.nodes() as u32;
    let entries = i32::try_from(2 * graph.edge_count()).map_err(|_| {
        io::Error::new(io::ErrorKind::FileTooLarge, "indices of 32 bits count 2147483647 entries at most")
    })? as u32;
    for number in [CLASS, nodes, nodes, entries] {
        file.write_all(&number.to_be_bytes())?;
    }
    for p in 0..graph.nodes() {
        file.write_all(&(graph.neighbors(p).len() as u32).to_be_bytes())?;
    }
    for p in 0..graph.nodes() {
        graph.neighbors(p).iter().try_for_each(|q| file.write_all(&q.to_be_bytes()))?;
    }
    for p in 0..graph.nodes() {
        match graph.weights(p) {
            Some(weights) => weights.iter().try_for_each(|w| file.write_all(&w.to_be_bytes()))?,
            None => graph.neighbors(p).iter().try_for_each(|_| file.write_all(&1.0_f64.to_be_bytes()))?,
        }
    }
    Ok(())
}

/// The arrays that `scipy.sparse.save_npz` writes for a graph.
#[derive(Debug)]
pub struct ScipyMatrix {
    starts: Vec<i64>,
    indices: Vec<i64>,
    data: Vec<f64>,
    extents: [i64; 2],
    /// Shapes of the arrays above.
    rows: [usize; 1],
    entries: [usize; 1],
}

impl ScipyMatrix {
    /// The arrays of a graph.
    pub fn of(graph: &Graph) -> Self {
        let (nodes, entries) = (graph.nodes(), 2 * graph.edge_count());
        let (mut starts, mut indices) = (Vec::with_capacity(nodes + 1), Vec::with_capacity(entries));
        let mut data = Vec::with_capacity(entries);
        starts.push(0);
        for p in 0..nodes {
            indices.extend(graph.neighbors(p).iter().map(|&q| i64::from(q)));
            match graph.weights(p) {
                Some(weights) => data.extend_from_slice(weights),
                None => data.resize(indices.len(), 1.0),
            }
            starts.push(indices.len() as i64);
        }
        let (rows, entries) = ([nodes + 1], [indices.len()]);
        Self { starts, indices, data, extents: [nodes as i64; 2], rows, entries }
    }

    /// The arrays as members of an archive.
    pub fn members(&self) -> [NpzMember<'_>; 5] {
        [
            NpzMember { key: "indices", shape: &self.entries, values: NpyValues::I64(&self.indices) },
            NpzMember { key: "indptr", shape: &self.rows, values: NpyValues::I64(&self.starts) },
            NpzMember { key: "data", shape: &self.entries, values: NpyValues::F64(&self.data) },
            NpzMember { key: "shape", shape: &[2], values: NpyValues::I64(&self.extents) },
            NpzMember { key: "format", shape: &[], values: NpyValues::Word(b"csr") },
        ]
    }
}
