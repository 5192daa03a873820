//! Ctrl-C.

#![cfg(unix)]

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::arrays::{Random, floats};
use crate::support::{Scene, listing, signal};

const SAMPLES: usize = 20_000;
const DIM: usize = 1000;

/// Some 8 · 10¹¹ operations for the neighbors: much longer than the test waits.
fn long_work() -> Scene {
    let scene = Scene::empty();
    scene.write("x.npy", floats(DIM, &Random::new(8).points(SAMPLES * DIM)));
    scene.write("y.npy", floats(2, &Random::new(9).points(SAMPLES * 2)));
    scene
}

/// Starts a long run, sends the signals a second later, and expects the end within a second.
fn stops(scene: &Scene, options: &str, signals: &[&str]) {
    let arguments = format!("score --inputs x.npy --outputs y.npy --threads 2 {options}");
    let mut child =
        scene.interruptible(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none(), "the run is too short for this test");
    let began = Instant::now();
    for name in signals {
        signal(&child, name);
    }
    let output = child.wait_with_output().unwrap();
    let took = began.elapsed();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
    assert!(took < Duration::from_secs(1), "took {took:?}");
}

#[test]
fn stops_within_a_second_and_leaves_nothing_behind() {
    let scene = long_work();
    stops(&scene, "--out result", &["INT"]);
    stops(&scene, "--out result", &["TERM"]);
    stops(&scene, "--json --out result", &["INT", "INT"]);
    assert_eq!(listing(scene.path()), ["x.npy", "y.npy"]);
    stops(&scene, "--out runs/today/result", &["INT"]);
    assert_eq!(listing(scene.path()), ["x.npy", "y.npy"]);
}
