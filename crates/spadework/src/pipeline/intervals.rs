//! How much a SPADE score depends on the samples it was computed from, and a baseline to compare it
//! with.
//!
//! The interval is a jackknife that leaves out half of the samples (Shao and Wu 1989), on the logarithm of the score. If a
//! statistic of n samples has the variance σ²/n, its value on a subsample of m of them, drawn without replacement, has the
//! variance σ²(1/m − 1/n) around it. So the standard deviation s of half-samples is that of the whole, and the interval is
//!
//! ```text
//! [ λ · exp(−1.96 s),  λ · exp(1.96 s) ]     s² = m/(n − m) · variance of the subsamples' log λ,  m = ⌊n/2⌋
//! ```
//!
//! It is centered on λ and not on the subsamples' scores, because the score depends on the number of samples and has no
//! known limit. So the interval describes the typical score of sets of *this many* samples from the same source (the median
//! over such sets), with the same k. `docs/decisions/013-interval.md` explains what that means, what it does not mean, and
//! how often it was true.

use super::graphs::ModelSides;
use super::models::{Model, ModelSet};
use super::params::SpadeParams;
use crate::checkpoint::{Resumable, StateReader, StateWriter, Work};
use crate::eigen::EigenProblem;
use crate::error::{Error, Result};
use crate::graph::{Connectivity, GraphPair};
use crate::monitor::{Cancelling, Monitor, Stage, check_cancelled};
use crate::random::{Purpose, draw, stream, stream_at};
use crate::threads::with_threads;

/// A relative residual that is ample for quantiles.
const SUBSAMPLE_TOLERANCE: f64 = 1e-4;

/// Nominal level of an interval.
pub const INTERVAL_LEVEL: f64 = 0.95;
const STANDARD_DEVIATIONS: f64 = 1.959_963_984_540_054;

/// Subsamples that are enough for an interval: s is then known to about 7 %.
pub const SUBSAMPLES: usize = 100;

/// An interval of one model score.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// Intervals of the scores of several models, from the same subsamples.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Intervals {
    /// An interval per model, in the order given.
    pub models: Vec<Interval>,
    /// The scores of every subsample, one per model.
    pub scores: Vec<Vec<f64>>,
    /// Samples in a subsample, ⌊n/2⌋.
    pub size: usize,
    /// Subsamples that needed more neighbors to be connected.
    pub grown: usize,
}

impl Intervals {
    /// The share of the subsamples in which model `a` scores below model `b`; ties count half.
    pub fn part_in_order(&self, a: usize, b: usize) -> f64 {
        let wins = self.scores.iter().map(|scores| match scores[a].total_cmp(&scores[b]) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.0,
        });
        wins.sum::<f64>() / self.scores.len() as f64
    }
}

/// Intervals around the model scores `scores` of all models, which were computed with `params`; k should be the k used.
///
/// A subsample whose graph is disconnected is connected with more neighbors, whatever the policy, and counted.
///
/// # Errors
/// When half of the samples are not more than k, the inputs are a graph, and as [`evaluate`](crate::pipeline::evaluate).
///
/// # Panics
/// When there is not one score per model, or fewer than two repetitions.
pub fn intervals(
    models: &ModelSet<'_>,
    scores: &[f64],
    repetitions: usize,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<Intervals> {
    assert_eq!(models.models().len(), scores.len(), "a score a model");
    assert!(repetitions > 1, "two subsamples are the least that can scatter");
    params.check()?;
    let size = models.len() / 2;
    if size <= params.neighbors.max(1) {
        return Err(Error::SmallSubsample { size, neighbors: params.neighbors });
    }
    with_threads(params.threads, || {
        monitor.begin(Stage::Subsamples);
        // Columns are standardized once: a subsample has the scales of the whole.
        let (models, params) = (&models.placed(params)?, &params.for_placed());
        let parts = DrawnParts::of(models, scores, params, monitor);
        let mut drawn = parts.stored(repetitions);
        for repetition in drawn.len()..repetitions {
            check_cancelled(monitor)?;
            drawn.push(subsample(models, params, size, repetition as u64, &Cancelling(monitor))?);
            parts.keep_if_due(&drawn);
            monitor.progress(repetition as u64 + 1, repetitions as u64);
        }
        let grown = drawn.iter().filter(|subsample| subsample.used > params.neighbors).count();
        let subsampled: Vec<Vec<f64>> = drawn.into_iter().map(|subsample| subsample.scores).collect();
        let scale = (size as f64 / (models.len() - size) as f64).sqrt();
        let around = |(model, &score): (usize, &f64)| {
            let logarithms: Vec<f64> = subsampled.iter().map(|scores| scores[model].ln()).collect();
            let reach = (STANDARD_DEVIATIONS * scale * standard_deviation(&logarithms)).exp();
            Interval { lower: score / reach, upper: score * reach }
        };
        let models = scores.iter().enumerate().map(around).collect();
        Ok(Intervals { models, scores: subsampled, size, grown })
    })
}

/// The permuted baseline: the score of the model's outputs, randomly permuted. It is the score of a model that ignores its input
/// but returns the same set of values. The output graph keeps its shape and only its nodes are relabeled, so nothing has to be
/// searched.
///
/// # Errors
/// As [`evaluate`](crate::pipeline::evaluate).
pub fn permuted_score(graphs: &GraphPair, params: &SpadeParams, monitor: &dyn Monitor) -> Result<f64> {
    let mut labels: Vec<u32> = (0..graphs.nodes() as u32).collect();
    draw(&mut labels, graphs.nodes(), &mut stream(params.seed, Purpose::PermutedOutputs));
    let permuted = graphs.with_outputs_relabeled(&labels);
    with_threads(params.threads, || model_score(&permuted, params, monitor))
}

/// λ_1 alone.
fn model_score(graphs: &GraphPair, params: &SpadeParams, monitor: &dyn Monitor) -> Result<f64> {
    let params = params.clone().with_eigenpairs(1).eigen_params();
    let problem = EigenProblem::new(graphs, params.seed);
    Ok(problem.dominant_eigenpairs(&params, monitor)?.values()[0])
}

/// Subsamples that are kept in case that the run is interrupted.
struct DrawnParts<'a> {
    /// None where the inputs are a graph, of which there are no subsamples.
    parts: Option<Resumable<'a>>,
    models: usize,
}

impl<'a> DrawnParts<'a> {
    fn of(models: &'a ModelSet<'a>, scores: &[f64], params: &SpadeParams, monitor: &'a dyn Monitor) -> Self {
        // The result is the same for any number of threads. The scores to the last bit stand for the outputs.
        let parameters = format!("{:?}, scores {scores:?}", params.clone().with_threads(None));
        let work = |inputs| Work::new("subsamples", inputs, parameters);
        let inputs = models.inputs().samples();
        let parts = inputs.map(|inputs| Resumable::new(work(inputs), monitor.checkpoints()));
        Self { parts, models: models.models().len() }
    }

    /// The first subsamples, as far as they are known.
    fn stored(&self, repetitions: usize) -> Vec<Subsample> {
        let stored = || {
            let state = self.parts.as_ref()?.stored()?;
            let mut state = StateReader::new(&state);
            let (used, scores) = (state.counts()?, state.doubles()?);
            let fits = used.len() <= repetitions && used.len() * self.models == scores.len();
            let rows = used.into_iter().zip(scores.chunks_exact(self.models));
            let subsample =
                |(used, scores): (u64, &[f64])| Subsample { used: used as usize, scores: scores.to_vec() };
            fits.then(|| rows.map(subsample).collect())
        };
        stored().unwrap_or_default()
    }

    fn keep_if_due(&self, drawn: &[Subsample]) {
        let Some(parts) = &self.parts else { return };
        parts.keep_if_due(|| {
            let mut state = StateWriter::default();
            state.counts(drawn.iter().map(|subsample| subsample.used as u64));
            state.doubles(
                &drawn.iter().flat_map(|subsample| subsample.scores.iter().copied()).collect::<Vec<_>>(),
            );
            state.into_bytes()
        });
    }
}

/// One subsample: the k it needed, and the score of every model.
struct Subsample {
    used: usize,
    scores: Vec<f64>,
}

fn subsample(
    models: &ModelSet<'_>,
    params: &SpadeParams,
    size: usize,
    repetition: u64,
    monitor: &dyn Monitor,
) -> Result<Subsample> {
    let mut all: Vec<u32> = (0..models.len() as u32).collect();
    draw(&mut all, size, &mut stream_at(params.seed, Purpose::Subsamples, repetition));
    // In their old order, so that ties that are left still go to the lower index.
    let chosen = &mut all[..size];
    chosen.sort_unstable();
    let parts = rows_of(models, chosen)?;
    let params = params
        .clone()
        .with_eigenpairs(1)
        .with_tolerance(params.tolerance.max(SUBSAMPLE_TOLERANCE))
        .with_connectivity(Connectivity::Grow);
    let made = ModelSides::of_models(&parts, &params, monitor)?.make(params.neighbors, &params, monitor)?;
    let score = |model| model_score(&made.of_model(model, &params)?.graphs, &params, monitor);
    let scores = (0..parts.models().len()).map(score).collect::<Result<_>>()?;
    Ok(Subsample { used: made.used(), scores })
}

/// The same models on some of the samples.
fn rows_of(models: &ModelSet<'_>, rows: &[u32]) -> Result<ModelSet<'static>> {
    // Part of a neighbor graph is not the neighbor graph of a part.
    let inputs = models.inputs().samples().ok_or(Error::SubsampledGraph)?;
    let part = |model: &Model<'_>| -> Result<Model<'static>> {
        Ok(Model { name: model.name.clone(), outputs: model.outputs.rows(rows)? })
    };
    let parts = models.models().iter().map(part).collect::<Result<_>>()?;
    ModelSet::new(inputs.rows(rows)?, parts)
}

fn standard_deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_deviations_divide_by_one_less() {
        assert_eq!(standard_deviation(&[1.0, 3.0, 5.0]), 2.0);
        assert_eq!(standard_deviation(&[4.0, 4.0]), 0.0);
    }
}
