//! Principal components: inputs in fewer dimensions, before their graph is made.
//!
//! The axes are the eigenvectors of the covariance of the samples, those of largest variance first. If a sample has
//! more numbers than there are samples, they come from the smaller matrix of products between samples: if (XXᵀ)u = λu,
//! then Xᵀu/√λ is an axis. Both are dense decompositions, exact up to rounding; nothing is sampled. The largest entry
//! of an axis is positive.
//!
//! Each row is projected by itself in a fixed order of summation, so that copies of a sample stay copies to the last bit,
//! and no result depends on the number of threads.

use faer::{Mat, MatRef, Side};
use rayon::prelude::*;

use super::Dimensions;
use crate::error::{Error, Result};
use crate::monitor::{Monitor, check_cancelled};
use crate::samples::Samples;

/// Largest side of the matrix that is decomposed: 8192² numbers are half a gigabyte.
const MOST_SIDE: usize = 8192;
/// Columns of the matrix that are multiplied together, the unit of parallel work.
const TILE: usize = 256;
/// Variances below this part of the largest are rounding.
const NOISE: f64 = 1e-13;

/// Samples in the coordinates of their principal components.
#[derive(Debug, Clone)]
pub struct Projection {
    samples: Samples<'static>,
    explained: f64,
}

impl Projection {
    /// The projected samples, in double precision.
    pub fn samples(&self) -> &Samples<'static> {
        &self.samples
    }

    /// Number of components kept.
    pub fn dimensions(&self) -> usize {
        self.samples.dim()
    }

    /// Share of the variance that they explain.
    pub fn explained(&self) -> f64 {
        self.explained
    }
}

/// Projects samples to their principal components.
///
/// # Errors
/// When more components are requested than exist, or when both n and d exceed 8192.
///
/// # Complexity
/// O(n d min(n, d)) in matrix products and O(min(n, d)³) for the decomposition.
///
/// ```
/// use spadework::graph::{Dimensions, project};
/// use spadework::{Samples, Silent};
/// // Four points near the diagonal of a square: one component holds nearly everything.
/// let samples = Samples::from_f64(4, 2, vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.1, 3.0, 2.9])?;
/// let projection = project(&samples, Dimensions::Variance(0.99), &Silent)?;
/// assert_eq!(projection.dimensions(), 1);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn project(samples: &Samples<'_>, dimensions: Dimensions, monitor: &dyn Monitor) -> Result<Projection> {
    let (len, dim) = (samples.len(), samples.dim());
    if len.min(dim) > MOST_SIDE {
        return Err(Error::ProjectionTooLarge { samples: len, dim, limit: MOST_SIDE });
    }
    let centered = Centered::new(samples);
    let spectrum = if dim <= len { centered.covariance(monitor)? } else { centered.products(monitor)? };
    check_cancelled(monitor)?;
    let total: f64 = spectrum.values.iter().sum();
    let kept = match dimensions {
        Dimensions::Count(count) => count,
        Dimensions::Variance(share) => spectrum.fewest_with(share * total),
    };
    // n points span n − 1 directions at most.
    let most = dim.min(len - 1);
    if kept == 0 || kept > most {
        return Err(Error::TooManyDimensions { most, samples: len, dim, got: kept });
    }
    let explained = (spectrum.values[..kept].iter().sum::<f64>() / total).min(1.0);
    let axes = centered.axes(&spectrum, kept);
    let values = centered.along(&axes, kept, monitor)?;
    Ok(Projection { samples: Samples::from_f64(len, kept, values)?, explained })
}

/// Variances in descending order (up to a common factor), and eigenvectors as columns in that order.
struct Variances {
    values: Vec<f64>,
    vectors: Mat<f64>,
    /// Whether the vectors have an entry per sample rather than an entry per dimension.
    of_samples: bool,
}

impl Variances {
    fn of(matrix: MatRef<'_, f64>, of_samples: bool) -> Result<Self> {
        let not_converged = |_| Error::NotConverged {
            what: "the principal components",
            iterations: 0,
            residuals: vec![f64::INFINITY],
            tolerance: NOISE,
            condition: None,
        };
        let decomposition = matrix.self_adjoint_eigen(Side::Lower).map_err(not_converged)?;
        let size = matrix.nrows();
        let ascending = decomposition.S().column_vector();
        let values = (0..size).rev().map(|i| ascending[i].max(0.0)).collect();
        let vectors = Mat::from_fn(size, size, |i, j| decomposition.U()[(i, size - 1 - j)]);
        Ok(Self { values, vectors, of_samples })
    }

    /// The fewest components whose variances add up to `wanted`.
    fn fewest_with(&self, wanted: f64) -> usize {
        let mut sum = 0.0;
        let reaches = |value: &f64| {
            sum += value;
            sum >= wanted
        };
        self.values.iter().position(reaches).map_or(self.values.len(), |at| at + 1)
    }
}

/// Samples less their mean, over the largest magnitude so that no product overflows or vanishes.
struct Centered<'a, 's> {
    samples: &'a Samples<'s>,
    mean: Vec<f64>,
    scale: f64,
}

impl<'a, 's> Centered<'a, 's> {
    fn new(samples: &'a Samples<'s>) -> Self {
        let (len, dim) = (samples.len(), samples.dim());
        let mut mean = vec![0.0; dim];
        let mut row = vec![0.0; dim];
        for p in 0..len {
            read_row(samples, p, &mut row);
            mean.iter_mut().zip(&row).for_each(|(mean, value)| *mean += value / len as f64);
        }
        let mut scale = 0.0_f64;
        for p in 0..len {
            read_row(samples, p, &mut row);
            scale = mean.iter().zip(&row).fold(scale, |scale, (mean, value)| scale.max((value - mean).abs()));
        }
        Self { samples, mean, scale: if scale > 0.0 { scale } else { 1.0 } }
    }

    fn row(&self, p: usize, row: &mut [f64]) {
        read_row(self.samples, p, row);
        row.iter_mut().zip(&self.mean).for_each(|(value, mean)| *value = (*value - mean) / self.scale);
    }

    /// XᵀX.
    fn covariance(&self, monitor: &dyn Monitor) -> Result<Variances> {
        let columns = |from: usize, to: usize| {
            let mut row = vec![0.0; self.samples.dim()];
            let mut panel = Mat::zeros(self.samples.len(), to - from);
            for p in 0..self.samples.len() {
                self.row(p, &mut row);
                (from..to).for_each(|j| panel[(p, j - from)] = row[j]);
            }
            panel
        };
        Variances::of(squared(self.samples.dim(), columns, monitor)?.as_ref(), false)
    }

    /// XXᵀ.
    fn products(&self, monitor: &dyn Monitor) -> Result<Variances> {
        let columns = |from: usize, to: usize| {
            let mut row = vec![0.0; self.samples.dim()];
            let mut panel = Mat::zeros(self.samples.dim(), to - from);
            for p in from..to {
                self.row(p, &mut row);
                row.iter().enumerate().for_each(|(j, &value)| panel[(j, p - from)] = value);
            }
            panel
        };
        Variances::of(squared(self.samples.len(), columns, monitor)?.as_ref(), true)
    }

    /// The first axes, one row of `kept` numbers per dimension; directions without variance are left at zero.
    fn axes(&self, spectrum: &Variances, kept: usize) -> Vec<f64> {
        let dim = self.samples.dim();
        let mut axes = vec![0.0; dim * kept];
        if spectrum.of_samples {
            let mut row = vec![0.0; dim];
            for p in 0..self.samples.len() {
                self.row(p, &mut row);
                for (axis, &value) in axes.chunks_exact_mut(kept).zip(&row) {
                    (0..kept).for_each(|i| axis[i] += value * spectrum.vectors[(p, i)]);
                }
            }
        } else {
            for (j, axis) in axes.chunks_exact_mut(kept).enumerate() {
                (0..kept).for_each(|i| axis[i] = spectrum.vectors[(j, i)]);
            }
        }
        for i in 0..kept {
            let column = || axes.iter().skip(i).step_by(kept).copied();
            let norm = column().map(|value| value * value).sum::<f64>().sqrt();
            let largest = column().fold(0.0_f64, |best, v| if v.abs() > best.abs() { v } else { best });
            let is_noise = spectrum.values[i] <= NOISE * spectrum.values[0];
            let factor = if is_noise { 0.0 } else { norm.recip().copysign(largest) };
            axes.iter_mut().skip(i).step_by(kept).for_each(|value| *value *= factor);
        }
        axes
    }

    /// Coordinates of every sample along the axes, in the units of the samples.
    fn along(&self, axes: &[f64], kept: usize, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let rows = (0..self.samples.len()).into_par_iter().map(|p| {
            check_cancelled(monitor)?;
            let mut row = vec![0.0; self.samples.dim()];
            self.row(p, &mut row);
            let mut coordinates = vec![0.0; kept];
            for (axis, &value) in axes.chunks_exact(kept).zip(&row) {
                coordinates.iter_mut().zip(axis).for_each(|(sum, entry)| *sum += value * entry);
            }
            for coordinate in &mut coordinates {
                *coordinate *= self.scale;
            }
            Ok(coordinates)
        });
        Ok(rows.collect::<Result<Vec<_>>>()?.concat())
    }
}

fn read_row(samples: &Samples<'_>, p: usize, row: &mut [f64]) {
    row.copy_from_slice(&samples.values().doubles(samples.place(p)));
}

/// AᵀA for A of `size` columns, tile by tile; each tile is one product, whatever the number of threads.
fn squared(
    size: usize,
    columns: impl Fn(usize, usize) -> Mat<f64> + Sync,
    monitor: &dyn Monitor,
) -> Result<Mat<f64>> {
    let tiles = size.div_ceil(TILE);
    let pairs: Vec<(usize, usize)> = (0..tiles).flat_map(|i| (i..tiles).map(move |j| (i, j))).collect();
    let range = |tile: usize| (tile * TILE, ((tile + 1) * TILE).min(size));
    let products = pairs
        .par_iter()
        .map(|&(i, j)| {
            check_cancelled(monitor)?;
            let left = columns(range(i).0, range(i).1);
            let product = if i == j {
                left.transpose() * &left
            } else {
                left.transpose() * columns(range(j).0, range(j).1)
            };
            Ok(product)
        })
        .collect::<Result<Vec<Mat<f64>>>>()?;
    let mut matrix = Mat::zeros(size, size);
    for ((i, j), product) in pairs.into_iter().zip(products) {
        let (top, left) = (range(i).0, range(j).0);
        for a in 0..product.nrows() {
            for b in 0..product.ncols() {
                matrix[(top + a, left + b)] = product[(a, b)];
                matrix[(left + b, top + a)] = product[(a, b)];
            }
        }
    }
    Ok(matrix)
}
