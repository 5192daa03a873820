//! The same numbers in other files score the same.

use crate::support::Scene;
use crate::support::arrays::{Random, csv, floats, integers, npy, npz};

const SAMPLES: usize = 60;
const DIM: usize = 3;

/// Whole numbers that every element type can hold.
fn pixels() -> Vec<u8> {
    Random::new(11).whole(SAMPLES * DIM, 120)
}

fn as_floats(pixels: &[u8]) -> Vec<f32> {
    pixels.iter().map(|&pixel| f32::from(pixel)).collect()
}

/// `y.npy`, and the numbers of `x` in plain single precision.
fn scene() -> Scene {
    let scene = Scene::empty();
    let values = as_floats(&pixels());
    let outputs: Vec<f32> = values.chunks(DIM).map(|x| x[0] * 2.0 + x[1] * x[2]).collect();
    scene.write("x.npy", floats(DIM, &values));
    scene.write("y.npy", floats(1, &outputs));
    scene
}

fn nodes(scene: &Scene, inputs: &str) -> String {
    scene.run(&format!("score --inputs {inputs} --outputs y.npy -k 5 --out result")).prints();
    scene.read("result/nodes.csv")
}

#[track_caller]
fn scores_alike(name: &str, argument: &str, content: impl AsRef<[u8]>) {
    let scene = scene();
    scene.write(name, content);
    assert_eq!(nodes(&scene, argument), nodes(&scene, "x.npy"));
}

fn elements<const N: usize>(encode: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    pixels().into_iter().flat_map(encode).collect()
}

#[test]
fn every_integer_width_and_order() {
    let shape = [SAMPLES, DIM];
    let file = |descr: &str, bytes: &[u8]| npy(descr, false, &shape, bytes);
    scores_alike("i.npy", "i.npy", file("|i1", &elements(|v| [v])));
    scores_alike("i.npy", "i.npy", file("<i2", &elements(|v| i16::from(v).to_le_bytes())));
    scores_alike("i.npy", "i.npy", file(">u2", &elements(|v| u16::from(v).to_be_bytes())));
    scores_alike("i.npy", "i.npy", file(">i4", &elements(|v| i32::from(v).to_be_bytes())));
    scores_alike("i.npy", "i.npy", file("<u8", &elements(|v| u64::from(v).to_le_bytes())));
    scores_alike("i.npy", "i.npy", file(">i8", &elements(|v| i64::from(v).to_be_bytes())));
}

#[test]
fn big_endian_and_double_precision() {
    let shape = [SAMPLES, DIM];
    scores_alike(
        "x.npy.be.npy",
        "x.npy.be.npy",
        npy(">f4", false, &shape, &elements(|v| f32::from(v).to_be_bytes())),
    );
    scores_alike("d.npy", "d.npy", npy("<f8", false, &shape, &elements(|v| f64::from(v).to_le_bytes())));
    scores_alike("d.npy", "d.npy", npy(">f8", false, &shape, &elements(|v| f64::from(v).to_be_bytes())));
}

#[test]
fn fortran_order() {
    let pixels = pixels();
    let columns = (0..DIM).flat_map(|j| (0..SAMPLES).map(move |i| (i, j)));
    let bytes: Vec<u8> = columns.flat_map(|(i, j)| f32::from(pixels[i * DIM + j]).to_le_bytes()).collect();
    scores_alike("f.npy", "f.npy", npy("<f4", true, &[SAMPLES, DIM], &bytes));
}

#[test]
fn more_dimensions_are_flattened() {
    let bytes = elements(|v| f32::from(v).to_le_bytes());
    scores_alike("cube.npy", "cube.npy", npy("<f4", false, &[SAMPLES, 1, DIM, 1], &bytes));
}

#[test]
fn text_with_and_without_a_header() {
    let table = csv(DIM, &as_floats(&pixels()));
    scores_alike("x.csv", "x.csv", &table);
    scores_alike("x.csv", "x.csv", format!("red,green,blue\n{table}"));
    scores_alike("x.tsv", "x.tsv", table.replace(',', "\t"));
}

#[test]
fn an_archive_with_and_without_a_key() {
    let array = floats(DIM, &as_floats(&pixels()));
    scores_alike("one.npz", "one.npz", npz(&[("images", array.clone())]));
    let two = npz(&[("labels", integers(&[1, 2])), ("images", array)]);
    scores_alike("two.npz", "two.npz:images", two);
}

#[test]
fn bytes_are_pixels() {
    let scene = scene();
    let scaled: Vec<f32> = pixels().iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    scene.write("bytes.npy", npy("|u1", false, &[SAMPLES, DIM], &pixels()));
    scene.write("scaled.npy", floats(DIM, &scaled));
    assert_eq!(nodes(&scene, "bytes.npy"), nodes(&scene, "scaled.npy"));
}

#[test]
fn labels_in_any_integer_or_column() {
    let scene = Scene::with_model();
    let bytes: Vec<u8> = (0..Scene::SAMPLES).map(|i| (i % 4) as u8).collect();
    let table: String = bytes.iter().map(|label| format!("{label},x\n")).collect();
    scene.write("bytes.npy", npy("|u1", false, &[Scene::SAMPLES], &bytes));
    scene.write("column.npy", npy("|u1", false, &[Scene::SAMPLES, 1], &bytes));
    scene.write("table.csv", format!("class,note\n{table}"));
    let label_scores =
        |labels: &str| scene.score(&format!("--json --labels {labels}")).json()["label_scores"].clone();
    let expected = label_scores("labels.npy");
    for labels in ["bytes.npy", "column.npy", "table.csv:class"] {
        assert_eq!(label_scores(labels), expected, "{labels}");
    }
}

/// An IDX file of bytes.
fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|extent| extent.to_be_bytes()));
    bytes.extend(values);
    bytes
}

#[test]
fn a_data_set_by_name_brings_its_labels() {
    let scene = Scene::empty();
    let images = Random::new(13).whole(SAMPLES * 784, 255);
    let labels: Vec<u8> = (0..SAMPLES).map(|i| (i % 10) as u8).collect();
    scene.make_folder("data");
    scene.write("data/t10k-images-idx3-ubyte", idx(&[SAMPLES as u32, 28, 28], &images));
    scene.write("data/t10k-labels-idx1-ubyte", idx(&[SAMPLES as u32], &labels));
    scene.write("y.npy", npy("|u1", false, &[SAMPLES, 784], &images));
    let json = scene.run("score -q --json --inputs fashion-mnist:data:test --outputs y.npy -k 5").json();
    assert_eq!(json["label_scores"][9]["name"], "Ankle boot");
    assert_eq!(json["input_dim"], 784);
    let score = json["model_score"].as_f64().unwrap();
    assert!((score - 1.0).abs() < 1e-9, "a model that changes nothing scores 1, got {score}");
}

/// Labels are often kept as plain text, one per line, as ids are.
#[test]
fn labels_may_be_lines_of_text() {
    let scene = scene();
    let topics: Vec<&str> = (0..SAMPLES).map(|at| if at % 3 == 0 { "politics" } else { "sports" }).collect();
    scene.write("topics.txt", topics.join("\n"));
    scene.write("topics.csv", format!("topic\n{}\n", topics.join("\n")));
    let score = |labels: &str| {
        let call =
            format!("score --inputs x.npy --outputs y.npy --task embedding --labels {labels} --json -q");
        scene.run(&call).json()["label_scores"].clone()
    };
    assert_eq!(score("topics.txt"), score("topics.csv"));
    assert_eq!(score("topics.txt").as_array().unwrap().len(), 2);
    // A pickle is no text, and an array needs a format with numbers.
    scene.write("topics", b"\x80\x04picked");
    scene.run("score --inputs x.npy --outputs y.npy --labels topics").refuses(2, &["topics", "pickle"]);
    scene.run("score --inputs topics.txt --outputs y.npy").refuses(2, &["topics.txt", "expected .npy"]);
}
