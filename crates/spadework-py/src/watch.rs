//! Work without the interpreter's lock, while the calling thread looks after Ctrl-C and progress.
//!
//! Python handles signals in its main thread, and only when that thread asks. So the work goes to a thread of its own,
//! and the calling thread wakes up several times per second, asks, and passes on how far the work is.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use spadework::monitor::Stage;
use spadework::{Error as CoreError, Monitor};
use spadework_app::{Observer, Voice};
use spadework_document::Note;

use crate::errors::{Failure, internal_error};
use crate::settings::Settings;

/// Between two looks at signals and progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the worker tells the calling thread, and the other way round.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    cancelled: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct State {
    stage: Option<Stage>,
    done: u64,
    total: u64,
    finished: bool,
}

impl Monitor for Watch {
    fn begin(&self, stage: Stage) {
        let mut state = self.state();
        *state = State { stage: Some(stage), finished: state.finished, ..State::default() };
    }

    fn progress(&self, done: u64, total: u64) {
        let mut state = self.state();
        // Workers report out of order; a bar that runs backwards confuses.
        (state.done, state.total) = (state.done.max(done), total);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Observer for Watch {
    /// Nothing now: notes are a part of the result, and become warnings once it is there.
    fn note(&self, _: &Note) {}

    fn voice(&self) -> Voice {
        Voice::Python
    }
}

impl Watch {
    /// A worker that panicked while it reported its progress has left nothing half-done here.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self) {
        self.state().finished = true;
        self.changed.notify_all();
    }

    /// Waits for the end of the work, but not longer than a look takes.
    fn wait(&self) -> State {
        let waited = self.changed.wait_timeout_while(self.state(), LOOK_EVERY, |state| !state.finished);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns when the work is done, or with the exception of a signal handler or of the progress function.
    fn supervise(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let mut told = State::default();
        loop {
            let state = py.detach(|| self.wait());
            py.check_signals()?;
            if let (Some(progress), Some(stage)) = (progress, state.stage)
                && state != told
            {
                progress.call1((stage.to_string(), state.done, state.total))?;
                told = state;
            }
            if state.finished {
                return Ok(());
            }
        }
    }
}

/// Marks the work as done however it ends, so that nobody waits for a worker that panicked.
struct Finisher<'a>(&'a Watch);

impl Drop for Finisher<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Does the work on `threads` threads, or on as many as rayon takes for all, and calls `progress(stage, done, total)`
/// now and then.
///
/// The threads end with the call: a pool that outlives it would be lost, and waited for, in a forked process.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<NonZeroUsize>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let outcome = thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, || {
            let _finisher = Finisher(&watch);
            in_pool(threads, || work(&watch))
        });
        let Ok(worker) = worker else {
            return Err(Failure::from(CoreError::Threads { threads: 1 }).into_exception(py));
        };
        let supervised = watch.supervise(py, progress);
        if supervised.is_err() {
            watch.cancelled.store(true, Ordering::Relaxed);
        }
        let outcome = py.detach(|| worker.join());
        supervised.map(|()| outcome)
    })?;
    match outcome {
        Ok(result) => result.map_err(|failure| failure.into_exception(py)),
        Err(panic) => Err(internal_error(&*panic)),
    }
}

/// What every call that scores has: its parameters, and a function that is told of its progress.
#[derive(FromPyObject)]
pub(crate) struct Asked<'py>(pub(crate) Settings, Option<Bound<'py, PyAny>>);

impl Asked<'_> {
    /// Does the work as [`watched`] does, on the threads of the parameters.
    pub(crate) fn watched<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Settings, &Watch) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let Self(settings, progress) = self;
        watched(py, settings.threads, progress.as_ref(), |watch| work(settings, watch))
    }
}

fn in_pool<T: Send>(
    threads: Option<NonZeroUsize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    // 0 lets rayon choose: its environment variable, or all cores that the process may use.
    let count = threads.map_or(0, NonZeroUsize::get);
    match rayon::ThreadPoolBuilder::new().num_threads(count).build() {
        Ok(pool) => pool.install(work),
        Err(_) => Err(CoreError::Threads { threads: count }.into()),
    }
}
