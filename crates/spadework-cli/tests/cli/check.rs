//! `spadework check`: the gate.

use crate::support::{Outcome, Scene, listing};

fn check(scene: &Scene, outputs: &str, rules: &str) -> Outcome {
    scene.run(&format!("check --inputs x.npy --outputs {outputs} {rules}"))
}

/// A model with a result of it in `base`.
fn with_baseline() -> Scene {
    let scene = Scene::with_model();
    scene.score("--out base").prints();
    scene
}

/// The gate failed: said on stdout, nothing on stderr.
#[track_caller]
fn fails(outcome: &Outcome) -> &str {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""), "{}", outcome.stdout);
    &outcome.stdout
}

#[test]
fn a_limit_passes_or_fails() {
    let scene = Scene::with_model();
    let text = check(&scene, "y.npy", "--max-score 1e6").prints();
    assert!(text.starts_with("pass  max-score: model score ") && !text.contains("FAIL"), "{text}");
    let outcome = check(&scene, "y.npy", "--max-score 0.001");
    let text = fails(&outcome);
    assert!(text.starts_with("FAIL  max-score: ") && text.contains("above 0.001"), "{text}");
}

#[test]
fn the_limit_itself_passes() {
    let scene = Scene::with_model();
    let score = scene.score("--json").json()["model_score"].as_f64().unwrap();
    check(&scene, "y.npy", &format!("--max-score {score}")).prints();
}

#[test]
fn the_same_model_has_not_regressed() {
    let scene = with_baseline();
    let text = check(&scene, "y.npy", "--baseline base/result.json --max-regression 5%").prints();
    assert!(text.starts_with("pass  max-regression: ") && text.contains("(baseline "), "{text}");
    check(&scene, "y.npy", "--baseline base/result.json").prints();
    check(&scene, "y.npy", "--baseline base/result.json --max-regression 0% --seed 3 --threads 1").prints();
}

#[test]
fn a_worse_model_has_regressed() {
    let scene = with_baseline();
    let outcome = check(&scene, "worse.npy", "--baseline base/result.json --max-regression 5%");
    assert!(fails(&outcome).starts_with("FAIL  max-regression: "), "{outcome:?}");
    let outcome = check(&scene, "worse.npy", "--baseline base/result.json");
    assert!(fails(&outcome).contains("FAIL"), "{outcome:?}");
    check(&scene, "worse.npy", "--baseline base/result.json --max-regression 100000%").prints();
}

#[test]
fn one_broken_rule_is_enough() {
    let scene = with_baseline();
    let outcome = check(&scene, "worse.npy", "--max-score 1e6 --baseline base/result.json");
    let lines: Vec<&str> = fails(&outcome).lines().collect();
    assert!(lines[0].starts_with("pass  max-score"), "{outcome:?}");
    assert!(lines[1].starts_with("FAIL  max-regression"), "{outcome:?}");
}

#[test]
fn json_tells_every_rule() {
    let scene = with_baseline();
    let outcome = check(&scene, "worse.npy", "--json --max-score 1e6 --baseline base/result.json");
    let json: serde_json::Value = serde_json::from_str(fails(&outcome)).unwrap();
    assert_eq!(json["schema"], "spadework.check/2");
    assert_eq!(json["passed"], false);
    assert_eq!(json["model_score"], json["result"]["model_score"]);
    assert_eq!((&json["rules"][0]["rule"], &json["rules"][0]["passed"]), (&"max-score".into(), &true.into()));
    assert_eq!(json["rules"][1]["passed"], false);
    assert_eq!(json["rules"][1]["baseline_score"], scene.read_json("base/result.json")["model_score"]);
}

#[test]
fn a_failed_gate_still_writes_its_result() {
    let scene = Scene::with_model();
    fails(&check(&scene, "y.npy", "--max-score 0.001 --out result"));
    assert_eq!(
        listing(&scene.path().join("result")),
        ["edges.csv", "embedding.npy", "nodes.csv", "result.json"]
    );
}

#[test]
fn the_result_of_a_check_is_a_baseline() {
    let scene = Scene::with_model();
    check(&scene, "y.npy", "--max-score 1e6 --out base").prints();
    check(&scene, "y.npy", "--baseline base/result.json").prints();
}

#[test]
fn a_baseline_must_be_comparable() {
    let scene = with_baseline();
    let against = |options: &str| check(&scene, "y.npy", &format!("--baseline base/result.json {options}"));
    against("-k 12").refuses(2, &["base/result.json", "neighbors (12), got 10", "hint: "]);
    let other = scene.run("check --inputs y.npy --outputs x.npy --baseline base/result.json");
    other.refuses(2, &["base/result.json", "numbers per input (3), got 6"]);
}

#[test]
fn a_baseline_must_be_a_result() {
    let scene = Scene::with_model();
    let cases = [
        ("corrupt.json", "{ \"schema\": \"spadework.score/2\", "),
        ("foreign.json", "{ \"accuracy\": 0.9 }"),
        ("newer.json", "{ \"schema\": \"spadework.score/99\" }"),
        ("partial.json", "{ \"schema\": \"spadework.score/2\", \"model_score\": 3.0 }"),
        ("list.json", "[1, 2]"),
        ("empty.json", ""),
    ];
    for (file, content) in cases {
        scene.write(file, content);
        check(&scene, "y.npy", &format!("--baseline {file}")).refuses(2, &[file, "spadework.score/2"]);
    }
    check(&scene, "y.npy", "--baseline none.json").refuses(2, &["none.json"]);
    check(&scene, "y.npy", "--baseline x.npy").refuses(2, &["x.npy", "not a JSON document"]);
    scene.make_folder("base");
    check(&scene, "y.npy", "--baseline base").refuses(2, &["base"]);
}

#[test]
fn a_rule_must_be_given() {
    let scene = Scene::with_model();
    check(&scene, "y.npy", "").misused(&["--max-score", "--baseline"]);
    check(&scene, "y.npy", "--max-regression 5%").misused(&["--baseline"]);
}

#[test]
fn limits_must_be_understood() {
    let scene = with_baseline();
    let part =
        |part: &str| check(&scene, "y.npy", &format!("--baseline base/result.json --max-regression={part}"));
    for wrong in ["5", "-5%", "five", "NaN%"] {
        part(wrong).misused(&["--max-regression", wrong, "5%", "0.05"]);
    }
    for wrong in ["0", "-1", "NaN", "inf", "many"] {
        check(&scene, "y.npy", &format!("--max-score={wrong}")).misused(&["--max-score", "positive number"]);
    }
}
