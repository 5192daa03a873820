//! One model on every kind of graph.

use std::path::Path;
use std::time::Instant;

use spadework::error::Readable;
use spadework::graph::{GraphKind, Weights};
use spadework::pipeline::{SharedSearch, SpadeReport};
use spadework::scores::agreement::agreement;
use spadework::{Error as CoreError, PairedSamples, SpadeParams};
use spadework_document::graphs::{
    ConstructionDocument, ConstructionScores, ConstructionsDocument, Outcome, SCHEMA,
};
use spadework_document::score::ScoreDocument;
use spadework_io::output::{OutputDir, optional_field, write_bytes};

use crate::data::ModelData;
use crate::failure::{Failure, Subject};
use crate::observer::{Observer, Session};
use crate::sides::with_sides;
use crate::tables::csv_field;
use crate::usage::Usage;
use crate::wording::NoteCode;
use crate::{json, notes, room};

/// A request to compare ways of making graphs.
#[derive(Debug, Clone)]
pub struct GraphsRequest<'a> {
    /// The model; both sides are arrays.
    pub data: ModelData<'a>,
    /// How it is scored, except for the kind of graph.
    pub params: SpadeParams,
    /// Kinds of graphs.
    pub kinds: Vec<GraphKind>,
    /// Weights of their edges.
    pub weights: Vec<Weights>,
    /// How many of the most fragile samples are compared.
    pub top: usize,
    /// A folder for the result.
    pub folder: Option<&'a Path>,
}

/// Scores one model on every kind of graph with every kind of weights, beginning with knn and unit
/// weights.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or no kind of graph has an answer.
pub fn graphs(
    request: &GraphsRequest<'_>,
    observer: &dyn Observer,
) -> Result<ConstructionsDocument, Failure> {
    let folder = request.folder.map(OutputDir::create).transpose()?;
    let session = Session::new(observer);
    let plain = request.params.clone().with_graph(GraphKind::Knn).with_weights(Weights::Unit);
    plain.check()?;
    let mut document = with_sides(&request.data, &plain, &session, |sides| {
        let Some(pair) = sides.paired()? else {
            return Err(Usage::RowsNeeded { by: "making graphs in several ways" }.into());
        };
        plain.check_for(pair.len())?;
        room::about_memory(&sides.input, &[&sides.output], &plain, &session);
        Ok(ConstructionsDocument {
            schema: SCHEMA.to_owned(),
            samples: pair.len(),
            input_dim: pair.input().dim(),
            output_dim: pair.output().dim(),
            neighbors: plain.neighbors,
            top: request.top.min(pair.len()),
            constructions: constructions(request, &pair, &session)?,
            model: sides.model.cloned(),
            made: (&plain).into(),
        })
    })?;
    document.made.notes = session.notes();
    if let Some(folder) = folder {
        write_bytes(&folder.path().join("graphs.json"), json(&document).as_bytes())?;
        write_bytes(&folder.path().join("graphs.csv"), to_csv(&document).as_bytes())?;
        folder.commit()?;
    }
    Ok(document)
}

/// Every kind with every weight, knn with unit weights first.
fn ways(request: &GraphsRequest<'_>) -> Vec<(GraphKind, Weights)> {
    let mut all = vec![(GraphKind::Knn, Weights::Unit)];
    for &kind in &request.kinds {
        for &weights in &request.weights {
            if !all.contains(&(kind, weights)) {
                all.push((kind, weights));
            }
        }
    }
    all
}

fn constructions(
    request: &GraphsRequest<'_>,
    pair: &PairedSamples<'_>,
    session: &Session<'_>,
) -> Result<Vec<ConstructionDocument>, Failure> {
    let shared = SharedSearch::new(pair);
    let mut reference: Option<SpadeReport> = None;
    let mut first_failure = None;
    let mut remarks = Remarks::default();
    let mut rows = Vec::new();
    for (kind, weights) in ways(request) {
        let began = Instant::now();
        let params = request.params.clone().with_graph(kind).with_weights(weights);
        let outcome = match shared.evaluate(&params, session.monitor()) {
            Err(CoreError::Cancelled) => return Err(CoreError::Cancelled.into()),
            // One way that fails says nothing about the others.
            Err(error) => {
                let message = error.to_string();
                first_failure.get_or_insert_with(|| Failure::of_evaluation(error, &params));
                Outcome::Failed { error: message }
            }
            Ok(report) => {
                let is_first = rows.is_empty();
                remarks.take(&report, session);
                let compared = if is_first { Some(&report) } else { reference.as_ref() };
                let scores = scores(&report, compared, request.top)?;
                if is_first {
                    reference = Some(report);
                }
                Outcome::Scored(Box::new(scores))
            }
        };
        rows.push(ConstructionDocument {
            graph: kind.to_string(),
            weights: weights.to_string(),
            outcome,
            seconds: began.elapsed().as_secs_f64(),
        });
    }
    remarks.note(session);
    match first_failure {
        Some(failure) if rows.iter().all(|row| matches!(row.outcome, Outcome::Failed { .. })) => {
            Err(failure.about(Subject::Place("no construction has a score, the first".to_owned())))
        }
        _ => Ok(rows),
    }
}

/// What a reader of the table must know, noted once and not with every row.
#[derive(Debug, Default)]
struct Remarks {
    /// Copies are the same whatever the graphs are made of them.
    copies_noted: bool,
    /// Constructions with weights that were raised.
    raised: Vec<String>,
}

impl Remarks {
    fn take(&mut self, report: &SpadeReport, session: &Session<'_>) {
        if !self.copies_noted {
            notes::about_copies(&report.diagnostics, report.graphs.nodes(), session);
            self.copies_noted = true;
        }
        let diagnostics = &report.diagnostics;
        let raised = [diagnostics.input_graph, diagnostics.output_graph].map(|made| made.weights_raised);
        if raised != [0, 0] {
            let SpadeParams { graph, weights, .. } = &diagnostics.params;
            self.raised.push(format!("{graph} {weights}: {} input, {} output", raised[0], raised[1]));
        }
    }

    fn note(&self, session: &Session<'_>) {
        if !self.raised.is_empty() {
            session.note(
                NoteCode::WeightsRaised,
                format!(
                    "weights below {0:e} are raised to {0:e} ({1})",
                    Weights::LEAST,
                    self.raised.join("; ")
                ),
            );
        }
    }
}

fn scores(
    report: &SpadeReport,
    reference: Option<&SpadeReport>,
    top: usize,
) -> Result<ConstructionScores, Failure> {
    let ScoreDocument { spectrum, neighbors, graphs, .. } = ScoreDocument::new(report, None, 0)?;
    let agreement = reference
        .map(|reference| agreement(reference.node_scores.scores(), report.node_scores.scores(), top));
    Ok(ConstructionScores {
        spectrum,
        neighbors_used: neighbors.used,
        graphs,
        kendall_tau: agreement.and_then(|agreement| agreement.kendall),
        top_shared: agreement.map(|agreement| agreement.overlap()),
    })
}

fn to_csv(document: &ConstructionsDocument) -> String {
    let mut text = String::from(
        "graph,weights,model_score,neighbors_used,input_edges,output_edges,input_components,output_components,\
         input_bridges,output_bridges,input_dimensions,input_kappa,output_kappa,kendall_tau,top_shared,seconds,error\n",
    );
    for row in &document.constructions {
        let optional = |value: Option<f64>| optional_field(value.map(Readable));
        let (cells, error) = match &row.outcome {
            Outcome::Scored(scores) => {
                let (input, output) = (&scores.graphs.input, &scores.graphs.output);
                let cells = [
                    Readable(scores.spectrum.model_score).to_string(),
                    scores.neighbors_used.to_string(),
                    input.edges.to_string(),
                    output.edges.to_string(),
                    input.connection.components_found.to_string(),
                    output.connection.components_found.to_string(),
                    input.connection.bridges.to_string(),
                    output.connection.bridges.to_string(),
                    input
                        .construction
                        .dimensions
                        .map(|dimensions| dimensions.to_string())
                        .unwrap_or_default(),
                    optional(input.construction.sparsifier.map(|sparsifier| sparsifier.kappa)),
                    optional(output.construction.sparsifier.map(|sparsifier| sparsifier.kappa)),
                    optional(scores.kendall_tau),
                    optional(scores.top_shared),
                ];
                (cells.join(","), String::new())
            }
            Outcome::Failed { error } => (",".repeat(12), csv_field(error)),
        };
        text.push_str(&format!("{},{},{cells},{},{error}\n", row.graph, row.weights, row.seconds));
    }
    text
}
