//! The monitor of work that can be resumed: it stores parts of the work, and finds those of an earlier run, in the folder of `parts`.
//!
//! A part is a file whose name has a digest of everything that its content depends on, and whose content begins with a digest of the
//! rest. So a part of other data or parameters is not found, and an incomplete part is not used.

use std::path::PathBuf;
use std::time::Duration;

use spadework::Monitor;
use spadework::checkpoint::{Checkpoints, Work};
use spadework::monitor::Stage;
use spadework_io::output::write_own;
use spadework_io::{check_mapped_files, digest_pieces, read_regular};

use crate::observer::Session;
use crate::parts::{Parts, sealed, unsealed};
use crate::wording::NoteCode;

/// The monitor of a session, with a place for parts where the session has one.
pub(crate) struct Resuming<'s> {
    session: &'s Session<'s>,
    /// What the work depends on in addition to what it knows itself.
    context: String,
}

impl<'s> Resuming<'s> {
    /// `context` is what the work depends on in addition to what it knows itself. It is only called if parts are stored.
    pub(crate) fn new(session: &'s Session<'s>, context: impl FnOnce() -> String) -> Self {
        Self { session, context: session.parts().map_or_else(String::new, |_| context()) }
    }

    /// The monitor for work that depends on something more.
    pub(crate) fn also_of(mut self, more: impl FnOnce() -> String) -> Self {
        if self.session.parts().is_some() {
            self.context = format!("{} {}", self.context, more());
        }
        self
    }

    fn file(&self, parts: &Parts, work: &Work<'_>) -> PathBuf {
        let key = work.key(|work| {
            digest_pieces(|take| {
                for text in [env!("CARGO_PKG_VERSION"), &self.context, work.name, &work.parameters] {
                    take(&(text.len() as u64).to_le_bytes());
                    take(text.as_bytes());
                }
                work.data.feed(take);
            })
        });
        let digits = key.rsplit(':').next().unwrap_or(key);
        parts.file(work.name, digits)
    }
}

impl Monitor for Resuming<'_> {
    fn begin(&self, stage: Stage) {
        self.session.monitor().begin(stage);
    }

    fn progress(&self, done: u64, total: u64) {
        self.session.monitor().progress(done, total);
    }

    fn is_cancelled(&self) -> bool {
        self.session.monitor().is_cancelled()
    }

    fn checkpoints(&self) -> Option<&dyn Checkpoints> {
        self.session.parts().map(|_| self as &dyn Checkpoints)
    }
}

impl Checkpoints for Resuming<'_> {
    fn stored(&self, work: &Work<'_>) -> Option<Vec<u8>> {
        let parts = self.session.parts()?;
        // Data are digested where there is something that may be of them.
        if parts.files(work.name).is_empty() {
            return None;
        }
        let file = self.file(parts, work);
        let state = unsealed(read_regular(&file).ok()?)?;
        self.session.mention(
            NoteCode::StageTaken,
            format!("{}: {} continue where an earlier run was interrupted", file.display(), work.name),
        );
        Some(state)
    }

    fn is_due(&self) -> bool {
        self.session.parts().is_some_and(Parts::is_due)
    }

    fn is_long(&self, took: Duration) -> bool {
        self.session.parts().is_some_and(|parts| parts.is_long(took))
    }

    fn keep(&self, work: &Work<'_>, state: &[u8]) {
        let Some(parts) = self.session.parts() else { return };
        // A part of a file that changed meanwhile belongs to neither of its versions.
        if check_mapped_files().is_err() {
            return;
        }
        let file = self.file(parts, work);
        if let Err(error) = write_own(&file, &sealed(state))
            && parts.fails_first()
        {
            self.session.mention(
                NoteCode::PartsNotKept,
                format!("{error}: an interrupted run starts this step over"),
            );
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::SystemTime;

    use spadework::Samples;
    use spadework_document::Note;
    use spadework_io::load;
    use spadework_io::output::write_npy;

    use super::*;
    use crate::observer::Observer;
    use crate::wording::Voice;

    pub(crate) struct Quiet;

    impl Monitor for Quiet {}

    impl Observer for Quiet {
        fn note(&self, _: &Note) {}

        fn voice(&self) -> Voice {
            Voice::Command
        }
    }

    /// While a mapped file has changed, nothing is kept in the whole process, so tests of both take turns.
    static TURN: Mutex<()> = Mutex::new(());

    pub(crate) fn turn() -> MutexGuard<'static, ()> {
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a file as soon as the work begins.
    pub(crate) struct Rewriting<'a>(pub(crate) &'a Path);

    impl Monitor for Rewriting<'_> {
        fn begin(&self, _: Stage) {
            let file = fs::File::options().write(true).open(self.0).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
    }

    impl Observer for Rewriting<'_> {
        fn note(&self, _: &Note) {}

        fn voice(&self) -> Voice {
            Voice::Command
        }
    }

    /// An array that is large enough to be mapped, of so many rows.
    pub(crate) fn mapped_array(path: &Path, rows: usize) {
        let columns = (5 << 20) / size_of::<f32>() / rows;
        let values: Vec<f32> = (0..rows * columns).map(|i| (i * i % 9973) as f32).collect();
        write_npy(path, &[rows, columns], &values[..]).unwrap();
    }

    #[test]
    fn a_part_of_a_file_that_changed_is_not_kept() {
        let _turn = turn();
        let scene = tempfile::tempdir().unwrap();
        let path = scene.path().join("x.npy");
        mapped_array(&path, 100);
        let array = load(&path.display().to_string()).unwrap();
        let samples = array.samples().unwrap();
        let session = Session::new(&Quiet).keeping_parts(Some(scene.path())).unwrap();
        let monitor = Resuming::new(&session, String::new);
        monitor.keep(&work(&samples, "k = 5"), b"state");
        Rewriting(&path).begin(Stage::NeighborsInput);
        monitor.keep(&work(&samples, "k = 6"), b"state");
        assert!(monitor.stored(&work(&samples, "k = 5")).is_some());
        assert!(monitor.stored(&work(&samples, "k = 6")).is_none());
    }

    fn samples(last: f32) -> Samples<'static> {
        Samples::from_f32(2, 2, vec![0.0, 1.0, 2.0, last]).unwrap()
    }

    fn work<'a>(samples: &'a Samples<'a>, parameters: &str) -> Work<'a> {
        Work::new("neighbors", samples, parameters.to_owned())
    }

    #[test]
    fn a_part_is_of_its_data_parameters_and_context_alone() {
        let _turn = turn();
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(&Quiet).keeping_parts(Some(folder.path())).unwrap();
        let monitor = Resuming::new(&session, || "model a".to_owned());
        let data = samples(3.0);
        monitor.keep(&work(&data, "k = 5"), b"state");
        assert_eq!(monitor.stored(&work(&data, "k = 5")).as_deref(), Some(&b"state"[..]));
        assert_eq!(monitor.stored(&work(&data, "k = 6")), None);
        assert_eq!(monitor.stored(&work(&samples(4.0), "k = 5")), None);
        let other = Resuming::new(&session, || "model b".to_owned());
        assert_eq!(other.stored(&work(&data, "k = 5")), None);
        let other = Resuming::new(&session, || "model a".to_owned()).also_of(|| "script".to_owned());
        assert_eq!(other.stored(&work(&data, "k = 5")), None);
        session.parts().unwrap().remove("neighbors");
        assert_eq!(monitor.stored(&work(&data, "k = 5")), None);
    }

    #[test]
    fn a_part_that_is_not_whole_is_not_used() {
        let _turn = turn();
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(&Quiet).keeping_parts(Some(folder.path())).unwrap();
        let monitor = Resuming::new(&session, String::new);
        let data = samples(3.0);
        let work = work(&data, "k = 5");
        monitor.keep(&work, b"a longer state than a few bytes");
        let file = session.parts().unwrap().files("neighbors").pop().unwrap();
        let whole = fs::read(&file).unwrap();
        for length in [0, 10, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(monitor.stored(&work), None, "{length} bytes");
        }
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        fs::write(&file, &flipped).unwrap();
        assert_eq!(monitor.stored(&work), None);
        fs::write(&file, &whole).unwrap();
        assert!(monitor.stored(&work).is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_under_the_name_of_a_part_is_replaced() {
        let _turn = turn();
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(&Quiet).keeping_parts(Some(folder.path())).unwrap();
        let monitor = Resuming::new(&session, String::new);
        let data = samples(3.0);
        monitor.keep(&work(&data, "k = 5"), b"state");
        let part = session.parts().unwrap().files("neighbors").pop().unwrap();
        let own = folder.path().join("own");
        fs::write(&own, "kept").unwrap();
        fs::remove_file(&part).unwrap();
        std::os::unix::fs::symlink(&own, &part).unwrap();
        monitor.keep(&work(&data, "k = 5"), b"state");
        assert_eq!(fs::read_to_string(&own).unwrap(), "kept");
        assert_eq!(monitor.stored(&work(&data, "k = 5")).as_deref(), Some(&b"state"[..]));
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let session = Session::new(&Quiet);
        assert!(Resuming::new(&session, || unreachable!("nobody asks")).checkpoints().is_none());
    }
}
