//! The model as probes see it: rows go in, margins come out, and every row is counted.

use crate::monitor::check_cancelled;
use crate::{Error, Monitor, Samples, Values};

/// A model, how often it was run, and how far the work is.
pub(super) struct BlackBox<'a, M> {
    pub(super) model: M,
    pub(super) monitor: &'a dyn Monitor,
    /// Rows that went through the model.
    pub(super) evaluations: u64,
    pub(super) rounds_done: u64,
    pub(super) rounds: u64,
}

/// What a classifier says of one sample.
pub(super) struct Verdict {
    pub(super) class: usize,
    pub(super) margin: f64,
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
        let rows = by_row(&outputs);
        Ok(rows.zip(classes).map(|(row, &class)| margin(&row, class)).collect())
    }
}

/// The class of every row and by how much it leads.
pub(super) fn verdicts(outputs: &Samples<'_>) -> Vec<Verdict> {
    let classes = crate::scores::predictions(outputs);
    by_row(outputs).zip(classes).map(|(row, class)| Verdict { class, margin: margin(&row, class) }).collect()
}

fn by_row<'s>(samples: &'s Samples<'_>) -> impl Iterator<Item = Vec<f64>> + 's {
    let dim = samples.dim();
    (0..samples.len()).map(move |row| {
        let place = row * dim..(row + 1) * dim;
        match samples.values() {
            Values::F32(values) => values[place].iter().copied().map(f64::from).collect(),
            Values::F64(values) => values[place].to_vec(),
        }
    })
}

fn margin(row: &[f64], class: usize) -> f64 {
    let others = row.iter().enumerate().filter(|&(at, _)| at != class);
    row[class] - others.fold(f64::NEG_INFINITY, |most, (_, &output)| most.max(output))
}
