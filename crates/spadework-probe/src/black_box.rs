//! The model as probes see it: it turns rows into margins, and every row is counted.

use std::collections::BTreeMap;

use spadework::Samples;
use spadework::monitor::{Monitor, check_cancelled};

use crate::accuracy::predictions;
use crate::batch::Variant;
use crate::error::Error;
use crate::journal::{Answer, Counts, Finished, Journal, question};
use crate::margins::leads_of;

/// A model that is run on rows. It returns one row of outputs per row, or an error of its own.
pub trait RunRows<E>: FnMut(&Samples<'_>) -> Result<Samples<'static>, E> {}

impl<E, M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>> RunRows<E> for M {}

/// A model, how often it was run, and how far the work is.
pub(crate) struct BlackBox<'a, M> {
    model: M,
    monitor: &'a dyn Monitor,
    /// Rows that went through the model.
    pub(crate) evaluations: u64,
    /// Numbers per output, once there are any.
    output_dim: Option<usize>,
    /// Times that the model was run.
    batches: usize,
    rounds_done: u64,
    rounds: u64,
    /// The first copy that broke each sample, where somebody wants to see them.
    pub(crate) variants: Option<BTreeMap<usize, Variant>>,
    /// What the model has said so far.
    pub(crate) journal: Option<Journal<'a>>,
}

impl<'a, M> BlackBox<'a, M> {
    /// A model that was not run yet; `variants` take the copies that break samples, where somebody wants to see them.
    pub(crate) fn new(
        model: M,
        rounds: u64,
        variants: Option<BTreeMap<usize, Variant>>,
        monitor: &'a dyn Monitor,
    ) -> Self {
        Self {
            model,
            monitor,
            evaluations: 0,
            output_dim: None,
            batches: 0,
            rounds_done: 0,
            rounds,
            variants,
            journal: None,
        }
    }

    /// The same, where answers are taken from a journal and go into it.
    #[must_use]
    pub(crate) fn with_journal(self, journal: Journal<'a>) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// Goes on after samples that an earlier run was done with; what was found of them.
    pub(crate) fn take_up(&mut self) -> Vec<f64> {
        let Some(journal) = &mut self.journal else { return Vec::new() };
        let Finished { numbers, counts } = journal.finished();
        if !numbers.is_empty() {
            self.evaluations = counts.evaluations;
            self.batches = counts.batches as usize;
            self.rounds_done = counts.rounds_done;
        }
        numbers
    }

    /// Goes on after so many times that an earlier run has run the model on so many rows.
    pub(crate) fn skip(&mut self, times: usize, rows: usize) {
        self.batches += times;
        self.evaluations += (times * rows) as u64;
        self.rounds_done += times as u64;
    }

    /// Takes down what was found of some samples, which are done.
    pub(crate) fn finish(&mut self, numbers: impl Iterator<Item = f64>) {
        let counts = Counts {
            evaluations: self.evaluations,
            batches: self.batches as u64,
            rounds_done: self.rounds_done,
        };
        if let Some(journal) = &mut self.journal {
            journal.finish(numbers, counts);
        }
    }

    /// What came of the probes; where they failed or were stopped, what was found until then is kept.
    pub(crate) fn keeping<T, E>(&self, outcome: Result<T, E>) -> Result<T, E> {
        if let (Err(_), Some(journal)) = (&outcome, &self.journal) {
            journal.keep_unfinished();
        }
        outcome
    }

    /// A round in which nothing is left to do.
    pub(crate) fn skip_round<E: From<Error>>(&mut self) -> Result<(), E> {
        check_cancelled(self.monitor).map_err(Error::from)?;
        self.rounds_done += 1;
        self.monitor.progress(self.rounds_done, self.rounds);
        Ok(())
    }

    /// The outputs of some rows, in whatever precision they are, of at least two columns.
    pub(crate) fn classes_of<E: From<Error>>(&mut self, rows: &Samples<'_>) -> Result<Samples<'static>, E>
    where
        M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
    {
        let outputs = self.run(rows)?;
        self.count(rows.len())?;
        at_least_two(outputs)
    }

    /// The outputs of some rows.
    pub(crate) fn outputs<E: From<Error>>(
        &mut self,
        rows: Vec<f32>,
        dim: usize,
    ) -> Result<Samples<'static>, E>
    where
        M: RunRows<E>,
    {
        let (count, asked) = (rows.len() / dim, question(&rows));
        let known = self.known(&rows).and_then(|answer| answer.into_outputs(count));
        let outputs = match known {
            // The first rows go through the model in any case, so that answers of another one are found out.
            Some(known) if self.batches > 0 => {
                self.output_dim.get_or_insert(known.dim());
                known
            }
            known => {
                let outputs = self.run(&single_precision(rows, dim)?)?;
                if let Some(journal) = &mut self.journal {
                    journal.compare(asked, known.as_ref().map(Answer::of), Answer::of(&outputs));
                }
                outputs
            }
        };
        self.count(count)?;
        Ok(outputs)
    }

    /// Runs the model.
    fn run<E: From<Error>>(&mut self, rows: &Samples<'_>) -> Result<Samples<'static>, E>
    where
        M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
    {
        let count = rows.len();
        let outputs = (self.model)(rows)?;
        if outputs.len() != count {
            let mismatch = spadework::Error::ShapeMismatch { input_rows: count, output_rows: outputs.len() };
            return Err(Error::from(mismatch).into());
        }
        let (batch, expected) = (self.batches, *self.output_dim.get_or_insert(outputs.dim()));
        if outputs.dim() != expected {
            return Err(Error::OutputWidth { batch, expected, got: outputs.dim() }.into());
        }
        Ok(outputs)
    }

    fn known(&mut self, rows: &[f32]) -> Option<Answer> {
        self.journal.as_mut()?.known(rows)
    }

    /// So many rows have gone through the model, now or before the work was interrupted.
    fn count<E: From<Error>>(&mut self, rows: usize) -> Result<(), E> {
        self.batches += 1;
        self.evaluations += rows as u64;
        self.skip_round()
    }

    /// The margins of copies: the output of the class of each, less the largest other. `samples` says whose copies they are.
    pub(crate) fn margins<E: From<Error>>(
        &mut self,
        rows: Vec<f32>,
        dim: usize,
        classes: &[usize],
        samples: &[usize],
    ) -> Result<Vec<f64>, E>
    where
        M: RunRows<E>,
    {
        let (count, asked) = (rows.len() / dim, question(&rows));
        if let Some(margins) = self.known(&rows).and_then(|answer| answer.into_margins(count)) {
            self.count(count)?;
            return Ok(margins);
        }
        let seen = self.variants.is_some().then(|| rows.clone());
        let outputs = self.run(&single_precision(rows, dim)?)?;
        let margins = leads_of(&outputs, classes.iter().copied());
        if let (Some(rows), Some(variants)) = (seen, &mut self.variants) {
            let found = predictions(&outputs);
            for (at, (&index, &margin)) in samples.iter().zip(&margins).enumerate() {
                if margin <= 0.0 {
                    let row = || rows[at * dim..(at + 1) * dim].to_vec();
                    variants.entry(index).or_insert_with(|| Variant {
                        index,
                        class: found[at],
                        margin,
                        row: row(),
                    });
                }
            }
        }
        self.count(count)?;
        if let Some(journal) = &mut self.journal {
            journal.keep(asked, Answer::Margins(margins.clone()));
        }
        Ok(margins)
    }
}

/// Outputs that have a margin.
pub(crate) fn at_least_two<E: From<Error>>(outputs: Samples<'static>) -> Result<Samples<'static>, E> {
    if outputs.dim() < 2 {
        return Err(Error::NoMargin { outputs: outputs.dim() }.into());
    }
    Ok(outputs)
}

fn single_precision(rows: Vec<f32>, dim: usize) -> Result<Samples<'static>, Error> {
    Ok(Samples::from_f32(rows.len() / dim, dim, rows)?)
}
