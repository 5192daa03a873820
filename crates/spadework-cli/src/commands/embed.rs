//! `spadework embed`: the samples in the plane, or in more dimensions, as both graphs and the model see them (A.6).

use std::path::Path;

use serde::Serialize;
use spadework::eigen::{EigenParams, lowest_modes};
use spadework::{EigenProblem, Error as CoreError, GraphPair, Monitor, Stage, with_threads};
use spadework_io::Labels;
use spadework_io::output::{CsvTable, OutputFile, optional_field, write_bytes, write_npy};

use crate::args_distances::EmbedArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{json, number, table};
use crate::run::{Made, label_text};

/// One way of placing the samples.
#[derive(Debug)]
struct Embedding {
    of: &'static str,
    eigenvalues: Vec<f64>,
    residuals: Vec<f64>,
    /// One vector a dimension.
    coordinates: Vec<Vec<f64>>,
}

#[derive(Debug, Serialize)]
struct EmbedDocument<'a> {
    schema: &'static str,
    samples: usize,
    dims: usize,
    seed: u64,
    embeddings: Vec<EmbeddingDocument<'a>>,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct EmbeddingDocument<'a> {
    of: &'static str,
    eigenvalues: &'a [f64],
    residuals: &'a [f64],
    /// One row a sample; left out where they are in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    coordinates: Option<Vec<Vec<f64>>>,
}

/// Formats of `--out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Npy,
}

pub(crate) fn run(args: &EmbedArgs) -> Result<(), Failure> {
    let format = args.out.as_deref().map(format_of).transpose()?;
    // Opened and given up again: a place that cannot be written is found out before the work begins.
    args.out.as_deref().map(OutputFile::create).transpose()?;
    let console = args.terminal.console();
    let made = Made::from_args(&args.model, console)?;
    let monitor = console.monitor();
    let graphs = &made.graphs;
    let embeddings = with_threads(args.model.method.general.threads, || embed(graphs, args, &monitor))
        .map_err(in_words_of_embed)?;
    drop(monitor);
    let table = || csv(&embeddings, made.labels.as_ref());
    match (&args.out, format) {
        (Some(path), Some(Format::Csv)) => write_bytes(path, table().as_bytes())?,
        (Some(path), Some(Format::Npy)) => {
            write_npy(path, &[embeddings.len(), graphs.nodes(), args.dims.get()], &*rows(&embeddings))?;
        }
        _ => {}
    }
    Console::data(&match (args.terminal.json, &args.out) {
        (true, out) => to_json(&embeddings, args, out.is_none()),
        (false, Some(path)) => to_text(&embeddings, path),
        (false, None) => table(),
    })
}

fn format_of(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("npy") => Ok(Format::Npy),
        _ => Err(Failure::usage(format!("--out must end in .csv or .npy, got {}", path.display()))),
    }
}

fn embed(graphs: &GraphPair, args: &EmbedArgs, monitor: &dyn Monitor) -> Result<[Embedding; 3], CoreError> {
    let params = EigenParams {
        eigenpairs: args.dims.get(),
        tolerance: args.model.method.general.tolerance,
        seed: args.model.method.general.seed,
        method: args.model.method.general.solver.into(),
        ..EigenParams::default()
    };
    monitor.begin(Stage::Modes);
    let by_graph = |of: &'static str, graph| -> Result<Embedding, CoreError> {
        let modes = lowest_modes(graph, &params, monitor)?;
        Ok(Embedding {
            of,
            eigenvalues: modes.values().to_vec(),
            residuals: modes.residuals().to_vec(),
            coordinates: modes.vectors().to_vec(),
        })
    };
    let input_graph = graphs.connected_input()?;
    let input = by_graph("input", &input_graph)?;
    let output = by_graph("output", graphs.connected_output())?;
    monitor.begin(Stage::Eigenpairs);
    let pairs = EigenProblem::new(graphs, params.seed).dominant_eigenpairs(&params, monitor)?;
    let scaled = |(vector, value): (&Vec<f64>, &f64)| vector.iter().map(|v| v * value.sqrt()).collect();
    let both = Embedding {
        of: "generalized",
        eigenvalues: pairs.values().to_vec(),
        residuals: pairs.residuals().to_vec(),
        coordinates: pairs.vectors().iter().zip(pairs.values()).map(scaled).collect(),
    };
    Ok([input, output, both])
}

/// A dimension is an eigenpair, but the user asked for dimensions.
fn in_words_of_embed(error: CoreError) -> Failure {
    match error {
        CoreError::TooManyEigenpairs { eigenpairs, samples } => Failure::usage(format!(
            "--dims must be smaller than the number of samples ({samples}), got {eigenpairs}"
        )),
        CoreError::TooFewEigenvalues { eigenpairs, positive } => Failure::usage(format!(
            "--dims must be at most the number of positive eigenvalues ({positive}), got {eigenpairs}"
        )),
        error => error.into(),
    }
}

impl Embedding {
    fn row(&self, sample: usize) -> Vec<f64> {
        self.coordinates.iter().map(|vector| vector[sample]).collect()
    }

    fn samples(&self) -> usize {
        self.coordinates[0].len()
    }
}

/// All coordinates, one embedding after the other, row after row.
fn rows(embeddings: &[Embedding]) -> Vec<f64> {
    let of_one = |embedding: &Embedding| -> Vec<f64> {
        (0..embedding.samples()).flat_map(|sample| embedding.row(sample)).collect()
    };
    embeddings.iter().flat_map(of_one).collect()
}

fn csv(embeddings: &[Embedding], labels: Option<&Labels>) -> String {
    let columns = embeddings.iter().flat_map(|embedding| {
        (1..=embedding.coordinates.len()).map(move |dim| format!("{}_{dim}", embedding.of))
    });
    let mut table = CsvTable::new(["index", "label"].map(str::to_owned).into_iter().chain(columns));
    for sample in 0..embeddings[0].samples() {
        let label = optional_field(labels.map(|labels| label_text(labels, sample)));
        let numbers = embeddings.iter().flat_map(|embedding| embedding.row(sample));
        table.row([sample.to_string(), label].into_iter().chain(numbers.map(|number| number.to_string())));
    }
    table.into_text()
}

fn to_text(embeddings: &[Embedding], path: &Path) -> String {
    let rows = embeddings.iter().map(|embedding| {
        let eigenvalues: Vec<String> = embedding.eigenvalues.iter().map(|value| number(*value)).collect();
        vec![embedding.of.to_owned(), eigenvalues.join("  ")]
    });
    let samples = embeddings[0].samples();
    format!(
        "{samples} samples, written to {}\n{}",
        path.display(),
        table(&["embedding", "eigenvalues"], rows)
    )
}

fn to_json<'a>(embeddings: &'a [Embedding], args: &EmbedArgs, with_coordinates: bool) -> String {
    let one = |embedding: &'a Embedding| EmbeddingDocument {
        of: embedding.of,
        eigenvalues: &embedding.eigenvalues,
        residuals: &embedding.residuals,
        coordinates: with_coordinates
            .then(|| (0..embedding.samples()).map(|sample| embedding.row(sample)).collect()),
    };
    let document = EmbedDocument {
        schema: "spadework.embed/1",
        samples: embeddings[0].samples(),
        dims: args.dims.get(),
        seed: args.model.method.general.seed,
        embeddings: embeddings.iter().map(one).collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    json(&document)
}
