//! The preconditioner: an approximate Cholesky factor of a Laplacian, from the crate `approx-chol`.
//!
//! Kyng and Sachdeva (2016); Gao, Kyng and Spielman (2025). A randomised elimination that keeps the factor as sparse as
//! the graph: near-linear to make, and conjugate gradients then need some fifteen steps whatever n. This file is the
//! only one that knows the crate.

use approx_chol::{Config, Factor, ScalingPolicy, factorize_with, input};
use rayon::prelude::*;

use super::Laplacian;
use super::panel::{Panel, WIDTH};

/// Below this many nodes the four vectors of a panel are solved one after the other.
const PARALLEL_NODES: usize = 16 * 1024;

/// An approximate factor M ≈ L of a connected graph's Laplacian.
#[derive(Debug)]
pub struct ApproximateCholesky {
    factor: Factor<f64>,
}

impl ApproximateCholesky {
    /// Factors the Laplacian of a connected graph. The same seed gives the same factor.
    ///
    /// # Panics
    /// Never for a [`Graph`](crate::Graph): the crate refuses loops, strangers and negative weights only.
    pub fn new(laplacian: &Laplacian<'_>, seed: u64) -> Self {
        let graph = laplacian.graph();
        let edges = graph.edge_count();
        let (mut ends, mut other_ends, mut weights) =
            (Vec::with_capacity(edges), Vec::with_capacity(edges), Vec::with_capacity(edges));
        for (p, q, weight) in graph.edges() {
            ends.push(p);
            other_ends.push(q);
            weights.push(weight);
        }
        let matrix = input::Laplacian::weighted(graph.nodes(), &ends, &other_ends, &weights)
            .expect("a graph has no loops, no strangers and positive weights");
        let config = Config { seed, ..Config::default() };
        let factor = factorize_with(matrix, config, ScalingPolicy::default())
            .expect("the Laplacian of a graph with positive weights can be factored");
        Self { factor }
    }

    /// z = M⁻¹ r for a panel of vectors.
    pub(crate) fn solve_panel(&self, r: &Panel, z: &mut Panel) {
        let solve = |lane: usize| {
            let mut column: Vec<f64> = r.iter().map(|row| row[lane]).collect();
            let mut scratch = vec![0.0; self.factor.scratch_len()];
            self.factor.solve_in_place(&mut column, &mut scratch).expect("lengths agree");
            column
        };
        let columns: Vec<Vec<f64>> = if r.len() < PARALLEL_NODES {
            (0..WIDTH).map(solve).collect()
        } else {
            (0..WIDTH).into_par_iter().map(solve).collect()
        };
        for (p, row) in z.iter_mut().enumerate() {
            *row = std::array::from_fn(|lane| columns[lane][p]);
        }
    }
}
