//! Networks as files: what others wrote is read, what we write is read back and runs elsewhere.

use std::fs;
use std::path::Path;

use crate::support::folder;
use spadework_nn::{Architecture, Compute, Frozen, Network, Normalization, onnx, to_floats};

/// Every architecture with samples that it takes.
const ARCHITECTURES: [(&str, &[usize]); 8] = [
    ("lenet5", &[1, 28, 28]),
    ("conv2", &[1, 28, 28]),
    ("mlp:32", &[1, 28, 28]),
    ("cnn7", &[1, 28, 28]),
    ("resnet18", &[3, 32, 32]),
    ("resnet20", &[3, 32, 32]),
    ("tanh:15x9", &[3]),
    ("relu:8x3", &[2]),
];

fn build(name: &str, shape: &[usize]) -> Network {
    let mean = vec![0.4; shape[0]];
    let normalization = Normalization { deviation: vec![0.25; mean.len()], mean };
    let architecture: Architecture = name.parse().expect("a known name");
    architecture.build(shape, 10, Some(&normalization), 7).expect("samples that it takes")
}

fn some_samples(network: &Network, count: usize) -> Vec<f32> {
    (0..count * network.input_size()).map(|at| ((at * 37) % 101) as f32 / 100.0).collect()
}

fn outputs(network: &Network, samples: &[f32]) -> Vec<f32> {
    Frozen::new(network, &Compute::cpu()).outputs(samples).expect("whole samples")
}

#[test]
fn networks_are_read_back_from_safetensors_as_they_were() {
    let place = tempfile::tempdir().unwrap();
    for (name, shape) in ARCHITECTURES {
        let network = build(name, shape);
        let path = place.path().join("net.safetensors");
        network.save(&path).unwrap();
        assert_eq!(Network::load(&path).unwrap(), network, "{name}");
    }
}

#[test]
fn networks_are_read_back_from_onnx_and_compute_the_same() {
    for (name, shape) in ARCHITECTURES {
        let network = build(name, shape);
        let read = onnx::read(Path::new("net.onnx"), &onnx::write(&network)).unwrap();
        assert_eq!(read.trained_values(), network.trained_values(), "{name}");
        let samples = some_samples(&network, 2);
        assert_eq!(outputs(&read, &samples), outputs(&network, &samples), "{name}");
    }
}

/// onnxruntime gave these logits, and ours come from the same files: 32 bit sums in another order.
#[test]
fn lenets_of_pytorch_give_the_logits_that_onnxruntime_gave() {
    let test = "lenets_of_pytorch_give_the_logits_that_onnxruntime_gave";
    let Some(folder) = folder(test, &["models", "logits/mnist_test_lenet5.npz", "mnist"]) else { return };
    let images = spadework_io::load(&format!("mnist:{}:test", folder.join("mnist").display())).unwrap();
    let images = to_floats(&images.samples().unwrap());
    let lenet = Architecture::Lenet5.build(&[1, 28, 28], 10, None, 0).unwrap();
    for level in ["0.0", "0.1", "0.2", "0.3", "0.4"] {
        let name = format!("lenet5_eps{level}");
        let network = Network::load(&folder.join(format!("models/{name}.onnx"))).unwrap();
        assert_eq!(network.trained_values(), lenet.trained_values());
        let logits = folder.join("logits/mnist_test_lenet5.npz");
        let expected = spadework_io::load(&format!("{}:{name}", logits.display())).unwrap();
        let expected = to_floats(&expected.samples().unwrap());
        let got = outputs(&network, &images[..2000 * 784]);
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got - expected).abs() <= 1e-4, "{name}: {got} {expected}");
        }
    }
}

/// The published accuracy of this ResNet-20 is in the table beside it.
#[test]
fn a_published_resnet20_loads_and_classifies() {
    let file = "nets/akamaster_resnet_cifar10__resnet20-12fca82f.onnx";
    let Some(folder) = folder("a_published_resnet20_loads_and_classifies", &[file, "cifar10"]) else {
        return;
    };
    let network = Network::load(&folder.join(file)).unwrap();
    let data = spadework_io::load(&format!("cifar10:{}:test", folder.join("cifar10").display())).unwrap();
    let examples =
        spadework_nn::Examples::for_network(&data, None, network.input_shape(), network.outputs()).unwrap();
    let few = examples.select(&(0..400).collect::<Vec<_>>());
    let outputs = outputs(&network, few.samples());
    let right = outputs.chunks(10).zip(few.labels()).filter(|(row, label)| {
        let best = row.iter().copied().fold(f32::MIN, f32::max);
        row[**label] == best
    });
    // 0.917 of 10,000; of 400 the standard deviation is 0.014.
    let share = right.count() as f64 / 400.0;
    assert!((share - 0.917).abs() < 0.05, "{share}");
}

#[test]
fn files_that_are_no_networks_are_refused_with_their_name() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let message = |name: &str| Network::load(&path(name)).unwrap_err().to_string();
    let network = build("mlp:3", &[4]);
    network.save(&path("net.safetensors")).unwrap();
    let bytes = fs::read(path("net.safetensors")).unwrap();

    assert!(message("absent.onnx").ends_with("absent.onnx: no such file"));
    fs::write(path("text.onnx"), "not a network").unwrap();
    assert!(message("text.onnx").contains("text.onnx: expected an ONNX file"), "{}", message("text.onnx"));
    fs::write(path("empty.onnx"), "").unwrap();
    assert!(message("empty.onnx").contains("got none"), "{}", message("empty.onnx"));
    fs::write(path("net.txt"), "").unwrap();
    assert!(message("net.txt").contains("expected a network as .onnx or .safetensors"));

    fs::write(path("cut.safetensors"), &bytes[..bytes.len() - 8]).unwrap();
    fs::copy(path("net.json"), path("cut.json")).unwrap();
    assert!(message("cut.safetensors").contains("cut.safetensors: not a valid safetensors file"));
    fs::write(path("alone.safetensors"), &bytes).unwrap();
    assert!(message("alone.safetensors").ends_with("alone.json: no such file"));
    let other = build("mlp:5", &[4]);
    other.save(&path("other.safetensors")).unwrap();
    fs::copy(path("net.json"), path("other.json")).unwrap();
    assert_eq!(Network::load(&path("other.safetensors")).unwrap(), other, "sizes come from the arrays");
    build("tanh:3x3", &[4]).save(&path("deep.safetensors")).unwrap();
    fs::copy(path("deep.json"), path("net.json")).unwrap();
    assert!(message("net.safetensors").contains("expected an array `fc3.weight`, got none"));
}

/// No cut or flipped bit of a file may make the reader panic.
#[test]
fn damaged_onnx_files_are_errors_or_networks_but_never_panics() {
    let bytes = onnx::write(&build("lenet5", &[1, 28, 28]));
    let small: Vec<usize> = (0..400).chain((400..bytes.len()).step_by(997)).collect();
    for at in small {
        let _ = onnx::read(Path::new("cut.onnx"), &bytes[..at]);
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        let _ = onnx::read(Path::new("flipped.onnx"), &flipped);
    }
}
