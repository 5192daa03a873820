//! Ctrl-C: stop within a second, leave no half-written file.
//!
//! The library is asked to stop and does so at the next block. Work that cannot be asked (reading a large file, a
//! factorization) is ended after a grace period, once the temporaries of unfinished files are gone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Exit code of an interrupted run.
pub(crate) const EXIT_CODE: u8 = 130;
/// Time given to work that can stop by itself.
const GRACE: Duration = Duration::from_millis(600);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
pub(crate) fn install() {
    // Without a handler the system ends the process as usual: worse, but no reason to refuse the work.
    let _ = ctrlc::set_handler(|| {
        if !REQUESTED.swap(true, Ordering::SeqCst) {
            std::thread::sleep(GRACE);
        }
        spadework_io::output::remove_unfinished();
        #[expect(clippy::exit, reason = "the rest of the process cannot be asked to stop")]
        std::process::exit(i32::from(EXIT_CODE));
    });
}

/// Whether the user asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
