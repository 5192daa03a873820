//! Cut mapping distortion (the paper's Definition 5): which boundary of the data is crossed by the fewest output edges, relative to
//! its input edges.
//!
//! ζ(S) = cut_Y(S)/cut_X(S), the weight of the edges that leave S at the output, divided by the same at the input. A small ζ
//! says that many pairs across the boundary of S are neighbors at the input and few are at the output: there the model pulls
//! the data apart. Theorem 2: ζ(S) ≥ 1/λ_1 for every S.
//!
//! Finding the smallest ζ is a hard problem; sweep cuts of the dominant eigenvectors are the usual relaxation (Fiedler 1973;
//! Spielman and Teng 1996). v_1 minimizes vᵀL_Yv/vᵀL_Xv over all vectors, and a set S is a vector of two values. So the
//! samples are sorted by an eigenvector, and every prefix of that order is tried. O(m + n log n) per eigenvector.

use crate::eigen::GeneralizedEigenpairs;
use crate::error::{Error, Result};
use crate::graph::{Graph, GraphPair};
use crate::monitor::{Monitor, check_cancelled};

/// A set of samples and its boundary in both graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    samples: Vec<u32>,
    input: f64,
    output: f64,
}

impl Cut {
    /// The boundary of a set of samples.
    ///
    /// # Errors
    /// [`Error::BadNode`] when a sample does not exist.
    pub fn of(graphs: &GraphPair, samples: &[u32]) -> Result<Self> {
        let nodes = graphs.nodes();
        if let Some(&node) = samples.iter().find(|&&p| p as usize >= nodes) {
            return Err(Error::BadNode { node, nodes });
        }
        let mut inside = vec![false; graphs.nodes()];
        for &p in samples {
            inside[p as usize] = true;
        }
        let samples = (0..graphs.nodes() as u32).filter(|&p| inside[p as usize]).collect();
        let boundary = |graph: &Graph| {
            let crossing = graph.edges().filter(|&(p, q, _)| inside[p as usize] != inside[q as usize]);
            crossing.map(|(.., weight)| weight).sum()
        };
        Ok(Self { samples, input: boundary(graphs.input()), output: boundary(graphs.output()) })
    }

    /// The samples of S, ascending.
    pub fn samples(&self) -> &[u32] {
        &self.samples
    }

    /// cut_X(S): weight of the input edges that leave S; their number if all weights are 1.
    pub fn input(&self) -> f64 {
        self.input
    }

    /// cut_Y(S): weight of the output edges that leave S.
    pub fn output(&self) -> f64 {
        self.output
    }

    /// ζ(S) = cut_Y/cut_X.
    pub fn ratio(&self) -> f64 {
        self.output / self.input
    }
}

/// The sweep cut of smallest ζ over all eigenvectors, as its smaller side.
///
/// # Errors
/// [`Error::Cancelled`].
///
/// ```
/// use spadework::graph::{ConnectedGraph, GraphPair, generators};
/// use spadework::scores::sparsest_cut;
/// use spadework::Silent;
/// use spadework::eigen::{EigenParams, dominant_eigenpairs};
/// // Opening a ring of 20 into a path: every half leaves two edges at the input and one at the output.
/// let output = ConnectedGraph::new(generators::path(20)).unwrap();
/// let graphs = GraphPair::new(generators::cycle(20), output)?;
/// let pairs = dominant_eigenpairs(&graphs, &EigenParams::default().with_eigenpairs(1))?;
/// let cut = sparsest_cut(&graphs, &pairs, &Silent)?;
/// assert_eq!((cut.input(), cut.output()), (2.0, 1.0));
/// assert!(cut.ratio() >= 1.0 / pairs.values()[0]);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn sparsest_cut(graphs: &GraphPair, pairs: &GeneralizedEigenpairs, monitor: &dyn Monitor) -> Result<Cut> {
    let mut best = SweepCut::default();
    for vector in pairs.vectors() {
        check_cancelled(monitor)?;
        let next = SweepCut::over(graphs, vector);
        if next.ratio < best.ratio {
            best = next;
        }
    }
    let smaller =
        if 2 * best.samples.len() > graphs.nodes() { best.complement(graphs) } else { best.samples };
    Cut::of(graphs, &smaller)
}

/// The best beginning of an order of the samples.
struct SweepCut {
    samples: Vec<u32>,
    ratio: f64,
}

impl Default for SweepCut {
    fn default() -> Self {
        Self { samples: Vec::new(), ratio: f64::INFINITY }
    }
}

impl SweepCut {
    /// Samples enter in descending order of their entries, ties by index. Of equal ratios the first is kept.
    fn over(graphs: &GraphPair, vector: &[f64]) -> Self {
        let mut order: Vec<u32> = (0..vector.len() as u32).collect();
        order.sort_by(|&p, &q| vector[q as usize].total_cmp(&vector[p as usize]).then(p.cmp(&q)));
        let mut inside = vec![false; vector.len()];
        let (mut input, mut output) = (0.0, 0.0);
        let (mut taken, mut ratio) = (0, f64::INFINITY);
        for (at, &p) in order[..order.len() - 1].iter().enumerate() {
            input += change(graphs.input(), p, &inside);
            output += change(graphs.output(), p, &inside);
            inside[p as usize] = true;
            // No input edge leaves a union of components of the input graph: it has no ratio.
            if input > ROUNDING && output / input < ratio {
                (taken, ratio) = (at + 1, output / input);
            }
        }
        order.truncate(taken);
        Self { samples: order, ratio }
    }

    fn complement(&self, graphs: &GraphPair) -> Vec<u32> {
        let mut outside = vec![true; graphs.nodes()];
        for &p in &self.samples {
            outside[p as usize] = false;
        }
        (0..graphs.nodes() as u32).filter(|&p| outside[p as usize]).collect()
    }
}

/// Weights that came and went leave no more than this of a boundary that does not exist.
const ROUNDING: f64 = 1e-9;

/// What a sample that enters adds to the boundary: its edges to the outside, less those to the inside.
fn change(graph: &Graph, p: u32, inside: &[bool]) -> f64 {
    let p = p as usize;
    let sign = |&q: &u32| if inside[q as usize] { -1.0 } else { 1.0 };
    match graph.weights(p) {
        None => graph.neighbors(p).iter().map(sign).sum(),
        Some(weights) => graph.neighbors(p).iter().zip(weights).map(|(q, weight)| sign(q) * weight).sum(),
    }
}
