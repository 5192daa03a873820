//! What experts ask about the score and the paper does not say, each by a short experiment: how much of it is vertex degree, how it grows,
//! whether it can be gamed, how stable its top lists are, and whether features make a better input graph than pixels.

mod degree;
mod features;
mod gaming;
mod growth;
mod stability;

use serde_json::{Value, json};
use spadework::eigen::{EigenParams, EigenProblem};
use spadework::pipeline::{KeepNothing, ModelGraphs, graphs_of};
use spadework::{GraphPair, ManifoldPair, PairedSamples, Samples, SpadeParams};

use super::Experiment;
use crate::failure::Failure;
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::mean;

pub(super) const EXPERIMENT: Experiment =
    Experiment { name: "questions", paper: "not in the paper", title: "questions of experts", run };

/// As in the paper, unless k is what a question is about.
const NEIGHBORS: usize = 10;
const EIGENPAIRS: usize = 2;

fn run(run: &Run) -> Result<Findings, Failure> {
    let mut findings = Findings::new(json!({
        "neighbors": NEIGHBORS, "eigenpairs": EIGENPAIRS, "degree": degree::settings(run), "growth": growth::settings(run),
        "gaming": gaming::settings(run), "stability": stability::settings(run), "features": features::settings(run),
    }));
    degree::tell(run, &mut findings)?;
    growth::tell(run, &mut findings)?;
    gaming::tell(run, &mut findings)?;
    stability::tell(run, &mut findings)?;
    features::tell(run, &mut findings)?;
    Ok(findings)
}

/// The graphs of some samples and their outputs.
fn graphs(
    run: &Run,
    inputs: Samples<'_>,
    outputs: Samples<'_>,
    neighbors: usize,
) -> Result<ModelGraphs, Failure> {
    let pair = PairedSamples::new(inputs, outputs)?;
    let params = SpadeParams::default().with_neighbors(neighbors).with_seed(run.seed());
    Ok(graphs_of(&ManifoldPair::from(&pair), &params, &KeepNothing, run.monitor())?)
}

/// λ_1 of two graphs.
fn model_score(run: &Run, graphs: &GraphPair) -> Result<f64, Failure> {
    let params = EigenParams::default().with_eigenpairs(1).with_seed(run.seed());
    Ok(EigenProblem::new(graphs, run.seed()).dominant_eigenpairs(&params, run.monitor())?.values()[0])
}

/// λ_1 of some samples and their outputs, with the k of the graphs.
fn scored(
    run: &Run,
    inputs: Samples<'_>,
    outputs: Samples<'_>,
    neighbors: usize,
) -> Result<(f64, usize), Failure> {
    let made = graphs(run, inputs, outputs, neighbors)?;
    Ok((model_score(run, &made.graphs)?, made.diagnostics.connection.used))
}

/// A mean with the smallest and the largest; null where there is nothing.
fn with_range(values: &[f64], digits: usize) -> Value {
    let Some(mean) = mean(values) else { return Value::Null };
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() == 1 {
        return json!(format!("{mean:.digits$}"));
    }
    json!(format!("{mean:.digits$} ({low:.digits$} to {high:.digits$})"))
}

/// The rows at some places, of values that hold `dim` a row.
fn rows(values: &[f32], dim: usize, places: &[usize]) -> Vec<f32> {
    places.iter().flat_map(|&at| &values[at * dim..(at + 1) * dim]).copied().collect()
}
