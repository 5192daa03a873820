//! Many models on one input graph (the paper's Table 1): the method of [`evaluate`](crate::pipeline::evaluate), with the inputs
//! searched once and one k for all.

use std::time::{Duration, Instant};

use super::average_indices::AverageIndices;
use super::graphs::ModelSides;
use super::models::{Model, ModelSet};
use super::params::SpadeParams;
use super::report::SpadeReport;
use super::resumed_spectrum::report_of;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::samples::PairedSamples;
use crate::scores::agreement::{Agreement, agreement};
use crate::threads::with_threads;

/// How many of the most fragile samples of two models are compared; all if there are fewer.
pub const FRAGILE: usize = 100;

/// Models side by side.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Comparison {
    /// The models, smallest score first; ties in the order given. [`reorder`](Self::reorder) ranks them by something else.
    pub models: Vec<ComparedModel>,
    /// How much every two models agree on which samples are fragile; pairs of positions in `models`, a < b.
    pub agreement: Vec<PairAgreement>,
    /// Time of the neighbor search among the inputs, which all models share.
    pub neighbors_input: Duration,
    /// Total time.
    pub total: Duration,
}

impl Comparison {
    /// The scores of the models, in the order given.
    pub fn scores_as_given(&self) -> Vec<f64> {
        let mut scores = vec![0.0; self.models.len()];
        for model in &self.models {
            scores[model.given] = model.report.model_score.0;
        }
        scores
    }
}

/// One model of a comparison.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComparedModel {
    /// Its name.
    pub name: String,
    /// Its position among the models as they were given.
    pub given: usize,
    /// What [`evaluate`](crate::pipeline::evaluate) returns for it with the k of the comparison. Its times leave out the search
    /// among the inputs.
    pub report: SpadeReport,
}

impl Comparison {
    /// Puts the models into another order: the one at `order[i]` comes to position i, and pairs follow.
    ///
    /// # Panics
    /// When `order` does not name every position once.
    pub fn reorder(&mut self, order: &[usize]) {
        let mut places = vec![usize::MAX; self.models.len()];
        for (to, &from) in order.iter().enumerate() {
            places[from] = to;
        }
        assert!(order.len() == places.len() && !places.contains(&usize::MAX), "every model once");
        let mut models: Vec<Option<ComparedModel>> = self.models.drain(..).map(Some).collect();
        self.models.extend(order.iter().filter_map(|&from| models[from].take()));
        for pair in &mut self.agreement {
            let (a, b) = (places[pair.a], places[pair.b]);
            (pair.a, pair.b) = (a.min(b), a.max(b));
        }
        self.agreement.sort_by_key(|pair| (pair.a, pair.b));
    }

    /// Puts the models into the order in which they were given.
    pub fn reorder_as_given(&mut self) {
        let mut order: Vec<usize> = (0..self.models.len()).collect();
        order.sort_by_key(|&at| self.models[at].given);
        self.reorder(&order);
    }
}

impl ComparedModel {
    /// Its average indices; `models` are those that were compared.
    ///
    /// # Errors
    /// As [`AverageIndices::of`], with the name of the model.
    pub fn indices(&self, models: &ModelSet<'_>, monitor: &dyn Monitor) -> Result<AverageIndices> {
        let outputs = &models.models()[self.given].outputs;
        let inputs = models.inputs().samples();
        let samples = inputs.map(|inputs| PairedSamples::new(inputs.clone(), outputs.clone())).transpose()?;
        AverageIndices::of(&self.report, samples.as_ref(), monitor)
            .map_err(|error| error.in_model(&self.name))
    }
}

/// How much two models agree on which samples are fragile.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PairAgreement {
    /// The model that comes first, a position in [`Comparison::models`].
    pub a: usize,
    /// The one that comes later.
    pub b: usize,
    /// How much their node scores agree.
    pub agreement: Agreement,
}

/// Scores several models on one input graph and ranks them.
///
/// k is the same for all: under [`Connectivity::Grow`](crate::graph::Connectivity::Grow) the smallest k' ≥ k that connects the
/// input graph and every output graph. (An input graph that was given stays as it is, connected or not, and k only applies
/// to the outputs.) At that k, each model's scores are those of [`evaluate`](crate::pipeline::evaluate), bit by bit.
///
/// # Errors
/// When there are fewer than two models, and as [`evaluate`](crate::pipeline::evaluate); an error about one model names it.
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
/// let comparison = compare(&models, &SpadeParams::default().with_neighbors(2), &Silent)?;
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

    // (a) The manifolds: one input graph and an output graph per model, all connected with one k.
    let made = ModelSides::of_models(models, params, monitor)?.make(params.neighbors, params, monitor)?;

    // (b), (c) The spectrum and the scores of every model.
    let mut ranked = Vec::with_capacity(models.models().len());
    for (given, Model { name, .. }) in models.models().iter().enumerate() {
        let report =
            report_of(made.of_model(given, params)?, monitor).map_err(|error| error.in_model(name))?;
        ranked.push(ComparedModel { name: name.clone(), given, report });
    }
    // The sort is stable, so that equal scores stay in the order given.
    ranked.sort_by(|a, b| a.report.model_score.0.total_cmp(&b.report.model_score.0));
    let agreement = agreements(&ranked);
    Ok(Comparison {
        models: ranked,
        agreement,
        neighbors_input: made.input_searching(),
        total: began.elapsed(),
    })
}

fn agreements(ranked: &[ComparedModel]) -> Vec<PairAgreement> {
    let scores = |at: usize| ranked[at].report.node_scores.scores();
    let pairs = (0..ranked.len()).flat_map(|a| (a + 1..ranked.len()).map(move |b| (a, b)));
    pairs.map(|(a, b)| PairAgreement { a, b, agreement: agreement(scores(a), scores(b), FRAGILE) }).collect()
}
