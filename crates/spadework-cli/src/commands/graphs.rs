//! `spadework graphs`: one model on graphs made in every way.

use std::time::Instant;

use serde::Serialize;
use spadework::scores::agreement::agreement;
use spadework::{
    Error as CoreError, GraphKind, PairedSamples, SharedSearch, SpadeParams, SpadeReport, Weights,
};
use spadework_io::load;
use spadework_io::output::{CsvTable, OutputDir, optional_field, write_bytes};
use spadework_io::result::{EnclosureDocument, GraphsDocument, ModelFileDocument, ScoreDocument};

use crate::args_graphs::GraphsArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::model_runner::{Outputs, Runner};
use crate::render::{json, number, table};
use crate::render_graphs::brief;
use crate::render_many::correlation;
use crate::run::tell_of_copies;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    samples: usize,
    input_dim: usize,
    output_dim: usize,
    neighbors: usize,
    eigenpairs: usize,
    connectivity: String,
    seed: u64,
    /// Samples compared by `top_overlap`.
    top: usize,
    constructions: Vec<Row>,
    /// The model that was run for the outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelFileDocument>,
    version: &'static str,
}

/// One way of making graphs: what came of it, or why nothing did.
#[derive(Debug, Serialize)]
struct Row {
    graph: String,
    weights: String,
    #[serde(flatten)]
    outcome: Outcome,
    seconds: f64,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Scored(Box<Scores>),
    Failed { error: String },
}

#[derive(Debug, Serialize)]
struct Scores {
    model_score: f64,
    enclosure: EnclosureDocument,
    neighbors_used: usize,
    graphs: GraphsDocument,
    /// Agreement of the node scores with those on knn graphs; none where these have no score, and no order where all scores
    /// of one side are equal.
    kendall_tau: Option<f64>,
    top_overlap: Option<f64>,
}

pub(crate) fn run(args: &GraphsArgs) -> Result<(), Failure> {
    let folder = args.out.as_deref().map(OutputDir::create).transpose()?;
    let console = args.terminal.console();
    let inputs = load(&args.inputs)?;
    let runner = Runner {
        options: args.network.run.options(),
        threads: args.general.threads,
        inputs: Some(&inputs),
        console,
    };
    let Some(Outputs { data: outputs, model }) =
        runner.chosen(args.network.model.as_deref(), args.outputs.as_deref())?
    else {
        unreachable!("the command line demands one of the two")
    };
    let pair = PairedSamples::new(inputs.samples()?, outputs.samples()?)
        .map_err(|error| Failure::from(error).about(&format!("{} and {}", inputs.name(), outputs.name())))?;
    let params = args.params(GraphKind::Knn, Weights::Unit);
    params.check_for(pair.len())?;
    let constructions = rows(args, &pair, console)?;
    let document = Document {
        schema: "spadework.graphs/1",
        samples: pair.len(),
        input_dim: pair.input().dim(),
        output_dim: pair.output().dim(),
        neighbors: params.neighbors,
        eigenpairs: params.eigenpairs,
        connectivity: params.connectivity.to_string(),
        seed: params.seed,
        top: args.top.get().min(pair.len()),
        constructions,
        model,
        version: env!("CARGO_PKG_VERSION"),
    };
    let json = json(&document);
    if let Some(folder) = folder {
        write_bytes(&folder.path().join("graphs.json"), json.as_bytes())?;
        write_bytes(&folder.path().join("graphs.csv"), to_csv(&document).as_bytes())?;
        folder.commit()?;
    }
    Console::data(&if args.terminal.json { json } else { to_text(&document) })
}

/// Every kind with every weight, knn with unit weights first.
fn constructions(args: &GraphsArgs) -> Vec<(GraphKind, Weights)> {
    let mut all = vec![(GraphKind::Knn, Weights::Unit)];
    for &kind in &args.graph {
        for &weights in &args.weights {
            if !all.contains(&(kind, weights)) {
                all.push((kind, weights));
            }
        }
    }
    all
}

fn rows(args: &GraphsArgs, pair: &PairedSamples<'_>, console: Console) -> Result<Vec<Row>, Failure> {
    let shared = SharedSearch::new(pair);
    let mut reference: Option<SpadeReport> = None;
    let mut first_failure = None;
    let mut notes = Notes::default();
    let mut rows = Vec::new();
    for (kind, weights) in constructions(args) {
        let began = Instant::now();
        let params = args.params(kind, weights);
        let outcome = match shared.evaluate(&params, &console.monitor()) {
            Err(CoreError::Cancelled) => return Err(CoreError::Cancelled.into()),
            // One way that fails says nothing about the others.
            Err(error) => {
                let message = error.to_string();
                first_failure.get_or_insert_with(|| Failure::of_evaluation(error, &params));
                Outcome::Failed { error: message }
            }
            Ok(report) => {
                let is_first = rows.is_empty();
                notes.take(&report, console);
                let scores = scores(
                    &report,
                    if is_first { Some(&report) } else { reference.as_ref() },
                    args.top.get(),
                )?;
                if is_first {
                    reference = Some(report);
                }
                Outcome::Scored(Box::new(scores))
            }
        };
        rows.push(Row {
            graph: kind.to_string(),
            weights: weights.to_string(),
            outcome,
            seconds: began.elapsed().as_secs_f64(),
        });
    }
    notes.tell(console);
    match first_failure {
        Some(failure) if rows.iter().all(|row| matches!(row.outcome, Outcome::Failed { .. })) => {
            Err(failure.about("no construction has a score, the first"))
        }
        _ => Ok(rows),
    }
}

/// What a reader of the table must know, told once and not with every row.
#[derive(Debug, Default)]
struct Notes {
    /// Copies are the same whatever the graphs are made of them.
    copies_told: bool,
    /// Constructions with weights that were raised.
    raised: Vec<String>,
}

impl Notes {
    fn take(&mut self, report: &SpadeReport, console: Console) {
        if !self.copies_told {
            tell_of_copies(&report.diagnostics, report.graphs.nodes(), console);
            self.copies_told = true;
        }
        let diagnostics = &report.diagnostics;
        let raised = [diagnostics.input_graph, diagnostics.output_graph].map(|made| made.weights_raised);
        if raised != [0, 0] {
            let SpadeParams { graph, weights, .. } = &diagnostics.params;
            self.raised.push(format!("{graph} {weights}: {} input, {} output", raised[0], raised[1]));
        }
    }

    fn tell(&self, console: Console) {
        if !self.raised.is_empty() {
            console.note(&format!(
                "weights below {0:e} are taken as {0:e} ({1})",
                Weights::LEAST,
                self.raised.join("; ")
            ));
        }
    }
}

fn scores(report: &SpadeReport, reference: Option<&SpadeReport>, top: usize) -> Result<Scores, Failure> {
    let ScoreDocument { model_score, enclosure, neighbors, graphs, .. } =
        ScoreDocument::new(report, None, 0)?;
    let agreement = reference
        .map(|reference| agreement(reference.node_scores.scores(), report.node_scores.scores(), top));
    Ok(Scores {
        model_score,
        enclosure,
        neighbors_used: neighbors.used,
        graphs,
        kendall_tau: agreement.and_then(|agreement| agreement.kendall),
        top_overlap: agreement.map(|agreement| agreement.overlap()),
    })
}

fn to_text(document: &Document) -> String {
    let overlap = format!("top {}", document.top);
    let header = [
        "graph",
        "weights",
        "score",
        "k",
        "input edges",
        "output edges",
        "components",
        "tau",
        &overlap,
        "seconds",
        "",
    ];
    let lines = document.constructions.iter().map(|row| {
        let seconds = format!("{:.2}", row.seconds);
        let mut line = vec![row.graph.clone(), row.weights.clone()];
        match &row.outcome {
            Outcome::Scored(scores) => {
                let (input, output) = (&scores.graphs.input, &scores.graphs.output);
                line.extend([
                    number(scores.model_score),
                    scores.neighbors_used.to_string(),
                    input.edges.to_string(),
                    output.edges.to_string(),
                    format!("{}, {}", input.components_found, output.components_found),
                    correlation(scores.kendall_tau),
                    scores
                        .top_overlap
                        .map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", 100.0 * part)),
                    seconds,
                    brief(input, output),
                ]);
            }
            Outcome::Failed { error } => {
                line.extend(std::iter::repeat_n("-".to_owned(), 7));
                line.extend([seconds, error.clone()]);
            }
        }
        line
    });
    format!(
        "{} samples, {} numbers in, {} out; {} neighbors, connectivity {}\n\n{}\n\
         components: pieces of the input and output graph with {} neighbors, before the policy joins them\n\
         tau: Kendall's rank correlation of the node scores with those on knn graphs of unit weights\n\
         {overlap}: the share of the most fragile samples in common with those\n",
        document.samples,
        document.input_dim,
        document.output_dim,
        document.neighbors,
        document.connectivity,
        table(&header, lines),
        document.neighbors,
    )
}

fn to_csv(document: &Document) -> String {
    let mut table = CsvTable::new([
        "graph",
        "weights",
        "model_score",
        "neighbors_used",
        "input_edges",
        "output_edges",
        "input_components",
        "output_components",
        "input_bridges",
        "output_bridges",
        "input_dimensions",
        "input_kappa",
        "output_kappa",
        "kendall_tau",
        "top_overlap",
        "seconds",
        "error",
    ]);
    for row in &document.constructions {
        let (cells, error) = match &row.outcome {
            Outcome::Scored(scores) => {
                let (input, output) = (&scores.graphs.input, &scores.graphs.output);
                let cells = [
                    scores.model_score.to_string(),
                    scores.neighbors_used.to_string(),
                    input.edges.to_string(),
                    output.edges.to_string(),
                    input.components_found.to_string(),
                    output.components_found.to_string(),
                    input.bridges.to_string(),
                    output.bridges.to_string(),
                    optional_field(input.dimensions),
                    optional_field(input.sparsifier.map(|sparsifier| sparsifier.kappa)),
                    optional_field(output.sparsifier.map(|sparsifier| sparsifier.kappa)),
                    optional_field(scores.kendall_tau),
                    optional_field(scores.top_overlap),
                ];
                (cells, String::new())
            }
            Outcome::Failed { error } => (Default::default(), error.clone()),
        };
        let made = [row.graph.clone(), row.weights.clone()];
        table.row(made.into_iter().chain(cells).chain([row.seconds.to_string(), error]));
    }
    table.into_text()
}
