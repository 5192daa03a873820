//! Data sets as documents: what `data --json` prints.

use serde::Serialize;
use spadework_io::catalog::KnownSet;

/// Name and version of the layout of the list.
pub const SCHEMA: &str = "spadework.data/1";
/// Name and version of the layout of a check.
pub const CHECK_SCHEMA: &str = "spadework.data-check/1";

/// The data sets that have a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataListDocument {
    /// Name and version of the layout.
    pub schema: &'static str,
    /// Every data set.
    pub sets: &'static [KnownSet],
    /// Version of the program that wrote it.
    pub version: &'static str,
}

/// The data sets in a folder, checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataCheckDocument {
    /// [`CHECK_SCHEMA`].
    pub schema: &'static str,
    /// The folder.
    pub folder: String,
    /// Whether every data set that was found is complete.
    pub passed: bool,
    /// Every data set that was found.
    pub sets: Vec<CheckedSetDocument>,
    /// Version of the program that wrote it.
    pub version: &'static str,
}

/// A data set in a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedSetDocument {
    /// The word for it.
    pub name: &'static str,
    /// Where it was found.
    pub folder: String,
    /// Whether all its files are there and are what their authors published.
    pub complete: bool,
    /// Its files.
    pub files: Vec<CheckedFileDocument>,
}

/// A file of a data set in a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedFileDocument {
    /// Its name.
    pub name: String,
    /// `verified` by its checksum, `counted`, `missing`, `differs` or `unknown`.
    pub state: &'static str,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
