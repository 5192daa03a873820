//! Ways of making graphs, graphs in place of samples, and the table of all constructions.

use serde_json::Value;

use crate::support::Scene;
use crate::support::arrays::floats;

#[test]
fn every_kind_is_recorded_with_what_it_kept() {
    let scene = Scene::with_model();
    let json = |options: &str| scene.score(&format!("--json -q {options}")).json();
    let plain = json("");
    assert_eq!((&plain["graph"], &plain["weights"]), (&"knn".into(), &"unit".into()));
    assert!(plain["graphs"]["input"].get("sparsifier").is_none());
    let projected = json("--graph pca:0.8");
    let (dimensions, explained) =
        (&projected["graphs"]["input"]["dimensions"], &projected["graphs"]["input"]["explained"]);
    assert!((1..6).contains(&dimensions.as_u64().unwrap()) && explained.as_f64().unwrap() >= 0.8);
    assert!(projected["graphs"]["output"].get("dimensions").is_none(), "outputs are not projected");
    let sparse = json("--graph sparse:density=2 --weights gaussian");
    assert_eq!(sparse["weights"], "gaussian");
    for side in ["input", "output"] {
        let graph = &sparse["graphs"][side];
        assert_eq!(graph["edges"], 600);
        assert_eq!(graph["sparsifier"]["edges_before"], plain["graphs"][side]["edges"]);
        assert!(graph["sparsifier"]["kappa"].as_f64().unwrap() > 1.0);
    }
    let text = scene.score("-q --graph sparse:kappa=20").prints();
    assert!(text.contains("  graph              sparse:kappa=20, unit weights; input kappa "), "{text}");
    let used = |graph: &str| json(&format!("-k 5 --graph {graph}"))["neighbors"]["used"].as_u64().unwrap();
    assert!(used("mutual") > used("knn"), "a mutual graph needs more neighbors to hold together");
}

#[test]
fn wrong_kinds_say_what_was_expected() {
    let scene = Scene::with_model();
    scene.score("--graph hnsw").misused(&["--graph", "knn, mutual, pca:D"]);
    scene.score("--graph pca").misused(&["pca:0.95"]);
    scene.score("--graph sparse:kappa=0.5").misused(&["condition number above 1"]);
    scene.score("--weights heat").misused(&["--weights", "unit or gaussian"]);
    scene.score("--graph pca:7").refuses(2, &["at most 6 dimensions", "got 7"]);
    scene.score("--save-graphs npz").misused(&["--out"]);
}

#[test]
fn saved_graphs_can_be_given_in_place_of_the_samples() {
    let scene = Scene::with_model();
    let whole = scene.score("--json --weights gaussian --out r --save-graphs csv,npz,petsc").json();
    assert_eq!(
        scene.listing("r"),
        [
            "edges.csv",
            "embedding.npy",
            "input_graph.csv",
            "input_graph.npz",
            "input_graph.petsc",
            "nodes.csv",
            "output_graph.csv",
            "output_graph.npz",
            "output_graph.petsc",
            "result.json"
        ]
    );
    // Margins and fragility depend on more than the graphs.
    let ranked = |json: &serde_json::Value| json["top_edges"].clone();
    for ending in ["csv", "npz", "petsc"] {
        let both = format!("--input-graph r/input_graph.{ending} --output-graph r/output_graph.{ending}");
        let given = scene.run(&format!("score --json {both}")).json();
        assert_eq!(given["model_score"], whole["model_score"], "{ending}");
        assert_eq!(ranked(&given), ranked(&whole), "{ending}");
        // Without outputs, fragility is that of the scores.
        assert_eq!(given["fragility_basis"], "node scores", "{ending}");
        assert_eq!((&given["input_dim"], &given["neighbors"]["used"]), (&0.into(), &0.into()));
        assert_eq!(given["graphs"]["input"]["given"], true);
        assert!(given["graphs"]["input"].get("search").is_none(), "nobody searched");
        let one = format!("--input-graph r/input_graph.{ending} --outputs y.npy --weights gaussian");
        assert_eq!(ranked(&scene.run(&format!("score --json {one}")).json()), ranked(&whole), "{ending}");
        let other = format!("--inputs x.npy --output-graph r/output_graph.{ending} --weights gaussian");
        assert_eq!(ranked(&scene.run(&format!("score --json {other}")).json()), ranked(&whole), "{ending}");
    }
    let text = scene.run("score --input-graph r/input_graph.csv --output-graph r/output_graph.csv").prints();
    assert!(
        text.contains(" on 300 samples, a graph in, a graph out\n")
            && text.contains("\n  graphs             given; "),
        "{text}"
    );
    let both = "--input-graph r/input_graph.csv --output-graph r/output_graph.csv";
    let text = scene.run(&format!("distortion {both} --top 20")).prints();
    assert!(text.contains("\ngraphs        given; "), "{text}");
    assert_eq!(
        scene.run(&format!("embed {both}")).prints(),
        scene.run("embed --inputs x.npy --outputs y.npy --weights gaussian").prints()
    );
}

#[test]
fn given_graphs_must_fit_and_make_sense() {
    let scene = Scene::with_model();
    scene.write("pieces.csv", "0,1\n2,3\n");
    scene.write("loop.csv", "p,q,weight\n0,1,1\n1,1,2\n1,2,0\n1,2,3\n");
    let run = |arguments: &str| scene.run(&format!("score {arguments}"));
    run("--inputs x.npy --output-graph pieces.csv").refuses(3, &["pieces.csv", "298 components", "hint: "]);
    run("--outputs y.npy").misused(&["--inputs"]);
    run("--inputs x.npy --input-graph pieces.csv --outputs y.npy").misused(&["--input-graph"]);
    run("--input-graph absent.csv --outputs y.npy").refuses(2, &["absent.csv: no such file"]);
    run("--input-graph x.npy --outputs y.npy").refuses(2, &["x.npy: expected a graph as .csv"]);
    run("--input-graph pieces.csv --outputs y.npy --graph pca:2").refuses(2, &["--graph pca:"]);
    run("--input-graph loop.csv --output-graph loop.csv --graph mutual")
        .refuses(2, &["both graphs are given"]);
    let notes =
        ["loop.csv: 1 entry on the diagonal is not an edge", "loop.csv: 1 entry of weight 0 is not an edge"];
    run("--input-graph loop.csv --output-graph loop.csv -r 1").notes(&notes);
    // An input graph in pieces is well posed.
    run("--input-graph pieces.csv --outputs y.npy -r 1").notes(&["298 components"]);
}

#[test]
fn a_baseline_must_be_made_the_same_way() {
    let scene = Scene::with_model();
    scene.score("-q --out r").prints();
    let check = |options: &str| {
        scene.run(&format!("check -q --inputs x.npy --outputs y.npy --baseline r/result.json {options}"))
    };
    check("").prints();
    check("--graph sparse:density=3")
        .refuses(2, &["same kind of graph (sparse:density=3), got knn", "hint: "]);
    check("--weights gaussian").refuses(2, &["same weights (gaussian), got unit"]);
    // A document of another version is refused in one line that names both versions.
    let old = scene.read("r/result.json").replace("spadework.score/4", "spadework.score/1");
    scene.write("r/result.json", old);
    check("").refuses(
        2,
        &["r/result.json: expected a result.json with schema `spadework.score/4`", "spadework.score/1"],
    );
}

#[test]
fn the_table_has_every_construction() {
    let scene = Scene::with_model();
    let arguments = "graphs --inputs x.npy --outputs y.npy -q";
    let json = scene.run(&format!("{arguments} --json --out g")).json();
    assert_eq!(json["schema"], "spadework.graphs/4");
    let rows = json["constructions"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    let plain = scene.score("--json").json();
    assert_eq!(rows[0]["graph"], "knn");
    assert_eq!((&rows[0]["model_score"], &rows[0]["graphs"]), (&plain["model_score"], &plain["graphs"]));
    assert_eq!((&rows[0]["kendall_tau"], &rows[0]["top_shared"]), (&1.0.into(), &1.0.into()));
    for row in rows {
        let options = format!(
            "--json -q --graph {} --weights {}",
            row["graph"].as_str().unwrap(),
            row["weights"].as_str().unwrap()
        );
        assert_eq!(scene.score(&options).json()["model_score"], row["model_score"], "{options}");
        assert!((-1.0..=1.0).contains(&row["kendall_tau"].as_f64().unwrap()));
    }
    assert_eq!(scene.listing("g"), ["graphs.csv", "graphs.json"]);
    let table = scene.read("g/graphs.csv");
    let cells = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
    let lines: Vec<Vec<String>> = table.lines().map(cells).collect();
    assert_eq!(lines.len(), 11);
    let cell = |line: usize, name: &str| {
        let at = lines[0].iter().position(|column| column == name).unwrap();
        lines[line].get(at).unwrap().parse::<f64>().ok()
    };
    for (at, row) in rows.iter().enumerate() {
        let (input, output) = (&row["graphs"]["input"], &row["graphs"]["output"]);
        assert_eq!(cell(at + 1, "input_dimensions"), input["dimensions"].as_f64());
        for (side, column) in [(input, "input_kappa"), (output, "output_kappa")] {
            // Reading JSON may cost the last digit.
            let difference = match (cell(at + 1, column), side["sparsifier"]["kappa"].as_f64()) {
                (Some(written), Some(kappa)) => (written / kappa - 1.0).abs(),
                (written, kappa) => f64::from(u8::from(written != kappa)),
            };
            assert!(difference < 1e-14, "{column} of {row}");
        }
    }
    let written: Value = scene.read_json("g/graphs.json");
    assert_eq!(written, json);
    let text = scene.run(&format!("{arguments} --graph pca:3 --weights unit --top 7")).prints();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].contains("top 7") && lines[3].contains("knn") && lines[4].contains("pca:3"), "{text}");
}

/// Both ends of a single edge score alike: there is no order to correlate.
#[test]
fn equal_scores_have_no_rank_correlation() {
    let scene = Scene::with_model();
    scene.write("two.csv", "0\n1\n");
    let arguments = "graphs -q --inputs two.csv --outputs two.csv -k 1 -r 1 --graph knn --weights unit";
    let json = scene.run(&format!("{arguments} --json")).json();
    assert_eq!(json["constructions"][0].get("kendall_tau"), Some(&Value::Null));
    let text = scene.run(arguments).prints();
    let row: Vec<&str> = text.lines().nth(3).unwrap().split_whitespace().collect();
    assert_eq!((row[0], row[8]), ("knn", "-"), "{text}");
}

#[test]
fn one_construction_that_fails_does_not_end_the_table() {
    let scene = Scene::with_model();
    let arguments = "graphs --inputs x.npy --outputs y.npy -q --weights unit --graph pca:9,cknn:1e-9 --connectivity error";
    let json = scene.run(&format!("{arguments} --json")).json();
    let rows = json["constructions"].as_array().unwrap();
    assert!(rows[0]["model_score"].is_f64());
    assert!(rows[1]["error"].as_str().unwrap().contains("at most 6 dimensions"));
    assert!(rows[2]["error"].as_str().unwrap().contains("300 components"));
    assert!(rows[2].get("model_score").is_none());
    scene.run(arguments).prints();
    let table = {
        scene.run(&format!("{arguments} --out failed")).prints();
        scene.read("failed/graphs.csv")
    };
    // The message, the last cell, is the only one in quotes.
    let commas = |line: &str| line.split('"').next().unwrap().matches(',').count();
    let mut counts = table.lines().map(commas);
    let header = counts.next().unwrap();
    assert!(counts.all(|count| count == header), "{table}");
    scene.refuses("graphs --inputs x.npy --outputs y.npy -k 300", &["neighbors", "got 300"]);
}

#[test]
fn a_table_without_any_score_is_no_answer() {
    let scene = Scene::with_model();
    let arguments = "graphs --inputs x.npy --outputs y.npy -q -k 1 --weights unit --connectivity error";
    scene
        .run(&format!("{arguments} --graph knn,mutual --out none"))
        .refuses(3, &["no construction has a score", "components", "hint: "]);
    assert!(!scene.path().join("none/graphs.json").exists());
}

#[test]
fn the_table_tells_of_copies_and_raised_weights_once() {
    let scene = Scene::with_model();
    let mut values = vec![0.5_f32; 40 * 2];
    for (at, value) in values.iter_mut().enumerate().skip(40) {
        *value = at as f32;
    }
    scene.write("copies.npy", floats(2, &values));
    let mut far: Vec<f32> = (0..80).map(|at| at as f32).collect();
    far[78] = 1e6;
    scene.write("far.npy", floats(2, &far));
    let graphs = scene.run("graphs --inputs copies.npy --outputs far.npy -k 3 --graph knn,mutual");
    let stderr = graphs.stderr.clone();
    graphs.notes(&["exact copies", "are raised to 1e-6"]);
    assert_eq!(stderr.matches("exact copies").count(), 1, "{stderr}");
    assert_eq!(stderr.matches("are raised to 1e-6").count(), 1, "{stderr}");
}

#[test]
fn hints_fit_what_was_asked_for() {
    let scene = Scene::with_model();
    scene
        .score("--graph cknn:0.001")
        .refuses(3, &["hint: try --connectivity bridge, or with cknn a larger DELTA"]);
    scene.score("-k 1 --connectivity error").refuses(3, &["hint: try --connectivity grow or bridge"]);
    scene.refuses(
        "embed --inputs x.npy --outputs y.npy --dims 300",
        &["--dims must be smaller than the number of samples (300), got 300"],
    );
}
