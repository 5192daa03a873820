//! Runs a model on all samples, batch by batch, on all threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use spadework::checkpoint::{Resumable, StateReader, StateWriter, Work as Unfinished};
use spadework::monitor::Stage;
use spadework::{Monitor, Samples};
use spadework_io::Dataset;

use super::about;
use super::error::{ModelError, Result};
use super::fit::Fit;
use super::runner::{Runner, Worker};

/// Batches that threads share.
struct Work<'a, 'b> {
    batches: Vec<Mutex<Slot<'a>>>,
    /// Where batches that are done are kept in case that the run is interrupted.
    parts: Resumable<'a>,
    samples: &'a Samples<'b>,
    monitor: &'a dyn Monitor,
    next: AtomicUsize,
    done: AtomicU64,
    /// The first batch that failed, whichever thread was the first to see one.
    failure: Mutex<Option<(usize, ModelError)>>,
}

/// Where the outputs of a batch go.
enum Slot<'a> {
    Open(Vec<&'a mut [f32]>),
    /// A thread has it.
    Taken,
    Done(Vec<&'a mut [f32]>),
}

impl<'a> Work<'a, '_> {
    fn slot(&self, at: usize) -> MutexGuard<'_, Slot<'a>> {
        self.batches[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a batch that is still to be run.
    fn take(&self, at: usize) -> Option<Vec<&'a mut [f32]>> {
        let mut slot = self.slot(at);
        match std::mem::replace(&mut *slot, Slot::Taken) {
            Slot::Open(places) => Some(places),
            other => {
                *slot = other;
                None
            }
        }
    }

    fn put(&self, at: usize, places: Vec<&'a mut [f32]>) {
        *self.slot(at) = Slot::Done(places);
    }

    /// The batches that are done, with their outputs.
    fn state(&self) -> Vec<u8> {
        let (mut done, mut values) = (Vec::new(), Vec::new());
        for at in 0..self.batches.len() {
            if let Slot::Done(places) = &*self.slot(at) {
                done.push(at as u64);
                for place in places {
                    values.extend_from_slice(place);
                }
            }
        }
        let mut state = StateWriter::default();
        state.counts(done.into_iter());
        state.singles(&values);
        state.into_bytes()
    }

    /// Takes the outputs of batches that an earlier run has done; those of a state that does not fit are not taken.
    fn take_up(&self, state: &[u8]) -> Option<()> {
        let mut state = StateReader::new(state);
        let (done, values) = (state.counts()?, state.singles()?);
        let length = |at: &u64| match self.batches.get(usize::try_from(*at).ok()?)?.lock() {
            Ok(slot) => match &*slot {
                Slot::Open(places) => Some(places.iter().map(|place| place.len()).sum::<usize>()),
                _ => None,
            },
            Err(_) => None,
        };
        if done.iter().map(length).sum::<Option<usize>>()? != values.len() {
            return None;
        }
        let mut left = values.as_slice();
        for at in done {
            let mut places = self.take(at as usize)?;
            for place in &mut places {
                let (own, rest) = left.split_at(place.len());
                place.copy_from_slice(own);
                left = rest;
            }
            self.put(at as usize, places);
        }
        Some(())
    }

    /// So many samples more are done.
    fn advance(&self, rows: usize) {
        let rows = rows as u64;
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        self.monitor.progress(done, self.samples.len() as u64);
    }

    fn failed_before(&self, at: usize) -> bool {
        self.failure.lock().is_ok_and(|failure| failure.as_ref().is_some_and(|(first, _)| *first < at))
    }

    fn fail(&self, at: usize, cause: ModelError) {
        if let Ok(mut failure) = self.failure.lock()
            && failure.as_ref().is_none_or(|(first, _)| at < *first)
        {
            *failure = Some((at, cause));
        }
    }
}

/// A model made ready for samples of one shape.
pub struct Prepared {
    model: String,
    outputs: Vec<String>,
    runner: Box<dyn Runner>,
    fit: Fit,
    by: Option<ByLibrary>,
}

/// An onnxruntime library that runs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ByLibrary {
    /// The library.
    pub library: PathBuf,
    /// Why the built-in engine refuses the model, if the library was not requested.
    pub refusal: Option<String>,
}

impl Prepared {
    pub(super) fn new(model: String, outputs: Vec<String>, runner: Box<dyn Runner>, fit: Fit) -> Self {
        Self { model, outputs, runner, fit, by: None }
    }

    pub(super) fn by(self, by: Option<ByLibrary>) -> Self {
        Self { by, ..self }
    }

    /// The onnxruntime library that runs the model; none if it is the built-in engine.
    pub fn library(&self) -> Option<&ByLibrary> {
        self.by.as_ref()
    }

    /// Samples per run of the model.
    pub fn batch_size(&self) -> usize {
        self.fit.batch
    }

    /// Whether the channels of every image are moved to where the model expects them.
    pub fn moves_channels(&self) -> bool {
        self.fit.moves_axes()
    }

    /// Numbers that a sample gets of each output; none if an output is not one row per sample.
    pub fn dims(&self) -> Vec<Option<usize>> {
        (0..self.outputs.len()).map(|at| Some(self.sample_shape(at).ok()?.iter().product())).collect()
    }

    /// Shape of one output for one sample.
    fn sample_shape(&self, at: usize) -> Result<Vec<usize>, ModelError> {
        let output = || self.outputs[at].clone();
        let shape =
            self.runner.outputs()[at].as_ref().ok_or_else(|| ModelError::OpenShape { output: output() })?;
        match shape.split_first() {
            Some((&rows, rest)) if rows == self.fit.batch && !rest.contains(&0) => {
                // One number per sample is a row of one.
                Ok(if rest.is_empty() { vec![1] } else { rest.to_vec() })
            }
            // With a single sample, whatever comes out belongs to it.
            _ if self.fit.batch == 1 && !shape.contains(&0) => {
                Ok(if shape.is_empty() { vec![1] } else { shape.clone() })
            }
            _ => {
                Err(ModelError::OutputShape { output: output(), batch: self.fit.batch, shape: shape.clone() })
            }
        }
    }

    /// The outputs of all samples, in the requested order.
    ///
    /// In addition, every thread holds the outputs of one batch. The last batch is filled with copies of its last sample.
    ///
    /// # Errors
    /// When an output is not one row per sample or holds a number that is not finite, a batch fails, or the monitor stops
    /// the run.
    pub fn run(&self, samples: &Samples<'_>, monitor: &dyn Monitor) -> Result<Vec<Dataset>> {
        self.run_here(samples, monitor).map_err(|cause| about(&self.model, cause))
    }

    fn run_here(&self, samples: &Samples<'_>, monitor: &dyn Monitor) -> Result<Vec<Dataset>, ModelError> {
        let shapes =
            (0..self.outputs.len()).map(|at| self.sample_shape(at)).collect::<Result<Vec<_>, _>>()?;
        let dims: Vec<usize> = shapes.iter().map(|shape| shape.iter().product()).collect();
        let mut values: Vec<Vec<f32>> = dims.iter().map(|&dim| vec![0.0; samples.len() * dim]).collect();
        monitor.begin(Stage::Named("model outputs"));
        let what =
            Unfinished::new("outputs", samples, format!("{:?}, {} at a time", self.outputs, self.fit.batch));
        let work = Work {
            batches: places(&mut values, &dims, self.fit.batch)
                .into_iter()
                .map(|places| Mutex::new(Slot::Open(places)))
                .collect(),
            parts: Resumable::new(what, monitor.checkpoints()),
            samples,
            monitor,
            next: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            failure: Mutex::new(None),
        };
        if let Some(state) = work.parts.stored() {
            let _ = work.take_up(&state);
        }
        self.work_on_all_threads(&work);
        work.parts.keep_result(|| work.state());
        if let Some((_, failure)) = work.failure.into_inner().unwrap_or_default() {
            return Err(failure);
        }
        let named = values.into_iter().zip(shapes);
        Ok(named
            .map(|(values, shape)| Dataset::from_finite_f32(&self.model, samples.len(), &shape, values))
            .collect())
    }

    /// As many threads as the current pool has, none of which belongs to it: a thread of a pool that waits for an engine would
    /// begin another batch meanwhile.
    fn work_on_all_threads(&self, work: &Work<'_, '_>) {
        let threads = rayon::current_num_threads().min(work.batches.len());
        std::thread::scope(|scope| {
            let spawned =
                (1..threads).map(|_| std::thread::Builder::new().spawn_scoped(scope, || self.work(work)));
            // The batches of a thread that cannot be had are taken by the others.
            spawned.for_each(drop);
            // Not on this thread, which may belong to a pool; but if there is no other, then on this one.
            if std::thread::Builder::new().spawn_scoped(scope, || self.work(work)).is_err() {
                self.work(work);
            }
        });
    }

    /// Takes one batch after the other, until none is left before the first that failed.
    fn work(&self, work: &Work<'_, '_>) {
        let mut worker = None;
        loop {
            let at = work.next.fetch_add(1, Ordering::Relaxed);
            if at >= work.batches.len() || work.failed_before(at) {
                return;
            }
            // One that is done already was run before the work was interrupted.
            let Some(mut places) = work.take(at) else {
                work.advance(self.rows(at, work.samples.len()).len());
                continue;
            };
            let worker = worker.get_or_insert_with(|| self.runner.worker());
            match self.work_on(at, &mut places, worker, work) {
                Ok(()) => work.put(at, places),
                Err(failure) => work.fail(at, failure),
            }
            work.parts.keep_if_due(|| work.state());
        }
    }

    fn work_on(
        &self,
        at: usize,
        places: &mut [&mut [f32]],
        worker: &mut Result<Box<dyn Worker + '_>, String>,
        work: &Work<'_, '_>,
    ) -> Result<(), ModelError> {
        if work.monitor.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        let total = work.samples.len();
        let rows = self.rows(at, total);
        let last = rows.end - 1;
        let fail = |reason: String| ModelError::Batch { first: rows.start, last, reason };
        let worker = worker.as_mut().map_err(|reason| fail(reason.clone()))?;
        self.run_batch(&mut **worker, work.samples, rows.clone(), places).map_err(fail)??;
        work.advance(rows.len());
        Ok(())
    }

    /// The samples of a batch.
    fn rows(&self, batch: usize, samples: usize) -> std::ops::Range<usize> {
        let first = batch * self.fit.batch;
        first..(first + self.fit.batch).min(samples)
    }

    /// Runs one batch and puts its rows into their places. An inner error is that of the numbers, an outer that of the engine.
    fn run_batch(
        &self,
        worker: &mut dyn Worker,
        samples: &Samples<'_>,
        rows: std::ops::Range<usize>,
        places: &mut [&mut [f32]],
    ) -> Result<Result<(), ModelError>, String> {
        let batch = self.batch(samples, rows.clone());
        let mut outcome = Ok(());
        let mut misshapen = None;
        worker.run(&batch, &mut |at, shape, values| {
            let place = &mut *places[at];
            // The engine promised the shape; a batch that breaks the promise must not be cut to size.
            if self.runner.outputs()[at].as_deref() != Some(shape) || values.len() < place.len() {
                misshapen = Some(format!(
                    "output `{}` has another shape than announced, {shape:?}",
                    self.outputs[at]
                ));
                return;
            }
            place.copy_from_slice(&values[..place.len()]);
            if outcome.is_ok()
                && let Some(wrong) = place.iter().position(|value| !value.is_finite())
            {
                let dim = place.len() / rows.len();
                outcome = Err(ModelError::NonFinite {
                    output: self.outputs[at].clone(),
                    row: rows.start + wrong / dim,
                    column: wrong % dim,
                    value: place[wrong],
                });
            }
        })?;
        misshapen.map_or(Ok(outcome), Err)
    }

    /// The numbers of a batch as the model takes them.
    fn batch(&self, samples: &Samples<'_>, rows: std::ops::Range<usize>) -> Vec<f32> {
        let dim = samples.dim();
        let mut batch = vec![0.0; self.fit.batch * dim];
        for (at, place) in batch.chunks_exact_mut(dim).enumerate() {
            let row = (rows.start + at).min(rows.end - 1);
            self.fit.place(samples.values().singles(samples.place(row)).iter().copied(), place);
        }
        batch
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("model", &self.model)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

/// The place of every batch in every output.
fn places<'a>(values: &'a mut [Vec<f32>], dims: &[usize], batch: usize) -> Vec<Vec<&'a mut [f32]>> {
    let mut places: Vec<Vec<&mut [f32]>> = Vec::new();
    for (values, dim) in values.iter_mut().zip(dims) {
        for (at, chunk) in values.chunks_mut(batch * dim).enumerate() {
            if places.len() == at {
                places.push(Vec::new());
            }
            places[at].push(chunk);
        }
    }
    places
}
