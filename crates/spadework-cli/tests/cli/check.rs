//! `spadework check`: the gate.

use serde_json::Value;

use crate::support::arrays::{Random, csv};
use crate::support::{Outcome, Scene, assert_holds};

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

/// The gate failed: said on stdout, nothing on stderr; gives the object it printed.
#[track_caller]
fn fails_with(outcome: &Outcome) -> Value {
    serde_json::from_str(fails(outcome)).unwrap()
}

/// The one gate about a number in a document.
#[track_caller]
fn gate<'a>(json: &'a Value, gate: &str, number: &str) -> &'a Value {
    let is_it = |found: &&Value| found["gate"] == gate && found["number"] == number;
    let gates: Vec<&Value> = json["gates"].as_array().unwrap().iter().filter(is_it).collect();
    assert_eq!(gates.len(), 1, "{gate} {number} in {json}");
    gates[0]
}

/// Samples of [`classifier`].
const SAMPLES: usize = 400;

/// `x.csv`, `labels.csv`, and the logits of two models: of `y.csv` every twentieth is wrong (95 % are right), of `lost.csv` 50 more.
fn classifier() -> Scene {
    let scene = Scene::empty();
    let inputs = Random::new(9).points(2 * SAMPLES);
    let class = |sample: usize| usize::from(inputs[2 * sample] > 0.5);
    let logits = |is_wrong: &dyn Fn(usize) -> bool| -> Vec<f32> {
        let row = |sample: usize| {
            let lead = 0.1 + (inputs[2 * sample] - 0.5).abs() + 0.01 * inputs[2 * sample + 1];
            if (class(sample) == 0) ^ is_wrong(sample) { [lead, 0.0] } else { [0.0, lead] }
        };
        (0..SAMPLES).flat_map(row).collect()
    };
    scene.write("x.csv", csv(2, &inputs));
    scene.write("labels.csv", (0..SAMPLES).map(|sample| format!("{}\n", class(sample))).collect::<String>());
    scene.write("y.csv", csv(2, &logits(&|sample| sample % 20 == 0)));
    scene.write("lost.csv", csv(2, &logits(&|sample| sample % 20 == 0 || sample % 8 == 3)));
    scene
}

fn check_classifier(scene: &Scene, outputs: &str, rules: &str) -> Outcome {
    scene.run(&format!("check -q --inputs x.csv --labels labels.csv -k 6 --outputs {outputs}.csv {rules}"))
}

fn score_classifier(scene: &Scene, outputs: &str, options: &str) {
    scene
        .run(&format!("score -q --inputs x.csv --labels labels.csv -k 6 --outputs {outputs}.csv {options}"))
        .prints();
}

/// 380 of 400: by SciPy's Wilson interval 92.4 % to 96.7 %.
#[test]
fn an_interval_passes_fails_or_covers_the_limit() {
    let scene = classifier();
    let text = check_classifier(&scene, "y", "--min-accuracy 90%").prints();
    assert_eq!(
        text,
        "PASS  accuracy  95 % (92 – 97, 400 samples), must be at least 90 %\nThe gate passed.\n"
    );
    let outcome = check_classifier(&scene, "y", "--min-accuracy 0.97");
    assert!(
        // With one digit less, the upper end would be written as the limit.
        fails(&outcome)
            .starts_with("FAIL  accuracy  95.0 % (92.4 – 96.7, 400 samples), must be at least 97 %\n")
    );
    assert!(outcome.stdout.ends_with("1 of 1 gate failed.\n"), "{outcome:?}");
    let text = check_classifier(&scene, "y", "--min-accuracy 95%").prints();
    assert!(
        text.starts_with("?     accuracy  95 % (92 – 97, 400 samples), must be at least 95 %: cannot tell\n"),
        "{text}"
    );
    assert!(text.contains("1 undecided, counted as pass (set by --undecided)."), "{text}");
    let json = fails_with(&check_classifier(&scene, "y", "--min-accuracy 95% --undecided fail --json"));
    assert_eq!((&json["outcome"], &json["passed"]), (&"undecided".into(), &false.into()));
    let share = &gate(&json, "min-accuracy", "accuracy")["share"];
    assert!((share["lower"].as_f64().unwrap() - 0.924_036).abs() < 1e-5, "{share}");
    assert!((share["upper"].as_f64().unwrap() - 0.967_411).abs() < 1e-5, "{share}");
}

/// 50 of 400 lost and none gained: a drop of 12.5 points, and the probability of that is 2⁻⁵⁰.
#[test]
fn a_drop_is_found_sample_by_sample() {
    let scene = classifier();
    score_classifier(&scene, "y", "--out base");
    let outcome = check_classifier(&scene, "lost", "--baseline base --max-drop 2% --json");
    let json = fails_with(&outcome);
    assert_eq!((&json["schema"], &json["outcome"]), (&"spadework.check/5".into(), &"fail".into()));
    let drop = gate(&json, "max-drop", "accuracy");
    assert_eq!((&drop["outcome"], &drop["paired"]), (&"fail".into(), &true.into()));
    assert_eq!((&drop["baseline"], &drop["limit"]), (&0.95.into(), &0.02.into()));
    let number = |name: &str| drop["difference"][name].as_f64().unwrap();
    assert!((number("difference") + 0.125).abs() < 1e-15 && number("upper") < -0.09, "{drop}");
    assert!((number("p") / 2.0_f64.powi(-50) - 1.0).abs() < 1e-12, "{drop}");
    // Bonett and Price's interval with the 95 % quantile, and half a sample more: (51 − 1)/402 ∓ (1.6449 · √((52/402 − (50/402)²)/402) +
    // 0.5/402).
    assert_eq!((&drop["difference"]["level"], &drop["difference"]["lost"]), (&0.9.into(), &50.into()));
    let (center, ends) = (-50.0 / 402.0, [number("lower"), number("upper")]);
    let half = 1.644_853_626_951_472_2 * ((52.0 / 402.0 - center * center) / 402.0_f64).sqrt() + 0.5 / 402.0;
    assert!((ends[0] - center + half).abs() < 1e-12 && (ends[1] - center - half).abs() < 1e-12, "{drop}");
    let failures: Vec<usize> = serde_json::from_value(json["new_failures"].clone()).unwrap();
    assert!(failures.len() == 10 && failures.iter().all(|sample| sample % 8 == 3), "{failures:?}");
    assert_eq!((&json["new_failures_by"], json.get("new_failure_ids")), (&"accuracy".into(), None));
    scene.write("ids.txt", (0..SAMPLES).map(|at| format!("img_{at}\n")).collect::<String>());
    let named = check_classifier(&scene, "lost", "--baseline base --ids ids.txt --json");
    assert_eq!(fails_with(&named)["new_failure_ids"][9], format!("img_{}", failures[9]));
    let named = check_classifier(&scene, "lost", "--baseline base --ids ids.txt");
    assert!(fails(&named).contains(&format!("most fragile first: img_{} ", failures[0])), "{named:?}");
    let outcome = check_classifier(&scene, "lost", "--baseline base --max-drop 2%");
    let text = fails(&outcome);
    assert_holds(
        text,
        &[
            "FAIL  change of accuracy",
            "−12 points",
            "the baseline's 95 %, at most −2 allowed",
            "p < 0.001",
            "\nCorrect with the baseline and not with this model, most fragile first: #",
        ],
    );
    // The other way round nothing is lost, and a drop this large may be allowed.
    score_classifier(&scene, "lost", "--out low");
    let json = check_classifier(&scene, "y", "--baseline low/result.json --json").json();
    assert_eq!(gate(&json, "max-drop", "accuracy")["outcome"], "pass");
    let json = check_classifier(&scene, "lost", "--baseline base --max-drop 30% --json").json();
    assert_eq!(gate(&json, "max-drop", "accuracy")["outcome"], "pass");
    let json = check_classifier(&scene, "y", "--baseline base --json").json();
    assert_eq!((&json["outcome"], json.get("new_failures")), (&"pass".into(), None), "the same model");
    // The interval reaches below no drop at all, and the line says why the gate passes.
    let text = check_classifier(&scene, "y", "--baseline base").prints();
    assert!(
        text.contains("PASS  change of accuracy") && text.contains("400 samples, none lost, p = 1.00)"),
        "{text}"
    );
}

/// 13 lost and 5 gained of 400: surely more than nothing by a question of one side (p = 0.048), not by one of both (0.096). The overlap
/// asks on both sides.
#[test]
fn a_drop_is_a_question_of_one_side() {
    let scene = classifier();
    let labels: Vec<usize> = scene.read("labels.csv").lines().map(|line| line.parse().unwrap()).collect();
    let logits = |is_wrong: &dyn Fn(usize) -> bool| -> Vec<f32> {
        let row =
            |sample: usize| if (labels[sample] == 0) ^ is_wrong(sample) { [1.0, 0.0] } else { [0.0, 1.0] };
        let tilt = |(at, value): (usize, f32)| value + 1e-4 * at as f32;
        (0..SAMPLES).flat_map(row).enumerate().map(tilt).collect()
    };
    scene.write("before.csv", csv(2, &logits(&|sample| sample < 20)));
    scene.write("now.csv", csv(2, &logits(&|sample| (5..33).contains(&sample))));
    score_classifier(&scene, "before", "--out accepted");
    let json = fails_with(&check_classifier(&scene, "now", "--baseline accepted --json"));
    let drop = gate(&json, "max-drop", "accuracy");
    assert_eq!((&drop["outcome"], &drop["difference"]["lost"]), (&"fail".into(), &13.into()), "{drop}");
    // By SciPy: binomtest(13, 18, alternative="greater").
    assert!((drop["difference"]["p"].as_f64().unwrap() - 0.048_126).abs() < 1e-6, "{drop}");
    assert_eq!(gate(&json, "max-drop", "overlap")["difference"]["level"], 0.95);
}

#[test]
fn a_baseline_that_is_no_result_is_named() {
    let scene = with_baseline();
    scene.make_folder("empty");
    for folder in ["nowhere", "empty"] {
        let outcome = check(&scene, "y.npy", &format!("--baseline {folder} --max-drop 2%"));
        outcome.refuses(2, &[&format!("{folder}: expected a folder made with `score --out`")]);
    }
}

/// Without the table of samples, only shares are compared: the interval is wider, and equal models are not known to be equal.
#[test]
fn a_baseline_without_its_samples_is_compared_by_its_shares() {
    let scene = classifier();
    score_classifier(&scene, "y", "--out base --tables npy");
    let json = check_classifier(&scene, "y", "--baseline base --json").json();
    let drop = gate(&json, "max-drop", "accuracy");
    assert_eq!((&drop["paired"], &drop["outcome"]), (&false.into(), &"undecided".into()));
    fails(&check_classifier(&scene, "y", "--baseline base --undecided fail"));
    let outcome = check_classifier(&scene, "lost", "--baseline base --max-drop 2%");
    assert!(fails(&outcome).contains("not paired, 400 samples"), "{outcome:?}");
    // Other samples: no pairs, and no overlaps of as many neighbors.
    let inputs = Random::new(10).points(600);
    let class = |row: &[f32]| u8::from(row[0] > 0.5);
    scene.write("other.csv", csv(2, &inputs));
    scene.write("others.csv", inputs.chunks(2).map(|row| format!("{}\n", class(row))).collect::<String>());
    let logits: Vec<f32> = inputs.chunks(2).flat_map(|row| [0.5 - row[0], row[0] - 0.5]).collect();
    scene.write("logits.csv", csv(2, &logits));
    let json = scene
        .run("check -q --inputs other.csv --labels others.csv -k 6 --outputs logits.csv --baseline base --json")
        .json();
    assert_eq!(gate(&json, "max-drop", "accuracy")["outcome"], "pass");
    let overlap = gate(&json, "max-drop", "overlap");
    assert_eq!(overlap["outcome"], "undecided");
    assert!(
        overlap["reason"].as_str().unwrap().contains("300 samples cannot be compared with that of 400"),
        "{overlap}"
    );
}

#[test]
fn gates_are_written_for_other_programs() {
    let scene = classifier();
    score_classifier(&scene, "y", "--out base");
    let rules = "--min-accuracy 80% --baseline base --max-drop 2% --junit gates.xml --summary gates.md";
    fails(&check_classifier(&scene, "lost", rules));
    let junit = scene.read("gates.xml");
    assert!(
        junit.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"3\" "),
        "{junit}"
    );
    assert_eq!(junit.matches("<testcase ").count(), 3);
    assert_eq!(junit.matches("<failure message=").count(), junit.matches("</failure>").count());
    assert!(
        junit.contains("name=\"change of accuracy: --max-drop 2 %\"><failure message=\"−12 points"),
        "{junit}"
    );
    assert!(junit.contains("p &lt; 0.001") && !junit.contains("p < 0.001"), "{junit}");
    let summary = scene.read("gates.md");
    assert!(summary.starts_with("### Spadework: failed\n"), "{summary}");
    assert!(summary.contains("| ❌ fail | change of accuracy | −12 points"), "{summary}");
    // Undecided gates are skipped tests, or failures where they count as such.
    check_classifier(&scene, "y", "--min-accuracy 95% --junit open.xml").prints();
    assert!(
        scene.read("open.xml").contains("skipped=\"1\"")
            && scene.read("open.xml").contains("<skipped message=")
    );
    fails(&check_classifier(&scene, "y", "--min-accuracy 95% --undecided fail --junit open.xml"));
    assert!(scene.read("open.xml").contains("failures=\"1\""), "{}", scene.read("open.xml"));
    // A place that cannot be written is found before the work begins.
    check_classifier(&scene, "y", "--min-accuracy 95% --junit x.csv/gates.xml").refuses(2, &["x.csv"]);
}

const PROBED: &str = "--inputs x.npy --model mlp.onnx --probes 20 --quiet";

#[test]
fn what_probes_leave_is_gated() {
    let scene = Scene::with_network();
    let run = |rules: &str| scene.run(&format!("check {PROBED} {rules}"));
    // A millionth of the data breaks nothing: 200 of 200, at least 97.3 %.
    let json = run("--probe linf:1e-6 --min-robust-accuracy 97% --min-survived 0.5 --json").json();
    assert_eq!(json["outcome"], "pass");
    let share = &gate(&json, "min-robust-accuracy", "robust-accuracy")["share"];
    assert_eq!((&share["n"], share["queries"].is_u64()), (&200.into(), true), "{share}");
    let text = run("--probe linf:1e-6 --min-robust-accuracy 99%").prints();
    assert!(text.starts_with("?     estimated robust accuracy  100 % (97 – 100, 200 samples)"), "{text}");
    // A baseline of the same probe, of another one, and of none.
    let score =
        |options: &str| scene.run(&format!("score --inputs x.npy --model mlp.onnx -q {options}")).prints();
    score("--probes 20 --probe linf:1e-6 --out base");
    score("--out plain");
    let table = scene.read("base/nodes.csv");
    assert!(table.starts_with(
        "index,label,score,rank,margin,fragility,overlap,probe_margin,stability,survived,robust\n"
    ));
    let json = run("--probe linf:1e-6 --baseline base --json").json();
    assert_eq!(gate(&json, "max-drop", "robust-accuracy")["paired"], true);
    assert_eq!(gate(&json, "max-drop", "survived")["outcome"], "pass");
    run("--probe linf:1e-5 --baseline base")
        .refuses(2, &["base", "the same probe (linf:0.00001:search with 20 probes)"]);
    // Columns that move differently are another attack, though the radius is the same.
    scene.write("none.csv", "0,0,0,0");
    scene.write("radii.csv", "1,1,1,0.5");
    scene.write("other.csv", "1,1,1,0.25");
    score("--probes 20 --probe linf:1e-6 --probe-radii radii.csv --out of_columns");
    let against = |base: &str, options: &str| run(&format!("--probe linf:1e-6 {options} --baseline {base}"));
    for (base, options, reason) in [
        ("base", "--probe-radii radii.csv", "a probe with the same radii of columns, got one without them"),
        ("base", "--probe-categories none.csv", "a probe with the same categories, got one without them"),
        ("of_columns", "", "a probe without radii of columns, as in this run, got one with them"),
        (
            "of_columns",
            "--probe-radii other.csv",
            "the same radii of columns (0.25 for column 3, counted from 0), got 0.5",
        ),
    ] {
        against(base, options).refuses(2, &[base, reason]);
    }
    against("of_columns", "--probe-radii radii.csv").prints();
    let text = run("--probe linf:1e-6 --baseline plain").prints();
    assert!(text.contains("This model was probed and the baseline was not"), "{text}");
    let text = scene.run("check --inputs x.npy --model mlp.onnx -q --baseline base").prints();
    assert!(text.contains("pass --model and --probe linf:0.000001:search"), "{text}");
}

/// Where both models were probed, new failures are the samples that survived before, right or not.
#[test]
fn new_failures_say_what_was_lost() {
    let scene = Scene::with_network();
    // Far out, the model has another answer for some.
    let far: Vec<f32> = Random::new(3).points(800).iter().map(|number| 60.0 * number - 30.0).collect();
    scene.write("x.csv", csv(4, &far));
    let call = format!("{} --probe linf:10", PROBED.replace("npy", "csv"));
    scene.run(&format!("score {call} --out base")).prints();
    let table = scene.read("base/nodes.csv");
    let at = table.lines().next().unwrap().split(',').position(|name| name == "survived").unwrap();
    // A baseline that lost nothing.
    let survived = |line: &str| -> String {
        let mut fields: Vec<&str> = line.split(',').collect();
        fields[at] = if fields[at] == "0" { "1" } else { fields[at] };
        fields.join(",") + "\n"
    };
    scene.write("base/nodes.csv", table.lines().map(survived).collect::<String>());
    let json = fails_with(&scene.run(&format!("check {call} --baseline base --json")));
    assert_eq!(json["new_failures_by"], "survived", "{json}");
    let text = scene.run(&format!("check {call} --baseline base"));
    assert!(
        fails(&text).contains("\nSurvived every probe with the baseline and not with this model"),
        "{text:?}"
    );
}

#[test]
fn limits_need_what_they_are_about() {
    let scene = Scene::with_model();
    check(&scene, "y.npy", "--min-robust-accuracy 60%").misused(&["--probe"]);
    check(&scene, "y.npy", "--min-survived 60%").misused(&["--probe"]);
    check(&scene, "y.npy", "--probe linf:0.1 --min-robust-accuracy 60%")
        .refuses(2, &["--probe", "needs --model"]);
    check(&scene, "y.npy", "--min-accuracy 60%")
        .refuses(2, &["--min-accuracy needs labels", "hint: pass --labels"]);
    let noise = Scene::with_network()
        .run(&format!("check {PROBED} --probe linf:0.1:pixel --min-robust-accuracy 60%"));
    noise.refuses(2, &["--min-robust-accuracy", "`search`"]);
}

/// Forgotten labels must not take a gate away in silence.
#[test]
fn an_accuracy_that_is_missing_is_noted() {
    let scene = classifier();
    score_classifier(&scene, "y", "--out base");
    let rules = "--baseline base --max-drop 2% --json";
    let json = scene.run(&format!("check -q --inputs x.csv -k 6 --outputs y.csv {rules}")).json();
    assert_eq!(json["notes"][0]["code"], "accuracy-missing", "{json}");
    let labeled = check_classifier(&scene, "y", rules).json();
    assert_eq!(labeled["notes"], serde_json::json!([]), "{labeled}");
}

#[test]
fn overlap_is_gated_without_labels() {
    let scene = with_baseline();
    let overlap = scene.read_json("base/result.json")["overlap"].as_f64().unwrap();
    check(&scene, "y.npy", &format!("--min-overlap {}", overlap - 0.1)).prints();
    fails(&check(&scene, "y.npy", &format!("--min-overlap {}", overlap + 0.1)));
    // The model that tears every fifth sample away keeps fewer neighbors.
    let outcome = check(&scene, "worse.npy", "--baseline base --json");
    let drop = gate(&fails_with(&outcome), "max-drop", "overlap").clone();
    assert_eq!((&drop["outcome"], &drop["paired"]), (&"fail".into(), &true.into()));
    assert_eq!(drop["baseline"], overlap);
}

#[test]
fn a_limit_of_the_score_passes_or_fails() {
    let scene = Scene::with_model();
    let text = check(&scene, "y.npy", "--max-score 1e6").prints();
    assert!(text.starts_with("PASS  SPADE score  ") && text.contains("must be at most 1000000\n"), "{text}");
    let outcome = check(&scene, "y.npy", "--max-score 0.001");
    let text = fails(&outcome);
    assert!(text.starts_with("FAIL  SPADE score  ") && text.contains("must be at most 0.001\n"), "{text}");
    // By itself it is a weak gate, and says so.
    assert!(text.contains("The SPADE score tracks robustness poorly"), "{text}");
    let text = check(&scene, "y.npy", "--max-score 1e6 --min-overlap 1%").prints();
    assert!(!text.contains("poorly"), "{text}");
    let json = check(&scene, "y.npy", "--max-score 1e6 --json").json();
    assert_eq!(json["notes"][0]["code"], "score-alone");
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
    assert!(text.contains("PASS  growth of SPADE score") && text.contains("(baseline "), "{text}");
    check(&scene, "y.npy", "--baseline base/result.json").prints();
    check(&scene, "y.npy", "--baseline base/result.json --max-regression 0% --seed 3 --threads 1").prints();
}

#[test]
fn a_worse_model_has_regressed() {
    let scene = with_baseline();
    let outcome = check(&scene, "worse.npy", "--baseline base/result.json --max-regression 5%");
    assert!(fails(&outcome).contains("FAIL  growth of SPADE score"), "{outcome:?}");
    let outcome = check(&scene, "worse.npy", "--baseline base/result.json");
    assert!(fails(&outcome).contains("FAIL  change of neighborhood overlap"), "{outcome:?}");
    check(&scene, "worse.npy", "--baseline base/result.json --max-drop 90% --max-regression 100000%")
        .prints();
}

#[test]
fn a_failed_gate_still_writes_its_result() {
    let scene = Scene::with_model();
    fails(&check(&scene, "y.npy", "--max-score 0.001 --out result"));
    assert_eq!(scene.listing("result"), ["edges.csv", "embedding.npy", "nodes.csv", "result.json"]);
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
        ("corrupt.json", "{ \"schema\": \"spadework.score/4\", "),
        ("foreign.json", "{ \"accuracy\": 0.9 }"),
        ("newer.json", "{ \"schema\": \"spadework.score/99\" }"),
        ("partial.json", "{ \"schema\": \"spadework.score/4\", \"model_score\": 3.0 }"),
        ("list.json", "[1, 2]"),
        ("empty.json", ""),
    ];
    for (file, content) in cases {
        scene.write(file, content);
        check(&scene, "y.npy", &format!("--baseline {file}")).refuses(2, &[file, "spadework.score/4"]);
    }
    check(&scene, "y.npy", "--baseline none.json").refuses(2, &["none.json"]);
    check(&scene, "y.npy", "--baseline x.npy").refuses(2, &["x.npy", "not a JSON document"]);
    scene.make_folder("base");
    check(&scene, "y.npy", "--baseline base").refuses(2, &["base"]);
}

#[test]
fn a_rule_must_be_given() {
    let scene = Scene::with_model();
    check(&scene, "y.npy", "").misused(&["--min-robust-accuracy", "--max-score", "--baseline"]);
    check(&scene, "y.npy", "--max-regression 5%").misused(&["--baseline"]);
    check(&scene, "y.npy", "--max-drop 5%").misused(&["--baseline"]);
}

#[test]
fn limits_must_be_understood() {
    let scene = with_baseline();
    let part =
        |part: &str| check(&scene, "y.npy", &format!("--baseline base/result.json --max-regression={part}"));
    for wrong in ["5", "-5%", "five", "NaN%"] {
        part(wrong).misused(&["--max-regression", wrong, "5%", "0.05"]);
    }
    for wrong in ["60", "101%", "-5%", "most"] {
        check(&scene, "y.npy", &format!("--min-overlap={wrong}")).misused(&["--min-overlap", wrong]);
    }
    for wrong in ["0", "-1", "NaN", "inf", "many"] {
        check(&scene, "y.npy", &format!("--max-score={wrong}")).misused(&["--max-score", "positive number"]);
    }
}
