//! The bytes of a file: small files are read, large ones are mapped into memory.
//!
//! This is the only file of the crate with `unsafe` code.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

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
    Mapped(Mapped),
}

/// A mapped file, known to [`check_mapped_files`] for as long as it lives.
#[derive(Debug)]
struct Mapped(Mmap);

/// What is remembered of a mapped file.
struct Watched {
    path: PathBuf,
    /// Open, so that a file that took the name meanwhile is not taken for it.
    file: File,
    /// Its addresses in memory.
    start: usize,
    length: usize,
    modified: Option<SystemTime>,
}

impl Watched {
    /// Whether the file is as it was when it was opened.
    fn check(&self) -> Result<()> {
        let Self { path, file, length, modified, .. } = self;
        let same = |now: Metadata| now.len() == *length as u64 && now.modified().ok() == *modified;
        if file.metadata().is_ok_and(same) { Ok(()) } else { Err(Error::Changed { path: path.clone() }) }
    }
}

/// Files that are mapped now.
static MAPPED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

impl Mapped {
    fn new(map: Mmap, file: File, path: &Path, modified: Option<SystemTime>) -> Self {
        let (start, length) = (map.as_ptr().addr(), map.len());
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.push(Watched { path: path.to_owned(), file, start, length, modified });
        Self(map)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let start = self.0.as_ptr().addr();
        MAPPED.lock().unwrap_or_else(PoisonError::into_inner).retain(|watched| watched.start != start);
    }
}

/// Checks that no mapped file has changed since it was opened. Call this before a result is returned: a result from a file
/// that changed in the meantime would mix both versions.
///
/// # Errors
/// [`Error::Changed`] for the first file whose size or modification time differs.
pub fn check_mapped_files() -> Result<()> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner).iter().try_for_each(Watched::check)
}

/// The mapped file that an address in memory belongs to. It is for fault handlers, so it does not wait for other threads.
pub fn mapped_file_at(address: usize) -> Option<PathBuf> {
    let mapped = MAPPED.try_lock().ok()?;
    let holds = |watched: &&Watched| (watched.start..watched.start + watched.length).contains(&address);
    mapped.iter().find(holds).map(|watched| watched.path.clone())
}

/// The bytes of a file. Large files are mapped into memory; no other program may change them in the meantime.
///
/// # Errors
/// When it cannot be read, or is a folder.
pub fn read_file(path: &Path) -> Result<FileBytes> {
    FileBytes::open(path, MAP_FROM)
}

/// The bytes of a file that a run has written, such as a result or a part of one. A pipe or a device with this name is refused,
/// because reading could wait or never end.
///
/// # Errors
/// When it cannot be read, or is not a regular file.
pub fn read_regular(path: &Path) -> Result<Vec<u8>> {
    check_regular(path)?;
    fs::read(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path: path.display().to_string() },
        _ => Error::Read { path: path.to_owned(), cause },
    })
}

/// Refuses what is not a regular file under the name of a file of a result; there may also be nothing.
///
/// # Errors
/// When a folder, a pipe or a device has the name.
pub fn check_regular(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(Error::Folder { path: path.to_owned() }),
        Ok(there) if !there.is_file() => Err(Error::NotRegular { path: path.to_owned() }),
        _ => Ok(()),
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Read(bytes) => bytes,
            Bytes::Mapped(Mapped(map)) => map,
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
        if is_device(&metadata) {
            return Err(Error::Device { path: path.to_owned() });
        }
        // Pipes and the like have no length and cannot be mapped.
        if metadata.is_file() && metadata.len() >= map_from && metadata.len() > 0 {
            return Self::mapped(file, path);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(wrap)?;
        Ok(Self(Bytes::Read(bytes)))
    }

    /// Maps an open file that is not empty; messages call it by its path.
    pub(crate) fn mapped(file: File, path: &Path) -> Result<Self> {
        let wrap = |cause| Error::Read { path: path.to_owned(), cause };
        let modified = file.metadata().map_err(wrap)?.modified().ok();
        let map = map(&file).map_err(wrap)?;
        Ok(Self(Bytes::Mapped(Mapped::new(map, file, path, modified))))
    }

    /// Bytes that are in memory already.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self(Bytes::Read(bytes))
    }

    /// Call this when everything needed has been read from the file. [`check_mapped_files`] watches files that stay mapped.
    ///
    /// # Errors
    /// [`Error::Changed`] if another program wrote to it in the meantime, so that the data mix both versions.
    pub fn check_unchanged(&self) -> Result<()> {
        let Bytes::Mapped(Mapped(map)) = &self.0 else { return Ok(()) };
        let start = map.as_ptr().addr();
        let mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.iter().find(|watched| watched.start == start).map_or(Ok(()), Watched::check)
    }

    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.0, Bytes::Mapped(_))
    }
}

/// What may be read without end.
#[cfg(unix)]
fn is_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

#[expect(unsafe_code, reason = "mapping lets arrays of many gigabytes be scored without a copy in memory")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. Nothing here writes to the file, and every use goes through
    // `&[u8]`, for which any byte is valid. What remains is that another process shortens or rewrites the file meanwhile:
    // that is documented at `load` as something a caller must not do, as for every program that maps its input; the command
    // finds out (`check_mapped_files`) and turns the fault into a message (`mapped_file_at`).
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scratch_file, turn};
    use std::io::Write;

    #[test]
    fn a_mapped_file_that_changes_is_named() {
        let _turn = turn();
        let (folder, path) = scratch_file("x", [7; 100]);
        let bytes = FileBytes::open(&path, 1).unwrap();
        assert!(bytes.is_mapped());
        check_mapped_files().unwrap();
        assert_eq!(mapped_file_at(bytes.as_ptr().addr() + 99), Some(path.clone()));
        // Another file of the same name is none of our business.
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        std::fs::write(&path, [8; 50]).unwrap();
        check_mapped_files().unwrap();
        let mut moved = File::options().append(true).open(folder.path().join("moved")).unwrap();
        moved.write_all(&[9]).unwrap();
        assert!(matches!(check_mapped_files(), Err(Error::Changed { path: changed }) if changed == path));
        assert!(matches!(bytes.check_unchanged(), Err(Error::Changed { path: changed }) if changed == path));
        let address = bytes.as_ptr().addr();
        drop(bytes);
        check_mapped_files().unwrap();
        assert_eq!(mapped_file_at(address), None);
    }

    #[cfg(unix)]
    #[test]
    fn files_of_results_are_regular() {
        let (folder, path) = scratch_file("x", [7; 3]);
        assert_eq!(read_regular(&path).unwrap(), [7; 3]);
        assert!(matches!(read_regular(folder.path()), Err(Error::Folder { .. })));
        assert!(matches!(read_regular(&folder.path().join("gone")), Err(Error::NotFound { .. })));
        assert!(matches!(read_regular(Path::new("/dev/null")), Err(Error::NotRegular { .. })));
        check_regular(&path).unwrap();
        check_regular(&folder.path().join("gone")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_read() {
        assert!(matches!(FileBytes::open(Path::new("/dev/zero"), 1), Err(Error::Device { .. })));
    }
}
