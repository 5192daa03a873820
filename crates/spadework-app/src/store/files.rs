//! The files of the stages: two graphs, then their eigenpairs.
//!
//! Each is a NumPy archive that other programs read and write too: a graph is what `scipy.sparse.save_npz` writes, eigenpairs
//! are the arrays `values`, `vectors` (one row per sample) and `residuals`. An additional member, `spadework`, is a JSON
//! document that says what the file was made from, so that a stage is not computed twice and never confused with another.
//! Files of other programs need not have it.
//!
//! A file gets its name only when it is complete: it is written under another name and renamed. Every member has a checksum.

use std::path::{Path, PathBuf};

use spadework::eigen::StoredEigenpairs;
use spadework::pipeline::SolvedSpectrum;
use spadework::{Graph, GraphPair};
use spadework_document::Error;
use spadework_document::stages::{EigenStage, GraphStage, Recipe, StageDocument};
use spadework_io::archive::Archive;
use spadework_io::output::{NpyValues, NpzMember, ScipyMatrix, remove_link, write_npz};

/// The member that holds the document.
const DOCUMENT: &str = "spadework";

/// Where the graphs lie in a folder of stages, input first.
pub(crate) fn graph_files(folder: &Path) -> [PathBuf; 2] {
    ["input_graph.npz", "output_graph.npz"].map(|file| folder.join(file))
}

/// Where the eigenpairs lie in a folder of stages.
pub(crate) fn eigenpairs_file(folder: &Path) -> PathBuf {
    folder.join("eigenpairs.npz")
}

/// The graphs of a folder of stages.
#[derive(Debug, Clone)]
pub(super) struct StoredGraphs {
    /// G_X.
    pub(super) input: Graph,
    /// G_Y.
    pub(super) output: Graph,
    /// How they were made; none if another program wrote a file.
    pub(super) stage: Option<GraphStage>,
}

/// The eigenpairs of a folder of stages, not yet checked against its graphs.
#[derive(Debug, Clone)]
pub(super) struct FoundEigenpairs {
    /// The numbers.
    pub(super) eigenpairs: StoredEigenpairs,
    /// How they were found; none if another program wrote the file.
    pub(super) stage: Option<EigenStage>,
}

/// Writes both graphs into a folder of stages, which is made where there is none.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write_graphs(folder: &Path, graphs: &GraphPair, stage: &GraphStage) -> Result<(), Error> {
    let text = stage.to_text();
    let [input, output] = graph_files(folder);
    remove_link(&input)?;
    remove_link(&output)?;
    write_graph(&input, graphs.input(), &text)?;
    write_graph(&output, graphs.output(), &text)
}

fn write_graph(path: &Path, graph: &Graph, document: &str) -> Result<(), Error> {
    let matrix = ScipyMatrix::of(graph);
    let mut members = matrix.members().to_vec();
    members.push(NpzMember { key: DOCUMENT, shape: &[], values: NpyValues::Word(document.as_bytes()) });
    Ok(write_npz(path, &members)?)
}

/// What each graph of a folder of stages was made from; none if a file is missing or another program wrote it.
///
/// # Errors
/// When a file is not whole.
pub(super) fn recipes_of_graphs(folder: &Path) -> Result<[Option<Recipe>; 2], Error> {
    let [input, output] = graph_files(folder);
    let recipe = |path: &Path| -> Result<Option<Recipe>, Error> {
        let Some(archive) = Archive::open(path)? else { return Ok(None) };
        Ok(document::<GraphStage>(&archive, path)?.map(|stage| stage.made_from))
    };
    Ok([recipe(&input)?, recipe(&output)?])
}

/// Reads both graphs of a folder of stages; none if one of them is missing.
///
/// # Errors
/// When a file is not whole or holds no graph, or when the two were not made together.
pub(super) fn read_graphs(folder: &Path) -> Result<Option<StoredGraphs>, Error> {
    let [input_path, output_path] = graph_files(folder);
    let (Some(input), Some(output)) = (Archive::open(&input_path)?, Archive::open(&output_path)?) else {
        return Ok(None);
    };
    let input_stage: Option<GraphStage> = document(&input, &input_path)?;
    let stage: Option<GraphStage> = document(&output, &output_path)?;
    if let (Some(input_stage), Some(output_stage)) = (&input_stage, &stage)
        && let Some(difference) = output_stage.made_from.difference(&input_stage.made_from)
    {
        let reason = format!("must be made together with {}, got {difference}", input_path.display());
        return Err(Error::Stage { path: output_path, reason });
    }
    // What is said of a pair holds for graphs that were made as a pair.
    let stage = stage.filter(|_| input_stage.is_some());
    Ok(Some(StoredGraphs { input: input.graph()?, output: output.graph()?, stage }))
}

/// Writes eigenpairs into a folder of stages, which is made where there is none.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write_eigenpairs(
    folder: &Path,
    spectrum: &SolvedSpectrum,
    stage: &EigenStage,
) -> Result<(), Error> {
    let pairs = &spectrum.eigenpairs;
    let (count, nodes) = (pairs.len(), pairs.vectors()[0].len());
    let rows: Vec<f64> = (0..nodes).flat_map(|p| pairs.vectors().iter().map(move |v| v[p])).collect();
    let text = stage.to_text();
    let members = [
        NpzMember { key: "values", shape: &[count], values: pairs.values().into() },
        NpzMember { key: "residuals", shape: &[count], values: pairs.residuals().into() },
        NpzMember { key: "vectors", shape: &[nodes, count], values: rows.as_slice().into() },
        NpzMember { key: DOCUMENT, shape: &[], values: NpyValues::Word(text.as_bytes()) },
    ];
    let path = eigenpairs_file(folder);
    remove_link(&path)?;
    Ok(write_npz(&path, &members)?)
}

/// Reads the eigenpairs of a folder of stages; none if there are none.
///
/// # Errors
/// When the file is not whole, or its arrays have shapes that eigenpairs do not have.
pub(super) fn read_eigenpairs(folder: &Path) -> Result<Option<FoundEigenpairs>, Error> {
    let path = eigenpairs_file(folder);
    let Some(archive) = Archive::open(&path)? else { return Ok(None) };
    let stage: Option<EigenStage> = document(&archive, &path)?;
    let (shape, rows) = archive.numbers("vectors")?;
    let [_, count] = shape[..] else {
        let reason = format!("`vectors` must have one row per sample, got shape {shape:?}");
        return Err(Error::Stage { path, reason });
    };
    let column = |i: usize| rows.iter().skip(i).step_by(count.max(1)).copied().collect();
    let eigenpairs = StoredEigenpairs {
        values: archive.numbers("values")?.1,
        vectors: (0..count).map(column).collect(),
        residuals: archive.numbers("residuals")?.1,
        info: stage.as_ref().map_or_else(EigenStage::unknown, EigenStage::info),
    };
    Ok(Some(FoundEigenpairs { eigenpairs, stage }))
}

/// The document inside an archive; none if another program wrote it.
fn document<T: StageDocument>(archive: &Archive, path: &Path) -> Result<Option<T>, Error> {
    archive.text(DOCUMENT)?.map(|text| T::of_text(&text, path)).transpose()
}
