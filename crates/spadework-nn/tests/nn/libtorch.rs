//! Training by libtorch beside training by the CPU's own kernels.

use crate::support::digits;
use spadework::Silent;
use spadework_nn::train::{Guides, OptimizerKind, TrainParams, Trainer};
use spadework_nn::{Architecture, Compute, Error, Network};

/// After four steps. Not by Adam, which makes a step of full size of a gradient that is nothing but rounding, as those of the
/// biases before a batch norm are.
fn after_four_steps(network: &Network, device: &str) -> Network {
    let params = TrainParams {
        epochs: 1,
        batch: 64,
        learning_rate: 0.05,
        optimizer: OptimizerKind::Sgd { momentum: 0.9 },
        ..TrainParams::default()
    };
    let examples = digits().select(&(0..256).collect::<Vec<_>>());
    let compute = Compute::choose(device).unwrap();
    let mut trainer = Trainer::new(network, &examples, params, Guides::default(), &compute).unwrap();
    trainer.run::<Error>(&Silent, |_, _| Ok(())).unwrap();
    trainer.network()
}

/// The largest difference of an array's values, beside the largest of them.
fn largest_difference(one: &[f32], other: &[f32]) -> f32 {
    let largest = |values: &mut dyn Iterator<Item = f32>| values.fold(0.0, f32::max);
    largest(&mut one.iter().zip(other).map(|(a, b)| (a - b).abs()))
        / largest(&mut one.iter().map(|a| a.abs()))
}

/// Padded convolutions, with and without strides, batch norms and sums of branches. Sums in another order leave differences of
/// a few units in the last of seven digits, while the weights learn a tenth of their size or more.
#[test]
fn a_network_learns_the_same_on_libtorch_as_on_the_cpu() {
    let network = Architecture::Resnet20.build(&[1, 8, 8], 10, None, 5).unwrap();
    let [cpu, torch] = ["cpu", "torch"].map(|device| after_four_steps(&network, device));
    for ((before, theirs), ours) in network.parameters().iter().zip(cpu.parameters()).zip(torch.parameters())
    {
        let difference = largest_difference(&theirs.values, &ours.values);
        assert!(difference < 1e-5, "{}: {difference}", theirs.name);
        let learned = largest_difference(&theirs.values, &before.values);
        assert!(before.shape.len() < 2 || learned > 0.1, "{}: {learned}", theirs.name);
    }
}
