//! Trained networks, where `SPADEWORK_DATA` names a folder that has them.

use std::io::Write;
use std::path::{Path, PathBuf};

use spadework::samples::Values;
use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
use spadework_io::{Dataset, load};
use spadework_model::{OnnxModel, RunOptions};

/// The five LeNet-5 networks, and λ_1 of their logits on the test images with k = 10, by SciPy.
const LENETS: [(&str, f64); 5] = [
    ("lenet5_eps0.0", 41.466_795_34),
    ("lenet5_eps0.1", 40.922_609_18),
    ("lenet5_eps0.2", 40.627_578_60),
    ("lenet5_eps0.3", 37.894_940_09),
    ("lenet5_eps0.4", 34.454_820_13),
];

/// The folder, if it has what a test needs; where it has not, says so.
fn folder(needed: &[&str]) -> Option<PathBuf> {
    let skipped = |reason: String| {
        // Written past the test harness, which hides what passing tests print with the macros.
        std::io::stderr()
            .write_all(format!("skipped: {reason}\n").as_bytes())
            .expect("standard error is open");
    };
    let Some(folder) = std::env::var_os("SPADEWORK_DATA").map(PathBuf::from) else {
        skipped("trained networks need SPADEWORK_DATA".to_owned());
        return None;
    };
    if let Some(missing) = needed.iter().find(|file| !folder.join(file).exists()) {
        skipped(format!("there is no {missing} in the folder of SPADEWORK_DATA"));
        return None;
    }
    Some(folder)
}

fn loaded(argument: &str, folder: &Path) -> Dataset {
    load(&argument.replace("DATA", &folder.display().to_string())).unwrap()
}

fn numbers(samples: &Samples<'_>) -> Vec<f32> {
    match samples.values() {
        Values::F32(values) => values.to_vec(),
        _ => panic!("logits are float32"),
    }
}

/// The logits are by onnxruntime. They reach 40, and single precision has 6e-8 of that a step; the scores are SciPy's, of
/// onnxruntime's logits, and a last digit can change a neighbour.
#[test]
fn lenet_5_gives_its_logits_and_its_score() {
    let Some(folder) = folder(&["models/lenet5_eps0.0.onnx", "logits/mnist_test_lenet5.npz", "mnist"]) else {
        return;
    };
    let images = loaded("mnist:DATA/mnist:test", &folder);
    let inputs = images.samples().unwrap();
    for (name, score) in LENETS {
        let model =
            OnnxModel::open(&folder.join(format!("models/{name}.onnx")).display().to_string()).unwrap();
        let outputs = model.outputs(&images, &RunOptions::default(), &Silent).unwrap();
        let expected = loaded(&format!("DATA/logits/mnist_test_lenet5.npz:{name}"), &folder);
        assert_eq!(outputs.shape(), expected.shape());
        let outputs = outputs.samples().unwrap();
        let both = numbers(&outputs).into_iter().zip(numbers(&expected.samples().unwrap()));
        let furthest = both.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(furthest < 1e-4, "{name}: {furthest}");
        let pair = PairedSamples::new(inputs.clone(), outputs).unwrap();
        let found = evaluate(&pair, &SpadeParams::default(), &Silent).unwrap().model_score.0;
        assert!((found / score - 1.0).abs() < 1e-3, "{name}: {found}");
    }
}

/// A ResNet of other people's training, normalisation inside: its published accuracy on all images is 91.7 %, and on 512 of
/// them a binomial has a standard deviation of 1.2 %.
#[test]
fn a_resnet_recognizes_cifar_10() {
    const NET: &str = "nets/akamaster_resnet_cifar10__resnet20-12fca82f.onnx";
    const IMAGES: usize = 512;
    let Some(folder) = folder(&[NET, "cifar10/test_batch.bin"]) else { return };
    let images = loaded("cifar10:DATA/cifar10:test", &folder);
    let all = images.samples().unwrap();
    let few = all.rows(&(0..IMAGES as u32).collect::<Vec<_>>()).unwrap();
    let model = OnnxModel::open(&folder.join(NET).display().to_string()).unwrap();
    let prepared = model
        .prepare(&[3, 32, 32], &[model.outline().output(None).unwrap()], &RunOptions::default())
        .unwrap();
    let outputs = prepared.run(&few, &Silent).unwrap().swap_remove(0);
    let labels = &images.labels().unwrap().ids()[..IMAGES];
    let accuracy = spadework_probe::accuracy(&outputs.samples().unwrap(), labels).unwrap().unwrap();
    assert!((accuracy - 0.917).abs() < 0.05, "{accuracy}");
}
