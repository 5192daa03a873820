//! Neighbor lists and projections of one model, shared by graphs that are made in several ways.

use std::sync::{Arc, Mutex, PoisonError};

use super::params::SpadeParams;
use crate::graph::{Dimensions, GraphKind, Projection};
use crate::neighbors::{NeighborLists, SearchMethod};
use crate::samples::{Geometry, Side};

/// Lists and projections of the two sides of one model.
#[derive(Debug, Default)]
pub(super) struct SearchCache {
    lists: Mutex<Vec<(Searched, NeighborLists)>>,
    projections: Mutex<Vec<(Projected, Arc<Projection>)>>,
}

/// What projections depend on.
pub(super) type Projected = (Geometry, Dimensions);

/// What lists depend on, except for k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Searched {
    side: Side,
    geometry: Geometry,
    projected: Option<Dimensions>,
    /// Where the inputs decide between equally near outputs: what their distances depend on.
    inputs: Option<(Geometry, Option<Dimensions>)>,
    method: SearchMethod,
    seed: u64,
}

impl Searched {
    /// The lists of one side; `inputs_decide` between equally near outputs.
    pub(super) fn of(side: Side, inputs_decide: bool, params: &SpadeParams) -> Self {
        let of_inputs = match params.graph {
            GraphKind::Pca(dimensions) => Some(dimensions),
            _ => None,
        };
        Self {
            side,
            geometry: params.geometry(side),
            projected: of_inputs.filter(|_| side == Side::Input),
            inputs: inputs_decide.then(|| (params.geometry(Side::Input), of_inputs)),
            method: params.search,
            seed: params.seed,
        }
    }
}

impl SearchCache {
    /// The lists of k = `neighbors`, where they or longer ones are known.
    pub(super) fn lists(&self, what: Searched, neighbors: usize) -> Option<NeighborLists> {
        let known = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, lists) = known.iter().find(|(other, _)| *other == what)?;
        (lists.neighbors() >= neighbors).then(|| lists.first(neighbors))
    }

    /// Keeps lists instead of shorter ones.
    pub(super) fn keep_lists(&self, what: Searched, lists: &NeighborLists) {
        let mut known = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(other, _)| *other != what);
        known.push((what, lists.clone()));
    }

    /// A projection, where it is known.
    pub(super) fn projection(&self, what: Projected) -> Option<Arc<Projection>> {
        let known = self.projections.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(other, _)| *other == what).map(|(_, projection)| Arc::clone(projection))
    }

    /// Keeps a projection.
    pub(super) fn keep_projection(&self, what: Projected, projection: &Arc<Projection>) {
        let mut known = self.projections.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((what, Arc::clone(projection)));
    }
}
