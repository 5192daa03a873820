//! The bytes of a file: read when it is small, mapped into memory when it is large.
//!
//! This is the only file of the crate with `unsafe` in it.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// Files from this size on are mapped: it saves two copies, and below it neither way takes a millisecond.
pub(crate) const MAP_FROM: u64 = 4 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub struct FileBytes(Bytes);

#[derive(Debug)]
enum Bytes {
    Read(Vec<u8>),
    Mapped(Mmap),
}

/// The bytes of a file, mapped into memory where it is large: another program must not change it meanwhile.
///
/// # Errors
/// When it cannot be read, or is a folder.
pub fn read_file(path: &Path) -> Result<FileBytes> {
    FileBytes::open(path, MAP_FROM)
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Read(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}

impl FileBytes {
    /// Opens a file, mapping it when it has at least `map_from` bytes.
    pub(crate) fn open(path: &Path, map_from: u64) -> Result<Self> {
        let wrap = |cause| Error::Read { path: path.to_owned(), cause };
        let mut file = File::open(path).map_err(wrap)?;
        let metadata = file.metadata().map_err(wrap)?;
        if metadata.is_dir() {
            return Err(Error::Folder { path: path.to_owned() });
        }
        // Pipes and the like have no length and cannot be mapped.
        if metadata.is_file() && metadata.len() >= map_from && metadata.len() > 0 {
            return map(&file).map(|map| Self(Bytes::Mapped(map))).map_err(wrap);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(wrap)?;
        Ok(Self(Bytes::Read(bytes)))
    }

    /// Bytes that are in memory already.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self(Bytes::Read(bytes))
    }

    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.0, Bytes::Mapped(_))
    }
}

#[expect(unsafe_code, reason = "mapping lets arrays of many gigabytes be scored without a copy in memory")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. Nothing here writes to the file, and every use goes through
    // `&[u8]`, for which any byte is valid. What remains is that another process shortens or rewrites the file meanwhile:
    // that is documented at `load` as something a caller must not do, as for every program that maps its input.
    unsafe { Mmap::map(file) }
}
