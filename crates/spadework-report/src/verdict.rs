//! The answer of a page in a few sentences: how robust is this model, how sure is that, and what to look at.
//!
//! The best number that a result has leads: the estimated robust accuracy where the model was probed, otherwise accuracy and
//! neighborhood overlap. The SPADE score comes last, because between networks it follows attacks poorly.

use spadework_document::estimates::ShareDocument;
use spadework_document::facts::FactsDocument;
use spadework_document::probe::{OutputChangeDocument, ProbeDocument};
use spadework_document::score::ScoreDocument;
use spadework_probe::{Probe, ProbeNorm};

use crate::charts::short;
use crate::page::{Headline, percent, short_percent};

/// The answer, what it rests on, and what would say more.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) sentence: String,
    pub(crate) limits: Vec<String>,
}

impl Verdict {
    pub(crate) fn of(document: &ScoreDocument) -> Self {
        match (&document.facts.probe, &document.facts.output_change) {
            (Some(probe), _) => {
                Self { sentence: probed(probe, document.facts.accuracy), limits: limits_of_probes(probe) }
            }
            (None, Some(change)) => Self { sentence: moved(change), limits: limits_of_changes(change) },
            (None, None) => Self { sentence: unprobed(document), limits: limits_without_probes(document) },
        }
    }
}

/// The 95 % interval of a share of so many samples.
pub(crate) fn share_interval(share: f64, samples: usize) -> Option<(f64, f64)> {
    ShareDocument::of_part(share, samples).map(|share| (share.lower, share.upper))
}

/// The interval of the estimated robust accuracy: that of the document, which knows how far the search came; of the samples alone
/// where an older document has none.
fn estimated_interval(probe: &ProbeDocument, robust: f64) -> Option<(f64, f64)> {
    let known = probe.estimate.as_ref().map(|estimate| (estimate.lower, estimate.upper));
    known.or_else(|| share_interval(robust, probe.samples))
}

fn estimated_range(probe: &ProbeDocument, robust: f64) -> String {
    estimated_interval(probe, robust).map_or_else(String::new, |(low, high)| written_range(low, high))
}

/// `38.0 – 48.1 %`.
pub(crate) fn share_range(share: f64, samples: usize) -> String {
    share_interval(share, samples).map_or_else(String::new, |(low, high)| written_range(low, high))
}

/// The ends of an interval in percent.
pub(crate) fn written_range(low: f64, high: f64) -> String {
    format!("{} – {} %", short_percent(low), short_percent(high))
}

/// The perturbations in words: what an attacker may do.
pub(crate) fn attack(probe: &str) -> String {
    match probe.parse::<Probe>() {
        Ok(probe) => match probe.norm() {
            ProbeNorm::Linf => format!("changes of at most {} per number (L∞)", short(probe.radius())),
            ProbeNorm::L2 => format!("changes of at most {} in length (L2)", short(probe.radius())),
        },
        Err(_) => format!("changes of the kind {probe}"),
    }
}

/// The short form for headings.
fn attack_name(probe: &str) -> String {
    match probe.parse::<Probe>() {
        Ok(probe) => match probe.norm() {
            ProbeNorm::Linf => format!("L∞ {}", short(probe.radius())),
            ProbeNorm::L2 => format!("L2 {}", short(probe.radius())),
        },
        Err(_) => probe.to_owned(),
    }
}

/// How much of what is right stays right, in the words of the command.
fn word(left: f64) -> &'static str {
    match left {
        part if part >= 0.9 => "Holds",
        part if part >= 0.5 => "Breaks in part",
        _ => "Breaks easily",
    }
}

/// `accuracy` is that of all samples, of which some were probed.
fn probed(probe: &ProbeDocument, accuracy: Option<f64>) -> String {
    let leaves = attack(&probe.probe);
    // What is left is compared with what these samples had.
    let left = |robust: f64| robust / probe.accuracy.unwrap_or(1.0).max(f64::MIN_POSITIVE);
    match (probe.robust_accuracy, accuracy.or(probe.accuracy)) {
        (Some(robust), Some(accuracy)) => format!(
            "{}: it classifies {} correctly, and under attack by {leaves} about {} ({}).",
            word(left(robust)),
            percent(accuracy),
            percent(robust),
            estimated_range(probe, robust)
        ),
        (Some(robust), None) => format!(
            "{}: about {} ({}) of the samples keep their class under attack by {leaves}.",
            word(robust),
            percent(robust),
            estimated_range(probe, robust)
        ),
        (None, accuracy) => {
            let right = accuracy
                .map_or_else(String::new, |part| format!("It classifies {} correctly. ", percent(part)));
            format!(
                "{right}{} ({}) survive random {leaves}. An attack looks for the worst change, and leaves fewer.",
                percent(probe.survived),
                share_range(probe.survived, probe.samples)
            )
        }
    }
}

fn limits_of_probes(probe: &ProbeDocument) -> Vec<String> {
    let mut limits = vec![format!(
        "Measured on {} with up to {} probes each ({} runs of the model). The ranges are 95 % intervals; that of \
         the estimate covers the choice of samples and what a longer search would find.",
        counted(probe.samples, "sample"),
        grouped(probe.probes),
        grouped(probe.evaluations as usize)
    )];
    if probe.robust_accuracy.is_some() {
        limits.push(format!(
            "{} survived every probe: no attack of this kind and size leaves more than that. The estimate says what a stronger \
             search would leave.",
            percent(probe.survived)
        ));
    }
    limits.push("This is true for this kind and size of change, on samples like these.".to_owned());
    limits
}

/// A regressor: how far its outputs were moved.
fn moved(change: &OutputChangeDocument) -> String {
    let unit = change.unit.word();
    format!(
        "Under attack by {}, its predictions move by {} standard deviations of the {unit} in the median, and by less than {} for 95 % of \
         the samples.",
        attack(&change.probe),
        short(change.median),
        short(change.p95)
    )
}

fn limits_of_changes(change: &OutputChangeDocument) -> Vec<String> {
    vec![
        format!(
            "Measured on {} with {} probes each ({} runs of the model); one standard deviation of the {} is {}.",
            counted(change.samples, "sample"),
            grouped(change.probes),
            grouped(change.evaluations as usize),
            change.unit.word(),
            short(change.spread)
        ),
        "Each change is the largest that the search found: an attack can move the predictions at least as far.".to_owned(),
        "This is true for this kind and size of change, on samples like these.".to_owned(),
    ]
}

fn unprobed(document: &ScoreDocument) -> String {
    let facts = &document.facts;
    let overlap = facts.overlap.map(|part| {
        format!("{} of the neighbors at the input are still neighbors at the output", percent(part))
    });
    let accuracy = facts.accuracy.map(|part| {
        format!(
            "it classifies {} of {} samples correctly ({})",
            percent(part),
            grouped(document.samples),
            share_range(part, document.samples)
        )
    });
    match (accuracy, overlap) {
        (Some(accuracy), Some(overlap)) => format!("Not tested against attacks: {accuracy}, and {overlap}."),
        (Some(only), None) | (None, Some(only)) => format!("Not tested against attacks: {only}."),
        (None, None) => format!(
            "Not tested against attacks: the SPADE score is {}, and nothing else is known.",
            short(document.spectrum.model_score)
        ),
    }
}

fn limits_without_probes(document: &ScoreDocument) -> Vec<String> {
    let mut limits = Vec::new();
    if document.facts.overlap.is_some() {
        limits.push(
            "Overlap compares models on the same samples with the same k: more overlap goes with more robustness. One value by \
             itself says little."
                .to_owned(),
        );
    }
    limits.push(match &document.sources.model {
        Some(_) => "To estimate the accuracy under attack, add --probe linf:EPS to the command.".to_owned(),
        None => "No model was run, so this says nothing about a given attack. With an ONNX file: --model FILE --probe linf:EPS."
            .to_owned(),
    });
    limits
}

/// The numbers of a model, best evidence first.
pub(crate) fn headlines(document: &ScoreDocument, permuted: Option<f64>) -> Vec<Headline> {
    let facts = &document.facts;
    let mut lines: Vec<Headline> = Vec::new();
    if let Some(probe) = &facts.probe {
        lines.extend(of_probe(probe));
    }
    lines.extend(facts.output_change.as_ref().map(of_change));
    if let Some(accuracy) = facts.accuracy {
        let note = format!("of {} classified correctly", counted(document.samples, "sample"));
        lines.insert(0, share("accuracy".to_owned(), accuracy, document.samples, note));
    }
    if let Some(overlap) = facts.overlap {
        let interval = facts.estimates.overlap.map(|share| (share.lower, share.upper));
        lines.push(Headline {
            is_minor: facts.probe.is_some() || facts.output_change.is_some(),
            range: interval.map_or_else(String::new, |(low, high)| written_range(low, high)),
            bar: bar(overlap, interval),
            note: "of input neighbors stay neighbors; larger is more robust".to_owned(),
            ..share("neighborhood overlap".to_owned(), overlap, 0, String::new())
        });
    }
    let is_all = lines.is_empty();
    lines.push(spade_score(document, facts, permuted, !is_all));
    lines
}

fn of_probe(probe: &ProbeDocument) -> Vec<Headline> {
    let name = attack_name(&probe.probe);
    let survived = share(
        format!("survived every probe, {name}"),
        probe.survived,
        probe.samples,
        "an upper bound of the accuracy under attack".to_owned(),
    );
    match probe.robust_accuracy {
        Some(robust) => {
            let note = format!("estimated robust accuracy, {}", counted(probe.samples, "sample"));
            let interval = estimated_interval(probe, robust);
            let estimate = share_within(format!("under attack, {name}"), robust, interval, note);
            vec![estimate, Headline { is_minor: true, ..survived }]
        }
        None => vec![survived],
    }
}

/// The change of a regressor's outputs: a number in units, not a share.
fn of_change(change: &OutputChangeDocument) -> Headline {
    Headline {
        name: format!("change of output, {}", attack_name(&change.probe)),
        value: short(change.median),
        range: format!("95 % below {}", short(change.p95)),
        bar: String::new(),
        note: format!(
            "median of the largest change found, in standard deviations of the {}, {}; smaller is more robust",
            change.unit.word(),
            counted(change.samples, "sample")
        ),
        is_minor: false,
    }
}

fn spade_score(
    document: &ScoreDocument,
    facts: &FactsDocument,
    permuted: Option<f64>,
    is_minor: bool,
) -> Headline {
    let range =
        facts.interval.map(|interval| format!("{} – {}", short(interval.lower), short(interval.upper)));
    let baseline = permuted.map_or_else(String::new, |score| format!("; permuted baseline {}", short(score)));
    Headline {
        name: "SPADE score λ₁".to_owned(),
        value: short(document.spectrum.model_score),
        range: range.unwrap_or_default(),
        bar: String::new(),
        note: format!("larger stretches the data more; the identity scores 1{baseline}"),
        is_minor,
    }
}

/// A share as a headline; its interval where the number of samples is known.
fn share(name: String, part: f64, samples: usize, note: String) -> Headline {
    share_within(name, part, share_interval(part, samples), note)
}

/// A share as a headline, with the interval that belongs to it.
fn share_within(name: String, part: f64, interval: Option<(f64, f64)>, note: String) -> Headline {
    Headline {
        name,
        value: percent(part),
        range: interval.map_or_else(String::new, |(low, high)| written_range(low, high)),
        bar: bar(part, interval),
        note,
        is_minor: false,
    }
}

/// From 0 to 100 %, with the interval above.
fn bar(part: f64, interval: Option<(f64, f64)>) -> String {
    let whisker = interval.map_or_else(String::new, |(low, high)| {
        format!("<path class=\"interval\" d=\"M{:.2} 5H{:.2}\"/>", 100.0 * low, 100.0 * high)
    });
    format!(
        "<svg class=\"share\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rest\" \
         width=\"100\" height=\"10\"/><rect class=\"bar\" width=\"{:.2}\" height=\"10\"/>{whisker}</svg>",
        100.0 * part
    )
}

/// `1 sample`, `10,000 samples`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `10,000` rather than `10000`.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut written = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.binomtest(43, 100).proportion_ci(method="wilson"), and of (0, 50) and (50, 50).
    #[test]
    fn intervals_are_those_of_wilson() {
        let near = |got: Option<(f64, f64)>, (low, high): (f64, f64)| {
            let got = got.unwrap();
            assert!((got.0 - low).abs() < 1e-12 && (got.1 - high).abs() < 1e-12, "{got:?}");
        };
        near(share_interval(0.43, 100), (0.337_332_985_241_101_1, 0.527_846_104_507_876_8));
        near(share_interval(0.0, 50), (0.0, 0.071_347_599_133_358_72));
        near(share_interval(1.0, 50), (0.928_652_400_866_641_2, 1.0));
        assert_eq!(share_interval(0.5, 0), None);
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!([7, 999, 1000, 1_234_567].map(grouped), ["7", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn attacks_are_said_in_words() {
        assert_eq!(attack("linf:0.1:search"), "changes of at most 0.1 per number (L∞)");
        assert_eq!(attack("l2:0.5:pixel"), "changes of at most 0.5 in length (L2)");
        assert_eq!(attack_name("linf:0.03137254901960784:search"), "L∞ 0.0314");
    }

    #[test]
    fn the_word_follows_what_is_left() {
        assert_eq!([0.95, 0.6, 0.1].map(word), ["Holds", "Breaks in part", "Breaks easily"]);
    }
}
