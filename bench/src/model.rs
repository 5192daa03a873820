//! The outputs of a model for all samples of a file.

use std::num::NonZeroUsize;

use clap::Args;
use serde::Serialize;
use spadework::Silent;
use spadework::samples::Values;
use spadework_io::load;
use spadework_io::output::write_npy;
use spadework_model::{OnnxModel, RunOptions};

use crate::Failure;
use crate::measure::{Cost, measure};

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// An ONNX file
    #[arg(long, value_name = "FILE")]
    model: String,
    /// The samples
    #[arg(long, value_name = "ARRAY")]
    inputs: String,
    /// Samples in a batch [default: as many as the caches allow]
    #[arg(long, value_name = "N")]
    batch: Option<NonZeroUsize>,
    /// Run it with the onnxruntime library in this folder
    #[arg(long, value_name = "LIBRARY")]
    onnxruntime: Option<std::path::PathBuf>,
    /// Write the outputs here, for a comparison
    #[arg(long, value_name = "FILE.npy")]
    save: std::path::PathBuf,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelLine {
    #[serde(flatten)]
    cost: Cost,
    samples: usize,
}

/// Opening the model and making it ready is not timed.
pub(crate) fn run(args: &ModelArgs, repeat: NonZeroUsize) -> Result<ModelLine, Failure> {
    let inputs = load(&args.inputs)?;
    let samples = inputs.samples()?;
    let model = OnnxModel::open(&args.model)?;
    let options =
        RunOptions { batch_size: args.batch, onnxruntime: args.onnxruntime.clone(), ..RunOptions::default() };
    let output = model.output(&options)?.to_owned();
    let sample = inputs.shape().get(1..).unwrap_or_default();
    let prepared = model.prepare(sample, &[&output], &options)?;
    let (mut outputs, cost) = measure(repeat, || Ok(prepared.run(&samples, &Silent)?))?;
    let outputs = outputs.swap_remove(0);
    let rows = outputs.samples()?;
    let Values::F32(values) = rows.values() else { unreachable!("a model gives single precision") };
    write_npy(&args.save, outputs.shape(), &**values)?;
    Ok(ModelLine { cost, samples: samples.len() })
}
