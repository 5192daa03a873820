//! What the system tells a process by signals, beyond Ctrl-C: those that stay ignored, faults in mapped files, and failed
//! allocations.
//!
//! Except for the first line of the binary, this is the only file of the crate with `unsafe` in it.

#[cfg(unix)]
pub(crate) use unix::{ignore, ignored, note_panic, report_faults};

#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no way to ask for or set what a signal does")]
mod unix {
    use std::io::Write;
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use libc::{SIG_DFL, SIG_IGN, SIGABRT, SIGBUS, SIGHUP, SIGINT, SIGTERM, c_int, c_void, siginfo_t};

    use crate::failure::{ILL_POSED, USAGE};

    /// Whether a panic has been reported: an abort that follows it is not one of memory.
    static PANICKED: AtomicBool = AtomicBool::new(false);

    /// Whether a failed allocation is being reported.
    static ABORTING: AtomicBool = AtomicBool::new(false);

    /// Memory for the removal of unfinished files when there is no more.
    static RESERVE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    const RESERVED: usize = 1 << 20;

    const NO_MEMORY: &[u8] =
        b"error: there is not enough memory for this call; use fewer samples, or allow the process more memory\n";

    /// The signals that this process was started to ignore.
    pub(crate) fn ignored() -> Vec<c_int> {
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| is_ignored(signal)).collect()
    }

    fn is_ignored(signal: c_int) -> bool {
        // SAFETY: `sigaction` without a new action only writes the present one to where it is told to.
        unsafe {
            let mut present: libc::sigaction = zeroed();
            libc::sigaction(signal, null_mut(), &raw mut present) == 0 && present.sa_sigaction == SIG_IGN
        }
    }

    /// Ignores signals.
    pub(crate) fn ignore(signals: &[c_int]) {
        for &signal in signals {
            // SAFETY: no handler is installed, so nothing of this program runs on the signal.
            unsafe { libc::signal(signal, SIG_IGN) };
        }
    }

    /// Says that a panic has been reported.
    pub(crate) fn note_panic() {
        PANICKED.store(true, Ordering::Relaxed);
    }

    /// Turns faults in mapped files and failed allocations into a message and an exit code.
    pub(crate) fn report_faults() {
        // Without it the message still appears.
        if let Ok(mut reserve) = RESERVE.lock() {
            let _ = reserve.try_reserve_exact(RESERVED);
        }
        // SAFETY: both handlers are functions of the type that SA_SIGINFO asks for. What they do is said there.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_flags = libc::SA_SIGINFO;
            action.sa_sigaction = on_fault as *const () as usize;
            libc::sigaction(SIGBUS, &raw const action, null_mut());
            action.sa_sigaction = on_abort as *const () as usize;
            libc::sigaction(SIGABRT, &raw const action, null_mut());
        }
    }

    /// A page of a mapped file that is no longer there. The fault comes from this thread's own reading of an array, between two
    /// instructions of ordinary code that holds no lock, so ordinary code may run here; it does not return.
    extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
        // SAFETY: the system passes a valid structure, which for this signal has an address.
        let address = unsafe { (*info).si_addr() }.addr();
        match spadework_io::mapped_file_at(address) {
            Some(path) => end(
                USAGE,
                &format!(
                    "{}: the file was shortened while it was read, or its disk failed; run the command again when nothing writes to the file",
                    path.display()
                ),
            ),
            None => by_default(signal),
        }
    }

    /// The standard library aborts where an allocation fails, after a line with the number of bytes. Until the reserve is given back,
    /// nothing here may allocate: it would fail and abort again, without end.
    extern "C" fn on_abort(signal: c_int, _: *mut siginfo_t, _: *mut c_void) {
        if PANICKED.load(Ordering::Relaxed) {
            return by_default(signal);
        }
        if ABORTING.swap(true, Ordering::SeqCst) {
            // Again in spite of the reserve, or in another thread: the message is out.
            exit(ILL_POSED);
        }
        // SAFETY: the bytes are valid for their length. The standard library's stderr may be in use by this very thread.
        unsafe { libc::write(libc::STDERR_FILENO, NO_MEMORY.as_ptr().cast(), NO_MEMORY.len()) };
        if let Ok(mut reserve) = RESERVE.try_lock() {
            drop(std::mem::take(&mut *reserve));
        }
        spadework_io::output::try_remove_unfinished();
        exit(ILL_POSED);
    }

    /// What happens without a handler, when the handler returns and the signal comes again.
    fn by_default(signal: c_int) {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, SIG_DFL) };
    }

    fn end(code: u8, message: &str) -> ! {
        spadework_io::output::remove_unfinished();
        let line = format!("error: {}\n", crate::console::printable(message));
        let _ = std::io::stderr().write_all(line.as_bytes());
        exit(code)
    }

    fn exit(code: u8) -> ! {
        // SAFETY: ends the process without running anything of it.
        unsafe { libc::_exit(i32::from(code)) }
    }
}

#[cfg(not(unix))]
pub(crate) fn ignored() -> Vec<i32> {
    Vec::new()
}

#[cfg(not(unix))]
pub(crate) fn ignore(_: &[i32]) {}

#[cfg(not(unix))]
pub(crate) fn note_panic() {}

#[cfg(not(unix))]
pub(crate) fn report_faults() {}
