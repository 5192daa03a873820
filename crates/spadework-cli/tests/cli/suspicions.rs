//! Cheap checks that save a day: what a user probably did not mean is told, in the result too.

use std::path::Path;

use crate::support::Scene;
use crate::support::arrays::{Random, floats, integers};

/// Three classes: the outputs say which, the inputs are something else.
fn classes() -> Scene {
    let scene = Scene::empty();
    let labels: Vec<i64> = (0..150).map(|at| at % 3).collect();
    let noise = Random::new(5).points(150 * 4);
    let inputs: Vec<f32> = noise.iter().map(|value| 10.0 * value - 5.0).collect();
    let outputs = labels.iter().zip(noise.chunks(4)).flat_map(|(&label, noise)| {
        (0..3).map(move |class| 4.0 * f32::from(u8::from(class == label)) + noise[class as usize])
    });
    scene.write("x.npy", floats(4, &inputs));
    scene.write("y.npy", floats(3, &outputs.collect::<Vec<_>>()));
    scene.write("labels.npy", integers(&labels));
    scene
}

/// The notes, but for those about k: classes that are far apart need a larger one.
fn codes(json: &serde_json::Value) -> Vec<&str> {
    let codes = json["notes"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap());
    codes.filter(|code| *code != "neighbors-grown").collect()
}

#[test]
fn exchanged_sides_are_noticed() {
    let scene = classes();
    let swapped = "score --inputs y.npy --outputs x.npy --labels labels.npy";
    let json = scene.run(&format!("{swapped} --json -q")).json();
    assert!(codes(&json).contains(&"swapped-sides"), "{:?}", codes(&json));
    scene.run(swapped).notes(&["were inputs and outputs swapped?"]);
    let right = scene.run("score --inputs x.npy --outputs y.npy --labels labels.npy --json -q").json();
    assert!(codes(&right).is_empty(), "{:?}", codes(&right));
    // Inputs that are the outputs are an identity, not an exchange.
    let same = scene.run("score --inputs y.npy --outputs y.npy --labels labels.npy --json -q").json();
    assert!(!codes(&same).contains(&"swapped-sides"));
}

/// A table that also holds names and labels: words are refused by the name of their column, labels among the inputs are noticed, and both
/// can be left out.
#[test]
fn labels_among_the_inputs_are_noticed() {
    const LABELS: &str = "--labels table.csv:kind --ids table.csv:name";
    let scene = classes();
    let numbers = Random::new(9).points(150 * 2);
    let row = |(at, row): (usize, &[f32])| format!("item {at},{},{},{}\n", row[0], at % 3, row[1]);
    let rows: String = numbers.chunks(2).enumerate().map(row).collect();
    scene.write("table.csv", format!("name,size,kind,price\n{rows}"));
    scene.write("bare.npy", floats(2, &numbers));
    let score =
        |inputs: &str| scene.run(&format!("score --inputs {inputs} --outputs y.npy {LABELS} --json -q"));
    score("table.csv").refuses(2, &["line 2, column 1 (`name`)", "`item 0`", "hint: ", "?drop=COLUMN"]);
    let json = score("table.csv?drop=name").json();
    assert_eq!((codes(&json), &json["input_dim"]), (vec!["labels-among-inputs"], &3.into()));
    let message = json["notes"][0]["message"].as_str().unwrap();
    assert!(message.contains("--inputs 'table.csv?drop=name,kind'"), "{message}");
    let json = score("table.csv?drop=name,kind").json();
    assert!(codes(&json).is_empty(), "{:?}", codes(&json));
    let bare = score("bare.npy").json();
    assert_eq!((&json["model_score"], &json["top_nodes"]), (&bare["model_score"], &bare["top_nodes"]));
    assert_eq!(bare["top_nodes"][0]["id"].as_str().unwrap().split(' ').next(), Some("item"));
    score("table.csv?drop=name,color").refuses(2, &["no `color` in the file", "`size`"]);
    scene
        .refuses("score --inputs y.npy?drop=a --outputs y.npy", &["y.npy?drop=a", "text tables and Parquet"]);
    // A page is made of the same columns.
    let call = format!("score --inputs table.csv?drop=name,kind --outputs y.npy {LABELS} -q --out made");
    scene.run(&call).prints();
    scene.run("report made --out page.html -q").prints();
    let page = scene.read("page.html");
    assert!(page.contains("\"size\"") && page.contains("\"price\"") && !page.contains("\"kind\""));
}

#[test]
fn columns_of_other_units_are_noticed() {
    let scene = classes();
    let rows = Random::new(9).points(150 * 4);
    let table: Vec<f32> =
        rows.chunks(4).flat_map(|row| [row[0], row[1] * 2000.0, row[2] - 0.5, 3.0]).collect();
    scene.write("table.npy", floats(4, &table));
    let json = scene.run("score --inputs table.npy --outputs y.npy --json -q").json();
    assert_eq!(codes(&json), ["unequal-columns"]);
    let message = json["notes"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("table.npy: column 1 ") && message.contains("--standardize"), "{message}");
}

/// The model of the fixtures takes four numbers; sixteen and more that are whole and reach beyond 1 are pixels.
#[test]
fn pixels_and_radii_are_noticed() {
    let scene = Scene::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx");
    scene.write("mlp.onnx", std::fs::read(fixtures.join("mlp.onnx")).unwrap());
    let unit = Random::new(11).points(100 * 4);
    scene.write("unit.npy", floats(4, &unit));
    let call = "score --inputs unit.npy --model mlp.onnx --probe";
    scene.run(&format!("{call} linf:8")).refuses(2, &["--probe", "range from 0", "linf:8/255"]);
    scene.refuses("compare --inputs unit.npy a=mlp.onnx b=mlp.onnx --probe linf:8", &["linf:8/255"]);
    scene.run(&format!("{call} linf:8/255 --probes 3 -q")).prints();
}
