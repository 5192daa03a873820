//! How neighbors are searched, and what the user is told of it.

use crate::support::Scene;
use crate::support::arrays::{Random, floats};

/// Enough samples that an approximate search is one.
fn scene() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(3).points(4500 * 12);
    let outputs: Vec<f32> = inputs.chunks(12).flat_map(|row| [row[0] + row[1], row[2] - row[3]]).collect();
    scene.write("x.npy", floats(12, &inputs));
    scene.write("y.npy", floats(2, &outputs));
    scene
}

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
    assert!(text.contains("search        exact for inputs, exact for outputs\n"), "{text}");
}

#[test]
fn an_approximate_search_tells_its_recall_and_warns() {
    let scene = scene();
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
