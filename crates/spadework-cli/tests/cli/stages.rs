//! `graph`, `eigen` and `scores`: the stages of `score`.

use std::fs;

use serde_json::Value;

use crate::support::Scene;

/// What does not depend on how long it took and what was typed.
fn comparable(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    for field in ["timings", "command", "made_from"] {
        fields.remove(field);
    }
    document
}

/// Makes all stages of the arrays of [`Scene::with_model`] in `folder`.
fn stages(scene: &Scene, folder: &str, graph: &str, eigen: &str, scores: &str) {
    let made =
        scene.run(&format!("graph --quiet --inputs x.npy --outputs y.npy {graph} --out {folder}")).prints();
    assert!(made.contains(&format!("in {folder}/stages/input_graph.npz")), "{made}");
    scene.run(&format!("eigen --quiet {folder} {eigen}")).prints();
    scene.run(&format!("scores --quiet {folder} {scores}")).prints();
}

/// Scores the arrays of a scene in one call and stage by stage, compares everything that was written, and gives the document.
fn assert_stages_are_score(scene: &Scene, name: &str, options: &str, eigen: &str, scores: &str) -> Value {
    let (whole, staged) = (format!("whole{name}"), format!("staged{name}"));
    scene.score(&format!("--quiet {options} --out {whole}")).prints();
    // What of the options concerns the graphs.
    let graph = options
        .replace("--tables csv,npy", "")
        .replace("-r 3", "")
        .replace("--solver power --certify", "")
        .replace("--no-bounds", "");
    stages(scene, &staged, &graph, eigen, scores);
    let mut expected = scene.listing(&whole);
    let [document, by_stages] =
        [&whole, &staged].map(|folder| comparable(scene.read_json(&format!("{folder}/result.json"))));
    assert_eq!(document, by_stages, "{options}");
    for table in &expected {
        let bytes = [&whole, &staged].map(|folder| fs::read(scene.path().join(folder).join(table)).unwrap());
        assert!(table == "result.json" || bytes[0] == bytes[1], "{options}: {table}");
    }
    expected.push("stages".to_owned());
    assert_eq!(scene.listing(&staged), expected);
    document
}

#[test]
fn one_after_the_other_they_are_score() {
    let scene = Scene::with_model();
    let cases = [
        ("", "", ""),
        ("--labels labels.npy --tables csv,npy", "", "--tables csv,npy"),
        ("-k 4 --connectivity bridge --weights gaussian --seed 3 -r 3", "-r 3", ""),
        ("--graph sparse:density=2 --solver power --certify", "--solver power --certify", ""),
        ("--no-bounds", "--no-bounds", ""),
    ];
    for (at, (options, eigen, scores)) in cases.into_iter().enumerate() {
        assert_stages_are_score(&scene, &at.to_string(), options, eigen, scores);
    }
}

#[test]
fn an_approximate_search_goes_through_the_stages() {
    let scene = Scene::with_many_samples();
    let document = assert_stages_are_score(&scene, "", "--graph pca:0.9 --search approximate", "", "");
    for side in ["input", "output"] {
        assert_eq!(document["graphs"][side]["search"]["method"], "approximate", "{side}");
    }
}

#[test]
fn a_stage_that_is_there_is_not_made_again() {
    let scene = Scene::with_model();
    let graph = "graph --inputs x.npy --outputs y.npy --out result";
    let file = |name: &str| fs::metadata(scene.path().join("result").join(name)).unwrap().modified().unwrap();
    let calls = [
        (graph, "stages/input_graph.npz", "the graphs already exist"),
        ("eigen result", "stages/eigenpairs.npz", "the eigenpairs already exist"),
        ("scores result", "result.json", "the scores already exist"),
    ];
    for (call, made, note) in calls {
        scene.run(call).prints();
        let before = file(made);
        // Neither threads nor what is shown matter to the numbers.
        let again = if call.starts_with("scores") { call.to_owned() } else { format!("{call} --threads 1") };
        scene.run(&again).notes(&[note]);
        assert_eq!(file(made), before, "{call}");
        scene.run(&format!("{call} --force")).prints();
    }
}

/// Neither arrays nor a model are needed to find that the scores are there.
#[test]
fn samples_are_not_read_for_scores_that_are_there() {
    let scene = Scene::with_model();
    stages(&scene, "result", "", "", "");
    assert_eq!(scene.read_json("result/result.json")["margins"]["kind"], "predicted");
    fs::rename(scene.path().join("y.npy"), scene.path().join("z.npy")).unwrap();
    let told = scene.run("scores result --json");
    told.notes(&["the scores already exist and are not computed again"]);
    // Without samples there are no margins; once they are there again, the result is no longer what it would be.
    let without = scene.run("scores result --force").notes(&["the samples were not found", "y.npy"]);
    assert!(!without.contains("margins"), "{without}");
    scene.run("scores result").notes(&["the samples were not found", "the scores already exist"]);
    fs::rename(scene.path().join("z.npy"), scene.path().join("y.npy")).unwrap();
    scene.refuses("scores result", &["result.json: was made", "samples none, not found", "--force"]);
}

#[test]
fn a_stage_of_something_else_is_refused_unless_forced() {
    let scene = Scene::with_model();
    stages(&scene, "result", "", "", "");
    let graph = "graph --inputs x.npy --out result";
    let refused = "input_graph.npz: was made from something else: ";
    scene.refuses(&format!("{graph} --outputs y.npy -k 12"), &[refused, "neighbors 10, not 12", "--force"]);
    scene.run(&format!("{graph} --outputs worse.npy")).refuses(2, &[refused, "outputs blake3:"]);
    scene.refuses("eigen result -r 3", &["eigenpairs.npz: was made", "eigenpairs 2, not 3", "--force"]);
    scene.refuses(
        "scores result --labels labels.npy",
        &["result.json: was made", "labels none, not", "--force"],
    );
    // The eigenpairs of the old graphs are not taken for those of the new ones.
    scene.run(&format!("{graph} --outputs worse.npy --force")).prints();
    scene.refuses("scores result", &["eigenpairs.npz: was computed for other graphs"]);
    scene.refuses("eigen result", &["eigenpairs.npz: was made", "output graph"]);
    scene.run("eigen result --force").prints();
    scene.run("scores result --force").prints();
    scene.run("score --quiet --inputs x.npy --outputs worse.npy --out whole").prints();
    let documents =
        ["whole", "result"].map(|folder| comparable(scene.read_json(&format!("{folder}/result.json"))));
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn a_part_of_a_file_is_refused() {
    let scene = Scene::with_model();
    stages(&scene, "result", "", "", "");
    for (file, call) in [
        ("input_graph.npz", "graph --inputs x.npy --outputs y.npy --out result"),
        ("output_graph.npz", "eigen result"),
        ("eigenpairs.npz", "scores result"),
    ] {
        let path = scene.path().join("result/stages").join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        scene.run(call).refuses(2, &[file]);
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn graphs_of_other_programs_come_in_at_the_seam() {
    let scene = Scene::with_model();
    scene.score("--quiet --save-graphs npz,petsc --out whole").prints();
    let expected = scene.read("whole/edges.csv");
    // As files of another name, which `graph` takes in …
    for ending in ["npz", "petsc"] {
        let graphs =
            format!("--input-graph whole/input_graph.{ending} --output-graph whole/output_graph.{ending}");
        scene.run(&format!("graph {graphs} --out {ending}")).prints();
        scene.run(&format!("eigen {ending}")).prints();
        scene.run(&format!("scores {ending}")).prints();
        assert_eq!(scene.read(&format!("{ending}/edges.csv")), expected, "{ending}");
    }
    // … or right where the stages look for them.
    scene.make_folder("put/stages");
    for side in ["input", "output"] {
        let file = |folder: &str| scene.path().join(format!("{folder}/{side}_graph.npz"));
        fs::copy(file("whole"), file("put/stages")).unwrap();
    }
    scene.run("eigen put").prints();
    scene.run("scores put").prints();
    assert_eq!(scene.read("put/edges.csv"), expected);
}

#[test]
fn one_graph_of_two_is_not_written_over() {
    let scene = Scene::with_model();
    let graph = "graph --inputs x.npy --outputs y.npy --out result";
    scene.run(graph).prints();
    // As after a kill between the two files: the same call makes both.
    fs::remove_file(scene.path().join("result/stages/output_graph.npz")).unwrap();
    scene.run(graph).prints();
    // Another call, or the graph of another program, is another matter.
    fs::remove_file(scene.path().join("result/stages/input_graph.npz")).unwrap();
    scene.run(&format!("{graph} -k 12")).refuses(2, &["output_graph.npz", "neighbors 10, not 12", "--force"]);
    scene.run(&format!("{graph} -k 12 --force")).prints();
}

#[test]
fn what_is_missing_is_named() {
    let scene = Scene::with_model();
    scene.refuses(
        "eigen result",
        &["result/stages/input_graph.npz", "expected two graphs", "spadework graph"],
    );
    scene.run("graph --inputs x.npy --outputs y.npy --out result").prints();
    scene.refuses("scores result", &["eigenpairs.npz: expected eigenpairs", "spadework eigen"]);
    scene.refuses(
        "graph --inputs x.npy --outputs y.npy --out result -r 3",
        &["--eigenpairs is not an option"],
    );
}
