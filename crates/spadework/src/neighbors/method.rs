//! The choices of a search, and the words for them.

/// How neighbors are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SearchMethod {
    /// Exactly, unless the estimated cost is beyond [`AutomaticSearch::MOST_CORE_SECONDS`](super::AutomaticSearch).
    #[default]
    Auto,
    /// Exactly, whatever it costs.
    Exact,
    /// By random trees and NN-descent, refined to a measured recall.
    Approximate,
}

words! { SearchMethod { Auto = "auto", Exact = "exact", Approximate = "approximate" } }
