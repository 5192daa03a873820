//! Streams whose length is only known after they were read: gzip data and archive members.
//!
//! One rule limits everything that is unpacked (Parquet, which has other codecs, has its own rule): at most 1,032 times the
//! file, or 128 MiB if that is more. Deflate needs two bits for its longest copy, of 258 bytes, so no honest file exceeds
//! it, and a header that promises more is refused before anything is unpacked.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;

use crate::error::{Error, Result};

/// The two bytes that gzip data begins with.
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Bytes that deflate can make of one.
const MAX_EXPANSION: u64 = 1032;
/// What any file may unpack to.
const MIN_LIMIT: u64 = 128 << 20;

/// Most bytes that a file of `packed` bytes is unpacked to.
fn unpack_limit(packed: usize) -> u64 {
    (packed as u64).saturating_mul(MAX_EXPANSION).max(MIN_LIMIT)
}

/// Refuses a header that promises more bytes than a file of `packed` bytes can unpack to.
pub(crate) fn check_promise(promised: usize, packed: usize, name: &str) -> Result<()> {
    let limit = unpack_limit(packed);
    if promised as u64 > limit {
        return Err(Error::Expansion { name: name.to_owned(), file_bytes: packed as u64, limit });
    }
    Ok(())
}

/// Reads exactly `expected` bytes, which must be the last.
///
/// Memory grows with what arrives, so a promise of terabytes costs nothing. One byte more is asked for: it shows that
/// the stream is too long, and makes decoders compare their checksum at the end.
pub(crate) fn read_promised(
    stream: impl Read,
    expected: usize,
    name: &str,
    wrap: impl Fn(io::Error) -> Error,
) -> Result<Vec<u8>> {
    let expected = expected as u64;
    let mut bytes = Vec::new();
    stream.take(expected.saturating_add(1)).read_to_end(&mut bytes).map_err(wrap)?;
    let got = bytes.len() as u64;
    if got != expected {
        return Err(Error::Length { name: name.to_owned(), expected, got, more: got > expected });
    }
    Ok(bytes)
}

/// Fills as much of a small header as there is; what is missing is for the caller to say.
pub(crate) fn read_up_to(stream: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.by_ref().take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Unpacks gzip data whose length nothing announces.
pub(crate) fn gunzip(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    gunzip_up_to(unpack_limit(bytes.len()), bytes, name)
}

fn gunzip_up_to(limit: u64, bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    Gunzip::new(bytes)
        .take(limit.saturating_add(1))
        .read_to_end(&mut unpacked)
        .map_err(|cause| gzip_error(cause, name))?;
    if unpacked.len() as u64 > limit {
        return Err(Error::Expansion { name: name.to_owned(), file_bytes: bytes.len() as u64, limit });
    }
    Ok(unpacked)
}

/// An unpacking error as ours.
pub(crate) fn gzip_error(cause: io::Error, name: &str) -> Error {
    let name = name.to_owned();
    if let Some(Trailing(got)) = cause.get_ref().and_then(|inner| inner.downcast_ref()) {
        return Error::GzipTrailing { name, got: *got };
    }
    if cause.kind() == io::ErrorKind::UnexpectedEof {
        return Error::Gzip { name, cause: io::Error::new(cause.kind(), "data that is cut short") };
    }
    Error::Gzip { name, cause }
}

/// Bytes after the last gzip member.
#[derive(Debug, thiserror::Error)]
#[error("{0} bytes after the end of the gzip data")]
struct Trailing(usize);

/// Unpacks all members of gzip data, one after the other, and insists that nothing else follows.
pub(crate) struct Gunzip<'a> {
    /// `None` once everything has been read.
    member: Option<GzDecoder<&'a [u8]>>,
}

impl<'a> Gunzip<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { member: Some(GzDecoder::new(bytes)) }
    }
}

impl Read for Gunzip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let rest: &[u8] = member.get_ref();
            self.member = match rest {
                [] => None,
                rest if rest.starts_with(GZIP_MAGIC) => Some(GzDecoder::new(rest)),
                rest => return Err(io::Error::new(io::ErrorKind::InvalidData, Trailing(rest.len()))),
            };
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn unpacks_every_member() {
        let both = [gzip(b"spade"), gzip(b"work")].concat();
        assert_eq!(gunzip(&both, "x").unwrap(), b"spadework");
    }

    #[test]
    fn refuses_what_is_cut_short_follows_or_is_damaged() {
        let whole = gzip(b"spadework spadework spadework");
        let error = gunzip(&whole[..whole.len() / 2], "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: expected complete gzip data with a matching checksum, got data that is cut short"
        );
        let longer = [whole.as_slice(), b"junk"].concat();
        let error = gunzip(&longer, "x").unwrap_err();
        assert_eq!(error.to_string(), "x: the gzip data must end the file, got 4 more bytes after it");
        let mut damaged = whole;
        let crc = damaged.len() - 8;
        damaged[crc] ^= 1;
        assert!(matches!(gunzip(&damaged, "x"), Err(Error::Gzip { .. })));
    }

    #[test]
    fn stops_at_the_limit() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(matches!(gunzip_up_to(1000, &bomb, "x"), Err(Error::Expansion { limit: 1000, .. })));
    }

    #[test]
    fn the_limit_grows_with_the_file() {
        let mib = 1 << 20;
        assert_eq!(unpack_limit(0), 128 << 20);
        assert_eq!(unpack_limit(mib), 1032 << 20);
        assert!(check_promise(1032 * mib, mib, "x").is_ok());
        let error = check_promise(1032 * mib + 1, mib, "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: a file of 1048576 bytes may unpack to at most 1082130432 bytes, got more"
        );
    }

    #[test]
    fn a_promise_costs_nothing() {
        let wrap = |cause| Error::Read { path: "x".into(), cause };
        let error = read_promised(&b"abc"[..], usize::MAX >> 1, "x", wrap).unwrap_err();
        assert!(matches!(error, Error::Length { got: 3, more: false, .. }));
        let error = read_promised(&b"abc"[..], 2, "x", wrap).unwrap_err();
        assert_eq!(error.to_string(), "x: the header promises 2 bytes of values, got more");
    }
}
