//! `spadework distortion`: what it measures, prints and writes.

use serde_json::Value;

use crate::support::{Scene, assert_holds};

fn distortion(scene: &Scene, options: &str) -> crate::support::Outcome {
    scene.run(&format!("distortion --inputs x.npy --outputs worse.npy {options}"))
}

fn number(json: &Value, path: &[&str]) -> f64 {
    path.iter().fold(json, |json, key| &json[*key]).as_f64().unwrap()
}

/// Rows of a CSV file by the words of its header.
fn rows(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        header.iter().zip(line.split(',')).map(|(k, v)| ((*k).to_owned(), v.to_owned())).collect()
    };
    lines.map(row).collect()
}

#[test]
fn the_document_keeps_the_bounds_of_both_theorems() {
    let json = distortion(&Scene::with_model(), "--json --top 50").json();
    assert_eq!(json["schema"], "spadework.distortion/2");
    let score = number(&json, &["model_score"]);
    assert!(number(&json, &["largest", "distortion"]) <= score);
    assert_eq!(number(&json, &["largest", "bound"]), score);
    assert!(number(&json, &["cut", "distortion"]) >= 1.0 / score);
    assert_eq!(number(&json, &["bi_lipschitz"]), score.max(number(&json, &["reverse_score"])));
    assert_eq!(json["riemannian"]["all"], true);
    assert_eq!(json["riemannian"]["eigenvalues"], Scene::SAMPLES - 1);
    for (distance, word) in json["distances"].as_array().unwrap().iter().zip(["geodesic", "resistance"]) {
        assert_eq!(distance["distance"], word);
        for group in ["top", "random"] {
            let of = |end: &str| number(distance, &[group, end]);
            assert!(of("lower") <= of("mean") && of("mean") <= of("upper"), "{distance}");
        }
        // A model that tears samples apart: its top edges are not like others.
        assert!(number(distance, &["top", "mean"]) > number(distance, &["random", "mean"]), "{distance}");
        assert!(number(distance, &["p_value"]) < 0.01, "{distance}");
    }
}

#[test]
fn text_shows_both_distances_and_all_bounds() {
    let text = distortion(&Scene::with_model(), "--labels labels.npy --pair 3,4").prints();
    assert_holds(
        &text,
        &[
            "100 top edges",
            "100 random edges",
            "geodesic",
            "resistance",
            "distortion of the pairs of --pair",
            "largest distortion found",
            "sparsest cut",
            "labels inside: ",
            "reverse score",
            "bi-Lipschitz constant",
            "Riemannian distance",
            "(all eigenvalues)",
        ],
    );
}

/// The tables hold what the means are made of.
#[test]
fn the_folder_holds_every_pair_and_the_set() {
    let scene = Scene::with_model();
    let json = distortion(&scene, "--json --top 40 --pair 7,200 --out result --all-edges").json();
    let pairs = rows(&scene.read("result/pairs.csv"));
    let of = |group: &str| -> Vec<f64> {
        pairs
            .iter()
            .filter(|row| row["group"] == group)
            .map(|row| {
                assert_eq!(row["geodesic_distortion"].parse::<f64>().unwrap().fract(), 0.0, "{row:?}");
                row["resistance_distortion"].parse().unwrap()
            })
            .collect()
    };
    let (top, random) = (of("top"), of("random"));
    assert_eq!((top.len(), random.len(), pairs.len()), (40, 40, 81));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let resistance = &json["distances"][1];
    assert!((mean(&top) / number(resistance, &["top", "mean"]) - 1.0).abs() < 1e-12);
    assert!((mean(&random) / number(resistance, &["random", "mean"]) - 1.0).abs() < 1e-12);
    let ends = |row: &std::collections::HashMap<String, String>| (row["p"].clone(), row["q"].clone());
    let different: std::collections::HashSet<_> = pairs[..80].iter().map(ends).collect();
    assert_eq!(different.len(), 80, "no edge is in both groups");
    let set = scene.read("result/cut.csv").lines().count() - 1;
    assert_eq!(json["cut"]["samples"], set);
    let edges = rows(&scene.read("result/edge_distances.csv"));
    assert_eq!(json["all_edges"]["edges"], edges.len());
    assert_eq!(scene.read_json("result/distortion.json")["schema"], "spadework.distortion/2");
    // The same edge, measured by solves in both tables: few samples need no projection.
    let first = &pairs[0];
    let same = edges.iter().find(|row| row["p"] == first["p"] && row["q"] == first["q"]).unwrap();
    let [a, b]: [f64; 2] = [first, same].map(|row| row["resistance_distortion"].parse().unwrap());
    assert!((a / b - 1.0).abs() < 1e-9, "{a} and {b}");
}

#[test]
fn seeds_and_threads_decide_what_they_should() {
    let scene = Scene::with_model();
    let first = distortion(&scene, "--json --threads 1").prints();
    assert_eq!(distortion(&scene, "--json --threads 3").prints(), first);
    assert_ne!(distortion(&scene, "--json --seed 1").prints(), first, "other random edges");
}

#[test]
fn wrong_calls_are_named() {
    let scene = Scene::with_model();
    scene.write("path.csv", "0,1\n1,2\n2,3\n3,4\n4,5\n");
    let few = "distortion --input-graph path.csv --output-graph path.csv -r 1";
    assert_eq!(scene.run(&format!("{few} --json")).json()["top"], 2, "half of the five edges");
    scene.run(&format!("{few} --top 3")).refuses(2, &["half the number of input edges (5)"]);
    distortion(&scene, "--top 100000").refuses(2, &["--top", "100000", "half the number of input edges"]);
    distortion(&scene, "--pair 3,300").refuses(2, &["--pair", "below 300", "3,300"]);
    distortion(&scene, "--pair 3,3").refuses(2, &["--pair", "two different samples"]);
    distortion(&scene, "--pair 3").misused(&["--pair", "848,3796"]);
    distortion(&scene, "--all-edges").misused(&["--out"]);
    distortion(&scene, "--top 0").misused(&["--top"]);
    distortion(&scene, "--all-edges --out result --sketch-error 2")
        .refuses(2, &["0.02", "0.9", "--sketch-error"]);
    assert!(!scene.path().join("result").exists(), "nothing is left behind");
}
