//! Panics of third-party decoders, caught without a word on stderr.
//!
//! A panic prints its message before it can be caught. So a hook is put before the one of the process, once, that passes on
//! every panic except those of a thread that is about to catch its own.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static INSTALLED: Once = Once::new();

/// What `work` returns, or `None` where it panics. Nothing that `work` changes may be used after that.
pub fn catch_quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    install();
    let before = QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    outcome.ok()
}

fn install() {
    // A thread that unwinds must not change the hook; then this once the message is printed.
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                previous(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const INNER: &str = "SPADEWORK_TEST_QUIET";

    /// Calls itself, to see what a process prints.
    #[test]
    fn only_panics_that_are_caught_here_are_silent() {
        if std::env::var_os(INNER).is_some() {
            assert_eq!(catch_quietly(|| catch_quietly(|| panic!("first secret"))), Some(None::<()>));
            assert_eq!(catch_quietly(|| -> u8 { panic!("second secret") }), None);
            assert_eq!(catch_quietly(|| 7), Some(7));
            assert!(catch_unwind(|| panic!("for all to hear")).is_err());
            let other = || std::thread::spawn(|| panic!("from elsewhere")).join().is_err();
            assert_eq!(catch_quietly(other), Some(true));
            return;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "quiet::tests::only_panics_that_are_caught_here_are_silent", "--nocapture"])
            .env(INNER, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("for all to hear") && text.contains("from elsewhere"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}
