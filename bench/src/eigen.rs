//! The eigenproblem.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use spadework::eigen::{Certainty, EigenParams, EigenProblem};
use spadework::graph::Connectivity;
use spadework::neighbors::SearchMethod;
use spadework::pipeline::{KeepNothing, graphs_of};
use spadework::{GraphPair, PairedSamples, Silent, SpadeParams};

use crate::measure::{Cost, measure};
use crate::{Failure, edge_list};

#[derive(Debug, Args)]
pub(crate) struct EigenArgs {
    #[command(flatten)]
    source: Source,
    /// The model's outputs
    #[arg(long, value_name = "ARRAY", requires = "inputs")]
    outputs: Option<String>,
    /// Neighbors per sample, k
    #[arg(short = 'k', long, value_name = "K", default_value_t = 10)]
    neighbors: usize,
    /// Eigenpairs, r
    #[arg(short = 'r', long, value_name = "R", default_value_t = 2)]
    eigenpairs: usize,
    /// Relative residual that every eigenpair must reach
    #[arg(long, value_name = "FRACTION", default_value = "1e-6")]
    tolerance: f64,
    /// Time the numerical bounds of the largest eigenvalue as well
    #[arg(long)]
    bounds: bool,
    /// Write the graphs into this folder
    #[arg(long, value_name = "DIR", requires = "inputs")]
    save_graphs: Option<PathBuf>,
}

/// Where the graphs come from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// The model's inputs; graphs are searched
    #[arg(long, value_name = "ARRAY", requires = "outputs")]
    inputs: Option<String>,
    /// A folder that --save-graphs wrote
    #[arg(long, value_name = "DIR")]
    graphs: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct EigenLine {
    nodes: usize,
    input_edges: usize,
    output_edges: usize,
    eigenpairs: usize,
    tolerance: f64,
    threads: usize,
    iterations: usize,
    values: Vec<f64>,
    #[serde(flatten)]
    cost: Cost,
    /// Cost of the numerical bounds, in addition to the eigenpairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<Cost>,
}

pub(crate) fn run(args: &EigenArgs, repeat: NonZeroUsize) -> Result<EigenLine, Failure> {
    let graphs = match (&args.source.graphs, &args.source.inputs, &args.outputs) {
        (Some(folder), ..) => edge_list::load(folder)?,
        (None, Some(inputs), Some(outputs)) => search(inputs, outputs, args.neighbors)?,
        _ => unreachable!("clap asks for graphs, or for inputs and outputs"),
    };
    if let Some(folder) = &args.save_graphs {
        edge_list::save(folder, &graphs)?;
    }
    let params = EigenParams::default().with_eigenpairs(args.eigenpairs).with_tolerance(args.tolerance);
    let ((problem, pairs), cost) = measure(repeat, || {
        let problem = EigenProblem::new(&graphs, params.seed);
        let pairs = problem.dominant_eigenpairs(&params, &Silent)?;
        Ok((problem, pairs))
    })?;
    let enclose = || Ok(problem.enclose(&pairs, Certainty::Probable, params.seed, &Silent)?);
    let bounds = args.bounds.then(|| measure(repeat, enclose)).transpose()?.map(|(_, cost)| cost);
    Ok(EigenLine {
        nodes: graphs.nodes(),
        input_edges: graphs.input().edge_count(),
        output_edges: graphs.output().edge_count(),
        eigenpairs: args.eigenpairs,
        tolerance: args.tolerance,
        threads: rayon::current_num_threads(),
        iterations: pairs.info().iterations,
        values: pairs.values().to_vec(),
        cost,
        bounds,
    })
}

/// The neighbor graphs of k neighbors; data whose graphs fall apart are refused.
fn search(inputs: &str, outputs: &str, neighbors: usize) -> Result<GraphPair, Failure> {
    let (inputs, outputs) = (spadework_io::load(inputs)?, spadework_io::load(outputs)?);
    let samples = PairedSamples::new(inputs.samples()?, outputs.samples()?)?;
    let params = SpadeParams::default()
        .with_neighbors(neighbors)
        .with_search(SearchMethod::Exact)
        .with_connectivity(Connectivity::Error);
    Ok(graphs_of(&(&samples).into(), &params, &KeepNothing, &Silent)?.graphs)
}
