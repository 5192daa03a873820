//! Samples: the rows x_i and y_i that everything starts from, and how distances between them are taken.

mod geometry;
mod metric;

use std::borrow::Cow;
use std::ops::Range;

use half::{bf16, f16};

pub use geometry::{FittedGeometry, Geometry};
pub(crate) use geometry::{normalize, zero_rows};
pub(crate) use metric::Norm;
pub use metric::{Metric, Standardize};

use crate::checkpoint::Identity;
use crate::error::{Error, Result};
use crate::scaling::{even_exponent, scaled};
pub use crate::side::Side;

/// Numbers from this on have squares with all their digits, and so have differences that are 10¹⁵ times smaller. It is 2⁻⁴⁰⁰.
const RESOLVED: f64 = f64::from_bits((1023 - 400) << 52);

/// The numbers of [`Samples`], row after row, in their original type.
///
/// The value of an entry is always the number that [`Values::get`] returns; bytes are pixels.
#[derive(Debug, Clone)]
pub enum Values<'a> {
    /// Single precision.
    F32(Cow<'a, [f32]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
    /// Pixels: a byte x stands for x/255 in single precision, as image pipelines have it.
    U8(Cow<'a, [u8]>),
    /// Integers of 8 bits.
    I8(Cow<'a, [i8]>),
    /// Integers of 16 bits.
    I16(Cow<'a, [i16]>),
    /// Half precision.
    F16(Cow<'a, [f16]>),
    /// Brain floating point: single precision with fewer digits.
    Bf16(Cow<'a, [bf16]>),
}

/// Evaluates an expression with the numbers as a slice of their own type.
macro_rules! with_values {
    ($values:expr, $slice:ident => $body:expr) => {
        match $values {
            $crate::samples::Values::F32($slice) => $body,
            $crate::samples::Values::F64($slice) => $body,
            $crate::samples::Values::U8($slice) => $body,
            $crate::samples::Values::I8($slice) => $body,
            $crate::samples::Values::I16($slice) => $body,
            $crate::samples::Values::F16($slice) => $body,
            $crate::samples::Values::Bf16($slice) => $body,
        }
    };
}
pub(crate) use with_values;

impl Values<'_> {
    /// The same numbers in memory of their own.
    pub fn into_owned(self) -> Values<'static> {
        fn owned<T: Copy>(values: Cow<'_, [T]>) -> Cow<'static, [T]> {
            Cow::Owned(values.into_owned())
        }
        match self {
            Values::F32(values) => Values::F32(owned(values)),
            Values::F64(values) => Values::F64(owned(values)),
            Values::U8(values) => Values::U8(owned(values)),
            Values::I8(values) => Values::I8(owned(values)),
            Values::I16(values) => Values::I16(owned(values)),
            Values::F16(values) => Values::F16(owned(values)),
            Values::Bf16(values) => Values::Bf16(owned(values)),
        }
    }

    /// The same numbers, borrowed.
    pub fn view(&self) -> Values<'_> {
        match self {
            Values::F32(values) => Values::F32(Cow::Borrowed(values)),
            Values::F64(values) => Values::F64(Cow::Borrowed(values)),
            Values::U8(values) => Values::U8(Cow::Borrowed(values)),
            Values::I8(values) => Values::I8(Cow::Borrowed(values)),
            Values::I16(values) => Values::I16(Cow::Borrowed(values)),
            Values::F16(values) => Values::F16(Cow::Borrowed(values)),
            Values::Bf16(values) => Values::Bf16(Cow::Borrowed(values)),
        }
    }

    /// The smallest and the largest number.
    pub fn range(&self) -> [f64; 2] {
        fn of<T: Number + Ord>(values: &[T]) -> [f64; 2] {
            // What numbers stand for grows with them.
            let (least, largest) = (values.iter().copied().min(), values.iter().copied().max());
            [least.map_or(f64::INFINITY, Number::number), largest.map_or(f64::NEG_INFINITY, Number::number)]
        }
        let widened = |[least, largest]: [f64; 2], value: f64| [least.min(value), largest.max(value)];
        match self {
            Values::U8(values) => of(values),
            Values::I8(values) => of(values),
            Values::I16(values) => of(values),
            _ => with_values!(self, values => {
                let numbers = values.iter().map(|value| value.number());
                numbers.fold([f64::INFINITY, f64::NEG_INFINITY], widened)
            }),
        }
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        with_values!(self, values => size_of_val(&values[..]))
    }

    /// How many numbers there are.
    #[expect(clippy::len_without_is_empty, reason = "samples are never empty")]
    pub fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// The number at a position, in double precision; exact.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub fn get(&self, at: usize) -> f64 {
        with_values!(self, values => values[at].number())
    }

    /// Some consecutive numbers in double precision; exact.
    ///
    /// # Panics
    /// When there are not that many.
    #[inline]
    pub fn doubles(&self, range: Range<usize>) -> Cow<'_, [f64]> {
        match self {
            Values::F64(values) => Cow::Borrowed(&values[range]),
            _ => with_values!(self, values => values[range].iter().map(|value| value.number()).collect()),
        }
    }

    /// Some consecutive numbers in single precision; exact unless they are of double precision.
    ///
    /// # Panics
    /// When there are not that many.
    #[inline]
    pub fn singles(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match self {
            Values::F32(values) => Cow::Borrowed(&values[range]),
            _ => {
                with_values!(self, values => values[range].iter().map(|value| value.number() as f32).collect())
            }
        }
    }

    /// All numbers in double precision; exact.
    pub fn all_doubles(&self) -> Cow<'_, [f64]> {
        self.doubles(0..self.len())
    }

    /// All numbers in single precision, as [`Values::singles`].
    pub fn all_singles(&self) -> Cow<'_, [f32]> {
        self.singles(0..self.len())
    }
}

/// What an element of samples stands for.
pub(crate) trait Number: Copy {
    /// The number in double precision; exact.
    fn number(self) -> f64;
}

/// Numbers that double precision holds as they are.
macro_rules! plain_numbers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn number(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}
plain_numbers!(f32, f64, i8, i16);

impl Number for u8 {
    /// x/255 in single precision: for all 256 bytes this sum rounds to the same number (a test compares them all), at a fraction of
    /// the cost of dividing, or of going through double precision. The first product is exact, because its factor has 16 bits.
    #[inline(always)]
    fn number(self) -> f64 {
        const HIGH: f32 = 65_794.0 / (1 << 24) as f32;
        const LOW: f32 = (1.0 / 255.0 - HIGH as f64) as f32;
        let byte = f32::from(self);
        f64::from(byte * HIGH + byte * LOW)
    }
}

impl Number for f16 {
    /// The bits of the exponent and of the fraction, moved to where single precision has them, make the number times
    /// 2⁻¹¹², numbers below the smallest normal one included. Infinities would not survive this, and samples have none.
    #[inline(always)]
    fn number(self) -> f64 {
        let bits = u32::from(self.to_bits());
        let size = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((112 + 127) << 23);
        f64::from(f32::from_bits(size.to_bits() | (bits & 0x8000) << 16))
    }
}

impl Number for bf16 {
    #[inline(always)]
    fn number(self) -> f64 {
        f64::from(f32::from_bits(u32::from(self.to_bits()) << 16))
    }
}

/// n samples of d numbers each, one row per sample.
///
/// Invariants: 1 ≤ n < 2³², d ≥ 1, every value finite, and small enough that no squared distance overflows. One sample is enough
/// to be run through a model or to be looked up among others; whatever needs neighbors refuses it.
#[derive(Debug, Clone)]
pub struct Samples<'a> {
    len: usize,
    dim: usize,
    values: Values<'a>,
    /// What searches measure differences by.
    norm: Norm,
}

impl<'a> Samples<'a> {
    /// Samples in single precision.
    ///
    /// # Shapes
    /// `values`: `len × dim`, row-major.
    ///
    /// # Errors
    /// When there are no rows, no columns, a wrong number of values, or a value that is not finite.
    ///
    /// ```
    /// use spadework::Samples;
    /// let samples = Samples::from_f32(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
    /// assert_eq!((samples.len(), samples.dim()), (2, 3));
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn from_f32(len: usize, dim: usize, values: impl Into<Cow<'a, [f32]>>) -> Result<Self> {
        Self::new(len, dim, Values::F32(values.into()))
    }

    /// Samples in double precision.
    ///
    /// # Errors
    /// As [`Samples::from_f32`].
    pub fn from_f64(len: usize, dim: usize, values: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        Self::new(len, dim, Values::F64(values.into()))
    }

    /// Samples of pixels, which stay bytes; each stands for x/255.
    ///
    /// # Errors
    /// As [`Samples::from_f32`].
    ///
    /// ```
    /// use spadework::Samples;
    /// let samples = Samples::from_u8(2, 2, vec![0, 255, 51, 102])?;
    /// assert_eq!(*samples.values().all_singles(), [0.0, 1.0, 0.2, 0.4]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn from_u8(len: usize, dim: usize, values: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        Self::new(len, dim, Values::U8(values.into()))
    }

    /// Samples of any type.
    ///
    /// # Errors
    /// As [`Samples::from_f32`].
    pub fn new(len: usize, dim: usize, values: Values<'a>) -> Result<Self> {
        check_shape(len, dim, values.len())?;
        match &values {
            Values::F32(values) => check_values(dim, values, f64::from)?,
            Values::F64(values) => check_values(dim, values, |value| value)?,
            Values::F16(values) => check_values(dim, values, f64::from)?,
            Values::Bf16(values) => check_values(dim, values, f64::from)?,
            // Finite, and far from too large.
            Values::U8(_) | Values::I8(_) | Values::I16(_) => {}
        }
        Ok(Self { len, dim, values, norm: Norm::default() })
    }

    /// Samples whose numbers [`Samples::new`] accepted earlier: the shape is checked, but the numbers are not read again.
    ///
    /// # Errors
    /// When there are no rows, no columns, or a wrong number of values.
    pub fn of_checked(len: usize, dim: usize, values: Values<'a>) -> Result<Self> {
        check_shape(len, dim, values.len())?;
        Ok(Self { len, dim, values, norm: Norm::default() })
    }

    /// The same samples, borrowed: no number is copied or checked again.
    pub fn view(&self) -> Samples<'_> {
        Samples { len: self.len, dim: self.dim, values: self.values.view(), norm: self.norm }
    }

    /// What searches measure differences by.
    pub(crate) fn norm(&self) -> Norm {
        self.norm
    }

    /// The same samples with distances by another norm.
    ///
    /// # Errors
    /// [`Error::TooLarge`]: a sum of d differences is squared, where the Euclidean distance is a sum of squares.
    pub(crate) fn with_norm(self, norm: Norm) -> Result<Self> {
        if norm == Norm::Manhattan {
            let bound = f64::MAX.sqrt() / (4.0 * self.dim as f64);
            // No other type holds numbers that large.
            if let Values::F64(values) = &self.values {
                check_below(self.dim, values, bound, |value| value)?;
            }
        }
        Ok(Self { norm, ..self })
    }

    /// The positions of a row's numbers among all.
    pub fn place(&self, row: usize) -> Range<usize> {
        row * self.dim..(row + 1) * self.dim
    }

    /// Checks that there are at least two samples, the fewest that have neighbors.
    ///
    /// # Errors
    /// [`Error::TooFewSamples`].
    pub fn check_several(&self) -> Result<()> {
        if self.len < 2 { Err(Error::TooFewSamples { samples: self.len }) } else { Ok(()) }
    }

    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "samples are never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Numbers per sample, d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The numbers, row after row.
    pub fn values(&self) -> &Values<'a> {
        &self.values
    }

    /// Some of the rows, in the order of `indices`.
    ///
    /// # Errors
    /// When there are none.
    ///
    /// # Panics
    /// When an index is not below n.
    pub fn rows(&self, indices: &[u32]) -> Result<Samples<'static>> {
        fn gathered<T: Copy>(values: &[T], dim: usize, indices: &[u32]) -> Vec<T> {
            let mut rows = Vec::with_capacity(indices.len() * dim);
            for &index in indices {
                rows.extend_from_slice(&values[index as usize * dim..(index as usize + 1) * dim]);
            }
            rows
        }
        let (len, dim) = (indices.len(), self.dim);
        check_shape(len, dim, len * dim)?;
        // Values of samples are finite.
        let values = match &self.values {
            Values::F32(values) => Values::F32(gathered(values, dim, indices).into()),
            Values::F64(values) => Values::F64(gathered(values, dim, indices).into()),
            Values::U8(values) => Values::U8(gathered(values, dim, indices).into()),
            Values::I8(values) => Values::I8(gathered(values, dim, indices).into()),
            Values::I16(values) => Values::I16(gathered(values, dim, indices).into()),
            Values::F16(values) => Values::F16(gathered(values, dim, indices).into()),
            Values::Bf16(values) => Values::Bf16(gathered(values, dim, indices).into()),
        };
        Ok(Samples { len, dim, values, norm: self.norm })
    }

    /// The same samples times a power of two, where all their numbers are so small that squared distances would be lost; `None` if
    /// they can be taken as they are.
    pub(crate) fn enlarged(&self) -> Option<Samples<'static>> {
        // All other types end at 1e-45 or before, and distances are found in double precision.
        let Values::F64(values) = &self.values else { return None };
        let values = enlarged(values)?;
        Some(Samples { len: self.len, dim: self.dim, values: Values::F64(values.into()), norm: self.norm })
    }

    /// Whether all rows are the same point.
    pub fn all_equal(&self) -> bool {
        fn rows_equal<T: PartialEq>(values: &[T], dim: usize) -> bool {
            values.chunks_exact(dim).all(|row| row == &values[..dim])
        }
        with_values!(&self.values, values => rows_equal(values, self.dim))
    }
}

/// Numbers times a power of two that brings the largest near 1, where the squares of all of them lose digits.
pub(crate) fn enlarged(values: &[f64]) -> Option<Vec<f64>> {
    // Of ordinary numbers one of the first decides.
    if values.iter().any(|value| value.abs() >= RESOLVED) {
        return None;
    }
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return None;
    }
    let exponent = -even_exponent(largest);
    Some(values.iter().map(|&value| scaled(value, exponent)).collect())
}

/// The shape, the norm and the numbers as they are kept.
impl Identity for Samples<'_> {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "one closure serves every type")]
    fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        take(
            format!("{} {} {:?} {:?}", self.len, self.dim, self.norm, std::mem::discriminant(&self.values))
                .as_bytes(),
        );
        with_values!(&self.values, values => feed_numbers(values, |value| value.to_le_bytes(), take));
    }
}

/// Gives the bytes of numbers away, two thousand at a time.
fn feed_numbers<T: Copy, const N: usize>(
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
    take: &mut dyn FnMut(&[u8]),
) {
    const CHUNK: usize = 2048;
    let mut buffer = [[0; N]; CHUNK];
    for chunk in values.chunks(CHUNK) {
        for (into, &value) in buffer.iter_mut().zip(chunk) {
            *into = bytes(value);
        }
        take(buffer[..chunk.len()].as_flattened());
    }
}

fn check_shape(len: usize, dim: usize, got: usize) -> Result<()> {
    if len == 0 || dim == 0 {
        return Err(Error::Empty { rows: len, columns: dim });
    }
    if len.checked_mul(dim) != Some(got) {
        return Err(Error::WrongLength { rows: len, columns: dim, got });
    }
    let limit = u32::MAX as usize;
    if len > limit {
        return Err(Error::TooManySamples { samples: len, limit });
    }
    Ok(())
}

/// Finite, and d · (2·max|v|)² finite, so that every squared distance is.
fn check_values<T: Copy>(dim: usize, values: &[T], to_f64: impl Fn(T) -> f64) -> Result<()> {
    check_below(dim, values, (f64::MAX / dim as f64).sqrt() / 4.0, to_f64)
}

/// Finite, and at most the bound.
fn check_below<T: Copy>(dim: usize, values: &[T], bound: f64, to_f64: impl Fn(T) -> f64) -> Result<()> {
    /// Values looked at together: without a branch for each, the loop runs at the speed of memory.
    const CHUNK: usize = 4096;
    let wrong = |value: T| to_f64(value).is_nan() | (to_f64(value).abs() > bound);
    let suspect =
        values.chunks(CHUNK).position(|chunk| chunk.iter().fold(false, |any, &value| any | wrong(value)));
    let Some(chunk) = suspect else { return Ok(()) };
    let Some(at) = (chunk * CHUNK..values.len()).find(|&at| wrong(values[at])) else { return Ok(()) };
    let (row, column, value) = (at / dim, at % dim, to_f64(values[at]));
    if value.is_finite() {
        return Err(Error::TooLarge { row, column, value });
    }
    Err(Error::NonFinite { row, column, value })
}

/// Inputs and outputs of one model; row i of each is the same sample.
#[derive(Debug, Clone)]
pub struct PairedSamples<'a> {
    input: Samples<'a>,
    output: Samples<'a>,
}

impl<'a> PairedSamples<'a> {
    /// Pairs inputs with outputs, Y = F(X).
    ///
    /// # Errors
    /// When there are fewer than two samples, the numbers of rows differ, or all rows of one side are equal, so that it has no
    /// geometry to compare.
    pub fn new(input: Samples<'a>, output: Samples<'a>) -> Result<Self> {
        input.check_several()?;
        output.check_several()?;
        if input.len() != output.len() {
            return Err(Error::ShapeMismatch { input_rows: input.len(), output_rows: output.len() });
        }
        for (side, samples) in [(Side::Input, &input), (Side::Output, &output)] {
            if samples.all_equal() {
                return Err(Error::AllEqual { side, samples: samples.len() });
            }
        }
        Ok(Self { input, output })
    }

    /// The model's inputs.
    pub fn input(&self) -> &Samples<'a> {
        &self.input
    }

    /// The model's outputs.
    pub fn output(&self) -> &Samples<'a> {
        &self.output
    }

    /// Splits the pair into inputs and outputs.
    pub fn into_sides(self) -> (Samples<'a>, Samples<'a>) {
        (self.input, self.output)
    }

    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "samples are never empty")]
    pub fn len(&self) -> usize {
        self.input.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_value_that_is_not_finite() {
        let mut values = vec![0.0_f32; 6];
        values[4] = f32::NAN;
        let error = Samples::from_f32(3, 2, values).unwrap_err();
        assert!(matches!(error, Error::NonFinite { row: 2, column: 0, .. }));
    }

    #[test]
    fn refuses_values_whose_distances_overflow() {
        let error = Samples::from_f64(2, 1, vec![0.0, 1e200]).unwrap_err();
        assert!(matches!(error, Error::TooLarge { row: 1, column: 0, .. }));
    }

    #[test]
    fn bytes_stand_for_quotients_in_single_precision() {
        for byte in 0..=u8::MAX {
            assert_eq!(byte.number(), f64::from(f32::from(byte) / 255.0), "{byte}");
        }
    }

    #[test]
    fn narrow_floats_keep_their_value() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            for (finite, got, want) in [
                (half.is_finite(), half.number(), half.to_f64()),
                (brain.is_finite(), brain.number(), brain.to_f64()),
            ] {
                assert!(!finite || got.to_bits() == want.to_bits(), "{bits:#06x}: {got} instead of {want}");
            }
        }
    }

    #[test]
    fn narrow_floats_that_are_not_finite_are_named() {
        let values = vec![f16::ONE, f16::ZERO, f16::INFINITY, f16::ONE];
        let error = Samples::new(2, 2, Values::F16(values.into())).unwrap_err();
        assert!(matches!(error, Error::NonFinite { row: 1, column: 0, .. }), "{error}");
        let values = vec![bf16::ONE, bf16::NAN];
        let error = Samples::new(2, 1, Values::Bf16(values.into())).unwrap_err();
        assert!(matches!(error, Error::NonFinite { row: 1, column: 0, .. }), "{error}");
    }

    #[test]
    fn rows_keep_their_type() {
        let samples = Samples::from_u8(3, 2, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let some = samples.rows(&[2, 0]).unwrap();
        assert!(matches!(some.values(), Values::U8(rows) if rows.as_ref() == [5, 6, 1, 2]));
        assert_eq!(some.values().get(0), f64::from(5.0_f32 / 255.0));
    }

    #[test]
    fn numbers_whose_squares_are_lost_are_enlarged_exactly() {
        assert_eq!(RESOLVED, scaled(1.0, -400));
        let ordinary = vec![0.0, 1.0, -3.0, 2.5e-200];
        let tiny: Vec<f64> = ordinary.iter().map(|&value| scaled(value, -700)).collect();
        let enlarged = |values: Vec<f64>| Samples::from_f64(2, 2, values).unwrap().enlarged();
        assert!(enlarged(ordinary.clone()).is_none());
        let Values::F64(values) = enlarged(tiny).unwrap().values().clone() else { panic!("doubles") };
        // 2.5e-200 · 2⁻⁷⁰⁰ is no number; what else is lost, nothing.
        assert_eq!(values[..3], [0.0, 1.0, -3.0]);
        // Not enlarged: the first column would leave the range.
        assert!(enlarged(vec![1.0, 0.0, 1.0, 1e-200]).is_none());
        assert!(enlarged(vec![0.0; 4]).is_none());
    }

    #[test]
    fn refuses_wrong_shapes() {
        assert_eq!(Samples::from_f32(0, 2, vec![]).unwrap_err(), Error::Empty { rows: 0, columns: 2 });
        assert!(matches!(Samples::from_f32(usize::MAX, 2, vec![1.0]), Err(Error::WrongLength { .. })));
    }

    #[test]
    fn a_single_sample_is_no_side_of_a_model() {
        let one = || Samples::from_f32(1, 1, vec![1.0]).unwrap();
        assert_eq!(PairedSamples::new(one(), one()).unwrap_err(), Error::TooFewSamples { samples: 1 });
    }

    #[test]
    fn a_view_is_the_same_samples() {
        let samples = Samples::from_f64(2, 2, vec![0.0, 1.0, 2.0, 3.0]).unwrap();
        let (Values::F64(all), Values::F64(seen)) = (samples.values(), samples.view().values().clone())
        else {
            panic!("the precision stays");
        };
        assert!(matches!(seen, Cow::Borrowed(seen) if std::ptr::eq(seen, &raw const **all)));
    }

    #[test]
    fn refuses_a_side_without_shape() {
        let flat = Samples::from_f32(3, 1, vec![7.0; 3]).unwrap();
        let line = Samples::from_f32(3, 1, vec![0.0, 1.0, 2.0]).unwrap();
        let error = PairedSamples::new(line, flat).unwrap_err();
        assert_eq!(error, Error::AllEqual { side: Side::Output, samples: 3 });
    }
}
