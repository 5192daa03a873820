//! Outputs of which many are equal, as those of forests are: the inputs decide which of them are neighbors.

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::{Random, floats};

const SAMPLES: usize = 200;

/// `x.npy`, and in `y.npy` the votes of four trees over two classes; the same samples backwards in `back_x.npy` and `back_y.npy`.
fn scene() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(3).points(3 * SAMPLES);
    let votes: Vec<f32> = inputs
        .chunks(3)
        .flat_map(|row| {
            let first = [0, 1, 2, 0].iter().filter(|&&at| row[at] > 0.45).count() as f32 / 4.0;
            [first, 1.0 - first]
        })
        .collect();
    let back = |rows: &[f32], dim| rows.chunks(dim).rev().flatten().copied().collect::<Vec<f32>>();
    scene.write("x.npy", floats(3, &inputs));
    scene.write("y.npy", floats(2, &votes));
    scene.write("back_x.npy", floats(3, &back(&inputs, 3)));
    scene.write("back_y.npy", floats(2, &back(&votes, 2)));
    scene
}

fn score(scene: &Scene, prefix: &str, options: &str) -> Value {
    scene.run(&format!("score -q --inputs {prefix}x.npy --outputs {prefix}y.npy {options} --json")).json()
}

fn note(json: &Value) -> &str {
    let notes = json["notes"].as_array().unwrap();
    let found = notes.iter().find(|note| note["code"] == "exact-copies");
    found.map_or("", |note| note["message"].as_str().unwrap())
}

#[test]
fn the_order_of_the_samples_does_not_matter() {
    let scene = scene();
    let scores = |options: &str| {
        ["", "back_"].map(|prefix| score(&scene, prefix, options)["model_score"].as_f64().unwrap())
    };
    let [one, other] = scores("");
    assert!((one / other - 1.0).abs() < 1e-6, "{one} and {other}");
    let [one, other] = scores("--ties index");
    assert!((one / other - 1.0).abs() > 1e-3, "{one} and {other}");
}

#[test]
fn what_decided_is_said_and_kept() {
    let scene = scene();
    let by_inputs = score(&scene, "", "");
    assert!(
        note(&by_inputs)
            .ends_with("exact copies: their distance at the input decides which of them are neighbors"),
        "{by_inputs}"
    );
    let output = &by_inputs["graphs"]["output"];
    assert_eq!((&by_inputs["request"]["ties"], &output["ties"]), (&"inputs".into(), &"inputs".into()));
    assert!(output["decided_by_inputs"].as_u64() > Some(100) && output["decided_by_index"] == 0, "{output}");
    let by_index = score(&scene, "", "--ties index");
    assert!(
        note(&by_index).ends_with("exact copies: the index decides which of them are neighbors"),
        "{by_index}"
    );
    let output = &by_index["graphs"]["output"];
    assert_eq!((&output["ties"], &output["decided_by_inputs"]), (&"index".into(), &Value::Null));
    // Several models have a note each.
    scene.write("z.npy", floats(1, &Random::new(4).points(SAMPLES)));
    let compared = scene.run("compare -q --inputs x.npy votes=y.npy other=z.npy --json").json();
    assert!(note(&compared).contains("outputs of `votes` have at least 10 exact copies"), "{compared}");
    // Outputs that differ need no choice.
    let differ = scene.run("score -q --inputs x.npy --outputs z.npy --json").json();
    assert_eq!((note(&differ), &differ["graphs"]["output"]["ties"]), ("", &Value::Null));
}

#[test]
fn a_graph_of_the_inputs_has_no_distances_that_could_decide() {
    let scene = scene();
    score(&scene, "", "--out made --save-graphs npz");
    let json = scene.run("score -q --input-graph made/input_graph.npz --outputs y.npy --json").json();
    assert!(note(&json).ends_with("because a graph of the inputs has no distances that could"), "{json}");
    scene.refuses(
        "score --input-graph made/input_graph.npz --outputs y.npy --ties inputs",
        &["--ties chooses among equal outputs by inputs or index, but --input-graph is given"],
    );
    scene.run("score --inputs x.npy --outputs y.npy --ties jitter").misused(&["--ties", "inputs, index"]);
}

#[test]
fn a_baseline_of_another_choice_is_refused_where_it_matters() {
    let scene = scene();
    let make = |outputs: &str, options: &str| {
        scene.run(&format!("score -q --inputs x.npy --outputs {outputs} {options}")).prints();
    };
    let check = |outputs: &str, baseline: &str| {
        scene.run(&format!(
            "check -q --inputs x.npy --outputs {outputs} --baseline {baseline} --max-regression 1%"
        ))
    };
    make("y.npy", "--out same");
    check("y.npy", "same").prints();
    make("y.npy", "--out other --ties index");
    check("y.npy", "other")
        .refuses(2, &["other", "the same choice among equal outputs (inputs), got index", "--ties"]);
    // Of outputs that differ it is as good as ours.
    scene.write("z.npy", floats(1, &Random::new(4).points(SAMPLES)));
    make("z.npy", "--out different --ties index");
    check("z.npy", "different").prints();
}
