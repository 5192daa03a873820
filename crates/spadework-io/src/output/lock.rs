//! One run at a time in a folder of results.
//!
//! The lock is a hidden file, locked by the system: it is held as long as its process runs, so a file that a killed run left
//! does not block anything. It is in the folder, or, if that does not exist yet, in the nearest folder above it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf, absolute};
use std::process;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::sleep;
use std::time::Duration;

use super::temporary::{forget_unfinished, register_unfinished};
use crate::error::{Error, Result};

/// Locks of this process: one call may write its tables and its figures to the same folder.
static HELD: Mutex<Vec<Weak<Held>>> = Mutex::new(Vec::new());

/// A look at a lock of another run locks it for a moment, so a single refusal may be that.
const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(40);

/// The right to write to a folder, until it is dropped.
#[derive(Debug)]
pub struct FolderLock {
    /// None on file systems without locks.
    _held: Option<Arc<Held>>,
}

#[derive(Debug)]
struct Held {
    folder: PathBuf,
    path: PathBuf,
    /// Closing it ends the lock.
    _file: File,
}

impl FolderLock {
    /// Locks a folder, which need not exist yet.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds it; [`Error::NotLock`] if something else has the name of the lock;
    /// [`Error::Write`] if the lock cannot be written.
    pub fn acquire(folder: &Path) -> Result<Self> {
        let wrap = |cause| Error::Write { path: folder.to_owned(), cause };
        let absolute = absolute(folder).map_err(wrap)?;
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|lock| lock.strong_count() > 0);
        if let Some(ours) = held.iter().filter_map(Weak::upgrade).find(|lock| lock.folder == absolute) {
            return Ok(Self { _held: Some(ours) });
        }
        for attempt in 1..=TRIES {
            match lock(&absolute).map_err(wrap)? {
                Outcome::NotFile(path) => return Err(Error::NotLock { path }),
                Outcome::Locked { path, file } => {
                    register_unfinished(path.clone());
                    let ours = Arc::new(Held { folder: absolute, path, _file: file });
                    held.push(Arc::downgrade(&ours));
                    return Ok(Self { _held: Some(ours) });
                }
                Outcome::Unsupported => return Ok(Self { _held: None }),
                Outcome::HeldBy(holder) if attempt == TRIES => {
                    return Err(Error::Locked { path: folder.to_owned(), holder });
                }
                Outcome::HeldBy(_) | Outcome::Replaced => sleep(BETWEEN_TRIES),
            }
        }
        Err(Error::Locked { path: folder.to_owned(), holder: None })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Removed before it is unlocked: a run that had opened it meanwhile sees that it is gone, and takes another.
        forget_unfinished(&self.path);
        let _ = fs::remove_file(&self.path);
    }
}

enum Outcome {
    Locked {
        path: PathBuf,
        file: File,
    },
    HeldBy(Option<u32>),
    /// The file was removed by its last holder while it was opened.
    Replaced,
    /// Something that no run has made: a folder of somebody else may have a link here, which would be followed and emptied.
    NotFile(PathBuf),
    Unsupported,
}

fn lock(folder: &Path) -> io::Result<Outcome> {
    let mut places = places(folder);
    let Some(at) = places.iter().position(|place| place.parent().is_some_and(Path::is_dir)) else {
        return Ok(Outcome::Unsupported);
    };
    // A run that began before the folder was made has its lock further up.
    for above in places.drain(at + 1..) {
        if let Some(outcome) = held(&above) {
            return Ok(outcome);
        }
    }
    let path = places.swap_remove(at);
    if fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file()) {
        return Ok(Outcome::NotFile(path));
    }
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Outcome::HeldBy(process_in(&mut file))),
        Err(TryLockError::Error(_)) => return Ok(Outcome::Unsupported),
    }
    if !is_still_there(&file, &path) {
        return Ok(Outcome::Replaced);
    }
    file.set_len(0)?;
    file.write_all(process::id().to_string().as_bytes())?;
    Ok(Outcome::Locked { path, file })
}

/// Where the lock of a folder may be: in it, and under a name that says which folder it is of in every folder above it.
fn places(folder: &Path) -> Vec<PathBuf> {
    let mut places = vec![folder.join(".lock")];
    for above in folder.ancestors().skip(1) {
        let Ok(rest) = folder.strip_prefix(above) else { continue };
        let name: Vec<_> = rest.iter().map(|part| part.to_string_lossy()).collect();
        places.push(above.join(format!(".{}.lock", name.join("%"))));
    }
    places
}

/// Whether a process holds a lock file. One that nobody holds was left by a run that was killed, and is removed.
fn held(path: &Path) -> Option<Outcome> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Some(Outcome::HeldBy(process_in(&mut file))),
        Err(TryLockError::Error(_)) => None,
        Ok(()) => {
            if is_still_there(&file, path) {
                let _ = fs::remove_file(path);
            }
            None
        }
    }
}

fn process_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(16).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    // Not what a link leads to that was made meanwhile.
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(ours), Ok(there)) if place(&ours) == place(&there))
}

#[cfg(not(unix))]
fn is_still_there(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_inside_or_above_it() {
        let scene = tempfile::tempdir().unwrap();
        let folder = scene.path().join("runs/today");
        let lock = FolderLock::acquire(&folder).unwrap();
        let above = scene.path().join(".runs%today.lock");
        assert_eq!(fs::read_to_string(&above).unwrap(), process::id().to_string());
        // The same process may take it again, also when the folder has been made.
        fs::create_dir_all(&folder).unwrap();
        let again = FolderLock::acquire(&folder).unwrap();
        drop(lock);
        assert!(above.exists());
        drop(again);
        assert!(!above.exists());
        let inside = FolderLock::acquire(&folder).unwrap();
        assert!(folder.join(".lock").exists());
        drop(inside);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn what_another_holder_has_is_refused_with_its_number() {
        let scene = tempfile::tempdir().unwrap();
        for (file, folder) in [(".lock", ""), (".new%er.lock", "new/er")] {
            let path = scene.path().join(file);
            fs::write(&path, "4711").unwrap();
            let folder = scene.path().join(folder);
            let other = File::open(&path).unwrap();
            other.lock().unwrap();
            let error = FolderLock::acquire(&folder).unwrap_err();
            assert!(matches!(error, Error::Locked { holder: Some(4711), .. }), "{error}");
            // What a process that is gone left behind is not an obstacle.
            drop(other);
            drop(FolderLock::acquire(&folder).unwrap());
            assert!(!path.exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_under_the_name_of_a_lock_is_refused_and_what_it_leads_to_stays() {
        let scene = tempfile::tempdir().unwrap();
        let own = scene.path().join("own");
        for target in ["own", "new"] {
            for (file, folder) in [(".lock", ""), (".new%er.lock", "new/er")] {
                fs::write(&own, "kept").unwrap();
                let path = scene.path().join(file);
                std::os::unix::fs::symlink(target, &path).unwrap();
                let error = FolderLock::acquire(&scene.path().join(folder)).unwrap_err();
                assert!(matches!(&error, Error::NotLock { path: named } if *named == path), "{error}");
                assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
                fs::remove_file(&path).unwrap();
            }
        }
        assert_eq!(fs::read_to_string(&own).unwrap(), "kept");
        assert_eq!(fs::read_dir(scene.path()).unwrap().count(), 1);
        // Further up, it is of no run.
        std::os::unix::fs::symlink("own", scene.path().join(".new%er.lock")).unwrap();
        fs::create_dir_all(scene.path().join("new/er")).unwrap();
        drop(FolderLock::acquire(&scene.path().join("new/er")).unwrap());
        assert_eq!(fs::read_to_string(&own).unwrap(), "kept");
    }

    #[test]
    fn a_lock_further_up_counts_when_the_folder_is_made() {
        let scene = tempfile::tempdir().unwrap();
        let other = File::create(scene.path().join(".a%b.lock")).unwrap();
        other.lock().unwrap();
        fs::create_dir_all(scene.path().join("a/b")).unwrap();
        let error = FolderLock::acquire(&scene.path().join("a/b")).unwrap_err();
        assert!(matches!(error, Error::Locked { holder: None, .. }), "{error}");
        drop(other);
        drop(FolderLock::acquire(&scene.path().join("a/b")).unwrap());
        assert!(!scene.path().join(".a%b.lock").exists());
    }
}
