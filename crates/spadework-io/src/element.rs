//! Element types of array files and their way into floating point.
//!
//! | element | becomes |
//! | --- | --- |
//! | u8 | f32, divided by 255: bytes are pixels |
//! | i8, i16, f16, bf16, u16, bool | f32, exactly |
//! | f32 | f32 |
//! | i32, u32, i64, u64, f64 | f64 |
//!
//! Samples of u8, i8, i16, f16 and bf16 stay what they are ([`Element::narrow`]) and stand for the same numbers. So do those of mapped
//! files, which are not copied ([`Element::values`]).

use bytemuck::{AnyBitPattern, try_cast_slice};
use half::slice::HalfBitsSliceExt;
use half::{bf16, f16};
use spadework::samples::Values;
use std::borrow::Cow;

/// What one element of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

/// Byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endian {
    Little,
    Big,
}

/// Numbers as the core takes them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Numbers {
    pub(crate) fn len(&self) -> usize {
        match self {
            Numbers::F32(values) => values.len(),
            Numbers::F64(values) => values.len(),
        }
    }
}

impl From<Numbers> for Values<'static> {
    fn from(numbers: Numbers) -> Self {
        match numbers {
            Numbers::F32(values) => Values::F32(values.into()),
            Numbers::F64(values) => Values::F64(values.into()),
        }
    }
}

impl Element {
    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Element::Bool | Element::U8 | Element::I8 => 1,
            Element::U16 | Element::I16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
        }
    }

    /// Bytes of one element once it has been read, at most: integers of a single column may be labels.
    pub(crate) fn kept_size(self, is_column: bool) -> usize {
        match self {
            Element::F16 | Element::Bf16 | Element::F32 => 4,
            Element::Bool | Element::U8 | Element::I8 | Element::U16 | Element::I16 if !is_column => 4,
            _ => 8,
        }
    }

    /// Whether the core takes such elements as they are.
    pub(crate) fn is_native(self) -> bool {
        // Not by a look at an empty slice, which need not lie at a multiple of any size.
        use Element::{Bool, I32, I64, U16, U32, U64};
        !matches!(self, Bool | U16 | U32 | U64 | I32 | I64)
    }

    /// Elements in the machine's own order as the core takes them, without a copy; `None` if it does not take such, or
    /// where they do not lie at a multiple of their size.
    pub(crate) fn values(self, bytes: &[u8]) -> Option<Values<'_>> {
        fn cast<T: AnyBitPattern>(bytes: &[u8]) -> Option<Cow<'_, [T]>> {
            try_cast_slice(bytes).ok().map(Cow::Borrowed)
        }
        let halves = || try_cast_slice::<u8, u16>(bytes).ok();
        match self {
            Element::U8 => cast(bytes).map(Values::U8),
            Element::I8 => cast(bytes).map(Values::I8),
            Element::I16 => cast(bytes).map(Values::I16),
            Element::F16 => halves().map(|bits| Values::F16(Cow::Borrowed(bits.reinterpret_cast()))),
            Element::Bf16 => halves().map(|bits| Values::Bf16(Cow::Borrowed(bits.reinterpret_cast()))),
            Element::F32 => cast(bytes).map(Values::F32),
            Element::F64 => cast(bytes).map(Values::F64),
            Element::Bool | Element::U16 | Element::U32 | Element::U64 | Element::I32 | Element::I64 => None,
        }
    }

    /// Elements of at most two bytes that the core takes as they are, in memory of their own and in the machine's order; `None` of
    /// all others.
    pub(crate) fn narrow(self, bytes: &[u8], endian: Endian) -> Option<Values<'static>> {
        Some(match self {
            Element::U8 => Values::U8(bytes.to_vec().into()),
            Element::I8 => Values::I8(bytes.iter().map(|&b| b.cast_signed()).collect()),
            Element::I16 => Values::I16(decode(bytes, endian, i16::from_le_bytes).into()),
            Element::F16 => Values::F16(decode(bytes, endian, f16::from_le_bytes).into()),
            Element::Bf16 => Values::Bf16(decode(bytes, endian, bf16::from_le_bytes).into()),
            _ => return None,
        })
    }

    /// Bytes of one element as samples have it.
    pub(crate) fn loaded_size(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::I16 | Element::F16 | Element::Bf16 => 2,
            Element::Bool | Element::U16 | Element::F32 => 4,
            Element::U32 | Element::U64 | Element::I32 | Element::I64 | Element::F64 => 8,
        }
    }

    /// Whether such elements can be labels.
    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    /// NumPy's name of the type, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Element::Bool => "bool",
            Element::U8 => "uint8",
            Element::U16 => "uint16",
            Element::U32 => "uint32",
            Element::U64 => "uint64",
            Element::I8 => "int8",
            Element::I16 => "int16",
            Element::I32 => "int32",
            Element::I64 => "int64",
            Element::F16 => "float16",
            Element::Bf16 => "bfloat16",
            Element::F32 => "float32",
            Element::F64 => "float64",
        }
    }

    /// The elements as samples.
    pub(crate) fn numbers(self, bytes: &[u8], endian: Endian) -> Numbers {
        use Numbers::{F32, F64};
        match self {
            Element::Bool => F32(bytes.iter().map(|&b| f32::from(u8::from(b != 0))).collect()),
            // The division is done in f32, as image pipelines do it.
            Element::U8 => F32(bytes.iter().map(|&b| f32::from(b) / 255.0).collect()),
            Element::I8 => F32(bytes.iter().map(|&b| f32::from(b.cast_signed())).collect()),
            Element::U16 => F32(decode(bytes, endian, |b| f32::from(u16::from_le_bytes(b)))),
            Element::I16 => F32(decode(bytes, endian, |b| f32::from(i16::from_le_bytes(b)))),
            Element::F16 => F32(decode(bytes, endian, |b| f16::from_le_bytes(b).to_f32())),
            Element::Bf16 => F32(decode(bytes, endian, |b| bf16::from_le_bytes(b).to_f32())),
            Element::F32 => F32(decode(bytes, endian, f32::from_le_bytes)),
            Element::U32 => F64(decode(bytes, endian, |b| f64::from(u32::from_le_bytes(b)))),
            Element::I32 => F64(decode(bytes, endian, |b| f64::from(i32::from_le_bytes(b)))),
            Element::U64 => F64(decode(bytes, endian, |b| u64::from_le_bytes(b) as f64)),
            Element::I64 => F64(decode(bytes, endian, |b| i64::from_le_bytes(b) as f64)),
            Element::F64 => F64(decode(bytes, endian, f64::from_le_bytes)),
        }
    }

    /// The elements as integers, unscaled; `None` for floating point. The widest type is left to the caller to narrow.
    pub(crate) fn integers(self, bytes: &[u8], endian: Endian) -> Option<Vec<i128>> {
        Some(match self {
            Element::Bool => bytes.iter().map(|&b| i128::from(b != 0)).collect(),
            Element::U8 => bytes.iter().map(|&b| i128::from(b)).collect(),
            Element::I8 => bytes.iter().map(|&b| i128::from(b.cast_signed())).collect(),
            Element::U16 => decode(bytes, endian, |b| i128::from(u16::from_le_bytes(b))),
            Element::I16 => decode(bytes, endian, |b| i128::from(i16::from_le_bytes(b))),
            Element::U32 => decode(bytes, endian, |b| i128::from(u32::from_le_bytes(b))),
            Element::I32 => decode(bytes, endian, |b| i128::from(i32::from_le_bytes(b))),
            Element::U64 => decode(bytes, endian, |b| i128::from(u64::from_le_bytes(b))),
            Element::I64 => decode(bytes, endian, |b| i128::from(i64::from_le_bytes(b))),
            Element::F16 | Element::Bf16 | Element::F32 | Element::F64 => return None,
        })
    }
}

/// Decodes whole elements of `N` bytes; `convert` sees them in little-endian order.
fn decode<const N: usize, T>(bytes: &[u8], endian: Endian, convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (elements, _) = bytes.as_chunks::<N>();
    match endian {
        Endian::Little => elements.iter().map(|&element| convert(element)).collect(),
        Endian::Big => elements
            .iter()
            .map(|&(mut element)| {
                element.reverse();
                convert(element)
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_pixels() {
        assert_eq!(
            Element::U8.numbers(&[0, 51, 255], Endian::Little),
            Numbers::F32(vec![0.0, 51.0_f32 / 255.0, 1.0])
        );
    }

    #[test]
    fn reads_both_byte_orders() {
        let little = Element::I16.numbers(&[0x01, 0x80], Endian::Little);
        let big = Element::I16.numbers(&[0x80, 0x01], Endian::Big);
        assert_eq!(little, Numbers::F32(vec![-32767.0]));
        assert_eq!(little, big);
    }

    #[test]
    fn labels_are_not_scaled() {
        assert_eq!(Element::U8.integers(&[7, 255], Endian::Big), Some(vec![7, 255]));
        assert_eq!(Element::F32.integers(&[0; 4], Endian::Big), None);
    }
}
