//! The two sides of a model, each as samples or as a graph that was made elsewhere.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::graph::{ConnectedGraph, Graph, GraphPair};
use crate::samples::{PairedSamples, Samples, Side};

/// One side of a model.
#[derive(Debug, Clone)]
pub enum Manifold<'a> {
    /// Samples, of which a graph is made.
    Samples(Samples<'a>),
    /// A graph, used as it is; node i is sample i.
    Graph(Arc<Graph>),
}

impl<'a> Manifold<'a> {
    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "there are always samples")]
    pub fn len(&self) -> usize {
        match self {
            Manifold::Samples(samples) => samples.len(),
            Manifold::Graph(graph) => graph.nodes(),
        }
    }

    /// The samples, unless a graph was given instead.
    pub fn samples(&self) -> Option<&Samples<'a>> {
        match self {
            Manifold::Samples(samples) => Some(samples),
            Manifold::Graph(_) => None,
        }
    }

    /// The graph, if one was given.
    pub fn graph(&self) -> Option<&Graph> {
        match self {
            Manifold::Samples(_) => None,
            Manifold::Graph(graph) => Some(graph),
        }
    }

    /// The same side, borrowed: no number is copied.
    pub fn view(&self) -> Manifold<'_> {
        match self {
            Manifold::Samples(samples) => Manifold::Samples(samples.view()),
            Manifold::Graph(graph) => Manifold::Graph(Arc::clone(graph)),
        }
    }

    /// Whether there are samples enough, and not all the same.
    pub(super) fn check(&self, side: Side) -> Result<()> {
        let samples = self.len();
        if samples < 2 {
            return Err(Error::TooFewSamples { samples });
        }
        if self.samples().is_some_and(Samples::all_equal) {
            return Err(Error::AllEqual { side, samples });
        }
        Ok(())
    }
}

impl<'a> From<Samples<'a>> for Manifold<'a> {
    fn from(samples: Samples<'a>) -> Self {
        Manifold::Samples(samples)
    }
}

impl<'a> From<&'a Samples<'_>> for Manifold<'a> {
    fn from(samples: &'a Samples<'_>) -> Self {
        Manifold::Samples(samples.view())
    }
}

impl From<Graph> for Manifold<'_> {
    fn from(graph: Graph) -> Self {
        Manifold::Graph(Arc::new(graph))
    }
}

impl From<Arc<Graph>> for Manifold<'_> {
    fn from(graph: Arc<Graph>) -> Self {
        Manifold::Graph(graph)
    }
}

/// Both sides of a model over the same samples.
///
/// Invariants: at least two samples, the same number on both sides, not all rows of a side equal, and a given output graph is
/// connected. (A given input graph need not be: the problem is well posed in either case.)
#[derive(Debug, Clone)]
pub struct ManifoldPair<'a> {
    input: Manifold<'a>,
    output: OutputSide<'a>,
}

/// The outputs of a pair: a graph of them is connected.
#[derive(Debug, Clone)]
pub(super) enum OutputSide<'a> {
    Samples(Samples<'a>),
    Graph(ConnectedGraph),
}

impl<'a> ManifoldPair<'a> {
    /// Pairs the sides.
    ///
    /// # Errors
    /// When the numbers of samples differ, or all rows of a side are equal.
    pub fn new(input: impl Into<Manifold<'a>>, output: impl Into<Manifold<'a>>) -> Result<Self> {
        let (input, output) = (input.into(), output.into());
        if input.len() != output.len() {
            return Err(match (&input, &output) {
                (Manifold::Graph(_), Manifold::Graph(_)) => {
                    Error::GraphMismatch { input: input.len(), output: output.len() }
                }
                _ => Error::ShapeMismatch { input_rows: input.len(), output_rows: output.len() },
            });
        }
        input.check(Side::Input)?;
        output.check(Side::Output)?;
        let output = match output {
            Manifold::Samples(samples) => OutputSide::Samples(samples),
            Manifold::Graph(graph) => OutputSide::Graph(connected(&graph)?),
        };
        Ok(Self { input, output })
    }

    /// The model's inputs.
    pub fn input(&self) -> &Manifold<'a> {
        &self.input
    }

    /// The model's outputs.
    pub fn output(&self) -> Manifold<'_> {
        match &self.output {
            OutputSide::Samples(samples) => samples.into(),
            OutputSide::Graph(graph) => graph.shared().into(),
        }
    }

    pub(super) fn output_side(&self) -> &OutputSide<'a> {
        &self.output
    }

    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "there are always samples")]
    pub fn len(&self) -> usize {
        self.input.len()
    }
}

fn connected(graph: &Arc<Graph>) -> Result<ConnectedGraph> {
    ConnectedGraph::new(Arc::clone(graph)).map_err(|components| Error::GivenDisconnected {
        side: Side::Output,
        components: components.count(),
        largest: components.largest(),
        nodes: graph.nodes(),
    })
}

impl<'a> From<&'a ManifoldPair<'_>> for ManifoldPair<'a> {
    fn from(pair: &'a ManifoldPair<'_>) -> Self {
        let output = match &pair.output {
            OutputSide::Samples(samples) => OutputSide::Samples(samples.view()),
            OutputSide::Graph(graph) => OutputSide::Graph(graph.clone()),
        };
        Self { input: pair.input.view(), output }
    }
}

impl<'a> From<&'a PairedSamples<'_>> for ManifoldPair<'a> {
    fn from(samples: &'a PairedSamples<'_>) -> Self {
        Self { input: samples.input().into(), output: OutputSide::Samples(samples.output().view()) }
    }
}

impl From<GraphPair> for ManifoldPair<'_> {
    fn from(graphs: GraphPair) -> Self {
        let output = OutputSide::Graph(graphs.connected_output().clone());
        Self { input: graphs.shared_input().into(), output }
    }
}
