//! `--task`: what the outputs are, and what follows from it.

use std::path::Path;

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::{Random, floats, integers};

/// Inputs, one logit per sample, and labels 3 and 7 that it mostly gets right; a model of a single output.
fn scene() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(21).points(120 * 4);
    let logits: Vec<f32> = inputs.chunks(4).map(|row| 4.0 * (row[0] + row[1] - row[2]) - 2.0).collect();
    let labels: Vec<i64> =
        logits.iter().enumerate().map(|(at, &z)| if (z > 0.0) == (at % 10 != 0) { 7 } else { 3 }).collect();
    scene.write("x.npy", floats(4, &inputs));
    scene.write("z.npy", floats(1, &logits));
    scene.write("labels.npy", integers(&labels));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx");
    scene.write("single.onnx", std::fs::read(fixtures.join("single.onnx")).unwrap());
    scene
}

fn score(scene: &Scene, options: &str) -> Value {
    scene.run(&format!("score --inputs x.npy {options} --json -q")).json()
}

#[test]
fn one_output_with_two_labels_is_a_classifier() {
    let scene = scene();
    let json = score(&scene, "--outputs z.npy --labels labels.npy");
    // Every tenth label is the other one.
    assert!((json["accuracy"].as_f64().unwrap() - 0.9).abs() < 1e-12, "{}", json["accuracy"]);
    assert_eq!((&json["margins"]["kind"], &json["request"]["task"]), (&"labeled".into(), &"auto".into()));
    assert_eq!(json["fragility_basis"], "margins and slopes");
    let regression = score(&scene, "--outputs z.npy --labels labels.npy --task regression");
    assert!(regression.get("accuracy").is_none() && regression.get("margins").is_none());
    assert_eq!(
        (&regression["fragility_basis"], &regression["request"]["task"]),
        (&"node scores".into(), &"regression".into())
    );
    assert_eq!(regression["model_score"], json["model_score"]);
    // Without labels the sign alone says which class is meant, where the user says that there are any.
    assert!(score(&scene, "--outputs z.npy").get("margins").is_none());
    assert_eq!(score(&scene, "--outputs z.npy --task classes")["margins"]["kind"], "predicted");
}

/// Pages take the labels that samples are taken for from where the accuracy comes from: 12 of 120 are wrong.
#[test]
fn pages_show_what_one_output_predicts() {
    let scene = scene();
    let named = "\"predicted\":{\"names\":[\"3\",\"7\"],";
    let wrong = "12 samples are classified wrongly";
    scene.run("score --inputs x.npy --outputs z.npy --labels labels.npy --out r --report p.html -q").prints();
    scene.run("report r --out again.html -q").prints();
    for page in ["p.html", "again.html"] {
        let page = scene.read(page);
        assert!(page.contains(named) && page.contains(wrong));
    }
    scene
        .run("compare --inputs x.npy a=z.npy b=z.npy --labels labels.npy --out c --report p.html -q")
        .prints();
    scene.run("report c --out again.html -q").prints();
    for page in ["p.html", "again.html"] {
        assert_eq!(scene.read(page).matches(named).count(), 2);
    }
    scene
        .run("score --inputs x.npy --outputs z.npy --labels labels.npy --task regression --report p.html -q")
        .prints();
    assert!(scene.read("p.html").contains("\"predicted\":null"));
}

#[test]
fn embeddings_have_neither_margins_nor_probes() {
    let scene = scene();
    let json = score(&scene, "--outputs x.npy --task embedding");
    assert!(json.get("margins").is_none() && json["fragility_basis"] == "neighborhood overlap and distances");
    scene.refuses(
        "score --inputs x.npy --model single.onnx --task embedding --probe linf:0.1",
        &["--task embedding"],
    );
    scene.run("score --inputs x.npy --outputs z.npy --task words").misused(&["--task", "regression"]);
}

/// Labels show that four numbers are no classes: said once, with no margins, and probes are refused until the user says otherwise.
#[test]
fn labels_tell_an_embedding_from_a_classifier() {
    let scene = scene();
    let two: Vec<i64> = (0..120).map(|at| at % 2).collect();
    scene.write("two.npy", integers(&two));
    // The largest number is never at the label.
    let row = |at: usize| [0.0, 0.1, 1.0, 0.9].map(|value| value + 0.001 * at as f32);
    scene.write("e.npy", floats(4, &(0..120).flat_map(row).collect::<Vec<f32>>()));
    let call = "--outputs e.npy --labels two.npy --connectivity bridge";
    let json = score(&scene, call);
    assert!(
        json.get("margins").is_none() && json["fragility_basis"] == "neighborhood overlap and distances",
        "{json}"
    );
    assert_eq!(json["notes"][0]["code"], "no-classes", "{}", json["notes"]);
    scene.run(&format!("score --inputs x.npy {call}")).notes(&["the 4 outputs", "--task classes"]);
    assert_eq!(score(&scene, &format!("{call} --task classes"))["margins"]["kind"], "predicted");
    let told = score(&scene, &format!("{call} --task embedding"));
    assert!(told["notes"].as_array().unwrap().iter().all(|note| note["code"] != "no-classes"), "{told}");
}

/// Without labels: rows of length 1 are an embedding, many outputs are classes with a note, and the user's word ends both.
#[test]
fn embeddings_without_labels_are_told_by_the_length_of_their_rows() {
    const COLUMNS: usize = 64;
    let scene = scene();
    let rows: Vec<f32> = Random::new(5).points(120 * COLUMNS).iter().map(|number| number - 0.5).collect();
    let length = |row: &[f32]| row.iter().map(|number| number * number).sum::<f32>().sqrt();
    let unit: Vec<f32> = rows
        .chunks_exact(COLUMNS)
        .flat_map(|row| row.iter().map(|number| number / length(row)).collect::<Vec<_>>())
        .collect();
    scene.write("any.npy", floats(COLUMNS, &rows));
    scene.write("unit.npy", floats(COLUMNS, &unit));
    scene.write("few.npy", floats(COLUMNS / 2, &rows[..rows.len() / 2]));
    let kind = |call: &str| {
        let json = score(&scene, &format!("{call} --connectivity bridge"));
        let codes =
            json["notes"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap().to_owned());
        (json["fragility_basis"].as_str().unwrap().to_owned(), codes.collect::<Vec<_>>())
    };
    let has = |found: &[String], code: &str| found.iter().any(|found| found == code);
    let (basis, codes) = kind("--outputs unit.npy");
    assert!(basis == "neighborhood overlap and distances" && has(&codes, "no-classes"), "{basis} {codes:?}");
    let (basis, codes) = kind("--outputs any.npy");
    assert!(basis == "margins and slopes" && has(&codes, "many-classes"), "{basis} {codes:?}");
    for call in
        ["--outputs unit.npy --task classes", "--outputs few.npy", "--outputs any.npy --task embedding"]
    {
        let (basis, codes) = kind(call);
        assert_eq!(basis == "margins and slopes", !call.ends_with("embedding"), "{call}: {basis}");
        assert!(!has(&codes, "no-classes") && !has(&codes, "many-classes"), "{call}: {codes:?}");
    }
    scene
        .run("score --inputs x.npy --outputs unit.npy --connectivity bridge")
        .notes(&["length 1", "--task classes"]);
    scene
        .run("score --inputs x.npy --outputs any.npy --connectivity bridge")
        .notes(&["64 outputs", "--task embedding"]);
    // By cosine distance only directions count.
    let (basis, codes) = kind("--outputs few.npy --output-metric cosine");
    assert!(basis == "neighborhood overlap and distances" && has(&codes, "no-classes"), "{basis} {codes:?}");
    let (basis, _) = kind("--outputs few.npy --output-metric cosine --task classes");
    assert_eq!(basis, "margins and slopes");
    let compared =
        "compare -q --inputs x.npy --outputs a=few.npy --outputs b=any.npy --output-metric cosine --json";
    assert_eq!(scene.run(&format!("{compared} --connectivity bridge")).json()["ranked_by"], "overlap");
    // Compared with an embedding, outputs have the overlap in common.
    let both =
        "compare -q --inputs x.npy --outputs a=unit.npy --outputs b=any.npy --connectivity bridge --json";
    assert_eq!(scene.run(both).json()["ranked_by"], "overlap");
}

/// Items that were moved keep none of their neighbors, which puts them first; node scores alone miss some of them.
#[test]
fn items_that_moved_are_the_weakest_of_an_embedding() {
    const COLUMNS: usize = 4;
    let scene = scene();
    let rows = Random::new(21).points(COLUMNS * 300);
    let mut moved_rows = rows.clone();
    let moved = [11, 57, 140, 201, 266];
    for (place, &at) in moved.iter().enumerate() {
        let from = (at + 97 + place) % 300;
        moved_rows.copy_within(from * COLUMNS..(from + 1) * COLUMNS, at * COLUMNS);
    }
    scene.write("old.npy", floats(COLUMNS, &rows));
    scene.write("new.npy", floats(COLUMNS, &moved_rows));
    let call = "--inputs old.npy --outputs new.npy --task embedding -q";
    let mut first: Vec<usize> = scene
        .run(&format!("select {call} --top 5"))
        .prints()
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    first.sort_unstable();
    assert_eq!(first, moved);
    let text = scene.run(&format!("score {call}")).prints();
    assert!(text.contains("(by neighborhood overlap and distances)"), "{text}");
}

/// The probes of a regressor measure how far it moves; those of a classifier of two classes whether it changes its mind.
#[test]
fn a_single_output_is_probed_for_what_it_is() {
    let scene = scene();
    let call = "--model single.onnx --probe linf:0.05 --probes 30 --probe-samples 40";
    let json = score(&scene, call);
    assert!(json.get("probe").is_none());
    let change = &json["output_change"];
    assert_eq!((&change["samples"], &change["evaluations"]), (&40.into(), &(40 * 31).into()));
    let number = |field: &str| change[field].as_f64().unwrap();
    assert!(0.0 < number("median") && number("median") <= number("p95"), "{change}");
    assert!(change["top"][0]["change"].as_f64() >= Some(number("p95")));
    let wider = score(&scene, &call.replace("0.05", "0.2"));
    assert!(wider["output_change"]["median"].as_f64() > Some(number("median")));
    let text = scene.run(&format!("score --inputs x.npy -q {call}")).prints();
    assert!(
        text.contains("  change of output   ") && text.contains("standard deviations of the outputs"),
        "{text}"
    );
    let two = score(&scene, &format!("{call} --labels labels.npy"));
    assert!(two.get("output_change").is_none());
    assert_eq!((&two["probe"]["samples"], two["probe"]["accuracy"].is_number()), (&40.into(), true));
    let compared = scene
        .run(&format!(
            "compare --inputs x.npy a=single.onnx b=single.onnx -q --json {}",
            call.replace("--model single.onnx ", "")
        ))
        .json();
    assert_eq!(compared["models"][0]["output_change"], json["output_change"]);
    assert_eq!(compared["ranked_by"], "overlap");
}

const REGRESSOR: &str =
    "--model single.onnx --probe linf:0.05 --probes 20 --probe-samples 30 --task regression";

/// The unit is the spread of the targets where they are known: the changes of the same model differ by the ratio of both.
#[test]
fn changes_are_in_units_of_the_targets() {
    let scene = scene();
    let targets: Vec<f32> = Random::new(8).points(120).iter().map(|value| 10.0 * value - 3.25).collect();
    scene.write("targets.npy", floats(1, &targets));
    scene.write("targets.csv", targets.iter().map(|value| format!("{value}\n")).collect::<String>());
    scene.write("words.csv", (0..120).map(|at| format!("c{}\n", at % 3)).collect::<String>());
    let change = |labels: &str| score(&scene, &format!("{REGRESSOR} {labels}"))["output_change"].clone();
    let (plain, words) = (change(""), change("--labels words.csv"));
    assert_eq!((&plain["unit"], &plain, &words), (&"outputs".into(), &words, &plain));
    let found = change("--labels targets.npy");
    let mean = targets.iter().map(|&value| f64::from(value)).sum::<f64>() / 120.0;
    let square: f64 = targets.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum();
    let spread = (square / 120.0).sqrt();
    let number = |change: &Value, field: &str| change[field].as_f64().unwrap();
    assert!((number(&found, "spread") - spread).abs() < 1e-9, "{found} {spread}");
    assert_eq!(found["unit"], "targets");
    let outputs = number(&plain, "spread") * number(&plain, "median");
    assert!((number(&found, "median") * spread - outputs).abs() < 1e-9, "{found} {plain}");
    assert!((number(&change("--labels targets.csv"), "spread") - spread).abs() < 1e-5);
    // Whole numbers are targets too, and one output alone is a regressor without being told.
    let whole: Vec<i64> = (0..120).map(|at| at % 7).collect();
    scene.write("whole.npy", integers(&whole));
    assert!((number(&change("--labels whole.npy"), "spread") - 2.0).abs() < 0.05);
    let auto = REGRESSOR.replace(" --task regression", "");
    assert_eq!(score(&scene, &format!("{auto} --labels targets.npy"))["output_change"], found);
    let text = scene.run(&format!("score -q --inputs x.npy {REGRESSOR} --labels targets.npy")).prints();
    assert!(
        text.contains("standard deviations of the targets") && text.contains("(by change of output)"),
        "{text}"
    );
    // Fractions are no classes.
    scene.refuses("score --inputs x.npy --outputs x.npy --labels targets.npy", &["targets.npy", "integers"]);
    scene.run("score --inputs x.npy --outputs z.npy --task regression --labels x.npy -k 5").prints();
    let few = floats(1, &targets[..50]);
    scene.write("few.npy", few);
    scene.refuses(
        "score --inputs x.npy --outputs z.npy --task regression --labels few.npy",
        &["few.npy", "120", "50"],
    );
}

/// A regressor that was probed was attacked: page and comparison say how far it moved.
#[test]
fn probed_regressors_lead_with_their_change() {
    let scene = scene();
    scene.run(&format!("score -q --inputs x.npy {REGRESSOR} --report page.html")).prints();
    let page = scene.read("page.html");
    assert!(!page.contains("Not tested against attacks"), "the page denies the probes");
    for words in
        ["standard deviations of the outputs", "change of output, L∞ 0.05", "Samples whose output moves most"]
    {
        assert!(page.contains(words), "{words}");
    }
    let models = REGRESSOR.replace("--model single.onnx", "a=single.onnx b=single.onnx");
    let text = scene.run(&format!("compare -q --inputs x.npy {models} --report compared.html")).prints();
    assert!(!text.contains("No attack") && text.contains("change of output (sd of the outputs)"), "{text}");
    assert!(text.contains("Probes moved the outputs"), "{text}");
    let page = scene.read("compared.html");
    assert!(!page.contains("No attack was tried") && page.contains("Probes moved the outputs"));
}

/// Models and arrays together: what was tried is said of each, and nothing else.
#[test]
fn comparisons_say_what_was_tried() {
    let scene = scene();
    let compare = |options: &str| {
        let call =
            format!("compare --inputs x.npy net=single.onnx array=z.npy -q --labels labels.npy {options}");
        scene.run(&call).prints()
    };
    let text = compare("");
    assert!(text.contains("No attack was tried: “array” is given by its outputs alone."), "{text}");
    let text = compare("--probe linf:0.05 --probes 10 --probe-samples 20");
    assert!(!text.contains("No model was run") && !text.contains("No attack was tried"), "{text}");
    assert!(
        text.contains("Only some of the models were probed: “array” is given by its outputs alone."),
        "{text}"
    );
    let both = "compare --inputs x.npy a=single.onnx b=single.onnx -q --labels labels.npy";
    let text = scene.run(&format!("{both} --probe linf:0.05:pixel --probe-samples 20")).prints();
    assert!(text.contains("Random probes are weaker than an attack."), "{text}");
    assert!(scene.run(both).prints().contains("No attack was tried. Pass --probe linf:EPS"));
}

/// `--task` of the commands that rank and gate.
#[test]
fn select_and_check_take_a_task() {
    let scene = scene();
    let select =
        |options: &str| scene.run(&format!("select --inputs x.npy --outputs z.npy --top 5 {options}"));
    let by_margin = select("--task classes --by margin -q").prints();
    assert_eq!(select("--task classes --by margin --json -q").json()["request"]["task"], "classes");
    select("--by margin -q").refuses(2, &["--by margin"]);
    assert_eq!(by_margin.lines().count(), 5);
    select("--by fragility").notes(&["--by fragility needs", "node score", "--task classes"]);
    assert_eq!(select("--by fragility --json -q").json()["notes"][0]["code"], "no-fragility");
    scene
        .run("select --inputs x.npy --outputs x.npy --against x.npy --moved --task classes")
        .misused(&["--task"]);
    let check = |options: &str| scene.run(&format!("check --inputs x.npy --outputs z.npy -q {options}"));
    check("--labels labels.npy --min-accuracy 80%").prints();
    check("--labels labels.npy --min-accuracy 80% --task regression")
        .refuses(2, &["--min-accuracy", "labels"]);
}

/// One label that is no class takes the accuracy away: not in silence.
#[test]
fn a_label_beyond_the_outputs_is_named() {
    let scene = Scene::empty();
    let inputs = Random::new(4).points(300);
    let logits: Vec<f32> = inputs.chunks(3).flat_map(|row| [row[0], 1.0 - row[0], 0.2]).collect();
    let mut labels: Vec<i64> = logits.chunks(3).map(|row| i64::from(row[0] < row[1])).collect();
    scene.write("x.npy", floats(3, &inputs));
    scene.write("y.npy", floats(3, &logits));
    scene.write("good.npy", integers(&labels));
    labels[41] = 7;
    scene.write("bad.npy", integers(&labels));
    let run = |options: &str| scene.run(&format!("score --inputs x.npy --outputs y.npy {options}"));
    assert!(run("--labels good.npy --json").json()["accuracy"].is_number());
    run("--labels bad.npy").notes(&["sample 41 (counted from 0), 7", "3 outputs", "--task embedding"]);
    assert_eq!(run("--labels bad.npy --json -q").json()["notes"][0]["code"], "label-beyond-outputs");
    run("--labels bad.npy --task classes").refuses(2, &["bad.npy", "got 7 at row 41", "hint: "]);
    run("--labels bad.npy --task embedding -q").prints();
    scene.refuses(
        "compare --inputs x.npy y.npy x.npy --labels bad.npy --task classes",
        &["model `y`", "bad.npy", "row 41"],
    );
    // Labels from 1 on, as other programs count them.
    let from_one: Vec<i64> = (0..100).map(|at| at % 3 + 1).collect();
    scene.write("one.npy", integers(&from_one));
    run("--labels one.npy").notes(&["3 outputs", "other samples"]);
    // An embedding of three numbers with ten classes is no mistake.
    scene.write("ten.npy", integers(&(0..100).map(|at| at % 10).collect::<Vec<i64>>()));
    run("--labels ten.npy").prints();
}
