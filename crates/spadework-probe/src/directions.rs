//! The first directions of a search, along which the data say that the margin shrinks, from inputs and outputs alone.
//!
//! For a sample of class c whose runner-up is j, the first direction is column j minus column c of a ridge regression of the
//! outputs on the inputs. The second is the mean of the inputs of class j minus that of class c. Neither needs a run of the model.
//!
//! The regression is solved in its dual form, W = Xᵀ(XXᵀ + λI)⁻¹Y on centered rows with λ the mean of the diagonal of XXᵀ, over at
//! most [`MOST_FITTED`] samples.

use rayon::prelude::*;

/// Samples behind the regression at most.
const MOST_FITTED: usize = 1024;
/// Multiplications that its matrix may cost: fewer samples of larger inputs.
const MOST_PRODUCTS: usize = 1 << 31;

/// Directions of all samples that are probed.
pub(crate) struct Directions {
    dim: usize,
    outputs: usize,
    /// Rows of the fitted samples, centered.
    fitted: Vec<f32>,
    /// (XXᵀ + λI)⁻¹Y, a row per fitted sample.
    coefficients: Vec<f64>,
    /// The mean input of every class; that of all where a class has none.
    means: Vec<Vec<f32>>,
}

impl Directions {
    /// Finds them from rows of `dim` numbers, their outputs and their classes.
    pub(crate) fn of(rows: &[f32], dim: usize, outputs: &[f64], classes: &[usize]) -> Self {
        let samples = classes.len();
        let columns = outputs.len() / samples;
        let most = ((MOST_PRODUCTS / dim) as f64).sqrt() as usize;
        let step = samples.div_ceil(most.clamp(2, MOST_FITTED));
        let chosen: Vec<usize> = (0..samples).step_by(step).collect();
        let mut fitted: Vec<f32> =
            chosen.iter().flat_map(|&at| rows[at * dim..(at + 1) * dim].iter().copied()).collect();
        center(&mut fitted, dim);
        let mut answers: Vec<f64> =
            chosen.iter().flat_map(|&at| outputs[at * columns..(at + 1) * columns].iter().copied()).collect();
        center_columns(&mut answers, columns);
        solve_ridge(&fitted, dim, &mut answers, columns);
        let means = class_means(rows, dim, classes, columns);
        Self { dim, outputs: columns, fitted, coefficients: answers, means }
    }

    /// The directions of a sample with this class and runner-up, the regression's first.
    pub(crate) fn toward(&self, class: usize, runner_up: usize) -> [Vec<f32>; 2] {
        let mut ridge = vec![0.0_f32; self.dim];
        for (row, of_row) in
            self.fitted.chunks_exact(self.dim).zip(self.coefficients.chunks_exact(self.outputs))
        {
            let weight = (of_row[runner_up] - of_row[class]) as f32;
            ridge.iter_mut().zip(row).for_each(|(sum, number)| *sum += weight * number);
        }
        let means = self.means[runner_up].iter().zip(&self.means[class]).map(|(to, from)| to - from);
        [ridge, means.collect()]
    }
}

fn center(rows: &mut [f32], dim: usize) {
    let count = (rows.len() / dim) as f64;
    let mut sums = vec![0.0_f64; dim];
    for row in rows.chunks_exact(dim) {
        sums.iter_mut().zip(row).for_each(|(sum, &number)| *sum += f64::from(number));
    }
    for row in rows.chunks_exact_mut(dim) {
        row.iter_mut().zip(&sums).for_each(|(number, sum)| *number -= (sum / count) as f32);
    }
}

fn center_columns(rows: &mut [f64], columns: usize) {
    let count = (rows.len() / columns) as f64;
    for column in 0..columns {
        let mean = rows.iter().skip(column).step_by(columns).sum::<f64>() / count;
        rows.iter_mut().skip(column).step_by(columns).for_each(|number| *number -= mean);
    }
}

/// Replaces Y by (XXᵀ + λI)⁻¹Y.
fn solve_ridge(rows: &[f32], dim: usize, answers: &mut [f64], columns: usize) {
    let count = rows.len() / dim;
    let row = |at: usize| &rows[at * dim..(at + 1) * dim];
    let mut lower: Vec<Vec<f64>> =
        (0..count).into_par_iter().map(|p| (0..=p).map(|q| product(row(p), row(q))).collect()).collect();
    let penalty = (0..count).map(|p| lower[p][p]).sum::<f64>() / count as f64;
    for (p, row) in lower.iter_mut().enumerate() {
        // Samples that are all alike leave a matrix of zeros.
        row[p] += penalty.max(f64::MIN_POSITIVE.sqrt());
    }
    factorize(&mut lower);
    for column in 0..columns {
        let mut side: Vec<f64> = answers.iter().skip(column).step_by(columns).copied().collect();
        solve_factorized(&lower, &mut side);
        answers
            .iter_mut()
            .skip(column)
            .step_by(columns)
            .zip(side)
            .for_each(|(answer, value)| *answer = value);
    }
}

fn product(a: &[f32], b: &[f32]) -> f64 {
    // Sums of a few numbers in single precision each, so that the loop is done several numbers at a time.
    let sums = a.chunks(64).zip(b.chunks(64)).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>());
    sums.map(f64::from).sum()
}

/// Cholesky's factor in place of the lower half of a positive definite matrix.
fn factorize(lower: &mut [Vec<f64>]) {
    for p in 0..lower.len() {
        let (above, rest) = lower.split_at_mut(p);
        let row = &mut rest[0];
        for (q, other) in above.iter().enumerate() {
            let known: f64 = row[..q].iter().zip(&other[..q]).map(|(a, b)| a * b).sum();
            row[q] = (row[q] - known) / other[q];
        }
        let known: f64 = row[..p].iter().map(|value| value * value).sum();
        row[p] = (row[p] - known).max(f64::MIN_POSITIVE).sqrt();
    }
}

fn solve_factorized(lower: &[Vec<f64>], side: &mut [f64]) {
    for (p, row) in lower.iter().enumerate() {
        let known: f64 = row[..p].iter().zip(&side[..p]).map(|(a, b)| a * b).sum();
        side[p] = (side[p] - known) / row[p];
    }
    for p in (0..lower.len()).rev() {
        side[p] /= lower[p][p];
        let (before, value) = (&lower[p][..p], side[p]);
        side[..p].iter_mut().zip(before).for_each(|(side, factor)| *side -= factor * value);
    }
}

fn class_means(rows: &[f32], dim: usize, classes: &[usize], count: usize) -> Vec<Vec<f32>> {
    let mut sums = vec![vec![0.0_f64; dim]; count + 1];
    let mut counts = vec![0_usize; count + 1];
    for (row, &class) in rows.chunks_exact(dim).zip(classes) {
        // The last sum is over all classes.
        for of in [class, count] {
            counts[of] += 1;
            sums[of].iter_mut().zip(row).for_each(|(sum, &number)| *sum += f64::from(number));
        }
    }
    let mean = |class: usize| {
        let of = if counts[class] > 0 { class } else { count };
        sums[of].iter().map(|sum| (sum / counts[of] as f64) as f32).collect()
    };
    (0..count).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one input per sample, ridge regression is Σ x y / (Σ x² + λ) on centered numbers; λ is the mean of the x².
    #[test]
    fn the_regression_of_one_number_is_known() {
        let rows = [1.0_f32, 2.0, 3.0, 6.0];
        let outputs = [0.0, 1.0, 0.5, 2.0, 1.0, 4.0, 0.0, 3.0];
        let found = Directions::of(&rows, 1, &outputs, &[1, 1, 1, 1]);
        let (x, first, second) = ([-2.0, -1.0, 0.0, 3.0], [0.0, 0.5, 1.0, 0.0], [1.0, 2.0, 4.0, 3.0]);
        let squares: f64 = x.iter().map(|x| x * x).sum();
        let column =
            |y: [f64; 4]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / (squares + squares / 4.0);
        let [ridge, means] = found.toward(1, 0);
        assert!((f64::from(ridge[0]) - (column(first) - column(second))).abs() < 1e-6, "{ridge:?}");
        // The first class has no sample, so that the mean of all stands for it: that of the second.
        assert_eq!(means, [0.0]);
    }

    /// Of many samples some stand for all, and of a linear model the regression finds its weights, shrunken alike.
    #[test]
    fn many_samples_of_a_linear_model_show_its_weights() {
        let number = |at: usize| ((at as f64 * 0.618_033_988_749_895).fract() - 0.5) as f32;
        let rows: Vec<f32> = (0..3000 * 2).map(|at| number(at * at % 7919)).collect();
        let outputs: Vec<f64> =
            rows.chunks_exact(2).flat_map(|x| [f64::from(3.0 * x[0] - x[1]), 0.0]).collect();
        let classes: Vec<usize> = outputs.chunks_exact(2).map(|y| usize::from(y[0] < 0.0)).collect();
        let found = Directions::of(&rows, 2, &outputs, &classes);
        assert!(found.fitted.len() / 2 <= MOST_FITTED);
        let [ridge, means] = found.toward(1, 0);
        assert!((ridge[0] / ridge[1] + 3.0).abs() < 0.2, "{ridge:?}");
        assert!(means[0] > 0.0 && means[1] < 0.0, "{means:?}");
    }
}
