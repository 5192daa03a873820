//! The two sides of a model.

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The model's inputs, x_i.
    Input,
    /// The model's outputs, y_i.
    Output,
}

words! { written Side { Input = "input", Output = "output" } }
