//! Why a command failed, and its exit code.

use spadework_app::{Kind, Voice};

/// A gate failed.
const GATE: u8 = 1;
/// The call or its files are wrong.
pub(crate) const USAGE: u8 = 2;
/// The problem has no answer as posed.
pub(crate) const ILL_POSED: u8 = 3;

/// A failure: what to say, what might help, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: Cause,
    /// Advice that only this command has; what comes from elsewhere brings its own.
    hint: Option<&'static str>,
}

#[derive(Debug)]
enum Cause {
    /// A gate failed; stdout already has the outcome.
    Gate,
    /// A request has no result.
    App(spadework_app::Failure),
    /// The call is wrong in a way that only this command knows.
    Usage(String),
    /// The training of a network diverged.
    #[cfg(feature = "networks")]
    Diverged(String),
}

impl Failure {
    /// The gate of `check` or `data` failed.
    pub(crate) fn gate() -> Self {
        Cause::Gate.into()
    }

    /// The call is wrong in a way that only this command knows.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Cause::Usage(message.into()).into()
    }

    /// A command of networks in a build without them.
    #[cfg(any(test, not(feature = "networks")))]
    pub(crate) fn without_networks() -> Self {
        Self::usage("train, attack and clever are not in this build of spadework").with_hint(
            "get them with `cargo install --locked --path crates/spadework-cli --features networks`",
        )
    }

    /// Puts the file that is concerned before the message.
    #[cfg(feature = "networks")]
    pub(crate) fn about(self, file: &str) -> Self {
        let cause = match self.cause {
            Cause::App(failure) => Cause::App(failure.about_place(file)),
            Cause::Usage(message) => Cause::Usage(format!("{file}: {message}")),
            Cause::Diverged(message) => Cause::Diverged(format!("{file}: {message}")),
            Cause::Gate => Cause::Gate,
        };
        Self { cause, ..self }
    }

    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match &self.cause {
            Cause::Gate => GATE,
            Cause::App(failure) => match failure.kind() {
                Kind::IllPosed => ILL_POSED,
                Kind::Usage | Kind::Cancelled => USAGE,
            },
            Cause::Usage(_) => USAGE,
            #[cfg(feature = "networks")]
            Cause::Diverged(_) => ILL_POSED,
        }
    }

    pub(crate) fn message(&self) -> Option<String> {
        match &self.cause {
            Cause::Gate => None,
            Cause::App(failure) => Some(failure.message(Voice::Command)),
            Cause::Usage(message) => Some(message.clone()),
            #[cfg(feature = "networks")]
            Cause::Diverged(message) => Some(message.clone()),
        }
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        let of_app = || match &self.cause {
            Cause::App(failure) => failure.hint()?.text(Voice::Command),
            _ => None,
        };
        self.hint.or_else(of_app)
    }
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self { cause, hint: None }
    }
}

macro_rules! from_causes {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Cause::App(error.into()).into()
            }
        })*
    };
}

from_causes!(spadework_app::Failure, spadework::Error, spadework_io::Error, spadework_model::Error);

#[cfg(feature = "networks")]
impl From<spadework_nn::Error> for Failure {
    fn from(error: spadework_nn::Error) -> Self {
        match error {
            spadework_nn::Error::Io(error) => error.into(),
            spadework_nn::Error::Core(error) => error.into(),
            spadework_nn::Error::Diverged { .. } => Cause::Diverged(error.to_string()).into(),
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
