//! What was found of some samples, for graphs that are made of them in several ways.

use std::sync::{Arc, Mutex, PoisonError};

use crate::evaluate::evaluate_sharing;
use crate::graph::{Dimensions, GraphKind, Projection};
use crate::neighbors::NeighborLists;
use crate::side::projected_inputs;
use crate::{Monitor, PairedSamples, Result, Samples, SearchMethod, Side, SpadeParams, SpadeReport};

/// One model that is scored in several ways, with no neighbours searched twice.
///
/// Lists of k neighbours are the beginning of longer ones. So a way needs a search only where none before it, on the same
/// side of the model, went as far; what a projection costs is shared in the same way.
///
/// ```
/// use spadework::{GraphKind, PairedSamples, Samples, SharedSearch, Silent, SpadeParams, evaluate};
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let inputs: Vec<f64> = (0..40).flat_map(|i| [angle(i).cos(), angle(i).sin()]).collect();
/// let outputs: Vec<f64> = (0..40).map(angle).collect();
/// let samples = PairedSamples::new(Samples::from_f64(40, 2, inputs)?, Samples::from_f64(40, 1, outputs)?)?;
/// let shared = SharedSearch::new(&samples);
/// for graph in [GraphKind::Knn, GraphKind::Mutual] {
///     let params = SpadeParams { neighbors: 4, graph, ..SpadeParams::default() };
///     let report = shared.evaluate(&params, &Silent)?;
///     assert_eq!(report.model_score.0, evaluate(&samples, &params, &Silent)?.model_score.0);
/// }
/// # Ok::<(), spadework::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedSearch<'a> {
    samples: &'a PairedSamples<'a>,
    findings: Findings,
}

impl<'a> SharedSearch<'a> {
    /// Nothing is searched yet.
    pub fn new(samples: &'a PairedSamples<'a>) -> Self {
        Self { samples, findings: Findings::default() }
    }

    /// As [`evaluate`](crate::evaluate), bit by bit where the search is exact. (The first lists of an approximate search
    /// for more neighbours are not always those of a search for fewer.)
    ///
    /// # Errors
    /// As [`evaluate`](crate::evaluate).
    pub fn evaluate(&self, params: &SpadeParams, monitor: &dyn Monitor) -> Result<SpadeReport> {
        evaluate_sharing(&self.samples.into(), params, Some(&self.findings), monitor)
    }
}

/// Lists and projections of the two sides of one model.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    lists: Mutex<Vec<(Searched, NeighborLists)>>,
    projections: Mutex<Vec<(Dimensions, Arc<Projection>)>>,
}

/// What lists depend on, k excepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Searched {
    pub(crate) side: Side,
    projected: Option<Dimensions>,
    method: SearchMethod,
    seed: u64,
}

impl Searched {
    pub(crate) fn of(side: Side, params: &SpadeParams) -> Self {
        let projected = match (side, params.graph) {
            (Side::Input, GraphKind::Pca(dimensions)) => Some(dimensions),
            _ => None,
        };
        Self { side, projected, method: params.search, seed: params.seed }
    }
}

impl Findings {
    /// The lists of k = `neighbors`, where they or longer ones are known.
    pub(crate) fn lists(&self, what: Searched, neighbors: usize) -> Option<NeighborLists> {
        let known = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, lists) = known.iter().find(|(other, _)| *other == what)?;
        (lists.neighbors() >= neighbors).then(|| lists.first(neighbors))
    }

    /// Keeps lists in place of shorter ones.
    pub(crate) fn keep_lists(&self, what: Searched, lists: &NeighborLists) {
        let mut known = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(other, _)| *other != what);
        known.push((what, lists.clone()));
    }

    fn projection(&self, dimensions: Dimensions) -> Option<Arc<Projection>> {
        let known = self.projections.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(other, _)| *other == dimensions).map(|(_, projection)| Arc::clone(projection))
    }

    fn keep_projection(&self, dimensions: Dimensions, projection: &Arc<Projection>) {
        let mut known = self.projections.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((dimensions, Arc::clone(projection)));
    }
}

/// The inputs projected as the kind of graph asks for, unless that is known already.
pub(crate) fn shared_projection(
    inputs: &Samples<'_>,
    kind: GraphKind,
    findings: Option<&Findings>,
    monitor: &dyn Monitor,
) -> Result<Option<Arc<Projection>>> {
    let (GraphKind::Pca(dimensions), Some(findings)) = (kind, findings) else {
        return Ok(projected_inputs(inputs, kind, monitor)?.map(Arc::new));
    };
    if let Some(known) = findings.projection(dimensions) {
        return Ok(Some(known));
    }
    let projection = projected_inputs(inputs, kind, monitor)?.map(Arc::new);
    if let Some(projection) = &projection {
        findings.keep_projection(dimensions, projection);
    }
    Ok(projection)
}
