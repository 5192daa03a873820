//! `spadework data`, `spadework corrupt`, `--corruption`, and data sets by name.

use crate::support::arrays::{Random, floats, npy};
use crate::support::{Scene, assert_holds};

const SAMPLES: usize = 120;

/// `x.npy` with images of 8 × 8 pixels, and `y.npy`.
fn scene() -> Scene {
    let scene = Scene::empty();
    let bytes: Vec<u8> =
        Random::new(5).points(SAMPLES * 64).iter().flat_map(|value| value.to_le_bytes()).collect();
    scene.write("x.npy", npy("<f4", false, &[SAMPLES, 8, 8], &bytes));
    scene.write("y.npy", floats(3, &Random::new(6).points(SAMPLES * 3)));
    scene
}

#[test]
fn the_list_says_how_to_use_each_set_and_where_it_is() {
    let text = Scene::empty().run("data").prints();
    assert_holds(
        &text,
        &[
            "--inputs digits",
            "--inputs mnist:DIR:test",
            "--inputs fashion-mnist:DIR:test",
            "--inputs cifar10:DIR:test",
            "--inputs cinic10:DIR:test",
            "--inputs images:DIR",
            "https://www.cs.toronto.edu/~kriz/cifar.html",
            "CC BY 4.0",
        ],
    );
    let json = Scene::empty().run("data --json").json();
    assert_eq!((&json["schema"], json["sets"].as_array().unwrap().len()), (&"spadework.data/1".into(), 5));
    assert_eq!(json["sets"][3]["files"][5]["name"], "test_batch.bin");
}

#[test]
fn a_check_names_what_is_missing_or_differs() {
    let scene = Scene::empty();
    scene.refuses("data nowhere", &["nowhere", "no such folder"]);
    scene.make_folder("some/cifar");
    scene.refuses("data some", &["some", "CIFAR-10", "got none"]);
    scene.write("some/cifar/test_batch.bin", vec![1; 3073]);
    let outcome = scene.run("data some");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    assert!(
        outcome.stdout.starts_with("cifar10 in some/cifar: 1 of 6 files differ, 5 missing\n"),
        "{outcome:?}"
    );
    assert!(outcome.stdout.contains("differs   test_batch.bin: it holds 3073 bytes, expected 30730000\n"));
    assert!(outcome.stdout.contains("missing   data_batch_1.bin\n"));
    let outcome = scene.run("data some --json");
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&json["passed"], &json["sets"][0]["files"][5]["state"]), (&false.into(), &"differs".into()));
}

#[test]
fn the_embedded_digits_bring_their_labels() {
    let scene = Scene::empty();
    scene.run("corrupt --inputs digits --kind contrast --severity 1 --out c.npy").notes(&["--labels digits"]);
    let json = scene.run("score --inputs digits --outputs c.npy --json -q").json();
    assert_eq!((&json["samples"], &json["input_dim"]), (&1797.into(), &64.into()));
    assert_eq!(json["label_scores"][7]["name"], "7");
}

#[test]
fn corrupted_inputs_are_those_that_corrupt_writes() {
    let scene = scene();
    let text = scene
        .run("corrupt --inputs x.npy --kind shot-noise --severity 4 --seed 9 --out made/noisy.npy")
        .prints();
    assert!(
        text.starts_with("made/noisy.npy: 120 images of 1x8x8, shot-noise of severity 4, seed 9\n"),
        "{text}"
    );
    let direct = scene.run("score --inputs made/noisy.npy --outputs y.npy --seed 9 --json").json();
    let options = "--corruption shot-noise:4 --seed 9";
    let on_the_way: serde_json::Value = serde_json::from_str(
        &scene
            .run(&format!("score --inputs x.npy --outputs y.npy {options} --json"))
            .notes(&["shot-noise:4, seed 9"]),
    )
    .unwrap();
    assert_eq!(direct["model_score"], on_the_way["model_score"]);
    assert_eq!(on_the_way["corruption"]["shape"], "1x8x8");
    assert_eq!(direct.get("corruption"), None);
    let clean = scene.run("score --inputs x.npy --outputs y.npy --json").json();
    assert_ne!(clean["model_score"], direct["model_score"]);
    let text = scene.run(&format!("score --inputs x.npy --outputs y.npy {options}")).notes(&[]);
    assert!(text.contains("corruption    shot-noise of severity 4, seed 9, on images of 1x8x8\n"), "{text}");
    let models = "--outputs a=y.npy --outputs b=x.npy";
    let json = scene.run(&format!("compare --inputs x.npy {models} {options} --json --quiet")).json();
    assert_eq!(json["corruption"]["kind"], "shot-noise");
}

#[test]
fn corrupt_prints_json_and_is_the_same_for_any_number_of_threads() {
    let scene = scene();
    let call = "corrupt --inputs x.npy --kind fog --severity 2";
    let json = scene.run(&format!("{call} --threads 1 --out a.npy --json")).json();
    assert_eq!(
        (&json["schema"], &json["corruption"]["severity"]),
        (&"spadework.corrupt/1".into(), &2.into())
    );
    scene.run(&format!("{call} --threads 2 --out b.npy")).prints();
    let read = |name: &str| std::fs::read(scene.path().join(name)).unwrap();
    assert_eq!(read("a.npy"), read("b.npy"));
}

#[test]
fn a_reference_that_was_corrupted_is_corrupted_again() {
    let scene = scene();
    let noisy = "--inputs x.npy --outputs y.npy --corruption gaussian-noise:2 --quiet";
    scene.run(&format!("score {noisy} --out reference")).prints();
    scene.run(&format!("score {noisy} --reference reference")).prints();
    scene.refuses(
        "check --inputs x.npy --outputs y.npy --baseline reference/result.json",
        &["the same corruption (none), got gaussian-noise:2, seed 0"],
    );
    scene.run(&format!("check {noisy} --baseline reference/result.json")).prints();
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let scene = scene();
    let corrupt = |options: &str| scene.run(&format!("corrupt --inputs x.npy {options}"));
    corrupt("--kind snow --severity 1 --out a.npy").misused(&["snow", "gaussian-noise, shot-noise"]);
    corrupt("--kind fog --severity 6 --out a.npy").misused(&["6", "a severity from 1 to 5"]);
    corrupt("--kind fog --severity 1 --out a.npy --shape 8by8").misused(&["8by8", "HEIGHTxWIDTH"]);
    corrupt("--kind fog --severity 1 --out a.csv").refuses(2, &["a.csv", "--output must end in .npy"]);
    corrupt("--kind fog --severity 1 --out a.npy --shape 7x7").refuses(2, &["x.npy", "1x7x7", "got 64"]);
    let score = |options: &str| scene.score(options);
    score("--corruption fog").misused(&["KIND:SEVERITY"]);
    score("--shape 8x8").misused(&["--corruption"]);
    scene.refuses(
        "score --input-graph x.csv --outputs y.npy --corruption fog:1",
        &["--input-graph", "--corruption"],
    );
    scene.write("table.npy", floats(10, &Random::new(1).points(10 * SAMPLES)));
    scene.refuses(
        "score --inputs table.npy --outputs y.npy --corruption fog:1",
        &["table.npy", "expected images", "[120, 10]", "e.g. --shape 3x32x32"],
    );
    let bright: Vec<f32> = (0..64 * 3).map(|i| i as f32).collect();
    scene.write("bytes.npy", floats(64, &bright));
    scene.refuses(
        "corrupt --inputs bytes.npy --kind fog --severity 1 --shape 8x8 --out a.npy",
        &["bytes.npy", "from 0 to 1", "got 2 in sample 0", "hint: "],
    );
    assert!(!scene.path().join("a.npy").exists());
}

#[test]
fn rows_of_numbers_are_taken_for_images_and_told() {
    let scene = scene();
    scene.write("flat.npy", floats(64, &Random::new(5).points(SAMPLES * 64)));
    let call = "--kind motion-blur --severity 3";
    scene.run(&format!("corrupt --inputs flat.npy {call} --out flat_blurred.npy")).notes(&[
        "flat.npy",
        "images of 1x8x8",
        "--shape",
    ]);
    scene.run(&format!("corrupt --inputs x.npy {call} --out blurred.npy")).prints();
    let values = |name: &str| std::fs::read(scene.path().join(name)).unwrap()[128..].to_vec();
    assert_eq!(values("flat_blurred.npy"), values("blurred.npy"));
}
