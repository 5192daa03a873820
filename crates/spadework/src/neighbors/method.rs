//! The choice of a search, in words.

use std::fmt;
use std::str::FromStr;

use crate::error::UnknownWord;

/// How neighbors are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SearchMethod {
    /// Exactly, unless the estimated cost is beyond [`AutomaticSearch::MOST_CORE_SECONDS`](super::AutomaticSearch).
    #[default]
    Auto,
    /// Exactly, whatever it costs.
    Exact,
    /// By random trees and NN-descent, polished to a measured recall.
    Approximate,
}

impl fmt::Display for SearchMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SearchMethod::Auto => "auto",
            SearchMethod::Exact => "exact",
            SearchMethod::Approximate => "approximate",
        })
    }
}

impl FromStr for SearchMethod {
    type Err = UnknownWord;

    fn from_str(word: &str) -> std::result::Result<Self, Self::Err> {
        match word {
            "auto" => Ok(SearchMethod::Auto),
            "exact" => Ok(SearchMethod::Exact),
            "approximate" => Ok(SearchMethod::Approximate),
            _ => Err(UnknownWord::new("auto, exact or approximate")),
        }
    }
}
