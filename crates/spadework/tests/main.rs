//! The tests of the core that use it as other crates do. They are one program: as one for each file, each would compile what they share again, and a slow
//! test at the end of one would leave processors without work.

mod approximate_neighbors;
mod average_indices;
mod cancellation;
mod closed_forms;
mod constructions;
mod determinism;
mod distances;
mod enclosures;
mod extremes;
mod interval_coverage;
mod keeper;
mod layers;
mod many;
mod many_real;
mod metrics;
mod neighbor_conformance;
mod new_samples;
mod oracle_fixtures;
mod real_data;
mod resumption;
mod support;
mod theorems;
mod ties;

/// A file that is not in the list above would not be run.
#[test]
fn every_file_is_part_of_this_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = names.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    for file in files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()) {
        let line = format!("mod {file};");
        assert!(
            file == "main" || include_str!("main.rs").lines().any(|one| one == line),
            "main.rs lacks `{line}`"
        );
    }
}
