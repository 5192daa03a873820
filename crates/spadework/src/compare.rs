//! Many models on one input graph (the paper's Table 1): the method of [`evaluate`](crate::evaluate), with the inputs
//! searched once and one k for all.

use std::time::{Duration, Instant};

use crate::evaluate::{Manifolds, report_of};
use crate::graph::{Connection, GraphPair};
use crate::probe::Probed;
use crate::report::{SpadeReport, Timings};
use crate::scores::agreement::{Agreement, agreement};
use crate::scores::{SampleFacts, SampleSignals};
use crate::side::{MadeModels, Told, with_sides};
use crate::{Error, Indices, ModelSet, Monitor, PairedSamples, Result, Samples, SpadeParams, with_threads};

/// Fragile samples whose overlap is told, or all where there are fewer.
pub const FRAGILE: usize = 100;

/// Models side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The models, most robust (smallest score) first; ties in the order given.
    pub models: Vec<ComparedModel>,
    /// How far every pair of models agrees on which samples are fragile; pairs of positions in `models`, a < b.
    pub agreement: Vec<PairAgreement>,
    /// Time of the neighbour search among the inputs, which all models share.
    pub neighbors_input: Duration,
    /// Time of all of it.
    pub total: Duration,
}

/// One model of a comparison.
#[derive(Debug, Clone)]
pub struct ComparedModel {
    /// Its name.
    pub name: String,
    /// Its position among the models as they were given.
    pub given: usize,
    /// What [`evaluate`](crate::evaluate) says of it with the k of the comparison. Its times leave out the search among
    /// the inputs.
    pub report: SpadeReport,
}

impl ComparedModel {
    /// Its indices; `models` are those that were compared.
    ///
    /// # Errors
    /// As [`Indices::of`], with the name of the model.
    pub fn indices(&self, models: &ModelSet<'_>, monitor: &dyn Monitor) -> Result<Indices> {
        let outputs = &models.models()[self.given].outputs;
        let inputs = models.inputs().samples();
        let samples = inputs.map(|inputs| PairedSamples::new(inputs.clone(), outputs.clone())).transpose()?;
        Indices::of(&self.report, samples.as_ref(), monitor).map_err(|error| error.in_model(&self.name))
    }

    /// Margins and fragility of the samples by this model.
    fn sample_facts(
        &self,
        models: &ModelSet<'_>,
        labels: Option<&[i64]>,
        probed: Option<&Probed>,
    ) -> Result<SampleFacts> {
        let probe_margins = probed.map(Probed::lowest_margins);
        let signals = SampleSignals {
            inputs: models.inputs().samples(),
            outputs: Some(&models.models()[self.given].outputs),
            labels,
            probe_margins: probe_margins.as_deref(),
        };
        SampleFacts::of(&self.report, &signals).map_err(|error| error.in_model(&self.name))
    }
}

impl Comparison {
    /// Margins and fragility of the samples by every model, in the order of the comparison; `models` are those that were
    /// compared, `probed` what probes of each, in the same order, have shown, and empty where there were none.
    ///
    /// # Errors
    /// As [`SampleFacts::of`], with the name of the model.
    pub fn sample_facts(
        &self,
        models: &ModelSet<'_>,
        labels: Option<&[i64]>,
        probed: &[Option<&Probed>],
    ) -> Result<Vec<SampleFacts>> {
        let facts = |(at, model): (usize, &ComparedModel)| {
            model.sample_facts(models, labels, probed.get(at).copied().flatten())
        };
        self.models.iter().enumerate().map(facts).collect()
    }
}

/// How far two models agree on which samples are fragile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairAgreement {
    /// The more robust model, a position in [`Comparison::models`].
    pub a: usize,
    /// The less robust one.
    pub b: usize,
    /// How far their node scores agree.
    pub agreement: Agreement,
}

/// Scores several models on one input graph and ranks them.
///
/// k is the same for all: under [`Connectivity::Grow`](crate::Connectivity::Grow) the smallest k' ≥ k that connects the
/// input graph and every output graph. (An input graph that was given stays as it is, connected or not, and k is about the
/// outputs alone.) At that k, each model's scores are those of [`evaluate`](crate::evaluate), bit by bit.
///
/// # Errors
/// When there are fewer than two models, and as [`evaluate`](crate::evaluate); what concerns one model names it.
///
/// ```
/// use spadework::{Model, ModelSet, Samples, Silent, SpadeParams, compare};
/// // Forty points on a circle; one model turns the circle, the other cuts it open.
/// let angle = |i: usize| i as f64 / 40.0 * std::f64::consts::TAU;
/// let circle = |turn: f64| (0..40).flat_map(|i| [(angle(i) + turn).cos(), (angle(i) + turn).sin()]).collect::<Vec<_>>();
/// let line: Vec<f64> = (0..40).map(angle).collect();
/// let models = vec![
///     Model { name: "cut".into(), outputs: Samples::from_f64(40, 1, line)? },
///     Model { name: "turn".into(), outputs: Samples::from_f64(40, 2, circle(1.0))? },
/// ];
/// let models = ModelSet::new(Samples::from_f64(40, 2, circle(0.0))?, models)?;
/// let comparison = compare(&models, &SpadeParams { neighbors: 2, ..SpadeParams::default() }, &Silent)?;
/// assert_eq!(comparison.models[0].name, "turn");
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn compare(models: &ModelSet<'_>, params: &SpadeParams, monitor: &dyn Monitor) -> Result<Comparison> {
    if models.models().len() < 2 {
        return Err(Error::TooFewModels { needed: 2, got: models.models().len() });
    }
    params.check_for(models.len())?;
    with_threads(params.threads, || compare_here(models, params, monitor))
}

/// The comparison in the current thread pool.
fn compare_here(models: &ModelSet<'_>, params: &SpadeParams, monitor: &dyn Monitor) -> Result<Comparison> {
    let began = Instant::now();

    // (a) The manifolds: one input graph, an output graph a model, all connected with one k.
    let Shared { made: MadeModels { used, input, outputs }, input_told, outputs_told } =
        manifolds(models, params, monitor)?;
    let input_dim = models.inputs().samples().map_or(0, Samples::dim);

    // (b), (c) The spectrum and the scores of every model.
    let mut ranked = Vec::with_capacity(outputs.len());
    for (given, (output, model)) in outputs.into_iter().zip(models.models()).enumerate() {
        let told = outputs_told[given];
        let manifolds = Manifolds {
            graphs: GraphPair::new(input.graph.clone(), output.graph)?,
            dims: [input_dim, model.outputs.dim()],
            connection: Connection {
                policy: params.connectivity,
                requested: params.neighbors,
                used,
                input: input.mended,
                output: output.mended,
            },
            constructions: [input.made, output.made],
            decided_by_index: [input_told.decided_by_index, told.decided_by_index],
            recall: [input.recall, output.recall],
        };
        let timings = Timings { neighbors_output: told.took, ..Timings::default() };
        let scoring = Instant::now();
        let mut report =
            report_of(manifolds, params, monitor, timings).map_err(|error| error.in_model(&model.name))?;
        report.diagnostics.timings.total = told.took + scoring.elapsed();
        ranked.push(ComparedModel { name: model.name.clone(), given, report });
    }
    // The sort is stable, so that equal scores stay in the order given.
    ranked.sort_by(|a, b| a.report.model_score.0.total_cmp(&b.report.model_score.0));
    let agreement = agreements(&ranked);
    Ok(Comparison { models: ranked, agreement, neighbors_input: input_told.took, total: began.elapsed() })
}

/// Step (a) for all models, and what the searches had to tell.
struct Shared {
    made: MadeModels,
    input_told: Told,
    outputs_told: Vec<Told>,
}

fn manifolds(models: &ModelSet<'_>, params: &SpadeParams, monitor: &dyn Monitor) -> Result<Shared> {
    with_sides(models, params, monitor, |sides| {
        // Copies are counted with the k asked for, times with all that had to be searched.
        let (input, outputs) = (sides.input(), sides.outputs());
        let made = sides.make(params.neighbors, params, monitor)?;
        let took = |told: Told, now: Told| Told { took: now.took, ..told };
        let outputs_told =
            outputs.into_iter().zip(sides.outputs()).map(|(told, now)| took(told, now)).collect();
        Ok(Shared { made, input_told: took(input, sides.input()), outputs_told })
    })
}

fn agreements(ranked: &[ComparedModel]) -> Vec<PairAgreement> {
    let scores = |at: usize| ranked[at].report.node_scores.scores();
    let pairs = (0..ranked.len()).flat_map(|a| (a + 1..ranked.len()).map(move |b| (a, b)));
    pairs.map(|(a, b)| PairAgreement { a, b, agreement: agreement(scores(a), scores(b), FRAGILE) }).collect()
}
