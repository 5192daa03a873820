//! Files and folders under a temporary name until they are complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::FolderLock;
use crate::error::{Error, Result};

/// Temporaries that exist now. Renaming and removing are done under the lock, so an interrupt finds either the
/// temporary or the finished file, never a half of both.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A panic while the lock was held leaves a list of paths, which is as good as before.
fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file that is not complete yet. For interrupt handlers: it may be called from any thread, and
/// writers that are still active then fail when they commit.
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        remove(&path);
    }
}

/// The same for fault handlers. If the fault came while a writer of the same thread was changing the list, nothing is removed.
pub fn try_remove_unfinished() {
    if let Ok(mut unfinished) = UNFINISHED.try_lock() {
        unfinished.drain(..).for_each(|path| remove(&path));
    }
}

/// Adds a path to those that an interrupt removes.
pub(super) fn register_unfinished(path: PathBuf) {
    unfinished().push(path);
}

/// Takes a path off the list again.
pub(super) fn forget_unfinished(path: &Path) {
    unfinished().retain(|registered| registered != path);
}

/// Best effort: it is called where nothing more can be done about a failure.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Writes a whole file at once.
///
/// # Errors
/// When the file cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes).map_err(|cause| file.error(cause))?;
    file.commit()
}

/// The same for a file of a folder of results: a link of its name is replaced, and what it leads to stays.
///
/// # Errors
/// When the link cannot be removed, or the file cannot be written.
pub fn write_own(path: &Path, bytes: &[u8]) -> Result<()> {
    remove_link(path)?;
    write_bytes(path, bytes)
}

/// Removes a symbolic link under the name of a file of a folder of results. A folder of somebody else may have one, and what is written
/// next must not go where it leads.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_link(path: &Path) -> Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
        return Ok(());
    }
    fs::remove_file(path).map_err(|cause| Error::Write { path: path.to_owned(), cause })
}

/// Refuses a symbolic link under the name of a folder in a folder of results: files behind it would be read, replaced and removed.
///
/// # Errors
/// [`Error::LinkedFolder`] if it is one.
pub fn check_no_link(folder: &Path) -> Result<()> {
    if fs::symlink_metadata(folder).is_ok_and(|there| there.is_symlink()) {
        return Err(Error::LinkedFolder { path: folder.to_owned() });
    }
    Ok(())
}

/// A registered temporary path; removed on drop unless it was renamed.
#[derive(Debug)]
struct Temporary {
    target: PathBuf,
    path: PathBuf,
}

impl Temporary {
    /// Registers a path in `folder` and makes something there.
    fn create<T>(target: &Path, folder: &Path, make: impl Fn(&Path) -> io::Result<T>) -> Result<(Self, T)> {
        let wrap = |cause| Error::Write { path: target.to_owned(), cause };
        let file_name = target.file_name().unwrap_or_default();
        let mut registered = unfinished();
        let mut attempt = 0_u32;
        let path = loop {
            let path = folder.join(temporary_name(file_name.to_owned(), attempt));
            if !registered.contains(&path) {
                break path;
            }
            attempt += 1;
        };
        // Left by a process of the same number that was killed.
        remove(&path);
        let made = make(&path).map_err(wrap)?;
        registered.push(path.clone());
        Ok((Self { target: target.to_owned(), path }, made))
    }

    fn commit(mut self, rename: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<()> {
        let mut registered = unfinished();
        let result = rename(&self.path, &self.target);
        if result.is_ok() {
            registered.retain(|path| *path != self.path);
            // Another thread may take the name from now on, and must not lose its file when this is dropped.
            self.path = PathBuf::new();
        }
        // `drop` of self takes the lock again.
        drop(registered);
        result.map_err(|cause| Error::Write { path: self.target.clone(), cause })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut registered = unfinished();
        let before = registered.len();
        registered.retain(|path| *path != self.path);
        // Not registered any more: renamed, or removed by an interrupt.
        if registered.len() < before {
            remove(&self.path);
        }
    }
}

/// Moves all files of one folder into another. Documents come last, and what they replace goes first: a reader that finds a
/// document finds the tables that belong to it, even where this was cut off.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    let names = fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    let is_document = |name: &OsString| Path::new(name).extension().is_some_and(|ending| ending == "json");
    let (documents, tables): (Vec<_>, Vec<_>) = names.into_iter().partition(is_document);
    for target in tables.iter().chain(&documents).map(|name| to.join(name)) {
        if fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
            let cause = "a pipe, a device or a folder has the name of a file of the result";
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{}: {cause}", target.display()),
            ));
        }
    }
    for old in documents.iter().map(|name| to.join(name)).filter(|old| old.is_file()) {
        fs::remove_file(old)?;
    }
    tables.iter().chain(&documents).try_for_each(|name| fs::rename(from.join(name), to.join(name)))
}

/// Removes what killed runs left of the same target: temporaries whose process is gone. Only where the system says which processes there
/// are (`/proc`); elsewhere nothing is removed.
fn remove_stale(target: &Path, folder: &Path) {
    let processes = Path::new("/proc");
    if !processes.join(process::id().to_string()).is_dir() {
        return;
    }
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".tmp-");
    // The current folder is called nothing, and cannot be listed by that name.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (Some(prefix), Ok(entries)) = (prefix.to_str(), fs::read_dir(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let process = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        let is_gone = process.is_some_and(|process| !processes.join(process.to_string()).exists());
        if is_gone && !is_locked(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// Whether a process that is not among ours (in another container) still writes a file.
fn is_locked(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
    is_file
        && File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// A new file, which is locked as long as it is open, where the file system has locks.
fn create_locked(path: &Path) -> io::Result<File> {
    let file = File::create_new(path)?;
    let _ = file.try_lock();
    Ok(file)
}

/// The current folder is called nothing, as in the parent of `x.npy`.
fn make_folders(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() { Ok(()) } else { fs::create_dir_all(folder) }
}

/// The path itself or the first above it that exists, if that is a folder.
fn nearest_folder(path: &Path) -> io::Result<&Path> {
    let here = Path::new(".");
    let exists = path.ancestors().find(|path| !path.as_os_str().is_empty() && path.exists()).unwrap_or(here);
    if exists.is_dir() { Ok(exists) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

fn temporary_name(file_name: OsString, attempt: u32) -> OsString {
    let mut name = OsString::from(".");
    name.push(file_name);
    name.push(format!(".tmp-{}", process::id()));
    if attempt > 0 {
        name.push(format!("-{attempt}"));
    }
    name
}

/// A file that is open already, in this or another process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Descriptor {
    Stdout,
    Stderr,
    Other,
}

impl Descriptor {
    /// The file that a path such as `/proc/self/fd/1` stands for.
    fn at(path: &Path) -> Option<Self> {
        let ours = Path::new("/dev/fd");
        let folder = path.parent()?.canonicalize().ok()?;
        if folder != ours && !(folder.starts_with("/proc") && folder.ends_with("fd")) {
            return None;
        }
        let is_ours = ours.canonicalize().is_ok_and(|ours| ours == folder);
        Some(match path.file_name()?.to_str() {
            Some("1") if is_ours => Descriptor::Stdout,
            Some("2") if is_ours => Descriptor::Stderr,
            _ => Descriptor::Other,
        })
    }
}

/// The path that is left when all links are followed. Those to open files are not followed: another file may have their name meanwhile.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    // This is where links in a circle fail. What is not there yet can be made.
    if let Err(cause) = fs::metadata(path)
        && cause.kind() != io::ErrorKind::NotFound
    {
        return Err(cause);
    }
    let mut place = path.to_owned();
    while Descriptor::at(&place).is_none()
        && let Ok(next) = fs::read_link(&place)
    {
        place = place.parent().unwrap_or(Path::new("")).join(next);
    }
    Ok(place)
}

/// A file that gets its name only when it is complete.
///
/// Links are followed and stay. If there is a pipe or a device behind them (`/dev/null`), or a file that is open already (`/dev/stdout`), it
/// is written to and not replaced.
#[derive(Debug)]
pub struct OutputFile(Sink);

#[derive(Debug)]
enum Sink {
    Replacing { writer: BufWriter<File>, temporary: Temporary },
    Into { bytes: Cursor<Vec<u8>>, target: PathBuf },
}

impl OutputFile {
    /// Opens a temporary file next to `path`, and creates the folder if there is none. What killed runs left of the same file is removed.
    ///
    /// # Errors
    /// When the folder or file cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let wrap = |cause| Error::Write { path: path.to_owned(), cause };
        if path.file_name().is_none() {
            return Err(wrap(io::ErrorKind::InvalidFilename.into()));
        }
        let target = behind_links(path).map_err(wrap)?;
        match fs::metadata(&target) {
            Ok(there) if there.is_dir() => return Err(wrap(io::ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() || Descriptor::at(&target).is_some() => {
                return Ok(Self(Sink::Into { bytes: Cursor::new(Vec::new()), target }));
            }
            _ => {}
        }
        let folder = target.parent().unwrap_or(Path::new(""));
        make_folders(folder).map_err(wrap)?;
        remove_stale(&target, folder);
        let (temporary, file) = Temporary::create(&target, folder, create_locked)?;
        Ok(Self(Sink::Replacing { writer: BufWriter::new(file), temporary }))
    }

    /// Where the file will be.
    pub fn target(&self) -> &Path {
        match &self.0 {
            Sink::Replacing { temporary, .. } => &temporary.target,
            Sink::Into { target, .. } => target,
        }
    }

    /// A write error with the name of the file, for use with [`Write`].
    pub fn error(&self, cause: io::Error) -> Error {
        Error::Write { path: self.target().to_owned(), cause }
    }

    /// Gives the file its name, replacing what was there.
    ///
    /// # Errors
    /// When the last bytes cannot be written or the file cannot be renamed.
    pub fn commit(self) -> Result<()> {
        let (writer, temporary) = match self.0 {
            Sink::Replacing { writer, temporary } => (writer, temporary),
            Sink::Into { bytes, target } => return write_into(&target, bytes.get_ref()),
        };
        let wrap = |cause| Error::Write { path: temporary.target.clone(), cause };
        let file = writer.into_inner().map_err(|error| wrap(error.into_error()))?;
        // A name must not outlive a power cut that its bytes do not.
        file.sync_all().map_err(wrap)?;
        drop(file);
        temporary.commit(|from, to| fs::rename(from, to))
    }
}

/// Writes into something that is there and stays.
fn write_into(target: &Path, bytes: &[u8]) -> Result<()> {
    let written = match Descriptor::at(target) {
        // Opened again, a file would be written from its beginning, and what is printed next would be written over it.
        Some(Descriptor::Stdout) => write_through(&mut io::stdout().lock(), bytes),
        Some(Descriptor::Stderr) => write_through(&mut io::stderr().lock(), bytes),
        other => {
            let mut options = OpenOptions::new();
            options.write(true).append(other.is_some());
            options.open(target).and_then(|mut file| file.write_all(bytes))
        }
    };
    written.map_err(|cause| Error::Write { path: target.to_owned(), cause })
}

fn write_through(stream: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Replacing { writer, .. } => writer.write(bytes),
            Sink::Into { bytes: kept, .. } => kept.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Sink::Replacing { writer, .. } => writer.flush(),
            Sink::Into { .. } => Ok(()),
        }
    }
}

/// Archives go back to the head of a member when they know its checksum.
impl Seek for OutputFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Sink::Replacing { writer, .. } => writer.seek(position),
            Sink::Into { bytes, .. } => bytes.seek(position),
        }
    }
}

/// A folder that gets its name only when all its files are complete. No other process writes to it in the meantime.
#[derive(Debug)]
pub struct OutputDir {
    temporary: Temporary,
    lock: FolderLock,
}

impl OutputDir {
    /// Creates a temporary folder in `path` if that is a folder, and otherwise in the nearest folder above it. It is on the
    /// same file system, so files can be renamed into place. If the work fails, there is nothing else to remove.
    ///
    /// # Errors
    /// [`Error::Locked`] if another run writes to it; when it cannot be created, or a part of `path` is not a folder.
    pub fn create(path: &Path) -> Result<Self> {
        let wrap = |cause| Error::Write { path: path.to_owned(), cause };
        let folder = nearest_folder(path).map_err(wrap)?;
        let lock = FolderLock::acquire(path)?;
        remove_stale(path, folder);
        if folder == path {
            // Of runs that began before the folder was made.
            remove_stale(path, path.parent().unwrap_or(Path::new("")));
        }
        let (temporary, ()) = Temporary::create(path, folder, |path| fs::create_dir(path))?;
        Ok(Self { temporary, lock })
    }

    /// The folder to write into for now.
    pub fn path(&self) -> &Path {
        &self.temporary.path
    }

    /// Gives the folder its name. If a folder of this name exists, the new files move into it and replace files of the same
    /// name; its other files stay. Other processes may write to it once the returned lock is dropped.
    ///
    /// # Errors
    /// When the folder or a file cannot be renamed.
    pub fn commit(self) -> Result<FolderLock> {
        self.commit_without(&[])
    }

    /// The same, and removes files of these names that an earlier run left and that are not new.
    ///
    /// # Errors
    /// As [`OutputDir::commit`].
    pub fn commit_without(self, stale: &[String]) -> Result<FolderLock> {
        self.temporary.commit(|from, to| {
            if !to.is_dir() {
                make_folders(to.parent().unwrap_or(Path::new("")))?;
                return fs::rename(from, to);
            }
            let stale = stale.iter().filter(|name| !from.join(name).exists()).map(|name| to.join(name));
            let stale: Vec<PathBuf> = stale.filter(|path| path.is_file()).collect();
            move_files(from, to)?;
            for path in stale {
                fs::remove_file(path)?;
            }
            fs::remove_dir(from)
        })?;
        Ok(self.lock)
    }
}
