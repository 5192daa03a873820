//! `--probe`: perturbed copies through a model. What the numbers must be is tested in the core, on models in closed form.

use serde_json::Value;
use spadework_document::comparison::CompareDocument;

use crate::support::arrays::{Random, floats, npy};
use crate::support::{Scene, assert_holds};

const INPUTS: &str = "score --inputs x.npy --model mlp.onnx --quiet";

fn probed(scene: &Scene, options: &str) -> Value {
    scene.run(&format!("{INPUTS} --json --probe {options}")).json()["probe"].clone()
}

#[test]
fn a_larger_radius_leaves_less_of_the_margins() {
    let scene = Scene::with_network();
    let left = |radius: &str| {
        let probe = probed(&scene, &format!("linf:{radius} --probes 40"));
        let number = |name: &str| probe[name].as_f64().unwrap();
        assert!(number("robust_accuracy") <= number("survived"), "{probe}");
        assert!((0.0..=1.0).contains(&number("stability")), "{probe}");
        (number("survived"), number("stability"))
    };
    // A millionth moves a margin by about as much.
    assert!(left("1e-6").1 > 0.999);
    let (small, large) = (left("1/100"), left("1"));
    // The model answers nearly all of these samples alike, so that hardly one is lost; margins shrink all the same.
    assert!(small.0 >= large.0 && small.1 > 0.98 && large.1 < 0.9, "{small:?} {large:?}");
}

#[test]
fn the_document_says_what_was_done_and_what_it_cost() {
    let scene = Scene::with_network();
    let search = probed(&scene, "linf:0.1 --probe-samples 50 --seed 3");
    assert_eq!((&search["probe"], &search["probes"]), (&"linf:0.1:search".into(), &256.into()));
    assert_eq!((&search["samples"], &search["seed"]), (&50.into(), &3.into()));
    assert!(search["evaluations"].as_u64().unwrap() <= 50 * 257);
    assert!(search.get("margin_ratio").is_none() && search.get("accuracy").is_none());
    let estimate = &search["estimate"];
    assert_eq!((&estimate["estimate"], &estimate["n"]), (&search["robust_accuracy"], &50.into()));
    let number = |name: &str| estimate[name].as_f64().unwrap();
    assert!(number("lower") <= number("estimate") && number("estimate") <= number("upper"), "{estimate}");
    assert_eq!(number("queries"), search["evaluations"].as_u64().unwrap() as f64 / 50.0);
    let early = probed(&scene, "linf:0.1 --probe-samples 50 --seed 3 --precision 90%");
    assert!(early["evaluations"].as_u64().unwrap() <= 50 * 201, "{early}");
    let noise = probed(&scene, "l2:0.1:smooth:3");
    assert_eq!((&noise["probe"], &noise["evaluations"]), (&"l2:0.1:smooth:3".into(), &(200 * 9).into()));
    assert!(noise["margin_ratio"].as_f64().unwrap() > 0.0);
    assert!(noise.get("robust_accuracy").is_none());
    let text = scene
        .run("score --inputs x.npy --model mlp.onnx --probe linf:0.1 --probes 9 --probe-samples 20")
        .notes(&["up to 221 times: 20 of 200 samples with 9 probes each, 3 of them with 16 (--probes"]);
    assert_holds(
        &text,
        &[
            "mlp.onnx on 200 samples, ",
            "  robust accuracy    ",
            "estimated: of the same class under attack, L∞ 0.1 (20 samples, ",
            "  survived           ",
            "an upper bound: of the same class on every probe\n",
            "of the samples keep their class under attack by changes of at most 0.1 per number (L∞).\n",
            "by margins, slopes and probes",
        ],
    );
    // Nobody has said what is right.
    assert!(!text.contains(": right") && !text.contains("No attack was tried"), "{text}");
    let unprobed = scene.run("score --inputs x.npy --model mlp.onnx").prints();
    assert_holds(&unprobed, &["No attack was tried. Pass --probe linf:EPS"]);
}

/// A batch is how many rows go through the model at once. Other batches may change the last digits of outputs, and nothing else.
#[test]
fn the_batch_size_changes_no_probe() {
    let scene = Scene::with_network();
    let [few, many] =
        [7, 64].map(|size| probed(&scene, &format!("linf:0.5 --probes 40 --batch-size {size}")));
    for exact in ["evaluations", "survived", "changed", "robust_accuracy"] {
        assert_eq!(few[exact], many[exact], "{exact}");
    }
    let number = |probe: &Value| probe["stability"].as_f64().unwrap();
    assert!((number(&few) - number(&many)).abs() < 1e-6, "{few} {many}");
}

/// Noise is no attack: the sentence says what survived it, and a search would be better evidence.
#[test]
fn after_noise_a_search_is_the_next_step() {
    let scene = Scene::with_network();
    let call = "score --inputs x.npy --model mlp.onnx --probe linf:0.1:pixel --probes 4";
    let text = scene.run(&format!("{call} --quiet")).prints();
    let parts = [
        " survive random changes of at most 0.1 per number",
        "Only noise was tried. Pass --probe linf:EPS, without a kind of noise",
    ];
    assert_holds(&text, &parts);
    let verdict = &scene.run(&format!("{call} --quiet --json")).json()["verdict"];
    assert!(verdict["next_step"].as_str().unwrap().starts_with("Only noise was tried."));
    assert!(!verdict["limits"].to_string().contains("estimate"), "{verdict}");
    let searched = scene.run(&format!("{} --quiet --json", call.replace(":pixel", ""))).json();
    assert!(searched["verdict"].get("next_step").is_none(), "{searched}");
}

/// Labels that are what the model says, but for every fifth sample.
#[test]
fn labels_say_what_is_right() {
    let scene = Scene::with_network();
    // Far out, the model has another answer for some, and copies come across.
    let far: Vec<f32> = Random::new(3).points(800).iter().map(|number| 60.0 * number - 30.0).collect();
    scene.write("x.npy", floats(4, &far));
    scene.run("predict --inputs x.npy --model mlp.onnx --out y.npy").prints();
    let bytes = std::fs::read(scene.path().join("y.npy")).unwrap();
    // The numbers are the end of the file.
    let numbers: Vec<f32> = bytes[bytes.len() - 200 * 3 * 4..]
        .chunks_exact(4)
        .map(|number| f32::from_le_bytes(number.try_into().unwrap()))
        .collect();
    let class = |row: &[f32]| (1..3).fold(0, |best, at| if row[at] > row[best] { at } else { best });
    // The wrong labels are both others in turn, so that every output is somebody's label.
    let label = |(at, row): (usize, &[f32])| {
        let wrong = if at % 5 == 0 { 1 + at / 5 % 2 } else { 0 };
        format!("{}\n", (class(row) + wrong) % 3)
    };
    scene.write("labels.csv", numbers.chunks_exact(3).enumerate().map(label).collect::<String>());
    let call = "score --inputs x.npy --model mlp.onnx --labels labels.csv --probe linf:10 --probes 30";
    let json = scene.run(&format!("{call} --quiet --json --top 3")).json();
    let probe = &json["probe"];
    assert_eq!((&json["accuracy"], &probe["accuracy"]), (&0.8.into(), &0.8.into()));
    let changed = probe["changed"].as_u64().unwrap();
    assert_eq!(((0.8 - probe["survived"].as_f64().unwrap()) * 200.0).round() as u64, changed);
    let listed = probe["top_changed"].as_array().unwrap();
    assert_eq!(listed.len() as u64, changed.min(3));
    let margins: Vec<f64> = listed.iter().map(|sample| sample["margin"].as_f64().unwrap()).collect();
    assert!(margins.is_sorted_by(|a, b| a >= b) && margins.iter().all(|margin| *margin > 0.0), "{margins:?}");
    assert!(listed.iter().all(|sample| sample["index"].as_u64().unwrap() % 5 != 0), "{listed:?}");
    let text = scene.run(&format!("{call} --quiet --report page.html")).prints();
    assert!(
        text.contains("an upper bound: right on every probe\n")
            && text.contains("  accuracy           80 % ("),
        "{text}"
    );
    assert!(
        changed > 0 && text.contains("probed samples that are right and lose their class on a probe: "),
        "{text}"
    );
    let page = scene.read("page.html");
    assert_holds(
        &page,
        &[
            "estimated robust accuracy",
            "An upper bound of what the strongest attack of this size leaves.",
            &format!("{changed} samples that are classified correctly lose their class on one"),
            // What broke the samples stands next to them.
            "each next to the probe that broke it",
            "\"variants\":{\"samples\":[",
            "id=\"table-changed\"",
            "docs/what-the-scores-mean.md",
        ],
    );
}

#[test]
fn samples_are_selected_by_probed_fragility() {
    let scene = Scene::with_network();
    let call = "--inputs x.npy --model mlp.onnx --quiet";
    let probe = "--probe linf:0.5 --probes 30 --probe-samples 150";
    let json = scene.run(&format!("select {call} --by fragility {probe} --top 5 --json")).json();
    assert_eq!(json["fragility_basis"], "margins, slopes and probes");
    assert_eq!(json["probe"]["samples"], 150);
    let table = scene.run(&format!("select {call} --by fragility {probe} --top 5 --scores")).prints();
    assert!(
        table.starts_with(
            "index,label,score,rank,margin,fragility,overlap,probe_margin,stability,survived,robust\n"
        ),
        "{table}"
    );
    let plain = scene.run(&format!("select {call} --by fragility --top 200")).prints();
    let probed = scene.run(&format!("select {call} --by fragility {probe} --top 200")).prints();
    assert_ne!(plain, probed);
    // The same as `score` says.
    scene.run(&format!("score {call} {probe} --out result")).prints();
    let nodes = scene.read("result/nodes.csv");
    let mut fragility: Vec<(f64, usize)> = nodes
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(5).unwrap().parse::<f64>().unwrap())
        .enumerate()
        .map(|(index, fragility)| (-fragility, index))
        .collect();
    fragility.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let expected: String = fragility.iter().map(|(_, index)| format!("{index}\n")).collect();
    assert_eq!(probed, expected);
    // A page made later has the fragility by probes from the table.
    scene.run("report result --out later.html").prints();
    scene.run(&format!("score {call} {probe} --report now.html")).prints();
    let without_provenance = |page: String| page.split("provenance-title").next().unwrap().to_owned();
    let data = |page: String| {
        page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap().to_owned()
    };
    assert_eq!(without_provenance(scene.read("now.html")), without_provenance(scene.read("later.html")));
    assert_eq!(data(scene.read("now.html")), data(scene.read("later.html")));
    assert_eq!(scene.run(&format!("select {call} {probe} --top 200")).prints(), expected);
    scene.refuses(&format!("select {call} {probe} --by node"), &["--probe", "`node`", "--by fragility"]);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let scene = Scene::with_network();
    for kind in ["search", "pixel", "block", "smooth"] {
        let on = |threads: usize| probed(&scene, &format!("linf:0.2:{kind} --probes 30 --threads {threads}"));
        assert_eq!(on(1), on(3), "{kind}");
    }
}

#[test]
fn samples_have_columns_and_those_that_were_not_probed_empty_ones() {
    let scene = Scene::with_network();
    scene
        .run(&format!("{INPUTS} --probe linf:0.1:pixel --probe-samples 30 --out result --tables csv,parquet"))
        .prints();
    let table = scene.read("result/nodes.csv");
    let mut lines = table.lines();
    assert!(lines.next().unwrap().ends_with(",probe_margin,stability,probe_change,probe_kept,survived"));
    let probed = lines.filter(|line| !line.ends_with(",,,,,")).inspect(|line| {
        let fields: Vec<&str> = line.split(',').rev().take(5).collect();
        let kept: f64 = fields[1].parse().unwrap();
        // One of eight copies that is lost is enough.
        assert_eq!(fields[0], if kept == 1.0 { "1" } else { "0" }, "{line}");
        assert!((kept * 8.0).fract() == 0.0 && (0.0..=1.0).contains(&kept), "{line}");
    });
    assert_eq!(probed.count(), 30);
    assert_eq!(scene.read_json("result/result.json")["probe"]["samples"], 30);
}

#[test]
fn models_are_probed_beside_each_other_and_arrays_are_not() {
    let scene = Scene::with_network();
    scene.run("predict --inputs x.npy --model mlp.onnx --out y.npy").prints();
    let call = "compare --inputs x.npy --model a=mlp.onnx --outputs b=y.npy --probe linf:0.1 --probes 20 --out result";
    let text = scene.run(call).notes(&["model `b` is given by its outputs, so it is not probed"]);
    // Not every model has an estimate: the unevenness ranks them.
    assert!(text.contains("by unevenness") && text.contains("survived"), "{text}");
    scene.refuses(
        &format!("{call} --rank-by robust-accuracy"),
        &["model `b` is given by its outputs", "--rank-by overlap"],
    );
    let json = scene.read_json("result/result.json");
    let of = |name: &str| {
        let models = json["models"].as_array().unwrap();
        models.iter().find(|model| model["name"] == name).unwrap().get("probe").cloned()
    };
    assert_eq!(of("b"), None);
    assert_eq!(of("a"), Some(probed(&scene, "linf:0.1 --probes 20")));
    assert!(
        scene
            .read("result/nodes.csv")
            .lines()
            .next()
            .unwrap()
            .ends_with(",probe_margin_a,stability_a,survived_a,robust_a")
    );
}

/// Probes may rank models otherwise than their scores do, and then that is told.
#[test]
fn another_order_by_probes_is_found() {
    let scene = Scene::with_network();
    let call = "compare --inputs x.npy --model a=mlp.onnx --model b=mlp.onnx --quiet --probe linf:0.1 --probes 20 --out result";
    let text = scene.run(call).prints();
    assert!(
        text.starts_with("2 models on 200 samples, most robust first by estimated robust accuracy (L∞ 0.1: "),
        "{text}"
    );
    assert!(text.contains("Rank 1 is shared: a and b cannot be distinguished"), "{text}");
    let json = scene.read_json("result/result.json");
    assert_eq!((&json["ranked_by"], &json["models"][1]["rank"]), (&"robust-accuracy".into(), &1.into()));
    let known = &json["models"][0]["estimates"];
    for number in ["robust_accuracy", "survived"] {
        let n = known[number]["n"].as_u64().unwrap();
        assert_eq!(n, json["models"][0]["probe"]["samples"].as_u64().unwrap());
        assert_eq!(known[number]["queries"], json["models"][0]["probe"]["evaluations"].as_u64().unwrap() / n);
        assert!(known[number]["lower"].as_f64() < known[number]["upper"].as_f64());
    }
    assert!(json["agreement"][0]["difference"]["p"] == 1.0 && json["agreement"][0]["apart"] == false);
    let mut document: CompareDocument =
        serde_json::from_value(scene.read_json("result/result.json")).unwrap();
    assert_eq!(document.order_by_probes(), None);
    for (model, robust) in document.models.iter_mut().zip([0.25, 0.75]) {
        model.facts.probe.as_mut().unwrap().robust_accuracy = Some(robust);
    }
    assert_eq!(document.order_by_probes(), Some(vec![("b", 0.75), ("a", 0.25)]));
    document.models[0].facts.probe = None;
    assert_eq!(document.order_by_probes(), None);
}

/// Radii of columns: by standard deviations, and by a file, whose numbers the result repeats.
#[test]
fn columns_have_radii_of_their_own() {
    let scene = Scene::with_network();
    let by_deviations = probed(&scene, "linf:0.1sd --probes 20");
    assert_eq!(by_deviations["probe"], "linf:0.1sd:search");
    let text = scene.run(&format!("{INPUTS} --probe linf:0.1sd --probes 20")).prints();
    assert!(text.contains("L∞ 0.1 sd") && text.contains("0.1 standard deviations per column (L∞)"), "{text}");
    let columns = scene.run(&format!("{INPUTS} --json")).json()["input_dim"].as_u64().unwrap() as usize;
    let radii: Vec<f32> = (0..columns).map(|column| if column == 0 { 0.5 } else { 0.0 }).collect();
    scene.write("radii.npy", floats(1, &radii));
    let one = probed(&scene, "linf:0.2 --probe-radii radii.npy --probes 20");
    assert_eq!((&one["radii"][0], one["radii"].as_array().unwrap().len()), (&0.5.into(), columns));
    let all = probed(&scene, "linf:0.1 --probes 20");
    assert!(all.get("radii").is_none());
    assert!(one["stability"].as_f64() > all["stability"].as_f64(), "{one} {all}");
}

/// One-hot columns change as a whole where a file says so, and stay as they are by standard deviations otherwise.
#[test]
fn categories_change_as_a_whole() {
    let scene = Scene::with_network();
    let columns = scene.run(&format!("{INPUTS} --json")).json()["input_dim"].as_u64().unwrap() as usize;
    let mut rows = Random::new(9).points(60 * columns);
    for (at, row) in rows.chunks_exact_mut(columns).enumerate() {
        row[columns - 2] = f32::from(u8::from(at % 3 == 0));
        row[columns - 1] = 1.0 - row[columns - 2];
    }
    scene.write("table.npy", floats(columns, &rows));
    let categories: Vec<String> = (0..columns).map(|at| usize::from(at >= columns - 2).to_string()).collect();
    scene.write("categories.csv", categories.join(","));
    let call = "score --inputs table.npy --model mlp.onnx -q --probe linf:0.01sd --probes 40";
    let probe = |options: &str| scene.run(&format!("{call} {options} --json")).json()["probe"].clone();
    let (with, without) = (probe("--probe-categories categories.csv"), probe(""));
    assert_eq!(with["categories"].as_array().unwrap().len(), columns);
    assert_eq!((&with["categories"][columns - 1], &with["categories"][0]), (&1.into(), &0.into()));
    assert!(without.get("categories").is_none());
    assert!(with["stability"].as_f64() < without["stability"].as_f64(), "{with} {without}");
    // Bytes are numbers here, not pixels.
    let bytes: Vec<u8> = (0..columns).map(|at| u8::from(at >= columns - 2)).collect();
    scene.write("categories.npy", npy("|u1", false, &[columns], &bytes));
    assert_eq!(probe("--probe-categories categories.npy"), with);
    let refused = |file: &str| scene.run(&format!("{call} --probe-categories {file}"));
    refused("table.npy").misused(&["--probe-categories", "one whole number per column"]);
    scene.write("few.csv", "0,1,1");
    refused("few.csv").refuses(2, &["the categories must be", "one per column of the inputs", "got 3"]);
    scene.write("all.csv", vec!["1"; columns].join(","));
    refused("all.csv").refuses(2, &["the columns of category 1 must be one-hot", "row 0, column"]);
    scene
        .run("score --inputs table.npy --model mlp.onnx --probe-categories categories.csv")
        .misused(&["--probe <NORM"]);
}

#[test]
fn what_cannot_be_probed_is_refused() {
    let scene = Scene::with_network();
    scene.run("predict --inputs x.npy --model mlp.onnx --out y.npy").prints();
    scene.refuses(
        "score --inputs x.npy --outputs y.npy --probe linf:0.1",
        &["--probe gives perturbed inputs to a model", "needs --model"],
    );
    for wrong in ["0.1", "linf:0", "l1:0.1", "linf:0.1:noise"] {
        scene
            .run(&format!("{INPUTS} --probe {wrong}"))
            .misused(&["--probe", "expected linf:RADIUS or l2:RADIUS"]);
    }
    scene.write("radii.csv", "0.1,0,0.1\n");
    scene
        .run(&format!("{INPUTS} --probe linf:1 --probe-radii radii.csv"))
        .refuses(2, &["the radii must be", "one per column of the inputs, got 3"]);
    scene.run(&format!("{INPUTS} --probe linf:1 --probe-radii no.csv")).misused(&["--probe-radii", "no.csv"]);
    scene.run(&format!("{INPUTS} --probe-radii radii.csv")).misused(&["--probe <NORM:RADIUS[:KIND]>"]);
    scene.run(&format!("{INPUTS} --probes 8")).misused(&["--probe <NORM:RADIUS[:KIND]>"]);
    scene.run(&format!("{INPUTS} --probe linf:0.1 --probes 0")).misused(&["--probes", "1 or more"]);
    // Before anything is loaded: the inputs are not there.
    let missing = "score --inputs missing.npy --model mlp.onnx --probe linf:0.1";
    for option in ["--probes", "--probe-samples"] {
        scene.run(&format!("{missing} {option} 16777217")).refuses(2, &[option, "16777217"]);
    }
}
