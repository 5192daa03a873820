//! One file a command.

pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod graphs;
pub(crate) mod score;
pub(crate) mod select;
