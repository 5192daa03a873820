//! The eigenpairs of two graphs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spadework::eigen::{EigenInfo, EigenMethod, Enclosure, EnclosureMethod, StoredEigenpairs};
use spadework::pipeline::SolvedSpectrum;

use super::{DOCUMENT, Recipe, SCHEMA, document, document_text, duration};
use crate::error::{Error, Result};
use crate::result::EnclosureDocument;
use spadework_io::archive::Archive;
use spadework_io::output::{NpyValues, NpzMember, write_npz};

const STAGE: &str = "eigen";

/// Where the eigenpairs lie in a folder of stages.
pub fn eigenpairs_file(folder: &Path) -> PathBuf {
    folder.join("eigenpairs.npz")
}

/// How eigenpairs were found: the document inside their file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EigenStage {
    /// [`SCHEMA`].
    pub schema: String,
    /// `eigen`.
    pub stage: String,
    /// What they were made from.
    pub made_from: Recipe,
    /// `dense`, `davidson` or `power`; anything else is another program.
    pub method: String,
    /// Iterations of an iterative method.
    #[serde(default)]
    pub iterations: usize,
    /// Relative residual asked for.
    pub tolerance: f64,
    /// Seed.
    #[serde(default)]
    pub seed: u64,
    /// Bounds of λ_1; missing where another program found the pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enclosure: Option<EnclosureDocument>,
    /// Wall-clock seconds that the pairs took.
    #[serde(default)]
    pub eigen_s: f64,
    /// Wall-clock seconds that the bounds took.
    #[serde(default)]
    pub enclosure_s: f64,
}

/// The eigenpairs of a folder of stages, not yet checked against its graphs.
#[derive(Debug, Clone)]
pub struct StagedEigenpairs {
    /// The numbers.
    pub eigenpairs: StoredEigenpairs,
    /// How they were found; none where another program wrote the file.
    pub stage: Option<EigenStage>,
}

impl EigenStage {
    /// How a spectrum was found.
    pub fn new(made_from: Recipe, spectrum: &SolvedSpectrum, tolerance: f64, seed: u64) -> Self {
        let info = spectrum.eigenpairs.info();
        Self {
            schema: SCHEMA.to_owned(),
            stage: STAGE.to_owned(),
            made_from,
            method: info.method.to_string(),
            iterations: info.iterations,
            tolerance,
            seed,
            enclosure: Some(spectrum.enclosure.into()),
            eigen_s: spectrum.eigen_time.as_secs_f64(),
            enclosure_s: spectrum.enclosure_time.as_secs_f64(),
        }
    }

    /// The spectrum of eigenpairs that were checked, where their bounds were found too.
    pub fn spectrum(&self, eigenpairs: spadework::eigen::GeneralizedEigenpairs) -> Option<SolvedSpectrum> {
        let EnclosureDocument { lower, upper, method, probability } = self.enclosure.as_ref()?;
        let known = [EnclosureMethod::Dense, EnclosureMethod::Residual, EnclosureMethod::Inertia];
        let method = known.into_iter().find(|known| known.to_string() == *method)?;
        let enclosure = Enclosure::new(*lower..=*upper, method, *probability);
        let mut spectrum = SolvedSpectrum::new(eigenpairs, enclosure);
        spectrum.eigen_time = duration(self.eigen_s);
        spectrum.enclosure_time = duration(self.enclosure_s);
        Some(spectrum)
    }

    fn info(&self) -> EigenInfo {
        let known = [EigenMethod::Dense, EigenMethod::Davidson, EigenMethod::Power];
        let method = known.into_iter().find(|known| known.to_string() == self.method);
        EigenInfo::new(method.unwrap_or(EigenMethod::Given), self.iterations)
    }
}

/// Writes eigenpairs into a folder of stages, which is made where there is none.
///
/// # Errors
/// When the file cannot be written.
pub fn write_eigenpairs(folder: &Path, spectrum: &SolvedSpectrum, stage: &EigenStage) -> Result<()> {
    let pairs = &spectrum.eigenpairs;
    let (count, nodes) = (pairs.len(), pairs.vectors()[0].len());
    let rows: Vec<f64> = (0..nodes).flat_map(|p| pairs.vectors().iter().map(move |v| v[p])).collect();
    let text = document_text(stage);
    let members = [
        NpzMember { key: "values", shape: &[count], values: pairs.values().into() },
        NpzMember { key: "residuals", shape: &[count], values: pairs.residuals().into() },
        NpzMember { key: "vectors", shape: &[nodes, count], values: rows.as_slice().into() },
        NpzMember { key: DOCUMENT, shape: &[], values: NpyValues::Word(text.as_bytes()) },
    ];
    Ok(write_npz(&eigenpairs_file(folder), &members)?)
}

/// Reads the eigenpairs of a folder of stages; none where there are none.
///
/// # Errors
/// When the file is not whole, or its arrays have shapes that eigenpairs do not have.
pub fn read_eigenpairs(folder: &Path) -> Result<Option<StagedEigenpairs>> {
    let path = eigenpairs_file(folder);
    let Some(archive) = Archive::open(&path)? else { return Ok(None) };
    let stage: Option<EigenStage> = document(&archive, &path, STAGE)?;
    let (shape, rows) = archive.numbers("vectors")?;
    let [_, count] = shape[..] else {
        let reason = format!("`vectors` must have one row a sample, got shape {shape:?}");
        return Err(Error::Stage { path, reason });
    };
    let column = |i: usize| rows.iter().skip(i).step_by(count.max(1)).copied().collect();
    let info = stage.as_ref().map_or(EigenInfo::new(EigenMethod::Given, 0), EigenStage::info);
    let eigenpairs = StoredEigenpairs {
        values: archive.numbers("values")?.1,
        vectors: (0..count).map(column).collect(),
        residuals: archive.numbers("residuals")?.1,
        info,
    };
    Ok(Some(StagedEigenpairs { eigenpairs, stage }))
}
