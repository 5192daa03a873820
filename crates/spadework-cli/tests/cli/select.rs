//! `spadework select`.

use crate::support::{Outcome, Scene, listing};

fn select(scene: &Scene, options: &str) -> Outcome {
    scene.run(&format!("select --inputs x.npy --outputs y.npy {options}"))
}

fn ids(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The ids of `score`, most fragile first.
fn ranking(scene: &Scene) -> Vec<usize> {
    let json = scene.score("--json --top 300").json();
    let nodes = json["top_nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["index"].as_u64().unwrap() as usize).collect()
}

#[test]
fn prints_one_id_a_line() {
    let scene = Scene::with_model();
    let ranking = ranking(&scene);
    assert_eq!(ids(&select(&scene, "--top 7").prints()), ranking[..7]);
    assert_eq!(ids(&select(&scene, "").prints()), ranking[..100]);
    assert_eq!(ids(&select(&scene, "--top 300").prints()), ranking);
}

#[test]
fn takes_all_of_fewer_than_a_hundred() {
    let scene = Scene::empty();
    let line: String = (0..20_u32).map(|i| format!("{}\n", i * i)).collect();
    scene.write("x.csv", line);
    let text = scene.run("select --inputs x.csv --outputs x.csv -k 3").prints();
    let mut ids = ids(&text);
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
}

#[test]
fn refuses_more_than_there_are() {
    let scene = Scene::with_model();
    select(&scene, "--top 301").refuses(2, &["--top", "(300)", "got 301"]);
    select(&scene, "--top 0").misused(&["--top", "'0'"]);
}

#[test]
fn scores_come_as_a_table() {
    let scene = Scene::with_model();
    let text = select(&scene, "--top 5 --scores --labels labels.npy").prints();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["index", "label", "score", "rank", "margin", "fragility"]);
    assert_eq!(rows.len(), 6);
    let scores: Vec<f64> = rows[1..].iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b));
    for (rank, row) in rows[1..].iter().enumerate() {
        let index: usize = row[0].parse().unwrap();
        assert_eq!(row[1], (index % 4).to_string());
        assert_eq!(row[3], (rank + 1).to_string());
    }
}

#[test]
fn json_lists_ids_and_scores() {
    let scene = Scene::with_model();
    let json = select(&scene, "--top 5 --json").json();
    assert_eq!(json["schema"], "spadework.select/2");
    assert_eq!((&json["top"], &json["samples"]), (&5.into(), &300.into()));
    let indices: Vec<usize> = serde_json::from_value(json["indices"].clone()).unwrap();
    assert_eq!(indices, ranking(&scene)[..5]);
    assert_eq!(json["nodes"][4]["index"], indices[4]);
    assert!(json["nodes"][4]["score"].is_f64());
}

#[test]
fn the_folder_holds_the_selection() {
    let scene = Scene::with_model();
    let printed = select(&scene, "--top 5 --scores --out result").prints();
    let expected = ["edges.csv", "embedding.npy", "nodes.csv", "result.json", "selected.csv"];
    assert_eq!(listing(&scene.path().join("result")), expected);
    assert_eq!(scene.read("result/selected.csv"), printed);
}
