//! The page of many models on one input graph.

use askama::Template;
use spadework::Monitor;
use spadework::eigen::{EigenParams, EigenProblem};
use spadework::pipeline::Comparison;
use spadework_document::SpectrumDocument;
use spadework_document::comparison::{AgreementDocument, CompareDocument, ModelDocument};
use spadework_document::estimates::ShareDocument;
use spadework_document::words::{counted, grouped, percent, percent_range, points, short};

use crate::charts::{CATEGORIES, Chart, Estimate, intervals};
use crate::error::Result;
use crate::evidence::{self, ANSWERS, Answer, ProbeStory, evidence_table};
use crate::explorer::{
    Explorer, ExplorerLabels, ExplorerModel, ExplorerPredictions, ExplorerView, GALLERIES, chosen,
    pictures_or_rows, ranked,
};
use crate::page::{Figure, Frame, Table, TableCell, filled};
use crate::page_facts::plane;
use crate::provenance::{Fact, Origin, facts, graphs_made, joined};
use crate::{PageSamples, SampleColumns, packed};

/// Compared models and what they were compared on.
#[derive(Debug, Clone, Copy)]
pub struct ComparedModels<'a> {
    /// The result as it is written.
    pub document: &'a CompareDocument,
    /// The result as it was computed.
    pub comparison: &'a Comparison,
    /// More numbers about the samples for every model, in the order of the comparison, if they are known.
    pub columns: &'a [SampleColumns<'a>],
    /// The samples, and how the page shows them.
    pub samples: PageSamples<'a>,
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

/// The page of a comparison whose arrays are gone, from its document.
///
/// # Errors
/// When the template fails, which would be our mistake.
pub fn comparison_page_of_document(document: &CompareDocument, origin: &Origin, why: &str) -> Result<String> {
    filled(&page(document, None, origin, Some(why.to_owned())))
}

/// By what the models are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RankedBy {
    RobustAccuracy,
    Unevenness,
    Overlap,
    Score,
}

impl RankedBy {
    fn of(document: &CompareDocument) -> Self {
        match document.ranked_by.as_str() {
            "robust-accuracy" => Self::RobustAccuracy,
            "unevenness" => Self::Unevenness,
            "overlap" => Self::Overlap,
            _ => Self::Score,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::RobustAccuracy => "estimated robust accuracy",
            Self::Unevenness => "unevenness",
            Self::Overlap => "neighborhood overlap",
            Self::Score => "SPADE score",
        }
    }

    /// The value in words, with its interval where it has one.
    fn written(self, model: &ModelDocument) -> String {
        let estimates = &model.facts.estimates;
        let share = match self {
            Self::RobustAccuracy => estimates.robust_accuracy,
            Self::Overlap => estimates.overlap,
            Self::Unevenness | Self::Score => None,
        };
        match share {
            None if self == Self::Unevenness => estimates.unevenness.map_or_else(String::new, |found| {
                format!("{} ({} – {})", short(found.estimate), short(found.lower), short(found.upper))
            }),
            Some(share) => {
                format!("{} ({})", percent(share.estimate), percent_range(share.lower, share.upper))
            }
            None => short(model.spectrum.model_score),
        }
    }
}

/// The rank of a model; those of documents from before there were shared ranks are their places.
fn rank(at: usize, model: &ModelDocument) -> usize {
    if model.rank > 0 { model.rank } else { at + 1 }
}

/// The figures of a comparison: one number each, on its own scale, best evidence first, models in the same order in all.
pub fn comparison_charts(document: &CompareDocument) -> Vec<Chart> {
    let models: Vec<&ModelDocument> = document.models.iter().collect();
    let share = |share: ShareDocument| Share {
        value: 100.0 * share.estimate,
        range: Some((100.0 * share.lower, 100.0 * share.upper)),
    };
    let robust = |model: &ModelDocument| model.facts.estimates.robust_accuracy.map(share);
    let survived = |model: &ModelDocument| model.facts.estimates.survived.map(share);
    let accuracy = |model: &ModelDocument| model.facts.estimates.accuracy.map(share);
    let overlap = |model: &ModelDocument| model.facts.estimates.overlap.map(share);
    let unevenness = |model: &ModelDocument| {
        let ShareDocument { estimate, lower, upper, .. } = model.facts.estimates.unevenness?;
        Some(Share { value: estimate, range: Some((lower, upper)) })
    };
    let score = |model: &ModelDocument| {
        let range = model.facts.interval.map(|interval| (interval.lower, interval.upper));
        Some(Share { value: model.spectrum.model_score, range })
    };
    let probe = models.iter().find_map(|model| model.facts.probe.as_ref());
    let attack = probe.map_or_else(String::new, |probe| format!(": {}", probe.attack()));
    let unit = models.iter().find_map(|model| Some(model.facts.output_change.as_ref()?.unit.word()));
    let moved = format!(
        "Median change of output under probes, in standard deviations of the {}; smaller is more robust",
        unit.unwrap_or_default()
    );
    let change = |model: &ModelDocument| {
        let found = model.facts.output_change.as_ref()?;
        Some(Share { value: found.median, range: None })
    };
    let under_attack = format!("Estimated robust accuracy{attack}");
    [
        chart("robust_accuracy", &under_attack, "percent", &models, &robust),
        chart("survived", "Survived every probe, an upper bound", "percent", &models, &survived),
        chart("change_of_output", &moved, "standard deviations", &models, &change),
        chart("accuracy", "Accuracy without attack", "percent", &models, &accuracy),
        chart("unevenness", "Unevenness; smaller is more robust", "unevenness", &models, &unevenness),
        chart("overlap", "Neighborhood overlap; larger is more robust", "percent", &models, &overlap),
        chart(
            "models",
            "SPADE score λ₁; larger if the model stretches the data more",
            "SPADE score",
            &models,
            &score,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A number of a model and its interval.
struct Share {
    value: f64,
    range: Option<(f64, f64)>,
}

/// A chart of a number, where it is known of every model.
fn chart(
    name: &'static str,
    title: &str,
    along: &str,
    models: &[&ModelDocument],
    of: &dyn Fn(&ModelDocument) -> Option<Share>,
) -> Option<Chart> {
    let row = |model: &&ModelDocument| {
        let Share { value, range } = of(model)?;
        Some(Estimate { name: model.name.clone(), value, range })
    };
    let rows: Vec<Estimate> = models.iter().map(row).collect::<Option<_>>()?;
    Some(intervals(name, title, along, &rows))
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    frame: Frame,
    verdict: String,
    limits: Vec<String>,
    models: Table,
    differences: Table,
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
    let title = origin.title.clone().unwrap_or_else(|| format!("{} models compared", document.models.len()));
    let has_samples = missing.is_none();
    let contents = [
        ("verdict", "Verdict", true),
        ("models", "Models", true),
        ("explorer", "Map", has_samples),
        ("changed", "Changed samples", has_samples),
        ("agreement", "Agreement", true),
        ("provenance", "Provenance", true),
    ];
    let inputs = origin.inputs.as_ref().or(document.data.as_ref().map(|data| &data.inputs.array));
    let of = inputs.map_or_else(String::new, |inputs| format!(" of {inputs}"));
    let frame = Frame::new(title, provenance(document, origin), &document.made.version)
        .with_subtitle(format!("{} samples{of}", grouped(document.settings.samples)))
        .with_contents(&contents)
        .with_notes(&document.made.notes)
        .with_explorer(explorer);
    ComparisonPage {
        frame,
        verdict: verdict(document),
        limits: limits(document),
        models: models_table(document).without_empty_columns(),
        differences: differences_table(document).without_empty_columns(),
        evidence: evidence_table(&document.models.iter().map(|model| &model.facts).collect::<Vec<_>>()),
        answers: &ANSWERS,
        probes: probe_lines(document),
        agreement: agreement_table(&document.agreement).without_empty_columns(),
        charts: comparison_charts(document).iter().map(Figure::new).collect(),
        names: document.models.iter().map(|model| model.name.clone()).collect(),
        missing,
    }
}

/// Which attacks were tried on models that are not ranked by them, and what would give better evidence.
pub fn attacks_tried(document: &CompareDocument) -> String {
    let models = &document.models;
    let names = |is: fn(&ModelDocument) -> bool| -> Vec<&str> {
        models.iter().filter(|model| is(model)).map(|model| model.name.as_str()).collect()
    };
    let (moved, probed) = (
        names(|model| model.facts.output_change.is_some()),
        names(|model| model.facts.probe.is_some() || model.facts.output_change.is_some()),
    );
    let alone = names(|model| model.file.is_none());
    if !moved.is_empty() && moved.len() == models.len() {
        return "Probes moved the outputs: the change of output says how far; smaller is more robust."
            .to_owned();
    }
    if alone.len() == models.len() {
        return "No model was run, so this says nothing about a given attack. With ONNX files: --model NAME=net.onnx --probe linf:EPS"
            .to_owned();
    }
    if !alone.is_empty() {
        let given = format!(
            "{} by {} alone",
            is_given(&alone),
            if alone.len() == 1 { "its outputs" } else { "their outputs" }
        );
        let tried =
            if probed.is_empty() { "No attack was tried" } else { "Only some of the models were probed" };
        return format!(
            "{tried}: {given}. To rank all of them by accuracy under attack, pass ONNX files: --model NAME=net.onnx --probe \
             linf:EPS"
        );
    }
    if probed.is_empty() {
        return "No attack was tried. Pass --probe linf:EPS (e.g. linf:8/255) to estimate accuracy under attack.".to_owned();
    }
    "Random probes are weaker than an attack. Pass --probe linf:EPS, which searches, to estimate accuracy under attack.".to_owned()
}

/// `a is given`, `a and b are given`.
fn is_given(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "is given" } else { "are given" };
    format!("{} {verb}", joined(names.iter().map(|name| format!("“{name}”"))))
}

/// The ranking in a sentence.
fn verdict(document: &CompareDocument) -> String {
    let ranked_by = RankedBy::of(document);
    let models = &document.models;
    let (Some(best), Some(worst)) = (models.first(), models.last()) else { return String::new() };
    let across: Vec<&str> = document
        .alike_across_ranks()
        .filter(|pair| pair.a == best.name)
        .map(|pair| pair.b.as_str())
        .collect();
    let is_alike = |&(at, model): &(usize, &ModelDocument)| {
        rank(at, model) == rank(0, best) || across.contains(&model.name.as_str())
    };
    let alike = models.iter().enumerate().skip(1).filter(is_alike);
    let alike: Vec<String> = alike.map(|(_, model)| format!("“{}”", model.name)).collect();
    let first = format!("“{}” is the most robust of {} models", best.name, models.len());
    let first = match alike.as_slice() {
        [] => first,
        names => format!("{first}, and cannot be distinguished from {}", names.join(", ")),
    };
    format!(
        "{first}: {} by {}. Last is “{}” with {}.",
        ranked_by.written(best),
        ranked_by.name(),
        worst.name,
        ranked_by.written(worst)
    )
}

/// What the ranking rests on, and what disagrees with it.
fn limits(document: &CompareDocument) -> Vec<String> {
    let ranked_by = RankedBy::of(document);
    let mut limits = Vec::new();
    match ranked_by {
        RankedBy::RobustAccuracy => limits.extend(document.models.iter().find_map(|model| {
            let probe = model.facts.probe.as_ref()?;
            Some(format!(
                "Estimated from {} with {}: {}. Ranges are 95 % intervals: they cover the choice of samples and what a longer search \
                 would find.",
                counted(probe.samples, "sample"),
                probe.probes_each(),
                probe.attack()
            ))
        })),
        RankedBy::Overlap => {
            limits.push(
                "Between different networks, the overlap tracks accuracy under larger attacks only roughly.".to_owned(),
            );
            limits.push(attacks_tried(document));
        }
        RankedBy::Unevenness => {
            limits
                .push("Between different networks, the unevenness tracks accuracy under attack only roughly.".to_owned());
            limits.push(attacks_tried(document));
        }
        RankedBy::Score => {
            limits.push("Only SPADE scores are known, and these track accuracy under attack poorly.".to_owned());
        }
    }
    limits.extend(disagreement(document));
    let doubtful = document.agreement.iter().filter(|pair| {
        let neighbors = document.models.windows(2).any(|two| two[0].name == pair.a && two[1].name == pair.b);
        neighbors && pair.subsamples_in_order.is_some_and(|part| part < 0.9)
    });
    let doubtful: Vec<String> = doubtful.map(|pair| format!("“{}” and “{}”", pair.a, pair.b)).collect();
    if !doubtful.is_empty() {
        limits.push(format!(
            "The SPADE scores of {} cannot be distinguished with half of the samples.",
            doubtful.join("; ")
        ));
    }
    limits.push("All models share one input graph and one k.".to_owned());
    limits
}

/// One line for every number that would order models otherwise.
fn disagreement(document: &CompareDocument) -> impl Iterator<Item = String> {
    let name = |by: &str| match by {
        "robust-accuracy" => "estimated robust accuracy",
        "unevenness" => "unevenness",
        "overlap" => "neighborhood overlap",
        _ => "SPADE score",
    };
    document.disagreement.iter().map(move |other| {
        let [a, b] = &other.first;
        format!(
            "The {} orders {} of {} pairs the other way around, “{a}” and “{b}” among them.",
            name(&other.by),
            other.pairs,
            other.of
        )
    })
}

fn models_table(document: &CompareDocument) -> Table {
    let ranked_by = RankedBy::of(document);
    let row = |(at, model): (usize, &ModelDocument)| {
        let ModelDocument { name, spectrum: SpectrumDocument { model_score, .. }, facts, .. } = model;
        let interval =
            facts.interval.map(|interval| format!("{} – {}", short(interval.lower), short(interval.upper)));
        let permuted = facts.references.map(|references| TableCell::number(references.permuted));
        let mut row = vec![rank(at, model).into(), name.as_str().into()];
        // Best evidence first, as everywhere: the SPADE score comes last.
        row.extend(evidence::row(facts));
        row.push(TableCell::number(*model_score));
        row.push(interval.unwrap_or_default().into());
        row.push(permuted.unwrap_or_default());
        row
    };
    let header = ["rank", "model"].into_iter();
    Table {
        name: "models",
        caption: format!("Models, most robust first by {}", ranked_by.name()),
        header: header
            .chain(evidence::columns())
            .chain(["SPADE score", "95 % interval", "permuted baseline"])
            .collect(),
        rows: document.models.iter().enumerate().map(row).collect(),
    }
}

/// By how much models differ, pair by pair, in the number that ranks them.
fn differences_table(document: &CompareDocument) -> Table {
    let signed = |part: f64| format!("{}{}", if part > 0.0 { "+" } else { "" }, points(part, 1));
    let row = |pair: &AgreementDocument| {
        let found = pair.difference.as_ref();
        let difference = found.map(|found| TableCell {
            text: format!("{} points", signed(found.difference)),
            exact: Some(found.difference),
        });
        let interval = found.map(|found| format!("{} to {}", signed(found.lower), signed(found.upper)));
        let samples = found.map(|found| found.n.into());
        vec![
            pair.a.as_str().into(),
            pair.b.as_str().into(),
            difference.unwrap_or_default(),
            interval.unwrap_or_default().into(),
            found.and_then(|found| found.p).map(TableCell::number).unwrap_or_default(),
            samples.unwrap_or_default(),
            if pair.apart { "yes" } else { "no" }.into(),
        ]
    };
    Table {
        name: "differences",
        caption: format!(
            "The first minus the second, by {}, on the same samples",
            RankedBy::of(document).name()
        ),
        header: vec![
            "model",
            "model",
            "difference",
            "95 % interval",
            "p (McNemar)",
            "samples",
            "distinguishable",
        ],
        rows: document.agreement.iter().map(row).collect(),
    }
}

/// What probes have shown of the models, a sentence each.
fn probe_lines(document: &CompareDocument) -> Vec<String> {
    let line = |model: &ModelDocument| {
        let story = ProbeStory::of_facts(&model.facts, &|index| index.to_string())?;
        Some(format!("“{}”: {}", model.name, story.summary))
    };
    document.models.iter().filter_map(line).collect()
}

fn agreement_table(pairs: &[AgreementDocument]) -> Table {
    let row = |pair: &AgreementDocument| {
        let number = |value: Option<f64>| value.map(TableCell::number).unwrap_or_default();
        vec![
            pair.a.as_str().into(),
            pair.b.as_str().into(),
            TableCell::share(pair.top_shared),
            number(pair.spearman),
            number(pair.kendall),
            pair.subsamples_in_order.map(TableCell::share).unwrap_or_default(),
        ]
    };
    Table {
        name: "agreement",
        caption: "How much two models agree on which samples are fragile".to_owned(),
        header: vec!["model", "model", "most fragile shared", "Spearman", "Kendall", "subsamples in order"],
        rows: pairs.iter().map(row).collect(),
    }
}

fn provenance(document: &CompareDocument, origin: &Origin) -> Vec<Fact> {
    let mut lines = facts([
        ("version", document.made.version.clone()),
        ("schema", document.schema.clone()),
        ("graphs", graphs_made(&document.made.request)),
        (
            "neighbors",
            format!(
                "{} asked for, {} used",
                document.settings.neighbors.requested, document.settings.neighbors.used
            ),
        ),
        ("eigenpairs", document.settings.method.eigenpairs.to_string()),
        ("seed", document.settings.method.seed.to_string()),
        ("input edges", document.input_graph.edges.to_string()),
        ("seconds", format!("{:.3}", document.timings.total_s)),
    ]);
    lines.extend(origin.fact());
    lines
}

/// What the script works on: a view and the scores of every model.
fn explorer(models: &ComparedModels<'_>, monitor: &dyn Monitor) -> Result<Explorer> {
    let labels = models.samples.labels.and_then(ExplorerLabels::of);
    let compared = &models.comparison.models;
    // By fragility where it is known of all models, so that ranks can be compared.
    let by_fragility = (0..compared.len())
        .all(|at| models.columns.get(at).is_some_and(|columns| columns.fragility.is_some()));
    let mut rankings = Vec::with_capacity(compared.len());
    let (mut shown_models, mut views) = (Vec::new(), Vec::new());
    for (at, model) in compared.iter().enumerate() {
        let report = &model.report;
        let mut columns = models.columns.get(at).copied().unwrap_or_default();
        let predicted = columns.predicted.zip(models.samples.labels);
        let predicted = predicted.and_then(|(ids, labels)| ExplorerPredictions::of(ids, labels));
        columns.fragility = columns.fragility.filter(|_| by_fragility);
        rankings.push(ranked(columns.fragility.unwrap_or(report.node_scores.scores())));
        shown_models.push(ExplorerModel::new(&model.name, report.node_scores.scores(), columns, predicted));
        views.push(ExplorerView {
            title: format!("{} (SPADE score {})", model.name, short(report.model_score.0)),
            note: String::new(),
            model: at,
            points: packed::points(&places(report, monitor)?),
        });
    }
    let samples = rankings.first().map_or(0, Vec::len);
    let choose = |most| chosen(galleries(&rankings, most), samples, most);
    let (pictures, rows) = pictures_or_rows(models.samples.inputs.as_ref(), &models.samples, choose)?;
    Ok(Explorer {
        samples,
        ids: models.samples.ids.map(<[String]>::to_vec),
        galleries: GALLERIES,
        colors: &CATEGORIES,
        labels,
        models: shown_models,
        views,
        pictures,
        rows,
        variants: None,
    })
}

/// Every sample that a gallery of changes shows, for any two models, and the most fragile ones of every model; `most` are enough.
fn galleries(rankings: &[Vec<u32>], most: usize) -> Vec<u32> {
    let ranks: Vec<Vec<i64>> = rankings
        .iter()
        .map(|ranking| {
            let mut ranks = vec![0; ranking.len()];
            for (rank, &p) in ranking.iter().enumerate() {
                ranks[p as usize] = rank as i64;
            }
            ranks
        })
        .collect();
    let mut shown = Vec::new();
    // The page begins with the last model and the first.
    for from in (0..ranks.len()).rev() {
        for to in (0..ranks.len()).filter(|&to| to != from) {
            if shown.len() >= 4 * most {
                return shown;
            }
            shown.extend(most_changed(&ranks[from], &ranks[to]));
            shown.extend(most_changed(&ranks[to], &ranks[from]));
        }
    }
    shown.extend(rankings.iter().flat_map(|ranking| ranking.iter().take(GALLERIES.fragile)).copied());
    shown
}

/// The samples that come most forward from one ranking to another, as the script finds them.
fn most_changed(from: &[i64], to: &[i64]) -> Vec<u32> {
    let change = |p: u32| from[p as usize] - to[p as usize];
    let mut changed: Vec<u32> = (0..from.len() as u32).filter(|&p| change(p) > 0).collect();
    let order = |a: &u32, b: &u32| change(*b).cmp(&change(*a)).then(a.cmp(b));
    if changed.len() > GALLERIES.changed {
        changed.select_nth_unstable_by(GALLERIES.changed, order);
        changed.truncate(GALLERIES.changed);
    }
    changed.sort_by(order);
    changed
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A sort of everything is the oracle of the selection.
    #[test]
    fn the_most_changed_samples_are_found() {
        let from: Vec<i64> = (0..200).map(|p| p * 37 % 200).collect();
        let to: Vec<i64> = (0..200).map(|p| p * 91 % 199).collect();
        let mut sorted: Vec<u32> = (0..200).filter(|&p| from[p as usize] > to[p as usize]).collect();
        sorted.sort_by_key(|&p| (to[p as usize] - from[p as usize], p));
        sorted.truncate(GALLERIES.changed);
        assert_eq!(most_changed(&from, &to), sorted);
        assert_eq!(most_changed(&[0, 1], &[1, 0]), [1]);
    }
}
