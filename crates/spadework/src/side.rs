//! One side of a model while its graph is made: projected, searched, connected together with the others, weighed and
//! thinned out. What [`evaluate`](crate::evaluate), [`compare`](crate::compare), [`sweep`](crate::sweep) and
//! [`intervals`](crate::intervals) have in common.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::findings::{Findings, Searched};
use crate::graph::{
    Components, ConnectedGraph, ConnectedSide, ConnectedSides, Graph, GraphKind, Mended, Neighborhood,
    Projection, connect_sides, project, sparsify,
};
use crate::neighbors::{NeighborLists, NeighborSearch, Recall, search_by};
use crate::report::Construction;
use crate::{Inputs, ModelSet, Monitor, Result, Samples, Side, SpadeParams, Stage};

/// A neighbour search that knows its stage and how long it took.
pub(crate) struct Search<'a> {
    samples: &'a Samples<'a>,
    what: Searched,
    method: Box<dyn NeighborSearch>,
    /// Where lists are looked up before they are searched, and kept.
    findings: Option<&'a Findings>,
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
        let what = Searched::of(side, params);
        let method = search_by(params.search, params.seed);
        Self { samples, what, method, findings: None, monitor, took: Cell::default() }
    }

    /// The same search, unless its lists are known already.
    pub(crate) fn sharing(self, findings: Option<&'a Findings>) -> Self {
        Self { findings, ..self }
    }

    pub(crate) fn run(&self, neighbors: usize) -> Result<NeighborLists> {
        if let Some(known) = self.findings.and_then(|findings| findings.lists(self.what, neighbors)) {
            return Ok(known);
        }
        self.monitor.begin(match self.what.side {
            Side::Input => Stage::NeighborsInput,
            Side::Output => Stage::NeighborsOutput,
        });
        let began = Instant::now();
        let lists = self.method.search(self.samples, neighbors, self.monitor);
        self.took.set(self.took.get() + began.elapsed());
        if let (Some(findings), Ok(lists)) = (self.findings, &lists) {
            findings.keep_lists(self.what, lists);
        }
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

impl MadeGraph {
    /// A graph that was given.
    ///
    /// # Panics
    /// When it is in several pieces.
    pub(crate) fn given(graph: &Graph) -> Self {
        Self {
            graph: ConnectedGraph::new(graph.clone()).expect("checked when it was paired"),
            mended: Mended { components_found: 1, bridges: 0 },
            made: Construction { given: true, ..Construction::default() },
            recall: Recall::Exact,
        }
    }

    /// The same as the graph of inputs, which may have been projected.
    pub(crate) fn into_input(self, projection: Option<&Projection>) -> MadeInput {
        let made = projection.map_or(self.made, |projection| self.made.of_projection(projection));
        MadeInput { graph: self.graph.into_graph(), mended: self.mended, made, recall: self.recall }
    }
}

/// The input graph, made or given; one that is given may be in several pieces.
pub(crate) struct MadeInput {
    pub(crate) graph: Graph,
    pub(crate) mended: Mended,
    pub(crate) made: Construction,
    pub(crate) recall: Recall,
}

impl MadeInput {
    /// A graph that was given.
    pub(crate) fn given(graph: &Graph) -> Self {
        Self {
            graph: graph.clone(),
            mended: Mended { components_found: Components::of(graph).count(), bridges: 0 },
            made: Construction { given: true, ..Construction::default() },
            recall: Recall::Exact,
        }
    }
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

/// All sides of some models, searched and ready to be connected; a given input graph is none of them.
pub(crate) struct ModelSides<'a> {
    models: &'a ModelSet<'a>,
    projection: Option<&'a Projection>,
    searches: &'a [Search<'a>],
    /// The inputs, unless a graph is given, and the outputs of every model.
    sides: Vec<Neighborhood<'a>>,
}

/// Searches all sides of some models for k = `params.neighbors` and does some work with them. (What is searched is
/// borrowed by the search, and that by the side, so that only a scope can hold the three.)
pub(crate) fn with_sides<T>(
    models: &ModelSet<'_>,
    params: &SpadeParams,
    monitor: &dyn Monitor,
    work: impl FnOnce(&mut ModelSides<'_>) -> Result<T>,
) -> Result<T> {
    let projection = match models.inputs() {
        Inputs::Samples(samples) => projected_inputs(samples, params.graph, monitor)?,
        Inputs::Graph(_) => None,
    };
    let projection = projection.as_ref();
    let inputs = projection.map(Projection::samples).or(models.inputs().samples());
    let input = inputs.map(|samples| Search::new(samples, Side::Input, params, monitor));
    let outputs =
        models.models().iter().map(|model| Search::new(&model.outputs, Side::Output, params, monitor));
    let searches: Vec<Search<'_>> = input.into_iter().chain(outputs).collect();

    let owners = inputs.map(|_| None).into_iter().chain(models.models().iter().map(Some));
    let sides = owners.zip(&searches).map(|(owner, search)| match owner {
        None => search.begin(Side::Input, params),
        Some(model) => Ok(search.begin(Side::Output, params)?.of_model(&model.name)),
    });
    let sides = sides.collect::<Result<_>>()?;
    work(&mut ModelSides { models, projection, searches: &searches, sides })
}

/// The finished graphs of some models, all of the same k.
pub(crate) struct MadeModels {
    /// k'.
    pub(crate) used: usize,
    pub(crate) input: MadeInput,
    /// One a model.
    pub(crate) outputs: Vec<MadeGraph>,
}

impl ModelSides<'_> {
    /// Makes the graphs of k = `neighbors`; `grow` takes one k' for all sides that are made of samples.
    pub(crate) fn make(
        &mut self,
        neighbors: usize,
        params: &SpadeParams,
        monitor: &dyn Monitor,
    ) -> Result<MadeModels> {
        let MadeGraphs { used, sides } = make_graphs(&mut self.sides, neighbors, params, monitor)?;
        let mut made = sides.into_iter();
        let input = match self.models.inputs() {
            Inputs::Graph(graph) => MadeInput::given(graph),
            Inputs::Samples(_) => {
                made.next().expect("the first side is the input").into_input(self.projection)
            }
        };
        Ok(MadeModels { used, input, outputs: made.collect() })
    }

    /// What the search among the inputs has to tell; nothing where a graph is given.
    pub(crate) fn input(&self) -> Told {
        self.sides[..self.first_output()].first().map_or_else(Told::default, |side| self.told(0, side))
    }

    /// What the searches among the outputs have to tell, one a model.
    pub(crate) fn outputs(&self) -> Vec<Told> {
        let first = self.first_output();
        self.sides[first..].iter().enumerate().map(|(at, side)| self.told(first + at, side)).collect()
    }

    /// Time of all searches.
    pub(crate) fn searching(&self) -> Duration {
        self.searches.iter().map(Search::took).sum()
    }

    fn first_output(&self) -> usize {
        self.sides.len() - self.models.models().len()
    }

    fn told(&self, at: usize, side: &Neighborhood<'_>) -> Told {
        Told {
            decided_by_index: side.lists().samples_decided_by_index(),
            recall: side.lists().recall(),
            took: self.searches[at].took(),
        }
    }
}

/// What a search has to tell beside its lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// Samples whose neighbours are decided by index.
    pub(crate) decided_by_index: usize,
    pub(crate) recall: Recall,
    /// Time of the search, of those that `grow` repeats too.
    pub(crate) took: Duration,
}

impl Default for Told {
    fn default() -> Self {
        Self { decided_by_index: 0, recall: Recall::Exact, took: Duration::ZERO }
    }
}
