//! `--out`: the files of a result.

use serde_json::Value;

use crate::support::{Scene, listing};

fn rows(table: &str) -> Vec<Vec<String>> {
    table.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn column<T: std::str::FromStr>(table: &str, column: usize) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    rows(table).iter().map(|row| row[column].parse().unwrap()).collect()
}

fn without_timings(mut json: Value) -> Value {
    json.as_object_mut().unwrap().remove("timings").expect("timings");
    json
}

#[test]
fn holds_the_object_and_both_tables() {
    let scene = Scene::with_model();
    scene.score("--out result").prints();
    let expected = ["edges.csv", "embedding.npy", "nodes.csv", "result.json"];
    assert_eq!(scene.listing("result"), expected);
    assert_eq!(listing(scene.path()), ["labels.npy", "result", "worse.npy", "x.npy", "y.npy"]);
}

/// A folder that is used again holds the new result alone: no table of labels that it was not given, none in another format. What
/// somebody else has put there stays, even under our name.
#[test]
fn tables_of_an_earlier_result_are_gone() {
    let scene = Scene::with_model();
    scene.score("--labels labels.npy --out result --tables csv,parquet,npy --save-graphs csv").prints();
    let all = scene.listing("result");
    assert!(all.contains(&"labels.csv".to_owned()) && all.contains(&"nodes.parquet".to_owned()), "{all:?}");
    scene.write("result/mine.txt", "kept");
    scene.write("result/label_pairs.csv", "one,two\n");
    scene.score("--out result").prints();
    let expected = [
        "edges.csv",
        "embedding.npy",
        "input_graph.csv",
        "label_pairs.csv",
        "mine.txt",
        "nodes.csv",
        "output_graph.csv",
        "result.json",
    ];
    assert_eq!(scene.listing("result"), expected);
    // Of a folder without a result, nothing is ours.
    scene.make_folder("other");
    scene.write("other/labels.csv", "label,score,samples\n");
    scene.score("--out other").prints();
    assert_eq!(scene.read("other/labels.csv"), "label,score,samples\n");
    // Another command writes other tables.
    scene.run("compare --inputs x.npy y.npy worse.npy --out result").prints();
    let compared = scene.listing("result");
    assert!(
        !compared.contains(&"edges.csv".to_owned()) && compared.contains(&"models.csv".to_owned()),
        "{compared:?}"
    );
}

#[test]
fn the_object_is_the_one_printed() {
    let scene = Scene::with_model();
    let mut printed = scene.score("--labels labels.npy --json --out result").json();
    assert_eq!(printed, scene.read_json("result/result.json"));
    // Only a result that is kept says what it was made of, and by which command.
    printed.as_object_mut().unwrap().remove("data").expect("data");
    let command = printed.as_object_mut().unwrap().remove("command").expect("command");
    assert!(command.as_str().unwrap().ends_with("--labels labels.npy --json --out result"), "{command}");
    let again = scene.score("--labels labels.npy --json").json();
    assert_eq!(without_timings(printed), without_timings(again));
}

#[test]
fn nodes_are_ranked() {
    let scene = Scene::with_model();
    let json = scene.score("--labels labels.npy --json --out result").json();
    let table = scene.read("result/nodes.csv");
    assert_eq!(table.lines().next(), Some("index,label,score,rank,margin,fragility,overlap"));
    assert_eq!(column::<usize>(&table, 0), (0..Scene::SAMPLES).collect::<Vec<_>>());
    assert!(column::<usize>(&table, 1).iter().enumerate().all(|(i, &label)| label == i % 4));
    let (scores, ranks): (Vec<f64>, Vec<usize>) = (column(&table, 2), column(&table, 3));
    let mut by_rank = vec![None; Scene::SAMPLES];
    for (sample, rank) in ranks.iter().enumerate() {
        assert!(by_rank[rank - 1].replace(sample).is_none(), "rank {rank} twice");
    }
    let order: Vec<usize> = by_rank.into_iter().map(Option::unwrap).collect();
    let fragility: Vec<f64> = column(&table, 5);
    assert!(order.is_sorted_by(|&a, &b| fragility[a] >= fragility[b]));
    assert_eq!(json["top_nodes"][0]["index"], order[0]);
    assert_eq!(json["top_nodes"][0]["score"], scores[order[0]]);
}

#[test]
fn edges_are_those_of_the_input_graph() {
    let scene = Scene::with_model();
    let json = scene.score("--json --out result").json();
    let table = scene.read("result/edges.csv");
    assert_eq!(table.lines().next(), Some("p,q,score"));
    let (p, q): (Vec<usize>, Vec<usize>) = (column(&table, 0), column(&table, 1));
    assert_eq!(json["graphs"]["input"]["edges"], p.len());
    assert!(p.iter().zip(&q).all(|(p, q)| p < q && *q < Scene::SAMPLES));
    let largest = column::<f64>(&table, 2).into_iter().fold(0.0, f64::max);
    assert_eq!(json["top_edges"][0]["score"], largest);
}

#[test]
fn tables_come_in_three_formats() {
    let scene = Scene::with_model();
    // As many labels as outputs: classes, which have margins.
    scene.write("three.csv", (0..Scene::SAMPLES).map(|at| format!("{}\n", at % 3)).collect::<String>());
    scene.score("--labels three.csv --out result --tables csv,parquet,npy -q").prints();
    let expected = [
        "edge_scores.npy",
        "edges.csv",
        "edges.npy",
        "edges.parquet",
        "embedding.npy",
        "fragility.npy",
        "label_pairs.csv",
        "label_pairs.parquet",
        "labels.csv",
        "labels.parquet",
        "margins.npy",
        "node_scores.npy",
        "nodes.csv",
        "nodes.parquet",
        "overlap.npy",
        "result.json",
    ];
    assert_eq!(scene.listing("result"), expected);
    scene.score("--out other --tables parquet").prints();
    assert_eq!(scene.listing("other"), ["edges.parquet", "embedding.npy", "nodes.parquet", "result.json"]);
}

#[test]
fn the_formats_hold_the_same_numbers() {
    let scene = Scene::with_model();
    scene.score("--out result --tables csv,parquet,npy").prints();
    let table = scene.read("result/nodes.csv");
    let scores: Vec<f64> = column(&table, 2);
    // The command reads what it writes: one column of scores scores alike in every format.
    scene.write("scores.csv", scores.iter().map(|score| format!("{score}\n")).collect::<String>());
    let score_of = |outputs: &str| {
        scene.run(&format!("score --json --inputs x.npy --outputs {outputs}")).json()["model_score"].clone()
    };
    let expected = score_of("scores.csv");
    assert_eq!(score_of("result/node_scores.npy"), expected);
    assert_eq!(score_of("result/nodes.parquet:score"), expected);
    assert_eq!(score_of("result/nodes.csv:score"), expected);
}

#[test]
fn a_new_result_replaces_the_old_one_and_nothing_else() {
    let scene = Scene::with_model();
    scene.make_folder("result/plots");
    scene.write("result/notes.txt", "mine");
    scene.write("result/nodes.csv", "old");
    scene.score("--out result").prints();
    let expected = ["edges.csv", "embedding.npy", "nodes.csv", "notes.txt", "plots", "result.json"];
    assert_eq!(scene.listing("result"), expected);
    assert_eq!(scene.read("result/notes.txt"), "mine");
    assert!(scene.read("result/nodes.csv").starts_with("index,label,"));
    scene.score("--out result/ --seed 1").prints();
    assert_eq!(scene.listing("result"), expected);
    assert_eq!(scene.read_json("result/result.json")["seed"], 1);
}

#[test]
fn folders_above_it_are_made() {
    let scene = Scene::with_model();
    scene.score("--out runs/today/result").prints();
    assert_eq!(scene.listing("runs/today"), ["result"]);
}

#[test]
fn may_be_the_current_folder() {
    let scene = Scene::with_model();
    scene.score("--out .").prints();
    assert!(listing(scene.path()).contains(&"result.json".to_owned()));
    assert!(!listing(scene.path()).iter().any(|name| name.contains(".tmp")));
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let scene = Scene::with_model();
    let before = listing(scene.path());
    scene.score("-k 300 --out result").refuses(2, &["neighbors"]);
    // Not after the search, whose graphs would stay.
    scene.score("-r 300 --out result").refuses(2, &["eigenpairs"]);
    scene.refuses("score --inputs x.npy --outputs none.npy --out result", &["none.npy"]);
    scene.refuses("score --inputs x.npy --outputs none.npy --out runs/today/result", &["none.npy"]);
    assert_eq!(listing(scene.path()), before);
}

#[test]
fn a_failure_keeps_the_old_result() {
    let scene = Scene::with_model();
    scene.score("--out result").prints();
    let before = scene.read("result/result.json");
    scene.score("-k 300 --out result").refuses(2, &["neighbors"]);
    assert_eq!(scene.read("result/result.json"), before);
    let expected = ["edges.csv", "embedding.npy", "nodes.csv", "result.json"];
    assert_eq!(scene.listing("result"), expected);
}

#[test]
fn tables_need_a_folder() {
    let scene = Scene::with_model();
    scene.score("--tables parquet").misused(&["--out <DIR>"]);
    scene.score("--out result --tables excel").misused(&["'excel'", "--tables", "csv, parquet, npy"]);
}

#[test]
fn a_file_is_no_folder() {
    let scene = Scene::with_model();
    let before = listing(scene.path());
    // Found out before the inputs are even looked at: a long run must not end like this.
    scene.refuses(
        "score --inputs none.npy --outputs y.npy --out x.npy",
        &["x.npy: cannot be written: not a directory"],
    );
    scene.score("--out x.npy/result").refuses(2, &["x.npy/result", "cannot be written"]);
    assert_eq!(listing(scene.path()), before);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let scene = Scene::with_model();
    for place in ["/proc/spadework-result", "/dev/null/result"] {
        scene.score(&format!("--out {place}")).refuses(2, &[place, "cannot be written"]);
    }
}
