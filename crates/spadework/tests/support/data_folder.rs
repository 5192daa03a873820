//! The folder in `SPADEWORK_DATA`; tests of networks read this file too.

use std::io::Write;
use std::path::PathBuf;

/// The folder of data sets, if it holds the files that a test needs; where it does not, says so and lets the test pass.
pub(crate) fn folder(test: &str, files: &[&str]) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("SPADEWORK_DATA").map(PathBuf::from) else {
        skipped(&format!("set SPADEWORK_DATA to the folder of data sets to run {test}"));
        return None;
    };
    // A folder that is not there is a mistyped one, and must not pass for one without the files.
    assert!(folder.is_dir(), "SPADEWORK_DATA names {}, which is no folder", folder.display());
    if let Some(missing) = files.iter().find(|file| !folder.join(file).exists()) {
        skipped(&format!("{test} needs {missing} in the folder of SPADEWORK_DATA"));
        return None;
    }
    Some(folder)
}

/// Written past the test harness, which hides what passing tests print with the macros.
fn skipped(reason: &str) {
    std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes()).expect("standard error is open");
}
