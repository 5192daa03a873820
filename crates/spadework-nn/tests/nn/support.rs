//! Data that several tests use.

use spadework_nn::network::{NetworkBuilder, Operation};
use spadework_nn::{Examples, Network};

#[path = "../../../spadework/tests/support/data_folder.rs"]
mod data_folder;

pub(crate) use data_folder::folder;

/// The UCI digits: 1,797 images of 8 x 8 pixels, as values in [0, 1].
pub(crate) fn digits() -> Examples {
    let images = spadework_io::load_digits().expect("the digits are part of the sources");
    let pixels = spadework_nn::to_floats(&images.samples().expect("finite numbers"));
    Examples::new(pixels, 64, images.labels().expect("they have labels").ids(), 10).expect("ten classes")
}

/// The digits with numbers that leave the remainder, and the rest.
pub(crate) fn split(examples: &Examples) -> (Examples, Examples) {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for place in 0..examples.len() {
        if place % 4 == 3 { test.push(place) } else { train.push(place) }
    }
    (examples.select(&train), examples.select(&test))
}

/// Two linear outputs of three numbers, and their weights: what attacks and scores must find is known in closed form.
pub(crate) fn linear() -> (Network, Vec<f32>) {
    let weight = vec![1.0_f32, -2.0, 0.5, -1.0, 1.0, 1.5];
    let mut builder = NetworkBuilder::new(&[3]).unwrap();
    let parameters = vec![(vec![2, 3], weight.clone()), (vec![2], vec![0.1, 0.0])];
    builder.then("fc", Operation::Linear, parameters).unwrap();
    (builder.finish().unwrap(), weight)
}
