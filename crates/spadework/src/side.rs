//! One side of a model while its graph is made: projected, searched, connected together with the others, weighed and
//! thinned out. What [`evaluate`](crate::evaluate), [`compare`](crate::compare), [`sweep`](crate::sweep) and
//! [`intervals`](crate::intervals) have in common.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::graph::{
    ConnectedGraph, ConnectedSide, ConnectedSides, GraphKind, Mended, Neighborhood, Projection,
    connect_sides, project, sparsify,
};
use crate::neighbors::{NeighborLists, NeighborSearch, Recall, search_by};
use crate::report::Construction;
use crate::{Monitor, Result, Samples, Side, SpadeParams, Stage};

/// A neighbour search that knows its stage and how long it took.
pub(crate) struct Search<'a> {
    samples: &'a Samples<'a>,
    stage: Stage,
    method: Box<dyn NeighborSearch>,
    monitor: &'a dyn Monitor,
    took: Cell<Duration>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        samples: &'a Samples<'a>,
        side: Side,
        params: &SpadeParams,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let stage = match side {
            Side::Input => Stage::NeighborsInput,
            Side::Output => Stage::NeighborsOutput,
        };
        let method = search_by(params.search, params.seed);
        Self { samples, stage, method, monitor, took: Cell::default() }
    }

    pub(crate) fn run(&self, neighbors: usize) -> Result<NeighborLists> {
        self.monitor.begin(self.stage);
        let began = Instant::now();
        let lists = self.method.search(self.samples, neighbors, self.monitor);
        self.took.set(self.took.get() + began.elapsed());
        lists
    }

    /// Searches for k = `params.neighbors`; the side can search again where its graph needs longer lists.
    pub(crate) fn begin(&'a self, side: Side, params: &SpadeParams) -> Result<Neighborhood<'a>> {
        let lists = self.run(params.neighbors)?;
        Ok(Neighborhood::new(side, self.samples, lists, |k| self.run(k)).with_kind(params.graph))
    }

    /// Time of all its runs.
    pub(crate) fn took(&self) -> Duration {
        self.took.get()
    }
}

/// The inputs in the coordinates of their principal components, where the kind of graph asks for it. Outputs are left as
/// they are: a model has few of them, and they are what is to be judged.
pub(crate) fn projected_inputs(
    inputs: &Samples<'_>,
    kind: GraphKind,
    monitor: &dyn Monitor,
) -> Result<Option<Projection>> {
    let GraphKind::Pca(dimensions) = kind else { return Ok(None) };
    monitor.begin(Stage::Graphs);
    project(inputs, dimensions, monitor).map(Some)
}

/// The finished graphs of some sides, in their order and all of the same k.
pub(crate) struct MadeGraphs {
    /// k'.
    pub(crate) used: usize,
    pub(crate) sides: Vec<MadeGraph>,
}

/// The finished graph of one side, and what it took.
pub(crate) struct MadeGraph {
    pub(crate) graph: ConnectedGraph,
    pub(crate) mended: Mended,
    pub(crate) made: Construction,
    pub(crate) recall: Recall,
}

/// Connects the graphs of k = `neighbors` as the policy says, weighs them and thins them out.
pub(crate) fn make_graphs(
    sides: &mut [Neighborhood<'_>],
    neighbors: usize,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<MadeGraphs> {
    let ConnectedSides { used, sides: connected } =
        connect_sides(sides, neighbors, params.connectivity, monitor)?;
    let mut finished = Vec::with_capacity(connected.len());
    for (ConnectedSide { graph, mended }, side) in connected.into_iter().zip(&*sides) {
        let mut made = Construction::default();
        let graph = finish(graph, side, used, params, monitor, &mut made)?;
        finished.push(MadeGraph { graph, mended, made, recall: side.lists().recall() });
    }
    Ok(MadeGraphs { used, sides: finished })
}

fn finish(
    graph: ConnectedGraph,
    side: &Neighborhood<'_>,
    used: usize,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    made: &mut Construction,
) -> Result<ConnectedGraph> {
    let (graph, raised) = side.weigh(graph, used, params.weights);
    made.weights_raised = raised;
    let GraphKind::Sparse(target) = params.graph else { return Ok(graph) };
    monitor.begin(Stage::Graphs);
    let (sparse, info) =
        sparsify(&graph, target, params.seed, monitor).map_err(|error| side.in_model(error))?;
    made.sparsifier = Some(info);
    Ok(sparse)
}
