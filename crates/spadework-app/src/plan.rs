//! What a score would take, without running it: a trial on a few of the samples, extrapolated for each stage.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use spadework::neighbors::{AutomaticSearch, SearchMethod};
use spadework::pipeline::{Diagnostics, Timings};
use spadework::samples::Side;
use spadework::{ManifoldPair, Samples, SpadeParams, evaluate};
use spadework_document::plan::{PlanDocument, PlannedConnectivity, PlannedMemory, PlannedSeconds, SCHEMA};

use crate::data::Rows;
use crate::failure::Failure;
use crate::model_runner::ModelRunner;
use crate::observer::{Observer, Session};
use crate::room::{Needs, available_bytes};
use crate::score::ScoreRequest;
use crate::side_view::{Array, SideView};
use crate::sides::{Inputs, Outputs};
use crate::usage::Usage;

/// Samples of the trial at most, and bytes of their inputs.
const MOST_TRIED: usize = 4000;
const MOST_TRIED_BYTES: usize = 1 << 27;
/// Fewest samples of the trial, where there are as many: fewer say nothing about the cost of pairs.
const FEWEST_TRIED: usize = 500;
/// How the cost of eigenpairs and of their bounds grows: as this power of n (docs/benchmarks.md).
const EIGEN_GROWTH: f64 = 1.26;

/// Estimates what a score would take.
///
/// # Errors
/// When the request makes no sense, its files cannot be read, a side is a graph, or the trial has no answer as posed.
pub fn plan(request: &ScoreRequest<'_>, observer: &dyn Observer) -> Result<PlanDocument, Failure> {
    request.check()?;
    let session = Session::new(observer);
    let ScoreRequest { data, params, .. } = request;
    let inputs = Inputs::load(&data.inputs, data.corruption, params, &session)?;
    let given = inputs.view()?;
    let input = given.array().ok_or(Usage::PlanOfGraph { side: Side::Input })?;
    input.check_length()?;
    let all = samples_of(input, Side::Input)?;
    let tried = tried_rows(all, params.neighbors);

    // A model is run on the samples of the trial alone.
    let rows = rows_of(input, &tried)?;
    let array = Array::Rows(&rows);
    let view = SideView::of_array(&array)?;
    let is_model = data.outputs.is_model();
    let runner = ModelRunner {
        options: &data.run,
        threads: params.threads,
        inputs: is_model.then_some(&view).or(given.array()),
        session: &session,
    };
    let outputs = Outputs::load(&data.outputs, Some(if is_model { &view } else { input }), &runner)?;
    let output = outputs.view()?;
    output.check_length()?;
    let made = samples_of(&output, Side::Output)?;
    // Outputs that do not fit the inputs are refused as a score refuses them.
    if !is_model {
        ManifoldPair::new(input.manifold().clone(), output.manifold().clone())?;
    }
    let made = if is_model { made.view() } else { made.rows(&tried)? };

    let whole = trial(&rows.samples, &made, params, &session)?;
    let half = every_other(tried.len());
    let half = trial(&rows.samples.rows(&half)?, &made.rows(&half)?, params, &session)?;
    let growth = Growth { tried: tried.len(), samples: all.len() };
    let search = growth.search(params, &half.timings, &whole.timings);
    let needs = Needs::of(&rows.samples, &[&made], all.len(), &params.clone().with_search(search));
    Ok(PlanDocument {
        schema: SCHEMA.to_owned(),
        samples: all.len(),
        input_dim: all.dim(),
        output_dim: made.dim(),
        neighbors: params.neighbors,
        tried_on: tried.len(),
        threads: threads(params),
        seconds: growth.seconds(outputs.running(), &half.timings, &whole.timings),
        memory: PlannedMemory {
            inputs: needs.inputs,
            inputs_mapped: input.is_mapped(),
            outputs: needs.outputs,
            search: needs.search,
            graphs: needs.graphs,
            total: needs.total(),
            available: available_bytes(),
        },
        search: search.to_string(),
        connectivity: PlannedConnectivity {
            output_components: whole.connection.output.components_found,
            neighbors_used: whole.connection.used,
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Threads that a run will have.
fn threads(params: &SpadeParams) -> usize {
    params.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

fn samples_of<'v, 's>(side: &'v SideView<'s>, which: Side) -> Result<&'v Samples<'s>, Failure> {
    Ok(side.samples().ok_or(Usage::PlanOfGraph { side: which })?)
}

/// Evenly spread samples, as many as are soon scored.
fn tried_rows(samples: &Samples<'_>, neighbors: usize) -> Vec<u32> {
    let of_bytes = MOST_TRIED_BYTES / (samples.values().bytes() / samples.len()).max(1);
    // Half of them must have neighbors too.
    let fewest = FEWEST_TRIED.max(neighbors.saturating_mul(4));
    let count = of_bytes.min(MOST_TRIED).max(fewest).min(samples.len());
    (0..count).map(|at| (at * samples.len() / count) as u32).collect()
}

fn every_other(count: usize) -> Vec<u32> {
    (0..count as u32).step_by(2).collect()
}

fn rows_of<'v>(input: &'v SideView<'_>, rows: &[u32]) -> Result<Rows<'v>, Failure> {
    let shape: Vec<usize> = std::iter::once(rows.len()).chain(input.sample_shape().iter().copied()).collect();
    let samples = samples_of(input, Side::Input)?.rows(rows)?;
    Ok(Rows { name: input.name(), samples, shape: Cow::Owned(shape) })
}

fn trial(
    inputs: &Samples<'_>,
    outputs: &Samples<'_>,
    params: &SpadeParams,
    session: &Session<'_>,
) -> Result<Diagnostics, Failure> {
    let pair = ManifoldPair::new(inputs.view(), outputs.view())?;
    Ok(evaluate(pair, params, session.monitor())?.diagnostics)
}

/// From the times of a trial and of its half to those of all samples.
#[derive(Debug, Clone, Copy)]
struct Growth {
    tried: usize,
    samples: usize,
}

impl Growth {
    fn factor(self) -> f64 {
        self.samples as f64 / self.tried as f64
    }

    /// Work of which a part grows as n and a part as n²; how much of each, two times tell.
    fn of_pairs(self, half: Duration, whole: Duration) -> f64 {
        let (half, whole) = (half.as_secs_f64(), whole.as_secs_f64());
        // t(m) = a + b and t(m/2) = a/2 + b/4.
        let linear = (4.0 * half - whole).clamp(0.0, whole);
        linear * self.factor() + (whole - linear) * self.factor().powi(2)
    }

    fn by_power(self, whole: Duration, power: f64) -> f64 {
        whole.as_secs_f64() * self.factor().powf(power)
    }

    fn seconds(self, model: Duration, half: &Timings, whole: &Timings) -> PlannedSeconds {
        let mut seconds = PlannedSeconds {
            model: self.by_power(model, 1.0),
            neighbors_input: self.of_pairs(half.neighbors_input, whole.neighbors_input),
            neighbors_output: self.of_pairs(half.neighbors_output, whole.neighbors_output),
            graphs: self.by_power(whole.graphs, 1.0),
            eigen: self.by_power(whole.eigen, EIGEN_GROWTH),
            numerical_bounds: self.by_power(whole.enclosure, EIGEN_GROWTH),
            scores: self.by_power(whole.scores, 1.0),
            total: 0.0,
        };
        let PlannedSeconds {
            model,
            neighbors_input,
            neighbors_output,
            graphs,
            eigen,
            numerical_bounds,
            scores,
            ..
        } = seconds;
        seconds.total =
            model + neighbors_input + neighbors_output + graphs + eigen + numerical_bounds + scores;
        seconds
    }

    /// What `auto` will choose, as far as the trial tells.
    fn search(self, params: &SpadeParams, half: &Timings, whole: &Timings) -> SearchMethod {
        let exact = threads(params) as f64 * self.of_pairs(half.neighbors_input, whole.neighbors_input);
        match params.search {
            SearchMethod::Auto if exact > AutomaticSearch::MOST_CORE_SECONDS => SearchMethod::Approximate,
            SearchMethod::Auto => SearchMethod::Exact,
            chosen => chosen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROWTH: Growth = Growth { tried: 1000, samples: 10_000 };

    #[test]
    fn pairs_grow_as_their_times_tell() {
        let seconds = |half: u64, whole: u64| {
            GROWTH.of_pairs(Duration::from_millis(half), Duration::from_millis(whole))
        };
        // Twice the samples, twice the time; and four times.
        assert!((seconds(500, 1000) - 10.0).abs() < 1e-9);
        assert!((seconds(250, 1000) - 100.0).abs() < 1e-9);
        // A clock that went astray does not give less than nothing.
        assert!((seconds(100, 1000) - 100.0).abs() < 1e-9 && (seconds(2000, 1000) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_trial_is_small_and_spread_over_all() {
        let samples = Samples::from_f32(20_000, 2, vec![0.5; 40_000]).unwrap();
        let rows = tried_rows(&samples, 10);
        assert_eq!((rows.len(), rows[0], rows[1]), (MOST_TRIED, 0, 5));
        let wide = Samples::from_u8(600, 300_000, vec![0; 180_000_000]).unwrap();
        assert_eq!(tried_rows(&wide, 10).len(), FEWEST_TRIED);
        let few = Samples::from_f32(30, 2, vec![0.5; 60]).unwrap();
        assert_eq!(tried_rows(&few, 10).len(), 30);
    }

    #[test]
    fn what_takes_too_long_is_searched_approximately() {
        let of = |millis: u64| {
            let timings = |millis| {
                let mut timings = Timings::default();
                timings.neighbors_input = Duration::from_millis(millis);
                timings
            };
            GROWTH.search(&SpadeParams::default(), &timings(millis / 4), &timings(millis))
        };
        assert_eq!((of(10), of(1_000_000)), (SearchMethod::Exact, SearchMethod::Approximate));
    }
}
