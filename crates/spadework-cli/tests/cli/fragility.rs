//! Margins, fragility and indices: what stands beside the scores.

use crate::support::{Scene, assert_holds};

const SAMPLES: usize = 80;

/// Two outputs of a sample; the first leads on one side of the data.
fn logits(sample: usize) -> [f64; 2] {
    let place = sample as f64 / 10.0;
    [4.0 - place + place.sin(), place / 2.0]
}

/// Every tenth label is not the class that leads.
fn label(sample: usize) -> usize {
    let [first, second] = logits(sample);
    usize::from((second > first) ^ sample.is_multiple_of(10))
}

/// The lead of a sample's label.
fn margin(sample: usize) -> f64 {
    let outputs = logits(sample);
    outputs[label(sample)] - outputs[1 - label(sample)]
}

/// x.csv, y.csv and labels.csv of a classifier with two classes.
fn scene() -> Scene {
    let scene = Scene::empty();
    let table = |row: &dyn Fn(usize) -> String| -> String { (0..SAMPLES).map(|i| row(i) + "\n").collect() };
    scene.write("x.csv", table(&|i| format!("{},{}", i as f64 / 8.0, (i * 7 % 11) as f64 / 20.0)));
    scene.write("y.csv", table(&|i| logits(i).map(|logit| logit.to_string()).join(",")));
    scene.write("labels.csv", table(&|i| label(i).to_string()));
    scene
}

const DATA: &str = "--inputs x.csv --outputs y.csv --labels labels.csv -k 6";

fn column(table: &str, name: &str) -> Vec<f64> {
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|title| *title == name).unwrap();
    lines.map(|row| row[at].parse().unwrap()).collect()
}

#[test]
fn nodes_have_margins_and_a_fragility() {
    let scene = scene();
    scene.run(&format!("score {DATA} --out result --tables csv,npy,parquet")).prints();
    let table = scene.read("result/nodes.csv");
    assert_eq!(table.lines().next(), Some("index,label,score,rank,margin,fragility,overlap,correct"));
    for (sample, found) in column(&table, "margin").into_iter().enumerate() {
        // Decimal fractions are read and written without loss.
        assert_eq!(found, margin(sample), "{sample}");
    }
    for (sample, found) in column(&table, "correct").into_iter().enumerate() {
        assert_eq!(found, f64::from(u8::from(margin(sample) > 0.0)), "{sample}");
    }
    let mut fragility = column(&table, "fragility");
    // Samples that are wrong are more fragile than all that are right.
    let wrong = (0..SAMPLES).filter(|sample| margin(*sample) < 0.0).map(|sample| fragility[sample]);
    assert!(wrong.fold(1.0, f64::min) > 1.0 - 8.0 / SAMPLES as f64);
    fragility.sort_unstable_by(f64::total_cmp);
    let expected = (0..SAMPLES).map(|rank| (rank as f64 + 0.5) / SAMPLES as f64);
    assert!(fragility.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
    let files = scene.listing("result");
    assert!(
        ["fragility.npy", "margins.npy"].iter().all(|name| files.contains(&(*name).to_owned())),
        "{files:?}"
    );
    // The formats hold the same numbers, and every command reads a column of them, guided ones as well.
    let score_of = |outputs: &str| {
        scene.run(&format!("score --json --inputs x.csv --outputs result/{outputs} -k 6")).json()["model_score"].clone()
    };
    let expected = score_of("nodes.csv:fragility");
    assert_eq!(score_of("fragility.npy"), expected);
    assert_eq!(score_of("nodes.parquet:fragility"), expected);
    assert_eq!(score_of("margins.npy"), score_of("nodes.parquet:margin"));
}

#[test]
fn the_spread_of_margins_is_told() {
    let scene = scene();
    let json = scene.run(&format!("score {DATA} --json")).json();
    let found = &json["margins"];
    assert_eq!(found["kind"], "labeled");
    let mut margins: Vec<f64> = (0..SAMPLES).map(margin).collect();
    margins.sort_unstable_by(f64::total_cmp);
    assert_eq!((&found["least"], &found["largest"]), (&margins[0].into(), &margins[SAMPLES - 1].into()));
    assert_eq!(json["accuracy"], 0.9);
    let text = scene.run(&format!("score {DATA}")).prints();
    assert!(
        text.contains("\n  margin             median ") && text.contains("\n  accuracy           90 % ("),
        "{text}"
    );
    // Without labels nobody says that outputs are classes.
    let json = scene.run("score --inputs x.csv --outputs y.csv -k 6 --json").json();
    assert_eq!((&json["margins"]["kind"], json.get("accuracy")), (&"predicted".into(), None));
    assert!(!scene.run("score --inputs x.csv --outputs y.csv -k 6").prints().contains("\n  margin  "));
}

#[test]
fn listed_samples_have_their_margin_and_fragility() {
    let scene = scene();
    let json = scene.run(&format!("score {DATA} --out result --json")).json();
    assert_eq!(json["fragility_basis"], "margins and slopes");
    let fragility = column(&scene.read("result/nodes.csv"), "fragility");
    let nodes = json["top_nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 10);
    for node in nodes {
        let index = node["index"].as_u64().unwrap() as usize;
        assert_eq!((&node["margin"], &node["fragility"]), (&margin(index).into(), &fragility[index].into()));
    }
    let text = scene.run(&format!("score {DATA}")).prints();
    assert!(text.contains("rank  sample"), "{text}");
    assert!(text.contains("label  ") && text.contains("margin  fragility\n"), "{text}");
    assert!(
        text.contains("  fragility: the share of the samples that are less fragile, by margins and slopes\n"),
        "{text}"
    );
    // Of several models too, in the list and in the table.
    let call = "compare --inputs x.csv a=y.csv b=x.csv --labels labels.csv -k 6 --out both";
    // The model that returns its inputs is right by chance at best.
    let json = scene.run(&format!("{call} --json --quiet")).json();
    let table = scene.read("both/nodes.csv");
    for model in json["models"].as_array().unwrap() {
        let name = model["name"].as_str().unwrap();
        assert_eq!(model["fragility_basis"], "margins and slopes", "{name}");
        for kind in ["margin", "fragility"] {
            let values = column(&table, &format!("{kind}_{name}"));
            let node = &model["top_nodes"][0];
            assert_eq!(node[kind], values[node["index"].as_u64().unwrap() as usize], "{name} {kind}");
        }
    }
    assert_eq!(column(&table, "fragility_a"), fragility);
}

/// Numbers that are no classes, though labels could be their positions, are not called wrong.
#[test]
fn embeddings_are_not_wrong() {
    let scene = scene();
    let row = |i: usize| {
        let [a, b] = logits(i);
        format!("{},{},{},{}\n", a - b, (a * b).sin(), 10.0 + a, 10.0 + b)
    };
    scene.write("embedding.csv", (0..SAMPLES).map(row).collect::<String>());
    let call = "score --inputs x.csv --outputs embedding.csv --labels labels.csv -k 6 --json -q";
    let json = scene.run(call).json();
    assert_eq!((json.get("accuracy"), json.get("margins")), (None, None));
    assert_eq!(json["fragility_basis"], "neighborhood overlap and distances");
    // Two numbers and two labels may be classes; where they are hardly ever right, somebody should be asked.
    let turned = |i: usize| format!("{}\n", 1 - label(i));
    scene.write("turned.csv", (0..SAMPLES).map(turned).collect::<String>());
    let call = "score --inputs x.csv --outputs y.csv --labels turned.csv -k 6";
    let text =
        scene.run(call).notes(&["only 10.00 % of the samples have their largest output at their label"]);
    assert!(text.contains("  accuracy           10 % ("), "{text}");
}

#[test]
fn single_outputs_have_no_margin() {
    let scene = scene();
    scene.write(
        "single.csv",
        (0..SAMPLES).map(|i| format!("{}\n", i as f64 + (i as f64).sin())).collect::<String>(),
    );
    let call = "--inputs x.csv --outputs single.csv -k 6";
    let json = scene.run(&format!("score {call} --json --out result --tables csv,npy")).json();
    assert_eq!(json["margins"], serde_json::Value::Null);
    assert_eq!(json["fragility_basis"], "node scores");
    let table = scene.read("result/nodes.csv");
    let row: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((row.len(), row[4]), (7, ""));
    assert!(!scene.listing("result").contains(&"margins.npy".to_owned()));
    // The node score stands in.
    let [by_node, by_fragility] =
        ["node", "fragility"].map(|by| scene.run(&format!("select {call} -q --by {by}")).prints());
    assert_eq!(by_node, by_fragility);
    scene.run(&format!("select {call} --by margin")).refuses(2, &["--by margin", "at least two numbers"]);
}

#[test]
fn samples_are_selected_by_what_one_likes() {
    let scene = scene();
    let ids = |by: &str| -> Vec<usize> {
        let text = scene.run(&format!("select {DATA} --top 20 --by {by}")).prints();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    assert_eq!(scene.run(&format!("select {DATA} --top 20")).prints(), {
        ids("fragility").iter().map(|id| format!("{id}\n")).collect::<String>()
    });
    let mut expected: Vec<usize> = (0..SAMPLES).collect();
    expected.sort_by(|&a, &b| margin(a).total_cmp(&margin(b)));
    assert_eq!(ids("margin"), expected[..20]);
    let json = scene.run(&format!("select {DATA} --top 20 --by fragility --json")).json();
    assert_eq!((&json["by"], &json["indices"]), (&"fragility".into(), &ids("fragility").into()));
    let fragility: Vec<f64> =
        json["nodes"].as_array().unwrap().iter().map(|node| node["fragility"].as_f64().unwrap()).collect();
    assert!(fragility.is_sorted_by(|a, b| a >= b) && fragility[0] > 0.9, "{fragility:?}");
    assert_eq!(json["nodes"][0]["margin"], margin(ids("fragility")[0]));
    scene.run(&format!("select {DATA} --by luck")).misused(&["--by", "luck"]);
}

#[test]
fn indices_come_where_they_are_asked_for() {
    let scene = scene();
    let plain = scene.run(&format!("score {DATA} --json")).json();
    assert_eq!(plain["indices"], serde_json::Value::Null);
    let json = scene.run(&format!("score {DATA} --indices --json")).json();
    let indices = &json["indices"];
    for pointer in [
        "/mean_eigenvalue/value",
        "/mean_eigenvalue/standard_error",
        "/geodesic/median",
        "/resistance/mean",
        "/neighborhoods/trustworthiness",
        "/neighborhoods/continuity",
    ] {
        assert!(indices.pointer(pointer).is_some_and(serde_json::Value::is_f64), "{pointer} {indices}");
    }
    assert_eq!(json["model_score"], plain["model_score"]);
    let text = scene.run(&format!("score {DATA} --indices")).prints();
    assert_holds(
        &text,
        &[
            "\nindices\n",
            "mean eigenvalue ",
            "trustworthiness ",
            "random input edges\n",
            "geodesic",
            "resistance",
        ],
    );
    let call = "compare --inputs x.csv a=y.csv b=x.csv -k 6 --indices";
    let text = scene.run(call).prints();
    assert!(text.contains("mean eigenvalue  hops  resistance  trustworthiness  continuity\n"), "{text}");
    let json = scene.run(&format!("{call} --json")).json();
    // The same graph on both sides: every eigenvalue is 1, and all neighbors stay.
    let copy = &json["models"][0];
    assert_eq!((&copy["name"], &copy["indices"]["neighborhoods"]["continuity"]), (&"b".into(), &1.0.into()));
    assert_eq!(copy["indices"]["geodesic"]["largest"], 1.0);
    assert_eq!(json["models"][1]["margins"]["kind"], "predicted");
}
