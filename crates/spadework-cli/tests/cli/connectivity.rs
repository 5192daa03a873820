//! Output graphs that fall apart, under each policy.

use crate::support::arrays::{Random, floats};
use crate::support::{Outcome, Scene};

/// Two groups of outputs far apart; with k = 5 nothing joins them.
fn scene() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(5).points(60 * 2);
    let outputs: Vec<f32> = (0..60_u16).map(|i| f32::from(i / 2 + 1000 * (i % 2))).collect();
    scene.write("x.npy", floats(2, &inputs));
    scene.write("y.npy", floats(1, &outputs));
    scene
}

fn score(options: &str) -> Outcome {
    scene().score(&format!("-k 5 {options}"))
}

#[test]
fn grow_takes_more_neighbors_and_says_so() {
    let json: serde_json::Value =
        serde_json::from_str(&score("--json").notes(&["5 neighbors", "2 output"])).unwrap();
    let used = json["neighbors"]["used"].as_u64().unwrap();
    assert_eq!((&json["neighbors"]["requested"], &json["connectivity"]), (&5.into(), &"grow".into()));
    assert!(used > 5);
    assert_eq!(json["graphs"]["output"]["components_found"], 2);
    assert_eq!(json["graphs"]["output"]["components"], 1);
    let text = score("").notes(&[&format!("{used} neighbors")]);
    assert!(text.contains(&format!("  neighbors          {used} (5 requested); ")), "{text}");
}

#[test]
fn bridge_keeps_the_neighbors_and_adds_edges() {
    let outcome = score("--json --connectivity bridge");
    let json: serde_json::Value =
        serde_json::from_str(&outcome.notes(&["0 input and 1 output bridge"])).unwrap();
    assert_eq!(json["neighbors"]["used"], 5);
    assert_eq!(json["connectivity"], "bridge");
    assert_eq!(json["graphs"]["output"]["bridges"], 1);
    assert_eq!(json["graphs"]["output"]["components_found"], 2);
    assert_eq!(json["graphs"]["output"]["components"], 1);
}

#[test]
fn error_names_side_and_components() {
    score("--connectivity error")
        .refuses(3, &["output graph", "5 neighbors", "2 components", "hint: ", "--connectivity"]);
}

#[test]
fn error_is_content_with_connected_graphs() {
    let json = Scene::with_model().score("--json --connectivity error").json();
    assert_eq!(json["connectivity"], "error");
}

#[test]
fn a_baseline_must_be_connected_the_same_way() {
    let scene = scene();
    scene.score("-q -k 5 --out grown").prints();
    scene.score("-q -k 5 --connectivity bridge --out bridged").prints();
    let used = &scene.read_json("grown/result.json")["neighbors"]["used"];
    let check = |baseline: &str, options: &str| {
        scene.run(&format!(
            "check -q --inputs x.npy --outputs y.npy --baseline {baseline}/result.json {options}"
        ))
    };
    check("grown", "-k 5").prints();
    // Overlaps are those of the k asked for.
    check("grown", &format!("-k {used}"))
        .refuses(2, &["grown/result.json", &format!("same neighbors ({used}), got 5"), "hint: "]);
    check("bridged", "-k 5 --connectivity bridge").prints();
    // They need no connected graphs; the SPADE score does.
    check("bridged", "-k 5").prints();
    check("bridged", "-k 5 --max-regression 5%")
        .refuses(2, &["bridged/result.json", &format!("same neighbors ({used}), got 5")]);
}

#[test]
fn a_baseline_must_have_bridges_or_not() {
    let scene = scene();
    // Both groups on one line.
    let joined: Vec<f32> = (0..60_u16).map(f32::from).collect();
    scene.write("joined.npy", floats(1, &joined));
    let score = |outputs: &str, out: &str| {
        scene
            .run(&format!(
                "score -q -k 5 --connectivity bridge --inputs x.npy --outputs {outputs}.npy --out {out}"
            ))
            .prints();
    };
    score("y", "bridged");
    score("joined", "connected");
    assert_eq!(scene.read_json("connected/result.json")["graphs"]["input"]["bridges"], 0);
    let check = |outputs: &str, options: &str| {
        scene.run(&format!(
            "check -q -k 5 --inputs x.npy --outputs {outputs}.npy --max-regression 1e9% {options}"
        ))
    };
    check("joined", "--connectivity bridge --baseline bridged/result.json")
        .refuses(2, &["bridged/result.json", "no bridges", "got 1", "hint: "]);
    check("y", "--connectivity bridge --baseline connected/result.json")
        .refuses(2, &["connected/result.json", "bridges where this run has them (1), got none"]);
    // The policy had nothing to do on either side.
    check("joined", "--connectivity error --baseline connected/result.json").prints();
}

#[test]
fn quiet_says_nothing() {
    for options in ["--quiet", "-q --connectivity bridge"] {
        score(options).prints();
    }
}

#[test]
fn other_words_are_refused() {
    score("--connectivity shrink").misused(&["'shrink'", "--connectivity", "grow, bridge, error"]);
}
