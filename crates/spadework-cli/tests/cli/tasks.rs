//! `--task`: what the outputs are, and what follows from it.

use std::path::Path;

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::{Random, floats, integers};

/// Inputs, one logit per sample, and labels 3 and 7 that it mostly gets right; a model of a single output.
fn scene() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(21).points(120 * 4);
    let logits: Vec<f32> = inputs.chunks(4).map(|row| 4.0 * (row[0] + row[1] - row[2]) - 2.0).collect();
    let labels: Vec<i64> =
        logits.iter().enumerate().map(|(at, &z)| if (z > 0.0) == (at % 10 != 0) { 7 } else { 3 }).collect();
    scene.write("x.npy", floats(4, &inputs));
    scene.write("z.npy", floats(1, &logits));
    scene.write("labels.npy", integers(&labels));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx");
    scene.write("single.onnx", std::fs::read(fixtures.join("single.onnx")).unwrap());
    scene
}

fn score(scene: &Scene, options: &str) -> Value {
    scene.run(&format!("score --inputs x.npy {options} --json -q")).json()
}

#[test]
fn one_output_with_two_labels_is_a_classifier() {
    let scene = scene();
    let json = score(&scene, "--outputs z.npy --labels labels.npy");
    // Every tenth label is the other one.
    assert!((json["accuracy"].as_f64().unwrap() - 0.9).abs() < 1e-12, "{}", json["accuracy"]);
    assert_eq!((&json["margins"]["kind"], &json["request"]["task"]), (&"labeled".into(), &"auto".into()));
    assert_eq!(json["fragility_basis"], "margins and slopes");
    let regression = score(&scene, "--outputs z.npy --labels labels.npy --task regression");
    assert!(regression.get("accuracy").is_none() && regression.get("margins").is_none());
    assert_eq!(
        (&regression["fragility_basis"], &regression["request"]["task"]),
        (&"node scores".into(), &"regression".into())
    );
    assert_eq!(regression["model_score"], json["model_score"]);
    // Without labels the sign alone says which class is meant, where the user says that there are any.
    assert!(score(&scene, "--outputs z.npy").get("margins").is_none());
    assert_eq!(score(&scene, "--outputs z.npy --task classes")["margins"]["kind"], "predicted");
}

#[test]
fn embeddings_have_neither_margins_nor_probes() {
    let scene = scene();
    let json = score(&scene, "--outputs x.npy --task embedding");
    assert!(json.get("margins").is_none() && json["fragility_basis"] == "node scores");
    scene
        .run("score --inputs x.npy --model single.onnx --task embedding --probe linf:0.1")
        .refuses(2, &["--task embedding"]);
    scene.run("score --inputs x.npy --outputs z.npy --task words").misused(&["--task", "regression"]);
}

/// The probes of a regressor measure how far it moves; those of a classifier of two classes whether it changes its mind.
#[test]
fn a_single_output_is_probed_for_what_it_is() {
    let scene = scene();
    let call = "--model single.onnx --probe linf:0.05 --probes 30 --probe-samples 40";
    let json = score(&scene, call);
    assert!(json.get("probe").is_none());
    let change = &json["output_change"];
    assert_eq!((&change["samples"], &change["evaluations"]), (&40.into(), &(40 * 31).into()));
    let number = |field: &str| change[field].as_f64().unwrap();
    assert!(0.0 < number("median") && number("median") <= number("p95"), "{change}");
    assert!(change["top"][0]["change"].as_f64() >= Some(number("p95")));
    let wider = score(&scene, &call.replace("0.05", "0.2"));
    assert!(wider["output_change"]["median"].as_f64() > Some(number("median")));
    let text = scene.run(&format!("score --inputs x.npy -q {call}")).prints();
    assert!(
        text.contains("  change of output   ") && text.contains("standard deviations of the outputs"),
        "{text}"
    );
    let two = score(&scene, &format!("{call} --labels labels.npy"));
    assert!(two.get("output_change").is_none());
    assert_eq!((&two["probe"]["samples"], two["probe"]["accuracy"].is_number()), (&40.into(), true));
    let compared = scene
        .run(&format!(
            "compare --inputs x.npy a=single.onnx b=single.onnx -q --json {}",
            call.replace("--model single.onnx ", "")
        ))
        .json();
    assert_eq!(compared["models"][0]["output_change"], json["output_change"]);
    assert_eq!(compared["ranked_by"], "overlap");
}
