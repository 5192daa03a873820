//! `spadework graph`, `eigen` and `scores`: the stages of `score`, one by one, with files between them.

pub(crate) mod eigen;
pub(crate) mod graph;
pub(crate) mod scores;
