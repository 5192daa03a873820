//! What is wrong with a graph, in words.

use super::model::Node;
use crate::Error;

/// What is wrong with the graph; the name of the file goes in front.
#[derive(Debug)]
pub(super) struct Problem(pub(super) String);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem(error.to_string())
    }
}

pub(super) type Outcome<T> = std::result::Result<T, Problem>;

/// Names the operator and its output, then what it must do or have.
pub(super) fn refuse<T>(node: &Node, reason: &str) -> Outcome<T> {
    let name = node.outputs.first().map_or("", String::as_str);
    Err(Problem(format!("the operator {} that gives `{name}` {reason}", node.operator)))
}
