//! `spadework train`, `attack` and `clever` from the outside; built with the feature `networks` only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use spadework_io::output::write_npy;
use tempfile::TempDir;

/// The digits as files, and a place to work in.
struct Scene {
    place: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { place: tempfile::tempdir().unwrap() };
        let images = spadework_io::load_digits().unwrap();
        let spadework::samples::Values::F32(pixels) = images.samples().unwrap().values().clone() else {
            panic!("pixels are of single precision")
        };
        let labels = images.labels().unwrap().ids().to_vec();
        write_npy(&scene.path("x.npy"), &[labels.len(), 1, 8, 8], pixels.as_ref()).unwrap();
        write_npy(&scene.path("y.npy"), &[labels.len()], labels.as_slice()).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn run(&self, words: &str) -> Output {
        let command = env!("CARGO_BIN_EXE_spadework");
        Command::new(command).args(words.split_whitespace()).current_dir(self.place.path()).output().unwrap()
    }

    fn json(&self, words: &str) -> Value {
        let output = self.run(&format!("{words} --json"));
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn refused(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }
}

const DATA: &str = "--data x.npy --labels y.npy";
const JUDGED: &str = "--inputs x.npy --labels y.npy";

/// Train, attack, score, judge by CLEVER: what a user does, one after the other.
#[test]
fn from_training_to_clever() {
    let scene = Scene::new();
    let trained =
        scene.json(&format!("train --model mlp:32 {DATA} --epochs 15 --learning-rate 0.005 --out plain"));
    assert_eq!(trained["schema"], "spadework.train/1");
    assert_eq!(trained["epochs"].as_array().unwrap().len(), 15);
    assert!(trained["epochs"][14]["accuracy"].as_f64().unwrap() > 0.95);
    for file in ["model.onnx", "model.safetensors", "model.json", "log.csv", "run.json", "result.json"] {
        assert!(scene.path("plain").join(file).is_file(), "{file}");
    }
    let log = fs::read_to_string(scene.path("plain/log.csv")).unwrap();
    assert_eq!(log.lines().count(), 16);

    let words = format!("attack {JUDGED} --eps 0.15 --steps 10 --out attacked --model");
    let by_onnx = scene.json(&format!("{words} plain/model.onnx"));
    let by_folder = scene.json(&format!("{words} plain"));
    assert_eq!(by_onnx["robust_accuracy"], by_folder["robust_accuracy"]);
    let (clean, robust) =
        (by_onnx["clean_accuracy"].as_f64().unwrap(), by_onnx["robust_accuracy"].as_f64().unwrap());
    assert!(clean > 0.95 && robust < 0.7, "{clean} {robust}");
    let table = fs::read_to_string(scene.path("attacked/samples.csv")).unwrap();
    assert_eq!(table.lines().count(), 1798);
    let robust_rows = table.lines().filter(|line| line.split(',').nth(4) == Some("true")).count();
    assert_eq!(robust_rows as f64 / 1797.0, robust);

    let words = format!(
        "attack {JUDGED} --eps 2/20 --limit 100 --attack auto --steps 10 --targets 2 --queries 10 --out attacked"
    );
    let auto = scene.json(&format!("{words} --model plain/model.onnx"));
    let names: Vec<&str> =
        auto["stages"].as_array().unwrap().iter().map(|stage| stage["attack"].as_str().unwrap()).collect();
    assert_eq!(names, ["apgd", "apgd-dlr", "apgd-t", "square"]);
    let by_stages: u64 =
        auto["stages"].as_array().unwrap().iter().map(|stage| stage["broken"].as_u64().unwrap()).sum();
    assert_eq!(Some(by_stages), auto["broken"].as_u64());
    assert_eq!((auto["targets"].as_u64(), auto["queries"].as_u64()), (Some(2), Some(10)));
    let table = fs::read_to_string(scene.path("attacked/samples.csv")).unwrap();
    let by_apgd = table.lines().filter(|line| line.split(',').nth(6) == Some("apgd")).count();
    assert_eq!(Some(by_apgd as u64), auto["stages"][0]["broken"].as_u64());

    let clever = scene.json(&format!(
        "clever --model plain {JUDGED} --only 3,5 --radius 4/2 --batches 20 --points 32 --pool 4 --out judged"
    ));
    let scores: Vec<f64> =
        clever["scores"].as_array().unwrap().iter().map(|score| score["score"].as_f64().unwrap()).collect();
    assert_eq!(clever["radius"].as_f64(), Some(2.0));
    assert!(scores.iter().all(|score| (0.0..=2.0).contains(score)));
    assert_eq!(clever["minimum"].as_f64().unwrap(), scores[0].min(scores[1]));
    assert_eq!(fs::read_to_string(scene.path("judged/samples.csv")).unwrap().lines().count(), 3);
}

/// A network of three classes has two others to aim at, however many are asked for.
#[test]
fn targets_are_classes_of_the_network() {
    let scene = Scene::new();
    let labels = spadework_io::load_digits().unwrap().labels().unwrap().ids().to_vec();
    let thirds: Vec<i64> = labels.iter().map(|label| label % 3).collect();
    write_npy(&scene.path("y.npy"), &[thirds.len()], thirds.as_slice()).unwrap();
    scene.json(&format!("train --model mlp:8 {DATA} --epochs 1 --out plain"));
    let words =
        format!("attack {JUDGED} --model plain --eps 0.1 --limit 20 --steps 2 --queries 2 --attack auto");
    assert_eq!(scene.json(&words)["targets"], 2);
    let text = String::from_utf8(scene.run(&words).stdout).unwrap();
    assert!(text.contains(", 2 targets,"), "{text}");
    assert_eq!(scene.json(&format!("{words} --targets 1"))["targets"], 1);
}

#[test]
fn guided_training_takes_scores_from_a_file_and_from_a_network() {
    let scene = Scene::new();
    let scores: Vec<f64> = (0..1797).map(f64::from).collect();
    write_npy(&scene.path("s.npy"), &[1797], scores.as_slice()).unwrap();
    let method = "--method spade --eps 0.2 --small-eps 0.1 --top 500 --epochs 3 --steps 2";
    let by_file = scene.json(&format!("train --model mlp:16 {DATA} {method} --node-scores s.npy --out a"));
    assert_eq!(by_file["params"]["warmup"], 0);
    let by_itself = scene.json(&format!("train --model mlp:16 {DATA} {method} --out b"));
    assert_eq!(by_itself["params"]["warmup"], 2);
    let by_other = scene.json(&format!("train --model mlp:16 {DATA} {method} --scorer a --out c"));
    assert_eq!(by_other["params"]["warmup"], 0);
}

/// A run in two halves ends as a whole one does: the log and the weights are the same bytes.
#[test]
#[cfg(unix)]
fn an_interrupted_run_saves_and_goes_on() {
    let scene = Scene::new();
    let words = |out: &str| {
        format!(
            "train --model conv2 {DATA} --method pgd --eps 0.1 --steps 2 --epochs 2 --limit 600 --batch 64 --out {out}"
        )
    };
    scene.json(&words("whole"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_spadework"))
        .args(words("parts").split_whitespace())
        .current_dir(scene.place.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The first checkpoint is written after the first of two epochs.
    let checkpoint = scene.path("parts/checkpoint.safetensors");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    // On a fast machine it may have finished already; then nothing was interrupted, and there is nothing to test.
    if sent.success() && output.status.code() == Some(130) {
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("stopped and saved; continue with `spadework train --resume parts`"), "{said}");
        assert!(!scene.path("parts/model.onnx").exists());
        scene.json("train --resume parts");
    }
    let bytes = |run: &str| fs::read(scene.path(run).join("model.safetensors")).unwrap();
    assert!(bytes("whole") == bytes("parts"), "the weights differ");
}

#[test]
fn calls_that_make_no_sense_are_refused_in_one_line() {
    let scene = Scene::new();
    let train = |rest: &str| scene.refused(&format!("train {DATA} --out out {rest}"));
    assert!(
        train("--model lenet").contains("unknown model `lenet`; there are lenet5, conv2, mlp[:HIDDEN], cnn7")
    );
    assert!(train("--model mlp --method spade --eps 0.1").contains("--method spade needs --small-eps"));
    assert!(train("--model mlp --method pgd").contains("--method pgd needs --eps"));
    assert!(
        train("--model mlp --method pgd --eps -0.1").contains("epsilon must be zero or positive, got -0.1")
    );
    assert!(train("--model mlp --top 5").contains("--top has no effect with --method standard"));
    assert!(train("--model mlp --device tpu").contains("unknown device `tpu`; there are cpu"));
    assert!(train("--model absent.onnx").contains("absent.onnx: no such file"));
    assert!(!scene.path("out").exists(), "a refused call leaves nothing behind");
    assert!(scene.refused("train --model mlp --data x.npy --out out").contains("x.npy: labels are needed"));
    assert!(scene.refused("train --resume absent").contains("absent/run.json: no such file"));
    assert!(
        scene.refused("train --resume absent --epochs 3").contains("--epochs was set when the run began")
    );

    scene.json(&format!("train --model mlp:4 {DATA} --epochs 1 --out net"));
    assert!(
        scene
            .refused(&format!("train --model mlp:4 {DATA} --epochs 1 --out net"))
            .contains("net: already contains a run")
    );
    let attack = |rest: &str| scene.refused(&format!("attack --model net {rest}"));
    assert!(attack(&format!("{JUDGED} --eps -1")).contains("epsilon must be zero or positive, got -1"));
    assert!(
        attack(&format!("{JUDGED} --eps 1/0"))
            .contains("expected a number such as 0.1 or a fraction such as 8/255")
    );
    assert!(
        attack(&format!("{JUDGED} --eps 0.1 --norm l1")).contains("the norm of an attack must be linf or l2")
    );
    assert!(
        attack("--inputs y.npy --labels y.npy --eps 0.1")
            .contains("y.npy: the network takes 64 values per sample")
    );
    assert!(attack("--inputs x.npy --eps 0.1").contains("give them with --labels"));
    assert!(attack(&format!("{JUDGED} --eps 0.1 --attack fgsm --steps 5")).contains("fgsm is one step"));
    let ignored = attack(&format!("{JUDGED} --eps 0.1 --attack square --steps 5"));
    assert!(
        ignored.contains("--attack square ignores --steps; it is for pgd, fgsm, apgd, apgd-t, auto"),
        "{ignored}"
    );
    let ignored = attack(&format!("{JUDGED} --eps 0.1 --queries 5"));
    assert!(ignored.contains("--attack pgd ignores --queries; it is for square, auto"), "{ignored}");
    let none = attack(&format!("{JUDGED} --eps 0.1 --attack apgd-t --targets 0"));
    assert!(none.contains("targets must be at least 1, got 0"), "{none}");
    let clever = scene.refused(&format!("clever --model net {JUDGED} --only 1797"));
    assert!(clever.contains("--only must be below the number of samples (1797), got 1797"), "{clever}");

    let far: Vec<i64> = (0..1797).map(|at| at % 11).collect();
    write_npy(&scene.path("far.npy"), &[1797], far.as_slice()).unwrap();
    let message = attack("--inputs x.npy --labels far.npy --eps 0.1");
    assert!(message.contains("labels must be from 0 to 9"), "{message}");
    damage(&scene.path("net/checkpoint.safetensors"));
    let message = scene.refused("train --resume net");
    assert!(message.contains("checkpoint.safetensors: not a valid safetensors file"), "{message}");
}

/// A message names the file that is wrong, of samples and labels, and hints at what helps with it.
#[test]
fn samples_and_labels_that_do_not_suit_are_named() {
    let scene = Scene::new();
    let count = 1797;
    let labels = |name: &str, at_seven: i64| {
        let ids: Vec<i64> = (0..count).map(|at| if at == 7 { at_seven } else { at % 10 }).collect();
        write_npy(&scene.path(name), &[ids.len()], ids.as_slice()).unwrap();
    };
    labels("ids.npy", 2_000_000_000);
    labels("negative.npy", -1);
    let mut bright = vec![0.5_f32; count as usize * 64];
    bright[64] = 255.0;
    write_npy(&scene.path("bright.npy"), &[count as usize, 64], bright.as_slice()).unwrap();
    bright[64] = f32::NAN;
    write_npy(&scene.path("unknown.npy"), &[count as usize, 64], bright.as_slice()).unwrap();
    let train = |rest: &str| scene.refused(&format!("train --model mlp:4 --epochs 1 --out out {rest}"));

    let expected = "ids.npy: labels must be classes, counted from 0, got 2000000000 at sample 7 of 1797";
    let message = train("--data x.npy --labels ids.npy");
    assert!(message.contains(expected), "{message}");
    let message = train("--data x.npy --labels negative.npy");
    assert!(message.contains("negative.npy: labels must be from 0 to 9"), "{message}");
    let message = train("--data x.npy");
    assert!(message.contains("hint: give them with --labels"), "{message}");
    let message = train(&format!("{DATA} --test x.npy"));
    assert!(message.contains("hint: give them with --test-labels"), "{message}");
    let message = train("--data unknown.npy --labels y.npy");
    assert!(message.contains("unknown.npy: every value must be finite"), "{message}");
    assert!(!message.contains("hint"), "{message}");
    assert!(!scene.path("out").exists(), "a refused call leaves nothing behind");

    scene.json(&format!("train --model mlp:4 {DATA} --epochs 1 --out net"));
    let message = scene.refused("attack --model net --inputs bright.npy --labels y.npy --eps 0.1");
    assert!(message.contains("bright.npy: values must lie in [0, 1]"), "{message}");
    let message = scene.refused(&format!("attack --model nowhere {JUDGED} --eps 0.1"));
    assert!(message.contains("nowhere: no such file or folder"), "{message}");
    let message = scene.refused(&format!("clever --model net {JUDGED} --top 3"));
    assert!(message.contains("--node-scores"), "{message}");
}

#[test]
fn a_run_in_another_folder_and_a_checkpoint_of_another_network_are_refused() {
    let scene = Scene::new();
    for (model, out) in [("mlp:4", "four"), ("mlp:5", "five")] {
        scene.json(&format!("train --model {model} {DATA} --epochs 1 --out {out}"));
    }
    let elsewhere = Command::new(env!("CARGO_BIN_EXE_spadework"))
        .args(["train", "--resume", "."])
        .current_dir(scene.path("four"))
        .output()
        .unwrap();
    let said = String::from_utf8(elsewhere.stderr).unwrap();
    assert!(said.contains("x.npy: no such file") && said.contains("`folder` in its run.json"), "{said}");
    fs::copy(scene.path("four/checkpoint.safetensors"), scene.path("five/checkpoint.safetensors")).unwrap();
    let message = scene.refused("train --resume five");
    assert!(message.contains("expected a checkpoint of mlp:5, got one of another network"), "{message}");
}

/// A limit of a few kilobytes a file stands for a disk without space: the file is named, and none is left half-written.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_half_written_file() {
    let scene = Scene::new();
    let words = format!("train --model mlp:64 {DATA} --epochs 1 --quiet --out full");
    let output = Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; ulimit -f 8; exec {} {words}", env!("CARGO_BIN_EXE_spadework"))])
        .current_dir(scene.place.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("checkpoint.safetensors: cannot be written"), "{said}");
    let left: Vec<_> =
        fs::read_dir(scene.path("full")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["run.json"], "{left:?}");
}

fn damage(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}
