//! The preconditioner: an approximate Cholesky factor of a Laplacian.
//!
//! Kyng and Sachdeva (2016), in the variant of Gao, Kyng and Spielman (2025). Eliminating a node i of a Laplacian joins all
//! its neighbours with each other, j–k with weight w_j w_k/D, D = Σ w. Instead of that clique a tree is sampled whose
//! expectation it is: neighbours are taken by ascending weight, and each j is joined to one later neighbour k, chosen with
//! probability w_k/S, S = the sum of the later weights, with weight w_j S/D. So the graph does not grow, the factor has
//! about as many entries as it has edges, and conjugate gradients need some fifteen steps whatever n.
//!
//! - **Order.** Nodes are eliminated by ascending degree of the original graph. Keeping the order up to date as degrees
//!   change saves no iterations and makes the factor two to three times as dear.
//! - **Solves** work on panels of four vectors, so that one pass over the factor serves four right-hand sides, and in single
//!   precision: they wait for memory more than for anything else, and a preconditioner is rough anyway. Where weights leave
//!   its range, as those of outliers may, they are in double precision.
//!
//! Read: `Elimination` (the graph while it shrinks), `ApproximateCholesky::new`, `solve_panel`.

use std::ops::{AddAssign, Mul};

use pulp::{Arch, Simd, WithSimd};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Laplacian;
use super::elimination::{Elimination, Ray};
use super::panel::{Panel, WIDTH, largest_magnitudes};
use crate::graph::Graph;

/// From this many nodes on, the two halves of a panel are solved by two threads.
const PARALLEL_NODES: usize = 32 * 1024;
/// Vectors in a half.
const HALF: usize = WIDTH / 2;

/// 1/D may be this many times as large as the typical one, or as small, in single precision: with 10⁶ numbers of size 1
/// on the right and as many steps to add up, nothing grows beyond 10³⁸.
const SINGLE_RANGE: f64 = 1e25;

/// An approximate factor M = U D Uᵀ ≈ L of a connected graph's Laplacian, nodes in the order of elimination.
#[derive(Debug)]
pub struct ApproximateCholesky {
    /// The node at every place of the order.
    order: Vec<u32>,
    /// The step of place i holds entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    /// Later places, and the part w_j/D of the eliminated node's value that each takes.
    entries: Vec<(u32, f32)>,
    /// 1/D of every step, in units of the typical one; 0 for the last node, which is grounded.
    reciprocals: Vec<f64>,
    /// The typical 1/D: the middle between the least and the largest, by their logarithms.
    typical: f64,
    /// Whether single precision has room for them all.
    single: bool,
}

impl ApproximateCholesky {
    /// Factors the Laplacian of a connected graph. The same seed gives the same factor.
    ///
    /// # Complexity
    /// O(m log m) for m edges, most of it memory traffic.
    pub fn new(laplacian: &Laplacian<'_>, seed: u64) -> Self {
        let graph = laplacian.graph();
        let order = by_degree(graph);
        let mut elimination = Elimination::new(graph, &order);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let nodes = graph.nodes();
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0);
        let mut entries = Vec::with_capacity(2 * graph.edge_count());
        let mut reciprocals = Vec::with_capacity(nodes);
        let mut star = Vec::new();
        for place in 0..nodes as u32 {
            elimination.take_star(place, &mut star);
            let sum: f64 = star.iter().map(|&(weight, _)| weight).sum();
            entries.extend(star.iter().map(|&(weight, to)| (to, (weight / sum) as f32)));
            starts.push(entries.len());
            reciprocals.push(if star.is_empty() { 0.0 } else { sum.recip() });
            sample_tree(&mut elimination, &mut star, sum, &mut rng);
        }
        let positive = || reciprocals.iter().copied().filter(|&reciprocal| reciprocal > 0.0);
        let (least, largest) =
            (positive().fold(f64::MAX, f64::min), positive().fold(f64::MIN_POSITIVE, f64::max));
        let typical = least.sqrt() * largest.sqrt();
        for reciprocal in &mut reciprocals {
            *reciprocal /= typical;
        }
        Self { order, starts, entries, reciprocals, typical, single: largest / typical <= SINGLE_RANGE }
    }

    /// Entries of the factor.
    #[cfg(test)]
    fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// z = M⁻¹ r for a panel of vectors.
    pub(crate) fn solve_panel(&self, r: &Panel, z: &mut Panel) {
        if self.single { self.solve_in::<f32>(r, z) } else { self.solve_in::<f64>(r, z) }
    }

    fn solve_in<T: Number>(&self, r: &Panel, z: &mut Panel) {
        // Right-hand sides of size 1 stay within the range of numbers, whatever their size was.
        let sizes = largest_magnitudes(r).map(|size| if size > 0.0 { size } else { 1.0 });
        let units = sizes.map(|size| size.max(f64::MIN_POSITIVE).recip());
        let back = sizes.map(|size| size * self.typical);
        if r.len() < PARALLEL_NODES || rayon::current_num_threads() == 1 {
            let x = self.solve_lanes::<T, WIDTH>(r, 0, units);
            for (&p, row) in self.order.iter().zip(x) {
                z[p as usize] = std::array::from_fn(|lane| row[lane].into() * back[lane]);
            }
            return;
        }
        let (first, second) = rayon::join(
            || self.solve_lanes::<T, HALF>(r, 0, units),
            || self.solve_lanes::<T, HALF>(r, HALF, units),
        );
        for (&p, (first, second)) in self.order.iter().zip(first.into_iter().zip(second)) {
            let row = [first[0], first[1], second[0], second[1]];
            z[p as usize] = std::array::from_fn(|lane| row[lane].into() * back[lane]);
        }
    }

    /// M⁻¹ of some vectors of a panel, which are scaled by `units`, in the order of elimination.
    fn solve_lanes<T: Number, const LANES: usize>(
        &self,
        r: &Panel,
        first: usize,
        units: [f64; WIDTH],
    ) -> Vec<[T; LANES]> {
        let scaled =
            |row: &[f64; WIDTH]| std::array::from_fn(|at| T::nearest(row[first + at] * units[first + at]));
        let mut x: Vec<[T; LANES]> = self.order.iter().map(|&p| scaled(&r[p as usize])).collect();
        Arch::new().dispatch(Solve { factor: self, x: &mut x });
        x
    }
}

/// Numbers in which a solve may be done.
trait Number: Copy + Send + AddAssign + Mul<Output = Self> + From<f32> + Into<f64> {
    fn nearest(number: f64) -> Self;
}

impl Number for f32 {
    fn nearest(number: f64) -> Self {
        number as f32
    }
}

impl Number for f64 {
    fn nearest(number: f64) -> Self {
        number
    }
}

/// Solves in place, in the order of elimination: U, then D, then Uᵀ. Compiled for each instruction set.
struct Solve<'a, T, const LANES: usize> {
    factor: &'a ApproximateCholesky,
    x: &'a mut [[T; LANES]],
}

impl<T: Number, const LANES: usize> WithSimd for Solve<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { factor, x } = self;
        for (place, bounds) in factor.starts.windows(2).enumerate() {
            let value = x[place];
            for &(to, part) in &factor.entries[bounds[0]..bounds[1]] {
                let (target, part) = (&mut x[to as usize], T::from(part));
                for lane in 0..LANES {
                    target[lane] += part * value[lane];
                }
            }
        }
        for (place, bounds) in factor.starts.windows(2).enumerate().rev() {
            let reciprocal = T::nearest(factor.reciprocals[place]);
            let mut value = x[place].map(|value| value * reciprocal);
            for &(to, part) in &factor.entries[bounds[0]..bounds[1]] {
                let (source, part) = (x[to as usize], T::from(part));
                for lane in 0..LANES {
                    value[lane] += part * source[lane];
                }
            }
            x[place] = value;
        }
    }
}

/// Nodes by ascending degree, ties by index.
fn by_degree(graph: &Graph) -> Vec<u32> {
    let mut order: Vec<u32> = (0..graph.nodes() as u32).collect();
    order.sort_by_key(|&p| graph.neighbors(p as usize).len());
    order
}

/// Joins the ends of a star of weight `sum` by a tree in place of a clique. The weights of the star become sums of the
/// later ones.
fn sample_tree(elimination: &mut Elimination, star: &mut [Ray], sum: f64, rng: &mut ChaCha8Rng) {
    let mut later = 0.0;
    for entry in star.iter_mut().rev() {
        later += entry.0;
        entry.0 = later;
    }
    for at in 0..star.len().saturating_sub(1) {
        let rest = star[at + 1].0;
        let weight = star[at].0 - rest;
        // The chosen end is the last whose sum of weights from it on is above the draw.
        let draw = rng.random::<f64>() * rest;
        let chosen = at + star[at + 1..].partition_point(|&(from_here, _)| from_here > draw).max(1);
        // A weight lost in rounding would leave a node without an edge.
        elimination.add(star[at].1, star[chosen].1, (weight * rest / sum).max(f64::MIN_POSITIVE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generators;

    /// On a tree every star has at most one later neighbour, or is joined by the only tree there is for two.
    #[test]
    fn a_path_is_factored_exactly() {
        let path = generators::path(30);
        let laplacian = Laplacian::of(&path);
        let factor = ApproximateCholesky::new(&laplacian, 7);
        let mut r = vec![[0.0; WIDTH]; 30];
        (r[4][1], r[20][1]) = (1.0, -1.0);
        let mut z = r.clone();
        factor.solve_panel(&r, &mut z);
        let x: Vec<f64> = z.iter().map(|row| row[1]).collect();
        let back = laplacian.apply(&x);
        // Entries of the factor are kept in single precision.
        assert!(back.iter().zip(&r).all(|(got, want)| (got - want[1]).abs() < 1e-5), "{back:?}");
    }

    #[test]
    fn the_factor_stays_sparse() {
        let grid = generators::grid(40, 40);
        let factor = ApproximateCholesky::new(&Laplacian::of(&grid), 0);
        // The exact factor of a grid of n nodes has of the order of n log n entries, here over 30,000.
        assert!(factor.entry_count() < 4 * grid.edge_count(), "{}", factor.entry_count());
    }

    #[test]
    fn the_same_seed_gives_the_same_factor() {
        let grid = generators::grid(20, 30);
        let [a, b, c] = [1, 1, 2].map(|seed| ApproximateCholesky::new(&Laplacian::of(&grid), seed));
        assert_eq!(a.entries, b.entries);
        assert_ne!(a.entries, c.entries);
    }

    /// M⁻¹ of a few right-hand sides for a grid whose weights, and which, are of these sizes.
    fn solved(weight: impl Fn(u32, u32) -> f64, size: f64) -> Panel {
        let edges: Vec<_> = generators::grid(20, 20).edges().map(|(p, q, _)| (p, q, weight(p, q))).collect();
        let graph = Graph::from_weighted_edges(400, &edges).unwrap();
        let entry = |p: u32| [f64::from(p).sin(), 0.0, f64::from(p).cos(), 1.0 - 2.0 * f64::from(p % 2)];
        let r: Panel = (0..400).map(|p| entry(p).map(|entry| size * entry)).collect();
        let mut z = r.clone();
        ApproximateCholesky::new(&Laplacian::of(&graph), 3).solve_panel(&r, &mut z);
        z
    }

    #[test]
    fn sizes_of_weights_and_right_hand_sides_do_not_matter() {
        let uneven = |p: u32, q: u32| f64::from(1 + (p + q) % 3);
        let plain = solved(uneven, 1.0);
        let largest = largest_magnitudes(&plain);
        assert_eq!(largest[1], 0.0);
        for (weight, size) in [(1e-100, 1.0), (1e100, 1.0), (1.0, 1e-90), (1.0, 1e90), (1e-60, 1e-60)] {
            for (row, plain) in solved(|p, q| weight * uneven(p, q), size).iter().zip(&plain) {
                for lane in 0..WIDTH {
                    let error = (row[lane] / size * weight - plain[lane]).abs();
                    assert!(error <= 1e-5 * largest[lane], "weights {weight:e}, size {size:e}: {error:e}");
                }
            }
        }
    }

    /// A corner that all but falls off, as that of an outlier in a graph of Gaussian weights: what flows into it meets the
    /// resistance of its edges, and all others are as without it.
    #[test]
    fn an_outlier_hides_nobody() {
        for hold in [1e-20, 1e-45, 1e-60, 1e-200] {
            let corner = |p: u32, q: u32| if p.min(q) == 0 { hold } else { 1.0 };
            let z = solved(corner, 1.0);
            // Node 0 has degree two, as the other corners: it goes first, and then all of r is left to the others.
            let resistance = 0.5 / hold;
            for lane in [2, 3] {
                let drop = z[0][lane] - 0.5 * (z[1][lane] + z[20][lane]);
                assert!((drop / resistance - 1.0).abs() < 1e-5, "held by {hold:e}: {drop:e}");
            }
            let others =
                |z: &Panel| z[1..].iter().map(|row| row[3] - z[399][3]).fold(0.0, |m: f64, v| m.max(v.abs()));
            let plain = others(&solved(|_, _| 1.0, 1.0));
            assert!((0.1 * plain..10.0 * plain).contains(&others(&z)), "held by {hold:e}: {:e}", others(&z));
        }
    }

    /// Steps of conjugate gradients to a residual of 1e-8 with some preconditioner.
    fn steps(laplacian: &Laplacian<'_>, b: &[f64], precondition: impl Fn(&[f64]) -> Vec<f64>) -> usize {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut residual = b.to_vec();
        let mut z = precondition(&residual);
        let mut direction = z.clone();
        let (mut energy, start) = (dot(&residual, &z), dot(&residual, &z));
        let mut steps = 0;
        while energy > 1e-16 * start && steps < 1000 {
            let product = laplacian.apply(&direction);
            let step = energy / dot(&direction, &product);
            residual.iter_mut().zip(&product).for_each(|(r, p)| *r -= step * p);
            z = precondition(&residual);
            let next = dot(&residual, &z);
            direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + next / energy * *d);
            (energy, steps) = (next, steps + 1);
        }
        steps
    }

    fn centered(mut x: Vec<f64>) -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        for x in &mut x {
            *x -= mean;
        }
        x
    }

    /// The crate `approx-chol` is an implementation of the same papers that we did not write.
    #[test]
    fn is_as_good_as_the_judge() {
        let side = 60_u32;
        let mut edges: Vec<_> = generators::grid(60, 60).edges().map(|(p, q, _)| (p, q)).collect();
        // Chords make it unlike any grid.
        edges.extend((0..side * side).map(|p| (p, (p * 31 + 17) % (side * side))).filter(|(p, q)| p != q));
        let graph = Graph::from_edges((side * side) as usize, &edges).unwrap();
        let laplacian = Laplacian::of(&graph);
        let b = centered((0..graph.nodes()).map(|p| (p as f64 * 0.7).sin()).collect());
        let ours = ApproximateCholesky::new(&laplacian, 0);
        let our_steps = steps(&laplacian, &b, |r| {
            let panel: Panel = r.iter().map(|&r| [r, 0.0, 0.0, 0.0]).collect();
            let mut solved = panel.clone();
            ours.solve_panel(&panel, &mut solved);
            centered(solved.iter().map(|row| row[0]).collect())
        });
        let (u, v): (Vec<u32>, Vec<u32>) = graph.edges().map(|(p, q, _)| (p, q)).unzip();
        let judge = approx_chol::input::Laplacian::<f64>::new(graph.nodes(), &u, &v).unwrap();
        let judge = approx_chol::factorize(judge).unwrap();
        let judge_steps = steps(&laplacian, &b, |r| centered(judge.solve(r).unwrap()));
        // Both are random; a quarter more steps would show that something is wrong with the sampling.
        assert!(our_steps as f64 <= 1.25 * judge_steps as f64, "{our_steps} steps against {judge_steps}");
    }
}
