//! `kill -9` at moments drawn by a seed: complete files are used again, incomplete ones never are.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::{Random, floats};

const SAMPLES: usize = 4000;
const INPUT_DIM: usize = 60;
/// Calls that are cut off, for each command.
const KILLS: usize = 6;

/// Enough work for a call to be cut off in the middle of every stage.
fn work() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(21).points(SAMPLES * INPUT_DIM);
    let outputs: Vec<f32> = inputs
        .chunks(INPUT_DIM)
        .flat_map(|x| [(3.0 * x[0]).sin() + x[1], x[2] * x[3], x[4] - x[5]])
        .collect();
    scene.write("x.npy", floats(INPUT_DIM, &inputs));
    scene.write("y.npy", floats(3, &outputs));
    scene
}

/// Parts are kept all the time, so that every kill leaves some.
const ALWAYS: (&str, &str) = ("SPADEWORK_PART_SECONDS", "0");

/// Begins a call, kills it after a while and tells whether it was still at work.
fn killed(scene: &Scene, arguments: &str, after: Duration) -> bool {
    let mut child = scene
        .command(arguments)
        .env(ALWAYS.0, ALWAYS.1)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    sleep(after);
    let at_work = child.try_wait().unwrap().is_none();
    // SIGKILL on Unix: nothing of the program runs after it.
    let _ = child.kill();
    child.wait().unwrap();
    at_work
}

/// Kills a call at random moments within the time that it takes; how often it was still at work.
fn killed_at_random(scene: &Scene, arguments: &str, took: Duration, seed: u64) -> usize {
    let mut random = Random::new(seed);
    (0..KILLS).filter(|_| killed(scene, arguments, took.mul_f32(random.unit()))).count()
}

fn timed(scene: &Scene, arguments: &str) -> Duration {
    let began = Instant::now();
    scene.run(arguments).prints();
    began.elapsed()
}

/// What does not depend on how long it took and what was typed.
fn numbers(scene: &Scene, folder: &str) -> (Value, [String; 2]) {
    let mut document = scene.read_json(&format!("{folder}/result.json"));
    for field in ["timings", "command", "made_from"] {
        document.as_object_mut().unwrap().remove(field);
    }
    (document, ["nodes.csv", "edges.csv"].map(|table| scene.read(&format!("{folder}/{table}"))))
}

#[test]
fn a_killed_score_continues_and_gives_the_same() {
    let scene = work();
    let score = |out: &str| format!("score --quiet --inputs x.npy --outputs y.npy --out {out}");
    let took = timed(&scene, &score("whole"));
    let interrupted = killed_at_random(&scene, &score("result"), took, 1);
    assert!(interrupted > 0, "every call was done before it was killed");
    scene.run(&score("result")).prints();
    assert_eq!(numbers(&scene, "result"), numbers(&scene, "whole"));
    assert!(!scene.path().join("result/.unfinished").exists());
}

#[test]
fn killed_stages_continue_and_give_the_same() {
    let scene = work();
    let whole = "score --quiet --inputs x.npy --outputs y.npy --save-graphs csv --out whole";
    let took = timed(&scene, whole);
    let graph = "graph --quiet --inputs x.npy --outputs y.npy --save-graphs csv --out result";
    let interrupted = killed_at_random(&scene, graph, took, 2);
    scene.run(graph).prints();
    for side in ["input", "output"] {
        let file = |folder: &str| scene.read(&format!("{folder}/{side}_graph.csv"));
        assert!(file("result") == file("whole"), "{side} graph");
    }
    let again = killed_at_random(&scene, "eigen --quiet result", took, 3);
    assert!(interrupted + again > 0, "every call was done before it was killed");
    scene.run("eigen --quiet result").prints();
    killed_at_random(&scene, "scores --quiet result", took / 4, 4);
    // Not forced: a part of a file that were taken for a whole one would be refused.
    scene.run("scores --quiet result").prints();
    assert_eq!(numbers(&scene, "result"), numbers(&scene, "whole"));
}

#[test]
fn what_a_killed_score_found_is_not_found_again() {
    let scene = work();
    let score = "score --inputs x.npy --outputs y.npy --out result";
    // Graphs of the same call, as it leaves them when it is killed while it looks for eigenpairs.
    scene.run("graph --quiet --inputs x.npy --outputs y.npy --out made").prints();
    scene.make_folder("result");
    std::fs::rename(scene.path().join("made/stages"), scene.path().join("result/.unfinished")).unwrap();
    scene.run(score).notes(&["the graphs already exist"]);
    // Those of another call are no reason to refuse: nobody asked for them to be kept.
    scene.run("graph --quiet -k 12 --inputs x.npy --outputs y.npy --out made").prints();
    std::fs::rename(scene.path().join("made/stages"), scene.path().join("result/.unfinished")).unwrap();
    scene.run(score).notes(&["neighbors 12, not 10; it is replaced"]);
}

/// A model that is run, probed and compared with a copy of itself: every stage has parts.
fn probed_work() -> Scene {
    let scene = Scene::empty();
    scene.write("x.npy", floats(4, &Random::new(5).points(4 * 1500)));
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-model/tests/fixtures/onnx/mlp.onnx");
    for copy in ["a.onnx", "b.onnx"] {
        scene.write(copy, std::fs::read(fixture).unwrap());
    }
    scene
}

/// The parts that a killed call left, by the name of their work.
fn parts(scene: &Scene, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(scene.path().join(folder).join(".unfinished")) else {
        return Vec::new();
    };
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let names = entries.filter_map(|entry| name(entry.ok()?));
    names.filter_map(|name| Some(name.strip_suffix(".part")?.split_once('-')?.0.to_owned())).collect()
}

#[test]
fn a_killed_call_continues_within_a_stage_and_gives_the_same() {
    let scene = probed_work();
    let options = "--probe linf:0.1 --probes 60 --probe-samples 1500 --inputs x.npy --quiet";
    for (command, tables) in [
        ("score --model a.onnx --eigenpairs all --sketch-error 0.9", &["nodes.csv", "edges.csv"][..]),
        ("compare --model a=a.onnx --model b=b.onnx", &["models.csv"][..]),
    ] {
        let call = |out: &str| format!("{command} {options} --out {out}");
        let took = timed(&scene, &call("whole"));
        let mut left = std::collections::BTreeSet::new();
        let mut random = Random::new(6);
        for _ in 0..2 * KILLS {
            // Parts that are kept all the time make a call take longer than the first.
            killed(&scene, &call("result"), took.mul_f32(1.5 * random.unit()));
            left.extend(parts(&scene, "result"));
        }
        assert!(left.len() > 1, "{command} left parts of {left:?}");
        scene.run(&call("result")).prints();
        assert!(!scene.path().join("result/.unfinished").exists());
        let document = |folder: &str| {
            let mut document = scene.read_json(&format!("{folder}/result.json"));
            for field in ["timings", "command", "made_from"] {
                document.as_object_mut().unwrap().remove(field);
            }
            for model in document.get_mut("models").and_then(Value::as_array_mut).into_iter().flatten() {
                model.as_object_mut().unwrap().remove("total_s");
            }
            document
        };
        assert_eq!(document("result"), document("whole"), "{command}");
        for table in tables {
            assert_eq!(
                scene.read(&format!("result/{table}")),
                scene.read(&format!("whole/{table}")),
                "{table}"
            );
        }
        for folder in ["result", "whole"] {
            std::fs::remove_dir_all(scene.path().join(folder)).unwrap();
        }
    }
}

/// A different call starts over.
#[test]
fn parts_of_another_call_are_not_taken() {
    let scene = probed_work();
    let call = |radius: &str| {
        format!(
            "score --model a.onnx --probe linf:{radius} --probes 60 --probe-samples 1500 --inputs x.npy --out result"
        )
    };
    let took = timed(&scene, &call("0.1").replace("result", "other --quiet"));
    let mut random = Random::new(8);
    while !parts(&scene, "result").iter().any(|name| name == "probes") {
        killed(&scene, &call("0.1"), took.mul_f32(1.5 * random.unit()));
        if scene.path().join("result/result.json").exists() {
            std::fs::remove_dir_all(scene.path().join("result")).unwrap();
        }
    }
    let text = scene.run(&call("0.2")).stderr;
    assert!(!text.contains("probes continue"), "{text}");
}
