//! Where a page's numbers come from.

use spadework_document::RequestDocument;

/// The origin of a result, as far as the result itself does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The title of the page; by default the name of the model.
    pub title: Option<String>,
    /// The command that made it.
    pub command: Option<String>,
    /// The name of the model, if the result does not have it.
    pub model: Option<String>,
    /// The name of the inputs, if the result does not have it.
    pub inputs: Option<String>,
}

/// A line of the table at the end of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Lines as pairs of a name and a value.
pub(crate) fn facts<const N: usize>(pairs: [(&str, String); N]) -> Vec<Fact> {
    pairs.into_iter().map(|(name, value)| Fact { name: name.to_owned(), value }).collect()
}

impl Origin {
    /// The same, with these names of the model and the inputs if there are none yet.
    #[must_use]
    pub fn or_named(&self, model: Option<&str>, inputs: Option<&str>) -> Self {
        let or_this = |known: &Option<String>, name: Option<&str>| known.clone().or(name.map(str::to_owned));
        Self { model: or_this(&self.model, model), inputs: or_this(&self.inputs, inputs), ..self.clone() }
    }

    /// The command, as a line.
    pub(crate) fn fact(&self) -> Option<Fact> {
        self.command.clone().map(|value| Fact { name: "command".to_owned(), value })
    }
}

/// How the graphs were made, in one line.
pub(crate) fn graphs_made(request: &RequestDocument) -> String {
    let RequestDocument { graph, weights, connectivity, .. } = request;
    format!(
        "{graph}, {weights} weights, connectivity {connectivity}; distances {}",
        request.distances.in_words()
    )
}

/// Residuals, seconds and the like.
pub(crate) fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}
