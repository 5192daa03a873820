//! The page of one scored model.

use askama::Template;
use spadework::scores::Cut;
use spadework_document::facts::NodeDocument;
use spadework_document::score::{LabelDocument, LabelPairDocument, ScoreDocument};
use spadework_io::Labels;

use crate::charts::{Cell, Chart, Estimate, bars, heat_map, histogram, intervals, number, scatter};
use crate::error::Result;
use crate::evidence::{ANSWERS, Answer, ProbeStory, numbers_table, percent};
use crate::explorer::{
    Explorer, ExplorerLabels, ExplorerModel, ExplorerPredictions, ExplorerView, chosen, label_name,
    pictures_or_rows,
};
use crate::page::{Figure, Frame, Headline, Table, filled};
use crate::page_facts::{PageFacts, Pair};
use crate::provenance::{Fact, Origin, facts, graphs_made, joined};
use crate::{ScoredModel, packed};

/// Beyond so many labels a chart of them is no longer to be read.
const MOST_LABELS: usize = 40;
/// Samples of each side of the cut that are shown.
const OF_THE_CUT: usize = 12;

/// The page of a scored model.
///
/// # Errors
/// When one of the numbers it shows cannot be computed, or the monitor stops the work.
pub fn score_page(model: &ScoredModel<'_>, facts: &PageFacts, origin: &Origin) -> Result<String> {
    let explorer = explorer(model, facts)?;
    let charts = charts(model.document, Some((model, facts, explorer.labels.as_ref())));
    let document = model.document;
    let page = ScorePage {
        frame: Frame::new(title(origin), Some(&explorer), provenance(document, origin), &document.version),
        headlines: headlines(document, Some(facts)),
        position: position(document.model_score, facts.permuted).inline(),
        meaning: meaning(document),
        pairs: facts.pairs.iter().map(|pair| PairCard::new(pair, model.labels, facts)).collect(),
        numbers: numbers_table(&document.facts),
        answers: &ANSWERS,
        probes: document.facts.probe.as_ref().map(ProbeStory::new),
        cut: Some(CutStory::new(&facts.cut, model)),
        nodes: nodes_table(document).without_empty_columns(),
        label_table: label_table(&document.label_scores),
        charts: charts.iter().filter(|chart| !chart.name.starts_with("embedding")).map(Figure::new).collect(),
        missing: None,
    };
    filled(&page)
}

/// The page of a result whose arrays are not there any more: what its document says.
///
/// # Errors
/// When the page cannot be filled, which would be our mistake.
pub fn score_page_of_document(document: &ScoreDocument, origin: &Origin, why: &str) -> Result<String> {
    let page = ScorePage {
        frame: Frame::new(title(origin), None, provenance(document, origin), &document.version),
        headlines: headlines(document, None),
        position: document
            .facts
            .references
            .map(|references| position(document.model_score, references.permuted).inline())
            .unwrap_or_default(),
        meaning: meaning(document),
        pairs: Vec::new(),
        numbers: numbers_table(&document.facts),
        answers: &ANSWERS,
        probes: document.facts.probe.as_ref().map(ProbeStory::new),
        cut: None,
        nodes: nodes_table(document).without_empty_columns(),
        label_table: label_table(&document.label_scores),
        charts: charts(document, None).iter().map(Figure::new).collect(),
        missing: Some(why.to_owned()),
    };
    filled(&page)
}

/// The figures of a scored model.
pub fn score_charts(model: &ScoredModel<'_>, facts: &PageFacts) -> Vec<Chart> {
    let labels = model.labels.and_then(ExplorerLabels::of);
    charts(model.document, Some((model, facts, labels.as_ref())))
}

/// The figures that the document of a result has the numbers for.
pub fn score_charts_of_document(document: &ScoreDocument) -> Vec<Chart> {
    charts(document, None)
}

#[derive(Template)]
#[template(path = "score.html")]
struct ScorePage {
    frame: Frame,
    headlines: Vec<Headline>,
    /// The score between the identity and chance, where the latter is known.
    position: String,
    meaning: String,
    pairs: Vec<PairCard>,
    numbers: Table,
    answers: &'static [Answer],
    probes: Option<ProbeStory>,
    cut: Option<CutStory>,
    nodes: Table,
    label_table: Table,
    charts: Vec<Figure>,
    /// Why there are no pictures and no scatter plots.
    missing: Option<String>,
}

/// Two samples that the model pulls apart.
struct PairCard {
    p: u32,
    q: u32,
    ends: [EndCard; 2],
    score: String,
    inputs: String,
    outputs: String,
    hops: String,
    resistance: String,
}

struct EndCard {
    sample: u32,
    label: Option<String>,
    predicted: Option<String>,
    wrong: bool,
}

impl PairCard {
    fn new(pair: &Pair, labels: Option<&Labels>, facts: &PageFacts) -> Self {
        let end = |sample: u32| {
            let label = labels.map(|labels| label_name(labels, labels.ids()[sample as usize]));
            let class = facts.predictions.as_ref().map(|predictions| predictions[sample as usize]);
            let predicted = class.zip(labels).map(|(class, labels)| label_name(labels, class as i64));
            EndCard { sample, wrong: predicted.is_some() && predicted != label, label, predicted }
        };
        let or_dash = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        let (p, q) = (pair.edge.p, pair.edge.q);
        Self {
            p,
            q,
            ends: [end(p), end(q)],
            score: number(pair.edge.score),
            inputs: or_dash(pair.inputs),
            outputs: or_dash(pair.outputs),
            hops: or_dash(pair.distortion.map(|ratios| ratios[0])),
            resistance: or_dash(pair.distortion.map(|ratios| ratios[1])),
        }
    }
}

/// The boundary that is thin at the output.
struct CutStory {
    inside: usize,
    outside: usize,
    input_edges: String,
    output_edges: String,
    ratio: String,
    bound: String,
    labels: String,
    examples_inside: Vec<u32>,
    examples_outside: Vec<u32>,
}

impl CutStory {
    fn new(cut: &Cut, model: &ScoredModel<'_>) -> Self {
        let nodes = model.report.graphs.nodes();
        let [examples_inside, examples_outside] = examples(cut, model);
        Self {
            inside: cut.samples().len(),
            outside: nodes - cut.samples().len(),
            input_edges: number(cut.input()),
            output_edges: number(cut.output()),
            ratio: number(cut.ratio()),
            bound: number(1.0 / model.report.model_score.0),
            labels: model.labels.map(|labels| labels_inside(cut, labels)).unwrap_or_default(),
            examples_inside,
            examples_outside,
        }
    }
}

/// Samples on both sides of the boundary, by input edges across it, most fragile first: neighbours that are told apart.
fn examples(cut: &Cut, model: &ScoredModel<'_>) -> [Vec<u32>; 2] {
    let inside = |p: u32| cut.samples().binary_search(&p).is_ok();
    let mut sides = [Vec::new(), Vec::new()];
    for edge in model.report.edge_scores.top(model.report.edge_scores.len()) {
        let [p, q] = if inside(edge.p) { [edge.p, edge.q] } else { [edge.q, edge.p] };
        if inside(p) == inside(q) {
            continue;
        }
        for (side, sample) in sides.iter_mut().zip([p, q]) {
            if side.len() < OF_THE_CUT && !side.contains(&sample) {
                side.push(sample);
            }
        }
        if sides.iter().all(|side| side.len() == OF_THE_CUT) {
            break;
        }
    }
    sides
}

/// The labels of the samples inside, most frequent first.
fn labels_inside(cut: &Cut, labels: &Labels) -> String {
    let mut counts = std::collections::BTreeMap::<i64, usize>::new();
    for &p in cut.samples() {
        *counts.entry(labels.ids()[p as usize]).or_default() += 1;
    }
    let mut counts: Vec<(i64, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(id, count)| (std::cmp::Reverse(count), id));
    let all = |id: i64| labels.ids().iter().filter(|&&other| other == id).count();
    joined(
        counts
            .iter()
            .take(6)
            .map(|&(id, count)| format!("{} ({count} of {})", label_name(labels, id), all(id))),
    )
}

fn title(origin: &Origin) -> String {
    origin.title.clone().unwrap_or_else(|| "Robustness of a model".to_owned())
}

fn headlines(document: &ScoreDocument, facts: Option<&PageFacts>) -> Vec<Headline> {
    let mut headlines = vec![Headline {
        value: number(document.model_score),
        name: "model score",
        note: "larger is less robust".to_owned(),
    }];
    let certain = document.enclosure.probability >= 1.0;
    headlines.push(Headline {
        value: format!("± {:.0e}", (document.enclosure.upper - document.enclosure.lower) / 2.0),
        name: "numerical error",
        note: if certain {
            format!("by {}", document.enclosure.method)
        } else {
            format!("with probability at least {}", document.enclosure.probability)
        },
    });
    let known = &document.facts;
    if let Some(interval) = known.interval {
        headlines.push(Headline {
            value: format!("{} to {}", number(interval.lower), number(interval.upper)),
            name: "interval",
            note: format!("{:.0} %, by {} subsamples", 100.0 * interval.level, interval.repetitions),
        });
    }
    if let Some(accuracy) = facts.and_then(|facts| facts.accuracy).or(known.accuracy) {
        let value = percent(accuracy);
        headlines.push(Headline { value, name: "clean accuracy", note: "on the same samples".to_owned() });
    }
    if let Some((robust, probe)) =
        known.probe.as_ref().and_then(|probe| Some((probe.robust_accuracy?, probe)))
    {
        let note = format!("estimated, under {}", probe.probe);
        headlines.push(Headline { value: percent(robust), name: "robust accuracy", note });
    }
    if let Some(overlap) = known.edge_overlap {
        let note = "larger is more robust".to_owned();
        headlines.push(Headline { value: percent(overlap), name: "edge overlap", note });
    }
    if let Some(permuted) = facts.map(|facts| facts.permuted).or(known.references.map(|r| r.permuted)) {
        let note = "the same outputs dealt out at random".to_owned();
        headlines.push(Headline { value: number(permuted), name: "score of chance", note });
    }
    headlines.push(Headline {
        value: document.samples.to_string(),
        name: "samples",
        note: format!(
            "{} numbers in, {} out; {} neighbors",
            document.input_dim, document.output_dim, document.neighbors.used
        ),
    });
    headlines
}

/// The score on the way from a model that changes nothing to outputs dealt out at random.
fn position(score: f64, permuted: f64) -> Chart {
    let at = |name: &str, value: f64| Estimate { name: name.to_owned(), value, range: None };
    let rows = [at("identity", 1.0), at("this model", score), at("chance", permuted)];
    intervals("position", "The score between no change and chance", "model score", &rows)
}

fn meaning(document: &ScoreDocument) -> String {
    let score = number(document.model_score);
    format!(
        "No two samples are pulled farther apart by this model than {score} times, measured by effective resistance on \
         the two graphs of {} neighbors; a model that passes its inputs on scores 1.",
        document.neighbors.used
    )
}

fn nodes_table(document: &ScoreDocument) -> Table {
    let row = |(rank, node): (usize, &NodeDocument)| {
        let name = |id: i64| {
            let label = document.label_scores.iter().find(|label| label.label == id);
            label.and_then(|label| label.name.clone()).unwrap_or_else(|| id.to_string())
        };
        vec![
            (rank + 1).to_string(),
            node.index.to_string(),
            number(node.score),
            node.label.map(name).unwrap_or_default(),
            node.margin.map(number).unwrap_or_default(),
            node.fragility.map(|part| format!("{part:.4}")).unwrap_or_default(),
        ]
    };
    Table {
        name: "top_nodes",
        caption: document.facts.fragility_basis.as_ref().map_or_else(
            || "Most fragile samples by their scores".to_owned(),
            |basis| {
                format!(
                    "Most fragile samples by their scores; fragility is the part of the samples that are less fragile by {basis}"
                )
            },
        ),
        header: vec!["rank", "sample", "score", "label", "margin", "fragility"],
        rows: document.top_nodes.iter().enumerate().map(row).collect(),
    }
}

fn label_table(labels: &[LabelDocument]) -> Table {
    let row = |label: &LabelDocument| vec![label_text(label), number(label.score), label.samples.to_string()];
    Table {
        name: "labels",
        caption: "Mean score of every label".to_owned(),
        header: vec!["label", "score", "samples"],
        rows: labels.iter().map(row).collect(),
    }
}

fn label_text(label: &LabelDocument) -> String {
    label.name.clone().unwrap_or_else(|| label.label.to_string())
}

/// What goes beyond the document: the model, what was computed for the page, and labels as the page has them.
type Details<'a> = (&'a ScoredModel<'a>, &'a PageFacts, Option<&'a ExplorerLabels>);

fn charts(document: &ScoreDocument, details: Option<Details<'_>>) -> Vec<Chart> {
    let mut charts = Vec::new();
    if (1..=MOST_LABELS).contains(&document.label_scores.len()) {
        let mut rows: Vec<(String, f64)> =
            document.label_scores.iter().map(|label| (label_text(label), label.score)).collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        charts.push(bars("labels", "Which labels are fragile: mean score", &rows));
        charts.push(pair_map(&document.label_scores, &document.label_pairs));
    }
    if let Some((model, _, _)) = details {
        let scores = model.report.node_scores.scores();
        charts.push(histogram("node_scores", "How the samples' scores are spread", scores));
    }
    let eigenvalues = details.map_or(document.eigenvalues.as_slice(), |(_, facts, _)| &facts.eigenvalues);
    let rows: Vec<(String, f64)> =
        eigenvalues.iter().enumerate().map(|(at, &value)| (format!("λ{}", at + 1), value)).collect();
    charts.push(bars("spectrum", "The largest eigenvalues", &rows));
    if let Some((_, facts, labels)) = details {
        let classes = labels.map(|labels| (labels.of.as_slice(), labels.names.as_slice()));
        charts.extend(facts.views.iter().map(|view| scatter(view.name, view.title, &view.points, classes)));
    }
    charts
}

fn pair_map(labels: &[LabelDocument], pairs: &[LabelPairDocument]) -> Chart {
    let mut ids: Vec<&LabelDocument> = labels.iter().collect();
    ids.sort_by_key(|label| label.label);
    let position = |id: i64| ids.iter().position(|label| label.label == id);
    let cells: Vec<Cell> = pairs
        .iter()
        .filter_map(|pair| {
            let (row, column) = (position(pair.a)?, position(pair.b)?);
            Some(Cell { row, column, value: pair.score, count: pair.edges })
        })
        .collect();
    let names: Vec<String> = ids.iter().map(|label| label_text(label)).collect();
    heat_map(
        "label_pairs",
        "Which labels are confusable: mean score of the edges between them",
        &names,
        &cells,
    )
}

fn provenance(document: &ScoreDocument, origin: &Origin) -> Vec<Fact> {
    let timings = &document.timings;
    let mut lines = facts([
        ("version", document.version.clone()),
        ("schema", document.schema.clone()),
        ("graphs", graphs_made(&document.request)),
        (
            "neighbors",
            format!("{} asked for, {} used", document.neighbors.requested, document.neighbors.used),
        ),
        ("eigenpairs", format!("{} by {}", document.eigenpairs, document.solver)),
        ("residuals", joined(document.residuals.iter().map(|residual| format!("{residual:.1e}")))),
        ("enclosure", format!("[{}, {}]", document.enclosure.lower, document.enclosure.upper)),
        ("seed", document.seed.to_string()),
        ("edges", format!("{} input, {} output", document.graphs.input.edges, document.graphs.output.edges)),
        (
            "seconds",
            format!(
                "{:.3} in all: neighbors {:.3} and {:.3}, graphs {:.3}, eigenpairs {:.3}, enclosure {:.3}, scores {:.3}",
                timings.total_s,
                timings.neighbors_input_s,
                timings.neighbors_output_s,
                timings.graphs_s,
                timings.eigen_s,
                timings.enclosure_s,
                timings.scores_s
            ),
        ),
    ]);
    if let Some(data) = &document.data {
        for (name, array) in [("inputs", &data.inputs), ("outputs", &data.outputs)] {
            let value = format!("{}, digest {}", array.array, array.digest);
            lines.push(Fact { name: name.to_owned(), value });
        }
    }
    lines.extend(origin.fact());
    lines
}

/// What the script works on.
fn explorer(model: &ScoredModel<'_>, facts: &PageFacts) -> Result<Explorer> {
    let report = model.report;
    let labels = model.labels.and_then(ExplorerLabels::of);
    let ranking: Vec<u32> =
        report.node_scores.top(report.graphs.nodes()).iter().map(|node| node.index as u32).collect();
    let mut first: Vec<u32> = facts.pairs.iter().flat_map(|pair| [pair.edge.p, pair.edge.q]).collect();
    first.extend(examples(&facts.cut, model).into_iter().flatten());
    let probe = model.document.facts.probe.as_ref();
    first.extend(probe.iter().flat_map(|probe| &probe.top_changed).map(|sample| sample.index as u32));
    let rankings = [ranking];
    let (pictures, rows) =
        pictures_or_rows(model.inputs.as_ref(), |most| chosen(&first, &rankings, labels.as_ref(), most))?;
    let predicted = facts.predictions.as_ref().zip(model.labels);
    Ok(Explorer {
        samples: report.graphs.nodes(),
        colors: &crate::charts::CATEGORIES,
        labels,
        models: vec![ExplorerModel::new(
            "model",
            report.node_scores.scores(),
            model.columns,
            predicted.map(|(classes, labels)| ExplorerPredictions::of(classes, labels)),
        )],
        views: facts
            .views
            .iter()
            .map(|view| ExplorerView {
                title: view.title.to_owned(),
                note: view.note.to_owned(),
                model: 0,
                points: packed::points(&view.points),
            })
            .collect(),
        pictures,
        rows,
    })
}
