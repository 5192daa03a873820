//! `spadework compare`: many models on one input graph.

use serde_json::Value;

use crate::support::arrays::{Random, floats, npz};
use crate::support::{Outcome, Scene, assert_holds, score_in_interval};

fn compare(scene: &Scene, options: &str) -> Outcome {
    scene.run(&format!("compare --inputs x.npy {options}"))
}

const TWO: &str = "--outputs bad=worse.npy --outputs good=y.npy";

#[test]
fn ranks_the_models_most_robust_first() {
    let scene = Scene::with_model();
    let json = compare(&scene, &format!("{TWO} --json --labels labels.npy")).json();
    assert_eq!((&json["schema"], &json["ranked_by"]), (&"spadework.compare/4".into(), &"overlap".into()));
    let models = json["models"].as_array().unwrap();
    assert_eq!((&models[0]["rank"], &models[1]["rank"]), (&1.into(), &2.into()));
    assert_eq!((&models[0]["name"], &models[1]["name"]), (&"good".into(), &"bad".into()));
    assert!(models[0]["model_score"].as_f64() < models[1]["model_score"].as_f64());
    // Four labels and three outputs do not go together: no classes, and no unevenness.
    assert!(models[0].get("accuracy").is_none());
    assert_eq!(json["agreement"][0]["top"], 100);
    assert_as_alone(&scene, &json, "--labels labels.npy", &["label_scores", "disparity"]);
}

/// Models of [`TWO`] have what each has by itself, scored with the same options.
#[track_caller]
fn assert_as_alone(scene: &Scene, json: &Value, options: &str, more: &[&str]) {
    for (model, file) in json["models"].as_array().unwrap().iter().zip(["y.npy", "worse.npy"]) {
        let alone = scene.run(&format!("score --json {options} --inputs x.npy --outputs {file}")).json();
        for field in ["model_score", "eigenvalues", "numerical_bounds", "top_nodes"].iter().chain(more) {
            assert_eq!(model[field], alone[field], "{file}: {field}");
        }
        assert_eq!(json["input_graph"], alone["graphs"]["input"]);
        assert_eq!(model["output_graph"], alone["graphs"]["output"]);
    }
}

#[test]
fn graphs_are_made_as_for_one_model() {
    let scene = Scene::with_model();
    let method = "--graph cknn:1.1 --weights gaussian --search exact --solver power --connectivity bridge";
    let json = compare(&scene, &format!("{TWO} --json {method}")).json();
    assert_eq!((&json["graph"], &json["weights"]), (&"cknn:1.1".into(), &"gaussian".into()));
    assert_as_alone(&scene, &json, method, &[]);
    let text = compare(&scene, &format!("{TWO} {method}")).prints();
    assert!(text.contains("(10 neighbors; cknn:1.1 graphs, gaussian weights)"), "{text}");
}

#[test]
fn a_graph_may_stand_for_the_inputs() {
    let scene = Scene::with_model();
    scene.score("-q --out r --save-graphs csv,npz").prints();
    for graph in ["r/input_graph.csv", "r/input_graph.npz"] {
        let json =
            scene.run(&format!("compare --input-graph {graph} {TWO} --json --labels labels.npy")).json();
        assert_eq!((&json["input_dim"], &json["input_graph"]["given"]), (&0.into(), &true.into()));
        let of_samples = compare(&scene, &format!("{TWO} --json --labels labels.npy")).json();
        for (given, made) in
            json["models"].as_array().unwrap().iter().zip(of_samples["models"].as_array().unwrap())
        {
            for field in ["name", "model_score", "numerical_bounds", "label_scores", "output_graph"] {
                assert_eq!(given[field], made[field], "{graph}: {field}");
            }
            // A fragility without the inputs is another one.
            for field in
                ["/top_nodes/0/index", "/top_nodes/0/score", "/top_nodes/9/index", "/top_nodes/9/margin"]
            {
                assert_eq!(given.pointer(field), made.pointer(field), "{graph}: {field}");
            }
        }
    }
    let on =
        |graph: &str, options: &str| scene.run(&format!("compare --input-graph {graph} {TWO} {options}"));
    on("r/input_graph.csv", "--inputs x.npy").misused(&["--input-graph"]);
    on("r/input_graph.csv", "--interval").refuses(2, &["--interval", "--input-graph"]);
    on("r/input_graph.csv", "--graph pca:2").refuses(2, &["--graph pca:", "--input-graph"]);
    on("absent.csv", "").refuses(2, &["absent.csv: no such file"]);
    on("r/input_graph.csv", "--labels x.npy").refuses(2, &["x.npy"]);
    scene.write("pieces.csv", "0,1\n2,3\n");
    on("pieces.csv", "-r 1").notes(&["the given input graph has 298 components"]);
    scene.write("large.csv", "0,1\n2,399\n");
    on("large.csv", "").refuses(2, &["large.csv: line 2", "below the number of samples, got 399"]);
    scene.run(&format!("compare {TWO}")).misused(&["--inputs"]);
}

#[test]
fn an_approximate_search_is_told() {
    let scene = Scene::empty();
    // Fewer than some four thousand samples are searched exactly whatever was asked for.
    let points = Random::new(3).points(3 * 4200);
    let bent: Vec<f32> = points.iter().map(|value| value * value.abs()).collect();
    scene.write("x.npy", floats(3, &points));
    scene.write("y.npy", floats(3, &bent));
    let models = "--outputs same=x.npy --outputs bent=y.npy --search approximate -k 8";
    let told = ["neighbors of the inputs", "neighbors of the outputs of `bent`", "recall", "--search exact"];
    compare(&scene, models).notes(&told);
    scene.run(&format!("sweep --inputs x.npy {models}")).notes(&told);
}

#[test]
fn tells_the_accuracy_where_labels_are_classes() {
    let scene = Scene::with_model();
    let labels: String = (0..Scene::SAMPLES).map(|sample| format!("{}\n", sample % 3)).collect();
    scene.write("classes.csv", labels);
    let json = compare(&scene, &format!("{TWO} --json --labels classes.csv -q")).json();
    // Labels by position say nothing about smooth outputs: about a third is right.
    let accuracy = json["models"][0]["accuracy"].as_f64().unwrap();
    assert!((0.2..0.5).contains(&accuracy), "{accuracy}");
    let text = compare(&scene, &format!("{TWO} --labels classes.csv"))
        .notes(&["model `good`: only ", " % of the samples have their largest output at their label"]);
    assert!(text.contains("accuracy") && text.contains(&format!("{:.0} %", 100.0 * accuracy)), "{text}");
    let known = &json["models"][0]["estimates"]["accuracy"];
    assert_eq!((&known["estimate"], &known["n"]), (&accuracy.into(), &300.into()));
    assert!(known["lower"].as_f64() < Some(accuracy) && known["upper"].as_f64() > Some(accuracy));
}

#[test]
fn prints_a_table() {
    let scene = Scene::with_model();
    let text = compare(&scene, &format!("{TWO} --rank-by overlap")).prints();
    assert!(
        text.starts_with(
            "2 models on 300 samples, most robust first by neighborhood overlap (10 neighbors)\n"
        ),
        "{text}"
    );
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[2][..4], ["rank", "model", "overlap", "unevenness"]);
    assert_eq!(rows[3][..2], ["1", "good"]);
    assert_eq!(rows[4][..2], ["2", "bad"]);
    // 68 % (66 – 70): the number that decides has its interval, and no more than three digits.
    assert_eq!((rows[3][3], rows[3][5], rows[3].len()), ("%", "–", 9), "{text}");
    assert!(text.contains("top 100 shared  Spearman  Kendall"), "{text}");
    assert!(!text.contains("  accuracy") && !text.contains("interval"), "{text}");
    assert!(text.contains("No model was run") && text.contains("--probe linf:EPS"), "{text}");
}

#[test]
fn certainty_stands_beside_every_model() {
    let scene = Scene::with_model();
    let json = compare(&scene, &format!("{TWO} --json --interval --references")).json();
    for model in json["models"].as_array().unwrap() {
        let score = score_in_interval(model);
        assert_eq!(
            (&model["interval"]["level"], &model["interval"]["subsample"]),
            (&0.95.into(), &150.into())
        );
        assert_eq!(model["references"]["identity"], 1.0);
        assert!(model["references"]["permuted"].as_f64().unwrap() > score);
    }
    let part = json["agreement"][0]["subsamples_in_order"].as_f64().unwrap();
    assert!((0.5..=1.0).contains(&part), "{part}");
    let text = compare(&scene, &format!("{TWO} --interval --references")).prints();
    assert_holds(&text, &["95 % interval", "permuted", "in this order"]);
}

#[test]
fn tables_are_written() {
    let scene = Scene::with_model();
    let options = "--labels labels.npy --tables csv,npy,parquet";
    compare(&scene, &format!("{TWO} --out result {options}")).prints();
    let expected = [
        "agreement.csv",
        "agreement.parquet",
        "models.csv",
        "models.parquet",
        "node_scores.npy",
        "nodes.csv",
        "nodes.parquet",
        "result.json",
    ];
    assert_eq!(scene.listing("result"), expected);
    let models = scene.read("result/models.csv");
    assert!(
        models.starts_with("rank,name,model_score,numerical_bounds_lower,numerical_bounds_upper,accuracy,"),
        "{models}"
    );
    assert!(models.lines().nth(1).unwrap().starts_with("1,good,"), "{models}");
    let nodes = scene.read("result/nodes.csv");
    // Four labels and three outputs: an embedding has no margins.
    let header = "index,label,score_good,score_bad,fragility_good,overlap_good,fragility_bad,overlap_bad\n";
    assert!(nodes.starts_with(&format!("{header}0,0,")), "{}", &nodes[..80]);
    assert_eq!(nodes.lines().count(), Scene::SAMPLES + 1);
    assert!(
        scene
            .read("result/agreement.csv")
            .starts_with("a,b,top,top_shared,spearman,kendall,subsamples_in_order\ngood,bad,100,")
    );
    let json = scene.read_json("result/result.json");
    assert_eq!(json["schema"], "spadework.compare/4");
}

/// Twelve models, each torn a little more than the one before: some are told from a third model by what does not tell them apart.
#[test]
fn pairs_alike_across_ranks_are_named() {
    let scene = Scene::with_model();
    let outputs: Vec<f32> = Random::new(1).points(Scene::SAMPLES * Scene::INPUT_DIM);
    let model = |part: usize| -> Vec<f32> {
        let torn = |(sample, row): (usize, &[f32])| {
            let shift = if sample % 60 < part { 0.7 } else { 0.0 };
            [row[0] + shift, row[1] + shift, row[2] * row[3]]
        };
        outputs.chunks(Scene::INPUT_DIM).enumerate().flat_map(torn).collect()
    };
    let mut call = String::new();
    for part in 0..12 {
        scene.write(&format!("m{part}.npy"), floats(3, &model(part)));
        call.push_str(&format!("m{part}.npy "));
    }
    call.push_str("--rank-by overlap");
    let json = compare(&scene, &format!("{call} --json -q")).json();
    let rank = |name: &Value| {
        let models = json["models"].as_array().unwrap();
        models.iter().find(|model| &model["name"] == name).unwrap()["rank"].clone()
    };
    let alike = |pair: &&Value| pair["apart"] == false && rank(&pair["a"]) != rank(&pair["b"]);
    let pairs: Vec<&Value> = json["agreement"].as_array().unwrap().iter().filter(alike).collect();
    assert!(pairs.len() > 3, "{json}");
    let text = compare(&scene, &format!("{call} -q --report page.html")).prints();
    let first = format!(
        "  {} and {} cannot be distinguished either (difference ",
        pairs[0]["a"].as_str().unwrap(),
        pairs[0]["b"].as_str().unwrap()
    );
    assert!(text.contains(&first) && text.matches("either (difference").count() == 3, "{text}");
    assert!(text.contains(&format!("The same is true of {} more pairs", pairs.len() - 3)), "{text}");
    // The page has all pairs, with their differences.
    let page = scene.read("page.html");
    assert!(page.contains("id=\"table-differences\"") && page.contains("distinguishable"));
}

/// Names of the models, most robust first.
fn names(scene: &Scene, options: &str) -> Vec<String> {
    let json = compare(scene, &format!("{options} --json")).json();
    json["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn names_come_from_files_and_keys() {
    let scene = Scene::with_model();
    let array = |file: &str| std::fs::read(scene.path().join(file)).unwrap();
    scene.write("both.npz", npz(&[("first", array("y.npy")), ("second", array("worse.npy"))]));
    let names = |options: &str| names(&scene, options);
    assert_eq!(names("--outputs y.npy --outputs worse.npy"), ["y", "worse"]);
    assert_eq!(names("--outputs both.npz:first --outputs both.npz:second"), ["first", "second"]);
    assert_eq!(names("--outputs a=both.npz:first --outputs b:c=both.npz:second"), ["a", "b:c"]);
}

#[test]
fn an_equals_sign_may_be_part_of_a_path() {
    let scene = Scene::with_model();
    scene.make_folder("eps=0.1");
    for (from, to) in [("y.npy", "eps=0.1/y.npy"), ("worse.npy", "lr=3.npy")] {
        scene.write(to, std::fs::read(scene.path().join(from)).unwrap());
    }
    let json = compare(&scene, "--json --outputs eps=0.1/y.npy --outputs lr=3.npy").json();
    assert_eq!((&json["models"][0]["name"], &json["models"][1]["name"]), (&"y".into(), &"lr=3".into()));
    let json = compare(&scene, "--json --outputs a=eps=0.1/y.npy --outputs b=lr=3.npy").json();
    assert_eq!((&json["models"][0]["name"], &json["models"][1]["name"]), (&"a".into(), &"b".into()));
}

#[test]
fn wrong_models_are_named() {
    let scene = Scene::with_model();
    compare(&scene, "--outputs a=y.npy").refuses(2, &["at least 2 models", "got 1", "hint: "]);
    compare(&scene, "--outputs y.npy --outputs y.npy").refuses(2, &["`y` twice", "hint: "]);
    compare(&scene, "--outputs a=y.npy --outputs a=worse.npy").refuses(2, &["`a` twice"]);
    compare(&scene, "--outputs a=y.npy --outputs b=none.npy")
        .refuses(2, &["model `b`", "none.npy: no such file"]);
    compare(&scene, "--outputs =y.npy --outputs b=y.npy")
        .refuses(2, &["--outputs", "NAME=ARRAY", "`=y.npy`"]);
    compare(&scene, "--outputs a= --outputs b=y.npy").refuses(2, &["--outputs", "`a=`"]);
    scene.write("short.npy", floats(3, &[0.5; 30]));
    compare(&scene, "--outputs a=y.npy --outputs b=short.npy")
        .refuses(2, &["x.npy and short.npy", "model `b`", "300 inputs and 10 outputs"]);
    let mut nan = vec![0.5; 900];
    nan[7] = f32::NAN;
    scene.write("nan.npy", floats(3, &nan));
    compare(&scene, "--outputs a=y.npy --outputs c=nan.npy").refuses(2, &["model `c`", "nan.npy", "row 2"]);
    scene.write("flat.npy", floats(3, &[0.5; 900]));
    compare(&scene, "--outputs a=y.npy --outputs d=flat.npy").refuses(3, &["model `d`", "flat.npy", "equal"]);
    compare(&scene, &format!("{TWO} --labels short.npy")).refuses(2, &["short.npy"]);
    compare(&scene, "").misused(&["--outputs"]);
    compare(&scene, &format!("{TWO} -k 300")).refuses(2, &["neighbors", "got 300"]);
    compare(&scene, &format!("{TWO} -k 150 --interval")).refuses(2, &["half of the samples", "150"]);
}

#[test]
fn one_k_connects_all_and_is_told() {
    let scene = Scene::with_pieces();
    let call = "--outputs a=y.npy --outputs far=pieces.npy -k 5";
    let json: serde_json::Value =
        serde_json::from_str(&compare(&scene, &format!("{call} --json")).notes(&["5 neighbors", "`far`"]))
            .unwrap();
    let used = json["neighbors"]["used"].as_u64().unwrap();
    assert!(used > 5);
    let alone = scene.score(&format!("--json -k {used}")).json();
    assert_eq!(
        alone["model_score"],
        json["models"].as_array().unwrap().iter().find(|m| m["name"] == "a").unwrap()["model_score"]
    );
    compare(&scene, &format!("{call} --connectivity error"))
        .refuses(3, &["model `far`", "components", "hint: "]);
    compare(&scene, &format!("{call} --connectivity bridge")).notes(&["bridges", "`far`"]);
}

/// The same outputs twice cannot be distinguished by anything; a model that tears neighbors apart can.
#[test]
fn equal_models_share_a_rank() {
    let scene = Scene::with_model();
    let three = "--outputs bad=worse.npy --outputs good=y.npy --outputs same=y.npy";
    let ranks = |options: &str| -> Vec<(String, u64)> {
        let json = compare(&scene, &format!("{three} --json {options}")).json();
        let models = json["models"].as_array().unwrap();
        models.iter().map(|m| (m["name"].as_str().unwrap().to_owned(), m["rank"].as_u64().unwrap())).collect()
    };
    let shared = [("good".to_owned(), 1), ("same".to_owned(), 1), ("bad".to_owned(), 3)];
    for options in ["--rank-by overlap", "--rank-by model-score", "--rank-by model-score --interval"] {
        assert_eq!(ranks(options), shared, "{options}");
    }
    let json = compare(&scene, &format!("{three} --rank-by overlap --json")).json();
    let pair = &json["agreement"][1];
    assert_eq!((&pair["a"], &pair["b"], &pair["apart"]), (&"good".into(), &"bad".into(), &true.into()));
    let difference = &pair["difference"];
    assert!(difference["lower"].as_f64() > Some(0.0) && difference["n"] == 300, "{pair}");
    let by_overlap = compare(&scene, &format!("{three} --rank-by overlap")).prints();
    assert!(
        by_overlap.contains("most robust first by neighborhood overlap (10 neighbors)")
            && by_overlap.contains(
                "Rank 1 is shared: good and same cannot be distinguished (difference 0 ± 0 points)."
            ),
        "{by_overlap}"
    );
    let by_score = compare(&scene, &format!("{three} --rank-by model-score")).prints();
    assert!(
        by_score.contains("by SPADE score (10 neighbors)") && by_score.contains("numerical bounds"),
        "{by_score}"
    );
    assert!(by_score.contains("tracks accuracy under attack poorly"), "{by_score}");
}

/// A model that moves a corner of the data far away keeps most neighbors, and tears all edges to the corner: the overlap is large, and
/// so is the SPADE score. The numbers disagree, and that is told.
#[test]
fn numbers_that_disagree_are_told() {
    let scene = Scene::with_model();
    let inputs = Random::new(1).points(Scene::SAMPLES * Scene::INPUT_DIM);
    let moved = inputs.chunks(Scene::INPUT_DIM).flat_map(|row| {
        let shift = if row[0] < 0.15 { 100.0 } else { 0.0 };
        row.iter().map(move |value| value + shift)
    });
    scene.write("corner.npy", floats(Scene::INPUT_DIM, &moved.collect::<Vec<_>>()));
    let call = "--outputs smooth=y.npy --outputs corner=corner.npy --connectivity bridge -q";
    let json = compare(&scene, &format!("{call} --json")).json();
    assert_eq!(json["models"][0]["name"], "corner");
    assert!(json["models"][0]["model_score"].as_f64() > json["models"][1]["model_score"].as_f64());
    let told = &json["disagreement"][0];
    assert_eq!((&told["by"], &told["pairs"], &told["of"]), (&"model-score".into(), &1.into(), &1.into()));
    let text = compare(&scene, call).prints();
    assert!(text.contains("The SPADE score orders corner and smooth the other way around."), "{text}");
}

/// Without probes, classifiers are ranked by how unevenly their outputs change; what shifts all outputs of a sample alike changes no class,
/// and does not count.
#[test]
fn classifiers_are_ranked_by_unevenness() {
    let scene = Scene::with_model();
    let mut random = Random::new(5);
    let noise = random.points(3 * Scene::SAMPLES);
    let torn = floats(3, &noise);
    scene.write("torn.npy", torn);
    let three = "--outputs torn=torn.npy --outputs good=y.npy --outputs shifted=worse.npy -q";
    let json = compare(&scene, &format!("{three} --json")).json();
    assert_eq!(json["ranked_by"], "unevenness");
    let models = json["models"].as_array().unwrap();
    let ranks: Vec<_> = models.iter().map(|model| (&model["name"], &model["rank"])).collect();
    assert_eq!(ranks[2], (&"torn".into(), &3.into()));
    assert_eq!((ranks[0].1, ranks[1].1), (&1.into(), &1.into()));
    for model in models {
        let number = |field: &str| model[field].as_f64().unwrap();
        assert_eq!(number("unevenness"), number("roughness") + (1.0 - number("agreement")));
        let known = &model["estimates"]["unevenness"];
        assert_eq!((&known["estimate"], &known["n"]), (&model["unevenness"], &300.into()));
    }
    let pair = json["agreement"].as_array().unwrap().iter().find(|pair| pair["b"] == "torn").unwrap();
    assert!(pair["difference"]["lower"].as_f64() > Some(0.0) && pair["apart"] == true, "{pair}");
    let text = compare(&scene, three).prints();
    let first = "3 models on 300 samples, most robust first by unevenness (10 neighbors)\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("cannot be distinguished (difference 0.000 ± 0.000)."), "{text}");
    assert!(text.contains("No model was run"), "{text}");
}

/// Outputs that are no classes, or that do not vary within a class, have no unevenness: all models are ranked by overlap.
#[test]
fn models_without_classes_are_ranked_by_overlap() {
    let scene = Scene::with_model();
    let ranked_by = |options: &str| compare(&scene, &format!("{options} --json")).json()["ranked_by"].clone();
    assert_eq!(ranked_by(TWO), "unevenness");
    assert_eq!(ranked_by(&format!("{TWO} --task embedding")), "overlap");
    compare(&scene, &format!("{TWO} --task embedding --rank-by unevenness"))
        .refuses(2, &["--rank-by unevenness", "model `good`", "--rank-by overlap"]);
}

#[test]
fn a_ranking_by_what_was_not_probed_is_refused() {
    let scene = Scene::with_model();
    compare(&scene, &format!("{TWO} --rank-by robust-accuracy"))
        .refuses(2, &["--rank-by", "--probe linf:EPS"]);
    compare(&scene, &format!("{TWO} --rank-by speed")).misused(&["--rank-by", "robust-accuracy"]);
}

#[test]
fn an_archive_stands_for_all_its_arrays() {
    let scene = Scene::with_model();
    let array = |file: &str| std::fs::read(scene.path().join(file)).unwrap();
    scene.write("both.npz", npz(&[("second", array("worse.npy")), ("first", array("y.npy"))]));
    scene.write("one.npz", npz(&[("only", array("y.npy"))]));
    let names = |options: &str| names(&scene, options);
    assert_eq!(names("both.npz"), ["first", "second"]);
    assert_eq!(names("--outputs both.npz"), ["first", "second"]);
    assert_eq!(names("run=both.npz"), ["run.first", "run.second"]);
    assert_eq!(names("one.npz worse.npy"), ["one", "worse"]);
    scene.write("broken.npz", "no archive");
    compare(&scene, "broken.npz").refuses(2, &["broken.npz"]);
}
