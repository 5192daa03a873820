//! The page of one scored model.

use askama::Template;
use spadework::scores::{Cut, LabelPairScore};
use spadework_document::estimates::ShareDocument;
use spadework_document::facts::NodeDocument;
use spadework_document::score::{LabelDocument, NumericalBoundsDocument, ScoreDocument};
use spadework_document::verdict::VerdictDocument;
use spadework_document::words::{grouped, percent, share_with_range, short};
use spadework_io::{Labels, default_name};

use crate::charts::{Cell, Chart, Estimate, heat_map, histogram, intervals, scatter};
use crate::error::Result;
use crate::evidence::{ANSWERS, Answer, ProbeStory, numbers_table};
use crate::explorer::{
    Explorer, ExplorerLabels, ExplorerModel, ExplorerPredictions, ExplorerView, Filters, GALLERIES, chosen,
    pictures_or_rows, ranked,
};
use crate::headlines::headlines;
use crate::label_names::{ColumnNames, label_name};
use crate::page::{Figure, Frame, Headline, Table, TableCell, filled};
use crate::page_facts::{PageFacts, Pair};
use crate::provenance::{Fact, Origin, facts, graphs_made, joined};
use crate::variants::ExplorerVariants;
use crate::{ScoredModel, packed};

/// Beyond so many labels a chart of them is no longer to be read.
const MOST_LABELS: usize = 40;
/// Samples of each side of the cut that are shown.
const OF_THE_CUT: usize = 12;
/// The weakest samples, at the top of the page.
const WEAKEST: usize = 8;

/// The page of a scored model.
///
/// # Errors
/// When one of the numbers it shows cannot be computed, or the monitor stops the work.
pub fn score_page(model: &ScoredModel<'_>, facts: &PageFacts, origin: &Origin) -> Result<String> {
    let weakest = weakest(model);
    let explorer = explorer(model, facts, &weakest)?;
    let charts = charts(model.document, Some((model, facts, explorer.labels.as_ref())));
    let (same, mixed): (Vec<_>, Vec<_>) =
        facts.pairs.iter().map(|pair| PairCard::new(pair, model)).partition(|pair| !pair.is_mixed);
    let page = ScorePage {
        hints: hints(model, facts),
        has_broken: explorer.variants.is_some(),
        weakest,
        same_label: same,
        other_label: mixed,
        cut: Some(CutStory::new(&facts.cut, model)),
        ..ScorePage::of_document(model.document, origin, &charts, model.samples.ids, Some(facts.permuted))
    };
    filled(&page.with_frame(model.document, origin, Some(&explorer)))
}

/// The page of a result whose arrays are gone, from its document.
///
/// # Errors
/// When the template fails, which would be our mistake.
pub fn score_page_of_document(document: &ScoreDocument, origin: &Origin, why: &str) -> Result<String> {
    let permuted = document.facts.references.map(|references| references.permuted);
    let charts = charts(document, None);
    let page = ScorePage {
        missing: Some(why.to_owned()),
        ..ScorePage::of_document(document, origin, &charts, None, permuted)
    };
    filled(&page.with_frame(document, origin, None))
}

/// The figures of a scored model.
pub fn score_charts(model: &ScoredModel<'_>, facts: &PageFacts) -> Vec<Chart> {
    let labels = model.samples.labels.and_then(ExplorerLabels::of);
    charts(model.document, Some((model, facts, labels.as_ref())))
}

/// The figures that can be drawn from the document of a result.
pub fn score_charts_of_document(document: &ScoreDocument) -> Vec<Chart> {
    charts(document, None)
}

/// The answer that the document brings along; one of an older version has none.
fn verdict(document: &ScoreDocument) -> VerdictDocument {
    document.verdict.clone().unwrap_or_else(|| VerdictDocument::of(document, None))
}

#[derive(Template)]
#[template(path = "score.html")]
struct ScorePage {
    frame: Frame,
    verdict: VerdictDocument,
    headlines: Vec<Headline>,
    /// What to look at.
    hints: Vec<LookAt>,
    weakest: Vec<u32>,
    /// Whether some of the samples come with what broke them.
    has_broken: bool,
    same_label: Vec<PairCard>,
    other_label: Vec<PairCard>,
    has_labels: bool,
    numbers: Table,
    answers: &'static [Answer],
    probes: Option<ProbeStory>,
    cut: Option<CutStory>,
    nodes: Table,
    label_table: Table,
    /// Of the labels, and of everything that the graphs show.
    label_charts: Vec<Figure>,
    spade_charts: Vec<Figure>,
    /// Why there are no pictures and no scatter plots.
    missing: Option<String>,
}

/// Something worth a look, and the section that shows it.
struct LookAt {
    section: &'static str,
    text: String,
}

impl ScorePage {
    /// What the document says by itself.
    fn of_document(
        document: &ScoreDocument,
        origin: &Origin,
        charts: &[Chart],
        ids: Option<&[String]>,
        permuted: Option<f64>,
    ) -> Self {
        let name = |index: usize| sample_id(ids, index);
        let of_labels =
            |chart: &&Chart| ["label_accuracy", "label_survived", "label_overlap"].contains(&chart.name);
        let on_page = || charts.iter().filter(|chart| !chart.name.starts_with("embedding"));
        Self {
            frame: Frame::new(title(document, origin), provenance(document, origin), &document.made.version),
            verdict: verdict(document),
            headlines: headlines(document, permuted),
            hints: Vec::new(),
            weakest: Vec::new(),
            has_broken: false,
            same_label: Vec::new(),
            other_label: Vec::new(),
            has_labels: !document.label_scores.is_empty(),
            numbers: numbers_table(document),
            answers: &ANSWERS,
            probes: ProbeStory::of_facts(&document.facts, &name),
            cut: None,
            nodes: nodes_table(document, &name).without_empty_columns(),
            label_table: label_table(&document.label_scores),
            label_charts: on_page().filter(of_labels).map(Figure::new).collect(),
            spade_charts: on_page().filter(|chart| !of_labels(chart)).map(Figure::new).collect(),
            missing: None,
        }
    }

    /// The same with what is around it.
    fn with_frame(self, document: &ScoreDocument, origin: &Origin, explorer: Option<&Explorer>) -> Self {
        let has_samples = self.missing.is_none();
        let contents = [
            ("verdict", "Verdict", true),
            ("probes", "Probes", self.probes.is_some()),
            ("samples", "Samples", has_samples),
            ("labels", "Labels", !self.label_charts.is_empty()),
            ("explorer", "Map", has_samples),
            ("pairs", "Pairs", has_samples),
            ("spread", "SPADE", true),
            ("numbers", "All numbers", true),
            ("provenance", "Provenance", true),
        ];
        let frame = self.frame.with_contents(&contents).with_notes(&document.made.notes);
        let frame = frame.with_subtitle(subtitle(document, origin)).with_explorer(explorer);
        Self { frame, ..self }
    }
}

/// What a sample is called: its id, or its position.
pub(crate) fn sample_name(ids: Option<&[String]>, index: usize) -> String {
    ids.and_then(|ids| ids.get(index)).map_or_else(|| format!("#{index}"), Clone::clone)
}

/// The same without a mark, for tables.
fn sample_id(ids: Option<&[String]>, index: usize) -> String {
    ids.and_then(|ids| ids.get(index)).map_or_else(|| index.to_string(), Clone::clone)
}

/// The most fragile samples that are right: with probes, the weakest of those that broke, or those of a regressor that moved most.
fn weakest(model: &ScoredModel<'_>) -> Vec<u32> {
    let probe = model.document.facts.probe.as_ref();
    if let Some(probe) = probe.filter(|probe| !probe.weakest.is_empty()) {
        return probe.weakest.iter().map(|sample| sample.index as u32).collect();
    }
    if let Some(change) = &model.document.facts.output_change {
        return change.top.iter().take(WEAKEST).map(|sample| sample.index as u32).collect();
    }
    let is_wrong = wrong(model);
    let is_right = |p: u32| is_wrong.as_ref().is_none_or(|wrong| !wrong[p as usize]);
    leading(model).into_iter().filter(|&p| is_right(p)).take(WEAKEST).collect()
}

/// The samples by the number that says best which of them break: fragility for classifiers, node scores otherwise.
fn leading(model: &ScoredModel<'_>) -> Vec<u32> {
    ranked(model.columns.fragility.unwrap_or(model.report.node_scores.scores()))
}

/// Which samples are classified wrongly, where that is known.
fn wrong(model: &ScoredModel<'_>) -> Option<Vec<bool>> {
    let (predicted, labels) = model.columns.predicted.zip(model.samples.labels)?;
    Some(predicted.iter().zip(labels.ids()).map(|(predicted, label)| predicted != label).collect())
}

fn hints(model: &ScoredModel<'_>, facts: &PageFacts) -> Vec<LookAt> {
    let mut hints = Vec::new();
    if let Some((what, shares)) = model.document.weakest_labels() {
        let worst =
            shares.iter().map(|(label, share)| format!("{} ({})", label.text(), percent(share.estimate)));
        let text = format!("Weakest labels, by {what}: {}.", joined(worst));
        hints.push(LookAt { section: "labels", text });
    }
    if let Some(wrong) = wrong(model) {
        let count = wrong.iter().filter(|&&is| is).count();
        let samples = if count == 1 { "sample is" } else { "samples are" };
        let text =
            format!("{} {samples} classified wrongly: choose “wrong” among the samples.", grouped(count));
        hints.extend((count > 0).then_some(LookAt { section: "samples", text }));
    }
    let same = facts.pairs.iter().find(|pair| !pair.is_mixed).filter(|_| model.samples.labels.is_some());
    if let Some(pair) = same {
        let [p, q] = [pair.edge.p, pair.edge.q].map(|end| sample_name(model.samples.ids, end as usize));
        let text = format!("{p} and {q} are neighbors with the same label that the model pulls apart most.");
        hints.push(LookAt { section: "pairs", text });
    }
    hints
}

/// Shares of the labels in percent, as a chart takes them, weakest first; none of a single label.
fn shares(
    labels: &[LabelDocument],
    of: impl Fn(&LabelDocument) -> Option<ShareDocument>,
) -> Option<Vec<Estimate>> {
    let estimate = |label: &LabelDocument| {
        let share = of(label)?;
        let range = Some((100.0 * share.lower, 100.0 * share.upper));
        Some(Estimate { name: label.text(), value: 100.0 * share.estimate, range })
    };
    let mut shares: Vec<Estimate> = labels.iter().filter_map(estimate).collect();
    shares.sort_by(|a, b| a.value.total_cmp(&b.value));
    (shares.len() > 1).then_some(shares)
}

/// Two samples that the model pulls apart.
struct PairCard {
    is_mixed: bool,
    ends: [EndCard; 2],
    score: TableCell,
    inputs: TableCell,
    outputs: TableCell,
    hops: TableCell,
    resistance: TableCell,
}

struct EndCard {
    sample: u32,
    name: String,
    label: Option<String>,
    predicted: Option<String>,
    wrong: bool,
}

impl PairCard {
    fn new(pair: &Pair, model: &ScoredModel<'_>) -> Self {
        let labels = model.samples.labels;
        let end = |sample: u32| {
            let label = labels.map(|labels| label_name(labels, labels.ids()[sample as usize]));
            let predicted = model.columns.predicted.zip(labels);
            let predicted = predicted.map(|(ids, labels)| label_name(labels, ids[sample as usize]));
            let wrong = predicted.is_some() && predicted != label;
            EndCard { sample, name: sample_name(model.samples.ids, sample as usize), wrong, label, predicted }
        };
        let or_dash = |value: Option<f64>| value.map_or_else(|| "–".into(), TableCell::number);
        Self {
            is_mixed: pair.is_mixed,
            ends: [end(pair.edge.p), end(pair.edge.q)],
            score: TableCell::number(pair.edge.score),
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
            input_edges: short(cut.input()),
            output_edges: short(cut.output()),
            ratio: short(cut.ratio()),
            bound: short(1.0 / model.report.model_score.0),
            labels: model.samples.labels.map(|labels| labels_inside(cut, labels)).unwrap_or_default(),
            examples_inside,
            examples_outside,
        }
    }
}

/// Samples on both sides of the boundary, by input edges across it, most fragile first: neighbors that the model separates.
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

/// The name of the model, unless the reader is given another title.
fn title(document: &ScoreDocument, origin: &Origin) -> String {
    let file = document.sources.model.as_ref().map(|model| &model.file);
    let named =
        file.or(document.sources.data.as_ref().map(|data| &data.outputs.array)).or(origin.model.as_ref());
    let named = named.map(|argument| default_name(argument)).filter(|name| !name.is_empty());
    origin.title.clone().or(named).unwrap_or_else(|| "Robustness of a model".to_owned())
}

fn subtitle(document: &ScoreDocument, origin: &Origin) -> String {
    let inputs = origin.inputs.as_ref().or(document.sources.data.as_ref().map(|data| &data.inputs.array));
    let of = inputs.map_or_else(String::new, |inputs| format!(" of {inputs}"));
    let count = |dim: usize, what: &str| match dim {
        0 => format!("a graph {what}"),
        1 => format!("1 number {what}"),
        more => format!("{} numbers {what}", grouped(more)),
    };
    let (input, output) = (count(document.input_dim, "in"), count(document.output_dim, "out"));
    format!("{} samples{of}; {input}, {output}", grouped(document.samples))
}

fn nodes_table(document: &ScoreDocument, sample: &dyn Fn(usize) -> String) -> Table {
    let row = |(rank, node): (usize, &NodeDocument)| {
        let name = |id: i64| {
            let label = document.label_scores.iter().find(|label| label.label == id);
            label.and_then(|label| label.name.clone()).unwrap_or_else(|| id.to_string())
        };
        let number = |value: Option<f64>| value.map(TableCell::number).unwrap_or_default();
        vec![
            (rank + 1).into(),
            sample(node.sample.index).into(),
            node.sample.label.map(name).unwrap_or_default().into(),
            number(node.fragility),
            number(node.margin),
            TableCell::number(node.score),
        ]
    };
    let basis = document.facts.fragility_basis.as_ref().map_or_else(String::new, |basis| {
        format!("; fragility is the share of the samples that are less fragile by {basis}")
    });
    Table {
        name: "top_nodes",
        caption: format!("Most fragile samples{basis}"),
        header: vec!["rank", "sample", "label", "fragility", "margin", "node score"],
        rows: document.top_nodes.iter().enumerate().map(row).collect(),
    }
}

fn label_table(labels: &[LabelDocument]) -> Table {
    let row = |label: &LabelDocument| {
        let overlap =
            label.overlap.as_ref().map_or_else(|| "–".into(), |share| share_with_range(share).into());
        vec![label.text().into(), TableCell::number(label.score), label.samples.into(), overlap]
    };
    Table {
        name: "labels",
        caption: "Mean node score and neighborhood overlap of every label".to_owned(),
        header: vec!["label", "score", "samples", "overlap"],
        rows: labels.iter().map(row).collect(),
    }
}

/// What goes beyond the document: the model, what was computed for the page, and labels as the page has them.
type Details<'a> = (&'a ScoredModel<'a>, &'a PageFacts, Option<&'a ExplorerLabels>);

fn charts(document: &ScoreDocument, details: Option<Details<'_>>) -> Vec<Chart> {
    let mut charts = Vec::new();
    charts.extend(label_charts(&document.label_scores));
    let estimate = |name: String, value: f64| Estimate { name, value, range: None };
    if (1..=MOST_LABELS).contains(&document.label_scores.len()) {
        let labels = document.label_scores.iter();
        let mut rows: Vec<Estimate> = labels.map(|label| estimate(label.text(), label.score)).collect();
        rows.sort_by(|a, b| b.value.total_cmp(&a.value));
        charts.push(intervals(
            "labels",
            "Labels by mean node score, largest first",
            "mean node score",
            &rows,
        ));
        charts.push(pair_map(&document.label_scores, &document.label_pairs));
    }
    if let Some((model, _, _)) = details {
        let scores = model.report.node_scores.scores();
        charts.push(histogram("node_scores", "Distribution of the node scores", scores));
    }
    let eigenvalues =
        details.map_or(document.spectrum.eigenvalues.as_slice(), |(_, facts, _)| &facts.eigenvalues);
    let rows: Vec<Estimate> =
        eigenvalues.iter().enumerate().map(|(at, &value)| estimate(format!("λ{}", at + 1), value)).collect();
    charts.push(intervals("spectrum", "The largest eigenvalues; λ1 is the SPADE score", "eigenvalue", &rows));
    if let Some((_, facts, labels)) = details {
        let classes = labels.map(|labels| (labels.of.as_slice(), labels.names.as_slice()));
        charts.extend(facts.views.iter().map(|view| scatter(view.name, view.title, &view.points, classes)));
    }
    charts
}

/// What share of every label is right, and right on every probe, or which share of its neighbors it keeps: of the weakest labels, where there
/// are many.
fn label_charts(labels: &[LabelDocument]) -> Vec<Chart> {
    let some =
        if labels.len() > MOST_LABELS { format!(", the {MOST_LABELS} weakest") } else { String::new() };
    let chart = |name, title: &str, mut rows: Vec<Estimate>| {
        rows.truncate(MOST_LABELS);
        intervals(name, &format!("{title}{some}"), "percent, with 95 % intervals", &rows)
    };
    let survived = shares(labels, LabelDocument::survived_share);
    let right = shares(labels, LabelDocument::accuracy);
    // Where nobody knows what is right, as of embeddings, this says which labels broke.
    let kept =
        if right.is_none() && survived.is_none() { shares(labels, |label| label.overlap) } else { None };
    let survived =
        survived.map(|rows| chart("label_survived", "Samples that survive every probe, by label", rows));
    let right = right.map(|rows| chart("label_accuracy", "Accuracy by label", rows));
    let kept = kept.map(|rows| chart("label_overlap", "Neighborhood overlap by label", rows));
    survived.into_iter().chain(right).chain(kept).collect()
}

fn pair_map(labels: &[LabelDocument], pairs: &[LabelPairScore]) -> Chart {
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
    let names: Vec<String> = ids.iter().map(|label| label.text()).collect();
    heat_map("label_pairs", "Mean edge score between labels", &names, &cells)
}

fn provenance(document: &ScoreDocument, origin: &Origin) -> Vec<Fact> {
    let timings = &document.timings;
    let mut lines = facts([
        ("version", document.made.version.clone()),
        ("schema", document.schema.clone()),
        ("graphs", graphs_made(&document.made.request)),
        (
            "neighbors",
            format!("{} asked for, {} used", document.neighbors.requested, document.neighbors.used),
        ),
        ("eigenpairs", format!("{} by {}", document.method.eigenpairs, document.solver)),
        ("residuals", joined(document.spectrum.residuals.iter().map(|residual| format!("{residual:.1e}")))),
        (
            "numerical bounds of λ₁",
            match document.spectrum.numerical_bounds {
                NumericalBoundsDocument { lower, upper: Some(upper), .. } => format!("[{lower}, {upper}]"),
                NumericalBoundsDocument { lower, .. } => format!("at least {lower}, no upper bound"),
            },
        ),
        ("seed", document.method.seed.to_string()),
        ("edges", format!("{} input, {} output", document.graphs.input.edges, document.graphs.output.edges)),
        (
            "seconds",
            format!(
                "{:.3} in all: model {:.3}, probes {:.3}, neighbors {:.3} and {:.3}, graphs {:.3}, eigenpairs {:.3}, numerical bounds {:.3}, \
                 scores {:.3}",
                timings.total_s,
                timings.model_s,
                timings.probes_s,
                timings.neighbors_input_s,
                timings.neighbors_output_s,
                timings.graphs_s,
                timings.eigen_s,
                timings.numerical_bounds_s,
                timings.scores_s
            ),
        ),
    ]);
    if let Some(data) = &document.sources.data {
        for (name, array) in [("inputs", &data.inputs), ("outputs", &data.outputs)] {
            let value = format!("{}, digest {}", array.array, array.digest);
            lines.push(Fact { name: name.to_owned(), value });
        }
    }
    lines.extend(origin.fact());
    lines
}

/// What the script works on.
fn explorer(model: &ScoredModel<'_>, facts: &PageFacts, weakest: &[u32]) -> Result<Explorer> {
    let report = model.report;
    let samples = report.graphs.nodes();
    let labels = model.samples.labels.and_then(ExplorerLabels::of);
    let mut rankings = vec![ranked(report.node_scores.scores())];
    rankings.extend(model.columns.fragility.map(ranked));
    let filters = Filters { labels: labels.as_ref(), wrong: wrong(model), rankings };
    let mut must: Vec<u32> = weakest.to_vec();
    must.extend(facts.pairs.iter().flat_map(|pair| [pair.edge.p, pair.edge.q]));
    must.extend(examples(&facts.cut, model).into_iter().flatten());
    let probe = model.document.facts.probe.as_ref();
    must.extend(probe.iter().flat_map(|probe| &probe.top_changed).map(|sample| sample.index as u32));
    must.extend(filters.samples());
    let choose = |most| chosen(must.iter().copied(), samples, most);
    let (pictures, rows) = pictures_or_rows(model.samples.inputs.as_ref(), &model.samples, choose)?;
    let predicted = model.columns.predicted.zip(model.samples.labels);
    Ok(Explorer {
        samples,
        ids: model.samples.ids.map(<[String]>::to_vec),
        galleries: GALLERIES,
        colors: &crate::charts::CATEGORIES,
        models: vec![ExplorerModel::new(
            "model",
            report.node_scores.scores(),
            model.columns,
            predicted.and_then(|(ids, labels)| ExplorerPredictions::of(ids, labels)),
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
        variants: ExplorerVariants::of(
            model.samples.variants,
            model.samples.inputs.as_ref(),
            model.samples.labels,
            ColumnNames(model.samples.columns),
        )?,
        pictures,
        rows,
        labels,
    })
}
