//! The program as people call it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn experiments(words: &[&str]) -> Output {
    // Without data, whatever the machine has.
    let mut command = Command::new(env!("CARGO_BIN_EXE_experiments"));
    command.env_remove("SPADEWORK_DATA").args(words).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn tables(file: &Path) -> Value {
    let document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    document["tables"].clone()
}

#[test]
fn wrong_calls_say_what_was_expected() {
    let unknown = experiments(&["table-9"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(errors(&unknown).contains("unknown experiment `table-9`; there are model-scores, distortion"));
    // In a folder of our own: another program may have made one of any other name.
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let nowhere = experiments(&["distortion", "--data", missing.to_str().unwrap()]);
    let expected = format!("--data: expected a folder, got {}", missing.display());
    assert!(errors(&nowhere).contains(&expected), "{}", errors(&nowhere));
    let device = experiments(&["distortion", "--quick", "--device", "tpu"]);
    assert!(errors(&device).contains("unknown device `tpu`"), "{}", errors(&device));
}

#[test]
fn what_needs_data_names_the_files() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let full = experiments(&["distortion", "--out", folder]);
    assert_eq!(full.status.code(), Some(2));
    assert!(errors(&full).contains("needs mnist/ (train-images-idx3-ubyte.gz"), "{}", errors(&full));
    let list = experiments(&["validity", "--quick", "--out", folder]);
    assert!(errors(&list).contains("needs nets/nets.csv (or --nets FILE)"), "{}", errors(&list));
    let nets = out.path().join("nets.csv");
    fs::write(&nets, "file,data,source\na.onnx,imagenet,me\n").unwrap();
    let other = experiments(&["validity", "--quick", "--out", folder, "--nets", nets.to_str().unwrap()]);
    assert!(
        errors(&other).contains("expected mnist or cifar10 as data, got `imagenet`"),
        "{}",
        errors(&other)
    );
}

#[test]
fn a_quick_run_needs_nothing_and_a_second_one_takes_up_its_parts() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let call = ["neighbors", "--quick", "--epochs", "1", "--out", folder];
    let first = experiments(&call);
    assert!(first.status.success(), "{}", errors(&first));
    let page = fs::read_to_string(out.path().join("neighbors.md")).unwrap();
    assert!(page.contains("A quick run") && page.contains("embedded digits"), "{page}");
    assert!(page.contains("cannot tell"), "a quick run judges no claim: {page}");
    assert!(fs::read_to_string(out.path().join("neighbors.svg")).unwrap().starts_with("<svg "));
    let before = tables(&out.path().join("neighbors.json"));
    assert_eq!(before.as_array().map(Vec::len), Some(2));
    // No time at all: everything must come from the parts.
    let again = experiments(&[&call[..], &["--budget-minutes", "0"]].concat());
    assert!(again.status.success(), "{}", errors(&again));
    assert_eq!(before, tables(&out.path().join("neighbors.json")));
    let late =
        experiments(&["neighbors", "--quick", "--out", folder, "--budget-minutes", "0", "--seed", "7"]);
    assert!(errors(&late).contains("the time given is over"), "{}", errors(&late));
}
