//! One model that is scored in several ways, with no neighbors searched twice.

use super::params::SpadeParams;
use super::report::SpadeReport;
use super::resumed_spectrum::report_of;
use super::search_cache::SearchCache;
use super::steps::made_graphs;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::samples::PairedSamples;
use crate::threads::with_threads;

/// One model that is scored in several ways, with no neighbors searched twice.
///
/// Lists of k neighbors are prefixes of longer ones. So a search is needed only if no earlier one on the same side had as
/// many neighbors. Projections are shared in the same way.
///
/// ```
/// use spadework::graph::GraphKind;
/// use spadework::pipeline::SharedSearch;
/// use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let inputs: Vec<f64> = (0..40).flat_map(|i| [angle(i).cos(), angle(i).sin()]).collect();
/// let outputs: Vec<f64> = (0..40).map(angle).collect();
/// let samples = PairedSamples::new(Samples::from_f64(40, 2, inputs)?, Samples::from_f64(40, 1, outputs)?)?;
/// let shared = SharedSearch::new(&samples);
/// for graph in [GraphKind::Knn, GraphKind::Mutual] {
///     let params = SpadeParams::default().with_neighbors(4).with_graph(graph);
///     let report = shared.evaluate(&params, &Silent)?;
///     assert_eq!(report.model_score.0, evaluate(&samples, &params, &Silent)?.model_score.0);
/// }
/// # Ok::<(), spadework::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedSearch<'a> {
    samples: &'a PairedSamples<'a>,
    cache: SearchCache,
}

impl<'a> SharedSearch<'a> {
    /// Nothing is searched yet.
    pub fn new(samples: &'a PairedSamples<'a>) -> Self {
        Self { samples, cache: SearchCache::default() }
    }

    /// As [`evaluate`](super::evaluate), bit by bit if the search is exact. (An approximate search for fewer neighbors may
    /// find other lists than the prefixes of a search for more.)
    ///
    /// # Errors
    /// As [`evaluate`](super::evaluate).
    pub fn evaluate(&self, params: &SpadeParams, monitor: &dyn Monitor) -> Result<SpadeReport> {
        params.check_for(self.samples.len())?;
        with_threads(params.threads, || {
            let sides = self.samples.into();
            report_of(made_graphs(&sides, params, Some(&self.cache), monitor)?, monitor)
        })
    }
}
