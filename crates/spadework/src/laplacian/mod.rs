//! Laplacians, and solvers for them.

mod approximate_cholesky;
mod cg;
mod elimination;
pub(crate) mod panel;
mod resistance;
mod trace;

pub use approximate_cholesky::ApproximateCholesky;
pub use cg::{CgInfo, CgParams, LaplacianSolver};
pub use resistance::{RESISTANCE_ERROR, SketchInfo, SketchParams, edge_resistances, resistances};
pub(crate) use resistance::{flow_norms, inverse_columns};
pub use trace::Estimate;
pub(crate) use trace::trace_of_product;

use std::borrow::Cow;

use pulp::{Simd, WithSimd};

use crate::graph::Graph;
use crate::kernels::arch;
use crate::scaling::exponent_to_one;
use panel::{Panel, WIDTH, for_each_chunk_mut};

/// L = D − A of a graph, applied without forming it.
///
/// Combinatorial, not normalized: two normalized Laplacians have different null vectors, and then λ_max is unbounded.
#[derive(Debug, Clone)]
pub struct Laplacian<'g> {
    graph: Cow<'g, Graph>,
    degrees: Vec<f64>,
}

impl<'g> Laplacian<'g> {
    /// The Laplacian of a graph.
    pub fn of(graph: &'g Graph) -> Self {
        Self::new(Cow::Borrowed(graph))
    }

    /// The Laplacian of a graph that nobody else needs.
    pub(crate) fn owning(graph: Graph) -> Self {
        Self::new(Cow::Owned(graph))
    }

    /// The Laplacian of a graph times a power of two that brings its largest weight near 1, and the exponent of that, which is even;
    /// 0 for ordinary weights.
    pub(crate) fn near_one(graph: &'g Graph) -> (Self, i32) {
        match exponent_to_one(graph.largest_weight()) {
            0 => (Self::of(graph), 0),
            exponent => (Self::owning(graph.scaled(exponent)), exponent),
        }
    }

    fn new(graph: Cow<'g, Graph>) -> Self {
        let degrees = (0..graph.nodes()).map(|p| graph.weighted_degree(p)).collect();
        Self { graph, degrees }
    }

    /// The graph it belongs to.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.degrees.len()
    }

    /// Weighted degrees, the diagonal.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// y = L x for one vector.
    ///
    /// # Panics
    /// When `x` has another length than the graph has nodes.
    ///
    /// ```
    /// use spadework::graph::generators;
    /// use spadework::laplacian::Laplacian;
    /// let path = generators::path(3);
    /// assert_eq!(Laplacian::of(&path).apply(&[1.0, 0.0, 0.0]), [1.0, -1.0, 0.0]);
    /// ```
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.nodes(), "one entry per node");
        (0..self.nodes())
            .map(|p| {
                let columns = self.graph.neighbors(p).iter().map(|&q| x[q as usize]);
                let sum: f64 = match self.graph.weights(p) {
                    None => columns.sum(),
                    Some(weights) => columns.zip(weights).map(|(x, w)| x * w).sum(),
                };
                self.degrees[p] * x[p] - sum
            })
            .collect()
    }

    /// y = L x as a sum of differences, y_p = Σ w (x_p − x_q): where neighbors are all but equal, d_p x_p − Σ w x_q loses the
    /// digits that this keeps.
    pub(crate) fn apply_by_differences(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.nodes()];
        for (p, q, weight) in self.graph.edges() {
            let flow = weight * (x[p as usize] - x[q as usize]);
            y[p as usize] += flow;
            y[q as usize] -= flow;
        }
        y
    }

    /// xᵀLx = Σ w (x_p − x_q)², a sum of squares and so accurate to the last digits.
    pub fn quadratic_form(&self, x: &[f64]) -> f64 {
        self.graph
            .edges()
            .map(|(p, q, weight)| {
                let difference = x[p as usize] - x[q as usize];
                weight * difference * difference
            })
            .sum()
    }

    /// The same for each vector of a panel.
    pub(crate) fn quadratic_forms(&self, x: &Panel) -> [f64; WIDTH] {
        arch().dispatch(QuadraticForms { graph: self.graph(), x })
    }

    /// y = L x for a panel of vectors, row by row, so that the result does not depend on the threads.
    pub(crate) fn apply_panel(&self, x: &Panel, y: &mut Panel) {
        for_each_chunk_mut(y, |first, rows| {
            arch().dispatch(ApplyRows { laplacian: self, x, first, rows });
        });
    }
}

/// xᵀLx of four vectors, compiled for each instruction set.
struct QuadraticForms<'a> {
    graph: &'a Graph,
    x: &'a Panel,
}

impl WithSimd for QuadraticForms<'_> {
    type Output = [f64; WIDTH];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f64; WIDTH] {
        let mut sum = [0.0; WIDTH];
        for (p, q, weight) in self.graph.edges() {
            let (here, there) = (self.x[p as usize], self.x[q as usize]);
            for lane in 0..WIDTH {
                let difference = here[lane] - there[lane];
                sum[lane] += weight * difference * difference;
            }
        }
        sum
    }
}

/// Some rows of L x, compiled for each instruction set.
struct ApplyRows<'a, 'g> {
    laplacian: &'a Laplacian<'g>,
    x: &'a Panel,
    first: usize,
    rows: &'a mut [[f64; WIDTH]],
}

impl WithSimd for ApplyRows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { laplacian, x, first, rows } = self;
        let graph = laplacian.graph();
        for (p, out) in (first..).zip(rows) {
            let mut sum = [0.0; WIDTH];
            match graph.weights(p) {
                None => {
                    for &q in graph.neighbors(p) {
                        let row = x[q as usize];
                        for lane in 0..WIDTH {
                            sum[lane] += row[lane];
                        }
                    }
                }
                Some(weights) => {
                    for (&q, weight) in graph.neighbors(p).iter().zip(weights) {
                        let row = x[q as usize];
                        for lane in 0..WIDTH {
                            sum[lane] += weight * row[lane];
                        }
                    }
                }
            }
            let row = x[p];
            for lane in 0..WIDTH {
                out[lane] = laplacian.degrees[p] * row[lane] - sum[lane];
            }
        }
    }
}
