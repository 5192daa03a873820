//! Files written by numpy, pyarrow and safetensors (`scripts/make_io_fixtures.py`) must read as numpy says.

use std::path::Path;

use serde_json::Value;
use spadework::samples::Values;
use spadework_io::{Error, load, load_labels, load_numbers};

fn fixture(argument: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    format!("{}/{argument}", folder.display())
}

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(fixture("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn expected_shape(case: &Value) -> Vec<usize> {
    case["shape"].as_array().unwrap().iter().map(|extent| extent.as_u64().unwrap() as usize).collect()
}

fn expected_values(case: &Value) -> Vec<f64> {
    case["values"].as_str().unwrap().split(' ').map(|value| value.parse().unwrap()).collect()
}

#[test]
fn every_fixture_reads_as_numpy_says() {
    let cases = cases();
    assert!(cases.len() > 100);
    let mut refused = 0;
    for case in &cases {
        let argument = case["argument"].as_str().unwrap();
        // Whole numbers that double precision does not hold are refused, not rounded.
        let is_beyond = expected_values(case).iter().any(|value| value.abs() >= 2.0_f64.powi(53));
        let dataset = match load(&fixture(argument)) {
            Err(Error::BigInteger { .. }) if is_beyond => {
                refused += 1;
                continue;
            }
            loaded => loaded.unwrap_or_else(|error| panic!("{error}")),
        };
        assert_eq!(dataset.shape(), expected_shape(case), "{argument}");
        let samples = dataset.samples().unwrap();
        let (single, values): (bool, Vec<f64>) = match samples.values() {
            Values::F32(values) => (true, values.iter().map(|&v| f64::from(v)).collect()),
            Values::F64(values) => (false, values.to_vec()),
            narrow => (true, narrow.all_doubles().into_owned()),
        };
        assert_eq!(single, case["single"].as_bool().unwrap(), "{argument}");
        assert_eq!(values, expected_values(case), "{argument}");
    }
    assert!(refused >= 4, "the smallest and largest numbers of 64 bits");
}

#[test]
fn integer_fixtures_are_labels() {
    let mut tried = 0;
    for case in cases().iter().filter(|case| case["labels"].is_array()) {
        let argument = case["argument"].as_str().unwrap();
        let labels = load_labels(&fixture(argument)).unwrap_or_else(|error| panic!("{error}"));
        let expected: Vec<i64> =
            case["labels"].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
        assert_eq!(labels.ids(), expected, "{argument}");
        // Numbers that are no samples are not scaled either.
        if expected.iter().all(|id| id.unsigned_abs() < 1 << 53) {
            let numbers: Vec<f64> = expected.iter().map(|&id| id as f64).collect();
            assert_eq!(load_numbers(&fixture(argument)).unwrap(), numbers, "{argument}");
        }
        tried += 1;
    }
    assert!(tried > 10);
    assert_eq!(load_labels(&fixture("batch.bin")).unwrap().ids(), [3, 9]);
    assert_eq!(load(&fixture("batch.bin")).unwrap().labels().unwrap().class_name(9), Some("truck"));
}

#[test]
fn what_is_refused_is_named() {
    let cases = [
        ("refused_complex.npy", "got NumPy type `<c8`"),
        ("refused_text.npy", "got NumPy type `<U1`"),
        ("refused_object.npy", "got NumPy type `|O`"),
        ("refused_record.npy", "got NumPy type `[("),
        ("refused_null.parquet", "got a null at row 1 of column `a`"),
        ("refused_text.parquet", "column `word` must hold numbers, got text"),
        (
            "refused_ragged.parquet",
            "every list of column `a` must have 2 items like the first, got 1 at row 1",
        ),
        ("refused_null_list.parquet", "got a null at row 1 of column `a`"),
        ("refused_date.parquet", "column `when` must hold numbers, got INT64"),
        ("fixed_f4.parquet", "column `embedding` must hold numbers, got lists and other columns together"),
        ("stored.npz", "with a key of `x`, `y`"),
        ("stored.npz:z", "there is no `z` in the file; it holds `x`, `y`"),
        ("all.safetensors", "with a key of `b1`, `f2`"),
        ("all.safetensors:z", "there is no `z` in the file"),
        ("widths.parquet:z", "there is no `z` in the file"),
        ("version1.npy:z", "holds one array and takes no key, got key `z`"),
        ("expected.json", "got a file that begins with `[\\n"),
        ("absent.npy", "no such file"),
    ];
    for (argument, part) in cases {
        let message = load(&fixture(argument)).unwrap_err().to_string();
        assert!(message.starts_with(&fixture(argument)), "{message}");
        assert!(message.contains(part), "{message}");
        assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
    }
}

#[test]
fn columns_are_left_out_of_parquet() {
    let left = load(&fixture("refused_text.parquet?drop=word")).unwrap();
    assert_eq!((left.shape(), left.columns().unwrap()), (&[2, 1][..], &["a".to_owned()][..]));
    assert_eq!(left.samples().unwrap().values().all_doubles(), [1.0, 2.0].as_slice());
    let message = |argument: &str| load(&fixture(argument)).unwrap_err().to_string();
    assert!(message("refused_text.parquet?drop=z").contains("there is no `z` in the file"));
    assert!(message("f4_none.parquet?drop=c0,c1,c2").contains("at least one array"));
    assert!(message("version1.npy?drop=a").contains("got a file of format npy"));
    let message = load_labels(&fixture("refused_text.parquet?drop=a")).unwrap_err().to_string();
    assert!(message.contains("name it as FILE:COLUMN"), "{message}");
}

#[test]
fn words_are_labels() {
    let labels = load_labels(&fixture("refused_text.parquet:word")).unwrap();
    assert_eq!((labels.ids(), labels.class_name(1)), (&[0, 1][..], Some("y")));
    let message = load_labels(&fixture("version1.npy")).unwrap_err().to_string();
    assert!(message.ends_with("got shape [2, 3]"), "{message}");
    let message = load_labels(&fixture("f8_1d.npy")).unwrap_err().to_string();
    assert!(message.ends_with("got elements of type float64"), "{message}");
}

#[test]
fn the_format_shows_in_the_content_too() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        "version2.npy",
        "single.npz",
        "f4_zstd.parquet",
        "single.safetensors",
        "i2-idx3-ubyte",
        "f8-idx3-ubyte.gz",
    ];
    for file in files {
        let copy = folder.path().join("nameless");
        std::fs::copy(fixture(file), &copy).unwrap();
        let (by_name, by_content) =
            (load(&fixture(file)).unwrap(), load(&copy.display().to_string()).unwrap());
        assert_eq!(by_name.shape(), by_content.shape(), "{file}");
    }
}

#[test]
fn the_core_s_refusals_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "1,2\n3,nan\n").unwrap();
    let message = load(&path.display().to_string()).unwrap().samples().unwrap_err().to_string();
    let expected = "x.csv: every value must be finite, got NaN at row 1, column 1 (both counted from 0)";
    assert!(message.ends_with(expected), "{message}");
}
