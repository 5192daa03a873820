//! NumPy files (`.npy`), format versions 1 to 3.

use std::io::{self, Read};

use super::npy_header::parse_header;
use crate::array::{Description, RawArray};
use crate::error::{Error, Format, Result, begins};
use crate::stream::{check_promise, read_promised, read_up_to};

/// What every NumPy file begins with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header text that is read. A header of three entries needs a hundredth of it.
const MAX_HEADER: usize = 1 << 16;

/// An array over bytes that are already there; nothing is copied.
pub(crate) fn parse<'a>(bytes: &'a [u8], name: &str) -> Result<RawArray<'a>> {
    let (description, values) = split(bytes, name)?;
    RawArray::new(description, values, name)
}

/// The description, and the bytes that follow the header.
fn split<'a>(bytes: &'a [u8], name: &str) -> Result<(Description, &'a [u8])> {
    let mut rest = bytes;
    let description = read_description(&mut rest, name, |cause| Error::Read { path: name.into(), cause })?;
    Ok((description, rest))
}

/// An array from a stream, unpacked from a file of `packed` bytes, which must end with it.
pub(crate) fn read(
    mut stream: impl Read,
    packed: usize,
    name: &str,
    wrap: impl Fn(io::Error) -> Error,
) -> Result<RawArray<'static>> {
    let description = read_description(&mut stream, name, &wrap)?;
    let promised = description.byte_len(name)?;
    check_promise(description.kept_len(name)?, packed, name)?;
    let values = read_promised(stream, promised, name, wrap)?;
    RawArray::new(description, values, name)
}

/// What the header at the beginning of a stream says.
pub(crate) fn read_description(
    stream: &mut impl Read,
    name: &str,
    wrap: impl Fn(io::Error) -> Error,
) -> Result<Description> {
    let preamble = read_up_to(stream, MAGIC.len() + 2).map_err(&wrap)?;
    let Some([major @ 1..=3, _minor]) = preamble.strip_prefix(MAGIC) else {
        let expected = "\\x93NUMPY and version 1, 2 or 3";
        let begins = begins(&preamble);
        return Err(Error::Magic { name: name.to_owned(), format: Format::Npy, expected, begins });
    };
    let length_bytes = read_up_to(stream, if *major == 1 { 2 } else { 4 }).map_err(&wrap)?;
    let length = match length_bytes.as_slice() {
        [a, b] if *major == 1 => usize::from(u16::from_le_bytes([*a, *b])),
        [a, b, c, d] => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
        _ => return Err(header_length(name, "the end of the file".to_owned())),
    };
    if length > MAX_HEADER {
        return Err(header_length(name, length.to_string()));
    }
    let text = read_up_to(stream, length).map_err(&wrap)?;
    if text.len() < length {
        return Err(header_length(name, format!("{length}, of which {} are there", text.len())));
    }
    parse_header(&text, name)
}

fn header_length(name: &str, got: String) -> Error {
    let expected = "a length of at most 65536 bytes, all in the file";
    Error::Header { name: name.to_owned(), format: Format::Npy, expected, got, at: MAGIC.len() + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Numbers;

    fn file(version: u8, header: &str, values: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(values);
        bytes
    }

    #[test]
    fn reads_every_version() {
        for version in 1..=3 {
            let bytes = file(
                version,
                "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n",
                &[0x3f, 0x80, 0, 0],
            );
            assert_eq!(parse(&bytes, "x").unwrap().numbers(), Numbers::F32(vec![1.0]));
            let wrap = |cause| Error::Read { path: "x".into(), cause };
            assert_eq!(
                read(bytes.as_slice(), bytes.len(), "x", wrap).unwrap().numbers(),
                Numbers::F32(vec![1.0])
            );
        }
    }

    #[test]
    fn refuses_other_files_and_versions() {
        let error = parse(b"PK\x03\x04", "x.npy").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.npy: a file of format npy must begin with \\x93NUMPY and version 1, 2 or 3, got `PK\\x03\\x04`"
        );
        assert!(parse(b"", "x").unwrap_err().to_string().ends_with("got nothing"));
        assert!(matches!(parse(&file(4, "", &[]), "x"), Err(Error::Magic { .. })));
    }

    #[test]
    fn fails_at_once_on_promises_the_file_does_not_keep() {
        let bytes =
            file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999, 2), }", &[0; 16]);
        let error = parse(&bytes, "x").unwrap_err();
        assert_eq!(error.to_string(), "x: the header promises 159999999999984 bytes of values, got 16");
        let unpacked = read(bytes.as_slice(), 1000, "x", |cause| Error::Read { path: "x".into(), cause });
        assert!(matches!(unpacked, Err(Error::Expansion { file_bytes: 1000, .. })));
        let mut cut = file(2, "{'descr'", &[]);
        cut[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(parse(&cut, "x").unwrap_err().to_string().contains("at most 65536 bytes"));
        cut[8..12].copy_from_slice(&100_u32.to_le_bytes());
        assert!(parse(&cut, "x").unwrap_err().to_string().contains("got 100, of which 8 are there"));
    }
}
