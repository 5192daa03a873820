//! NumPy archives (`.npz`): a ZIP file with one `.npy` member per array, stored or deflated.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use super::npy;
use super::scipy_matrix::is_matrix;
use crate::array::{Description, RawArray};
use crate::error::{Error, Format, Result};
use crate::keys::pick;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// The array called `key`, or the only one.
pub(crate) fn parse(bytes: &[u8], key: Option<&str>, name: &str) -> Result<RawArray<'static>> {
    // What is inflated is bounded by what the member's own header promises, whatever the archive says.
    with_member(bytes, key, name, |member, wrap| npy::read(member, bytes.len(), name, wrap))
}

/// What the header of that array says.
pub(crate) fn describe(bytes: &[u8], key: Option<&str>, name: &str) -> Result<Description> {
    with_member(bytes, key, name, |mut member, wrap| npy::read_description(&mut member, name, wrap))
}

fn with_member<T>(
    bytes: &[u8],
    key: Option<&str>,
    name: &str,
    work: impl FnOnce(ZipFile<'_, Cursor<&[u8]>>, &dyn Fn(io::Error) -> Error) -> Result<T>,
) -> Result<T> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| decoder(&e, name))?;
    check_names(bytes, &archive, name)?;
    let members = members(&archive, name)?;
    let keys: Vec<String> = members.iter().map(|(key, _)| key.clone()).collect();
    if key.is_none() && is_matrix(&keys) {
        return Err(Error::SparseMatrix { name: name.to_owned() });
    }
    let chosen = pick(&keys, key, Format::Npz, name)?;
    let (_, index) = members.get(chosen).ok_or_else(|| no_arrays(name))?;
    let member = archive.by_index(*index).map_err(|e| decoder(&e, name))?;
    work(member, &|cause| Error::Decoder {
        name: name.to_owned(),
        format: Format::Npz,
        reason: cause.to_string(),
    })
}

/// Keys of the arrays.
pub(crate) fn keys(bytes: &[u8], name: &str) -> Result<Vec<String>> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| decoder(&e, name))?;
    Ok(members(&archive, name)?.into_iter().map(|(key, _)| key).collect())
}

/// A word that NumPy stored as a scalar of bytes (`S3`) or of text (`<U3`), such as the format of a SciPy matrix.
pub(crate) fn word(bytes: &[u8], key: &str, name: &str) -> Result<String> {
    /// A header and a word of text take a fraction of it.
    const MOST: u64 = 1 << 12;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| decoder(&e, name))?;
    let mut content = Vec::new();
    let member = archive.by_name(&format!("{key}.npy")).map_err(|e| decoder(&e, name))?;
    member.take(MOST).read_to_end(&mut content).map_err(|cause| Error::Decoder {
        name: name.to_owned(),
        format: Format::Npz,
        reason: cause.to_string(),
    })?;
    // The header of a file ends with a line feed, and text has four bytes a letter.
    let value = content.iter().position(|&byte| byte == b'\n').map_or(&[][..], |end| &content[end + 1..]);
    Ok(value.iter().filter(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect())
}

/// A text that NumPy stores as a scalar of bytes, such as the document inside the file of a stage.
pub(crate) fn text(bytes: &[u8], key: &str, name: &str) -> Result<String> {
    /// Documents take some kilobytes.
    const MOST: u64 = 1 << 20;
    let reason = |reason: String| Error::Decoder { name: name.to_owned(), format: Format::Npz, reason };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| decoder(&e, name))?;
    let member = archive.by_name(&format!("{key}.npy")).map_err(|e| decoder(&e, name))?;
    let mut content = Vec::new();
    member.take(MOST).read_to_end(&mut content).map_err(|cause| reason(cause.to_string()))?;
    let start = content.iter().position(|&byte| byte == b'\n').map_or(content.len(), |end| end + 1);
    String::from_utf8(content.split_off(start)).map_err(|_| reason(format!("`{key}` is no text")))
}

/// Of members of one name the archive keeps the last and says nothing; the end of the file has their true number.
fn check_names(bytes: &[u8], archive: &Archive<'_>, name: &str) -> Result<()> {
    const END: &[u8] = b"PK\x05\x06";
    /// More are counted elsewhere.
    const MANY: usize = 0xffff;
    let end = bytes.windows(END.len()).rposition(|window| window == END);
    let count = end.and_then(|end| bytes.get(end + 10..end + 12));
    let count = count.map_or(0, |count| usize::from(u16::from_le_bytes([count[0], count[1]])));
    if count == MANY || count <= archive.len() {
        return Ok(());
    }
    let (names, ending) = (archive.len(), if archive.len() == 1 { "" } else { "s" });
    let reason = format!("names must differ, but its {count} members have {names} name{ending}");
    Err(Error::Decoder { name: name.to_owned(), format: Format::Npz, reason })
}

/// Keys and positions of the arrays. NumPy names the members `KEY.npy`.
fn members(archive: &Archive<'_>, name: &str) -> Result<Vec<(String, usize)>> {
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let Some(member) = archive.name_for_index(index) else { continue };
        let member: Cow<'_, str> = member.map_err(|e| decoder(&e, name))?;
        if let Some(key) = member.strip_suffix(".npy") {
            members.push((key.to_owned(), index));
        }
    }
    Ok(members)
}

fn no_arrays(name: &str) -> Error {
    Error::NoArrays { name: name.to_owned(), format: Format::Npz }
}

fn decoder(error: &ZipError, name: &str) -> Error {
    Error::Decoder { name: name.to_owned(), format: Format::Npz, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;
    use crate::element::Numbers;

    fn npy(values: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '|i1', 'fortran_order': False, 'shape': ({},), }}", values.len());
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(values);
        bytes
    }

    fn archive(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (member, bytes) in members {
            writer.start_file(*member, SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn reads_stored_and_deflated_members() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let bytes =
                archive(&[("a.npy", npy(&[1])), ("b.npy", npy(&[2, 3])), ("note.txt", vec![])], method);
            assert_eq!(parse(&bytes, Some("b"), "x").unwrap().numbers(), Numbers::F32(vec![2.0, 3.0]));
            assert_eq!(
                parse(&bytes, None, "x.npz").unwrap_err().to_string(),
                "x.npz: the file holds several arrays, name one as `FILE:KEY` with a key of `a`, `b`"
            );
            assert_eq!(
                parse(&bytes, Some("c"), "x.npz:c").unwrap_err().to_string(),
                "x.npz:c: there is no `c` in the file; it holds `a`, `b`"
            );
        }
    }

    #[test]
    fn a_bomb_stops_at_what_its_header_promises() {
        let mut bomb = npy(&[1, 2]);
        bomb.resize(1 << 22, 0);
        let bytes = archive(&[("a.npy", bomb)], CompressionMethod::Deflated);
        assert!(bytes.len() < 1 << 14);
        assert!(matches!(parse(&bytes, None, "x"), Err(Error::Length { expected: 2, more: true, .. })));
    }

    #[test]
    fn a_promise_beyond_the_limit_is_refused_before_it_is_unpacked() {
        let header = "{'descr': '|i1', 'fortran_order': False, 'shape': (134217729,), }";
        let member =
            [b"\x93NUMPY\x01\x00", &[header.len() as u8, 0][..], header.as_bytes(), &[0; 99]].concat();
        let bytes = archive(&[("a.npy", member)], CompressionMethod::Deflated);
        assert!(matches!(parse(&bytes, None, "x"), Err(Error::Expansion { limit: 0x0800_0000, .. })));
    }

    #[test]
    fn notices_a_damaged_member() {
        let mut bytes = archive(&[("a.npy", npy(&[1, 2, 3]))], CompressionMethod::Stored);
        let at = bytes.windows(3).position(|w| w == [1, 2, 3]).unwrap();
        bytes[at] = 9;
        assert!(matches!(parse(&bytes, None, "x"), Err(Error::Decoder { .. })));
        assert!(matches!(parse(b"PK\x03\x04", None, "x"), Err(Error::Decoder { .. })));
        let empty = archive(&[], CompressionMethod::Stored);
        assert!(matches!(parse(&empty, None, "x"), Err(Error::NoArrays { .. })));
    }
}
