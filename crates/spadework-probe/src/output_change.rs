//! Probes of a regressor: how far can its outputs be moved by a small change of the inputs?
//!
//! For a sample x, a search looks for the x' with ‖x' − x‖ ≤ ε that moves the outputs furthest: every number of x is moved by +step
//! or −step, and the signs of smaller and smaller runs of numbers are flipped if that moves the outputs further. Changes are
//! Euclidean lengths in units of a spread (the standard deviation of the targets, or of the outputs), so that 1 is as much as
//! samples typically differ. The largest change found is a lower bound of the largest possible change. For a linear model y = wᵀx,
//! it reaches ε‖w‖₁ once runs are single numbers.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use spadework::Samples;
use spadework::monitor::Monitor;
use spadework::random::{PROBE_COPIES, Purpose, stream_at};

use crate::black_box::{BlackBox, RunRows};
use crate::columns::Corner;
use crate::copies::Copies;
use crate::error::Error;
use crate::journal::Journal;
use crate::probe::{PROBES, ProbeParams, gathered};

/// Samples that go through a model together, at most.
const BATCH: usize = 1 << 12;

/// A probed regressor.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProbedOutputs {
    /// How it was probed.
    pub params: ProbeParams,
    /// The samples that were probed, in ascending order.
    pub samples: Vec<OutputChange>,
    /// Rows that went through the model.
    pub evaluations: u64,
    /// The unit of the changes.
    pub spread: f64,
}

/// How far probes moved the outputs of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct OutputChange {
    /// Which sample of the inputs.
    pub index: usize,
    /// The largest change found, in units of the spread.
    pub change: f64,
}

/// Probes a regressor; `spread` is the unit of the changes, as [`spread`] finds it of targets or outputs.
///
/// # Errors
/// As [`probe_model`](crate::probe_model).
///
/// ```
/// use spadework::samples::Values;
/// use spadework::{Samples, Silent};
/// use spadework_probe::{Error, ProbeParams, probe_regressor, spread};
/// let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
///     let Values::F32(x) = rows.values() else { unreachable!("probes are in single precision") };
///     let outputs: Vec<f32> = x.chunks_exact(2).map(|x| 3.0 * x[0] - x[1]).collect();
///     Ok(Samples::from_f32(rows.len(), 1, outputs)?)
/// };
/// let inputs = Samples::from_f32(4, 2, vec![0.0, 0.5, 0.25, -1.0, 1.0, 1.0, -1.0, 0.0])?;
/// let params = ProbeParams::new("linf:0.1".parse().unwrap()).with_probes(20);
/// let found = probe_regressor(&inputs, spread(&model(&inputs)?), model, &params, &Silent)?;
/// // 0.1 · (3 + 1) in units of the spread, but where the inputs end: at 1 and at −1.
/// assert!((found.samples[0].change * found.spread - 0.4).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn probe_regressor<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    spread: f64,
    model: M,
    params: &ProbeParams,
    monitor: &dyn Monitor,
) -> Result<ProbedOutputs, E> {
    params.check()?;
    monitor.begin(PROBES);
    let chosen = params.chosen(inputs.len());
    let rounds = chosen.chunks(BATCH).len() as u64 * (params.probes as u64 + 1);
    let journal = Journal::new("changes", inputs, format!("{params:?}"), monitor);
    let mut model = BlackBox::new(model, rounds, None, monitor).with_journal(journal);
    let copies = params.copies(inputs)?;
    let changes = move_samples(inputs, &chosen, &copies, params, &mut model);
    let changes = model.keeping(changes)?;
    if let Some(journal) = &model.journal {
        journal.keep_result();
    }
    let found = chosen.iter().zip(changes);
    let samples = found.map(|(&index, change)| OutputChange { index, change: change / spread }).collect();
    Ok(ProbedOutputs { params: params.clone(), samples, evaluations: model.evaluations, spread })
}

/// The largest change of every sample.
fn move_samples<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    chosen: &[usize],
    copies: &Copies,
    params: &ProbeParams,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<f64>, E> {
    let mut changes = model.take_up();
    for indices in chosen.get(changes.len()..).unwrap_or_default().chunks(BATCH) {
        let rows = gathered(inputs, indices);
        let search = RegressorSearch { dim: inputs.dim(), indices, rows: &rows, copies, params };
        let found = search.run(model)?;
        model.finish(found.iter().copied());
        changes.extend(found);
    }
    Ok(changes)
}

/// Samples whose outputs are moved together.
struct RegressorSearch<'a> {
    dim: usize,
    indices: &'a [usize],
    rows: &'a [f32],
    copies: &'a Copies,
    params: &'a ProbeParams,
}

impl RegressorSearch<'_> {
    /// The largest change of every sample.
    fn run<E: From<Error>, M: RunRows<E>>(&self, model: &mut BlackBox<'_, M>) -> Result<Vec<f64>, E> {
        let start = model.outputs(self.rows.to_vec(), self.dim)?;
        let mut rngs: Vec<ChaCha8Rng> = self.indices.iter().map(|&index| self.rng(index)).collect();
        let mut corners: Vec<Corner> = rngs.iter_mut().map(|rng| self.start(rng)).collect();
        let mut largest = vec![0.0_f64; self.indices.len()];
        for round in 0..self.params.probes {
            let mut turned = corners.clone();
            for (corner, rng) in turned.iter_mut().zip(&mut rngs) {
                corner.turn(self.run_of_numbers(round, rng), self.copies.columns.as_ref());
            }
            let moved = model.outputs(self.moved(&turned), self.dim)?;
            for (at, turned) in turned.into_iter().enumerate() {
                let change = distance(&start, &moved, at);
                if change > largest[at] {
                    largest[at] = change;
                    corners[at] = turned;
                }
            }
        }
        Ok(largest)
    }

    fn rng(&self, index: usize) -> ChaCha8Rng {
        stream_at(self.params.seed, Purpose::ProbeCopies, index as u64 * PROBE_COPIES)
    }

    fn start(&self, rng: &mut ChaCha8Rng) -> Corner {
        let sign = |_| if rng.random() { 1 } else { -1 };
        self.copies.corner((0..self.dim).map(sign).collect())
    }

    /// Some numbers next to each other: nothing first, so that the start counts too, then halves, quarters and so on.
    fn run_of_numbers(&self, round: usize, rng: &mut ChaCha8Rng) -> std::ops::Range<usize> {
        if round == 0 {
            return 0..0;
        }
        // Twice as many rounds with runs of half the length.
        let level = (round + 1).ilog2();
        let length = (self.dim >> level.min(usize::BITS - 1)).max(1);
        let first = rng.random_range(0..self.dim.div_ceil(length)) * length;
        first..(first + length).min(self.dim)
    }

    fn moved(&self, corners: &[Corner]) -> Vec<f32> {
        let rows = self.rows.chunks_exact(self.dim).zip(corners);
        rows.flat_map(|(row, corner)| self.copies.at(corner, row)).collect()
    }
}

/// The Euclidean distance of the same row in two sets.
fn distance(a: &Samples<'_>, b: &Samples<'_>, row: usize) -> f64 {
    let (a, b) = (row_of(a, row), row_of(b, row));
    a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn row_of(samples: &Samples<'_>, row: usize) -> Vec<f64> {
    samples.values().doubles(samples.place(row)).into_owned()
}

/// The standard deviation of targets or outputs: the root mean square distance to their mean.
pub fn spread(outputs: &Samples<'_>) -> f64 {
    let rows: Vec<Vec<f64>> = (0..outputs.len()).map(|row| row_of(outputs, row)).collect();
    let count = rows.len() as f64;
    let mean: Vec<f64> =
        (0..outputs.dim()).map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / count).collect();
    let square =
        |row: &Vec<f64>| row.iter().zip(&mean).map(|(value, mean)| (value - mean).powi(2)).sum::<f64>();
    (rows.iter().map(square).sum::<f64>() / count).sqrt()
}
