//! The parameters of a request, as every document keeps them.
//!
//! A result is made again from these and from nothing else: what was *done* stands elsewhere in its document, and one side may
//! have been searched otherwise than the other.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::SpadeParams;
use spadework::eigen::{Certainty, EigenMethod};
use spadework::error::UnknownWord;
use spadework::pipeline::Spectrum;
use spadework::samples::{Metric, Standardize};
use spadework_probe::Task;

/// Every parameter that the numbers of a result depend on, as requested.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestDocument {
    /// Neighbors per sample, k.
    pub neighbors: usize,
    /// Number of eigenpairs, r.
    pub eigenpairs: usize,
    /// Relative error of edge and node scores, if these use all eigenpairs.
    pub sketch_error: Option<f64>,
    /// How eigenpairs are found: `auto`, `davidson`, `power` or `dense`.
    pub solver: String,
    /// How distances are taken, as fields of the request itself.
    #[serde(flatten)]
    pub distances: DistancesDocument,
    /// What decides which of equally near outputs are neighbors, if some outputs are equal: `inputs` or `index`.
    pub ties: String,
    /// How neighbors are searched: `auto`, `exact` or `approximate`.
    pub search: String,
    /// Kind of graph.
    pub graph: String,
    /// Kind of edge weights.
    pub weights: String,
    /// Connectivity policy: `grow`, `bridge` or `error`.
    pub connectivity: String,
    /// Relative residual that every eigenpair must reach.
    pub tolerance: f64,
    /// Whether the upper bound of the SPADE score is proved.
    pub certify: bool,
    /// Whether there is no upper bound of the SPADE score.
    #[serde(default)]
    pub no_bounds: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// What the outputs are: `auto`, `classes`, `embedding` or `regression`.
    pub task: String,
}

/// How distances are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistancesDocument {
    /// The distance between inputs: `euclidean`, `cosine`, `manhattan` or `chebyshev`.
    pub input_metric: String,
    /// The distance between outputs, of the same choices.
    pub output_metric: String,
    /// Scaling of the input columns: `none`, `standard` or `robust`.
    pub standardize: String,
}

impl From<&SpadeParams> for RequestDocument {
    fn from(params: &SpadeParams) -> Self {
        Self {
            neighbors: params.neighbors,
            eigenpairs: params.eigenpairs,
            sketch_error: match params.spectrum {
                Spectrum::Leading => None,
                Spectrum::Full { error } => Some(error),
            },
            solver: params.solver.to_string(),
            distances: params.into(),
            ties: params.ties.to_string(),
            search: params.search.to_string(),
            graph: params.graph.to_string(),
            weights: params.weights.to_string(),
            connectivity: params.connectivity.to_string(),
            tolerance: params.tolerance,
            certify: params.certainty == Certainty::Certified,
            no_bounds: params.certainty == Certainty::None,
            seed: params.seed,
            task: Task::Auto.to_string(),
        }
    }
}

impl RequestDocument {
    fn certainty(&self) -> Certainty {
        match (self.certify, self.no_bounds) {
            (true, _) => Certainty::Certified,
            (false, true) => Certainty::None,
            (false, false) => Certainty::Probable,
        }
    }

    /// What the outputs are.
    ///
    /// # Errors
    /// When the document holds a word that this version does not know.
    pub fn task(&self) -> Result<Task, UnknownWord> {
        self.task.parse()
    }

    /// The parameters with which the same arrays give the same numbers.
    ///
    /// # Errors
    /// When the document holds a word that this version does not know.
    pub fn params(&self) -> Result<SpadeParams, UnknownWord> {
        let spectrum = self.sketch_error.map_or(Spectrum::Leading, |error| Spectrum::Full { error });
        Ok(SpadeParams::default()
            .with_neighbors(self.neighbors)
            .with_eigenpairs(self.eigenpairs)
            .with_spectrum(spectrum)
            .with_solver(solver_named(&self.solver)?)
            .with_input_metric(self.distances.input_metric.parse()?)
            .with_output_metric(self.distances.output_metric.parse()?)
            .with_standardize(self.distances.standardize.parse()?)
            .with_ties(self.ties.parse()?)
            .with_search(self.search.parse()?)
            .with_graph(self.graph.parse()?)
            .with_weights(self.weights.parse()?)
            .with_connectivity(self.connectivity.parse()?)
            .with_tolerance(self.tolerance)
            .with_certainty(self.certainty())
            .with_seed(self.seed))
    }
}

impl From<&SpadeParams> for DistancesDocument {
    fn from(params: &SpadeParams) -> Self {
        Self {
            input_metric: params.input_metric.to_string(),
            output_metric: params.output_metric.to_string(),
            standardize: params.standardize.to_string(),
        }
    }
}

impl DistancesDocument {
    /// How distances are taken, in a line.
    pub fn in_words(&self) -> String {
        let columns = match self.standardize.as_str() {
            "standard" => ", columns of the inputs standardized",
            "robust" => ", columns of the inputs standardized by median and interquartile range",
            _ => "",
        };
        format!("{} for inputs, {} for outputs{columns}", self.input_metric, self.output_metric)
    }

    /// Whether distances are taken in the usual way, of which nothing has to be said.
    pub fn are_usual(&self) -> bool {
        let metric = Metric::default().to_string();
        self.input_metric == metric
            && self.output_metric == metric
            && self.standardize == Standardize::default().to_string()
    }
}

/// The solver that a request names.
///
/// # Errors
/// When the word names none.
pub fn solver_named(word: &str) -> Result<EigenMethod, UnknownWord> {
    let known = [EigenMethod::Auto, EigenMethod::Dense, EigenMethod::Davidson, EigenMethod::Power];
    let found = known.into_iter().find(|method| method.to_string() == word);
    found.ok_or(UnknownWord::new("auto, dense, davidson or power"))
}
