//! The model as probes see it: rows go in, margins come out, and every row is counted.

use crate::monitor::check_cancelled;
use crate::scores::leads_of;
use crate::{Error, Monitor, Samples};

/// A model, how often it was run, and how far the work is.
pub(super) struct BlackBox<'a, M> {
    pub(super) model: M,
    pub(super) monitor: &'a dyn Monitor,
    /// Rows that went through the model.
    pub(super) evaluations: u64,
    pub(super) rounds_done: u64,
    pub(super) rounds: u64,
}

impl<M> BlackBox<'_, M> {
    /// A round in which nothing is left to do.
    pub(super) fn skip_round<E: From<Error>>(&mut self) -> Result<(), E> {
        check_cancelled(self.monitor)?;
        self.rounds_done += 1;
        self.monitor.progress(self.rounds_done, self.rounds);
        Ok(())
    }

    /// The outputs of some rows.
    pub(super) fn outputs<E: From<Error>>(
        &mut self,
        rows: Vec<f32>,
        dim: usize,
    ) -> Result<Samples<'static>, E>
    where
        M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
    {
        let count = rows.len() / dim;
        let outputs = (self.model)(&Samples::few_from_f32(count, dim, rows)?)?;
        if outputs.len() != count {
            return Err(Error::ShapeMismatch { input_rows: count, output_rows: outputs.len() }.into());
        }
        if outputs.dim() < 2 {
            return Err(Error::NoMargin { outputs: outputs.dim() }.into());
        }
        self.evaluations += count as u64;
        self.skip_round::<E>()?;
        Ok(outputs)
    }

    /// The margins of some rows: the output of the class of each, less the largest other.
    pub(super) fn margins<E: From<Error>>(
        &mut self,
        rows: Vec<f32>,
        dim: usize,
        classes: &[usize],
    ) -> Result<Vec<f64>, E>
    where
        M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
    {
        let outputs = self.outputs(rows, dim)?;
        Ok(leads_of(&outputs, classes.iter().copied()))
    }
}
