//! Why a command did not end well, and with which exit code.

use spadework::{Connectivity, Error as CoreError, SpadeParams};
use spadework_io::Error as IoError;
use spadework_io::model::ModelError;

/// A gate failed.
const GATE: u8 = 1;
/// The call or its files are wrong.
pub(crate) const USAGE: u8 = 2;
/// The problem has no answer as posed.
const ILL_POSED: u8 = 3;

/// A failure: what to say, what might help, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit_code: u8,
    message: Option<String>,
    hint: Option<&'static str>,
}

impl Failure {
    /// The gate of `check` failed; what is to be said stands on stdout already.
    pub(crate) fn gate() -> Self {
        Self { exit_code: GATE, message: None, hint: None }
    }

    /// The call is wrong in a way that only its files show.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit_code: USAGE, message: Some(message.into()), hint: None }
    }

    /// A command of networks in a build without them.
    #[cfg(any(test, not(feature = "networks")))]
    pub(crate) fn without_networks() -> Self {
        Self::usage("train, attack and clever are not in this build of spadework")
            .with_hint("get them with `cargo install --path crates/spadework-cli --features networks`")
    }

    /// An evaluation with these parameters failed.
    pub(crate) fn of_evaluation(error: CoreError, params: &SpadeParams) -> Self {
        let apart = match &error {
            CoreError::InModel { cause, .. } => matches!(**cause, CoreError::Disconnected { .. }),
            error => matches!(error, CoreError::Disconnected { .. }),
        };
        let failure = Self::from(error);
        // Growing has been tried, up to every other sample.
        if apart && params.connectivity == Connectivity::Grow {
            return failure.with_hint("try --connectivity bridge, or with cknn a larger DELTA");
        }
        failure
    }

    /// Puts the file that is concerned before the message.
    pub(crate) fn about(mut self, file: &str) -> Self {
        self.message = self.message.map(|message| format!("{file}: {message}"));
        self
    }

    /// Puts the model that is concerned before the message.
    pub(crate) fn about_model(self, name: &str) -> Self {
        self.about(&format!("model `{name}`"))
    }

    pub(crate) fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }

    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Self {
        let hint = match error {
            IoError::Folder { .. } => Some(
                "a data set is named with its folder, e.g. mnist:DIR:test, and images by class as images:DIR",
            ),
            IoError::Pixel { .. } => Some("divide bytes by 255; undo a normalization of the images first"),
            IoError::IndexColumn { .. } => {
                Some("write the table without its index (pandas: index=False), or name the column to use it")
            }
            IoError::Model { ref cause, .. } => model_hint(cause),
            _ => None,
        };
        Self { exit_code: USAGE, message: Some(error.to_string()), hint }
    }
}

/// What may help where a model cannot be run.
fn model_hint(cause: &ModelError) -> Option<&'static str> {
    match cause {
        ModelError::UnknownOperator { .. }
        | ModelError::ManyInputs { .. }
        | ModelError::InputType { .. }
        | ModelError::Engine { .. } => {
            Some("run the model where it was made, and give its outputs: --outputs Y.npy")
        }
        ModelError::InputShape { .. } | ModelError::NoSuchName { .. } => {
            Some("`spadework model FILE` says what the model takes and returns")
        }
        ModelError::OutputShape { .. } => Some(
            "--output-name takes another value; --batch-size 1 may help where the model mixes the samples of a batch",
        ),
        ModelError::Channels { .. } => {
            Some("--input-layout says where the channels are, if the array does not")
        }
        _ => None,
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        // What is wrong with one model is judged as it would be with a single one.
        let cause = match &error {
            CoreError::InModel { cause, .. } => cause,
            error => error,
        };
        let (exit_code, hint) = match cause {
            CoreError::Disconnected { .. } => {
                (ILL_POSED, Some("try --connectivity grow or bridge, or more --neighbors"))
            }
            CoreError::GrownTooFar { .. } => {
                (ILL_POSED, Some("try --connectivity bridge, or with cknn a smaller DELTA"))
            }
            CoreError::GivenDisconnected { .. } => {
                (ILL_POSED, Some("give --outputs in place of the graph, and --connectivity mends it"))
            }
            CoreError::MissedEigenvalue { .. } => {
                (ILL_POSED, Some("try another --seed or a smaller --tolerance"))
            }
            CoreError::NotConverged { what: "the power iteration", .. } => {
                (ILL_POSED, Some("try --solver davidson"))
            }
            CoreError::NotConverged { .. } => (ILL_POSED, Some("try a larger --tolerance or another --seed")),
            CoreError::CertificateTooLarge { .. } | CoreError::NotCertified { .. } => {
                (ILL_POSED, Some("without --certify the upper bound holds with a stated probability"))
            }
            CoreError::AllEqual { .. } | CoreError::InputDisconnected { .. } => (ILL_POSED, None),
            CoreError::SketchError { .. } => (USAGE, Some("set it with --sketch-error, e.g. 0.3")),
            CoreError::TooManyNeighbors { .. } => (USAGE, Some("try a smaller --neighbors")),
            CoreError::TooFewModels { .. } => {
                (USAGE, Some("give --outputs or --model once a model; `spadework score` scores a single one"))
            }
            CoreError::SmallSubsample { .. } => (USAGE, Some("try a smaller --neighbors, or no --interval")),
            CoreError::TooManyEigenpairs { .. } => (USAGE, Some("try a smaller --eigenpairs")),
            _ => (USAGE, None),
        };
        Self { exit_code, message: Some(error.to_string()), hint }
    }
}

#[cfg(feature = "networks")]
impl From<spadework_nn::Error> for Failure {
    fn from(error: spadework_nn::Error) -> Self {
        match error {
            spadework_nn::Error::Io(error) => error.into(),
            spadework_nn::Error::Core(error) => error.into(),
            spadework_nn::Error::Diverged { .. } => {
                Self { exit_code: ILL_POSED, message: Some(error.to_string()), hint: None }
            }
            error => Self::usage(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here, since the tests are compiled with networks.
    #[test]
    fn a_build_without_networks_says_how_to_get_them() {
        let failure = Failure::without_networks();
        assert_eq!(failure.exit_code(), USAGE);
        assert!(failure.message().is_some_and(|message| message.contains("not in this build")));
        assert!(failure.hint().is_some_and(|hint| hint.contains("--features networks")));
    }
}
