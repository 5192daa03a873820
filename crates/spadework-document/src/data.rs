//! Data sets as documents: what `data --json` prints.

use serde::Serialize;

/// Name and version of the layout of the list.
pub const SCHEMA: &str = "spadework.data/1";
/// Name and version of the layout of a check.
pub const CHECK_SCHEMA: &str = "spadework.data-check/1";

/// The data sets that can be named.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataListDocument {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Every data set.
    pub sets: Vec<SetDocument>,
    /// Version of the program that wrote it.
    pub version: &'static str,
}

/// A data set that can be named.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetDocument {
    /// The word for it.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What to give for `--inputs`.
    pub argument: &'static str,
    /// How many samples it has, by split.
    pub samples: &'static str,
    /// Shape of an image.
    pub shape: &'static str,
    /// Number of classes.
    pub classes: usize,
    /// Size of the download.
    pub size: &'static str,
    /// Where its authors publish it.
    pub homepage: &'static str,
    /// Its license.
    pub license: &'static str,
    /// Its files.
    pub files: Vec<KnownFileDocument>,
}

/// A file of a data set, as its authors publish it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownFileDocument {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 checksum.
    pub sha256: &'static str,
}

/// The data sets in a folder, checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataCheckDocument {
    /// [`CHECK_SCHEMA`].
    pub schema: &'static str,
    /// The folder.
    pub folder: String,
    /// Whether every data set that is there is complete.
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
    /// In what it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
