//! Networks from outside: files, training, attacks and CLEVER scores. One program, since each would be linked with all that
//! networks are computed with.

mod attack;
mod clever;
#[cfg(feature = "libtorch")]
mod libtorch;
mod models;
mod support;
mod training;
