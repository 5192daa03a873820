//! What tests of several modules need.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// The path of a file still to be written, in a folder that is removed with the first value.
pub(crate) fn scratch_path(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// The same of a file with this content.
pub(crate) fn scratch_file(name: &str, content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let (folder, path) = scratch_path(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

/// All mapped files of the process are checked together, so tests that change one take turns.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
