//! Distances other than the Euclidean one, and columns brought to one scale.

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::{Random, floats, npy};

/// `x.npy` with rows of many lengths and columns of many scales, `unit.npy` with the same rows divided by their lengths,
/// `standard.npy` with the same columns standardized, and `y.npy`.
fn scene() -> Scene {
    const COLUMNS: usize = 5;
    let scene = Scene::with_model();
    let mut random = Random::new(5);
    let rows: Vec<f64> = (0..Scene::SAMPLES)
        .flat_map(|_| {
            let length = f64::from(0.25 + 8.0 * random.unit());
            let row = random.points(COLUMNS);
            row.into_iter()
                .enumerate()
                .map(move |(at, value)| length * 10_f64.powi(at as i32) * f64::from(value))
        })
        .collect();
    let units = rows.chunks(COLUMNS).flat_map(|row| {
        let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        row.iter().map(move |value| value / length)
    });
    let len = Scene::SAMPLES as f64;
    let column = |at: usize| rows.iter().skip(at).step_by(COLUMNS);
    let scales: Vec<(f64, f64)> = (0..COLUMNS)
        .map(|at| {
            let mean = column(at).map(|value| value / len).sum::<f64>();
            (mean, column(at).map(|value| (value - mean).powi(2) / len).sum::<f64>().sqrt())
        })
        .collect();
    let standard =
        rows.iter().enumerate().map(|(at, value)| (value - scales[at % COLUMNS].0) / scales[at % COLUMNS].1);
    let file = |values: Vec<f64>| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        npy("<f8", false, &[values.len() / COLUMNS, COLUMNS], &bytes)
    };
    scene.write("unit.npy", file(units.collect()));
    scene.write("standard.npy", file(standard.collect()));
    scene.write("x.npy", file(rows));
    scene
}

fn scores(json: &Value) -> (f64, Value) {
    (json["model_score"].as_f64().unwrap(), json["graphs"]["input"]["edges"].clone())
}

#[track_caller]
fn assert_near(a: &Value, b: &Value) {
    let ((a, a_edges), (b, b_edges)) = (scores(a), scores(b));
    assert_eq!(a_edges, b_edges);
    assert!((a / b - 1.0).abs() < 1e-9, "{a} and {b}");
}

/// Every command that makes graphs says how distances were taken, where that is not the usual way.
#[test]
fn every_text_names_the_distances() {
    let scene = scene();
    let fixtures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx");
    scene.write("mlp.onnx", std::fs::read(fixtures.join("mlp.onnx")).unwrap());
    scene.write("four.npy", floats(4, &Random::new(3).points(800)));
    for call in [
        "score --inputs x.npy --outputs y.npy",
        "compare --inputs x.npy a=y.npy b=worse.npy",
        "sweep --inputs x.npy --outputs y.npy -k 8,9",
        "distortion --inputs x.npy --outputs y.npy",
        "graphs --inputs x.npy --outputs y.npy --graph knn --weights unit",
        "layers --inputs four.npy --model mlp.onnx",
    ] {
        let text = scene.run(&format!("{call} -q --input-metric manhattan")).prints();
        assert!(text.contains("manhattan for inputs, euclidean for outputs"), "{call}: {text}");
        assert!(!scene.run(&format!("{call} -q")).prints().contains("euclidean for outputs"), "{call}");
    }
}

#[test]
fn cosine_is_euclidean_on_unit_rows() {
    let scene = scene();
    let cosine = scene.score("-q --input-metric cosine --json").json();
    assert_near(&cosine, &scene.run("score -q --inputs unit.npy --outputs y.npy --json").json());
    let request = &cosine["request"];
    assert_eq!(
        (&request["input_metric"], &request["output_metric"]),
        (&"cosine".into(), &"euclidean".into())
    );
    let text = scene.score("-q --input-metric cosine").prints();
    assert!(text.contains("cosine for inputs, euclidean for outputs\n"), "{text}");
    assert!(!scene.score("-q").prints().contains("distances"), "the usual way needs no words");
}

#[test]
fn standardized_columns_are_those_of_a_table_that_was_standardized_before() {
    let scene = scene();
    let found = scene.score("--standardize --json").json();
    assert_near(&found, &scene.run("score --inputs standard.npy --outputs y.npy --json").json());
    assert_eq!(found["request"]["standardize"], "standard");
    let robust = scene.score("--standardize robust --input-metric manhattan --json").json();
    assert_eq!(robust["request"]["standardize"], "robust");
    assert!((scores(&robust).0 - scores(&found).0).abs() > 1e-6, "another way, another score");
}

#[test]
fn the_metric_goes_through_every_command() {
    let scene = scene();
    let metric = "--input-metric chebyshev --output-metric manhattan --standardize";
    let expected = scores(&scene.score(&format!("{metric} --json --out made")).json()).0;
    let sides = "--inputs x.npy --outputs";
    let compared =
        scene.run(&format!("compare {sides} a=y.npy --outputs b=worse.npy {metric} --json")).json();
    let models = compared["models"].as_array().unwrap();
    let found = models.iter().find(|model| model["name"] == "a").unwrap();
    assert!((found["model_score"].as_f64().unwrap() / expected - 1.0).abs() < 1e-6);
    let text = scene.run(&format!("compare {sides} a=y.npy --outputs b=worse.npy {metric}")).prints();
    assert!(text.contains("; distances chebyshev for inputs, manhattan for outputs, columns"), "{text}");
    let swept = scene.run(&format!("sweep {sides} y.npy --neighbors 10 {metric} --json")).json();
    assert_eq!(swept["request"]["output_metric"], "manhattan");
    assert!((swept["points"][0]["scores"][0]["model_score"].as_f64().unwrap() / expected - 1.0).abs() < 1e-6);
    scene.run(&format!("graph {sides} y.npy {metric} -q --out staged")).prints();
    scene.run("eigen staged -q").prints();
    scene.run("scores staged -q").prints();
    assert_eq!(scene.read_json("staged/result.json")["model_score"], expected);
    scene.run(&format!("select {sides} y.npy {metric} --top 3")).prints();
    // A page says it, and a stored result is restored by it.
    scene.run("report made --out page.html -q").prints();
    assert!(scene.read("page.html").contains("distances chebyshev for inputs, manhattan for outputs"));
}

/// Samples that moved, and new samples: neither has a request from which it could be made again.
#[test]
fn moved_and_new_samples_name_the_distances() {
    let scene = scene();
    let moved = "select --inputs x.npy --outputs y.npy --against worse.npy --moved --json";
    assert_eq!(scene.run(moved).json()["metric"], "euclidean");
    assert_eq!(scene.run(&format!("{moved} --output-metric cosine")).json()["metric"], "cosine");
    scene.score("-q --input-metric cosine --output-metric chebyshev --standardize --out ref").prints();
    scene.score("-q --out usual").prints();
    let new = |reference: &str| {
        scene.run(&format!("score --reference {reference} --inputs x.npy --outputs y.npy --out new -q"))
    };
    let text = new("ref").prints();
    let words =
        "distances     cosine for inputs, chebyshev for outputs, columns of the inputs standardized\n";
    assert!(text.contains(words), "{text}");
    let reference = &scene.read_json("new/result.json")["reference"];
    for (field, word) in
        [("input_metric", "cosine"), ("output_metric", "chebyshev"), ("standardize", "standard")]
    {
        assert_eq!(reference[field], word);
    }
    assert!(!new("usual").prints().contains("distances"), "the usual way needs no words");
}

#[test]
fn new_samples_are_measured_by_the_distances_of_the_reference() {
    let scene = scene();
    scene.score("-q --input-metric cosine --standardize --out ref").prints();
    let json = scene.run("score --reference ref --inputs x.npy --outputs y.npy --json").json();
    assert_eq!(json["known"], 300);
    // New samples are listed by their node scores.
    let nodes = scene.read("ref/nodes.csv");
    let column = nodes.lines().next().unwrap().split(',').position(|name| name == "score").unwrap();
    let score_of = |row: &str| row.split(',').nth(column).unwrap().parse::<f64>().unwrap();
    let top = nodes.lines().skip(1).max_by(|a, b| score_of(a).total_cmp(&score_of(b))).unwrap();
    let (new, old) = (json["top_nodes"][0]["score"].as_f64().unwrap(), score_of(top));
    assert_eq!(json["top_nodes"][0]["index"].to_string(), top.split(',').next().unwrap());
    assert!((new / old - 1.0).abs() < 1e-3, "{new} and {old}");
    // They are those of the reference, whatever the call says.
    for option in ["--input-metric euclidean", "--output-metric cosine", "--standardize robust"] {
        let call = format!("score --reference ref --inputs x.npy --outputs y.npy {option}");
        scene.run(&call).misused(&["cannot be used with", option.split(' ').next().unwrap()]);
    }
    scene.score("-q --output-metric cosine --out by_angle").prints();
    let mut zero = Random::new(8).points(15);
    zero[6..9].fill(0.0);
    scene.write("zero.npy", floats(3, &zero));
    scene.write("new.npy", floats(5, &Random::new(9).points(25)));
    scene.run("score --reference by_angle --inputs new.npy --outputs zero.npy").refuses(
        2,
        &["zero.npy: ", "1 of the outputs is", "row 2", "hint: the metric is that of the reference"],
    );
}

#[test]
fn baselines_and_stages_of_other_distances_are_refused() {
    let scene = scene();
    let arrays = "-q --inputs x.npy --outputs y.npy";
    scene.run(&format!("score {arrays} --out base")).prints();
    scene.refuses(
        &format!("check {arrays} --input-metric cosine --baseline base/result.json"),
        &["base/result.json", "the same distances", "cosine", "euclidean"],
    );
    scene.run(&format!("graph {arrays} --out staged")).prints();
    scene.refuses(
        &format!("graph {arrays} --input-metric cosine --out staged"),
        &["staged", "input metric euclidean, not cosine"],
    );
}

#[test]
fn bad_input_is_named() {
    let scene = scene();
    let mut rows = Random::new(2).points(40 * 3);
    rows[9..12].fill(0.0);
    rows[30..33].fill(0.0);
    scene.write("zero.npy", floats(3, &rows));
    scene.write("out.npy", floats(2, &Random::new(3).points(80)));
    scene.refuses(
        "score --inputs zero.npy --outputs out.npy --input-metric cosine",
        &["zero.npy: ", "2 of the inputs are", "row 3, 10", "counted from 0", "with --input-metric\n"],
    );
    scene.refuses(
        "score --inputs out.npy --outputs zero.npy --output-metric cosine",
        &["zero.npy: ", "2 of the outputs", "row 3, 10", "distance with --output-metric\n"],
    );
    let mostly: Vec<f32> = (0..80).map(|at| if at % 2 == 0 { at as f32 } else { (at / 70) as f32 }).collect();
    scene.write("mostly.npy", floats(2, &mostly));
    scene.refuses(
        "score --inputs mostly.npy --outputs out.npy --standardize robust",
        &["mostly.npy: ", "robust", "1 column of", "column 1", "hint: try --standardize standard"],
    );
    let models = "compare --inputs out.npy a=out.npy b=zero.npy --output-metric cosine --task embedding";
    scene.run(models).refuses(2, &["zero.npy: ", "model `b`", "2 of the outputs"]);
    scene.refuses(
        "select --inputs out.npy --outputs out.npy --against zero.npy --moved --output-metric cosine",
        &["zero.npy: ", "row 3, 10"],
    );
    scene.refuses(
        "distortion --inputs zero.npy --outputs out.npy --input-metric cosine",
        &["zero.npy: ", "with --input-metric"],
    );
    // A column that never changes says nothing, and takes nothing away.
    let constant: Vec<f32> = (0..120).map(|at| if at % 3 == 2 { 7.0 } else { rows[at] }).collect();
    scene.write("constant.npy", floats(3, &constant));
    scene.run("score --inputs constant.npy --outputs out.npy --standardize --json").json();
    scene.score("--input-metric manhattan --graph pca:2").refuses(2, &["pca", "manhattan"]);
    scene.score("--input-metric hamming").misused(&["hamming", "cosine", "chebyshev"]);
    scene.score("--standardize twice").misused(&["twice", "robust"]);
    scene.write("edges.csv", (0..39).map(|p| format!("{p},{}\n", p + 1)).collect::<String>());
    scene.refuses(
        "score --input-graph edges.csv --outputs out.npy --input-metric cosine",
        &["--input-metric", "the distance between inputs", "graph is given"],
    );
}
