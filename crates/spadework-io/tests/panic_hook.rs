//! The panic hook belongs to the process: a library that catches panics leaves it alone.
//!
//! Alone in its file, since a hook is shared by all tests of a process.

use std::sync::atomic::{AtomicUsize, Ordering};

static HEARD: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_hook_of_the_process_stays_in_place() {
    std::panic::set_hook(Box::new(|_| {
        HEARD.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(spadework_io::panics::catch(|| -> u8 { panic!("a decoder gave up") }), None);
    assert_eq!(HEARD.load(Ordering::SeqCst), 1, "the hook hears of every panic, caught or not");
    // The hook that is there now is still that of the process.
    let hook = std::panic::take_hook();
    assert!(std::panic::catch_unwind(|| panic!("nobody listens")).is_err());
    std::panic::set_hook(hook);
    assert!(std::panic::catch_unwind(|| panic!("once more")).is_err());
    assert_eq!(HEARD.load(Ordering::SeqCst), 2);
}
