#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod architecture;
pub mod attack;
pub mod clever;
mod data;
mod device;
mod error;
pub mod network;
pub mod onnx;
mod random;
mod store;
pub mod train;

pub use architecture::{Activation, Architecture, Normalization};
pub use data::{Examples, image_shape, to_floats};
pub use device::Compute;
pub use error::{Error, Result};
pub use network::{Frozen, Network};
pub use train::{highest, random_places};
