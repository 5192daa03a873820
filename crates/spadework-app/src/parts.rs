//! The folder of parts of unfinished work: where each file is, when the next one is due, and how all of them are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use spadework_io::digest_bytes;
use spadework_io::output::check_no_link;

/// The folder of steps and parts inside that of a result, which is gone when the result is there.
pub(crate) const UNFINISHED: &str = ".unfinished";
/// How often parts are kept: a run that is killed loses as much.
const PERIOD: Duration = Duration::from_secs(30);
/// Another period in seconds, for tests.
const PERIOD_VARIABLE: &str = "SPADEWORK_PART_SECONDS";
/// Work that takes this part of the period or less is not kept when it is done, until all of it together takes as long as a period.
const SHORT: u32 = 8;
const ENDING: &str = "part";

/// A part as a file holds it: a digest, and what it is of.
pub(crate) fn sealed(state: &[u8]) -> Vec<u8> {
    [digest_bytes(state).as_bytes(), state].concat()
}

/// What a part holds; `None` if the file is not whole.
pub(crate) fn unsealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let length = digest_bytes(&[]).len();
    let (digest, state) = bytes.split_at_checked(length)?;
    if digest_bytes(state).as_bytes() != digest {
        return None;
    }
    bytes.drain(..length);
    Some(bytes)
}

/// A place for parts.
pub(crate) struct Parts {
    folder: PathBuf,
    period: Duration,
    /// When something was kept last.
    kept: Mutex<Instant>,
    /// How long all work took that was done and not kept.
    unkept: Mutex<Duration>,
    has_failed: AtomicBool,
}

impl Parts {
    /// In the folder of a result.
    pub(crate) fn of_result(result: &Path) -> spadework_io::Result<Self> {
        let folder = result.join(UNFINISHED);
        check_no_link(&folder)?;
        Ok(Self::in_folder(folder))
    }

    /// In a folder of their own.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        let seconds = std::env::var(PERIOD_VARIABLE).ok().and_then(|text| text.parse::<f64>().ok());
        let period = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self {
            folder,
            period: period.unwrap_or(PERIOD),
            kept: Mutex::new(Instant::now()),
            unkept: Mutex::default(),
            has_failed: AtomicBool::new(false),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_period(self, period: Duration) -> Self {
        Self { period, ..self }
    }

    /// Where a part lies; `digits` stand for everything that it depends on.
    pub(crate) fn file(&self, name: &str, digits: &str) -> PathBuf {
        self.folder.join(format!("{name}-{digits}.{ENDING}"))
    }

    /// Whether it is time to store a part; the caller that gets `true` stores it.
    pub(crate) fn is_due(&self) -> bool {
        // Another thread that looks at the clock at the same time is told.
        let Ok(mut kept) = self.kept.try_lock() else { return false };
        let is_due = kept.elapsed() >= self.period;
        if is_due {
            *kept = Instant::now();
        }
        is_due
    }

    /// Whether work that took so long is kept when it is done. The more of it was not, the shorter it may be: many short pieces are
    /// as long as a long one.
    pub(crate) fn is_long(&self, took: Duration) -> bool {
        let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
        // Storing takes time too, so what takes next to none is never worth it.
        let least = self.period / 1000;
        let is_long = took > least.max(self.period.saturating_sub(*unkept) / SHORT);
        if !is_long {
            *unkept += took;
        }
        is_long
    }

    /// Something could not be kept; whether that is news.
    pub(crate) fn fails_first(&self) -> bool {
        !self.has_failed.swap(true, Ordering::Relaxed)
    }

    /// Removes the parts of some work, which is done and kept elsewhere.
    pub(crate) fn remove(&self, name: &str) {
        for file in self.files(name) {
            let _ = fs::remove_file(file);
        }
    }

    /// Removes everything: the result is there.
    pub(crate) fn remove_all(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// The parts of work of that name, on whatever data.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let beginning = format!("{name}-");
        let is_part = |file: &PathBuf| {
            let stem = file.file_stem().and_then(|stem| stem.to_str());
            stem.is_some_and(|stem| stem.starts_with(&beginning))
                && file.extension().is_some_and(|ending| ending == ENDING)
        };
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_is_kept_when_much_of_it_was_not() {
        let period = Duration::from_secs(30);
        let parts = || Parts::in_folder(PathBuf::new()).with_period(period);
        assert!(parts().is_long(period / 7) && !parts().is_long(period / 9));
        for took in [3, 2, 1].map(Duration::from_secs) {
            let parts = parts();
            let unkept = (0..1000).filter(|_| !parts.is_long(took)).count() as u32;
            assert!(unkept > 1 && took * unkept <= period, "{unkept} times {took:?}");
        }
    }
}
