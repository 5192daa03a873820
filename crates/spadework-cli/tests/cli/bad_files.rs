//! Files that cannot be scored: one line that names the file, the right exit code, no panic.

use crate::support::arrays::{Random, csv, floats, integers, npy, npz};
use crate::support::{Outcome, Scene};

fn score(scene: &Scene, inputs: &str, outputs: &str) -> Outcome {
    scene.run(&format!("score --inputs {inputs} --outputs {outputs}"))
}

/// The file is refused as inputs, as outputs, and by the other commands alike.
#[track_caller]
fn is_refused(name: &str, content: impl AsRef<[u8]>, words: &[&str]) {
    let scene = Scene::with_model();
    scene.write(name, content);
    let words: Vec<&str> = [name].iter().chain(words).copied().collect();
    score(&scene, name, "y.npy").refuses(2, &words);
    score(&scene, "x.npy", name).refuses(2, &words);
    scene.run(&format!("select --inputs {name} --outputs y.npy")).refuses(2, &words);
    scene.run(&format!("check --inputs {name} --outputs y.npy --max-score 9")).refuses(2, &words);
}

fn with_value_at(row: usize, column: usize, value: f32) -> Vec<f32> {
    let mut values = Random::new(2).points(Scene::SAMPLES * 4);
    values[row * 4 + column] = value;
    values
}

#[test]
fn values_that_are_not_finite_are_located() {
    for (value, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let values = with_value_at(17, 3, value);
        is_refused("holes.npy", floats(4, &values), &[word, "row 17, column 3"]);
        is_refused("holes.csv", csv(4, &values), &[word, "row 17, column 3"]);
        is_refused("holes.npz", npz(&[("a", floats(4, &values))]), &[word, "row 17, column 3"]);
    }
}

#[test]
fn values_whose_distances_overflow_are_located() {
    let bytes: Vec<u8> = [0.0_f64, 1e200, 1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    is_refused("huge.npy", npy("<f8", false, &[3], &bytes), &["1e200", "row 1, column 0"]);
}

#[test]
fn row_counts_must_agree() {
    let scene = Scene::with_model();
    scene.write("short.npy", floats(2, &Random::new(2).points(2 * 299)));
    score(&scene, "x.npy", "short.npy").refuses(2, &["x.npy", "short.npy", "300 inputs", "299 outputs"]);
    score(&scene, "short.npy", "y.npy").refuses(2, &["short.npy", "y.npy", "299 inputs", "300 outputs"]);
}

#[test]
fn too_few_samples() {
    is_refused("one.npy", floats(3, &[1.0, 2.0, 3.0]), &["at least 2 samples", "got 1"]);
    is_refused("none.npy", npy("<f4", false, &[0, 3], &[]), &["at least one row", "0 × 3"]);
    is_refused("flat.npy", npy("<f4", false, &[300, 0], &[]), &["one column", "300 × 0"]);
    is_refused("scalar.npy", npy("<f4", false, &[], &[0; 4]), &["scalar"]);
}

#[test]
fn headers_that_promise_more_than_the_file_holds() {
    let whole = floats(3, &Random::new(2).points(900));
    is_refused("cut.npy", &whole[..whole.len() - 7], &["3600 bytes", "got 3593"]);
    is_refused("cut.npy", &whole[..40], &["header"]);
    is_refused("cut.npy", &whole[..7], &["begin"]);
    is_refused("long.npy", [whole.as_slice(), b"more"].concat(), &["3600 bytes", "got 3604"]);
    let bomb = npy("<f4", false, &[9_999_999_999_999, 3], &[0; 12]);
    is_refused("bomb.npy", &bomb, &["119999999999988 bytes", "got 12"]);
    is_refused("bomb.npz", npz(&[("a", bomb)]), &["unpack to at most 134217728 bytes"]);
    is_refused("bomb.npy", npy("<f4", false, &[usize::MAX, 9], &[]), &["addressable"]);
}

#[test]
fn headers_that_make_no_sense() {
    is_refused("text.npy", "these are not the bytes you are looking for", &["NUMPY"]);
    is_refused("empty.npy", "", &["nothing"]);
    is_refused("complex.npy", npy("<c8", false, &[2], &[0; 16]), &["elements must be one of", "<c8"]);
    is_refused("object.npy", npy("|O", false, &[2], &[0; 16]), &["elements must be one of", "|O"]);
}

#[test]
fn archives() {
    is_refused("junk.npz", "PK\x03\x04 and then nothing of the kind", &["npz"]);
    is_refused("empty.npz", "", &["npz"]);
    is_refused("bare.npz", npz(&[]), &["at least one array"]);
    let scene = Scene::with_model();
    scene.write("two.npz", npz(&[("logits", integers(&[1])), ("images", integers(&[2]))]));
    score(&scene, "two.npz:pixels", "y.npy").refuses(2, &["two.npz", "`pixels`", "`logits`, `images`"]);
    score(&scene, "two.npz", "y.npy").refuses(2, &["two.npz", "`logits`, `images`", "KEY"]);
    score(&scene, "x.npy:pixels", "y.npy").refuses(2, &["x.npy", "`pixels`", "no key"]);
}

#[test]
fn other_formats_cut_short() {
    is_refused("cut.parquet", "PAR1 and no footer", &["parquet"]);
    is_refused("cut.safetensors", [&[200, 0, 0, 0, 0, 0, 0, 0], &b"{\"a\":"[..]].concat(), &["safetensors"]);
    is_refused("cut-idx3-ubyte", [0, 0, 8, 3, 0, 0, 0, 9], &["IDX"]);
    is_refused("cut-idx3-ubyte.gz", [0x1f, 0x8b, 8, 0, 0, 0], &["gzip"]);
    is_refused("batch.bin", [0; 3072], &["3073", "got 3072"]);
    is_refused("notes.docx", "what is this", &["expected .npy"]);
}

#[test]
fn text_tables() {
    is_refused("empty.csv", "", &["at least one line"]);
    is_refused("header.csv", "a,b\n", &["at least one line"]);
    is_refused("ragged.csv", "1,2\n3,4\n5,6,7\n", &["line 3", "2 cells", "got 3"]);
    is_refused("words.csv", "a,b\n1,2\n3,four\n", &["line 3, column 2", "`four`"]);
    is_refused("holes.csv", "1,2\n3,\n", &["line 2, column 2", "an empty cell"]);
    is_refused("missing.csv", "0.5,NA\n1,2\n", &["line 1, column 2", "`NA`"]);
    is_refused("shuffled.csv", ",a\n5,1\n3,2\n", &["expected 0 at line 2, got `5`", "hint: ", "index=False"]);
    is_refused("binary.csv", [0xff, 0xfe, 0, 1, b'\n', 0xff, b'\n'], &["line 2, column 1"]);
}

#[test]
fn files_that_are_not_there() {
    let scene = Scene::with_model();
    score(&scene, "none.npy", "y.npy").refuses(2, &["none.npy", "no such file"]);
    score(&scene, "mnsit:data:test", "y.npy")
        .refuses(2, &["no such file", "hint: data sets by name: mnist:DIR:test"]);
    score(&scene, "x.npy", "none.npz:key").refuses(2, &["none.npz", "no such file"]);
    scene.make_folder("folder.npy");
    score(&scene, "folder.npy", "y.npy").refuses(2, &["folder.npy", "a folder"]);
    score(&scene, ".", "y.npy").refuses(2, &[".: ", "a folder"]);
}

#[test]
fn data_sets_that_are_not_there() {
    let scene = Scene::with_model();
    scene.make_folder("data");
    score(&scene, "mnist:data:test", "y.npy")
        .refuses(2, &["mnist:data:test", "t10k-images-idx3-ubyte", "data"]);
    score(&scene, "mnist:nowhere:test", "y.npy").refuses(2, &["nowhere", "no such folder"]);
    score(&scene, "cifar10:data:valid", "y.npy").refuses(2, &["`valid`", "train, test or all"]);
    score(&scene, "mnist:data", "y.npy").refuses(2, &["mnist:FOLDER:SPLIT", "no split"]);
}

#[test]
fn labels() {
    let scene = Scene::with_model();
    let with_labels = |name: &str, content: &[u8], words: &[&str]| {
        scene.write(name, content);
        scene.score(&format!("--labels {name}")).refuses(2, words);
    };
    with_labels("few.npy", &integers(&[1, 2, 3]), &["few.npy", "(300)", "got 3"]);
    with_labels("real.npy", &floats(1, &[0.5; 300]), &["real.npy", "integers", "float32"]);
    with_labels("wide.npy", &npy("|u1", false, &[300, 2], &[0; 600]), &["wide.npy", "[300, 2]"]);
    with_labels("empty.csv", b"", &["empty.csv"]);
    scene.score("--labels none.npy").refuses(2, &["none.npy", "no such file"]);
}

#[test]
fn sides_without_shape_have_no_answer() {
    let scene = Scene::with_model();
    scene.write("flat.npy", floats(2, &[0.25; 600]));
    score(&scene, "flat.npy", "y.npy").refuses(3, &["flat.npy", "inputs", "all 300 rows are equal"]);
    score(&scene, "x.npy", "flat.npy").refuses(3, &["flat.npy", "outputs", "all 300 rows are equal"]);
}

#[test]
fn copies_are_fine_but_mentioned() {
    let scene = Scene::empty();
    let mut values = Random::new(4).points(60);
    values[..20].fill(0.5);
    scene.write("x.npy", floats(1, &values));
    scene.write("y.npy", floats(1, &Random::new(6).points(60)));
    scene.score("-k 4").notes(&["20 of 60 inputs", "copies"]);
    scene.score("-k 4 --quiet").prints();
}
