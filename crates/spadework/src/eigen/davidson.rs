//! Block Davidson iteration for the r largest eigenpairs of L_X v = λ L_Y v.
//!
//! Generalized Davidson with thick restart that also keeps the previous Ritz vectors (Stathopoulos and Saad 1998,
//! "GD+k"; LOBPCG is the case of the smallest basis). The basis V is L_Y-orthonormal, so VᵀL_XV is an ordinary small
//! symmetric problem; residuals R = L_X X − L_Y X Θ of four Ritz pairs at a time are preconditioned by an approximate
//! Cholesky factor of L_Y and join the basis. The constant vector is subtracted from every new direction.
//!
//! - **Block of four.** A single vector may settle on a wrong eigenvalue. Three more vectors make that rare, and a panel of
//!   four costs little more than one vector. If fewer than four of the requested pairs are left, the next Ritz pairs fill
//!   the block as guards. This also separates clusters of eigenvalues at the end of the requested ones.
//! - **Soft locking.** A converged pair stays in the basis and adds no new directions. If its value moves, because a larger
//!   one was found late, it counts as not converged again.
//! - **Accuracy.** L_X V and L_Y V are combined like V, which adds a rounding error per restart. At the end, the residuals are
//!   computed from new products and measured in the true norm by a Laplacian solve. Only these residuals accept a pair. If
//!   they reject it, all products are computed again, because rounding may have been the reason.
//!
//! Read: `eigenpairs` (the loop), `Basis` (its state), `orthonormalize`.

use faer::Mat;
use rand_chacha::ChaCha8Rng;

use super::symmetric::symmetric_eigen;
use super::{
    EigenInfo, EigenMethod, EigenParams, GeneralizedEigenpairs, MEASURED_PART, Pencil, RitzPair,
    condition_at_least, guarded_panels,
};
use crate::error::Result;
use crate::laplacian::CgParams;
use crate::laplacian::panel::{
    Panel, Square, WIDTH, add_products, center, combinations, dots, gram, grams, multiply, negated, random,
    scale_add, zeros,
};
use crate::monitor::{Monitor, check_cancelled};
use crate::random::{Purpose, stream};

/// Directions whose share of the block's norm is below this are replaced by random ones.
const DEPENDENT: f64 = 1e-10;
/// Overlaps of directions of length 1 that need no second pass.
const ORTHOGONAL: f64 = 1e-12;
/// Overlaps of directions of length 1 so small that what they change in the products with L_Y may be taken from the
/// products at hand: that adds this part of a rounding error to the one that the product has.
const SMALL_OVERLAP: f64 = 1e-2;
/// Accuracy to which the final residuals are measured: their first digit matters only.
const MEASURE: CgParams = CgParams { tolerance: 5e-2, max_iterations: 200 };

/// Panels at which the basis is full: the kept ones, the previous ones, and room to grow.
fn most_panels(eigenpairs: usize) -> usize {
    2 * guarded_panels(eigenpairs) + 4
}

/// Bytes per node of the largest basis with both products of its vectors, and of what a restart makes of one of the three.
pub(crate) fn basis_bytes(eigenpairs: usize) -> usize {
    const PANEL: usize = WIDTH * size_of::<f64>();
    (3 * most_panels(eigenpairs) + guarded_panels(eigenpairs) + 1) * PANEL
}

/// Below this many nodes the basis would fill the space.
pub(super) fn fewest_nodes(eigenpairs: usize) -> usize {
    2 * WIDTH * most_panels(eigenpairs)
}

/// The loop.
pub(super) fn eigenpairs(
    problem: &dyn Pencil,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<GeneralizedEigenpairs> {
    let mut rng = stream(params.seed, Purpose::EigenStart);
    let mut basis = Basis::new(problem);
    let mut accepted = Accepted::new(params);
    let mut direction = start(problem, &mut rng);
    for iteration in 1..=params.max_iterations {
        check_cancelled(monitor)?;
        monitor.progress(iteration as u64, 0);
        basis.expand(direction, &mut rng);
        let ritz = basis.ritz();
        let targets = accepted.targets(&ritz.values);
        let residual = basis.residual(&ritz, targets);
        direction = zeros(residual.len());
        problem.solver().precondition(&residual, &mut direction);
        accepted.update(&ritz.values, targets, dots(&residual, &direction));
        if accepted.all(&ritz.values) {
            let pairs = basis.measured_pairs(&ritz, guarded_panels(params.eigenpairs));
            if pairs[..params.eigenpairs].iter().all(|pair| pair.residual <= params.tolerance * pair.value) {
                let info = EigenInfo { method: EigenMethod::Davidson, iterations: iteration };
                return Ok(GeneralizedEigenpairs::new(problem, pairs, params.eigenpairs, info));
            }
            // The preconditioner's norm flattered them, or the products had drifted: ask for more, of better ones.
            accepted.tighten();
            basis.form_products_again();
        }
        basis.restart_if_full(&ritz, targets, params.eigenpairs);
    }
    let reached = basis.measured_pairs(&basis.ritz(), guarded_panels(params.eigenpairs));
    let mut residuals: Vec<f64> = reached.iter().map(RitzPair::relative_residual).collect();
    let best = reached.first().map(|pair| pair.vector.clone()).unwrap_or_default();
    // The last iteration may have been the one that was needed, or rounding in the products hid that it was not.
    if let Some(reached) = measured_by_differences(problem, reached, params) {
        let info = EigenInfo { method: EigenMethod::Davidson, iterations: params.max_iterations };
        return Ok(GeneralizedEigenpairs::new(problem, reached, params.eigenpairs, info));
    }
    let condition = condition_at_least(problem, &best);
    // A basis that is still smaller than r says nothing of the last pairs.
    residuals.resize(params.eigenpairs, f64::INFINITY);
    Err(params.not_converged("the eigenpairs", residuals, condition))
}

/// The pairs with residuals measured without cancellation, where all that are wanted pass then.
fn measured_by_differences(
    problem: &dyn Pencil,
    mut pairs: Vec<RitzPair>,
    params: &EigenParams,
) -> Option<Vec<RitzPair>> {
    if pairs.len() < params.eigenpairs {
        return None;
    }
    let is_reached = |pair: &RitzPair| pair.residual <= params.tolerance * pair.value;
    for pair in pairs[..params.eigenpairs].iter_mut().filter(|pair| !is_reached(pair)) {
        let norm = problem.right().quadratic_form(&pair.vector);
        let value = problem.left_form(&pair.vector) / norm;
        let residual = problem.residual_by_differences(&pair.vector, value)?;
        let (solution, info) = problem.solver().solve(&residual, &MEASURE);
        if !info.converged(&MEASURE) {
            return None;
        }
        let squared: f64 = residual.iter().zip(&solution).map(|(r, x)| r * x).sum();
        pair.residual = pair.residual.min((squared.max(0.0) / MEASURED_PART / norm).sqrt());
    }
    pairs[..params.eigenpairs].iter().all(is_reached).then_some(pairs)
}

/// A random block after one step of the power method, M⁻¹ L_X: most of what is not wanted is gone at once.
fn start(problem: &dyn Pencil, rng: &mut ChaCha8Rng) -> Panel {
    let noise = random(problem.nodes(), rng);
    let mut product = zeros(problem.nodes());
    problem.apply_left(&noise, &mut product);
    let mut direction = noise;
    problem.solver().precondition(&product, &mut direction);
    direction
}

/// Which wanted pairs have converged, remembered by their values.
struct Accepted {
    values: Vec<Option<f64>>,
    /// Relative residual, in the preconditioner's norm, that counts as converged.
    tolerance: f64,
    /// Relative change of a value that makes it another one.
    same: f64,
}

impl Accepted {
    fn new(params: &EigenParams) -> Self {
        Self { values: vec![None; params.eigenpairs], tolerance: params.tolerance, same: params.tolerance }
    }

    fn holds(&self, index: usize, ritz: &[f64]) -> bool {
        self.values[index].is_some_and(|value| (ritz[index] - value).abs() <= self.same * value)
    }

    fn all(&self, ritz: &[f64]) -> bool {
        (0..self.values.len()).all(|index| self.holds(index, ritz))
    }

    /// The first four pairs that have not converged, wanted ones before guards.
    fn targets(&self, ritz: &[f64]) -> [usize; WIDTH] {
        let wanted = self.values.len();
        let mut open = (0..).filter(|&index| index >= wanted || !self.holds(index, ritz));
        std::array::from_fn(|_| open.next().unwrap_or(0).min(ritz.len() - 1))
    }

    fn update(&mut self, ritz: &[f64], targets: [usize; WIDTH], squared_residuals: [f64; WIDTH]) {
        for (index, squared) in targets.into_iter().zip(squared_residuals) {
            if index < self.values.len() {
                let converged = squared.max(0.0).sqrt() <= self.tolerance * ritz[index];
                self.values[index] = converged.then_some(ritz[index]);
            }
        }
    }

    fn tighten(&mut self) {
        self.tolerance /= 2.0;
        self.values.fill(None);
    }
}

/// Ritz values in descending order and the coefficients of the Ritz vectors in the basis, as columns.
struct Ritz {
    values: Vec<f64>,
    coefficients: Mat<f64>,
}

/// An L_Y-orthonormal basis V with L_X V, L_Y V and VᵀL_XV.
struct Basis<'p> {
    problem: &'p dyn Pencil,
    vectors: Vec<Panel>,
    input_products: Vec<Panel>,
    output_products: Vec<Panel>,
    projected: Mat<f64>,
    /// Coefficients of the Ritz vectors expanded last, in the basis before that expansion.
    previous: Option<Mat<f64>>,
}

impl<'p> Basis<'p> {
    fn new(problem: &'p dyn Pencil) -> Self {
        Self {
            problem,
            vectors: Vec::new(),
            input_products: Vec::new(),
            output_products: Vec::new(),
            projected: Mat::zeros(0, 0),
            previous: None,
        }
    }

    fn columns(&self) -> usize {
        WIDTH * self.vectors.len()
    }

    /// Adds four directions.
    fn expand(&mut self, mut direction: Panel, rng: &mut ChaCha8Rng) {
        let output_product = self.orthonormalize(&mut direction, rng);
        let mut input_product = zeros(direction.len());
        self.problem.apply_left(&direction, &mut input_product);
        let old = self.columns();
        self.vectors.push(direction);
        self.output_products.push(output_product);
        let blocks = grams(&self.vectors, &input_product);
        self.input_products.push(input_product);
        self.projected = Mat::from_fn(old + WIDTH, old + WIDTH, |i, j| {
            let (row, column) = (i.min(j), i.max(j));
            if column < old { self.projected[(i, j)] } else { blocks[row / WIDTH][row % WIDTH][column - old] }
        });
    }

    /// Makes four directions L_Y-orthonormal to the basis and to each other; returns their products with L_Y.
    ///
    /// Two passes are enough for orthogonality to the last digits, and one where it left no overlap; they are counted from
    /// the last one in which a dependent direction had to be replaced.
    fn orthonormalize(&self, direction: &mut Panel, rng: &mut ChaCha8Rng) -> Panel {
        let mut product = zeros(direction.len());
        let mut clean_passes = 0;
        while clean_passes < 2 {
            if clean_passes == 1 && self.is_orthogonal(direction) {
                break;
            }
            let overlaps = grams(&self.output_products, direction);
            let overlaps: Vec<_> = self.vectors.iter().zip(overlaps.iter().map(negated)).collect();
            let largest = overlaps
                .iter()
                .flat_map(|(_, overlap)| overlap.as_flattened())
                .fold(0.0, |m: f64, o| m.max(o.abs()));
            add_products(direction, &overlaps);
            center(direction);
            if clean_passes == 1 && largest <= SMALL_OVERLAP {
                let coefficients = overlaps.iter().map(|&(_, overlap)| overlap);
                let changes: Vec<_> = self.output_products.iter().zip(coefficients).collect();
                add_products(&mut product, &changes);
            } else {
                self.problem.right().apply_panel(direction, &mut product);
            }
            let (whitening, dependent) = whitening(&gram(direction, &product));
            multiply(direction, &whitening);
            multiply(&mut product, &whitening);
            if dependent.contains(&true) {
                let noise = random(direction.len(), rng);
                let replace = dependent.map(|replace| if replace { 1.0 } else { 0.0 });
                scale_add(direction, replace.map(|replace| 1.0 - replace), &noise, replace);
                clean_passes = 0;
            } else {
                clean_passes += 1;
            }
        }
        product
    }

    /// Whether a pass left no overlap. The first panel tells for all of them, since rounding is what leaves overlaps.
    fn is_orthogonal(&self, direction: &Panel) -> bool {
        self.output_products.first().is_none_or(|products| {
            gram(products, direction).as_flattened().iter().all(|overlap| overlap.abs() <= ORTHOGONAL)
        })
    }

    fn ritz(&self) -> Ritz {
        let spectrum = symmetric_eigen(self.projected.as_ref())
            .expect("a symmetric matrix of finite numbers has a spectrum");
        Ritz { values: spectrum.values, coefficients: spectrum.vectors }
    }

    /// L_X x − θ L_Y x of four Ritz pairs.
    fn residual(&self, ritz: &Ritz, targets: [usize; WIDTH]) -> Panel {
        let mut residual = zeros(self.problem.nodes());
        let products: Vec<(&Panel, Square)> = (0..self.vectors.len())
            .flat_map(|panel| {
                let coefficient = coefficients_of(&ritz.coefficients, panel, targets);
                let shifted =
                    coefficient.map(|row| std::array::from_fn(|j| -row[j] * ritz.values[targets[j]]));
                [(&self.input_products[panel], coefficient), (&self.output_products[panel], shifted)]
            })
            .collect();
        add_products(&mut residual, &products);
        residual
    }

    /// The leading Ritz pairs with residuals formed again and measured by a Laplacian solve.
    fn measured_pairs(&self, ritz: &Ritz, panels: usize) -> Vec<RitzPair> {
        let panels = panels.min(self.vectors.len());
        let squares = leading_squares(&ritz.coefficients, self.vectors.len(), panels);
        combinations(&self.vectors, &squares)
            .into_iter()
            .enumerate()
            .flat_map(|(panel, vectors)| {
                let values: [f64; WIDTH] = std::array::from_fn(|lane| ritz.values[panel * WIDTH + lane]);
                let residual = self.problem.residual(&vectors, values);
                let (solution, info) = self.problem.solver().solve_panel(&residual, &MEASURE);
                // rᵀx falls short of rᵀL_Y⁺r by what the solve leaves; one that failed says nothing.
                let part = if info.converged(&MEASURE) { MEASURED_PART } else { 0.0 };
                let squared = dots(&residual, &solution).map(|squared| squared.max(0.0) / part);
                (0..WIDTH).map(move |lane| RitzPair {
                    value: values[lane],
                    vector: vectors.iter().map(|row| row[lane]).collect(),
                    residual: squared[lane].sqrt(),
                })
            })
            .collect()
    }

    /// Forms the products and VᵀL_XV again.
    fn form_products_again(&mut self) {
        let problem = self.problem;
        for (panel, vectors) in self.vectors.iter().enumerate() {
            problem.apply_left(vectors, &mut self.input_products[panel]);
            problem.right().apply_panel(vectors, &mut self.output_products[panel]);
        }
        let blocks: Vec<Vec<Square>> = self.vectors.iter().map(|v| grams(&self.input_products, v)).collect();
        self.projected = Mat::from_fn(self.columns(), self.columns(), |i, j| {
            let (row, column) = (i.min(j), i.max(j));
            blocks[row / WIDTH][column / WIDTH][column % WIDTH][row % WIDTH]
        });
    }

    /// Shrinks a full basis to the leading Ritz vectors and the previous ones.
    fn restart_if_full(&mut self, ritz: &Ritz, targets: [usize; WIDTH], eigenpairs: usize) {
        if self.vectors.len() < most_panels(eigenpairs) {
            self.previous =
                Some(Mat::from_fn(self.columns(), WIDTH, |i, j| ritz.coefficients[(i, targets[j])]));
            return;
        }
        let coefficients = self.restart_coefficients(ritz, guarded_panels(eigenpairs) * WIDTH);
        let squares = leading_squares(&coefficients, self.vectors.len(), coefficients.ncols() / WIDTH);
        for kept in [&mut self.vectors, &mut self.input_products, &mut self.output_products] {
            *kept = combinations(kept, &squares);
        }
        self.projected = coefficients.transpose() * &self.projected * &coefficients;
        self.previous = None;
    }

    /// Coefficients of the kept Ritz vectors, then of the previous ones, orthonormal. In the coordinates of an
    /// L_Y-orthonormal basis that is plain orthogonality.
    fn restart_coefficients(&self, ritz: &Ritz, kept: usize) -> Mat<f64> {
        let rows = self.columns();
        let mut columns: Vec<Vec<f64>> =
            (0..kept).map(|j| ritz.coefficients.col(j).iter().copied().collect()).collect();
        for j in 0..self.previous.as_ref().map_or(0, Mat::ncols) {
            let previous = self.previous.as_ref().expect("counted above");
            let old = previous.nrows();
            let column: Vec<f64> = (0..rows).map(|i| if i < old { previous[(i, j)] } else { 0.0 }).collect();
            // What a previous vector shares with the kept ones is nearly all of it; the next Ritz vector stands in
            // where nothing is left.
            let fallback = (kept + j).min(ritz.coefficients.ncols() - 1);
            let fallback = ritz.coefficients.col(fallback).iter().copied().collect();
            let next = orthonormal_to(&columns, column).or_else(|| orthonormal_to(&columns, fallback));
            columns.extend(next);
        }
        columns.truncate(columns.len() / WIDTH * WIDTH);
        Mat::from_fn(rows, columns.len(), |i, j| columns[j][i])
    }
}

/// The part of `column` orthogonal to orthonormal `columns`, normalized; `None` if nothing is left.
fn orthonormal_to(columns: &[Vec<f64>], mut column: Vec<f64>) -> Option<Vec<f64>> {
    for _ in 0..3 {
        for other in columns {
            let overlap: f64 = column.iter().zip(other).map(|(a, b)| a * b).sum();
            column.iter_mut().zip(other).for_each(|(a, b)| *a -= overlap * b);
        }
        let norm = column.iter().map(|a| a * a).sum::<f64>().sqrt();
        if norm < DEPENDENT {
            return None;
        }
        for entry in &mut column {
            *entry /= norm;
        }
    }
    Some(column)
}

/// The rows of panel `panel` and the columns `targets` of a coefficient matrix.
fn coefficients_of(coefficients: &Mat<f64>, panel: usize, targets: [usize; WIDTH]) -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| coefficients[(panel * WIDTH + i, targets[j])]))
}

/// The first columns of a coefficient matrix, as many as fill `panels`: for each panel that they make, what every old one adds.
fn leading_squares(coefficients: &Mat<f64>, old: usize, panels: usize) -> Vec<Vec<Square>> {
    let columns = |panel: usize| std::array::from_fn(|lane| panel * WIDTH + lane);
    let of_panel = |made| (0..old).map(|panel| coefficients_of(coefficients, panel, columns(made))).collect();
    (0..panels).map(of_panel).collect()
}

/// W with WᵀGW = 1 for a Gram matrix G, and the columns of W that mean nothing because their direction is dependent.
///
/// G is scaled to unit diagonal first: directions of very different length are equally welcome.
fn whitening(gram: &Square) -> (Square, [bool; WIDTH]) {
    let scale: [f64; WIDTH] =
        std::array::from_fn(|i| if gram[i][i] > 0.0 { gram[i][i].sqrt().recip() } else { 0.0 });
    let scaled = Mat::from_fn(WIDTH, WIDTH, |i, j| 0.5 * (gram[i][j] + gram[j][i]) * scale[i] * scale[j]);
    let Some(spectrum) = symmetric_eigen(scaled.as_ref()) else {
        return ([[0.0; WIDTH]; WIDTH], [true; WIDTH]);
    };
    let dependent: [bool; WIDTH] = std::array::from_fn(|j| spectrum.values[j] <= DEPENDENT);
    let whitening = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            if dependent[j] { 0.0 } else { scale[i] * spectrum.vectors[(i, j)] / spectrum.values[j].sqrt() }
        })
    });
    (whitening, dependent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::EigenProblem;
    use crate::graph::{ConnectedGraph, Graph, GraphPair, generators};
    use crate::monitor::Silent;
    use rand::SeedableRng;

    /// Directions that are all but in the basis keep overlaps after a first pass that need a second one.
    #[test]
    fn products_follow_directions_through_the_second_pass() {
        let output = ConnectedGraph::new(generators::grid(12, 15)).unwrap();
        let graphs = GraphPair::new(generators::cycle(180), output).unwrap();
        let problem = EigenProblem::new(&graphs, 0);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut basis = Basis::new(&problem);
        basis.expand(random(180, &mut rng), &mut rng);
        let mut direction = basis.vectors[0].clone();
        scale_add(&mut direction, [1.0; WIDTH], &random(180, &mut rng), [1e-9; WIDTH]);
        let product = basis.orthonormalize(&mut direction, &mut rng);
        let mut expected = zeros(180);
        problem.right().apply_panel(&direction, &mut expected);
        let errors = product
            .iter()
            .zip(&expected)
            .flat_map(|(a, b)| std::array::from_fn::<_, WIDTH, _>(|i| a[i] - b[i]));
        assert!(errors.fold(0.0, |largest: f64, error| largest.max(error.abs())) < 1e-12);
        let overlaps = [gram(&basis.vectors[0], &product), gram(&direction, &product)];
        for (overlap, diagonal) in overlaps.iter().zip([0.0, 1.0]) {
            for (i, row) in overlap.iter().enumerate() {
                for (j, &entry) in row.iter().enumerate() {
                    let expected = if i == j { diagonal } else { 0.0 };
                    assert!((entry - expected).abs() < 1e-12, "{overlap:?}");
                }
            }
        }
    }

    /// Products are combined at many restarts here, and rounding is amplified by a long strip's smallest eigenvalue.
    #[test]
    fn the_tightest_tolerance_is_reached_on_an_ill_conditioned_pair() {
        let output = ConnectedGraph::new(generators::grid(5, 300)).unwrap();
        let mut edges: Vec<_> = generators::cycle(1500).edges().map(|(p, q, _)| (p, q)).collect();
        edges.extend((0..1500).map(|p| (p, (p * p + 31 * p + 7) % 1500)).filter(|(p, q)| p != q));
        let graphs = GraphPair::new(Graph::from_edges(1500, &edges).unwrap(), output).unwrap();
        let problem = EigenProblem::new(&graphs, 0);
        let params = EigenParams { eigenpairs: 6, tolerance: 1e-11, ..EigenParams::default() };
        let pairs = eigenpairs(&problem, &params, &Silent).unwrap();
        assert!(pairs.info().iterations > 30, "{}", pairs.info().iterations);
        let exact = problem.all_eigenvalues(&Silent).unwrap();
        for (value, exact) in pairs.values().iter().zip(exact) {
            assert!((value / exact - 1.0).abs() < 1e-9, "{value} for {exact}");
        }
    }
}
