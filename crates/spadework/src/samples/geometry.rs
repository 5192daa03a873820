//! Samples transformed so that plain distances between them are the requested ones.
//!
//! Standardized columns and unit rows are new numbers, in double precision. The other metrics leave the numbers as they are and only
//! choose the norm of differences. Every row is computed by itself, in a fixed order of summation: copies of a row stay copies to the
//! last bit, and no result depends on the number of threads.

use rayon::prelude::*;

use super::{Metric, Norm, Samples, Side, Standardize};
use crate::error::{Error, Result};
use crate::scaling::{even_exponent, exponent_to_one, scaled};

/// Rows or columns that an error names; of the others it gives the number.
const NAMED: usize = 5;

/// How distances on one side are computed: how its columns are scaled first, then the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Geometry {
    /// The distance.
    pub metric: Metric,
    /// What is done to the columns before.
    pub standardize: Standardize,
}

impl Geometry {
    /// Distances by a metric, of standardized columns or of columns as they are.
    pub fn new(metric: Metric, standardize: Standardize) -> Self {
        Self { metric, standardize }
    }

    /// Computes from samples what new samples of this side need: means and scales of the columns, if these are standardized.
    ///
    /// # Errors
    /// [`Error::NoSpread`] if a column has an interquartile range of 0 although it is not constant.
    pub fn fit(self, side: Side, samples: &Samples<'_>) -> Result<FittedGeometry> {
        let columns = match self.standardize {
            Standardize::None => None,
            Standardize::Standard => Some(standard_columns(samples)),
            Standardize::Robust => Some(robust_columns(side, samples)?),
        };
        Ok(FittedGeometry { side, metric: self.metric, columns })
    }

    /// Transforms samples so that plain distances between them are the requested ones. Nothing is copied if only the norm
    /// differs, unless the squares of all numbers lose digits: then the numbers, and with them the distances, are multiplied by
    /// a power of two.
    ///
    /// # Errors
    /// As [`Geometry::fit`] and [`FittedGeometry::place`], and [`Error::AllEqual`] if all rows are equal afterwards.
    ///
    /// ```
    /// use spadework::Samples;
    /// use spadework::neighbors::squared_distance_between;
    /// use spadework::samples::{Geometry, Metric, Side, Standardize};
    /// let samples = Samples::from_f64(3, 2, vec![3.0, 0.0, 0.0, 0.5, 7.0, 7.0])?;
    /// let placed = |metric| Geometry::new(metric, Standardize::None).place(Side::Input, samples.view());
    /// // A right angle, and half of one.
    /// assert!((squared_distance_between(&placed(Metric::Cosine)?, 0, 1) - 2.0).abs() < 1e-15);
    /// assert_eq!(squared_distance_between(&placed(Metric::Manhattan)?, 0, 1), 3.5 * 3.5);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn place(self, side: Side, samples: Samples<'_>) -> Result<Samples<'_>> {
        let len = samples.len();
        let placed =
            if self == Self::default() { samples } else { self.fit(side, &samples)?.place(samples)? };
        if self != Self::default() && len > 1 && placed.all_equal() {
            return Err(Error::AllEqual { side, samples: len });
        }
        Ok(placed.enlarged().unwrap_or(placed))
    }
}

/// A [`Geometry`] that knows the columns of its samples, for new samples of the same side.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedGeometry {
    side: Side,
    metric: Metric,
    columns: Option<Vec<Column>>,
}

/// What one column is moved by, and what it is divided by then.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Column {
    /// The power of two that all its numbers are multiplied by first: squares of tiny ones, and means of the tiniest, lose digits.
    exponent: i32,
    center: f64,
    scale: f64,
}

impl Column {
    /// A constant column tells no rows apart: all of it becomes 0, and so does what new samples have in it.
    const CONSTANT: Column = Column { exponent: 0, center: 0.0, scale: f64::INFINITY };

    fn apply(self, value: f64) -> f64 {
        (scaled(value, self.exponent) - self.center) / self.scale
    }
}

/// The power of two that brings the numbers of a column near 1; 0 for ordinary ones.
fn exponent_of(values: impl Iterator<Item = f64>) -> i32 {
    exponent_to_one(values.fold(0.0, |largest, value| largest.max(value.abs())))
}

impl FittedGeometry {
    /// Transforms new samples with the means and scales of the fitted ones.
    ///
    /// # Errors
    /// [`Error::ZeroRows`] under [`Metric::Cosine`] if a row is zero; [`Error::TooLarge`] if distances overflow.
    pub fn place<'a>(&self, samples: Samples<'a>) -> Result<Samples<'a>> {
        let samples = match &self.columns {
            None => samples,
            Some(columns) => standardized(&samples, columns)?,
        };
        match self.metric {
            // Samples that have a place already keep their norm.
            Metric::Euclidean => Ok(samples),
            Metric::Cosine => unit_rows(self.side, &samples),
            Metric::Manhattan | Metric::Chebyshev => samples.with_norm(Norm::from(self.metric)),
        }
    }
}

/// The numbers of some samples, one at a time.
#[derive(Clone, Copy)]
struct Numbers<'s>(&'s Samples<'s>);

impl Numbers<'_> {
    fn at(self, row: usize, column: usize) -> f64 {
        self.0.values().get(row * self.0.dim() + column)
    }

    fn column(self, column: usize) -> impl Iterator<Item = f64> {
        (0..self.0.len()).map(move |row| self.at(row, column))
    }

    fn row(self, row: usize) -> impl Iterator<Item = f64> {
        (0..self.0.dim()).map(move |column| self.at(row, column))
    }
}

fn is_constant(mut values: impl Iterator<Item = f64>) -> bool {
    let first = values.next();
    values.all(|value| Some(value) == first)
}

fn standard_columns(samples: &Samples<'_>) -> Vec<Column> {
    let numbers = Numbers(samples);
    let of = |column: usize| {
        if is_constant(numbers.column(column)) {
            return Column::CONSTANT;
        }
        let len = samples.len() as f64;
        let exponent = exponent_of(numbers.column(column));
        let values = || numbers.column(column).map(|value| scaled(value, exponent));
        let center = values().map(|value| value / len).sum::<f64>();
        let variance = values().map(|value| (value - center).powi(2) / len).sum::<f64>();
        Column { exponent, center, scale: variance.sqrt() }
    };
    (0..samples.dim()).into_par_iter().map(of).collect()
}

fn robust_columns(side: Side, samples: &Samples<'_>) -> Result<Vec<Column>> {
    let numbers = Numbers(samples);
    let of = |column: usize| {
        let exponent = exponent_of(numbers.column(column));
        let mut values: Vec<f64> = numbers.column(column).map(|value| scaled(value, exponent)).collect();
        values.sort_unstable_by(f64::total_cmp);
        if values[0] == values[values.len() - 1] {
            return Column::CONSTANT;
        }
        let scale = quantile(&values, 0.75) - quantile(&values, 0.25);
        Column { exponent, center: quantile(&values, 0.5), scale }
    };
    let columns: Vec<Column> = (0..samples.dim()).into_par_iter().map(of).collect();
    let without: Vec<usize> = (0..columns.len()).filter(|&at| columns[at].scale == 0.0).collect();
    match without.len() {
        0 => Ok(columns),
        count => Err(Error::NoSpread { side, count, columns: listed(&without) }),
    }
}

/// A quantile by linear interpolation between the two values next to it.
fn quantile(ascending: &[f64], part: f64) -> f64 {
    let place = part * (ascending.len() - 1) as f64;
    let (low, high) = (ascending[place.floor() as usize], ascending[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// Some numbers, and whether there are more.
fn listed(indices: &[usize]) -> String {
    let words: Vec<String> = indices.iter().take(NAMED).map(usize::to_string).collect();
    let more = if indices.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", words.join(", "))
}

fn standardized(samples: &Samples<'_>, columns: &[Column]) -> Result<Samples<'static>> {
    let numbers = Numbers(samples);
    let (len, dim) = (samples.len(), samples.dim());
    let mut values = vec![0.0; len * dim];
    values.par_chunks_exact_mut(dim).enumerate().for_each(|(row, placed)| {
        for ((placed, value), column) in placed.iter_mut().zip(numbers.row(row)).zip(columns) {
            *placed = column.apply(value);
        }
    });
    Samples::from_f64(len, dim, values)?.with_norm(samples.norm())
}

fn unit_rows(side: Side, samples: &Samples<'_>) -> Result<Samples<'static>> {
    let numbers = Numbers(samples);
    let (len, dim) = (samples.len(), samples.dim());
    let mut values = vec![0.0; len * dim];
    let lengths: Vec<bool> = values
        .par_chunks_exact_mut(dim)
        .enumerate()
        .map(|(row, unit)| {
            unit.iter_mut().zip(numbers.row(row)).for_each(|(unit, value)| *unit = value);
            normalize(unit)
        })
        .collect();
    zero_rows(side, &lengths)?;
    Samples::from_f64(len, dim, values)
}

/// Refuses rows that have no length.
pub(crate) fn zero_rows(side: Side, has_length: &[bool]) -> Result<()> {
    let zero: Vec<usize> = (0..has_length.len()).filter(|&row| !has_length[row]).collect();
    match zero.len() {
        0 => Ok(()),
        count => Err(Error::ZeroRows { side, count, rows: listed(&zero) }),
    }
}

/// Divides a row by its length; `false` where it has none.
pub(crate) fn normalize(row: &mut [f64]) -> bool {
    let squares = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>();
    let mut sum = squares(row);
    // Squares of very small numbers lose digits, or all of them.
    if sum < f64::MIN_POSITIVE / f64::EPSILON {
        let largest = row.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        if largest == 0.0 {
            return false;
        }
        let exponent = -even_exponent(largest);
        for value in row.iter_mut() {
            *value = scaled(*value, exponent);
        }
        sum = squares(row);
    }
    let length = sum.sqrt();
    for value in row.iter_mut() {
        *value /= length;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(samples: &Samples<'_>) -> Vec<f64> {
        Numbers(samples).row(0).chain((1..samples.len()).flat_map(|row| Numbers(samples).row(row))).collect()
    }

    fn placed(metric: Metric, standardize: Standardize, rows: usize, numbers: Vec<f64>) -> Result<Vec<f64>> {
        let samples = Samples::from_f64(rows, numbers.len() / rows, numbers)?;
        Ok(values(&Geometry::new(metric, standardize).place(Side::Input, samples)?))
    }

    #[test]
    fn unit_rows_have_length_one_however_small_they_are() {
        let unit = placed(Metric::Cosine, Standardize::None, 2, vec![3.0, 4.0, -3e-200, 4e-200]).unwrap();
        assert_eq!(unit, [0.6, 0.8, -0.6, 0.8].map(|value: f64| value));
    }

    #[test]
    fn zero_rows_are_named() {
        let rows: Vec<f64> =
            (0..16).map(|at| if at / 2 % 2 == 0 { 1.0 + f64::from(at) } else { 0.0 }).collect();
        let error = placed(Metric::Cosine, Standardize::None, 8, rows).unwrap_err();
        assert_eq!(error, Error::ZeroRows { side: Side::Input, count: 4, rows: "1, 3, 5, 7".to_owned() });
    }

    #[test]
    fn columns_have_mean_0_and_deviation_1_and_constant_ones_vanish() {
        let found = placed(Metric::Euclidean, Standardize::Standard, 2, vec![1.0, 5.0, 0.1, 3.0, 9.0, 0.1]);
        assert_eq!(found.unwrap(), [-1.0, -1.0, 0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn tiny_columns_are_standardized_as_others_are() {
        for standardize in [Standardize::Standard, Standardize::Robust] {
            let at = |exponent: i32| {
                let numbers = [1.0, 5.0, 2.0, 9.0, 4.0, -1.0].map(|value| scaled(value, exponent));
                placed(Metric::Euclidean, standardize, 6, numbers.to_vec()).unwrap()
            };
            for exponent in [-500, -600, -1074] {
                assert_eq!(at(exponent), at(0), "2^{exponent}");
            }
        }
    }

    #[test]
    fn robust_columns_have_median_0_and_range_1() {
        let found = placed(Metric::Euclidean, Standardize::Robust, 5, vec![0.0, 1.0, 2.0, 3.0, 1000.0]);
        assert_eq!(found.unwrap(), [-1.0, -0.5, 0.0, 0.5, 499.0]);
    }

    #[test]
    fn a_column_that_is_mostly_one_value_has_no_range() {
        let error =
            placed(Metric::Euclidean, Standardize::Robust, 5, vec![0.0, 0.0, 0.0, 0.0, 1.0]).unwrap_err();
        assert_eq!(error, Error::NoSpread { side: Side::Input, count: 1, columns: "0".to_owned() });
    }

    #[test]
    fn parallel_rows_are_one_point_under_cosine() {
        let error = placed(Metric::Cosine, Standardize::None, 2, vec![1.0, 1.0, 2.0, 2.0]).unwrap_err();
        assert_eq!(error, Error::AllEqual { side: Side::Input, samples: 2 });
    }

    #[test]
    fn new_samples_are_placed_by_the_columns_of_the_old() {
        let old = Samples::from_f64(2, 1, vec![0.0, 2.0]).unwrap();
        let fitted = Geometry::new(Metric::Euclidean, Standardize::Standard).fit(Side::Input, &old).unwrap();
        let new = fitted.place(Samples::from_f64(1, 1, vec![5.0]).unwrap()).unwrap();
        assert_eq!(values(&new), [4.0]);
    }
}
