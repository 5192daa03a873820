//! `spadework score`: what it prints.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::arrays::{Random, floats};
use crate::support::{Scene, assert_holds, score_in_interval};

#[derive(Debug)]
enum Kind {
    Number,
    Count,
    Text,
    List,
}

/// The schema of `interface.md`.
const SCHEMA: [(&str, Kind); 34] = [
    ("/schema", Kind::Text),
    ("/model_score", Kind::Number),
    ("/eigenvalues", Kind::List),
    ("/eigenvalues/1", Kind::Number),
    ("/residuals", Kind::List),
    ("/residuals/1", Kind::Number),
    ("/numerical_bounds/lower", Kind::Number),
    ("/numerical_bounds/upper", Kind::Number),
    ("/numerical_bounds/method", Kind::Text),
    ("/samples", Kind::Count),
    ("/input_dim", Kind::Count),
    ("/output_dim", Kind::Count),
    ("/neighbors/requested", Kind::Count),
    ("/neighbors/used", Kind::Count),
    ("/connectivity", Kind::Text),
    ("/eigenpairs", Kind::Count),
    ("/seed", Kind::Count),
    ("/graphs/input/edges", Kind::Count),
    ("/graphs/input/components", Kind::Count),
    ("/graphs/output/edges", Kind::Count),
    ("/graphs/output/components", Kind::Count),
    ("/label_scores/0/label", Kind::Count),
    ("/label_scores/0/score", Kind::Number),
    ("/label_scores/0/samples", Kind::Count),
    ("/top_nodes/0/index", Kind::Count),
    ("/top_nodes/0/score", Kind::Number),
    ("/top_edges/0/p", Kind::Count),
    ("/top_edges/0/q", Kind::Count),
    ("/top_edges/0/score", Kind::Number),
    ("/timings/neighbors_input_s", Kind::Number),
    ("/timings/neighbors_output_s", Kind::Number),
    ("/timings/eigen_s", Kind::Number),
    ("/timings/scores_s", Kind::Number),
    ("/timings/total_s", Kind::Number),
];

fn is(value: &Value, kind: &Kind) -> bool {
    match kind {
        Kind::Number => value.as_f64().is_some_and(f64::is_finite),
        Kind::Count => value.is_u64(),
        Kind::Text => value.is_string(),
        Kind::List => value.is_array(),
    }
}

fn numbers(list: &Value, field: &str) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|item| item[field].as_f64().unwrap()).collect()
}

#[test]
fn the_object_has_every_field_of_the_schema() {
    let json = Scene::with_model().score("--labels labels.npy --json").json();
    for (pointer, kind) in SCHEMA {
        let value = json.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing"));
        assert!(is(value, &kind), "{pointer} should be a {kind:?}, got {value}");
    }
    assert_eq!(json["schema"], "spadework.score/4");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_object_repeats_the_call() {
    let json = Scene::with_model().score("--json -k 12 -r 3 --seed 7 --connectivity bridge").json();
    assert_eq!(json["samples"], Scene::SAMPLES);
    assert_eq!(json["input_dim"], Scene::INPUT_DIM);
    assert_eq!(json["output_dim"], Scene::OUTPUT_DIM);
    assert_eq!(json["neighbors"]["requested"], 12);
    assert_eq!(json["neighbors"]["used"], 12);
    assert_eq!(json["eigenpairs"], 3);
    assert_eq!(json["eigenvalues"].as_array().unwrap().len(), 3);
    assert_eq!(json["seed"], 7);
    assert_eq!(json["connectivity"], "bridge");
    assert_eq!(json["graphs"]["input"]["components"], 1);
}

#[test]
fn the_score_is_the_largest_eigenvalue_and_enclosed() {
    let json = Scene::with_model().score("--json").json();
    let eigenvalues: Vec<f64> =
        json["eigenvalues"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let score = json["model_score"].as_f64().unwrap();
    assert_eq!(score, eigenvalues[0]);
    assert!(eigenvalues[0] >= eigenvalues[1] && eigenvalues[1] > 0.0);
    let bound = |end: &str| json["numerical_bounds"][end].as_f64().unwrap();
    assert!(bound("lower") <= score && score <= bound("upper"));
}

#[test]
fn label_scores_count_every_sample_once() {
    let json = Scene::with_model().score("--labels labels.npy --json").json();
    let samples: f64 = numbers(&json["label_scores"], "samples").iter().sum();
    assert_eq!(samples, Scene::SAMPLES as f64);
    assert_eq!(numbers(&json["label_scores"], "label"), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn lists_are_sorted_and_as_long_as_asked_for() {
    let scene = Scene::with_model();
    for (options, length) in [("", 10), ("--top 3", 3), ("--top 0", 0), ("--top 99999", Scene::SAMPLES)] {
        let json = scene.score(&format!("--json {options}")).json();
        let fragility = numbers(&json["top_nodes"], "fragility");
        assert_eq!(fragility.len(), length);
        assert!(fragility.is_sorted_by(|a, b| a >= b), "{fragility:?}");
        let scores = numbers(&json["top_edges"], "score");
        assert!(scores.is_sorted_by(|a, b| a >= b) && scores.len() >= length, "{scores:?}");
    }
}

#[test]
fn no_labels_give_no_label_scores() {
    let scene = Scene::with_model();
    assert_eq!(scene.score("--json").json()["label_scores"], Value::Array(Vec::new()));
    assert!(!scene.score("").prints().contains("label"));
}

#[test]
fn text_shows_score_labels_samples_pairs_and_time() {
    let scene = Scene::with_model();
    let text = scene.score("--labels labels.npy").prints();
    let json = scene.score("--labels labels.npy --json").json();
    let score = json["model_score"].as_f64().unwrap();
    assert!(text.starts_with("y.npy on 300 samples, 6 numbers in, 3 out\n\n  overlap   "), "{text}");
    let line = text.lines().find(|line| line.starts_with("  SPADE score")).unwrap();
    let shown: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
    // Three digits.
    assert!((shown / score - 1.0).abs() < 5e-3 && shown.to_string().len() <= 4, "{text}");
    assert_holds(
        &text,
        &[
            "larger is less robust",
            "  numerical bounds   [",
            "  eigenvalues        ",
            "  weakest samples    #",
            "  neighbors          10; ",
            "No model was run, so this says nothing about a given attack. With an ONNX file: --model net.onnx",
            "mean node score of every label, largest first",
            "most fragile samples",
            "rank  sample  ",
            "most fragile pairs",
            "seconds: ",
        ],
    );
    let overlap = &json["estimates"]["overlap"];
    assert_eq!((&overlap["estimate"], &overlap["n"]), (&json["overlap"], &300.into()));
    assert!(
        overlap["lower"].as_f64() < overlap["estimate"].as_f64()
            && overlap["estimate"].as_f64() < overlap["upper"].as_f64()
    );
    assert_eq!(json["name"], "y.npy");
    let first = json["top_nodes"][0]["index"].to_string();
    let row = text.lines().skip_while(|line| *line != "most fragile samples").nth(2).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some(first.as_str()), "{text}");
}

#[test]
fn words_are_labels_too() {
    let scene = Scene::with_model();
    let words = ["cat", "dog", "a bird, small"];
    let lines: String = (0..Scene::SAMPLES).map(|i| format!("\"{}\"\n", words[i % 3])).collect();
    scene.write("words.csv", lines);
    // Labels that have nothing to do with the outputs are asked about.
    let text = scene.score("--labels words.csv --out result").notes(&["only 34.00 % of the samples"]);
    assert_holds(&text, &words);
    assert!(scene.read("result/nodes.csv").lines().nth(3).unwrap().starts_with("2,\"a bird, small\","));
    assert_eq!(scene.read_json("result/result.json")["label_scores"][0]["name"], "a bird, small");
}

#[test]
fn a_proof_on_request() {
    let scene = Scene::with_model();
    let json = scene.score("--json --certify").json();
    assert_eq!(json["numerical_bounds"]["method"], "inertia");
    assert_eq!(json["numerical_bounds"]["probability"], 1.0);
    let bound = |end: &str| json["numerical_bounds"][end].as_f64().unwrap();
    let score = json["model_score"].as_f64().unwrap();
    assert!(bound("lower") <= score && score <= bound("upper"));
    assert!(bound("upper") - bound("lower") <= 1e-3 * score, "{json}");
    assert!(scene.score("--certify").prints().contains("], proved\n"));
}

#[test]
fn no_upper_bound_on_request() {
    let scene = Scene::with_model();
    let json = scene.score("--json --no-bounds").json();
    let found = &json["numerical_bounds"];
    assert_eq!((found["method"].as_str(), found["upper"].is_null()), (Some("none"), true), "{found}");
    let bounded = scene.score("--json").json();
    assert_eq!(found["lower"], bounded["numerical_bounds"]["lower"]);
    assert_eq!(json["model_score"], bounded["model_score"]);
    assert!(scene.score("--no-bounds").prints().contains("no upper bound\n"));
    scene.score("--no-bounds --certify").misused(&["--no-bounds", "--certify"]);
}

#[test]
fn labels_tell_pairs_and_the_worst() {
    let scene = Scene::with_model();
    let json = scene.score("--json --labels labels.npy --out result").json();
    let pairs = json["label_pairs"].as_array().unwrap();
    let edges: u64 = pairs.iter().map(|pair| pair["edges"].as_u64().unwrap()).sum();
    assert_eq!(json["graphs"]["input"]["edges"], edges);
    let labels = json["label_scores"].as_array().unwrap();
    let score = |label: &serde_json::Value| label["score"].as_f64().unwrap();
    let worst = labels.iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap();
    assert_eq!(json["disparity"]["worst"], worst["label"]);
    let mean = labels.iter().map(score).sum::<f64>() / labels.len() as f64;
    // The same sum and division.
    assert!((json["disparity"]["ratio"].as_f64().unwrap() - score(worst) / mean).abs() < 1e-12);
    let text = scene.score("--labels labels.npy").prints();
    assert!(text.contains("labels most easily confused") && text.contains("worst label"), "{text}");
    assert!(scene.read("result/label_pairs.csv").starts_with("a,b,score,edges\n0,0,"));
    assert!(scene.read("result/labels.csv").starts_with("label,score,samples,overlap\n0,"));
    assert!(scene.score("--json").json().get("label_pairs").is_none());
}

/// An embedder that keeps all items but those of one topic: the text, the tables and the page say which topic broke. The shares are counted
/// again from the edges of both graphs.
#[test]
fn labels_that_an_embedder_breaks_are_named() {
    const TOPICS: [&str; 4] = ["north", "east", "south", "west"];
    let scene = Scene::empty();
    let (old, other) = (Random::new(31).points(200 * 4), Random::new(32).points(200 * 4));
    let new: Vec<f32> = (0..800).map(|at| if at / 4 % 4 == 2 { other[at] } else { old[at] }).collect();
    scene.write("old.npy", floats(4, &old));
    scene.write("new.npy", floats(4, &new));
    scene.write("topics.txt", (0..200).map(|at| format!("{}\n", TOPICS[at % 4])).collect::<String>());
    scene.write("ids.txt", (0..200).map(|at| format!("item {at}\n")).collect::<String>());
    let call =
        "score --inputs old.npy --outputs new.npy --task embedding --labels topics.txt --ids ids.txt -q";
    let text = scene.run(&format!("{call} --out result --save-graphs csv --report page.html")).prints();
    assert!(text.contains("  weakest labels     south: "), "{text}");
    assert!(text.contains(" (by neighborhood overlap)\n"), "{text}");
    assert!(scene.read("page.html").contains("Neighborhood overlap by label"));
    assert!(scene.read("page.html").contains("Weakest labels, by neighborhood overlap: south ("));
    let edges = |file: &str| -> BTreeSet<[usize; 2]> {
        let table = scene.read(file);
        let mut header = table.lines().next().unwrap().split(',');
        assert_eq!((header.next(), header.next()), (Some("p"), Some("q")));
        let ends = |row: &str| row.split(',').take(2).map(|end| end.parse().unwrap()).collect::<Vec<_>>();
        table.lines().skip(1).map(|row| ends(row).try_into().unwrap()).collect()
    };
    let (input, output) = (edges("result/input_graph.csv"), edges("result/output_graph.csv"));
    let json = scene.read_json("result/result.json");
    for label in json["label_scores"].as_array().unwrap() {
        let topic = TOPICS.iter().position(|topic| label["name"] == *topic).unwrap();
        // Every edge counts for each of its ends that has the label.
        let ends_of = |edge: &&[usize; 2]| edge.iter().filter(|&&end| end % 4 == topic).count();
        let kept: usize = input.intersection(&output).map(|edge| ends_of(&edge)).sum();
        let all: usize = input.iter().map(|edge| ends_of(&edge)).sum();
        let found = &label["overlap"];
        assert!((found["estimate"].as_f64().unwrap() - kept as f64 / all as f64).abs() < 1e-12, "{label}");
        assert_eq!(found["n"], 50);
        assert!(found["lower"].as_f64() < found["estimate"].as_f64(), "{label}");
    }
    let models =
        call.replace("score", "compare").replace("new.npy", "new=new.npy --outputs same=old.npy --json");
    let compared = scene.run(&models).json();
    let model = compared["models"].as_array().unwrap().iter().find(|model| model["name"] == "new").unwrap();
    assert_eq!(model["label_scores"], json["label_scores"]);
}

#[test]
fn certainty_on_request() {
    let scene = Scene::with_model();
    let json = scene.score("--json --interval --references").json();
    let score = score_in_interval(&json);
    assert_eq!(
        (&json["interval"]["repetitions"], &json["interval"]["subsample"]),
        (&100.into(), &150.into())
    );
    assert!(json["references"]["permuted"].as_f64().unwrap() > score);
    assert_eq!(json["interval"], scene.score("--json --interval --threads 1").json()["interval"]);
    let text = scene.score("--interval --references").prints();
    assert!(text.contains("\n  interval           [") && text.contains("\n  permuted baseline  "), "{text}");
    let plain = scene.score("--json").json();
    assert!(plain.get("interval").is_none() && plain.get("references").is_none());
}

#[test]
fn a_call_without_outputs_is_told_of_models() {
    let scene = Scene::with_model();
    scene.run("score --inputs x.npy").misused(&["--outputs <ARRAY>", "--model net.onnx"]);
    scene.run("select --inputs x.npy").misused(&["--outputs <ARRAY>", "--model net.onnx"]);
}

/// The model, its probes and the page take time too.
#[test]
fn the_total_has_every_part() {
    let scene = Scene::with_network();
    let call = "score --inputs x.npy --model mlp.onnx --probe linf:0.1 --report page.html --quiet";
    let timings = scene.run(&format!("{call} --json")).json()["timings"].clone();
    let seconds = |name: &str| timings[name].as_f64().unwrap();
    for part in ["model_s", "probes_s", "page_s"] {
        assert!(seconds(part) > 0.0, "{part}: {timings}");
    }
    let parts = timings.as_object().unwrap().keys().filter(|name| *name != "total_s");
    let parts: f64 = parts.map(|name| seconds(name)).sum();
    assert!(parts <= seconds("total_s"), "{timings}");
    let text = scene.run(call).prints();
    assert_holds(&text, &[", model ", ", probes ", ", page ", "; total "]);
}

/// Two groups far apart: k grows. The overlap is that of the k asked for, and what happened is in the result, quiet or not.
#[test]
fn a_k_that_grew_is_told_and_the_overlap_does_not_mind() {
    let scene = Scene::empty();
    let points = Random::new(7).points(3 * 120);
    let inputs: Vec<f32> = points
        .chunks(3)
        .enumerate()
        .flat_map(|(at, row)| [row[0] + if at < 60 { 0.0 } else { 50.0 }, row[1], row[2]])
        .collect();
    let outputs: Vec<f32> = inputs.chunks(3).flat_map(|row| [row[0], row[1] + 0.2 * row[2]]).collect();
    scene.write("x.npy", floats(3, &inputs));
    scene.write("y.npy", floats(2, &outputs));
    let call = "score --inputs x.npy --outputs y.npy -k 5";
    let grown = scene.run(&format!("{call} --json -q")).json();
    assert!(grown["neighbors"]["used"].as_u64() > Some(5));
    let note = &grown["notes"][0];
    assert_eq!(note["code"], "neighbors-grown");
    let message = note["message"].as_str().unwrap();
    assert!(message.contains("--connectivity bridge") && message.contains("overlap uses k = 5"), "{message}");
    let bridged = scene.run(&format!("{call} --json -q --connectivity bridge")).json();
    assert_eq!(bridged["notes"][0]["code"], "bridges");
    // One bridge on each side among some 400 edges is all that differs.
    let overlap = |json: &Value| json["overlap"].as_f64().unwrap();
    assert!((overlap(&grown) - overlap(&bridged)).abs() < 0.005, "{} {}", overlap(&grown), overlap(&bridged));
    scene.run(&format!("{call} --out result")).notes(&["--connectivity bridge"]);
    assert_eq!(scene.read_json("result/result.json")["notes"], grown["notes"]);
}

/// A blank line separates parts; two would leave a hole where there is nothing to advise.
#[test]
fn parts_are_one_blank_line_apart() {
    let scene = Scene::with_network();
    let call = "score --inputs x.npy --model mlp.onnx -q";
    for options in ["", "--probe linf:0.1 --probes 9 --probe-samples 20"] {
        let text = scene.run(&format!("{call} {options}")).prints();
        assert!(!text.contains("\n\n\n"), "{text}");
    }
}
