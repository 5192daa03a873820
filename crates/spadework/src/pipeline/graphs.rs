//! The one place where the graphs of models are made: inputs projected, neighbors searched, all sides connected together, edges
//! weighed and thinned out.
//!
//! [`ModelSides`] are the inputs and the outputs of one or more models, after the search for neighbors. [`ModelSides::make`] makes
//! their graphs for a k. A side that is given as a graph is used as it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::manifold::{Manifold, ManifoldPair, OutputSide};
use super::models::ModelSet;
use super::params::SpadeParams;
use super::report::{Construction, Diagnostics, ModelGraphs, Timings};
use super::search_cache::{SearchCache, Searched};
use super::sparsify::sparsify;
use crate::checkpoint::{Identity, Resumable, Work};
use crate::error::Result;
use crate::graph::{
    Components, ConnectedGraph, ConnectedSide, ConnectedSides, Connection, Graph, GraphKind, GraphPair,
    SearchFn, SearchedSide, SideConnection, SideSamples, connect_sides, project,
};
use crate::memory::check_room;
use crate::monitor::{Monitor, Stage};
use crate::neighbors::{
    EqualRows, NeighborLists, Recall, TiedSearch, Ties, search_by, squared_distance_between,
};
use crate::samples::{Samples, Side};

/// Searches the neighbors of the inputs for k = `params.neighbors`.
pub(super) fn searched_inputs<'a>(
    samples: SideSamples<'a>,
    params: &SpadeParams,
    cache: Option<&'a SearchCache>,
    monitor: &'a dyn Monitor,
) -> Result<SearchedSide<'a>> {
    let search = search_fn(Side::Input, None, params, cache, monitor);
    SearchedSide::search(Side::Input, samples, params.graph, params.neighbors, search)
}

/// Outputs with their neighbors.
pub(super) struct SearchedOutputs<'a> {
    facts: SearchedFacts,
    pub(super) side: SearchedSide<'a>,
}

impl<'a> SearchedOutputs<'a> {
    /// Searches the neighbors of outputs for k = `params.neighbors`. Between equally near ones the inputs decide where that is asked for
    /// and some outputs are equal; a graph of inputs (`None`) has no distances that could.
    pub(super) fn search(
        dim: usize,
        outputs: SideSamples<'a>,
        inputs: Option<&SideSamples<'a>>,
        params: &SpadeParams,
        cache: Option<&'a SearchCache>,
        monitor: &'a dyn Monitor,
    ) -> Result<Self> {
        let equal = EqualRows::of(outputs.samples());
        let deciding = inputs.filter(|_| params.ties == Ties::Inputs && equal.is_some()).cloned();
        let ties = equal.as_ref().map(|_| if deciding.is_some() { Ties::Inputs } else { Ties::Index });
        let tied = equal.zip(deciding.clone()).map(|(equal, inputs)| TiedOutputs { equal, inputs });
        let search = search_fn(Side::Output, tied, params, cache, monitor);
        let side = SearchedSide::search(Side::Output, outputs, params.graph, params.neighbors, search)?;
        Ok(Self { facts: SearchedFacts { ties, ..SearchedFacts::of(dim, &side, deciding.as_ref()) }, side })
    }

    /// Whether the inputs decided between equally near outputs.
    pub(super) fn inputs_decided(&self) -> bool {
        self.facts.ties == Some(Ties::Inputs)
    }

    /// The same as those of one model among several.
    fn of_model(self, model: &'a str) -> Self {
        Self { side: self.side.of_model(model), ..self }
    }
}

/// Outputs of which some are equal, and the inputs that decide between those that are equally near.
pub(super) struct TiedOutputs<'a> {
    equal: EqualRows,
    inputs: SideSamples<'a>,
}

/// Both sides of a model, where the lists of one depend on both.
struct BothSides<'s>(&'s Samples<'s>, &'s Samples<'s>);

impl Identity for BothSides<'_> {
    fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        self.0.feed(take);
        self.1.feed(take);
    }
}

/// How neighbors of one side are searched, unless the cache has them.
pub(super) fn search_fn<'a>(
    side: Side,
    tied: Option<TiedOutputs<'a>>,
    params: &SpadeParams,
    cache: Option<&'a SearchCache>,
    monitor: &'a dyn Monitor,
) -> SearchFn<'a> {
    let what = Searched::of(side, tied.is_some(), params);
    let (named, seed) = (params.search, params.seed);
    let method = search_by(named, seed);
    Box::new(move |samples, neighbors| {
        if let Some(known) = cache.and_then(|cache| cache.lists(what, neighbors)) {
            // Shorter than those that were found, so they may end elsewhere.
            known.check_resolved(side, samples)?;
            return Ok(known);
        }
        monitor.begin(match side {
            Side::Input => Stage::NeighborsInput,
            Side::Output => Stage::NeighborsOutput,
        });
        // Indices and distances, as they are found and as they are kept; of equal outputs also as rows, which may grow to twice their size,
        // and in lists that are several times as long.
        let numbers = if tied.is_some() { 14 } else { 4 };
        check_room("neighbor lists", samples.len().saturating_mul(neighbors).saturating_mul(numbers))?;
        // The searches keep their own parts; here lists that are whole are kept until the graphs are.
        let both = tied.as_ref().map(|tied| BothSides(samples, tied.inputs.samples()));
        let data: &dyn Identity = both.as_ref().map_or(samples, |both| both);
        let work = Work::new("neighbors", data, format!("{named}, seed {seed}, k = {neighbors}"));
        let whole = Resumable::new(work, monitor.checkpoints());
        let known =
            whole.stored().and_then(|state| NeighborLists::of_state(&state, samples.len(), neighbors));
        let lists = match known {
            Some(lists) => lists,
            None => match &tied {
                None => method.search(samples, neighbors, monitor)?,
                Some(TiedOutputs { equal, inputs }) => {
                    let (search, inputs) = (&*method, inputs.samples());
                    TiedSearch { outputs: samples, equal, inputs, search, neighbors, monitor }.lists()?
                }
            },
        };
        lists.check_resolved(side, samples)?;
        whole.keep_result(|| lists.to_state());
        if let Some(cache) = cache {
            cache.keep_lists(what, &lists);
        }
        Ok(lists)
    })
}

/// Samples in the place where their distances are those asked for.
pub(super) fn placed<'a>(
    side: Side,
    samples: &'a Samples<'_>,
    params: &SpadeParams,
) -> Result<SideSamples<'a>> {
    Ok(SideSamples::Given(Arc::new(params.geometry(side).place(side, samples.view())?)))
}

/// The inputs in place, and in the coordinates of their principal components where the kind of graph asks for it. Outputs are
/// never projected: a model has few of them, and they are what is to be judged.
pub(super) fn placed_inputs<'a>(
    inputs: &'a Samples<'_>,
    params: &SpadeParams,
    cache: Option<&SearchCache>,
    monitor: &dyn Monitor,
) -> Result<SideSamples<'a>> {
    let GraphKind::Pca(dimensions) = params.graph else { return placed(Side::Input, inputs, params) };
    let what = (params.geometry(Side::Input), dimensions);
    if let Some(known) = cache.and_then(|cache| cache.projection(what)) {
        return Ok(SideSamples::Projected(known));
    }
    monitor.begin(Stage::Graphs);
    let inputs = placed(Side::Input, inputs, params)?;
    let projection = Arc::new(project(inputs.samples(), dimensions, monitor)?);
    if let Some(cache) = cache {
        cache.keep_projection(what, &projection);
    }
    Ok(SideSamples::Projected(projection))
}

/// The inputs and the outputs of some models, searched and ready to be connected.
pub(super) struct ModelSides<'a> {
    input: Source<Arc<Graph>>,
    /// One per model.
    outputs: Vec<Source<ConnectedGraph>>,
    /// The sides that are given as samples, the inputs first.
    searched: Vec<SearchedSide<'a>>,
    projecting: Duration,
}

/// Where the graph of a side comes from.
enum Source<G> {
    /// It is made of the next of the searched sides.
    Samples(SearchedFacts),
    /// It is given.
    Graph(G),
}

/// What is known of a side once it is searched for the requested k.
#[derive(Debug, Clone, Copy, Default)]
struct SearchedFacts {
    /// Numbers per sample, before any projection.
    dim: usize,
    /// Samples whose neighbors are decided by index.
    decided_by_index: usize,
    /// Those whose neighbors are decided by distance at the input.
    decided_by_inputs: usize,
    /// What decides between equally near ones.
    ties: Option<Ties>,
}

impl SearchedFacts {
    /// `deciding` are the inputs where they decide between copies.
    fn of(dim: usize, side: &SearchedSide<'_>, deciding: Option<&SideSamples<'_>>) -> Self {
        let lists = side.lists();
        let is_open = |&p: &usize| match deciding {
            None => true,
            // The farthest of its neighbors at the input is an exact copy there too.
            Some(inputs) => {
                let farthest = lists.of(p)[lists.neighbors() - 1];
                squared_distance_between(inputs.samples(), p, farthest as usize) == 0.0
            }
        };
        let (by_index, by_inputs): (Vec<usize>, Vec<usize>) = lists.samples_among_copies().partition(is_open);
        Self { dim, decided_by_index: by_index.len(), decided_by_inputs: by_inputs.len(), ties: None }
    }
}

impl<'a> ModelSides<'a> {
    /// Searches both sides of one model for k = `params.neighbors`.
    pub(super) fn of_pair(
        pair: &'a ManifoldPair<'a>,
        params: &SpadeParams,
        cache: Option<&'a SearchCache>,
        monitor: &'a dyn Monitor,
    ) -> Result<Self> {
        let mut sides = Self::of_inputs(pair.input(), params, cache, monitor)?;
        match pair.output_side() {
            OutputSide::Samples(outputs) => {
                let placed = placed(Side::Output, outputs, params)?;
                let inputs = sides.input_samples();
                sides.add(SearchedOutputs::search(outputs.dim(), placed, inputs, params, cache, monitor)?);
            }
            OutputSide::Graph(graph) => sides.outputs.push(Source::Graph(graph.clone())),
        }
        Ok(sides)
    }

    /// Searches the inputs and the outputs of some models for k = `params.neighbors`.
    pub(super) fn of_models(
        models: &'a ModelSet<'a>,
        params: &SpadeParams,
        monitor: &'a dyn Monitor,
    ) -> Result<Self> {
        let mut sides = Self::of_inputs(models.inputs(), params, None, monitor)?;
        for model in models.models() {
            let outputs =
                placed(Side::Output, &model.outputs, params).map_err(|error| error.in_model(&model.name))?;
            let (dim, inputs) = (model.outputs.dim(), sides.input_samples());
            let searched = SearchedOutputs::search(dim, outputs, inputs, params, None, monitor)?;
            sides.add(searched.of_model(&model.name));
        }
        Ok(sides)
    }

    /// Inputs that are searched already, and the outputs that belong to them.
    pub(super) fn of_searched(inputs: KnownInputs<'a>, outputs: SearchedOutputs<'a>) -> Self {
        let KnownInputs { dim, decided_by_index, side } = inputs;
        let facts = SearchedFacts { dim, decided_by_index, decided_by_inputs: 0, ties: None };
        let input = Source::Samples(facts);
        let mut sides = Self { input, outputs: Vec::new(), searched: vec![side], projecting: Duration::ZERO };
        sides.add(outputs);
        sides
    }

    fn of_inputs(
        inputs: &'a Manifold<'a>,
        params: &SpadeParams,
        cache: Option<&'a SearchCache>,
        monitor: &'a dyn Monitor,
    ) -> Result<Self> {
        let began = Instant::now();
        let samples = match inputs {
            Manifold::Graph(graph) => {
                let input = Source::Graph(Arc::clone(graph));
                let (outputs, searched) = (Vec::new(), Vec::new());
                return Ok(Self { input, outputs, searched, projecting: Duration::ZERO });
            }
            Manifold::Samples(samples) => samples,
        };
        let side = placed_inputs(samples, params, cache, monitor)?;
        let projecting = began.elapsed();
        let side = searched_inputs(side, params, cache, monitor)?;
        let input = Source::Samples(SearchedFacts::of(samples.dim(), &side, None));
        Ok(Self { input, outputs: Vec::new(), searched: vec![side], projecting })
    }

    fn add(&mut self, outputs: SearchedOutputs<'a>) {
        self.outputs.push(Source::Samples(outputs.facts));
        self.searched.push(outputs.side);
    }

    /// The inputs as they are searched, where they are samples.
    fn input_samples(&self) -> Option<&SideSamples<'a>> {
        match self.input {
            Source::Samples(_) => self.searched.first().map(SearchedSide::samples),
            Source::Graph(_) => None,
        }
    }

    /// Makes the graphs of k = `neighbors`; `grow` takes one k' for all sides that are made of samples.
    pub(super) fn make(
        &mut self,
        neighbors: usize,
        params: &SpadeParams,
        monitor: &dyn Monitor,
    ) -> Result<MadeGraphs> {
        let (began, searched_before) = (Instant::now(), self.searching());
        let ConnectedSides { used, sides } =
            connect_sides(&mut self.searched, neighbors, params.connectivity, monitor)?;
        let mut finished = Vec::with_capacity(sides.len());
        for (connected, side) in sides.into_iter().zip(&self.searched) {
            finished.push(finish(connected, side, used, params, monitor)?);
        }
        let mut finished = finished.into_iter();
        let mut next = |facts: &SearchedFacts| {
            let (graph, mut made) = finished.next().expect("one graph per searched side");
            made.facts = *facts;
            (graph, made)
        };
        let input = match &self.input {
            Source::Samples(facts) => {
                let (graph, made) = next(facts);
                (graph.shared(), made)
            }
            Source::Graph(graph) => (Arc::clone(graph), MadeSide::given(graph)),
        };
        let outputs = self.outputs.iter().map(|source| match source {
            Source::Samples(facts) => next(facts),
            Source::Graph(graph) => (graph.clone(), MadeSide::given(graph.graph())),
        });
        let outputs = outputs.collect();
        // Where every graph is given, k does not matter.
        let [requested, used] = if self.searched.is_empty() { [0, 0] } else { [neighbors, used] };
        // Searches that `grow` repeats count as searches.
        let making = (began.elapsed() + searched_before).saturating_sub(self.searching());
        Ok(MadeGraphs { requested, used, input, outputs, making })
    }

    /// Time of the projection of the inputs.
    pub(super) fn projecting(&self) -> Duration {
        self.projecting
    }

    /// Time of all searches.
    pub(super) fn searching(&self) -> Duration {
        self.searched.iter().map(SearchedSide::searching).sum()
    }

    /// How many of the true neighbors the searches found, in the order of the sides that are samples.
    pub(super) fn recalls(&self) -> impl Iterator<Item = Recall> {
        self.searched.iter().map(|side| side.lists().recall())
    }

    /// The inputs as they are searched by now, where they are samples.
    pub(super) fn into_inputs(self) -> Option<SearchedSide<'a>> {
        match self.input {
            Source::Samples(_) => self.searched.into_iter().next(),
            Source::Graph(_) => None,
        }
    }
}

/// Inputs that several makings of graphs share.
pub(super) struct KnownInputs<'a> {
    /// Numbers per sample, before any projection.
    pub(super) dim: usize,
    /// Samples whose neighbors are decided by index, with the requested k.
    pub(super) decided_by_index: usize,
    pub(super) side: SearchedSide<'a>,
}

/// Weighs a connected graph and thins it out.
fn finish(
    connected: ConnectedSide,
    side: &SearchedSide<'_>,
    used: usize,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<(ConnectedGraph, MadeSide)> {
    let ConnectedSide { graph, connection } = connected;
    let (graph, weights_raised) = side.weigh(graph, used, params.weights);
    let mut construction = Construction { weights_raised, ..Construction::default() };
    if let Some(projection) = side.samples().projection() {
        construction.dimensions = Some(projection.dimensions());
        construction.explained = Some(projection.explained());
    }
    let mut made = MadeSide {
        facts: SearchedFacts::default(),
        connection,
        construction,
        recall: side.lists().recall(),
        searching: side.searching(),
    };
    let GraphKind::Sparse(target) = params.graph else { return Ok((graph, made)) };
    monitor.begin(Stage::Graphs);
    let (sparse, info) =
        sparsify(&graph, target, params.seed, monitor).map_err(|error| side.in_model(error))?;
    made.construction.sparsifier = Some(info);
    Ok((sparse, made))
}

/// The finished graphs of some models, all of the same k.
pub(super) struct MadeGraphs {
    /// k; 0 if every graph is given.
    requested: usize,
    /// k'.
    used: usize,
    input: (Arc<Graph>, MadeSide),
    /// One per model.
    outputs: Vec<(ConnectedGraph, MadeSide)>,
    making: Duration,
}

/// What it took to make the graph of one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct MadeSide {
    /// None where the graph is given.
    facts: SearchedFacts,
    pub(super) connection: SideConnection,
    construction: Construction,
    recall: Recall,
    /// Time of the searches, including those that `grow` repeats.
    searching: Duration,
}

impl MadeSide {
    fn given(graph: &Graph) -> Self {
        Self {
            facts: SearchedFacts::default(),
            connection: SideConnection::new(Components::of(graph).count(), 0),
            construction: Construction { given: true, ..Construction::default() },
            recall: Recall::Exact,
            searching: Duration::ZERO,
        }
    }
}

impl MadeGraphs {
    /// The graphs of one model with what it took to make them. Its times are those of its outputs: what the models share is for
    /// the caller to add.
    pub(super) fn of_model(&self, model: usize, params: &SpadeParams) -> Result<ModelGraphs> {
        let (input_graph, input) = &self.input;
        let (output_graph, output) = &self.outputs[model];
        let graphs = GraphPair::new(Arc::clone(input_graph), output_graph.clone())?;
        let diagnostics = Diagnostics {
            params: params.clone(),
            input_dim: input.facts.dim,
            output_dim: output.facts.dim,
            input_graph: input.construction,
            output_graph: output.construction,
            connection: Connection {
                policy: params.connectivity,
                requested: self.requested,
                used: self.used,
                input: input.connection,
                output: output.connection,
            },
            inputs_decided_by_index: input.facts.decided_by_index,
            outputs_decided_by_index: output.facts.decided_by_index,
            outputs_decided_by_inputs: output.facts.decided_by_inputs,
            ties: output.facts.ties,
            input_recall: input.recall,
            output_recall: output.recall,
            timings: Timings { neighbors_output: output.searching, ..Timings::default() },
        };
        Ok(ModelGraphs { graphs, diagnostics })
    }

    /// k'.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// What the input graph needed.
    pub(super) fn input(&self) -> &MadeSide {
        &self.input.1
    }

    /// What the output graph of each model needed.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &MadeSide> {
        self.outputs.iter().map(|(_, made)| made)
    }

    /// Time of the searches among the inputs.
    pub(super) fn input_searching(&self) -> Duration {
        self.input.1.searching
    }

    /// Time of connecting, weighing and thinning out.
    pub(super) fn making(&self) -> Duration {
        self.making
    }
}
