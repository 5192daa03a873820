//! Panics of third-party decoders, caught.
//!
//! Parquet, image and ONNX decoders have panicked on damaged files. Their data are dropped with them, so a panic can become an
//! error. This crate does not change the panic hook of the process, which prints the message of a panic before it can be caught.
//! A program that does not want this message installs its own hook and calls [`is_caught`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work`, or `None` if it panics. After a panic, do not use anything that `work` changes.
pub fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(before);
    outcome.ok()
}

/// Whether a panic of this thread will become an error, so that its message is of no use to a user.
pub fn is_caught() -> bool {
    CAUGHT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_catches_is_marked() {
        assert_eq!(catch(|| catch(|| panic!("inner"))), Some(None::<()>));
        assert_eq!(
            catch(|| (is_caught(), std::thread::spawn(is_caught).join().unwrap())),
            Some((true, false))
        );
        assert!(!is_caught());
        assert_eq!(catch(|| -> u8 { panic!("outer") }), None);
        assert!(!is_caught());
    }
}
