//! The files between the stages of a score: two graphs, then their eigenpairs.
//!
//! Each is a NumPy archive that other programs read and write too: a graph is what `scipy.sparse.save_npz` writes, eigenpairs
//! are the arrays `values`, `vectors` (one row a sample) and `residuals`. One member more, `spadework`, is a JSON document
//! that says what the file was made from, so that a stage is not computed twice and never mixed up with another. Files
//! of others need not have it.
//!
//! A file has its name when it is whole: it is written under another and renamed, and every member has a checksum.

mod eigenpairs;
mod graphs;

pub use eigenpairs::{EigenStage, StagedEigenpairs, eigenpairs_file, read_eigenpairs, write_eigenpairs};
pub use graphs::{
    GraphStage, RecallFacts, SideFacts, SparsifierFacts, StagedGraphs, graph_files, read_graphs,
    recipes_of_graphs, write_graphs,
};

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::digest::{is_digest, outdated_digest};
use crate::error::{Error, Result};
use crate::formats::npz;
use crate::mapping::{FileBytes, MAP_FROM};

/// Name and version of the layout of the documents.
pub const SCHEMA: &str = "spadework.stage/1";
/// The folder of the stages inside that of the result.
pub const FOLDER: &str = "stages";
/// The member that holds the document.
const DOCUMENT: &str = "spadework";

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

/// One thing in which a stage that is there differs from the one asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub name: String,
    /// What the file was made with.
    pub was: String,
    /// What was asked for.
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

/// The bytes of a file, where there is one.
fn open(path: &Path) -> Result<Option<FileBytes>> {
    if path.exists() { FileBytes::open(path, MAP_FROM).map(Some) } else { Ok(None) }
}

/// The document inside an archive; none where another program wrote it.
fn document<T: DeserializeOwned>(bytes: &[u8], path: &Path, stage: &str) -> Result<Option<T>> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
        stage: String,
    }
    let name = path.display().to_string();
    if !npz::keys(bytes, &name)?.iter().any(|key| key == DOCUMENT) {
        return Ok(None);
    }
    let text = npz::text(bytes, DOCUMENT, &name)?;
    let wrong = |reason: String| Error::Stage { path: path.to_owned(), reason };
    let malformed = |error: serde_json::Error| wrong(format!("its document cannot be read: {error}"));
    let head: Head = serde_json::from_str(&text).map_err(malformed)?;
    if (head.schema.as_str(), head.stage.as_str()) != (SCHEMA, stage) {
        return Err(wrong(format!(
            "its document must be of schema `{SCHEMA}` and stage `{stage}`, got `{}` and `{}`",
            head.schema, head.stage
        )));
    }
    serde_json::from_str(&text).map(Some).map_err(malformed)
}

/// A document as the member of an archive holds it.
fn document_text(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("numbers and words can be written as JSON")
}

/// A time that a document claims.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        let was = Recipe::new().with("neighbors", 10).with("input_graph", "a");
        assert_eq!(was.difference(&was.clone()), None);
        let told = |wanted: Recipe| was.difference(&wanted).map(|difference| difference.to_string());
        assert_eq!(told(was.clone().with("neighbors", 12)).as_deref(), Some("neighbors 10, not 12"));
        assert_eq!(told(was.clone().with("input_graph", "b")).as_deref(), Some("input graph a, not b"));
        assert_eq!(told(was.clone().with("seed", 1)).as_deref(), Some("seed nothing, not 1"));
    }

    #[test]
    fn a_digest_of_another_version_is_named_as_such() {
        let wanted = Recipe::new().with("inputs", "blake3:9e047acaeed9e52ec6f8fa97d8c5586f");
        let told = |was: &str| Recipe::new().with("inputs", was).difference(&wanted).unwrap().to_string();
        let outdated =
            "inputs: the digest is of another version (fnv64x8; this version compares blake3 digests)";
        assert_eq!(told("fnv64x8:5041ea11e9b91555"), outdated);
        assert_eq!(told("none"), "inputs none, not blake3:9e047acaeed9e52ec6f8fa97d8c5586f");
    }
}
