//! Model files: `predict`, `model`, `layers`, and `--model` in place of outputs.

use std::path::Path;

use serde_json::Value;

use crate::support::arrays::{Random, floats};
use crate::support::{Outcome, Scene, assert_holds};

/// A folder with `x.npy`, 200 rows of four numbers, and models of the fixtures.
fn scene(models: &[&str]) -> Scene {
    let scene = Scene::empty();
    scene.write("x.npy", floats(4, &Random::new(3).points(800)));
    for model in models {
        copy(&scene, model);
    }
    scene
}

fn copy(scene: &Scene, model: &str) {
    let file = format!("{model}.onnx");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx");
    scene.write(&file, std::fs::read(fixtures.join(&file)).unwrap());
}

fn predict(scene: &Scene, options: &str) -> Outcome {
    scene.run(&format!("predict --inputs x.npy {options}"))
}

/// What does not depend on the clock and on the way in which outputs were named.
fn lasting(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    // The verdict advises to run a model where none was run.
    for field in ["timings", "name", "model", "data", "verdict"] {
        fields.remove(field);
    }
    document
}

/// A folder is no model: the advice is about models, not about data sets.
#[test]
fn a_folder_is_no_model() {
    let scene = scene(&["mlp"]);
    scene.make_folder("nets");
    for call in
        ["score --inputs x.npy --model nets", "predict --inputs x.npy --model nets --out y.npy", "model nets"]
    {
        scene.run(call).refuses(2, &["nets", "hint: a model is an ONNX file"]);
    }
    scene.refuses("score --inputs nets --model mlp.onnx", &["nets", "hint: name a data set"]);
}

#[test]
fn a_model_in_place_of_its_outputs_gives_the_same_scores() {
    let scene = scene(&["mlp"]);
    let text = predict(&scene, "--model mlp.onnx --out y.npy").prints();
    assert_eq!(text, "y.npy: shape [200, 3], `logits` of mlp.onnx\n");
    for command in ["score", "check --max-score 1e9", "select", "distortion", "embed", "graphs"] {
        let run = |outputs: &str| {
            let scene = &scene;
            scene.run(&format!("{command} --inputs x.npy {outputs} --json --quiet")).json()
        };
        let (arrays, model) = (run("--outputs y.npy"), run("--model mlp.onnx"));
        if command == "score" {
            assert_eq!(lasting(arrays), lasting(model.clone()));
            assert_eq!(lasting(run("--outputs mlp.onnx")), lasting(model));
        } else if let Some(score) = arrays.get("model_score") {
            assert_eq!(Some(score), model.get("model_score"), "{command}");
        }
    }
}

#[test]
fn the_result_says_which_model_was_run_and_how() {
    let scene = scene(&["softmax"]);
    let options = "--model softmax.onnx --before-softmax --normalize 0.5,0.25";
    let json = scene.run(&format!("score --inputs x.npy {options} --json")).json();
    let model = &json["model"];
    assert_eq!(
        (&model["file"], &model["output"], &model["softmax"]),
        (&"softmax.onnx".into(), &"logits".into(), &false.into())
    );
    assert_eq!(model["normalize"], serde_json::json!([0.5, 0.25]));
    let digest = model["digest"].as_str().unwrap().to_owned();
    let described = scene.run("model softmax.onnx --json").json();
    assert_eq!(
        (described["digest"].as_str(), &described["parameters"]),
        (Some(digest.as_str()), &115.into())
    );
    // Another byte, another model.
    let mut bytes = std::fs::read(scene.path().join("softmax.onnx")).unwrap();
    let at = bytes.windows(4).position(|name| name == b"make").unwrap();
    bytes[at] = b'f';
    scene.write("other.onnx", bytes);
    assert_ne!(scene.run("model other.onnx --json").json()["digest"], digest.as_str());
}

#[test]
fn a_softmax_is_told_of_once() {
    let scene = scene(&["softmax"]);
    let outcome = scene.run("score --inputs x.npy --model softmax.onnx --json");
    assert_eq!(outcome.stderr.matches("softmax (node `softmax`)").count(), 1, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("look like probabilities"), "{}", outcome.stderr);
    let before = scene.run("score --inputs x.npy --model softmax.onnx --before-softmax --json").json();
    let named = scene.run("score --inputs x.npy --model softmax.onnx --output-name logits --json").json();
    assert_eq!(lasting(before), lasting(named));
}

#[test]
fn models_are_compared_by_option_by_ending_or_without_either() {
    let scene = scene(&["mlp", "softmax"]);
    predict(&scene, "--model mlp.onnx --out y.npy").prints();
    let scores = |models: &str| {
        let json = scene.run(&format!("compare --inputs x.npy --json --quiet {models}")).json();
        let mut scores: Vec<(String, f64, bool)> = json["models"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| {
                let name = model["name"].as_str().unwrap().to_owned();
                (name, model["model_score"].as_f64().unwrap(), model.get("file").is_some())
            })
            .collect();
        scores.sort_by(|a, b| a.0.cmp(&b.0));
        scores
    };
    let expected = scores("--model a=mlp.onnx --model b=softmax.onnx");
    assert!(expected.iter().all(|(_, _, file)| *file));
    assert_eq!(scores("--outputs a=mlp.onnx --outputs b=softmax.onnx"), expected);
    assert_eq!(scores("a=mlp.onnx b=softmax.onnx"), expected);
    let mixed = scores("--outputs a=y.npy softmax.onnx");
    assert_eq!((mixed[0].1, mixed[0].2), (expected[0].1, false));
    assert_eq!(mixed[1].0, "softmax");
    let swept = scene.run("sweep --inputs x.npy -k 8,10 --json mlp.onnx").json();
    assert_eq!(swept["files"]["mlp"]["output"], "logits");
    scene.refuses("compare --inputs x.npy a=mlp.onnx a=y.npy", &["got `a` twice"]);
}

#[test]
fn layers_have_the_scores_of_their_activations() {
    let scene = scene(&["mlp"]);
    let json = scene
        .run("layers --inputs x.npy --model mlp.onnx --json --quiet --out result --plots plots --report page.html")
        .json();
    let layers = json["layers"].as_array().unwrap();
    let names: Vec<&str> = layers.iter().map(|layer| layer["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fc1", "relu1", "fc2", "tanh2", "fc3"]);
    let used = json["neighbors"]["used"].as_u64().unwrap();
    for layer in layers {
        let name = layer["name"].as_str().unwrap();
        predict(&scene, &format!("--model mlp.onnx --output-name {name} --out {name}.npy")).prints();
        let alone =
            scene.run(&format!("score --inputs x.npy --outputs {name}.npy -k {used} --json --quiet")).json();
        assert_eq!(layer["model_score"], alone["model_score"], "{name}");
        assert_eq!(layer["eigenvalues"], alone["eigenvalues"], "{name}");
    }
    assert_eq!(scene.listing("result"), ["layers.csv", "nodes.csv", "result.json"]);
    assert_eq!(scene.read("plots/layers.svg").matches("<circle").count(), 5);
    let page = scene.read("page.html");
    assert_eq!(page.matches("<circle").count(), 5);
    assert!(
        page.contains("<h1>Layers of mlp</h1>")
            && page.contains("SPADE scores track accuracy under attack poorly"),
        "{page}"
    );
    scene.run("report result --out again.html").prints();
    assert_eq!(scene.read("again.html").matches("<circle").count(), 5);
    assert!(
        scene
            .read("result/nodes.csv")
            .starts_with("index,score_fc1,score_relu1,score_fc2,score_tanh2,score_fc3\n")
    );
    assert_eq!(scene.read("result/layers.csv").lines().count(), 6);
}

#[test]
fn layers_are_chosen_by_name_or_operator() {
    let scene = scene(&["mlp"]);
    let names = |patterns: &str| {
        let json = scene
            .run(&format!("layers --inputs x.npy --model mlp.onnx --json --quiet --layers {patterns}"))
            .json();
        let layers = json["layers"].as_array().unwrap();
        layers.iter().map(|layer| layer["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("fc*"), ["fc1", "fc2", "fc3"]);
    assert_eq!(names("Relu,fc3"), ["relu1", "fc3"]);
    scene.refuses(
        "layers --inputs x.npy --model mlp.onnx --layers conv*",
        &["mlp.onnx: no layer matches --layers conv*"],
    );
}

#[test]
fn what_a_model_is() {
    let scene = scene(&["mlp", "fixed_5"]);
    let text = scene.run("model mlp.onnx").prints();
    assert_holds(
        &text,
        &[
            "model       mlp.onnx",
            "written by  make_onnx_fixtures, operator set 17",
            "parameters  115",
            "input       `x` float32 [n, 4], any batch",
            "output      `logits` float32 [n, 3]",
        ],
    );
    assert!(scene.run("model fixed_5.onnx").prints().contains("[5, 3, 6, 4], batch 5"));
    let json = scene.run("model mlp.onnx --json").json();
    assert_eq!(json["layers"][1]["operator"], "Relu");
    assert_eq!(json["layers"][1]["shape"], serde_json::json!(["n", 8]));
}

#[test]
fn new_samples_by_a_model_that_was_run() {
    let scene = scene(&["mlp"]);
    scene.run("score --inputs x.npy --model mlp.onnx --out reference --quiet").prints();
    scene.write("new.npy", floats(4, &Random::new(9).points(40)));
    let scored =
        scene.run("score --inputs new.npy --model mlp.onnx --reference reference --json --quiet").json();
    predict(&scene, "--model mlp.onnx --out y.npy").prints();
    scene.run("predict --inputs new.npy --model mlp.onnx --out new_y.npy").prints();
    let by_arrays =
        "score --inputs new.npy --outputs new_y.npy --reference reference --reference-outputs y.npy";
    let arrays = scene.run(&format!("{by_arrays} --json --quiet")).json();
    assert_eq!(scored["top_nodes"], arrays["top_nodes"]);
    scene.write("mlp.onnx", "another");
    scene.refuses(
        "score --inputs new.npy --outputs new_y.npy --reference reference",
        &["mlp.onnx: must be the model that the result was made from", "--reference-outputs"],
    );
}

#[test]
fn threads_do_not_change_outputs() {
    let scene = scene(&["mlp"]);
    for threads in [1, 3] {
        predict(&scene, &format!("--model mlp.onnx --threads {threads} --out y{threads}.npy")).prints();
    }
    let bytes = |name: &str| std::fs::read(scene.path().join(name)).unwrap();
    assert_eq!(bytes("y1.npy"), bytes("y3.npy"));
}

#[test]
fn what_is_wrong_with_a_model_is_said_in_one_line() {
    let scene = scene(&["mlp", "unknown_operator", "not_a_number", "huge_constant", "two_sided", "dynamic"]);
    let refused = |arguments: &str, words: &[&str]| {
        predict(&scene, &format!("{arguments} --out y.npy")).refuses(2, words);
        assert!(!scene.path().join("y.npy").exists(), "{arguments}");
    };
    scene.write("text.onnx", "this is no model");
    refused("--model text.onnx", &["text.onnx: not a valid ONNX file"]);
    refused("--model gone.onnx", &["gone.onnx: no such file"]);
    refused(
        "--model unknown_operator.onnx --engine builtin",
        &["acme.Frobnicate", "`the_frobnicate`", "onnxruntime", "--outputs"],
    );
    refused("--model mlp.onnx --onnxruntime gone.so", &["gone.so: no such file"]);
    refused(
        "--model not_a_number.onnx --normalize 0.5,1",
        &["not_a_number.onnx: output `y` must be finite, got NaN at row"],
    );
    refused("--model huge_constant.onnx", &["node `fill` makes a tensor of shape [1048576, 1048576]"]);
    refused("--model dynamic.onnx", &["[n, 3, 6, 4]", "rows of 4 numbers", "`spadework model FILE`"]);
    refused("--model two_sided.onnx --output-name moved", &["needs the inputs `x`, `offset`"]);
    refused("--model mlp.onnx --before-softmax", &["must end in a softmax"]);
    refused("--model mlp.onnx --normalize 1,2,3,4,5,6", &["got 3 each for samples of shape [4]"]);
    predict(&scene, "--model mlp.onnx --out y.csv").refuses(2, &["--output must end in .npy, got y.csv"]);
    predict(&scene, "--model mlp.onnx --out x.npy/y.npy").refuses(2, &["x.npy"]);
    scene.refuses("compare --inputs x.npy a=mlp.onnx b=gone.onnx", &["model `b`: gone.onnx: no such file"]);
}

/// Where the variable names no library, none is taken in its place, and nobody is told to install one.
#[test]
fn a_variable_that_names_no_library_is_said() {
    let scene = scene(&["unknown_operator", "mlp"]);
    let run = |options: &str| {
        let mut command = scene.command(&format!("predict --inputs x.npy --out y.npy {options}"));
        Outcome::new(command.env("ORT_DYLIB_PATH", "gone.so").output().unwrap())
    };
    let named = "onnxruntime: gone.so: no such file (ORT_DYLIB_PATH names it)";
    let refused = run("--model unknown_operator.onnx");
    refused.refuses(2, &["unknown_operator.onnx", named, "it is needed, since", "acme.Frobnicate"]);
    run("--model mlp.onnx --engine onnxruntime").refuses(2, &["mlp.onnx", named]);
    run("--model mlp.onnx").prints();
}

#[test]
fn options_of_a_model_need_one() {
    let scene = Scene::with_model();
    for (options, word) in [("--before-softmax", "--before-softmax"), ("--engine builtin", "--engine")] {
        scene.score(options).refuses(2, &[&format!("{word} says how a model is run, and needs --model")]);
    }
    let both = "predict --model net.onnx --inputs x.npy --out y.npy --engine builtin --onnxruntime lib.so";
    scene.run(both).misused(&["--engine", "--onnxruntime"]);
    scene.score("--model net.onnx").misused(&["--model", "--outputs"]);
    scene.run("score --model net.onnx").misused(&["--inputs"]);
    scene.run("score --inputs x.npy --model net.onnx --normalize 1").misused(&["--normalize", "MEAN,STD"]);
}
