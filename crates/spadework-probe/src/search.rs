//! Probes that learn from each other: a search in the box of L∞ or in the ball of L2, without gradients.

use spadework::random::{Purpose, stream};

use crate::ball_search::{Ball, BallSearch};
use crate::batch::{Batch, ProbedSample};
use crate::black_box::{BlackBox, RunRows};
use crate::block_tree::BlockTree;
use crate::copies::Copies;
use crate::corner_search::CornerSearch;
use crate::descent::{Effort, descend};
use crate::directions::Directions;
use crate::error::Error;
use crate::grid::NestedBlocks;

/// What the searches of all samples share.
pub(crate) enum Search {
    /// In the box of L∞.
    Corners,
    /// In the ball of L2.
    Ball {
        /// The blocks that copies move along.
        tree: BlockTree,
        /// Where copies go first.
        directions: Directions,
    },
}

impl Search {
    /// Searches a batch.
    pub(crate) fn run<E: From<Error>, M: RunRows<E>>(
        &self,
        batch: &Batch,
        copies: &Copies,
        effort: Effort,
        model: &mut BlackBox<'_, M>,
    ) -> Result<Vec<ProbedSample>, E> {
        match self {
            Search::Corners => {
                let mut rng = stream(copies.seed, Purpose::ProbeOrder);
                // The first copy turns nothing round.
                let turns = std::iter::once(None).chain(NestedBlocks::new(copies.grid, &mut rng).map(Some));
                descend(batch, CornerSearch::all(batch, copies), turns, effort, model)
            }
            Search::Ball { tree, directions } => {
                let ball = Ball { tree, radius: copies.probe.radius(), range: copies.range };
                let searches = BallSearch::all(batch, &ball, directions);
                descend(batch, searches, std::iter::repeat(()), effort, model)
            }
        }
    }
}
