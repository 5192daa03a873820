//! The canonical data sets, where `SPADEWORK_DATA` names a folder that has them.

use std::io::Write;

use spadework::samples::Values;
use spadework_io::catalog::check_folder;
use spadework_io::{load, load_labels};

/// The argument with the folder put in, or `None` with a word about it.
fn argument(pattern: &str) -> Option<String> {
    let Ok(folder) = std::env::var("SPADEWORK_DATA") else {
        skipped(&format!("{pattern} needs SPADEWORK_DATA"));
        return None;
    };
    let argument = pattern.replace("DATA", &folder);
    // The part between colons that is a path: a data set's folder, or the file itself.
    let path = argument.split(':').find(|part| part.contains('/')).unwrap_or(&argument);
    if !std::path::Path::new(path).exists() {
        skipped(&format!("there is no {path}"));
        return None;
    }
    Some(argument)
}

/// Written past the test harness, which hides what passing tests print with the macros.
fn skipped(reason: &str) {
    std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes()).expect("standard error is open");
}

/// Sum of the bytes that the pixels were, exactly.
fn pixel_sum(argument: &str) -> u64 {
    let dataset = load(argument).unwrap();
    let samples = dataset.samples().unwrap();
    let Values::U8(values) = samples.values() else { panic!("pixels are bytes") };
    values.iter().map(|&byte| u64::from(byte)).sum()
}

#[test]
fn mnist() {
    let Some(test) = argument("mnist:DATA/mnist:test") else { return };
    let all = test.replace(":test", ":all");
    let dataset = load(&all).unwrap();
    assert_eq!(dataset.shape(), [70_000, 28, 28]);
    let labels = dataset.labels().unwrap();
    assert_eq!(
        (labels.len(), &labels.ids()[..5], &labels.ids()[60_000..60_005]),
        (70_000, &[5, 0, 4, 1, 9][..], &[7, 2, 1, 0, 4][..])
    );
    assert_eq!(labels, &load_labels(&all).unwrap());
    // The mean pixel of the training set is the well-known 0.1307, of the test set 0.1325.
    assert_eq!(pixel_sum(&test), MNIST_TEST_SUM);
    assert_eq!(pixel_sum(&all), MNIST_TEST_SUM + MNIST_TRAIN_SUM);
}

#[test]
fn fashion_mnist() {
    let Some(test) = argument("fashion-mnist:DATA/fashion-mnist:test") else { return };
    let dataset = load(&test).unwrap();
    assert_eq!(dataset.shape(), [10_000, 28, 28]);
    let labels = dataset.labels().unwrap();
    assert_eq!(&labels.ids()[..5], [9, 2, 1, 1, 6]);
    assert_eq!(labels.class_name(9), Some("Ankle boot"));
    assert_eq!(pixel_sum(&test), FASHION_TEST_SUM);
}

#[test]
fn cifar10() {
    let Some(test) = argument("cifar10:DATA/cifar10:test") else { return };
    let dataset = load(&test).unwrap();
    assert_eq!(dataset.shape(), [10_000, 3, 32, 32]);
    let labels = load_labels(&test).unwrap();
    assert_eq!((&labels.ids()[..5], labels.class_name(3)), (&[3, 8, 8, 0, 6][..], Some("cat")));
    assert_eq!(pixel_sum(&test), CIFAR_TEST_SUM);
    let train = load_labels(&test.replace(":test", ":train")).unwrap();
    assert_eq!((train.len(), &train.ids()[..5]), (50_000, &[6, 9, 9, 4, 1][..]));
}

#[test]
fn the_files_are_those_of_the_catalog() {
    for (folder, set) in [("mnist", "mnist"), ("fashion-mnist", "fashion-mnist"), ("cifar10", "cifar10")] {
        let Some(folder) = argument(&format!("DATA/{folder}")) else { return };
        let found = check_folder(std::path::Path::new(&folder)).unwrap();
        assert_eq!((found.len(), found[0].set.name), (1, set));
        assert!(found[0].is_complete(), "{found:?}");
    }
}

#[test]
fn logits() {
    let Some(first) = argument("DATA/logits/mnist_test_lenet5.npz:lenet5_eps0.0") else { return };
    let dataset = load(&first).unwrap();
    assert_eq!(dataset.shape(), [10_000, 10]);
    let samples = dataset.samples().unwrap();
    let Values::F32(values) = samples.values() else { panic!("logits are f32") };
    assert_eq!(values[..2], [-5.076_367, 1.253_574_5]);
    let message = load(&first.replace(":lenet5_eps0.0", "")).unwrap_err().to_string();
    assert!(message.contains("with a key of `lenet5_eps0.0`, `lenet5_eps0.1`"), "{message}");
}

#[test]
fn wrong_folders_are_named() {
    let Some(folder) = argument("cifar10:DATA/mnist:test") else { return };
    let message = load(&folder).unwrap_err().to_string();
    assert!(
        message.contains("expected `test_batch.bin`") && message.ends_with("got no test_batch.bin"),
        "{message}"
    );
}

// Sums of all bytes, counted with numpy over the files.
const MNIST_TEST_SUM: u64 = 264_923_200;
const MNIST_TRAIN_SUM: u64 = 1_567_298_545;
const FASHION_TEST_SUM: u64 = 573_469_082;
const CIFAR_TEST_SUM: u64 = 3_733_375_634;
