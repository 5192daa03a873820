//! How neighbors are searched, and what the user is told of it.

use crate::support::Scene;

#[test]
fn auto_is_exact_and_says_so() {
    let scene = Scene::with_model();
    let json = scene.score("--json").json();
    for side in ["input", "output"] {
        let search = &json["graphs"][side]["search"];
        assert_eq!((&search["method"], &search["recall"]), (&"exact".into(), &1.0.into()));
        assert!(search["measured_rows"].is_null());
    }
    let text = scene.score("").prints();
    assert!(text.contains("  search             exact for inputs, exact for outputs\n"), "{text}");
}

#[test]
fn an_approximate_search_tells_its_recall_and_warns() {
    let scene = Scene::with_many_samples();
    let options = "--json --search approximate";
    let notes = [
        "inputs were searched approximately",
        "outputs were searched approximately",
        "recall",
        "--search exact",
    ];
    let json: serde_json::Value = serde_json::from_str(&scene.score(options).notes(&notes)).unwrap();
    for side in ["input", "output"] {
        let search = &json["graphs"][side]["search"];
        assert_eq!((&search["method"], &search["measured_rows"]), (&"approximate".into(), &500.into()));
        assert!(search["recall"].as_f64().unwrap() >= 0.999, "{search}");
    }
    // Nearly all neighbors are the true ones here, so the score is nearly that of the exact search.
    let exact = scene.score("--json --search exact").json();
    let (found, exact) = (json["model_score"].as_f64().unwrap(), exact["model_score"].as_f64().unwrap());
    assert!((found / exact - 1.0).abs() < 0.1, "{found} and {exact}");
}

#[test]
fn an_unknown_search_is_refused() {
    Scene::with_model().score("--search fast").misused(&["fast", "--search", "auto", "exact", "approximate"]);
}
