//! What can stop an experiment.

use std::path::PathBuf;

/// Every way in which an experiment can end without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Data that are not there.
    #[error("needs {files} in the folder of --data or SPADEWORK_DATA")]
    Needs { files: String },
    /// The time of `--budget-minutes`.
    #[error("the time given is over, or another call is at what is missing; run again to go on")]
    TimeOver,
    /// An argument that cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// A file that is not what it should be.
    #[error("{path}: {reason}", path = path.display())]
    File { path: PathBuf, reason: String },
    #[error(transparent)]
    Core(#[from] spadework::Error),
    #[error(transparent)]
    Probe(spadework_probe::Error),
    #[error(transparent)]
    Io(#[from] spadework_io::Error),
    #[error(transparent)]
    Network(spadework_nn::Error),
    #[error(transparent)]
    Report(#[from] spadework_report::Error),
}

impl From<spadework_probe::Error> for Failure {
    fn from(error: spadework_probe::Error) -> Self {
        match error {
            spadework_probe::Error::Core(error) => Self::Core(error),
            other => Self::Probe(other),
        }
    }
}

impl From<spadework_nn::Error> for Failure {
    fn from(error: spadework_nn::Error) -> Self {
        match error {
            spadework_nn::Error::Core(error) => Self::Core(error),
            other => Self::Network(other),
        }
    }
}

impl Failure {
    /// Whether more time would have helped.
    pub(crate) fn is_time_over(&self) -> bool {
        matches!(
            self,
            Self::TimeOver
                | Self::Core(spadework::Error::Cancelled)
                | Self::Network(spadework_nn::Error::Cancelled)
                | Self::Io(spadework_io::Error::Samples { cause: spadework::Error::Cancelled, .. })
        )
    }
}
