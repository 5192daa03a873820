//! Data that several tests use.

use std::io::Write;
use std::path::PathBuf;

use spadework_nn::Examples;

/// The UCI digits: 1,797 images of 8 x 8 pixels, as values in [0, 1].
pub(crate) fn digits() -> Examples {
    let images = spadework_io::load_digits().expect("the digits are part of the sources");
    let pixels = spadework_nn::to_floats(&images.samples().expect("finite numbers"));
    Examples::new(pixels, 64, images.labels().expect("they have labels").ids(), 10).expect("ten classes")
}

/// The digits with numbers that leave the remainder, and the rest.
pub(crate) fn split(examples: &Examples) -> (Examples, Examples) {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for place in 0..examples.len() {
        if place % 4 == 3 { test.push(place) } else { train.push(place) }
    }
    (examples.select(&train), examples.select(&test))
}

/// The folder of data sets, if it holds the files that a test needs; where it does not, says so and lets the test pass.
pub(crate) fn folder(test: &str, files: &[&str]) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("SPADEWORK_DATA").map(PathBuf::from) else {
        skipped(&format!("set SPADEWORK_DATA to the folder of data sets to run {test}"));
        return None;
    };
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
