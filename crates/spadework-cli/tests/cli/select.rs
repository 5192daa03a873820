//! `spadework select`.

use crate::support::arrays::{Random, floats};
use crate::support::{Outcome, Scene};

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

/// Names of the samples stand for their indices wherever samples are listed.
#[test]
fn samples_are_listed_by_their_ids() {
    let scene = Scene::with_model();
    scene.write("ids.txt", (0..300).map(|at| format!("img_{at}\n")).collect::<String>());
    let indices = ids(&select(&scene, "--top 4").prints());
    let named: Vec<String> = indices.iter().map(|index| format!("img_{index}")).collect();
    let text = select(&scene, "--top 4 --ids ids.txt").prints();
    assert_eq!(text.lines().collect::<Vec<_>>(), named);
    let json = select(&scene, "--top 4 --ids ids.txt --json").json();
    assert_eq!((&json["ids"], &json["indices"]), (&named.clone().into(), &indices.clone().into()));
    assert_eq!(json["nodes"][0]["id"], named[0].as_str());
    assert!(select(&scene, "--top 4 --json").json().get("ids").is_none());
    let text = scene.score("--ids ids.txt").prints();
    assert!(text.contains(&format!("weakest samples    {}", named[..4].join(" "))), "{text}");
    let moved = |options: &str| {
        scene.run(&format!(
            "select --inputs x.npy --outputs y.npy --against worse.npy --moved --top 3 {options}"
        ))
    };
    let indices = ids(&moved("").prints());
    let expected: String = indices.iter().map(|index| format!("img_{index}\n")).collect();
    assert_eq!(moved("--ids ids.txt").prints(), expected);
    let header = "index,id,label,overlap,distance_ratio,rank\n";
    assert!(moved("--ids ids.txt --scores").prints().starts_with(header));
    assert_eq!(moved("--ids ids.txt --json").json()["nodes"][0]["id"], format!("img_{}", indices[0]));
    scene.write("twice.txt", (0..300).map(|at| format!("img_{}\n", at % 299)).collect::<String>());
    select(&scene, "--top 4 --ids twice.txt").notes(&["twice.txt", "samples 0 and 299", "img_0"]);
    assert_eq!(select(&scene, "--ids twice.txt --json -q").json()["notes"][0]["code"], "repeated-ids");
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
    assert_eq!(rows[0], ["index", "label", "score", "rank", "margin", "fragility", "overlap"]);
    assert_eq!(rows.len(), 6);
    let fragility: Vec<f64> = rows[1..].iter().map(|row| row[5].parse().unwrap()).collect();
    assert!(fragility.is_sorted_by(|a, b| a >= b));
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
    assert_eq!(json["schema"], "spadework.select/3");
    assert_eq!((&json["top"], &json["samples"]), (&5.into(), &300.into()));
    let indices: Vec<usize> = serde_json::from_value(json["indices"].clone()).unwrap();
    assert_eq!(indices, ranking(&scene)[..5]);
    assert_eq!((&json["by"], &json["fragility_basis"]), (&"fragility".into(), &"margins and slopes".into()));
    assert_eq!(json["nodes"][4]["index"], indices[4]);
    assert!(json["nodes"][4]["score"].is_f64());
}

#[test]
fn the_folder_holds_the_selection() {
    let scene = Scene::with_model();
    let printed = select(&scene, "--top 5 --scores --out result").prints();
    let expected = ["edges.csv", "embedding.npy", "nodes.csv", "result.json", "selected.csv"];
    assert_eq!(scene.listing("result"), expected);
    assert_eq!(scene.read("result/selected.csv"), printed);
}

/// The numbers of a column of `nodes.csv`.
fn column(scene: &Scene, name: &str) -> Vec<f64> {
    let table = scene.read("result/nodes.csv");
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = rows.next().unwrap().iter().position(|title| *title == name).unwrap();
    rows.map(|row| row[at].parse().unwrap()).collect()
}

#[test]
fn samples_are_ranked_by_what_is_asked_for() {
    let scene = Scene::with_model();
    scene.score("--out result").prints();
    for (by, column_name, is_largest_first) in [
        ("node", "score", true),
        ("fragility", "fragility", true),
        ("margin", "margin", false),
        ("overlap", "overlap", false),
    ] {
        let values = column(&scene, column_name);
        let ids = ids(&select(&scene, &format!("--by {by} --top 300")).prints());
        let chosen: Vec<f64> = ids.iter().map(|&id| values[id]).collect();
        assert!(
            chosen.is_sorted_by(|a, b| if is_largest_first { a >= b } else { a <= b }),
            "{by}: {chosen:?}"
        );
        assert_eq!(select(&scene, &format!("--by {by} --json")).json()["by"], by);
    }
    // Equal overlaps by node score.
    let (overlaps, scores) = (column(&scene, "overlap"), column(&scene, "score"));
    let ids = ids(&select(&scene, "--by overlap --top 300").prints());
    assert!(ids.is_sorted_by(|&a, &b| overlaps[a] < overlaps[b] || scores[a] >= scores[b]));
    assert!(!ids.is_sorted_by(|&a, &b| overlaps[a] < overlaps[b] || a < b), "the index decides nothing here");
    // One number per sample is not a class: node scores are the best there is.
    let line: String = (0..40_u32).map(|i| format!("{}\n", i * i)).collect();
    scene.write("line.csv", line);
    let json = scene.run("select --inputs line.csv --outputs line.csv -k 3 --json").json();
    assert_eq!((&json["by"], &json["fragility_basis"]), (&"node".into(), &"node scores".into()));
}

#[test]
fn overlap_is_the_share_of_neighbors_that_stay() {
    let scene = Scene::with_model();
    let json = scene.score("--out result --save-graphs csv --json").json();
    let edges = |name: &str| -> std::collections::BTreeSet<(usize, usize)> {
        let pair = |line: &str| {
            let ends: Vec<usize> = line.split(',').take(2).map(|end| end.parse().unwrap()).collect();
            (ends[0], ends[1])
        };
        scene.read(name).lines().skip(1).map(pair).collect()
    };
    let (input, output) = (edges("result/input_graph.csv"), edges("result/output_graph.csv"));
    let overlaps = column(&scene, "overlap");
    for (sample, &found) in overlaps.iter().enumerate() {
        let own: Vec<_> = input.iter().filter(|(p, q)| *p == sample || *q == sample).collect();
        let stay = own.iter().filter(|edge| output.contains(edge)).count();
        assert_eq!(found, stay as f64 / own.len() as f64, "{sample}");
    }
    let whole = input.intersection(&output).count() as f64 / input.len() as f64;
    assert!((json["overlap"].as_f64().unwrap() - whole).abs() < 1e-12);
    let node = &json["top_nodes"][0];
    assert_eq!(node["overlap"], overlaps[node["index"].as_u64().unwrap() as usize]);
}

/// An upgrade of an embedding that keeps 4,960 of 5,000 items about where they were, and moves 40 to somewhere else.
#[test]
fn items_that_an_upgrade_moved_are_found() {
    const ITEMS: usize = 5000;
    const DIM: usize = 16;
    let scene = Scene::empty();
    let before = Random::new(5).points(ITEMS * DIM);
    let (noise, elsewhere) = (Random::new(6).points(ITEMS * DIM), Random::new(7).points(ITEMS * DIM));
    let is_moved = |item: usize| item % 125 == 7;
    let after: Vec<f32> = (0..ITEMS * DIM)
        .map(|at| if is_moved(at / DIM) { elsewhere[at] } else { before[at] + 0.05 * noise[at] })
        .collect();
    scene.write("before.npy", floats(DIM, &before));
    scene.write("after.npy", floats(DIM, &after));
    let call = "select --inputs before.npy --outputs before.npy --against after.npy --moved";
    let mut found = ids(&scene.run(&format!("{call} --top 40")).prints());
    found.sort_unstable();
    assert_eq!(found, (0..ITEMS).filter(|&item| is_moved(item)).collect::<Vec<_>>());
    let json = scene.run(&format!("{call} --top 3 --json --out moved")).json();
    assert_eq!((&json["schema"], &json["samples"]), (&"spadework.moved/1".into(), &ITEMS.into()));
    assert!(json["nodes"][0]["overlap"].as_f64().unwrap() < 0.1, "{json}");
    assert!(json["overlap"]["estimate"].as_f64().unwrap() > 0.5, "{json}");
    assert_eq!(scene.listing("moved"), ["result.json", "selected.csv"]);
    assert!(scene.read("moved/selected.csv").starts_with("index,label,overlap,distance_ratio,rank\n"));
}

/// Every cluster is shuffled, so that hundreds of items keep no neighbor; those that went to another cluster come first.
#[test]
fn of_items_that_keep_no_neighbor_the_farthest_come_first() {
    const CLUSTERS: usize = 20;
    const EACH: usize = 60;
    const DIM: usize = 8;
    let scene = Scene::empty();
    let centers = Random::new(11).points(CLUSTERS * DIM);
    let around = |seed, moved: &dyn Fn(usize) -> bool| -> Vec<f32> {
        let noise = Random::new(seed).points(CLUSTERS * EACH * DIM);
        let center = |item: usize| (item / EACH + usize::from(moved(item)) * 7) % CLUSTERS;
        (0..noise.len()).map(|at| 20.0 * centers[center(at / DIM) * DIM + at % DIM] + noise[at]).collect()
    };
    let is_moved = |item: usize| item % 60 == 31;
    scene.write("before.npy", floats(DIM, &around(12, &|_| false)));
    scene.write("after.npy", floats(DIM, &around(13, &is_moved)));
    let call = "select --inputs before.npy --outputs before.npy --against after.npy --moved -k 3";
    let json = scene.run(&format!("{call} --top 1200 --json")).json();
    let nodes = json["nodes"].as_array().unwrap();
    let lost = nodes.iter().filter(|node| node["overlap"] == 0.0).count();
    assert!(lost > 400, "{lost}");
    let mut first = ids(&scene.run(&format!("{call} --top 20")).prints());
    first.sort_unstable();
    assert_eq!(first, (0..CLUSTERS * EACH).filter(|&item| is_moved(item)).collect::<Vec<_>>());
    // The order of an embedding is the same, whatever connects the clusters.
    for policy in ["grow", "bridge"] {
        let call =
            "select --inputs before.npy --outputs after.npy --task embedding -k 3 --top 20 -q --connectivity";
        let mut first = ids(&scene.run(&format!("{call} {policy}")).prints());
        first.sort_unstable();
        assert!(first.iter().all(|&item| is_moved(item)), "{policy}: {first:?}");
    }
    let ratio = |at: usize| nodes[at]["distance_ratio"].as_f64().unwrap();
    // Next are those that these were neighbors of: at most three each, or a little more. All others stayed in their cluster.
    assert!(ratio(19) > 5.0 * ratio(200), "{} {}", ratio(19), ratio(200));
}

#[test]
fn moved_samples_need_two_outputs_of_the_same_samples() {
    let scene = Scene::with_model();
    select(&scene, "--moved").misused(&["--against"]);
    select(&scene, "--against worse.npy").misused(&["--moved"]);
    select(&scene, "--moved --against worse.npy --by node").misused(&["--by"]);
    // Neighbors among the outputs are all that is looked at.
    for option in [
        "--ties index",
        "--standardize",
        "--input-metric cosine",
        "--graph mutual",
        "--connectivity bridge",
        "-r 3",
    ] {
        select(&scene, &format!("--moved --against worse.npy {option}"))
            .misused(&["--moved", "cannot be used with"]);
    }
    scene.write("few.csv", "1\n2\n3\n4\n");
    select(&scene, "--moved --against few.csv").refuses(2, &["the same samples", "got 300 and 4"]);
    select(&scene, "--moved --against none.npy").refuses(2, &["none.npy"]);
    select(&scene, "--moved --against worse.npy --top 301").refuses(2, &["--top", "(300)", "got 301"]);
    // Every fifth of them is torn away.
    let moved = ids(&select(&scene, "--moved --against worse.npy --top 30").prints());
    assert!(moved.iter().filter(|id| *id % 5 == 0).count() > 20, "{moved:?}");
}
