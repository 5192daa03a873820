//! Why a request has no result.
//!
//! A [`Failure`] keeps its cause as a value: front ends use its [`Kind`] for an exit code or an exception class, its [`Cause`]
//! for the numbers, and its [`Hint`] for advice. No program has to parse its text.

use std::io::ErrorKind;
use std::path::Path;

use spadework::graph::Connectivity;
use spadework::samples::Side;
use spadework::{Error as CoreError, SpadeParams};
use spadework_io::Error as FileError;
use spadework_model::{Error as ModelFileError, ModelError};
use spadework_probe::Error as ProbeError;

use crate::usage::Usage;
use crate::wording::{Hint, Voice};

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request or its files are wrong.
    Usage,
    /// The problem has no answer as posed.
    IllPosed,
    /// The caller stopped the work.
    Cancelled,
}

/// What a failure concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A file, an array or a place: what the user typed.
    Place(String),
    /// One model among several.
    Model(String),
    /// An argument of the call, in the spelling of Rust and Python.
    Argument(&'static str),
}

impl Subject {
    fn text(&self, voice: Voice) -> String {
        match self {
            Subject::Place(place) => place.clone(),
            Subject::Model(name) => format!("model `{name}`"),
            Subject::Argument(name) => voice.name(name),
        }
    }
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The method refuses, or found no answer.
    Core(CoreError),
    /// A file cannot be read or written.
    File(FileError),
    /// A model cannot be opened or run.
    Model(ModelFileError),
    /// A document is not what was expected.
    Document(spadework_document::Error),
    /// A page or a figure cannot be made.
    Page(spadework_report::Error),
    /// The request makes no sense, or does not fit its files.
    Usage(Usage),
    /// A probe that is impossible.
    Probe(ProbeError),
    /// An error that a function of the caller returned, unchanged.
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

/// Why a request has no result.
#[derive(Debug)]
pub struct Failure {
    /// What it concerns, outermost first.
    subjects: Vec<Subject>,
    /// Boxed, since every result of the layer carries room for it.
    cause: Box<Cause>,
    hint: Option<Hint>,
}

impl Failure {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match &*self.cause {
            Cause::Core(error) | Cause::Page(spadework_report::Error::Core(error)) => kind_of(error),
            Cause::File(FileError::Samples { cause: CoreError::Cancelled, .. }) => Kind::Cancelled,
            Cause::Model(ModelFileError::Model { cause, .. }) if matches!(**cause, ModelError::Cancelled) => {
                Kind::Cancelled
            }
            // The file is all right; memory is short.
            Cause::File(FileError::Read { cause, .. }) if cause.kind() == ErrorKind::OutOfMemory => {
                Kind::IllPosed
            }
            _ => Kind::Usage,
        }
    }

    /// What went wrong.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// The cause by value, so that an error of the caller can be returned to the caller.
    pub fn into_cause(self) -> Cause {
        *self.cause
    }

    /// The error of the core, if it is one, and the model that it concerns.
    pub fn core(&self) -> Option<(&CoreError, Option<&str>)> {
        let (Cause::Core(error) | Cause::Page(spadework_report::Error::Core(error))) = &*self.cause else {
            return None;
        };
        Some(match error {
            CoreError::InModel { model, cause } => (&**cause, Some(model)),
            error => (error, None),
        })
    }

    /// What may help.
    pub fn hint(&self) -> Option<Hint> {
        self.hint
    }

    /// What is wrong, in the words of a front end, without the hint.
    pub fn message(&self, voice: Voice) -> String {
        let mut text = String::new();
        for subject in &self.subjects {
            text.push_str(&subject.text(voice));
            text.push_str(": ");
        }
        text.push_str(&match &*self.cause {
            Cause::Core(error) => error.to_string(),
            Cause::File(error) => error.to_string(),
            Cause::Model(error) => error.to_string(),
            Cause::Document(error) => error.to_string(),
            Cause::Page(error) => error.to_string(),
            Cause::Usage(usage) => usage.text(voice),
            Cause::Probe(error) => error.to_string(),
            Cause::Caller(error) => error.to_string(),
        });
        text
    }

    /// The same, about something.
    #[must_use]
    pub fn about(mut self, subject: Subject) -> Self {
        self.subjects.insert(0, subject);
        self
    }

    /// The same, about a file or an array.
    #[must_use]
    pub fn about_place(self, place: impl Into<String>) -> Self {
        self.about(Subject::Place(place.into()))
    }

    /// The same, about a file.
    #[must_use]
    pub(crate) fn about_file(self, file: &Path) -> Self {
        self.about_place(file.display().to_string())
    }

    /// The same, about one model among several.
    #[must_use]
    pub fn about_model(self, name: &str) -> Self {
        self.about(Subject::Model(name.to_owned()))
    }

    /// The same with other advice.
    #[must_use]
    pub fn with_hint(self, hint: Hint) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// An error that a function of the caller returned.
    pub fn of_caller(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Cause::Caller(error.into()).into()
    }

    /// An evaluation with these parameters failed.
    pub fn of_evaluation(error: CoreError, params: &SpadeParams) -> Self {
        Self::from(error).with_params(params)
    }

    /// The same with the name of the array whose numbers are at fault, which only its reader knows: `input`, or the output of the model
    /// that is concerned, where several were given. None of arrays in memory, which the message names well enough.
    pub(crate) fn naming_array<'n>(
        self,
        input: Option<&'n str>,
        output: impl FnOnce(Option<&str>) -> Option<&'n str>,
    ) -> Self {
        let place = match self.core() {
            Some((
                CoreError::ZeroRows { side, .. }
                | CoreError::NoSpread { side, .. }
                | CoreError::TooClose { side, .. },
                model,
            )) => match side {
                Side::Input => input,
                Side::Output => output(model),
            },
            _ => None,
        };
        match place {
            Some(place) => self.about_place(place),
            None => self,
        }
    }

    /// The same with advice that depends on the parameters.
    pub(crate) fn with_params(self, params: &SpadeParams) -> Self {
        let hint = match (self.hint, self.core()) {
            // Growing has been tried, up to every other sample.
            (Some(Hint::Disconnected), _) if params.connectivity == Connectivity::Grow => Hint::GrownInVain,
            (_, Some((CoreError::NotConverged { .. }, _)))
                if params.solver == spadework::eigen::EigenMethod::Power =>
            {
                Hint::PowerNotConverged
            }
            _ => return self,
        };
        self.with_hint(hint)
    }
}

fn kind_of(error: &CoreError) -> Kind {
    match error {
        CoreError::InModel { cause, .. } => kind_of(cause),
        CoreError::Cancelled => Kind::Cancelled,
        CoreError::Disconnected { .. }
        | CoreError::GrownTooFar { .. }
        | CoreError::GivenDisconnected { .. }
        | CoreError::MissedEigenvalue { .. }
        | CoreError::NotConverged { .. }
        | CoreError::CertificateTooLarge { .. }
        | CoreError::NotCertified { .. }
        | CoreError::AllEqual { .. }
        | CoreError::TooClose { .. }
        | CoreError::WeightRange { .. }
        | CoreError::NoRoom { .. }
        | CoreError::InputDisconnected { .. } => Kind::IllPosed,
        _ => Kind::Usage,
    }
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        let hint = match &cause {
            Cause::Core(error) | Cause::Page(spadework_report::Error::Core(error)) => Hint::of_core(error),
            Cause::File(error) => Hint::of_file(error),
            Cause::Model(ModelFileError::Model { cause, .. }) => Hint::of_model(cause),
            Cause::Usage(usage) => usage.hint(),
            _ => None,
        };
        Self { subjects: Vec::new(), cause: Box::new(cause), hint }
    }
}

impl From<ModelFileError> for Failure {
    fn from(error: ModelFileError) -> Self {
        match error {
            ModelFileError::File(error @ FileError::Folder { .. }) => {
                Self::from(error).with_hint(Hint::FolderAsModel)
            }
            ModelFileError::File(error) => error.into(),
            error => Cause::Model(error).into(),
        }
    }
}

/// Errors of other crates as causes; what such a crate only passes on keeps the cause that it has there.
macro_rules! from_errors {
    ($($error:ty => $cause:ident $(, $passed_on:path)*;)+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                $(if let $passed_on(error) = error {
                    return error.into();
                })*
                Cause::$cause(error).into()
            }
        })+
    };
}

from_errors! {
    CoreError => Core;
    FileError => File;
    spadework_document::Error => Document, spadework_document::Error::File;
    spadework_report::Error => Page;
    ProbeError => Probe, ProbeError::Core;
    Usage => Usage;
}
