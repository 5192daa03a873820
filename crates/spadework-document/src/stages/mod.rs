//! The documents inside the files between the stages of a score: what each file was made from, and how.

mod eigenpairs;
mod graphs;

pub use eigenpairs::EigenStage;
pub use graphs::{GraphStage, RecallFacts, SideFacts};

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use spadework_io::{is_digest, outdated_digest};

/// Name and version of the layout of the documents.
pub const SCHEMA: &str = "spadework.stage/3";

/// What a stage is made from, in words by name: digests of what goes in, and every parameter on which the numbers depend.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe(BTreeMap<String, String>);

impl Recipe {
    /// What this version of the program makes of nothing yet.
    pub fn new() -> Self {
        Self::default().with("version", env!("CARGO_PKG_VERSION"))
    }

    /// The same with one thing more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        self.0.insert(name.to_owned(), value.to_string());
        self
    }

    /// The value of one thing, where it is known.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The first thing in which two recipes differ.
    pub fn difference(&self, wanted: &Recipe) -> Option<Difference> {
        let names = self.0.keys().chain(wanted.0.keys());
        let differs = names.min_by_key(|name| (self.0.get(*name) == wanted.0.get(*name), *name))?;
        let value = |recipe: &Recipe| recipe.0.get(differs).cloned().unwrap_or_else(|| "nothing".to_owned());
        let (was, wanted) = (value(self), value(wanted));
        (was != wanted).then(|| Difference { name: differs.replace('_', " "), was, wanted })
    }
}

/// One thing in which a stage that is there differs from the one requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub name: String,
    /// What the file was made with.
    pub was: String,
    /// What was requested.
    pub wanted: String,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match outdated_digest(&self.was).filter(|_| is_digest(&self.wanted)) {
            Some(reason) => write!(f, "{}: {reason}", self.name),
            None => write!(f, "{} {}, not {}", self.name, self.was, self.wanted),
        }
    }
}

/// A document inside the file of a stage.
pub trait StageDocument: Serialize + DeserializeOwned {
    /// The word for the stage.
    const STAGE: &'static str;

    /// The document as the file holds it.
    ///
    /// # Panics
    /// Never: every field can be written.
    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("numbers and words can be written as JSON")
    }

    /// Reads the document of the file at `path`.
    ///
    /// # Errors
    /// When it is not a document of this stage and version.
    fn of_text(text: &str, path: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
            stage: String,
        }
        let wrong = |reason: String| Error::Stage { path: path.to_owned(), reason };
        let malformed = |error: serde_json::Error| wrong(format!("its document cannot be read: {error}"));
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        if (head.schema.as_str(), head.stage.as_str()) != (SCHEMA, Self::STAGE) {
            return Err(wrong(format!(
                "its document must be of schema `{SCHEMA}` and stage `{}`, got `{}` and `{}`",
                Self::STAGE,
                head.schema,
                head.stage
            )));
        }
        serde_json::from_str(text).map_err(malformed)
    }
}

/// A time that a document claims.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_of_another_version_is_named_as_such() {
        let wanted = Recipe::new().with("inputs", "blake3:9e047acaeed9e52ec6f8fa97d8c5586f");
        let difference =
            |was: &str| Recipe::new().with("inputs", was).difference(&wanted).unwrap().to_string();
        let outdated =
            "inputs: the digest is of another version (fnv64x8; this version compares blake3 digests)";
        assert_eq!(difference("fnv64x8:5041ea11e9b91555"), outdated);
        assert_eq!(difference("none"), "inputs none, not blake3:9e047acaeed9e52ec6f8fa97d8c5586f");
    }

    #[test]
    fn a_difference_is_named() {
        let was = Recipe::new().with("neighbors", 10).with("input_graph", "a");
        assert_eq!(was.difference(&was.clone()), None);
        let difference = |wanted: Recipe| was.difference(&wanted).map(|difference| difference.to_string());
        assert_eq!(difference(was.clone().with("neighbors", 12)).as_deref(), Some("neighbors 10, not 12"));
        assert_eq!(difference(was.clone().with("input_graph", "b")).as_deref(), Some("input graph a, not b"));
        assert_eq!(difference(was.clone().with("seed", 1)).as_deref(), Some("seed nothing, not 1"));
    }
}
