//! NumPy files, format version 1.

use std::io::{self, Write};
use std::path::Path;

use super::OutputFile;
use crate::array::checked_product;
use crate::error::{Error, Result};

/// Values are aligned to this in the file, so that it can be mapped.
const ALIGNMENT: usize = 64;

/// Values of an array to be written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum NpyValues<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// Integers, for indices and labels.
    I64(&'a [i64]),
    /// A word of ASCII letters, one value.
    Word(&'a [u8]),
}

impl<'a> From<&'a [f32]> for NpyValues<'a> {
    fn from(values: &'a [f32]) -> Self {
        NpyValues::F32(values)
    }
}

impl<'a> From<&'a [f64]> for NpyValues<'a> {
    fn from(values: &'a [f64]) -> Self {
        NpyValues::F64(values)
    }
}

impl<'a> From<&'a [i64]> for NpyValues<'a> {
    fn from(values: &'a [i64]) -> Self {
        NpyValues::I64(values)
    }
}

impl NpyValues<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            NpyValues::F32(values) => values.len(),
            NpyValues::F64(values) => values.len(),
            NpyValues::I64(values) => values.len(),
            NpyValues::Word(_) => 1,
        }
    }

    /// What the values take in a file.
    pub(super) fn bytes(&self) -> usize {
        match self {
            NpyValues::F32(values) => size_of_val(*values),
            NpyValues::F64(values) => size_of_val(*values),
            NpyValues::I64(values) => size_of_val(*values),
            NpyValues::Word(word) => word.len(),
        }
    }

    fn descr(&self) -> String {
        match self {
            NpyValues::F32(_) => "<f4".to_owned(),
            NpyValues::F64(_) => "<f8".to_owned(),
            NpyValues::I64(_) => "<i8".to_owned(),
            NpyValues::Word(word) => format!("|S{}", word.len()),
        }
    }

    fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        match self {
            NpyValues::F32(values) => values.iter().try_for_each(|v| writer.write_all(&v.to_le_bytes())),
            NpyValues::F64(values) => values.iter().try_for_each(|v| writer.write_all(&v.to_le_bytes())),
            NpyValues::I64(values) => values.iter().try_for_each(|v| writer.write_all(&v.to_le_bytes())),
            NpyValues::Word(word) => writer.write_all(word),
        }
    }
}

/// Writes an array of any shape, row after row.
///
/// # Errors
/// When the number of values does not match the shape, or the file cannot be written.
pub fn write_npy<'a>(path: &Path, shape: &[usize], values: impl Into<NpyValues<'a>>) -> Result<()> {
    let values = values.into();
    let header = header(shape, &values.descr());
    let length = u16::try_from(header.len()).ok().filter(|_| checked_product(shape) == Some(values.len()));
    let Some(length) = length else {
        return Err(Error::OutputShape {
            path: path.to_owned(),
            shape: shape.to_vec(),
            values: values.len(),
        });
    };
    let mut file = OutputFile::create(path)?;
    let written = (|| {
        file.write_all(b"\x93NUMPY\x01\x00")?;
        file.write_all(&length.to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        values.write(&mut file)
    })();
    written.map_err(|cause| file.error(cause))?;
    file.commit()
}

/// What a file of an array holds, in memory; the shape is that of the values.
///
/// # Panics
/// Never: memory takes what is written to it.
pub fn npy_bytes(shape: &[usize], values: NpyValues<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.bytes() + 2 * ALIGNMENT);
    write_array(&mut bytes, shape, values).expect("memory can be written");
    bytes
}

/// What a file of an array holds, as a member of an archive; the shape is that of the values.
pub(super) fn write_array(writer: &mut impl Write, shape: &[usize], values: NpyValues<'_>) -> io::Result<()> {
    let header = header(shape, &values.descr());
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&(header.len() as u16).to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    values.write(writer)
}

/// The dictionary, padded with blanks to the alignment and ended by a line feed.
fn header(shape: &[usize], descr: &str) -> String {
    const PREAMBLE: usize = 10;
    // A tuple of one has a comma behind it.
    let mut extents = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    if shape.len() == 1 {
        extents.push(',');
    }
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let total = (PREAMBLE + header.len() + 1).next_multiple_of(ALIGNMENT);
    header.push_str(&" ".repeat(total - PREAMBLE - header.len() - 1));
    header.push('\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_numpy_writes() {
        assert!(
            header(&[3], "<f8").starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }  ")
        );
        assert!(header(&[3, 4], "<f4").contains("'shape': (3, 4), }"));
        assert!(header(&[], "<f4").contains("'shape': (), }"));
        assert_eq!((header(&[3, 4], "<f4").len() + 10) % ALIGNMENT, 0);
    }
}
