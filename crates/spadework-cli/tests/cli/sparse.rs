//! Sparse rows as SciPy saves them: searched as dense rows are, without being made dense.

use crate::support::Scene;
use crate::support::arrays::{Random, integers, npy, npz};

const COLUMNS: usize = 30;

/// Rows of which a fifth of the numbers are not 0, as doubles.
fn rows() -> Vec<f64> {
    let mut random = Random::new(11);
    let number = |_| if random.unit() < 0.2 { f64::from(0.5 + random.unit()) } else { 0.0 };
    let mut rows: Vec<f64> = (0..Scene::SAMPLES * COLUMNS).map(number).collect();
    for (at, row) in rows.chunks_exact_mut(COLUMNS).enumerate() {
        row[at % COLUMNS] += 0.25;
    }
    rows
}

fn doubles(values: &[f64], shape: &[usize]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f8", false, shape, &bytes)
}

/// `scipy.sparse.save_npz` of these rows, compressed by lines: rows, or columns.
fn matrix(rows: &[f64], by_columns: bool, columns: usize) -> Vec<u8> {
    let (lines, length) = if by_columns { (COLUMNS, Scene::SAMPLES) } else { (Scene::SAMPLES, COLUMNS) };
    let at = |line: usize, place: usize| {
        if by_columns { rows[place * COLUMNS + line] } else { rows[line * COLUMNS + place] }
    };
    let (mut starts, mut indices, mut values) = (vec![0_i64], Vec::new(), Vec::new());
    for line in 0..lines {
        for place in (0..length).filter(|&place| at(line, place) != 0.0) {
            indices.push(place as i64);
            values.push(at(line, place));
        }
        starts.push(indices.len() as i64);
    }
    npz(&[
        ("indices", integers(&indices)),
        ("indptr", integers(&starts)),
        ("format", npy("|S3", false, &[], if by_columns { b"csc" } else { b"csr" })),
        ("shape", integers(&[Scene::SAMPLES as i64, columns as i64])),
        ("data", doubles(&values, &[values.len()])),
    ])
}

fn scene() -> Scene {
    let scene = Scene::with_model();
    let rows = rows();
    scene.write("dense.npy", doubles(&rows, &[Scene::SAMPLES, COLUMNS]));
    scene.write("csr.npz", matrix(&rows, false, COLUMNS));
    scene.write("csc.npz", matrix(&rows, true, COLUMNS));
    scene
}

#[test]
fn scores_are_those_of_dense_rows() {
    let scene = scene();
    let score = |inputs: &str, metric: &str| {
        let call = format!(
            "score --inputs {inputs} --input-metric {metric} --outputs y.npy --labels labels.npy --json --quiet"
        );
        let document = scene.run(&call).json();
        let edges: Vec<_> =
            document["top_edges"].as_array().unwrap().iter().map(|edge| edge["p"].clone()).collect();
        (document["model_score"].clone(), document["overlap"].clone(), edges)
    };
    for metric in ["cosine", "euclidean"] {
        let dense = score("dense.npy", metric);
        assert_eq!(score("csr.npz", metric), dense, "{metric}");
        assert_eq!(score("csc.npz", metric), dense, "{metric}");
    }
    assert_ne!(score("csr.npz", "cosine").0, score("csr.npz", "euclidean").0);
    scene
        .run("score --inputs csr.npz --input-metric cosine --outputs y.npy")
        .notes(&["300 sparse rows of 30 numbers", "their 10 nearest by cosine distance"]);
}

#[test]
fn several_models_share_sparse_inputs() {
    let scene = scene();
    let compare = |inputs: &str| {
        let call = format!(
            "compare --inputs {inputs} --input-metric cosine --outputs a=y.npy --outputs b=worse.npy --json --quiet"
        );
        let document = scene.run(&call).json();
        document["models"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model["model_score"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(compare("csr.npz"), compare("dense.npy"));
}

#[test]
fn what_sparse_rows_cannot_do_is_said() {
    let scene = scene();
    let score = "score --inputs csr.npz --outputs y.npy";
    for (options, words) in [
        ("--input-metric manhattan", &["csr.npz", "euclidean or the cosine", "got manhattan"][..]),
        ("--standardize standard", &["csr.npz", "--standardize needs dense rows"]),
        ("--graph mutual", &["--graph needs dense rows"]),
        ("--weights gaussian", &["--weights needs dense rows"]),
        ("--interval", &["--interval needs dense rows"]),
        ("-k 300", &["300"]),
    ] {
        scene.run(&format!("{score} {options}")).refuses(2, words);
    }
    for given in ["", "-k 5..7"] {
        let sweep = format!("sweep --inputs csr.npz --outputs y.npy {given}");
        scene.refuses(
            &sweep,
            &[
                "csr.npz: a sweep makes a graph for every k and needs dense rows",
                "one k at a time with --neighbors",
            ],
        );
    }
    scene.run("score --outputs y.npy --inputs dense.npy --out ref -q").prints();
    for (call, words) in [
        ("graphs --inputs csr.npz --outputs y.npy", "making graphs in several ways needs dense rows"),
        ("score --reference ref --inputs csr.npz --outputs y.npy", "scoring new samples needs dense rows"),
        ("score --inputs dense.npy --outputs csr.npz", "csr.npz: expected an array, got a sparse matrix"),
        (
            "score --inputs dense.npy --outputs y.npy --labels csr.npz",
            "csr.npz: expected an array, got a sparse",
        ),
        ("compare --inputs dense.npy a=y.npy b=csr.npz", "csr.npz: expected an array, got a sparse matrix"),
    ] {
        scene.refuses(&format!("{call} --quiet"), &[words]);
    }
    let mut rows = rows();
    rows[3 * COLUMNS..4 * COLUMNS].fill(0.0);
    scene.write("zero.npz", matrix(&rows, false, COLUMNS));
    scene.refuses(
        "score --inputs zero.npz --input-metric cosine --outputs y.npy",
        &["zero.npz", "row 3, counted from 0"],
    );
    rows[3 * COLUMNS + 1] = f64::NAN;
    scene.write("nan.npz", matrix(&rows, false, COLUMNS));
    scene.refuses("score --inputs nan.npz --outputs y.npy", &["nan.npz", "row 3, column 1"]);
    scene.write("narrow.npz", matrix(&self::rows(), false, 7));
    scene.refuses("score --inputs narrow.npz --outputs y.npy", &["narrow.npz", "within the matrix"]);
    // A file may claim any number of columns: none of them is made.
    scene.write("wide.npz", matrix(&self::rows(), false, u32::MAX as usize));
    scene.run("score --inputs wide.npz --input-metric cosine --outputs y.npy --quiet").prints();
}
