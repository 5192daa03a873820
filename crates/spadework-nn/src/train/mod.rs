//! Training: plain, against attacks, and against attacks that are harder on the samples that SPADE finds weak (the paper's
//! §4.1).
//!
//! A [`Trainer`] owns everything that changes, and [`Trainer::run`] is the loop. Every draw only depends on the seed, the
//! epoch and the sample, so a stopped run that continues from its [`Checkpoint`] ends with the same bits.

mod adversary;
mod augment;
mod augmix;
mod checkpoint;
mod guide;
mod optimizer;
mod params;
mod schedule;
mod trainee;
mod trainer;

pub use adversary::{gairat_weight, held_steps};
pub use augment::Augmentation;
pub use checkpoint::Checkpoint;
pub use guide::{highest, random_places};
pub use optimizer::OptimizerKind;
pub use params::{Method, TrainParams};
pub use schedule::Schedule;
pub use trainer::{Ending, EpochRecord, Guides, Trainer};
