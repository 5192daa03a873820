//! `--probe`: perturbed copies through a model. What the numbers must be is tested in the core, on models in closed form.

use std::path::Path;

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::{Random, floats};

const INPUTS: &str = "score --inputs x.npy --model mlp.onnx --quiet";

/// 200 rows of four numbers, and a model with three outputs.
fn scene() -> Scene {
    let scene = Scene::empty();
    scene.write("x.npy", floats(4, &Random::new(3).points(800)));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-io/tests/fixtures/onnx/mlp.onnx");
    scene.write("mlp.onnx", std::fs::read(fixture).unwrap());
    scene
}

fn probed(scene: &Scene, options: &str) -> Value {
    scene.run(&format!("{INPUTS} --json --probe {options}")).json()["probe"].clone()
}

#[test]
fn a_larger_radius_leaves_less_of_the_margins() {
    let scene = scene();
    let left = |radius: &str| {
        let probe = probed(&scene, &format!("linf:{radius} --probes 40"));
        let number = |name: &str| probe[name].as_f64().unwrap();
        assert!(number("robust_accuracy") <= number("held"), "{probe}");
        assert!((0.0..=1.0).contains(&number("stability")), "{probe}");
        (number("held"), number("stability"))
    };
    // A millionth moves a margin by about as much.
    assert!(left("1e-6").1 > 0.999);
    let (small, large) = (left("1/100"), left("1"));
    // The model answers nearly all of these samples alike, so that hardly one is lost; margins shrink all the same.
    assert!(small.0 >= large.0 && small.1 > 0.98 && large.1 < 0.9, "{small:?} {large:?}");
}

#[test]
fn the_document_says_what_was_done_and_what_it_cost() {
    let scene = scene();
    let search = probed(&scene, "linf:0.1 --probe-samples 50 --seed 3");
    assert_eq!((&search["probe"], &search["probes"]), (&"linf:0.1:search".into(), &800.into()));
    assert_eq!((&search["samples"], &search["seed"]), (&50.into(), &3.into()));
    assert!(search["evaluations"].as_u64().unwrap() <= 50 * 801);
    assert!(search.get("margin_ratio").is_none() && search.get("accuracy").is_none());
    let noise = probed(&scene, "l2:0.1:smooth:3");
    assert_eq!((&noise["probe"], &noise["evaluations"]), (&"l2:0.1:smooth:3".into(), &(200 * 9).into()));
    assert!(noise["margin_ratio"].as_f64().unwrap() > 0.0);
    assert!(noise.get("robust_accuracy").is_none());
    let text = scene
        .run("score --inputs x.npy --model mlp.onnx --probe linf:0.1 --probes 9 --probe-samples 20")
        .notes(&["up to 200 times: 20 of 200 samples with 9 copies each"]);
    for line in [
        "probes        linf:0.1:search, up to 9 copies of 20 samples",
        "robust   ",
        "held   ",
        "stability   ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let scene = scene();
    for kind in ["search", "pixel", "block", "smooth"] {
        let on = |threads: usize| probed(&scene, &format!("linf:0.2:{kind} --probes 30 --threads {threads}"));
        assert_eq!(on(1), on(3), "{kind}");
    }
}

#[test]
fn samples_have_columns_and_those_that_were_not_probed_empty_ones() {
    let scene = scene();
    scene
        .run(&format!("{INPUTS} --probe linf:0.1:pixel --probe-samples 30 --out result --tables csv,parquet"))
        .prints();
    let table = scene.read("result/nodes.csv");
    let mut lines = table.lines();
    assert!(lines.next().unwrap().ends_with(",probe_margin,stability,probe_change,probe_kept"));
    let probed = lines.filter(|line| !line.ends_with(",,,,")).inspect(|line| {
        let fields: Vec<&str> = line.split(',').rev().take(4).collect();
        let kept: f64 = fields[0].parse().unwrap();
        assert!((kept * 8.0).fract() == 0.0 && (0.0..=1.0).contains(&kept), "{line}");
    });
    assert_eq!(probed.count(), 30);
    assert_eq!(scene.read_json("result/result.json")["probe"]["samples"], 30);
}

#[test]
fn models_are_probed_beside_each_other_and_arrays_are_not() {
    let scene = scene();
    scene.run("predict --inputs x.npy --model mlp.onnx --out y.npy").prints();
    let call = "compare --inputs x.npy --model a=mlp.onnx --outputs b=y.npy --probe linf:0.1 --probes 20 --out result";
    let text = scene.run(call).notes(&["model `b` is given by its outputs, and is not probed"]);
    assert!(text.contains("held"), "{text}");
    let json = scene.read_json("result/result.json");
    let of = |name: &str| {
        let models = json["models"].as_array().unwrap();
        models.iter().find(|model| model["name"] == name).unwrap().get("probe").cloned()
    };
    assert_eq!(of("b"), None);
    assert_eq!(of("a"), Some(probed(&scene, "linf:0.1 --probes 20")));
    assert!(scene.read("result/nodes.csv").lines().next().unwrap().ends_with(",probe_margin_a,stability_a"));
}

#[test]
fn samples_and_copies_are_scored_together() {
    let scene = scene();
    let probe = probed(&scene, "linf:0.05:pixel --probes 3 --probe-samples 60 --probe-graph");
    let graph = &probe["graph"];
    assert_eq!((&graph["nodes"], &graph["neighbors"]["requested"]), (&240.into(), &10.into()));
    assert!(graph["model_score"].as_f64().unwrap() > 0.0);
    assert!((0.0..=1.0).contains(&graph["edge_overlap"].as_f64().unwrap()));
}

#[test]
fn what_cannot_be_probed_is_refused() {
    let scene = scene();
    scene.run("predict --inputs x.npy --model mlp.onnx --out y.npy").prints();
    scene
        .run("score --inputs x.npy --outputs y.npy --probe linf:0.1")
        .refuses(2, &["--probe gives perturbed inputs to a model", "needs --model"]);
    for wrong in ["0.1", "linf:0", "l1:0.1", "linf:0.1:noise"] {
        scene
            .run(&format!("{INPUTS} --probe {wrong}"))
            .misused(&["--probe", "expected linf:RADIUS or l2:RADIUS"]);
    }
    scene.run(&format!("{INPUTS} --probes 8")).misused(&["--probe <NORM:RADIUS[:KIND]>"]);
    scene
        .run(&format!("{INPUTS} --probe linf:0.1 --probe-graph"))
        .refuses(2, &["--probe-graph: a probed manifold is made of random copies", "--probe linf:0.1:pixel"]);
    scene.run(&format!("{INPUTS} --probe linf:0.1 --probes 0")).misused(&["--probes"]);
}
