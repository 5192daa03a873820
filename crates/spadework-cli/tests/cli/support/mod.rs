//! What every test needs: a folder to work in, array files made by hand, and a way to call the command.

pub(crate) mod arrays;
mod outcome;
mod scene;

pub(crate) use outcome::Outcome;
pub(crate) use scene::{Scene, listing};
