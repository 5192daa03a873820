//! The model as probes see it: rows go in, margins come out, and every row is counted.

use std::collections::BTreeMap;

use spadework::Samples;
use spadework::monitor::{Monitor, check_cancelled};

use crate::accuracy::predictions;
use crate::batch::Variant;
use crate::error::Error;
use crate::margins::leads_of;

/// A model that is run on rows: as many rows of outputs come back, or an error of its own.
pub trait RunRows<E>: FnMut(&Samples<'_>) -> Result<Samples<'static>, E> {}

impl<E, M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>> RunRows<E> for M {}

/// A model, how often it was run, and how far the work is.
pub(crate) struct BlackBox<'a, M> {
    pub(crate) model: M,
    pub(crate) monitor: &'a dyn Monitor,
    /// Rows that went through the model.
    pub(crate) evaluations: u64,
    /// Numbers per output, once there are any.
    pub(crate) output_dim: Option<usize>,
    /// Times that the model was run.
    pub(crate) batches: usize,
    pub(crate) rounds_done: u64,
    pub(crate) rounds: u64,
    /// The first copy that broke each sample, where somebody wants to see them.
    pub(crate) variants: Option<BTreeMap<usize, Variant>>,
}

impl<'a, M> BlackBox<'a, M> {
    /// A model that is to be run in so many rounds. Copies that break samples are kept in `variants`, where there is one.
    pub(crate) fn new(
        model: M,
        monitor: &'a dyn Monitor,
        rounds: u64,
        variants: Option<BTreeMap<usize, Variant>>,
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
        }
    }

    /// A round in which nothing is left to do.
    pub(crate) fn skip_round<E: From<Error>>(&mut self) -> Result<(), E> {
        check_cancelled(self.monitor).map_err(Error::from)?;
        self.rounds_done += 1;
        self.monitor.progress(self.rounds_done, self.rounds);
        Ok(())
    }

    /// The outputs of some rows, of at least two columns.
    pub(crate) fn outputs<E: From<Error>>(
        &mut self,
        rows: Vec<f32>,
        dim: usize,
    ) -> Result<Samples<'static>, E>
    where
        M: RunRows<E>,
    {
        let outputs = self.any_outputs(rows, dim)?;
        if outputs.dim() < 2 {
            return Err(Error::NoMargin { outputs: outputs.dim() }.into());
        }
        Ok(outputs)
    }

    /// The outputs of some rows.
    pub(crate) fn any_outputs<E: From<Error>>(
        &mut self,
        rows: Vec<f32>,
        dim: usize,
    ) -> Result<Samples<'static>, E>
    where
        M: RunRows<E>,
    {
        let count = rows.len() / dim;
        let outputs = (self.model)(&Samples::from_f32(count, dim, rows).map_err(Error::from)?)?;
        if outputs.len() != count {
            let mismatch = spadework::Error::ShapeMismatch { input_rows: count, output_rows: outputs.len() };
            return Err(Error::from(mismatch).into());
        }
        let (batch, expected) = (self.batches, *self.output_dim.get_or_insert(outputs.dim()));
        if outputs.dim() != expected {
            return Err(Error::OutputWidth { batch, expected, got: outputs.dim() }.into());
        }
        self.batches += 1;
        self.evaluations += count as u64;
        self.skip_round::<E>()?;
        Ok(outputs)
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
        let seen = self.variants.is_some().then(|| rows.clone());
        let outputs = self.outputs(rows, dim)?;
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
        Ok(margins)
    }
}
