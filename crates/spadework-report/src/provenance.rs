//! Where a page's numbers come from.

use spadework_document::RequestDocument;

/// What made a result, as far as the result itself does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// What the page is called; the kind of result by default.
    pub title: Option<String>,
    /// The command that made it.
    pub command: Option<String>,
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
    /// The command, as a line.
    pub(crate) fn fact(&self) -> Option<Fact> {
        self.command.clone().map(|value| Fact { name: "command".to_owned(), value })
    }
}

/// How the graphs were made, in one line.
pub(crate) fn graphs_made(request: &RequestDocument) -> String {
    let RequestDocument { graph, weights, connectivity, .. } = request;
    format!("{graph}, {weights} weights, connectivity {connectivity}; distances {}", request.distances())
}

/// Residuals, seconds and the like.
pub(crate) fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}
