//! All samples through a model, batch after batch, on all threads.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use spadework::monitor::Stage;
use spadework::{Monitor, Samples};
use spadework_io::Dataset;

use super::about;
use super::error::{ModelError, Result};
use super::fit::Fit;
use super::runner::{Runner, Worker};

/// A model made ready for samples of one shape.
pub struct Prepared {
    model: String,
    outputs: Vec<String>,
    runner: Box<dyn Runner>,
    fit: Fit,
}

impl Prepared {
    pub(super) fn new(model: String, outputs: Vec<String>, runner: Box<dyn Runner>, fit: Fit) -> Self {
        Self { model, outputs, runner, fit }
    }

    /// Samples that go in at a time.
    pub fn batch_size(&self) -> usize {
        self.fit.batch
    }

    /// Whether the channels of every image are moved to where the model wants them.
    pub fn moves_channels(&self) -> bool {
        self.fit.moves_axes()
    }

    /// Numbers that a sample gets of each output; none where an output is not one row a sample.
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
                // One number a sample is a row of one.
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

    /// The outputs of all samples, in the order in which they were asked for.
    ///
    /// Beside them, every thread holds what one batch makes. The last batch is filled up with its last sample.
    ///
    /// # Errors
    /// When an output is not one row a sample or holds a number that is not finite, a batch fails, or the monitor stops
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
        let done = AtomicU64::new(0);
        let failure = places(&mut values, &dims, self.fit.batch)
            .into_par_iter()
            .enumerate()
            .map_init(
                || self.runner.worker(),
                |worker, (at, places)| {
                    if monitor.is_cancelled() {
                        return Err(ModelError::Cancelled);
                    }
                    let rows = self.rows(at, samples.len());
                    let last = rows.end - 1;
                    let fail = |reason: String| ModelError::Batch { first: rows.start, last, reason };
                    let worker = worker.as_mut().map_err(|reason| fail(reason.clone()))?;
                    self.run_batch(&mut **worker, samples, rows.clone(), places).map_err(fail)??;
                    let rows = rows.len() as u64;
                    monitor.progress(done.fetch_add(rows, Ordering::Relaxed) + rows, samples.len() as u64);
                    Ok(())
                },
            )
            // The first batch that fails, whichever thread is the first to see one.
            .find_map_first(Result::err);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let named = values.into_iter().zip(shapes);
        Ok(named
            .map(|(values, shape)| Dataset::from_f32(&self.model, samples.len(), &shape, values))
            .collect())
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
        mut places: Vec<&mut [f32]>,
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
