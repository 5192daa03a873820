//! One file a command.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod new_samples;
pub(crate) mod score;
pub(crate) mod select;
pub(crate) mod sweep;
