//! Streams whose length is only known once they have been read: gzip data and archive members.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;

use crate::error::{Error, Result};

/// The two bytes that gzip data begins with.
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

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

/// Unpacks gzip data whose length nothing announces, up to `limit` bytes.
pub(crate) fn gunzip(bytes: &[u8], limit: u64, name: &str) -> Result<Vec<u8>> {
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
        assert_eq!(gunzip(&both, 100, "x").unwrap(), b"spadework");
    }

    #[test]
    fn refuses_what_is_cut_short_follows_or_is_damaged() {
        let whole = gzip(b"spadework spadework spadework");
        let error = gunzip(&whole[..whole.len() / 2], 100, "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: expected complete gzip data with a matching checksum, got data that is cut short"
        );
        let longer = [whole.as_slice(), b"junk"].concat();
        let error = gunzip(&longer, 100, "x").unwrap_err();
        assert_eq!(error.to_string(), "x: the gzip data must end the file, got 4 more bytes after it");
        let mut damaged = whole;
        let crc = damaged.len() - 8;
        damaged[crc] ^= 1;
        assert!(matches!(gunzip(&damaged, 100, "x"), Err(Error::Gzip { .. })));
    }

    #[test]
    fn stops_at_the_limit() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(matches!(gunzip(&bomb, 1000, "x"), Err(Error::Expansion { limit: 1000, .. })));
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
