//! The eigenpairs of two graphs.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::eigen::{EigenInfo, EigenMethod, Enclosure};
use spadework::pipeline::SolvedSpectrum;

use super::{Recipe, SCHEMA, StageDocument, duration};
use crate::score::NumericalBoundsDocument;

const STAGE: &str = "eigen";

/// How eigenpairs were found: the document inside their file.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EigenStage {
    /// Name and version of the layout.
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
    /// Requested relative residual.
    pub tolerance: f64,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Bounds of λ_1; missing where another program found the pairs.
    pub numerical_bounds: Option<NumericalBoundsDocument>,
    /// Wall-clock seconds that the pairs took.
    #[serde(default)]
    pub eigen_s: f64,
    /// Wall-clock seconds that the bounds took.
    #[serde(default)]
    pub numerical_bounds_s: f64,
}

impl StageDocument for EigenStage {
    const STAGE: &'static str = STAGE;
}

impl EigenStage {
    /// What is known of eigenpairs in a file without a document.
    pub fn unknown() -> EigenInfo {
        EigenInfo::new(EigenMethod::Given, 0)
    }

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
            numerical_bounds: Some(spectrum.enclosure.into()),
            eigen_s: spectrum.eigen_time.as_secs_f64(),
            numerical_bounds_s: spectrum.enclosure_time.as_secs_f64(),
        }
    }

    /// The spectrum of eigenpairs that were checked, where their bounds were found too.
    pub fn spectrum(&self, eigenpairs: spadework::eigen::GeneralizedEigenpairs) -> Option<SolvedSpectrum> {
        let NumericalBoundsDocument { lower, upper, method, probability } = self.numerical_bounds.as_ref()?;
        let method = method.parse().ok()?;
        let enclosure = Enclosure::new(*lower..=upper.unwrap_or(f64::INFINITY), method, *probability);
        let mut spectrum = SolvedSpectrum::new(eigenpairs, enclosure);
        spectrum.eigen_time = duration(self.eigen_s);
        spectrum.enclosure_time = duration(self.numerical_bounds_s);
        Some(spectrum)
    }

    /// How the eigenpairs were found, as their type has it.
    pub fn info(&self) -> EigenInfo {
        let known = [EigenMethod::Dense, EigenMethod::Davidson, EigenMethod::Power];
        let method = known.into_iter().find(|known| known.to_string() == self.method);
        EigenInfo::new(method.unwrap_or(EigenMethod::Given), self.iterations)
    }
}
