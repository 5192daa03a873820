//! Threads of a run.

use std::num::NonZeroUsize;

use crate::error::Error;
use crate::kernels;

/// Runs some work in a pool with this many threads, or in the current pool if `None`.
///
/// # Errors
/// [`Error::Threads`] when the pool cannot be started, and whatever the work returns.
pub fn with_threads<T: Send, E: From<Error> + Send>(
    threads: Option<NonZeroUsize>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    match threads {
        None => work(),
        Some(threads) => {
            let kernels = kernels::inherited();
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads.get())
                .start_handler(move |_| kernels::inherit(kernels))
                .build()
                .map_err(|_| Error::Threads { threads: threads.get() })?
                .install(work)
        }
    }
}
