//! The policies for a disconnected graph, and the words for them.

/// What to do with a disconnected neighbor graph. λ_max(L_Y⁺L_X) needs a connected output graph, and the paper requires both
/// graphs to be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Connectivity {
    /// Use the smallest k' ≥ k for which both graphs are connected.
    #[default]
    Grow,
    /// Keep k and join the components by the shortest edges between them (a minimum spanning forest).
    Bridge,
    /// Refuse.
    Error,
}

words! { Connectivity { Grow = "grow", Bridge = "bridge", Error = "error" } }
