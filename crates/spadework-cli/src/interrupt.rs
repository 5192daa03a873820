//! Ctrl-C: stop within a second, leave no half-written file.
//!
//! The library is asked to stop and does so at the next block. Work that cannot be asked (reading a large file, a
//! factorization) is ended after a grace period, once the temporaries of unfinished files are gone. Training gets a longer
//! one, to finish its step and save a checkpoint. A second Ctrl-C ends it immediately.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::signals;

/// Exit code of an interrupted run.
pub(crate) const EXIT_CODE: u8 = 130;
/// Time given to work that can stop by itself.
static GRACE_MILLISECONDS: AtomicU64 = AtomicU64::new(600);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
pub(crate) fn install() {
    let ignored = signals::ignored();
    // Without a handler the system ends the process as usual: worse, but no reason to refuse the work.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            end();
        }
        // Next to this handler, so that it can be called a second time.
        let grace = || {
            std::thread::sleep(Duration::from_millis(GRACE_MILLISECONDS.load(Ordering::SeqCst)));
            end();
        };
        if std::thread::Builder::new().spawn(grace).is_err() {
            end();
        }
    });
    // `nohup` and the shells' background jobs rely on it.
    signals::ignore(&ignored);
    signals::report_faults();
}

fn end() {
    end_with(EXIT_CODE);
}

/// Ends the process from whichever thread; nothing half-written is left.
pub(crate) fn end_with(code: u8) -> ! {
    spadework_io::output::remove_unfinished();
    #[expect(clippy::exit, reason = "the rest of the process cannot be asked to stop")]
    std::process::exit(i32::from(code));
}

/// Gives work that saves when it is stopped the time to do so.
#[cfg(feature = "networks")]
pub(crate) fn give_time_to_save() {
    GRACE_MILLISECONDS.store(120_000, Ordering::SeqCst);
}

/// Whether the user asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
