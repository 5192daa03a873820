//! `--probe-with`: variants that a program of the user's makes.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::arrays::{Random, floats, integers, npy};
use crate::support::{Scene, assert_holds, signal};

const SAMPLES: usize = 200;
const CALL: &str = "score --inputs x.npy --model mlp.onnx --quiet";

/// Rows of four numbers in `x.npy`, the same in `v0.npy`, others in `v1.npy`, and a model with three outputs.
fn scene() -> Scene {
    let scene = Scene::empty();
    let rows = Random::new(3).points(4 * SAMPLES);
    let others: Vec<f32> = rows.iter().map(|value| 9.0 - 20.0 * value).collect();
    scene.write("x.npy", floats(4, &rows));
    scene.write("v0.npy", floats(4, &rows));
    scene.write("v1.npy", floats(4, &others));
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx/mlp.onnx");
    scene.write("mlp.onnx", fs::read(fixture).unwrap());
    scene
}

/// An executable file of shell commands.
fn script(scene: &Scene, commands: &str) {
    scene.write("perturb", format!("#!/bin/sh\n{commands}\n"));
    fs::set_permissions(scene.path().join("perturb"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The class of every row of a file, as `predict` has it.
fn classes(scene: &Scene, inputs: &str) -> Vec<usize> {
    scene.run(&format!("predict --model mlp.onnx --inputs {inputs} --out y.npy --quiet")).prints();
    let bytes = fs::read(scene.path().join("y.npy")).unwrap();
    let numbers = &bytes[bytes.len() - 12 * SAMPLES..];
    let outputs: Vec<f32> =
        numbers.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    let largest = |row: &[f32]| (0..3).fold(0, |best, at| if row[at] > row[best] { at } else { best });
    outputs.chunks_exact(3).map(largest).collect()
}

#[test]
fn variants_are_run_counted_ranked_and_kept() {
    let scene = scene();
    // Every third variant is the other one.
    script(
        &scene,
        "echo $1 $2 >> calls\ncat > given.npy\n[ $(($1 % 3)) = 1 ] && exec cat v1.npy\nexec cat v0.npy",
    );
    let (own, others) = (classes(&scene, "x.npy"), classes(&scene, "v1.npy"));
    let changed: Vec<usize> = (0..SAMPLES).filter(|&at| own[at] != others[at]).collect();
    assert!(!changed.is_empty() && changed.len() < SAMPLES, "{}", changed.len());

    let labels: Vec<i64> = own.iter().map(|&class| class as i64).collect();
    scene.write("labels.npy", integers(&labels));
    let call = format!(
        "{CALL} --labels labels.npy --probe-with perturb --probes 6 --top 300 --out result --report page.html --json"
    );
    let document = scene.run(&call).json();
    let found = &document["variants"];
    assert_eq!((&found["variants"], &found["samples"]), (&6.into(), &SAMPLES.into()));
    assert_eq!((&found["evaluations"], &found["stopped_early"]), (&(7 * SAMPLES).into(), &false.into()));
    assert_eq!((&found["script"], &found["accuracy"]), (&"perturb".into(), &1.0.into()));
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-12;
    // Two of six variants are the other one.
    let lost = changed.len() as f64 / SAMPLES as f64;
    assert!(near(&found["kept"]["estimate"], 1.0 - lost / 3.0), "{found}");
    assert!(near(&found["survived"]["estimate"], 1.0 - lost), "{found}");
    let [lower, estimate, upper] =
        ["lower", "estimate", "upper"].map(|name| found["kept"][name].as_f64().unwrap());
    assert!(lower < estimate && estimate < upper, "{found}");
    let listed = found["top_changed"].as_array().unwrap();
    let mut indices: Vec<usize> =
        listed.iter().map(|sample| sample["index"].as_u64().unwrap() as usize).collect();
    assert!(listed.iter().all(|sample| sample["flips"] == 2 && sample["first_flip"] == 1), "{found}");
    indices.sort_unstable();
    assert_eq!(indices, changed);

    // The script is given the samples, the number of the variant and a seed that differs.
    assert!(
        fs::read(scene.path().join("given.npy"))
            .unwrap()
            .ends_with(&fs::read(scene.path().join("x.npy")).unwrap()[128..])
    );
    let calls = scene.read("calls");
    let calls: Vec<(&str, &str)> = calls.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(calls.iter().map(|call| call.0).collect::<Vec<_>>(), ["0", "1", "2", "3", "4", "5"]);
    assert!(calls[0].1 != calls[1].1 && calls.iter().all(|call| call.1.parse::<u32>().is_ok()));

    // The samples that changed come first, in the table, on the page and in `select`.
    let nodes = scene.read("result/nodes.csv");
    assert!(nodes.lines().next().unwrap().ends_with(",probe_margin,flips,survived"), "{nodes}");
    assert_eq!(nodes.lines().filter(|line| line.ends_with(",2,0")).count(), changed.len());
    let page = scene.read("page.html");
    assert!(page.contains("variants each by perturb"), "the page tells what was done");
    let chosen = scene
        .run("select --inputs x.npy --model mlp.onnx --quiet --probe-with perturb --probes 6 --top 1")
        .prints();
    assert!(changed.contains(&chosen.trim().parse().unwrap()), "{chosen}");

    let text = scene.run(&format!("{CALL} --probe-with perturb --probes 6")).prints();
    assert_holds(
        &text,
        &[
            "  kept  ",
            "variants by perturb that keep the class (200 samples, 6 variants each)",
            "of the same class on every variant",
            "on a variant: ",
        ],
    );
    assert!(!text.contains("No attack was tried"), "{text}");
}

#[test]
fn a_run_ends_early_and_depends_on_the_seed_alone() {
    let scene = scene();
    script(&scene, "[ $(($2 % 2)) = 1 ] && exec cat v1.npy\nexec cat v0.npy");
    let found = |options: &str| {
        let document = scene.run(&format!("{CALL} --json --probe-with ./perturb {options}")).json();
        document["variants"].clone()
    };
    let early = found("--precision 50%");
    assert_eq!((&early["variants"], &early["stopped_early"]), (&10.into(), &true.into()));
    assert_eq!(found("--probes 12 --threads 1"), found("--probes 12 --threads 2"));
    assert_ne!(found("--probes 12 --seed 1"), found("--probes 12 --seed 2"));
}

/// Where the script fails, its variants until then are kept, unless it is another script then.
#[test]
fn an_interrupted_run_goes_on_at_the_next_variant() {
    let scene = scene();
    let commands = |more: &str| {
        format!(
            "[ $1 -lt 7 ] || [ -e mended ] || exit 1\n{more}echo $1 >> calls\n[ $(($1 % 3)) = 1 ] && exec cat v1.npy\nexec cat v0.npy"
        )
    };
    let call = format!("{CALL} --probe-with perturb --probes 9 --out");
    let calls = || scene.read("calls").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let variants = |folder: &str| scene.read_json(&format!("{folder}/result.json"))["variants"].clone();
    script(&scene, &commands(""));
    scene.run(&format!("{call} result")).refuses(2, &["exit code 1 on variant 7"]);
    assert_eq!(calls(), ["0", "1", "2", "3", "4", "5", "6"]);
    scene.write("mended", "");
    let text = scene.run(&format!("{call} result").replace("--quiet ", "")).stderr;
    assert!(text.contains("variants continue where an earlier run was interrupted"), "{text}");
    assert_eq!(calls()[7..], ["7", "8"]);
    scene.run(&format!("{call} whole")).prints();
    assert_eq!(variants("result"), variants("whole"));
    assert_eq!(scene.read("result/nodes.csv"), scene.read("whole/nodes.csv"));

    for file in ["mended", "calls"] {
        fs::remove_file(scene.path().join(file)).unwrap();
    }
    fs::remove_dir_all(scene.path().join("result")).unwrap();
    scene.run(&format!("{call} result")).refuses(2, &["variant 7"]);
    script(&scene, &commands(": another script\n"));
    scene.run(&format!("{call} result")).refuses(2, &["variant 7"]);
    assert_eq!(calls().len(), 14, "another script starts over");
}

#[test]
fn a_script_that_does_not_do_its_part_is_told_once() {
    let scene = scene();
    let refused =
        |words: &[&str]| scene.run(&format!("{CALL} --probe-with perturb --out result")).refuses(2, words);
    refused(&["perturb: there is no such file"]);
    scene.write("perturb", "#!/bin/sh\n");
    refused(&["perturb: is not executable", "chmod +x"]);
    script(&scene, "echo first >&2\necho the model broke >&2\nexit 7");
    refused(&["perturb: ended with exit code 7 on variant 0", "the model broke"]);
    script(&scene, "exit 3");
    refused(&["perturb: ended with exit code 3 on variant 0", "without a message"]);
    script(&scene, "kill -9 $$");
    refused(&["perturb: ended with signal: 9", "variant 0"]);
    script(&scene, "echo hello");
    refused(&["perturb, variant 0", "must write one .npy array", "hello"]);
    script(&scene, "true");
    refused(&["perturb, variant 0", "must write one .npy array", "got 0 bytes"]);
    scene.write("v0.npy", floats(5, &Random::new(1).points(5 * SAMPLES)));
    script(&scene, "cat v0.npy");
    refused(&["perturb, variant 0", "an array of shape [200, 4], got [200, 5]"]);
    let mut numbers = Random::new(1).points(4 * SAMPLES);
    numbers[9] = f32::NAN;
    scene.write("v0.npy", floats(4, &numbers));
    refused(&["perturb, variant 0", "row 2, column 1", "NaN"]);
    scene.write("v0.npy", npy("<f4", false, &[SAMPLES, 4], &[0; 8]));
    refused(&["perturb, variant 0"]);
    // More than any array of the right shape, without an end.
    script(&scene, "while :; do cat x.npy; done");
    refused(&["perturb", "got more than"]);
    scene.write("perturb", [0x7f, b'n', b'o']);
    refused(&["perturb: cannot be started", "#!/usr/bin/env python3"]);
    scene.make_folder("folder");
    scene.run(&format!("{CALL} --probe-with folder")).refuses(2, &["folder: expected an executable file"]);
    assert!(!scene.path().join("result/result.json").exists(), "nothing half-written");
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let scene = scene();
    script(&scene, "cat");
    scene.run(&format!("{CALL} --probe-with perturb --probe linf:0.1")).misused(&["--probe-with", "--probe"]);
    scene.run(&format!("{CALL} --probes 3")).misused(&["--probe-with"]);
    scene.write("y.npy", floats(3, &Random::new(8).points(3 * SAMPLES)));
    scene.refuses(
        "score --inputs x.npy --outputs y.npy --probe-with perturb",
        &["--probe-with", "needs --model"],
    );
    scene.refuses(
        &format!("{CALL} --probe-with perturb --task regression"),
        &["--probe-with counts how often samples change their class"],
    );
}

#[test]
fn a_script_is_ended_with_the_command() {
    let scene = scene();
    script(&scene, "echo $$ > started\nexec sleep 60");
    let began = Instant::now();
    let mut running = scene.interruptible(&format!("{CALL} --probe-with perturb")).spawn().unwrap();
    let started = scene.path().join("started");
    while !started.exists() || fs::read_to_string(&started).unwrap().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(50), "the script is started");
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&running, "INT");
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let script = scene.read("started");
    let is_there = Path::new("/proc").join(script.trim()).exists();
    assert!(!is_there, "the script is gone");
    assert!(began.elapsed() < Duration::from_secs(55));
}
