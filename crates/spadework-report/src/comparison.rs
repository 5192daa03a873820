//! The page of many models on one input graph.

use askama::Template;
use spadework::eigen::{EigenParams, EigenProblem};
use spadework::pipeline::Comparison;
use spadework::{Monitor, Samples};
use spadework_document::comparison::{AgreementDocument, CompareDocument, ModelDocument};
use spadework_io::Labels;
use spadework_probe::{accuracy, predictions};

use crate::charts::{CATEGORIES, Chart, Estimate, intervals, number};
use crate::error::Result;
use crate::evidence::{self, ANSWERS, Answer, ProbeStory, evidence_table};
use crate::explorer::{
    Explorer, ExplorerLabels, ExplorerModel, ExplorerPredictions, ExplorerView, chosen, pictures_or_rows,
};
use crate::page::{Figure, Frame, Table, filled};
use crate::page_facts::plane;
use crate::provenance::{Fact, Origin, facts, graphs_made};
use crate::{InputArray, SampleColumns, packed};

/// Compared models and what they were compared on.
#[derive(Debug, Clone, Copy)]
pub struct ComparedModels<'a> {
    /// The result as it is written.
    pub document: &'a CompareDocument,
    /// The result as it was computed.
    pub comparison: &'a Comparison,
    /// Labels, where there are any.
    pub labels: Option<&'a Labels>,
    /// The inputs, unless a graph was given in their place.
    pub inputs: Option<InputArray<'a>>,
    /// The outputs of every model in the order of the comparison, where they are at hand.
    pub outputs: &'a [&'a Samples<'a>],
    /// Numbers beside the scores of the samples by every model, in the order of the comparison, where they are known.
    pub columns: &'a [SampleColumns<'a>],
}

/// The page of a comparison.
///
/// # Errors
/// When one of the numbers it shows cannot be computed, or the monitor stops the work.
pub fn comparison_page(
    models: &ComparedModels<'_>,
    origin: &Origin,
    monitor: &dyn Monitor,
) -> Result<String> {
    let explorer = explorer(models, monitor)?;
    filled(&page(models.document, Some(&explorer), origin, None))
}

/// The page of a comparison whose arrays are not there any more: what its document says.
///
/// # Errors
/// When the page cannot be filled, which would be our mistake.
pub fn comparison_page_of_document(document: &CompareDocument, origin: &Origin, why: &str) -> Result<String> {
    filled(&page(document, None, origin, Some(why.to_owned())))
}

/// The figures of a comparison.
pub fn comparison_charts(document: &CompareDocument) -> Vec<Chart> {
    let estimate = |model: &ModelDocument| Estimate {
        name: model.name.clone(),
        value: model.model_score,
        range: model.facts.interval.map(|interval| (interval.lower, interval.upper)),
    };
    let rows: Vec<Estimate> = document.models.iter().map(estimate).collect();
    let mut charts = vec![intervals("models", "Model scores, smallest first", "model score", &rows)];
    if document.models.iter().all(|model| model.facts.accuracy.is_some()) {
        charts.push(accuracy_chart(document));
    }
    charts
}

fn accuracy_chart(document: &CompareDocument) -> Chart {
    let rows: Vec<Estimate> = document
        .models
        .iter()
        .map(|model| Estimate {
            name: model.name.clone(),
            value: 100.0 * model.facts.accuracy.unwrap_or_default(),
            range: None,
        })
        .collect();
    intervals("accuracy", "Clean accuracy in the same order", "per cent", &rows)
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    frame: Frame,
    verdict: String,
    models: Table,
    evidence: Table,
    answers: &'static [Answer],
    probes: Vec<String>,
    agreement: Table,
    charts: Vec<Figure>,
    /// Names, for the choice of two.
    names: Vec<String>,
    missing: Option<String>,
}

fn page(
    document: &CompareDocument,
    explorer: Option<&Explorer>,
    origin: &Origin,
    missing: Option<String>,
) -> ComparisonPage {
    let title = origin.title.clone().unwrap_or_else(|| "Models compared".to_owned());
    ComparisonPage {
        frame: Frame::new(title, explorer, provenance(document, origin), &document.version),
        verdict: verdict(document),
        models: models_table(document).without_empty_columns(),
        evidence: evidence_table(&document.models.iter().map(|model| &model.facts).collect::<Vec<_>>()),
        answers: &ANSWERS,
        probes: probe_lines(document),
        agreement: agreement_table(&document.agreement).without_empty_columns(),
        charts: comparison_charts(document).iter().map(Figure::new).collect(),
        names: document.models.iter().map(|model| model.name.clone()).collect(),
        missing,
    }
}

/// The ranking in a sentence, and whether it can be believed.
fn verdict(document: &CompareDocument) -> String {
    let (Some(best), Some(worst)) = (document.models.first(), document.models.last()) else {
        return String::new();
    };
    let mut verdict = format!(
        "Of {} models on {} samples, “{}” has the smallest score ({}) and “{}” the largest ({}).",
        document.models.len(),
        document.samples,
        best.name,
        number(best.model_score),
        worst.name,
        number(worst.model_score)
    );
    let doubtful = document.agreement.iter().filter(|pair| {
        let neighbors = document.models.windows(2).any(|two| two[0].name == pair.a && two[1].name == pair.b);
        neighbors && pair.subsamples_in_order.is_some_and(|part| part < 0.9)
    });
    let doubtful: Vec<String> = doubtful.map(|pair| format!("“{}” and “{}”", pair.a, pair.b)).collect();
    if !doubtful.is_empty() {
        verdict += &format!(
            " Half of the samples do not reliably keep the order of {}: take them for equal.",
            doubtful.join("; ")
        );
    }
    if let Some(order) = document.order_by_probes() {
        let order: Vec<String> =
            order.iter().map(|(name, robust)| format!("“{name}” ({:.1} %)", 100.0 * robust)).collect();
        verdict += &format!(
            " Probes rank them otherwise, by the robust accuracy that they estimate: {}. They have followed attacks more closely \
             than model scores.",
            order.join(", ")
        );
    }
    verdict
}

fn models_table(document: &CompareDocument) -> Table {
    let row = |(rank, model): (usize, &ModelDocument)| {
        let ModelDocument { name, model_score, facts, .. } = model;
        let interval = facts
            .interval
            .map(|interval| format!("{} to {}", number(interval.lower), number(interval.upper)));
        let permuted = facts.references.map(|references| number(references.permuted));
        let mut row =
            vec![(rank + 1).to_string(), name.clone(), number(*model_score), interval.unwrap_or_default()];
        row.extend(evidence::row(facts));
        row.push(permuted.unwrap_or_default());
        row
    };
    let header = ["rank", "model", "score", "interval"].into_iter();
    Table {
        name: "models",
        caption: "Models, most robust first by model score".to_owned(),
        header: header.chain(evidence::columns()).chain(["score of chance"]).collect(),
        rows: document.models.iter().enumerate().map(row).collect(),
    }
}

/// What probes have shown of the models, a sentence each.
fn probe_lines(document: &CompareDocument) -> Vec<String> {
    let line = |model: &ModelDocument| {
        let story = ProbeStory::new(model.facts.probe.as_ref()?);
        Some(format!("“{}”: {}", model.name, story.summary))
    };
    document.models.iter().filter_map(line).collect()
}

fn agreement_table(pairs: &[AgreementDocument]) -> Table {
    let row = |pair: &AgreementDocument| {
        let part = |value: Option<f64>| value.map(|value| format!("{value:.3}")).unwrap_or_default();
        vec![
            pair.a.clone(),
            pair.b.clone(),
            format!("{:.0} %", 100.0 * pair.overlap),
            part(pair.spearman),
            part(pair.kendall),
            pair.subsamples_in_order.map(|part| format!("{:.0} %", 100.0 * part)).unwrap_or_default(),
        ]
    };
    Table {
        name: "agreement",
        caption: "How far two models agree on which samples are fragile".to_owned(),
        header: vec!["model", "model", "most fragile shared", "Spearman", "Kendall", "subsamples in order"],
        rows: pairs.iter().map(row).collect(),
    }
}

fn provenance(document: &CompareDocument, origin: &Origin) -> Vec<Fact> {
    let mut lines = facts([
        ("version", document.version.clone()),
        ("schema", document.schema.clone()),
        ("graphs", graphs_made(&document.request)),
        (
            "neighbors",
            format!("{} asked for, {} used", document.neighbors.requested, document.neighbors.used),
        ),
        ("eigenpairs", document.eigenpairs.to_string()),
        ("seed", document.seed.to_string()),
        ("input edges", document.input_graph.edges.to_string()),
        ("seconds", format!("{:.3}", document.timings.total_s)),
    ]);
    lines.extend(origin.fact());
    lines
}

/// What the script works on: a view and the scores of every model.
fn explorer(models: &ComparedModels<'_>, monitor: &dyn Monitor) -> Result<Explorer> {
    let labels = models.labels.and_then(ExplorerLabels::of);
    let compared = &models.comparison.models;
    let mut rankings = Vec::with_capacity(compared.len());
    let (mut shown_models, mut views) = (Vec::new(), Vec::new());
    for (at, model) in compared.iter().enumerate() {
        let report = &model.report;
        let nodes = report.graphs.nodes();
        rankings.push(report.node_scores.top(nodes).iter().map(|node| node.index as u32).collect::<Vec<_>>());
        let predicted = match (models.outputs.get(at), models.labels) {
            (Some(outputs), Some(labels)) if accuracy(outputs, labels.ids())?.is_some() => {
                Some(ExplorerPredictions::of(&predictions(outputs), labels))
            }
            _ => None,
        };
        let columns = models.columns.get(at).copied().unwrap_or_default();
        shown_models.push(ExplorerModel::new(&model.name, report.node_scores.scores(), columns, predicted));
        views.push(ExplorerView {
            title: format!("{} (score {})", model.name, number(report.model_score.0)),
            note: String::new(),
            model: at,
            points: packed::points(&places(report, monitor)?),
        });
    }
    let (pictures, rows) =
        pictures_or_rows(models.inputs.as_ref(), |most| chosen(&[], &rankings, labels.as_ref(), most))?;
    let samples = rankings.first().map_or(0, Vec::len);
    Ok(Explorer { samples, colors: &CATEGORIES, labels, models: shown_models, views, pictures, rows })
}

/// The samples by the two dominant eigenvectors.
fn places(report: &spadework::SpadeReport, monitor: &dyn Monitor) -> Result<Vec<[f64; 2]>> {
    if report.eigenpairs.len() >= 2 {
        return Ok(plane(report.eigenpairs.vectors()));
    }
    let params = &report.diagnostics.params;
    let eigen = EigenParams::default()
        .with_eigenpairs(2.min(report.graphs.nodes() - 1))
        .with_tolerance(params.tolerance)
        .with_seed(params.seed);
    let found = EigenProblem::new(&report.graphs, params.seed).dominant_eigenpairs(&eigen, monitor)?;
    Ok(plane(found.vectors()))
}
