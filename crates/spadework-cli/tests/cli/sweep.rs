//! `spadework sweep`: the score over k.

use crate::support::{Outcome, Scene};

fn sweep(scene: &Scene, options: &str) -> Outcome {
    scene.run(&format!("sweep --inputs x.npy {options}"))
}

#[test]
fn every_k_scores_as_alone() {
    let scene = Scene::with_model();
    let json = sweep(&scene, "--outputs y.npy -k 6..12:3 --json").json();
    assert_eq!(json["schema"], "spadework.sweep/3");
    assert_eq!(json["models"], serde_json::json!(["y"]));
    assert!(json.get("stable").is_none());
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    for (point, k) in points.iter().zip([6, 9, 12]) {
        assert_eq!((&point["neighbors"], &point["used"]), (&k.into(), &k.into()));
        let alone = scene.score(&format!("--json -k {k}")).json();
        for field in ["model_score", "eigenvalues", "numerical_bounds", "residuals"] {
            assert_eq!(point["scores"][0][field], alone[field], "{field} at {k}");
        }
    }
}

#[test]
fn a_given_input_graph_is_the_same_for_every_k() {
    let scene = Scene::with_model();
    scene.score("-q -k 9 --out r --save-graphs npz").prints();
    let given = "--input-graph r/input_graph.npz --outputs y.npy --json";
    let json = scene.run(&format!("sweep {given} -k 9,12")).json();
    assert!(json.get("input_search").is_none(), "nobody searched");
    for point in json["points"].as_array().unwrap() {
        let alone = scene.run(&format!("score {given} -k {}", point["neighbors"])).json();
        assert_eq!(point["scores"][0]["eigenvalues"], alone["eigenvalues"]);
        assert_eq!(point["input_components"], 1);
    }
    // Pieces of a given graph are no fault of k.
    scene.write("pieces.csv", "0,1\n2,3\n");
    let pieces = scene.run("sweep --input-graph pieces.csv --outputs y.npy -k 9,12 -r 1");
    assert!(!pieces.stdout.contains("disconnected"), "{}", pieces.stdout);
    pieces.notes(&["the given input graph has 298 components"]);
    scene.refuses("sweep --input-graph pieces.csv --outputs y.npy --graph pca:2", &["--graph pca:"]);
}

#[test]
fn graphs_are_made_as_for_one_model() {
    let scene = Scene::with_model();
    let method = "--graph pca:4 --weights gaussian";
    let json = sweep(&scene, &format!("--outputs y.npy -k 8,12 --json {method}")).json();
    assert_eq!((&json["graph"], &json["weights"]), (&"pca:4".into(), &"gaussian".into()));
    assert_eq!(json["input_search"]["method"], "exact");
    for (point, k) in json["points"].as_array().unwrap().iter().zip([8, 12]) {
        let alone = scene.score(&format!("--json -k {k} {method}")).json();
        assert_eq!(point["scores"][0]["eigenvalues"], alone["eigenvalues"], "{k}");
    }
    sweep(&scene, "--outputs y.npy --eigenpairs all")
        .refuses(2, &["--eigenpairs all", "only has SPADE scores"]);
}

#[test]
fn both_ends_are_in_and_five_to_twenty_is_the_default() {
    let scene = Scene::with_model();
    let json = sweep(&scene, "--outputs y.npy --json").json();
    let neighbors: Vec<u64> =
        json["points"].as_array().unwrap().iter().map(|point| point["neighbors"].as_u64().unwrap()).collect();
    assert_eq!(neighbors, (5..=20).collect::<Vec<u64>>());
}

#[test]
fn says_where_the_ranking_is_stable() {
    let scene = Scene::with_model();
    let call = "--outputs good=y.npy --outputs bad=worse.npy --neighbors 8,10,14";
    let json = sweep(&scene, &format!("{call} --json")).json();
    let stable = &json["stable"];
    assert_eq!(stable["ranking"], serde_json::json!(["good", "bad"]));
    assert_eq!((&stable["from"], &stable["to"], &stable["points"]), (&8.into(), &14.into(), &3.into()));
    let text = sweep(&scene, call).prints();
    assert!(text.contains("the order is the same for every k: good < bad"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["k", "good", "bad", "most", "robust"]);
    assert_eq!((rows[2][0], rows[2][3]), ("8", "good"));
}

#[test]
fn tells_what_was_done_to_disconnected_graphs() {
    let scene = Scene::with_pieces();
    let call = "--outputs pieces.npy -k 4,40";
    let grown = sweep(&scene, call).prints();
    assert!(grown.contains("k grown to"), "{grown}");
    assert!(grown.contains("disconnected at k = 4; the smallest larger k"), "{grown}");
    let bridged = sweep(&scene, &format!("{call} --connectivity bridge")).prints();
    assert!(bridged.contains("bridge"), "{bridged}");
    let refused = sweep(&scene, &format!("{call} --connectivity error")).prints();
    assert!(
        refused.contains("refused: disconnected") && refused.contains("these have no score"),
        "{refused}"
    );
    let json = sweep(&scene, &format!("{call} --connectivity error --json")).json();
    assert_eq!(json["disconnected"], serde_json::json!([4]));
    assert!(json["points"][0]["refused"].as_str().unwrap().contains("components"));
    sweep(&scene, "--outputs pieces.npy -k 4,5 --connectivity error")
        .refuses(3, &["model `pieces`", "5 neighbors", "hint: "]);
}

#[test]
fn tables_are_written() {
    let scene = Scene::with_model();
    sweep(&scene, "--outputs y.npy --outputs worse.npy -k 8,9 --out result --tables csv,npy").prints();
    assert_eq!(scene.listing("result"), ["result.json", "scores.npy", "sweep.csv"]);
    let table = scene.read("result/sweep.csv");
    assert!(
        table.starts_with(
            "neighbors,used,name,model_score,numerical_bounds_lower,numerical_bounds_upper\n8,8,y,"
        ),
        "{table}"
    );
    assert_eq!(table.lines().count(), 5);
}

#[test]
fn wrong_ranges_are_refused() {
    let scene = Scene::with_model();
    sweep(&scene, "--outputs y.npy --neighbors 20..5").misused(&["--neighbors", "must ascend", "20..5"]);
    sweep(&scene, "--outputs y.npy --neighbors 0..5").misused(&["--neighbors", "FROM..TO"]);
    sweep(&scene, "--outputs y.npy --neighbors 5..20:0").misused(&["--neighbors", "FROM..TO"]);
    sweep(&scene, "--outputs y.npy --neighbors 10,5").misused(&["--neighbors", "5 after 10"]);
    sweep(&scene, "--outputs y.npy --neighbors five").misused(&["--neighbors", "FROM..TO"]);
    sweep(&scene, "--outputs y.npy --neighbors 5..300").refuses(2, &["neighbors", "(300)", "got 300"]);
    sweep(&scene, "--outputs y.npy --outputs y=worse.npy").refuses(2, &["`y` twice"]);
    sweep(&scene, "").misused(&["--outputs"]);
}
