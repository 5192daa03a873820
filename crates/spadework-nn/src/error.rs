//! What can go wrong with networks.

use std::path::PathBuf;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which making, reading, attacking or training a network can fail.
///
/// A message names the file or option, then says what was expected and what was given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are explained by the messages they appear in")]
pub enum Error {
    /// A file or an array of the data could not be read or written.
    #[error(transparent)]
    Io(#[from] spadework_io::Error),
    /// Scores could not be computed.
    #[error(transparent)]
    Core(#[from] spadework::Error),
    /// The caller asked to stop.
    #[error("stopped")]
    Cancelled,

    /// A word that is not in a list.
    #[error("unknown {what} `{got}`; there are {}", known.join(", "))]
    Unknown { what: &'static str, got: String, known: Vec<&'static str> },
    /// A parameter outside its range.
    #[error("{name} must be {expected}, got {got}")]
    Parameter { name: &'static str, expected: &'static str, got: String },
    /// A device that does not exist.
    #[error("the device `{device}` cannot be used: {reason}")]
    Device { device: String, reason: String },

    /// An array of weights that does not fit its place.
    #[error("`{name}` must have shape {expected:?}, got {got:?}")]
    ParameterShape { name: String, expected: Vec<usize>, got: Vec<usize> },
    /// Weights that are not finite.
    #[error("`{name}` must hold finite numbers, got {got}")]
    ParameterValue { name: String, got: f32 },
    /// A network whose layers do not fit each other.
    #[error("layer {layer} ({operation}) takes {expected}, got {got}")]
    Layer { layer: String, operation: &'static str, expected: &'static str, got: String },
    /// An architecture for other inputs.
    #[error("{architecture} takes {expected}, got samples of shape {got:?}")]
    ArchitectureInput { architecture: &'static str, expected: &'static str, got: Vec<usize> },

    /// A file that is not a network that can be read.
    #[error("{path}: {reason}", path = path.display())]
    Model { path: PathBuf, reason: String },

    /// Data for another network.
    #[error("the network takes {expected} values per sample (shape {shape:?}), got {got}")]
    InputSize { expected: usize, shape: Vec<usize>, got: usize },
    /// Outputs that are not finite.
    #[error("the outputs {of} must be finite, got {got} for class {class}")]
    Output { of: &'static str, class: usize, got: f32 },
    /// A label that the network has no output for.
    #[error(
        "labels must be from 0 to {largest}, one for each output of the network, got {got} at sample {sample}"
    )]
    Label { largest: usize, got: i64, sample: usize },
    /// Not one of these per sample.
    #[error("expected {expected} {what}, one per sample, got {got}")]
    Count { what: &'static str, expected: usize, got: usize },
    /// Data without labels.
    #[error("{name}: labels are needed, but the data have none")]
    NoLabels { name: String },
    /// Pixels outside the box that perturbations are kept in.
    #[error(
        "values must lie in [0, 1], the box that a perturbed sample is kept in, got {value} at sample {sample}"
    )]
    OutsideBox { value: f32, sample: usize },
    /// Training that diverged.
    #[error("the loss is no longer finite at epoch {epoch}, batch {batch}: try a smaller learning rate")]
    Diverged { epoch: usize, batch: usize },
}

/// The one of `all` that a word names.
pub(crate) fn named<T: Copy>(
    what: &'static str,
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T> {
    let found = all.iter().copied().find(|&one| name(one) == word);
    let known = || all.iter().copied().map(name).collect();
    found.ok_or_else(|| Error::Unknown { what, got: word.to_owned(), known: known() })
}

/// Refuses counts of zero.
pub(crate) fn check_counts(counts: &[(&'static str, usize)]) -> Result<()> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((name, count)) => Err(Error::parameter(name, "at least 1", count)),
        None => Ok(()),
    }
}

impl Error {
    pub(crate) fn parameter(name: &'static str, expected: &'static str, got: impl std::fmt::Display) -> Self {
        Error::Parameter { name, expected, got: got.to_string() }
    }
}
