//! Several inputs as one: a table in which every column is an input of the model, as in exports of scikit-learn's pipelines.
//!
//! A row has the numbers of all inputs, one input after the other in the order of the model. A node for each input takes its columns from
//! the row, and another converts them to whole numbers if the input needs these. So both engines see a model with one input.

use super::error::ModelError;
use super::outline::{Extent, Port};
use super::proto::element;

/// The input that stands for several.
pub(super) const JOINED: &str = "spadework.columns";

/// One of the inputs that are joined.
pub(super) struct Columns<'a> {
    pub(super) name: &'a str,
    /// Columns of the row that go into it, after those of the inputs before.
    pub(super) width: usize,
    /// What it takes.
    pub(super) element: i32,
}

/// The columns of each of these inputs, where rows of so many numbers can be given to all of them together.
pub(super) fn columns<'a>(inputs: &[&'a Port], dim: usize) -> Option<Vec<Columns<'a>>> {
    let joined: Vec<Columns<'a>> = inputs.iter().map(|port| columns_of(port)).collect::<Option<_>>()?;
    let width = joined.iter().try_fold(0_usize, |sum, input| sum.checked_add(input.width))?;
    (width == dim).then_some(joined)
}

/// The input that takes the columns of all.
pub(super) fn port(columns: &[Columns<'_>]) -> Port {
    let width = columns.iter().map(|input| input.width).sum();
    Port {
        name: JOINED.to_owned(),
        element: element::name(element::FLOAT),
        shape: Some(vec![Extent::Dynamic(String::new()), Extent::Fixed(width)]),
    }
}

fn columns_of(port: &Port) -> Option<Columns<'_>> {
    let [Extent::Dynamic(_), Extent::Fixed(width)] = port.shape.as_deref()? else { return None };
    let taken = [element::FLOAT, element::DOUBLE, element::INT64, element::INT32, element::BOOL];
    let element = taken.into_iter().find(|&element| element::name(element) == port.element)?;
    Some(Columns { name: &port.name, width: *width, element })
}

/// Why several inputs cannot be given.
pub(super) fn refusal(output: &str, inputs: &[&Port], dim: usize) -> ModelError {
    let (output, names) = (output.to_owned(), inputs.iter().map(|port| port.name.clone()).collect());
    if let Some(text) = inputs.iter().find(|port| port.element == "string") {
        return ModelError::TextInput { output, input: text.name.clone() };
    }
    match inputs.iter().map(|port| columns_of(port)).collect::<Option<Vec<_>>>() {
        Some(columns) => {
            let widths = columns.iter().map(|input| input.width).sum();
            ModelError::InputWidths { output, inputs: names, widths, got: dim }
        }
        None => ModelError::ManyInputs { output, inputs: names },
    }
}
