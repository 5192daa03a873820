//! What to do with a graph that is disconnected, in words.

use std::fmt;
use std::str::FromStr;

use crate::error::UnknownWord;

/// What to do with a neighbor graph that is disconnected: λ_max(L_Y⁺L_X) needs a connected output graph, and the paper
/// asks for two connected graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Connectivity {
    /// Take the smallest k' ≥ k for which both graphs are connected.
    #[default]
    Grow,
    /// Keep k and join the components by the shortest edges between them (a minimum spanning forest).
    Bridge,
    /// Refuse.
    Error,
}

impl fmt::Display for Connectivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Connectivity::Grow => "grow",
            Connectivity::Bridge => "bridge",
            Connectivity::Error => "error",
        })
    }
}

impl FromStr for Connectivity {
    type Err = UnknownWord;

    fn from_str(word: &str) -> std::result::Result<Self, Self::Err> {
        match word {
            "grow" => Ok(Connectivity::Grow),
            "bridge" => Ok(Connectivity::Bridge),
            "error" => Ok(Connectivity::Error),
            _ => Err(UnknownWord::new("grow, bridge or error")),
        }
    }
}
