//! Graphs as files that [`load_graph`](crate::load_graph) and others read.

use std::ffi::OsStr;
use std::io::{self, Cursor, Write};
use std::path::Path;

use spadework::Graph;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::npy::{NpyValues, npy_bytes};
use super::{OutputFile, write_bytes};
use crate::error::{Error, Format, Result};

/// Writes a graph; the ending of the path says how: `.csv` (edges), `.npz` (SciPy, csr), `.mtx` (Matrix Market) or
/// `.petsc` (PETSc's binary layout with indices of 32 bits).
///
/// # Errors
/// When the ending is another, or the file cannot be written.
pub fn write_graph(path: &Path, graph: &Graph) -> Result<()> {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("csv") => write_lines(path, |file| csv(graph, file)),
        Some("mtx") => write_lines(path, |file| matrix_market(graph, file)),
        Some("petsc") => write_lines(path, |file| petsc(graph, file)),
        Some("npz") => {
            let encoder = |error: zip::result::ZipError| Error::Encoder {
                path: path.to_owned(),
                format: Format::Npz,
                reason: error.to_string(),
            };
            write_bytes(path, &npz(graph).map_err(encoder)?)
        }
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
    graph.edges().try_for_each(|(p, q, weight)| writeln!(file, "{p},{q},{weight}"))
}

/// The lower triangle, counted from 1.
fn matrix_market(graph: &Graph, file: &mut OutputFile) -> io::Result<()> {
    let field = if graph.is_unit() { "pattern" } else { "real" };
    writeln!(file, "%%MatrixMarket matrix coordinate {field} symmetric")?;
    writeln!(file, "{0} {0} {1}", graph.nodes(), graph.edge_count())?;
    for (p, q, weight) in graph.edges() {
        let (p, q) = (p + 1, q + 1);
        if graph.is_unit() {
            writeln!(file, "{q} {p}")?;
        } else {
            writeln!(file, "{q} {p} {weight:e}")?;
        }
    }
    Ok(())
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

/// What `scipy.sparse.save_npz` writes.
fn npz(graph: &Graph) -> Result<Vec<u8>, zip::result::ZipError> {
    let nodes = graph.nodes();
    let mut starts = Vec::with_capacity(nodes + 1);
    let (mut indices, mut data) = (Vec::new(), Vec::new());
    starts.push(0);
    for p in 0..nodes {
        indices.extend(graph.neighbors(p).iter().map(|&q| i64::from(q)));
        match graph.weights(p) {
            Some(weights) => data.extend_from_slice(weights),
            None => data.resize(indices.len(), 1.0),
        }
        starts.push(indices.len() as i64);
    }
    let (entries, extent) = (indices.len(), nodes as i64);
    let arrays = [
        ("indices", npy_bytes(&[entries], NpyValues::I64(&indices))),
        ("indptr", npy_bytes(&[nodes + 1], NpyValues::I64(&starts))),
        ("data", npy_bytes(&[entries], NpyValues::F64(&data))),
        ("shape", npy_bytes(&[2], NpyValues::I64(&[extent, extent]))),
        ("format", npy_bytes(&[], NpyValues::Word(b"csr"))),
    ];
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (key, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        archive.start_file(format!("{key}.npy"), options.large_file(bytes.len() > u32::MAX as usize))?;
        archive.write_all(&bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
