//! An array as it is stored in a file: shape, element type, order and bytes, not yet converted.

use std::borrow::Cow;
use std::ops::Range;

use spadework::samples::Values;

use crate::element::{Element, Endian, Numbers};
use crate::error::{Error, Result};
use crate::labels::Labels;

/// Which index runs fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The last, as in C.
    RowMajor,
    /// The first, as in Fortran.
    ColumnMajor,
}

/// What a header says about the bytes that follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) shape: Vec<usize>,
    pub(crate) element: Element,
    pub(crate) endian: Endian,
    pub(crate) layout: Layout,
}

impl Description {
    /// Bytes that the values take, without trusting the shape.
    pub(crate) fn byte_len(&self, name: &str) -> Result<usize> {
        if self.shape.is_empty() {
            return Err(Error::Scalar { name: name.to_owned() });
        }
        checked_product(&self.shape)
            .and_then(|count| count.checked_mul(self.element.size()))
            // Memory cannot be addressed beyond this, whatever is read.
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| Error::ShapeOverflow {
                name: name.to_owned(),
                shape: self.shape.iter().map(|&n| n as u64).collect(),
            })
    }

    /// Bytes that the values take in the file or once they have been read, whichever are more.
    pub(crate) fn kept_len(&self, name: &str) -> Result<usize> {
        let element = self.element;
        let values = self.byte_len(name)? / element.size();
        let is_column = self.shape.iter().skip(1).all(|&extent| extent == 1);
        Ok(values.saturating_mul(element.size().max(element.kept_size(is_column))))
    }

    /// Bytes that the values take as samples, and before as they were read, where that is another copy.
    pub(crate) fn loaded_len(&self, is_unpacked: bool, name: &str) -> Result<usize> {
        let read = self.byte_len(name)?;
        let loaded = read / self.element.size() * self.element.loaded_size();
        let is_moved =
            self.element == Element::U8 && (self.layout == Layout::RowMajor || self.shape.len() < 2);
        Ok(if is_unpacked && !is_moved { loaded.saturating_add(read) } else { loaded })
    }

    /// Whether the bytes are what this machine would hold in memory for rows that the core takes as they are.
    pub(crate) fn is_native_rows(&self) -> bool {
        let contiguous = self.layout == Layout::RowMajor || self.shape.len() == 1;
        let native =
            cfg!(target_endian = "little") && self.endian == Endian::Little || self.element.size() == 1;
        contiguous && native && self.element.is_native()
    }
}

/// Product of all extents. An empty array with absurd other extents has no product either: nothing can be done with it.
pub(crate) fn checked_product(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n))
}

/// An array whose bytes are as many as its description promises.
#[derive(Debug, Clone)]
pub(crate) struct RawArray<'a> {
    description: Description,
    bytes: Cow<'a, [u8]>,
}

impl<'a> RawArray<'a> {
    pub(crate) fn new(description: Description, bytes: impl Into<Cow<'a, [u8]>>, name: &str) -> Result<Self> {
        let bytes = bytes.into();
        let expected = description.byte_len(name)?;
        if bytes.len() != expected {
            let (expected, got) = (expected as u64, bytes.len() as u64);
            return Err(Error::Length { name: name.to_owned(), expected, got, more: false });
        }
        Ok(Self { description, bytes })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.description.shape
    }

    /// The values as the core takes them, row after row. Types of at most two bytes that it knows stay what they are; the bytes of the
    /// others need not lie where numbers may.
    pub(crate) fn into_values(self) -> Values<'static> {
        let Description { element, endian, layout, shape } = &self.description;
        let is_by_rows = *layout == Layout::RowMajor || shape.len() < 2;
        if *element == Element::U8 && is_by_rows {
            // What was unpacked is not copied.
            return Values::U8(self.bytes.into_owned().into());
        }
        let Some(values) = element.narrow(&self.bytes, *endian) else { return self.numbers().into() };
        if is_by_rows {
            return values;
        }
        match values {
            Values::U8(values) => Values::U8(to_row_major(&values, shape).into()),
            Values::I8(values) => Values::I8(to_row_major(&values, shape).into()),
            Values::I16(values) => Values::I16(to_row_major(&values, shape).into()),
            Values::F16(values) => Values::F16(to_row_major(&values, shape).into()),
            Values::Bf16(values) => Values::Bf16(to_row_major(&values, shape).into()),
            wide @ (Values::F32(_) | Values::F64(_)) => wide,
        }
    }

    /// Where the values lie in the file that they were parsed from, if they are there as memory would hold them: rows in the
    /// machine's order, at a multiple of their size.
    pub(crate) fn place_in(&self, file: &[u8]) -> Option<Range<usize>> {
        let Cow::Borrowed(bytes) = self.bytes else { return None };
        let is_taken = self.description.is_native_rows() && self.description.element.values(bytes).is_some();
        let start = bytes.as_ptr().addr().checked_sub(file.as_ptr().addr())?;
        let place = start..start + bytes.len();
        (is_taken && file.get(place.clone()).is_some()).then_some(place)
    }

    pub(crate) fn element(&self) -> Element {
        self.description.element
    }

    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// The same converted to floating point.
    pub(crate) fn numbers(&self) -> Numbers {
        let numbers = self.description.element.numbers(&self.bytes, self.description.endian);
        if self.description.layout == Layout::RowMajor || self.description.shape.len() < 2 {
            return numbers;
        }
        match numbers {
            Numbers::F32(values) => Numbers::F32(to_row_major(&values, &self.description.shape)),
            Numbers::F64(values) => Numbers::F64(to_row_major(&values, &self.description.shape)),
        }
    }

    /// Refuses whole numbers that double precision does not hold.
    pub(crate) fn check_exact(&self, name: &str) -> Result<()> {
        const LIMIT: i128 = 1 << 53;
        if !matches!(self.description.element, Element::I64 | Element::U64) {
            return Ok(());
        }
        self.for_each_integer(name, |at, got| {
            if got.abs() < LIMIT {
                Ok(())
            } else {
                Err(Error::BigInteger { name: name.to_owned(), at, got: got.to_string() })
            }
        })
    }

    /// Calls `take(position, value)` for every value of an array of integers, which is never held a second time.
    pub(crate) fn for_each_integer(
        &self,
        name: &str,
        mut take: impl FnMut(usize, i128) -> Result<()>,
    ) -> Result<()> {
        const TOGETHER: usize = 4096;
        let Description { element, endian, .. } = self.description;
        for (at, chunk) in self.bytes.chunks(TOGETHER * element.size()).enumerate() {
            let integers = element.integers(chunk, endian).ok_or_else(|| Error::ElementType {
                name: name.to_owned(),
                got: element.name().to_owned(),
                accepted: "whole numbers",
            })?;
            for (value, position) in integers.into_iter().zip(at * TOGETHER..) {
                take(position, value)?;
            }
        }
        Ok(())
    }

    /// The values by what they are, row after row, bytes not taken for pixels.
    pub(crate) fn plain_numbers(&self, name: &str) -> Result<Vec<f64>> {
        match self.description.element {
            Element::F16 | Element::Bf16 | Element::F32 | Element::F64 => Ok(match self.numbers() {
                Numbers::F32(values) => values.into_iter().map(f64::from).collect(),
                Numbers::F64(values) => values,
            }),
            _ => {
                let mut values = Vec::new();
                self.for_each_integer(name, |_, value| {
                    values.push(value as f64);
                    Ok(())
                })?;
                let Description { layout, shape, .. } = &self.description;
                let is_by_columns = *layout == Layout::ColumnMajor && shape.len() > 1;
                Ok(if is_by_columns { to_row_major(&values, shape) } else { values })
            }
        }
    }

    /// The values as labels: integers of shape `[n]` or `[n, 1]`, for which both layouts are the same.
    pub(crate) fn labels(&self, name: &str) -> Result<Labels> {
        let Description { shape, element, .. } = &self.description;
        if !matches!(shape.as_slice(), [_] | [_, 1]) {
            return Err(Error::LabelShape { name: name.to_owned(), shape: shape.clone() });
        }
        if !element.is_integer() {
            return Err(Error::LabelType { name: name.to_owned(), got: element.name().to_owned() });
        }
        let mut ids = Vec::new();
        self.for_each_integer(name, |row, value| {
            let wide = |_| Error::LabelValue { name: name.to_owned(), row, got: value.to_string() };
            ids.push(i64::try_from(value).map_err(wide)?);
            Ok(())
        })?;
        Ok(Labels::from_ids(ids))
    }
}

/// Reorders values in which the first index runs fastest into rows.
fn to_row_major<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &extent in shape {
        strides.push(stride);
        stride *= extent;
    }
    let mut index = vec![0_usize; shape.len()];
    let mut at = 0;
    let mut rows = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        rows.push(values[at]);
        // Count up like an odometer, the last index first, moving `at` along.
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(shape: &[usize], layout: Layout) -> Description {
        Description { shape: shape.to_vec(), element: Element::I8, endian: Endian::Little, layout }
    }

    #[test]
    fn turns_columns_into_rows() {
        let columns =
            RawArray::new(describe(&[2, 3], Layout::ColumnMajor), vec![1, 4, 2, 5, 3, 6], "x").unwrap();
        assert_eq!(columns.numbers(), Numbers::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert_eq!(columns.plain_numbers("x").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        // Value 100·i + 10·j + k at [i, j, k] of a 2 × 2 × 2 array.
        let cube = vec![0, 100, 10, 110, 1, 101, 11, 111];
        let cube = RawArray::new(describe(&[2, 2, 2], Layout::ColumnMajor), cube, "x").unwrap();
        assert_eq!(cube.numbers(), Numbers::F32(vec![0.0, 1.0, 10.0, 11.0, 100.0, 101.0, 110.0, 111.0]));
    }

    #[test]
    fn narrow_numbers_stay_what_they_are_and_stand_for_the_same_ones() {
        let bytes: Vec<u8> = (0..12_u32).map(|at| (at * 37 % 120) as u8).collect();
        for element in [Element::U8, Element::I8, Element::I16, Element::F16, Element::Bf16] {
            for (layout, endian) in [
                (Layout::RowMajor, Endian::Little),
                (Layout::RowMajor, Endian::Big),
                (Layout::ColumnMajor, Endian::Little),
                (Layout::ColumnMajor, Endian::Big),
            ] {
                let shape = vec![2, 3 * 2 / element.size()];
                let description = Description { shape, element, endian, layout };
                // From an odd address, where no number of two bytes may lie, and unpacked.
                let shifted = [&[0], &bytes[..]].concat();
                let borrowed = RawArray::new(description.clone(), &shifted[1..], "x").unwrap();
                let unpacked = RawArray::new(description, bytes.clone(), "x").unwrap();
                let Numbers::F32(numbers) = borrowed.numbers() else { panic!("converted") };
                for array in [borrowed, unpacked] {
                    let values = array.into_values();
                    assert_eq!(values.bytes(), 12, "{element:?} {layout:?} {endian:?}");
                    assert!(values.all_doubles().iter().copied().eq(numbers.iter().copied().map(f64::from)));
                }
            }
        }
        let wide = Description { element: Element::U16, ..describe(&[2], Layout::RowMajor) };
        let wide = RawArray::new(wide, vec![1, 0, 255, 255], "x").unwrap();
        assert!(matches!(wide.into_values(), Values::F32(values) if *values == [1.0, 65535.0]));
    }

    #[test]
    fn compares_the_promise_with_the_bytes() {
        let error =
            RawArray::new(describe(&[9_999_999_999_999], Layout::RowMajor), vec![0], "x").unwrap_err();
        assert_eq!(error.to_string(), "x: the header promises 9999999999999 bytes of values, got 1");
        let error = RawArray::new(describe(&[usize::MAX, 2], Layout::RowMajor), vec![0], "x").unwrap_err();
        assert!(matches!(error, Error::ShapeOverflow { .. }));
        let error = RawArray::new(describe(&[], Layout::RowMajor), vec![0], "x").unwrap_err();
        assert_eq!(error.to_string(), "x: an array must have at least one dimension, got a scalar");
    }

    #[test]
    fn labels_are_one_per_sample() {
        let square = RawArray::new(describe(&[2, 2], Layout::RowMajor), vec![0; 4], "y").unwrap();
        assert!(matches!(square.labels("y"), Err(Error::LabelShape { .. })));
        let column = RawArray::new(describe(&[2, 1], Layout::ColumnMajor), vec![3, 255], "y").unwrap();
        assert_eq!(column.labels("y").unwrap().ids(), [3, -1]);
        let wide = Description { element: Element::U64, ..describe(&[2], Layout::RowMajor) };
        let wide = RawArray::new(wide, [[0; 8], [255; 8]].concat(), "y.npy").unwrap();
        assert_eq!(
            wide.labels("y.npy").unwrap_err().to_string(),
            "y.npy: labels must be words or integers below 2^63, got 18446744073709551615 at row 1"
        );
    }
}
