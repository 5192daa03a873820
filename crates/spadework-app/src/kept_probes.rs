//! A folder with the results of the probes of one model, so that an interrupted call can continue.
//!
//! `probe.json` has the request and the model. A function cannot be read like a file, so it is recognized by its outputs for
//! the samples and for a few other rows.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spadework_document::stages::Recipe;
use spadework_io::output::{FolderLock, write_own};
use spadework_io::{Error as FileError, read_regular};

use crate::failure::Failure;
use crate::json;
use crate::parts::{Parts, sealed, unsealed};
use crate::usage::Usage;

/// The file that says what a folder is of.
const FILE: &str = "probe.json";

/// What the parts in a folder were made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeFrom {
    /// What was asked.
    asked: Recipe,
    /// A digest of what the model says of the samples and of a few other rows.
    outputs: String,
}

/// The folder of one probe. No other process writes to it in the meantime.
pub struct KeptProbes {
    folder: PathBuf,
    parts: Parts,
    asked: Recipe,
    /// What an earlier call was asked, where there was one.
    earlier: Option<MadeFrom>,
    _lock: FolderLock,
}

impl KeptProbes {
    /// Opens the folder, and creates it if there is none.
    ///
    /// # Errors
    /// When the folder has parts of another probe, another process uses it, or it cannot be written.
    pub fn open(folder: &Path, asked: Recipe) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(|cause| FileError::Write { path: folder.to_owned(), cause })?;
        let lock = FolderLock::acquire(folder)?;
        let file = folder.join(FILE);
        let earlier = match file.try_exists() {
            Ok(false) => None,
            _ => Some(read(&file)?),
        };
        let difference = earlier.as_ref().and_then(|earlier| earlier.asked.difference(&asked));
        if let Some(difference) = difference {
            return Err(other(folder, difference.to_string()));
        }
        let (folder, parts) = (folder.to_owned(), Parts::in_folder(folder.to_owned()));
        Ok(Self { folder, parts, asked, earlier, _lock: lock })
    }

    /// Sets the digest of the outputs for the samples and for a few other rows. The parts of this model are recognized by
    /// it.
    ///
    /// # Errors
    /// When a model with other outputs left parts in the folder.
    pub fn recognize(&self, outputs: &str) -> Result<(), Failure> {
        match &self.earlier {
            Some(earlier) if earlier.outputs != outputs => Err(other(
                &self.folder,
                "the model returns other outputs for the same rows, so it is another model, or its outputs are not reproducible"
                    .to_owned(),
            )),
            Some(_) => Ok(()),
            None => {
                let made_from = MadeFrom { asked: self.asked.clone(), outputs: outputs.to_owned() };
                Ok(write_own(&self.folder.join(FILE), json(&made_from).as_bytes())?)
            }
        }
    }

    /// What an earlier call stored under this name, if it is complete and unchanged.
    pub fn stored(&self, name: &str) -> Option<Vec<u8>> {
        unsealed(read_regular(&self.part(name)).ok()?)
    }

    /// Whether it is time to store a part again.
    pub fn is_due(&self) -> bool {
        self.parts.is_due()
    }

    /// Stores something under a name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, name: &str, state: &[u8]) -> Result<(), Failure> {
        Ok(write_own(&self.part(name), &sealed(state))?)
    }

    fn part(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.part"))
    }
}

fn read(file: &Path) -> Result<MadeFrom, Failure> {
    let text = read_regular(file)?;
    serde_json::from_slice(&text)
        .map_err(|error| Failure::from(Usage::NoDocument { reason: error.to_string() }).about_file(file))
}

fn other(folder: &Path, difference: String) -> Failure {
    Failure::from(Usage::OtherProbe { difference }).about_file(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wording::Voice;

    fn asked(seed: u64) -> Recipe {
        Recipe::new().with("probe", "linf:0.1").with("seed", seed)
    }

    #[test]
    fn a_folder_is_of_one_probe_and_one_model() {
        let scene = tempfile::tempdir().unwrap();
        let folder = scene.path().join("new/folder");
        let first = KeptProbes::open(&folder, asked(1)).unwrap();
        first.recognize("blake3:1").unwrap();
        first.keep("variants", b"state").unwrap();
        drop(first);
        let again = KeptProbes::open(&folder, asked(1)).unwrap();
        again.recognize("blake3:1").unwrap();
        assert_eq!(again.stored("variants").as_deref(), Some(&b"state"[..]));
        assert_eq!(again.stored("others"), None);
        fs::write(folder.join("variants.part"), b"sta").unwrap();
        assert_eq!(again.stored("variants"), None);
        let message = |failure: Failure| failure.message(Voice::Python);
        let of_another = message(KeptProbes::open(&folder, asked(2)).err().unwrap());
        assert!(of_another.ends_with("holds another probe: seed 1, not 2"), "{of_another}");
        let of_another = message(again.recognize("blake3:2").unwrap_err());
        assert!(of_another.contains("the model returns other outputs for the same rows"), "{of_another}");
    }

    #[test]
    fn a_file_of_something_else_is_named() {
        let scene = tempfile::tempdir().unwrap();
        for content in ["", "{}", "[1", "{\"asked\": {}, \"outputs\": \"a\", \"more\": 1}"] {
            fs::write(scene.path().join(FILE), content).unwrap();
            let message = KeptProbes::open(scene.path(), asked(1)).err().unwrap().message(Voice::Python);
            assert!(message.contains("probe.json: not a document"), "{message}");
        }
    }
}
