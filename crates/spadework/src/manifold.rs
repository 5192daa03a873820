//! The two sides of a model, each as samples or as a graph that was made elsewhere.

use crate::graph::{Components, Graph, GraphPair};
use crate::{Error, PairedSamples, Result, Samples, Side};

/// What is known of one side.
#[derive(Debug, Clone)]
pub enum Manifold<'a> {
    /// Samples, of which a graph is made.
    Samples(&'a Samples<'a>),
    /// A graph, taken as it is; node i is sample i.
    Graph(Graph),
}

impl Manifold<'_> {
    /// Number of samples.
    fn nodes(&self) -> usize {
        match self {
            Manifold::Samples(samples) => samples.len(),
            Manifold::Graph(graph) => graph.nodes(),
        }
    }
}

/// Both sides of a model over the same samples, for [`evaluate_manifolds`](crate::evaluate_manifolds).
///
/// Holding one proves: at least two samples, as many on both sides, not all rows of a side equal, and a given output graph in
/// one piece. (A given input graph may be in several: the problem is well posed all the same.)
#[derive(Debug, Clone)]
pub struct ManifoldPair<'a> {
    input: Manifold<'a>,
    output: Manifold<'a>,
}

impl<'a> ManifoldPair<'a> {
    /// Pairs the sides.
    ///
    /// # Errors
    /// When they differ in the number of samples, or one of them has no shape to compare.
    pub fn new(input: Manifold<'a>, output: Manifold<'a>) -> Result<Self> {
        let (input_nodes, output_nodes) = (input.nodes(), output.nodes());
        if input_nodes != output_nodes {
            return Err(match (&input, &output) {
                (Manifold::Graph(_), Manifold::Graph(_)) => {
                    Error::GraphMismatch { input: input_nodes, output: output_nodes }
                }
                _ => Error::ShapeMismatch { input_rows: input_nodes, output_rows: output_nodes },
            });
        }
        if input_nodes < 2 {
            return Err(Error::TooFewSamples { samples: input_nodes });
        }
        for (side, manifold) in [(Side::Input, &input), (Side::Output, &output)] {
            match manifold {
                Manifold::Samples(samples) if samples.all_equal() => {
                    return Err(Error::AllEqual { side, samples: samples.len() });
                }
                Manifold::Graph(graph) if side == Side::Output => check_connected(side, graph)?,
                _ => {}
            }
        }
        Ok(Self { input, output })
    }

    /// The model's inputs.
    pub fn input(&self) -> &Manifold<'a> {
        &self.input
    }

    /// The model's outputs.
    pub fn output(&self) -> &Manifold<'a> {
        &self.output
    }

    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "there are always samples")]
    pub fn len(&self) -> usize {
        self.input.nodes()
    }
}

fn check_connected(side: Side, graph: &Graph) -> Result<()> {
    let components = Components::of(graph);
    if components.count() == 1 {
        return Ok(());
    }
    let (largest, nodes) = (components.largest(), graph.nodes());
    Err(Error::GivenDisconnected { side, components: components.count(), largest, nodes })
}

impl<'a> From<&'a PairedSamples<'a>> for ManifoldPair<'a> {
    fn from(samples: &'a PairedSamples<'a>) -> Self {
        Self { input: Manifold::Samples(samples.input()), output: Manifold::Samples(samples.output()) }
    }
}

impl From<GraphPair> for ManifoldPair<'_> {
    fn from(graphs: GraphPair) -> Self {
        let (input, output) = graphs.into_graphs();
        Self { input: Manifold::Graph(input), output: Manifold::Graph(output.into_graph()) }
    }
}
