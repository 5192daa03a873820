//! NumPy archives.

use std::io::{self, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::OutputFile;
use super::npy::{NpyValues, write_array};
use crate::array::checked_product;
use crate::error::{Error, Format, Result};

/// Members from this size on need the large layout of ZIP; a little less than 4 GiB, for the header.
const LARGE: usize = (u32::MAX as usize) - (1 << 16);

/// One array of an archive.
#[derive(Debug, Clone, Copy)]
pub struct NpzMember<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its shape; empty for a single value.
    pub shape: &'a [usize],
    /// Its values, row after row.
    pub values: NpyValues<'a>,
}

/// Writes arrays into one archive, in the order given and uncompressed, so that a reader can read a part of one array
/// without unpacking what comes before it. The same arrays give the same bytes.
///
/// # Errors
/// When the number of values does not match a shape, or the file cannot be written.
pub fn write_npz(path: &Path, members: &[NpzMember<'_>]) -> Result<()> {
    write_archive(path, members, CompressionMethod::Stored)
}

/// The same, packed.
pub(super) fn write_packed_npz(path: &Path, members: &[NpzMember<'_>]) -> Result<()> {
    write_archive(path, members, CompressionMethod::Deflated)
}

fn write_archive(path: &Path, members: &[NpzMember<'_>], method: CompressionMethod) -> Result<()> {
    for NpzMember { shape, values, .. } in members {
        if checked_product(shape) != Some(values.len()) {
            let (path, shape) = (path.to_owned(), shape.to_vec());
            return Err(Error::OutputShape { path, shape, values: values.len() });
        }
    }
    let mut file = OutputFile::create(path)?;
    let written = write_members(&mut file, members, method);
    written.map_err(|error| match error {
        ZipError::Io(cause) => file.error(cause),
        error => Error::Encoder { path: path.to_owned(), format: Format::Npz, reason: error.to_string() },
    })?;
    file.commit()
}

fn write_members(
    file: &mut OutputFile,
    members: &[NpzMember<'_>],
    method: CompressionMethod,
) -> std::result::Result<(), ZipError> {
    let mut archive = ZipWriter::new(file);
    for NpzMember { key, shape, values } in members {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(format!("{key}.npy"), options.large_file(values.bytes() >= LARGE))?;
        write_array(&mut archive, shape, *values).map_err(ZipError::Io)?;
    }
    archive.finish()?.flush().map_err(|cause: io::Error| ZipError::Io(cause))
}
