//! Threads of a run.

use std::num::NonZeroUsize;

use crate::error::Error;

/// Runs some work in a pool of that many threads, or in the current pool where `None`.
///
/// # Errors
/// [`Error::Threads`] when the pool cannot be started, and whatever the work returns.
pub fn with_threads<T: Send, E: From<Error> + Send>(
    threads: Option<NonZeroUsize>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    match threads {
        None => work(),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build()
            .map_err(|_| Error::Threads { threads: threads.get() })?
            .install(work),
    }
}
