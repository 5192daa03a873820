//! Where output goes: pipes that close, disks that are full, terminals that are none.

use std::fs::File;
use std::process::Stdio;

use crate::support::{Outcome, Scene};

const SCORE: &str = "score --inputs x.npy --outputs y.npy";

/// Calls the command, whose reader leaves before the first byte.
fn into_closed_pipe(scene: &Scene, arguments: &str) -> Outcome {
    let mut child = scene.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    Outcome::new(child.wait_with_output().unwrap())
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let scene = Scene::with_model();
    for arguments in [SCORE, "demo", "--help", "select --inputs x.npy --outputs y.npy"] {
        into_closed_pipe(&scene, arguments).prints();
    }
    into_closed_pipe(&scene, &format!("{SCORE} --json --out result")).prints();
    assert_eq!(scene.read_json("result/result.json")["samples"], 300);
}

#[test]
fn a_closed_pipe_keeps_the_verdict() {
    let scene = Scene::with_model();
    let outcome = into_closed_pipe(&scene, "check --inputs x.npy --outputs y.npy --max-score 0.001");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let scene = Scene::with_model();
    for arguments in [SCORE, "demo", "check --inputs x.npy --outputs y.npy --max-score 1e6"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = scene.command(arguments).stdout(full).output().unwrap();
        Outcome::new(output).refuses(2, &["stdout", "No space left"]);
    }
}

#[test]
fn a_message_that_cannot_be_delivered_changes_nothing() {
    let scene = Scene::with_model();
    let mut child = scene
        .command("score --inputs none.npy --outputs y.npy")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn there_is_no_progress_without_a_terminal() {
    let scene = Scene::with_model();
    // Nothing on stderr at all, with and without the options that ask for it.
    for options in ["", "--no-progress", "--quiet", "--quiet --json"] {
        scene.score(options).prints();
    }
}

#[test]
fn quiet_still_reports_errors() {
    Scene::with_model().score("--quiet -k 300").refuses(2, &["neighbors"]);
}
