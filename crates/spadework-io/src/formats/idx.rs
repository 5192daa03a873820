//! IDX files, the format of MNIST: two zero bytes, type, number of dimensions, extents, values; all big-endian.

use std::io::{self, Read};

use crate::array::{Description, Layout, RawArray};
use crate::element::{Element, Endian};
use crate::error::{Error, Format, Result, begins};
use crate::stream::{GZIP_MAGIC, Gunzip, check_promise, gzip_error, read_promised, read_up_to};

/// Whether bytes begin as an IDX file does.
pub(crate) fn is_idx(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, kind, dimensions, ..] if element_of(*kind).is_some() && *dimensions > 0)
}

/// The array, packed with gzip or not.
pub(crate) fn parse(bytes: &[u8], name: &str) -> Result<RawArray<'static>> {
    if bytes.starts_with(GZIP_MAGIC) {
        return read(Gunzip::new(bytes), Some(bytes.len()), name, |cause| gzip_error(cause, name));
    }
    read(bytes, None, name, |cause| Error::Read { path: name.into(), cause })
}

/// What the header says.
pub(crate) fn describe(bytes: &[u8], name: &str) -> Result<Description> {
    if bytes.starts_with(GZIP_MAGIC) {
        return read_description(&mut Gunzip::new(bytes), name, |cause| gzip_error(cause, name));
    }
    read_description(&mut &*bytes, name, |cause| Error::Read { path: name.into(), cause })
}

/// `packed` is the size of the file, where the stream is unpacked from one.
fn read(
    mut stream: impl Read,
    packed: Option<usize>,
    name: &str,
    wrap: impl Fn(io::Error) -> Error,
) -> Result<RawArray<'static>> {
    let description = read_description(&mut stream, name, &wrap)?;
    let promised = description.byte_len(name)?;
    if let Some(packed) = packed {
        check_promise(description.kept_len(name)?, packed, name)?;
    }
    let values = read_promised(stream, promised, name, wrap)?;
    RawArray::new(description, values, name)
}

fn read_description(
    stream: &mut impl Read,
    name: &str,
    wrap: impl Fn(io::Error) -> Error,
) -> Result<Description> {
    let magic = read_up_to(stream, 4).map_err(&wrap)?;
    let (element, dimensions) = match magic.as_slice() {
        [0, 0, kind, dimensions] => element_of(*kind).map(|element| (element, usize::from(*dimensions))),
        _ => None,
    }
    .ok_or_else(|| Error::Magic {
        name: name.to_owned(),
        format: Format::Idx,
        expected: "two zero bytes and a type of 8, 9 or 11 to 14",
        begins: begins(&magic),
    })?;
    let extents = read_up_to(stream, 4 * dimensions).map_err(&wrap)?;
    if extents.len() < 4 * dimensions {
        return Err(Error::Header {
            name: name.to_owned(),
            format: Format::Idx,
            expected: "four bytes for each dimension",
            got: format!("{} bytes for {dimensions}", extents.len()),
            at: 4,
        });
    }
    let shape = extents.as_chunks().0.iter().map(|&extent| u32::from_be_bytes(extent) as usize).collect();
    Ok(Description { shape, element, endian: Endian::Big, layout: Layout::RowMajor })
}

fn element_of(kind: u8) -> Option<Element> {
    Some(match kind {
        0x08 => Element::U8,
        0x09 => Element::I8,
        0x0b => Element::I16,
        0x0c => Element::I32,
        0x0d => Element::F32,
        0x0e => Element::F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::element::Numbers;

    #[test]
    fn reads_every_type() {
        let cases: [(u8, &[u8], Numbers); 6] = [
            (0x08, &[255], Numbers::F32(vec![1.0])),
            (0x09, &[255], Numbers::F32(vec![-1.0])),
            (0x0b, &[1, 0], Numbers::F32(vec![256.0])),
            (0x0c, &[0, 1, 0, 0], Numbers::F64(vec![65536.0])),
            (0x0d, &[0x3f, 0x80, 0, 0], Numbers::F32(vec![1.0])),
            (0x0e, &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0], Numbers::F64(vec![1.0])),
        ];
        for (kind, value, expected) in cases {
            let bytes = [&[0, 0, kind, 2, 0, 0, 0, 1, 0, 0, 0, 1], value].concat();
            assert!(is_idx(&bytes));
            let array = parse(&bytes, "x").unwrap();
            assert_eq!((array.shape(), array.numbers()), (&[1, 1][..], expected));
        }
    }

    #[test]
    fn a_packed_promise_beyond_the_limit_is_refused_before_it_is_unpacked() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&[0, 0, 8, 1, 0x08, 0, 0, 1, 7]).unwrap();
        let packed = packed.finish().unwrap();
        assert!(matches!(parse(&packed, "x"), Err(Error::Expansion { limit: 0x0800_0000, .. })));
    }

    #[test]
    fn refuses_what_is_not_idx() {
        let error = parse(&[0, 0, 0x0a, 1], "x").unwrap_err();
        assert!(error.to_string().ends_with("got `\\x00\\x00\\n\\x01`"), "{error}");
        assert!(parse(&[0, 0, 8, 3, 0, 0], "x").unwrap_err().to_string().contains("got 2 bytes for 3"));
        assert!(matches!(parse(&[0, 0, 8, 0, 1], "x"), Err(Error::Scalar { .. })));
        let huge = [&[0, 0, 8, 255][..], &[255; 1020], &[0]].concat();
        assert!(matches!(parse(&huge, "x"), Err(Error::ShapeOverflow { .. })));
        let long = [0, 0, 8, 1, 0xff, 0xff, 0xff, 0xff, 1];
        assert!(matches!(parse(&long, "x"), Err(Error::Length { expected: 0xffff_ffff, got: 1, .. })));
    }
}
