//! A file for numbers that are too many to be made in memory: it has no name for others, and is gone when the run ends, whatever ends it.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::mapping::FileBytes;

/// A file that is being written, in the folder for temporary files.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    path: PathBuf,
}

impl ScratchFile {
    pub(crate) fn create() -> Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!(".spadework-{}-{number}", process::id()));
            match create_nameless(&path) {
                Ok(file) => return Ok(Self { file, path }),
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(Error::Scratch { path, cause }),
            }
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|cause| Error::Scratch { path: self.path.clone(), cause })
    }

    /// What was written, mapped into memory.
    pub(crate) fn into_bytes(self) -> Result<FileBytes> {
        FileBytes::mapped(self.file, &self.path)
    }
}

/// The file loses its name at once and lives for as long as it is open or mapped.
#[cfg(unix)]
fn create_nameless(path: &std::path::Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// The system removes the file when it is closed.
#[cfg(windows)]
fn create_nameless(path: &std::path::Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(path)
}

#[cfg(not(any(unix, windows)))]
fn create_nameless(path: &std::path::Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::turn;

    #[cfg(unix)]
    #[test]
    fn what_was_written_is_there_and_its_name_is_not() {
        let _turn = turn();
        let mut file = ScratchFile::create().unwrap();
        assert!(!file.path.exists());
        file.write(b"more than").unwrap();
        file.write(b" once").unwrap();
        let bytes = file.into_bytes().unwrap();
        assert!(bytes.is_mapped() && *bytes == *b"more than once");
        bytes.check_unchanged().unwrap();
    }
}
