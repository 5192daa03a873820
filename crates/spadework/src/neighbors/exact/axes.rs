//! Principal axes of a sample of the rows.

use faer::{Mat, MatRef};
use rand::RngExt;

use super::RowSource;
use crate::neighbors::Element;
use crate::random::{Purpose, stream};

/// Rows that the axes are made from, per axis.
const SAMPLED_ROWS_PER_AXIS: usize = 4;
/// Numbers in the sample at most, and rows at least: long rows must not fill the memory.
const MOST_SAMPLED_NUMBERS: usize = 1 << 22;
const FEWEST_SAMPLED_ROWS: usize = 64;
/// Random directions beyond the axes wanted, which make the last axes good too.
const SPARE_DIRECTIONS: usize = 12;

/// About `count` orthonormal axes (columns), those of largest variance first: one step of subspace iteration on the
/// sample's covariance from random directions (Halko, Martinsson and Tropp 2011).
///
/// The random directions are fixed: any axes give the same neighbors.
pub(super) fn principal_axes<R: RowSource>(rows: R, center: &[f64], scale: f64, count: usize) -> Mat<f64> {
    let sample = sampled_rows(&rows, center, scale, count * SAMPLED_ROWS_PER_AXIS);
    let directions = (count + SPARE_DIRECTIONS).min(rows.dim()).min(sample.nrows());
    let mut rng = stream(0, Purpose::Axes);
    let random = Mat::from_fn(rows.dim(), directions, |_, _| rng.random_range(-1.0..1.0));
    let spread = sample.transpose() * (&sample * random);
    let basis = spread.qr().compute_thin_Q();
    rotate_to_variance(basis.as_ref(), sample.as_ref(), count.min(directions))
}

fn sampled_rows<R: RowSource>(rows: &R, center: &[f64], scale: f64, most: usize) -> Mat<f64> {
    let sampled = most.min(MOST_SAMPLED_NUMBERS / rows.dim()).max(FEWEST_SAMPLED_ROWS).min(rows.len());
    let mut sample = Mat::zeros(sampled, rows.dim());
    for i in 0..sampled {
        let p = i * rows.len() / sampled;
        for (j, (value, center)) in rows.row(p).iter().zip(center).enumerate() {
            sample[(i, j)] = (value.to_f64() - center) * scale;
        }
    }
    sample
}

/// Turns the basis so that its columns are the directions of decreasing variance of the sample within it.
fn rotate_to_variance(basis: MatRef<'_, f64>, sample: MatRef<'_, f64>, count: usize) -> Mat<f64> {
    let projected = sample * basis;
    let covariance = projected.transpose() * &projected;
    match covariance.self_adjoint_eigen(faer::Side::Lower) {
        Ok(spectrum) => {
            let size = basis.ncols();
            let turned = Mat::from_fn(size, count, |i, j| spectrum.U()[(i, size - 1 - j)]);
            basis * turned
        }
        // Unturned axes serve as well, only less.
        Err(_) => basis.subcols(0, count).to_owned(),
    }
}
