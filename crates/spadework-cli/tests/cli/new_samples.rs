//! `spadework score --reference`: new samples against a stored result.

use serde_json::Value;

use crate::support::arrays::floats;
use crate::support::{Outcome, Scene};

/// A model with its result in `ref`.
fn scored() -> Scene {
    let scene = Scene::with_model();
    scene.score("-q --out ref").prints();
    scene
}

fn new(scene: &Scene, options: &str) -> Outcome {
    scene.run(&format!("score --reference ref {options}"))
}

#[test]
fn known_samples_get_their_own_scores() {
    let scene = scored();
    let json = new(&scene, "--inputs x.npy --outputs y.npy --json --labels labels.npy --out again").json();
    assert_eq!(json["schema"], "spadework.new-samples/2");
    assert_eq!((&json["samples"], &json["known"]), (&300.into(), &300.into()));
    let column = |file: &str| -> Vec<f64> {
        let table = scene.read(file);
        table.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect()
    };
    for (got, want) in column("again/nodes.csv").iter().zip(column("ref/nodes.csv")) {
        // The residual of the eigenpairs is 1e-6 by default.
        assert!((got - want).abs() < 1e-3 * want, "{got} and {want}");
    }
    let table = scene.read("again/nodes.csv");
    assert!(table.starts_with("index,label,score,rank,quantile\n0,0,"), "{}", &table[..60]);
    assert_eq!(scene.listing("again"), ["nodes.csv", "result.json"]);
    assert_eq!(scene.read_json("ref/result.json")["data"]["inputs"]["array"], "x.npy");
}

#[test]
fn a_reference_is_not_overwritten() {
    let scene = scored();
    let before = scene.read("ref/result.json");
    for out in ["ref", "./ref/", "ref/../ref"] {
        new(&scene, &format!("--inputs x.npy --outputs y.npy --out {out}"))
            .refuses(2, &[&format!("--out {out}"), "--reference ref"]);
    }
    assert_eq!(scene.read("ref/result.json"), before);
}

#[test]
fn a_reference_may_be_named_by_its_document() {
    let scene = scored();
    let call = "--inputs x.npy --outputs y.npy --json";
    let (folder, file) =
        (new(&scene, call).json(), scene.run(&format!("score --reference ref/result.json {call}")));
    assert_eq!(file.json()["top_nodes"], folder["top_nodes"]);
}

#[test]
fn the_data_of_a_reference_are_found_from_another_folder() {
    let scene = scored();
    scene.make_folder("elsewhere");
    let elsewhere = scene.path().join("elsewhere");
    // Another array under the same name is not mistaken for it.
    std::fs::copy(scene.path().join("worse.npy"), elsewhere.join("y.npy")).unwrap();
    let call = "score --reference ../ref --inputs ../x.npy --outputs ../y.npy --json";
    let output = scene.command(call).current_dir(&elsewhere).output().unwrap();
    assert_eq!(Outcome::new(output).json()["known"], 300);
}

#[test]
fn a_single_sample_will_do() {
    let scene = scored();
    scene.write("one.npy", floats(6, &[0.1; 6]));
    scene.write("out.npy", floats(3, &[0.2; 3]));
    let text = new(&scene, "--inputs one.npy --outputs out.npy").prints();
    assert!(text.starts_with("new samples   1, 0 of them samples of the reference\n"), "{text}");
    let json: Value = new(&scene, "--inputs one.npy --outputs out.npy --json").json();
    let node = &json["top_nodes"][0];
    assert!(node["score"].as_f64().unwrap() > 0.0 && node["quantile"].as_f64().unwrap() <= 1.0);
}

#[test]
fn samples_far_from_the_reference_are_told_of() {
    let scene = scored();
    scene.write("one.npy", floats(6, &[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 90.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    scene.write("out.npy", floats(3, &[0.2; 6]));
    let call = "--inputs one.npy --outputs out.npy";
    new(&scene, call)
        .notes(&["the inputs of 1 of 2 new samples are far from the reference (the first: sample 1)"]);
    let json = new(&scene, &format!("{call} --json -q")).json();
    assert_eq!((&json["far_inputs"], &json["far_outputs"]), (&1.into(), &0.into()));
    let known = new(&scene, "--inputs x.npy --outputs y.npy");
    assert!(!known.stderr.contains("far from the reference"), "{}", known.stderr);
}

#[test]
fn the_reference_must_be_what_it_was() {
    let scene = scored();
    let call = "--inputs x.npy --outputs y.npy";
    scene.write("moved.npy", std::fs::read(scene.path().join("x.npy")).unwrap());
    std::fs::rename(scene.path().join("y.npy"), scene.path().join("z.npy")).unwrap();
    new(&scene, "--inputs x.npy --outputs z.npy")
        .refuses(2, &["y.npy: no such file", "hint: ", "--reference-outputs"]);
    new(&scene, "--inputs x.npy --outputs z.npy --reference-outputs z.npy --reference-inputs moved.npy")
        .prints();
    new(&scene, "--inputs x.npy --outputs z.npy --reference-outputs worse.npy")
        .refuses(2, &["worse.npy", "outputs that the result was made from", "digest", "hint: "]);
    scene.run(&format!("score --reference none {call}")).refuses(2, &["none", "`score --out`"]);
    scene.make_folder("empty");
    scene.run(&format!("score --reference empty {call}")).refuses(2, &["empty/result.json"]);
    std::fs::remove_file(scene.path().join("ref/embedding.npy")).unwrap();
    new(&scene, call).refuses(2, &["embedding.npy", "hint: ", "score --out"]);
}

#[test]
fn new_samples_must_be_of_the_same_kind() {
    let scene = scored();
    scene.write("wide.npy", floats(7, &[0.1; 14]));
    scene.write("out.npy", floats(3, &[0.2; 6]));
    new(&scene, "--inputs wide.npy --outputs out.npy").refuses(2, &["wide.npy", "6 numbers", "got 7"]);
    new(&scene, "--inputs x.npy --outputs out.npy")
        .refuses(2, &["x.npy and out.npy", "300 inputs and 2 outputs"]);
    new(&scene, "--inputs x.npy --outputs y.npy --labels out.npy").refuses(2, &["out.npy"]);
}

#[test]
fn only_plain_graphs_and_scores_are_a_reference() {
    let scene = Scene::with_model();
    let new = |made: &str| {
        scene.run(&format!("score -q --out ref {made}")).prints();
        new(&scene, "--inputs x.npy --outputs y.npy")
    };
    let samples = "--inputs x.npy --outputs y.npy";
    new(&format!("{samples} --graph mutual"))
        .refuses(2, &["ref", "knn graphs with unit weights", "are mutual"]);
    new(&format!("{samples} --weights gaussian")).refuses(2, &["with gaussian weights", "hint: "]);
    new(&format!("{samples} --eigenpairs all")).refuses(2, &["all eigenpairs"]);
    scene.score("-q --out made --save-graphs csv").prints();
    let given = "--inputs x.npy --output-graph made/output_graph.csv";
    new(given).refuses(2, &["its graphs were given"]);
    scene.run(&format!("score {given} --interval")).refuses(2, &["--interval", "given as a graph"]);
}

#[test]
fn method_options_belong_to_the_reference() {
    let scene = scored();
    let of_the_method = ["-k 5", "-r 3", "--seed 1", "--interval", "--connectivity bridge", "--graph mutual"];
    let of_graphs = ["--weights gaussian", "--solver power", "--out d --save-graphs csv"];
    for option in of_the_method.into_iter().chain(of_graphs) {
        new(&scene, &format!("--inputs x.npy --outputs y.npy {option}")).misused(&["--reference"]);
    }
    scene.score("--reference-inputs x.npy").misused(&["--reference <RESULT>"]);
}
