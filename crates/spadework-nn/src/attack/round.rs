//! One batch under attack: which samples still survive, and the outcomes of the others.

use burn_tensor::{Device, Int, Tensor, TensorData};
use spadework::Monitor;

use super::budget::Budget;
use super::objective::{margin, predicted};
use super::report::{AttackReport, Broken, Outcome};
use crate::data::Examples;
use crate::network::{Frozen, to_host};
use crate::{Error, Result};

/// What the attacks of a series share. A sample that one of them breaks is left out of the next.
pub(super) struct Round<'a> {
    model: &'a Frozen,
    examples: &'a Examples,
    budget: &'a Budget,
    seed: u64,
    monitor: &'a dyn Monitor,
    report: &'a mut AttackReport,
    /// The samples that survive so far, as places among the examples.
    standing: Vec<usize>,
}

/// The samples that survive so far, as an attack takes them.
pub(super) struct Start {
    pub(super) centers: Tensor<2>,
    pub(super) radius: Vec<f32>,
    pub(super) labels: Vec<usize>,
}

impl<'a> Round<'a> {
    /// Looks at the samples as they are; the ones that are wrong before any attack do not take part.
    pub(super) fn new(
        model: &'a Frozen,
        (examples, budget): (&'a Examples, &'a Budget),
        seed: u64,
        batch: std::ops::Range<usize>,
        report: &'a mut AttackReport,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let batch: Vec<usize> = batch.collect();
        let clean = examples.select(&batch);
        let outputs = to_host(model.forward(model.rows(clean.samples())));
        for (row, &label) in outputs.chunks(model.classes()).zip(clean.labels()) {
            let outcome =
                Outcome { label, clean_class: predicted(row), broken: None, margin: margin(row, label) };
            report.outcomes.push(outcome);
        }
        let standing = batch.into_iter().filter(|&place| report.outcomes[place].clean()).collect();
        Self { model, examples, budget, seed, monitor, report, standing }
    }

    pub(super) fn model(&self) -> &'a Frozen {
        self.model
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn standing(&self) -> &[usize] {
        &self.standing
    }

    /// None where no sample survives.
    pub(super) fn start(&self) -> Option<Start> {
        if self.standing.is_empty() {
            return None;
        }
        let batch = self.examples.select(&self.standing);
        Some(Start {
            centers: self.model.rows(batch.samples()),
            radius: self.standing.iter().map(|&place| self.budget.epsilons()[place]).collect(),
            labels: batch.labels().to_vec(),
        })
    }

    pub(super) fn check_stop(&self) -> Result<()> {
        if self.monitor.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Writes down which samples are broken at these points, one row per surviving sample, and returns the rows that survive.
    pub(super) fn judge(&mut self, outputs: &[f32], at: Broken, points: &Tensor<2>) -> Vec<usize> {
        let (mut surviving, mut broken) = (Vec::with_capacity(self.standing.len()), Vec::new());
        for (row, (outputs, &place)) in outputs.chunks(self.model.classes()).zip(&self.standing).enumerate() {
            let outcome = &mut self.report.outcomes[place];
            let margin = margin(outputs, outcome.label);
            outcome.margin = outcome.margin.min(margin);
            // Outputs that are not numbers predict nothing.
            if margin.is_nan() || margin < 0.0 {
                outcome.broken = Some(Broken { class: predicted(outputs), ..at });
                broken.push(row);
            } else {
                surviving.push(row);
            }
        }
        self.write(points, &broken, &broken);
        self.standing = surviving.iter().map(|&row| self.standing[row]).collect();
        surviving
    }

    /// Writes down where an attack ended with those who survive, which lie in these rows.
    pub(super) fn keep(&mut self, points: &Tensor<2>, rows: &[usize]) {
        let places: Vec<usize> = (0..rows.len()).collect();
        self.write(points, rows, &places);
    }

    /// Copies rows of points to the samples at these places of the surviving ones.
    fn write(&mut self, points: &Tensor<2>, rows: &[usize], places: &[usize]) {
        if rows.is_empty() {
            return;
        }
        let values = to_host(points.clone().select(0, rows_of(rows, self.model.device())));
        let size = self.examples.size();
        for (point, &at) in values.chunks(size).zip(places) {
            let place = self.standing[at];
            self.report.adversarial[place * size..(place + 1) * size].copy_from_slice(point);
        }
    }
}

/// Numbers of rows on a device.
pub(super) fn rows_of(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), device)
}
