//! Effective resistances: exactly by solves, and for many pairs at once by a random projection.
//!
//! *Exactly.* R(p,q) = bᵀL⁺b, b = e_p − e_q. For any x near L⁺b, 2bᵀx − xᵀLx = R − ‖x − L⁺b‖²_L: the error is only the
//! *square* of the error of x, rᵀL⁺r. (bᵀx alone is as accurate only as long as x is orthogonal to the residual, and rounding
//! destroys this.) With the relative residual η in the norm of the preconditioner M the error is at most κη²R, where κ is
//! the condition number of M⁻¹L. An approximate Cholesky factor has κ below 10³, so [`EXACT`] leaves a relative error below
//! 10⁻¹¹ ([`RESISTANCE_ERROR`] says 10⁻¹⁰).
//!
//! *By a projection.* With B the signed incidence matrix, W the weights and F = W^½B, L = FᵀF and R(p,q) = ‖F L⁺b‖²
//! (Spielman and Srivastava 2008). A matrix Q of m rows with entries ±1/√m keeps such lengths: Achlioptas (2003,
//! "Database-friendly random projections", the tail bounds in the proof of Theorem 1.1) shows for any fixed vector u
//!
//! ```text
//! P( ‖Qu‖² outside (1 ± ε)‖u‖² ) < 2 exp(−(m/2)(ε²/2 − ε³/3)),
//! ```
//!
//! so m = ⌈2 ln(2N/δ)/(ε²/2 − ε³/3)⌉ rows serve N pairs at once with probability 1 − δ. The rows of QF L⁺ are m Laplacian
//! solves with right-hand sides Fᵀq: a random sign on every edge. They are solved in panels of four and not stored, so the
//! memory does not grow with m.
//!
//! *Error of the solves.* A solve with relative residual η has an error of √κη‖z_i‖_L. Across a pair, the error is √R times
//! that, and over all rows √R·√κη√(Σ‖z_i‖²_L), where Σ‖z_i‖²_L is about n − 1. With η = 10⁻⁴ε/√n that is less than 0.01·ε√R
//! for κ up to 10⁴; the projection gets 0.95·ε, so both together stay within ε.
//!
//! The same projection with the F of *another* graph gives eᵀL_Y⁺L_XL_Y⁺e, the edge scores of the full spectrum
//! (`scores/full_spectrum.rs`): only the right-hand sides differ.
//!
//! Read: [`resistances`], [`edge_resistances`], `projected_norms`, `exact_norms`.

use serde::{Deserialize, Serialize};

use rand::Rng;
use rayon::prelude::*;

use super::panel::{Panel, WIDTH, zeros};
use super::{CgParams, Laplacian, LaplacianSolver};
use crate::checkpoint::{Identity, Resumable, StateReader, StateWriter, Work};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::monitor::{Monitor, check_cancelled};
use crate::random::{Purpose, stream_at};

/// Accuracy of the solves behind [`resistances`].
const EXACT: CgParams = CgParams { tolerance: 1e-7, max_iterations: 1000 };
/// Relative error of [`resistances`].
pub const RESISTANCE_ERROR: f64 = 1e-10;

/// The part of the error that the projection may use; the solves have the rest.
const PROJECTION_SHARE: f64 = 0.95;
/// Residual of a projection's solves, over ε/√n.
const SOLVE_SHARE: f64 = 1e-4;
/// Panels solved before their results are added up: enough to keep threads busy, few enough to hold.
const BATCH: usize = 16;
/// Where a projection would need as many rows as there are nodes, all columns of L⁺ cost less and are exact; up to this many
/// nodes they are kept at once (n² numbers).
const MOST_COLUMNS: usize = 4096;
/// Residual of those columns.
const COLUMNS: f64 = 1e-12;

/// How accurate a random projection must be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SketchParams {
    /// Relative error ε of every number, between [`SketchParams::LEAST_ERROR`] and [`SketchParams::MOST_ERROR`].
    pub error: f64,
    /// Probability δ that any of the numbers has a larger error.
    pub failure: f64,
    /// Seed of the random signs.
    pub seed: u64,
}

impl Default for SketchParams {
    fn default() -> Self {
        Self { error: 0.3, failure: 1e-3, seed: 0 }
    }
}

with_methods! { SketchParams {
    with_error(error: f64),
    with_failure(failure: f64),
    with_seed(seed: u64),
} }

impl SketchParams {
    /// Smallest ε: the number of rows grows with 1/ε².
    pub const LEAST_ERROR: f64 = 0.02;
    /// Largest ε that is meaningful.
    pub const MOST_ERROR: f64 = 0.9;

    /// Checks both numbers.
    ///
    /// # Errors
    /// [`Error::SketchError`] when ε is out of range or δ is not between 0 and 1.
    pub fn check(&self) -> Result<()> {
        let (least, most) = (Self::LEAST_ERROR, Self::MOST_ERROR);
        let is_probability = self.failure > 0.0 && self.failure < 1.0;
        if (least..=most).contains(&self.error) && is_probability {
            return Ok(());
        }
        Err(Error::SketchError { least, most, got: self.error, failure: self.failure })
    }

    /// Rows of the projection for this many numbers: ⌈2 ln(2N/δ)/(ε²/2 − ε³/3)⌉ with the projection's share of ε.
    pub fn rows(&self, numbers: usize) -> usize {
        let epsilon = PROJECTION_SHARE * self.error;
        let exponent = epsilon * epsilon / 2.0 - epsilon.powi(3) / 3.0;
        (2.0 * (2.0 * numbers.max(1) as f64 / self.failure).ln() / exponent).ceil() as usize
    }

    fn solve(&self, nodes: usize) -> CgParams {
        let tolerance = SOLVE_SHARE * self.error / (nodes as f64).sqrt();
        CgParams { tolerance, max_iterations: 1000 }
    }
}

/// How the numbers of pairs, such as resistances, were obtained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SketchInfo {
    /// Rows of the random projection; absent if every number was computed by solves.
    pub rows: Option<usize>,
    /// Relative error of every number.
    pub error: f64,
    /// Probability that all of them are within this error; 1 if nothing is random.
    pub probability: f64,
}

/// R(p,q) of every pair by solves, to a relative error of [`RESISTANCE_ERROR`].
///
/// # Errors
/// [`Error::BadPair`] when a pair names a node that does not exist; [`Error::NotConverged`]; [`Error::Cancelled`].
///
/// # Complexity
/// A quarter of a panel solve per pair: near-linear in the number of edges.
///
/// ```
/// use spadework::graph::generators;
/// use spadework::laplacian::{Laplacian, LaplacianSolver, resistances};
/// // On a ring of n, d hops one way are n − d the other way: R = d(n − d)/n.
/// let ring = generators::cycle(10);
/// let solver = LaplacianSolver::new(Laplacian::of(&ring), 0);
/// let found = resistances(&solver, &[(0, 1), (0, 5)], &spadework::Silent)?;
/// assert!((found[0] - 0.9).abs() < 1e-9 && (found[1] - 2.5).abs() < 1e-9);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn resistances(
    solver: &LaplacianSolver<'_>,
    pairs: &[(u32, u32)],
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    solver.laplacian().graph().check_pairs(pairs)?;
    let parts = pairs.par_chunks(WIDTH).map(|pairs| {
        check_cancelled(monitor)?;
        let mut b = zeros(solver.laplacian().nodes());
        for (lane, &(p, q)) in pairs.iter().enumerate() {
            b[p as usize][lane] += 1.0;
            b[q as usize][lane] -= 1.0;
        }
        let x = solved(solver, &b, &EXACT)?;
        let energies = panel_energies(solver.laplacian().graph(), &x);
        let resistance = |(lane, &(p, q)): (usize, &(u32, u32))| {
            2.0 * (x[p as usize][lane] - x[q as usize][lane]) - energies[lane]
        };
        Ok(pairs.iter().enumerate().map(resistance).collect::<Vec<f64>>())
    });
    Ok(parts.collect::<Result<Vec<_>>>()?.concat())
}

/// xᵀLx of every vector of a panel, as a sum of squares.
pub(super) fn panel_energies(graph: &Graph, x: &Panel) -> [f64; WIDTH] {
    let mut sums = [0.0; WIDTH];
    for (p, q, weight) in graph.edges() {
        let (p, q) = (x[p as usize], x[q as usize]);
        for lane in 0..WIDTH {
            sums[lane] += weight * (p[lane] - q[lane]) * (p[lane] - q[lane]);
        }
    }
    sums
}

/// R(p,q) of every pair by a random projection, all at once; exact if that costs less.
///
/// # Errors
/// [`Error::SketchError`], [`Error::BadPair`], [`Error::NotConverged`], [`Error::Cancelled`].
///
/// # Complexity
/// [`SketchParams::rows`] solves, a quarter of a panel solve each; memory for about 16 panels in addition to the result.
pub fn edge_resistances(
    solver: &LaplacianSolver<'_>,
    pairs: &[(u32, u32)],
    params: &SketchParams,
    monitor: &dyn Monitor,
) -> Result<(Vec<f64>, SketchInfo)> {
    flow_norms(solver, solver.laplacian(), pairs, params, monitor)
}

/// ‖F L⁺(e_p − e_q)‖² of every pair, FᵀF the Laplacian `flows` on the same nodes.
pub(crate) fn flow_norms(
    solver: &LaplacianSolver<'_>,
    flows: &Laplacian<'_>,
    pairs: &[(u32, u32)],
    params: &SketchParams,
    monitor: &dyn Monitor,
) -> Result<(Vec<f64>, SketchInfo)> {
    params.check()?;
    solver.laplacian().graph().check_pairs(pairs)?;
    let (rows, nodes) = (params.rows(pairs.len()), solver.laplacian().nodes());
    if rows >= nodes && nodes <= MOST_COLUMNS {
        let info = SketchInfo { rows: None, error: RESISTANCE_ERROR, probability: 1.0 };
        return Ok((exact_norms(solver, flows, pairs, monitor)?, info));
    }
    let norms = projected_norms(solver, flows.graph(), pairs, params, monitor)?;
    Ok((norms, SketchInfo { rows: Some(rows), error: params.error, probability: 1.0 - params.failure }))
}

/// What a projection depends on besides its parameters.
struct Projected<'a> {
    graphs: [&'a Graph; 2],
    pairs: &'a [(u32, u32)],
}

impl Identity for Projected<'_> {
    fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        let bytes = |(p, q): (u32, u32)| (u64::from(p) << 32 | u64::from(q)).to_le_bytes();
        self.graphs.iter().for_each(|graph| graph.feed(take));
        self.pairs.iter().for_each(|&pair| take(&bytes(pair)));
    }
}

/// The sums after so many panels.
fn state(panels: usize, sums: &[f64]) -> Vec<u8> {
    let mut state = StateWriter::default();
    state.counts([panels as u64].into_iter());
    state.doubles(sums);
    state.into_bytes()
}

/// How many panels an earlier run has added up, and the sums; none if they do not fit.
fn restored(state: &[u8], pairs: usize) -> Option<(usize, Vec<f64>)> {
    let mut state = StateReader::new(state);
    let [panels] = state.some_counts()?;
    let sums = state.doubles().filter(|sums| sums.len() == pairs && state.is_at_end())?;
    Some((usize::try_from(panels).ok()?, sums))
}

/// By m random rows, in batches: solved in parallel, added up in their order.
fn projected_norms(
    solver: &LaplacianSolver<'_>,
    flows: &Graph,
    pairs: &[(u32, u32)],
    params: &SketchParams,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let nodes = flows.nodes();
    let panels = params.rows(pairs.len()).div_ceil(WIDTH);
    let solve = params.solve(nodes);
    let data = Projected { graphs: [solver.laplacian().graph(), flows], pairs };
    let work = Work::new("projections", &data, format!("{params:?}"));
    let parts = Resumable::new(work, monitor.checkpoints());
    let known = parts.stored().and_then(|state| restored(&state, pairs.len()));
    let (done, mut sums) = known.unwrap_or_else(|| (0, vec![0.0; pairs.len()]));
    for first in (done..panels).step_by(BATCH) {
        monitor.progress(first as u64, panels as u64);
        let batch = (first..panels.min(first + BATCH)).into_par_iter().map(|panel| {
            check_cancelled(monitor)?;
            let mut rng = stream_at(params.seed, Purpose::Sketch, panel as u64);
            solved(solver, &random_flows(flows, &mut rng), &solve)
        });
        let batch = batch.collect::<Result<Vec<Panel>>>()?;
        sums.par_iter_mut().zip(pairs).for_each(|(sum, &(p, q))| {
            for z in &batch {
                let (p, q) = (z[p as usize], z[q as usize]);
                *sum += (0..WIDTH).map(|lane| (p[lane] - q[lane]) * (p[lane] - q[lane])).sum::<f64>();
            }
        });
        if first + BATCH < panels {
            parts.keep_if_due(|| state(first + BATCH, &sums));
        }
    }
    parts.keep_result(|| state(panels, &sums));
    // Rows are ±1 until here; 1/m is the square of their scale. The last panel is full, so m is a multiple of four.
    let scale = ((panels * WIDTH) as f64).recip();
    for sum in &mut sums {
        *sum *= scale;
    }
    Ok(sums)
}

/// Fᵀq for four q: a random sign on every edge, flowing from one end to the other.
pub(super) fn random_flows(graph: &Graph, rng: &mut impl Rng) -> Panel {
    let mut flows = zeros(graph.nodes());
    let (mut bits, mut left) = (0_u32, 0);
    for (p, q, weight) in graph.edges() {
        if left < WIDTH {
            (bits, left) = (rng.next_u32(), 32);
        }
        let root = weight.sqrt();
        let signed: [f64; WIDTH] =
            std::array::from_fn(|lane| if bits >> lane & 1 == 1 { root } else { -root });
        for (end, sign) in [(p, 1.0), (q, -1.0)] {
            let total = &mut flows[end as usize];
            total.iter_mut().zip(signed).for_each(|(total, flow)| *total += sign * flow);
        }
        bits >>= WIDTH;
        left -= WIDTH;
    }
    flows
}

/// By all columns of L⁺: F L⁺(e_p − e_q) is a difference of two of them.
fn exact_norms(
    solver: &LaplacianSolver<'_>,
    flows: &Laplacian<'_>,
    pairs: &[(u32, u32)],
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let nodes: Vec<u32> = (0..flows.nodes() as u32).collect();
    let columns = inverse_columns(solver, &nodes, COLUMNS, monitor)?;
    let norm = |&(p, q): &(u32, u32)| {
        check_cancelled(monitor)?;
        let (p, q) = (&columns[p as usize], &columns[q as usize]);
        let potential: Vec<f64> = p.iter().zip(q).map(|(p, q)| p - q).collect();
        Ok(flows.quadratic_form(&potential))
    };
    pairs.par_iter().map(norm).collect()
}

/// Columns of L⁺, each of length n, to a relative residual. What is read off them errs as the residual does, not as its
/// square.
pub(crate) fn inverse_columns(
    solver: &LaplacianSolver<'_>,
    nodes: &[u32],
    tolerance: f64,
    monitor: &dyn Monitor,
) -> Result<Vec<Vec<f64>>> {
    let params = CgParams { tolerance, max_iterations: 2000 };
    let parts = nodes.par_chunks(WIDTH).map(|nodes| {
        check_cancelled(monitor)?;
        let mut b = zeros(solver.laplacian().nodes());
        for (lane, &p) in nodes.iter().enumerate() {
            b[p as usize][lane] = 1.0;
        }
        let x = solved(solver, &b, &params)?;
        Ok((0..nodes.len()).map(|lane| x.iter().map(|row| row[lane]).collect()).collect::<Vec<Vec<f64>>>())
    });
    Ok(parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// L⁺b; not converging is an error.
pub(super) fn solved(solver: &LaplacianSolver<'_>, b: &Panel, params: &CgParams) -> Result<Panel> {
    let (x, info) = solver.solve_panel(b, params);
    info.check("a solve with a Laplacian", params)?;
    Ok(x)
}
