//! Exact wherever that is affordable.

use super::{ApproximateSearch, ExactSearch, NeighborLists, NeighborSearch, check_neighbors};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::SearchMethod;
use crate::samples::Samples;

/// The exact search, unless it would take too long: an approximate one then.
///
/// The choice depends on the samples and k alone, never on the clock or the number of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AutomaticSearch {
    /// Seed of the approximate search.
    pub seed: u64,
    /// Estimated cost of the exact search, in seconds of one core of a usual machine, beyond which the approximate one is
    /// chosen.
    pub most_core_seconds: f64,
}

impl AutomaticSearch {
    /// What an exact search may cost by default: five minutes on two cores.
    pub const MOST_CORE_SECONDS: f64 = 600.0;

    /// The same with another [`seed`](Self::seed).
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with another [`most_core_seconds`](Self::most_core_seconds).
    #[must_use]
    pub fn with_most_core_seconds(self, most_core_seconds: f64) -> Self {
        Self { most_core_seconds, ..self }
    }
}

impl Default for AutomaticSearch {
    fn default() -> Self {
        Self { seed: 0, most_core_seconds: Self::MOST_CORE_SECONDS }
    }
}

impl NeighborSearch for AutomaticSearch {
    fn search(
        &self,
        samples: &Samples<'_>,
        neighbors: usize,
        monitor: &dyn Monitor,
    ) -> Result<NeighborLists> {
        check_neighbors(neighbors, samples.len())?;
        let within = self.most_core_seconds;
        if let Some(lists) = ExactSearch::search_within(samples, neighbors, within, monitor)? {
            return Ok(lists);
        }
        let approximate = ApproximateSearch { seed: self.seed, ..Default::default() };
        approximate.search_alone(samples, neighbors, monitor)
    }
}

/// The search that a method names.
pub fn search_by(method: SearchMethod, seed: u64) -> Box<dyn NeighborSearch> {
    match method {
        SearchMethod::Auto => Box::new(AutomaticSearch { seed, ..Default::default() }),
        SearchMethod::Exact => Box::new(ExactSearch),
        SearchMethod::Approximate => Box::new(ApproximateSearch { seed, ..Default::default() }),
    }
}
