//! Exact search if it is affordable, otherwise approximate search.

use super::exact::Wanted;
use super::{ApproximateSearch, ExactSearch, NeighborLists, NeighborSearch};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::SearchMethod;
use crate::samples::Samples;

/// The exact search, or the approximate one if the exact search would take too long.
///
/// The choice depends only on the samples and k, not on the clock or the number of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AutomaticSearch {
    /// Seed of the approximate search.
    pub seed: u64,
    /// Estimated cost of the exact search, in seconds of one core of a usual machine, beyond which the approximate one is
    /// chosen.
    pub most_core_seconds: f64,
}

with_methods! { AutomaticSearch {
    with_seed(seed: u64),
    with_most_core_seconds(most_core_seconds: f64),
} }

impl AutomaticSearch {
    /// What an exact search may cost by default.
    pub const MOST_CORE_SECONDS: f64 = ExactSearch::AFFORDABLE_CORE_SECONDS;
}

impl Default for AutomaticSearch {
    fn default() -> Self {
        Self { seed: 0, most_core_seconds: Self::MOST_CORE_SECONDS }
    }
}

impl NeighborSearch for AutomaticSearch {
    fn find(&self, samples: &Samples<'_>, neighbors: usize, monitor: &dyn Monitor) -> Result<NeighborLists> {
        let wanted = Wanted { samples, neighbors, most_core_seconds: self.most_core_seconds, monitor };
        if let Some(lists) = ExactSearch::search_within(wanted)? {
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
