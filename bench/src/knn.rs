//! The neighbor search.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use spadework::Silent;
use spadework::neighbors::{ApproximateSearch, ExactSearch, NeighborSearch};
use spadework::samples::{Geometry, Metric, Side, Standardize};
use spadework_io::output::write_npy;

use crate::Failure;
use crate::measure::{Cost, measure};

#[derive(Debug, Args)]
pub(crate) struct KnnArgs {
    /// The samples: a file or a data set, as `spadework score` takes them
    #[arg(long, value_name = "ARRAY")]
    inputs: String,
    /// Neighbors per sample, k
    #[arg(short = 'k', long, value_name = "K", default_value_t = 10)]
    neighbors: usize,
    /// The distance between samples; what it does to their rows is measured too
    #[arg(long, value_name = "METRIC", default_value_t = Metric::Euclidean)]
    metric: Metric,
    /// Search by NN-descent instead of exactly
    #[arg(long)]
    approximate: bool,
    /// Write the lists, n × k indices, nearest first
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct KnnLine {
    samples: usize,
    dim: usize,
    neighbors: usize,
    threads: usize,
    /// Part of the true neighbors of some rows that was found.
    recall: f64,
    #[serde(flatten)]
    cost: Cost,
}

pub(crate) fn run(args: &KnnArgs, repeat: NonZeroUsize) -> Result<KnnLine, Failure> {
    let dataset = spadework_io::load(&args.inputs)?;
    let samples = dataset.samples()?;
    let search: &dyn NeighborSearch =
        if args.approximate { &ApproximateSearch::default() } else { &ExactSearch };
    let geometry = Geometry::new(args.metric, Standardize::None);
    let (lists, cost) = measure(repeat, || {
        let placed = geometry.place(Side::Input, samples.view())?;
        Ok(search.search(&placed, args.neighbors, &Silent)?)
    })?;
    if let Some(path) = &args.save {
        let indices: Vec<i64> =
            (0..lists.len()).flat_map(|p| lists.of(p).iter().map(|&q| i64::from(q))).collect();
        write_npy(path, &[lists.len(), lists.neighbors()], indices.as_slice())?;
    }
    Ok(KnnLine {
        samples: samples.len(),
        dim: samples.dim(),
        neighbors: args.neighbors,
        threads: rayon::current_num_threads(),
        recall: lists.recall().share(),
        cost,
    })
}
