//! The answer in a few sentences: how robust is this model, how sure is that, and what would give better evidence.
//!
//! The command, pages and notebooks show what is written here. The best evidence that a result has leads: the estimated robust
//! accuracy where the model was probed, otherwise accuracy and neighborhood overlap. The SPADE score comes last, because between
//! networks it tracks accuracy under attack poorly.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::estimates::ShareDocument;
use crate::probe::{OutputChangeDocument, ProbeDocument, ProbeEstimateDocument};
use crate::score::ScoreDocument;
use crate::variants::VariantsDocument;
use crate::words::{counted, grouped, percent, share_with_range, short};

/// The part of what a model gets right that an attack leaves, from which on it holds.
const HOLDS: f64 = 0.9;
/// The same from which on it breaks in part only.
const IN_PART: f64 = 0.5;

/// The answer of a result in sentences.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictDocument {
    /// How robust the model is, by the best evidence that the result has.
    pub sentence: String,
    /// What the verdict rests on, and its limits.
    pub limits: Vec<String>,
    /// What would give better evidence; absent if nothing would.
    pub next_step: Option<String>,
}

impl VerdictDocument {
    /// The answer of a result; `next_step` says, in the words of the caller's front end, how to search for the worst change where no
    /// search was made.
    pub fn of(document: &ScoreDocument, next_step: Option<&str>) -> Self {
        let facts = &document.facts;
        let tried = |sentence, limits| Self { sentence, limits, next_step: None };
        let next_step = next_step.map(str::to_owned);
        if let Some(probe) = &facts.probe {
            let next_step = if is_noise(probe) { next_step } else { None };
            return Self { next_step, ..tried(probed(probe, facts.accuracy), limits_of_probes(probe)) };
        }
        if let Some(change) = &facts.output_change {
            return tried(moved(change), limits_of_changes(change));
        }
        if let Some(variants) = &facts.variants {
            return tried(varied(variants), limits_of_variants(variants));
        }
        Self { sentence: untried(document), limits: limits_without_probes(document), next_step }
    }
}

/// How much of what is right stays right.
fn word(left: f64) -> &'static str {
    match left {
        part if part >= HOLDS => "Holds",
        part if part >= IN_PART => "Breaks in part",
        _ => "Breaks easily",
    }
}

/// Whether the probes were random: then nothing was searched, and nothing estimated.
fn is_noise(probe: &ProbeDocument) -> bool {
    probe.robust_accuracy.is_none()
}

const NOTHING_TO_BREAK: &str = "Nothing to break: it gets none of the probed samples right.";

/// `accuracy` is that of all samples, of which some were probed.
fn probed(probe: &ProbeDocument, accuracy: Option<f64>) -> String {
    let leaves = probe.attack();
    if probe.accuracy == Some(0.0) {
        return NOTHING_TO_BREAK.to_owned();
    }
    // What is left is compared with what these samples had.
    let left = |robust: f64| robust / probe.accuracy.unwrap_or(1.0);
    match (probe.robust_accuracy, accuracy.or(probe.accuracy)) {
        (Some(robust), Some(accuracy)) => format!(
            "{}: it classifies {} correctly, and about {} under attack by {leaves}.",
            word(left(robust)),
            percent(accuracy),
            estimated(probe, robust)
        ),
        (Some(robust), None) => format!(
            "{}: about {} of the samples keep their class under attack by {leaves}.",
            word(robust),
            estimated(probe, robust)
        ),
        (None, accuracy) => {
            let right = accuracy
                .map_or_else(String::new, |part| format!("It classifies {} correctly. ", percent(part)));
            format!(
                "{right}{} survive random {leaves}. An attack looks for the worst change, and leaves fewer.",
                share(probe.survived, probe.samples)
            )
        }
    }
}

fn limits_of_probes(probe: &ProbeDocument) -> Vec<String> {
    let of_the_estimate = if is_noise(probe) {
        ""
    } else {
        "; that of the estimate covers the choice of samples and what a longer search would find"
    };
    let mut limits = vec![format!(
        "Measured on {} with {} ({} runs of the model). The ranges are 95 % intervals{of_the_estimate}.",
        counted(probe.samples, "sample"),
        probe.probes_each(),
        grouped(probe.evaluations as usize)
    )];
    if is_noise(probe) {
        limits.push(drawn_at_random("probes"));
    } else {
        limits.push(format!(
            "{} survived every probe: no attack of this kind and size leaves more than that. The estimate says what a stronger \
             search would leave.",
            percent(probe.survived)
        ));
    }
    limits.push(FOR_SUCH_CHANGES.to_owned());
    limits
}

fn drawn_at_random(what: &str) -> String {
    format!("These {what} are drawn at random: an attack that looks for the worst one leaves fewer.")
}

const FOR_SUCH_CHANGES: &str = "This is true for this kind and size of change, on samples like these.";

/// A regressor: how far its outputs were moved.
fn moved(change: &OutputChangeDocument) -> String {
    let unit = change.unit.word();
    format!(
        "Under attack by {}, its predictions move by {} standard deviations of the {unit} in the median, and by less than {} for 95 % of \
         the samples.",
        change.attack(),
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
        FOR_SUCH_CHANGES.to_owned(),
    ]
}

/// Variants that a program of the user's made.
fn varied(found: &VariantsDocument) -> String {
    if found.accuracy == Some(0.0) {
        return NOTHING_TO_BREAK.to_owned();
    }
    let stay = if found.accuracy.is_some() { "stay right" } else { "keep their class" };
    let left = found.survived.estimate / found.accuracy.unwrap_or(1.0);
    format!(
        "{}: {} of the samples {stay} on every variant that {} makes, and a variant keeps the class in {} of cases.",
        word(left),
        share_with_range(&found.survived),
        found.script,
        percent(found.kept.estimate)
    )
}

fn limits_of_variants(found: &VariantsDocument) -> Vec<String> {
    vec![
        format!(
            "Measured on {} with {} each ({} runs of the model).",
            counted(found.samples, "sample"),
            counted(found.variants, "variant"),
            grouped(found.evaluations as usize)
        ),
        drawn_at_random("variants"),
        FOR_SUCH_CHANGES.to_owned(),
    ]
}

fn untried(document: &ScoreDocument) -> String {
    let facts = &document.facts;
    let overlap = facts.overlap.map(|part| {
        let known = facts.estimates.overlap.as_ref();
        let share = known.map_or_else(|| percent(part), share_with_range);
        format!("{share} of the neighbors at the input are still neighbors at the output")
    });
    let accuracy = facts.accuracy.map(|part| {
        let (share, samples) = (share(part, document.samples), grouped(document.samples));
        format!("it classifies {share} of {samples} samples correctly")
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
    let limit = "Overlap compares models on the same samples with the same k: more overlap goes with more robustness. One value by \
                 itself says little.";
    document.facts.overlap.map(|_| limit.to_owned()).into_iter().collect()
}

/// The estimated robust accuracy with its interval: that of the document, which knows how far the search came; of the samples alone
/// where an older document has none.
fn estimated(probe: &ProbeDocument, robust: f64) -> String {
    match probe.estimate {
        Some(ProbeEstimateDocument { estimate, lower, upper, n, .. }) => {
            share_with_range(&ShareDocument { estimate, lower, upper, n, queries: None })
        }
        None => share(robust, probe.samples),
    }
}

/// A share of so many samples with its 95 % interval.
fn share(part: f64, samples: usize) -> String {
    ShareDocument::of_part(part, samples).map_or_else(|| percent(part), |share| share_with_range(&share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::SpreadOf;

    fn probe(accuracy: Option<f64>, robust: Option<f64>) -> ProbeDocument {
        ProbeDocument {
            probe: "linf:0.1:search".to_owned(),
            probes: 800,
            samples: 1000,
            evaluations: 123_456,
            radii: None,
            categories: None,
            seed: 0,
            accuracy,
            survived: 0.61,
            robust_accuracy: robust,
            estimate: robust.map(|estimate| ProbeEstimateDocument {
                estimate,
                lower: 0.38,
                upper: 0.48,
                n: 1000,
                queries: 123.0,
            }),
            stability: 0.5,
            margin_ratio: None,
            changed: 0,
            top_changed: Vec::new(),
            weakest: Vec::new(),
        }
    }

    #[test]
    fn the_word_follows_what_is_left() {
        assert_eq!([0.95, 0.6, 0.1].map(word), ["Holds", "Breaks in part", "Breaks easily"]);
    }

    #[test]
    fn a_sentence_leads_with_what_is_left_under_attack() {
        assert_eq!(
            probed(&probe(Some(0.99), Some(0.43)), Some(0.992)),
            "Breaks easily: it classifies 99.2 % correctly, and about 43 % (38 – 48) under attack by changes of at most 0.1 \
             per number (L∞)."
        );
        let of_columns = ProbeDocument { radii: Some(vec![1.0, 0.01]), ..probe(None, Some(0.43)) };
        let words = "under attack by changes of at most 0.1 times the radius of each column (L∞).";
        assert!(probed(&of_columns, None).ends_with(words));
        let unlabeled = probed(&probe(None, Some(0.43)), None);
        assert!(
            unlabeled.starts_with("Breaks easily: about 43 % (38 – 48) of the samples keep"),
            "{unlabeled}"
        );
        assert!(probed(&probe(Some(0.0), Some(0.0)), Some(0.0)).starts_with("Nothing to break"));
        let noise = probed(&probe(Some(0.99), None), Some(0.99));
        assert!(
            noise.starts_with("It classifies 99.0 % correctly. 61 % (58 – 64) survive random"),
            "{noise}"
        );
    }

    /// Noise estimates nothing: its limits speak of no estimate, and a search would be better evidence.
    #[test]
    fn noise_has_no_estimate_and_a_next_step() {
        let noise = limits_of_probes(&probe(Some(0.99), None)).join(" ");
        assert!(!noise.contains("estimate") && !noise.contains("longer search"), "{noise}");
        assert!(noise.contains("an attack that looks for the worst one leaves fewer"), "{noise}");
        let search = limits_of_probes(&probe(Some(0.99), Some(0.43))).join(" ");
        assert!(search.contains("that of the estimate covers") && search.contains("up to 800"), "{search}");
    }

    #[test]
    fn variants_of_a_model_that_is_always_wrong_break_nothing() {
        let share = |estimate| ShareDocument { estimate, lower: 0.0, upper: 1.0, n: 10, queries: None };
        let variants = |accuracy, survived| VariantsDocument {
            script: "typos.py".to_owned(),
            variants: 20,
            stopped_early: false,
            samples: 10,
            evaluations: 210,
            seed: 0,
            accuracy,
            kept: share(0.5),
            survived: share(survived),
            changed: 0,
            top_changed: Vec::new(),
        };
        assert!(varied(&variants(Some(0.0), 0.0)).starts_with("Nothing to break"));
        // Compared with what was right before.
        assert!(varied(&variants(Some(0.5), 0.46)).starts_with("Holds"));
        assert!(varied(&variants(None, 0.46)).starts_with("Breaks easily"));
    }

    #[test]
    fn changes_of_a_regressor_have_their_unit() {
        let change = OutputChangeDocument {
            probe: "linf:0.1:search".to_owned(),
            probes: 100,
            samples: 50,
            evaluations: 5000,
            radii: None,
            categories: Some(vec![0, 1, 1]),
            seed: 0,
            spread: 77.0,
            unit: SpreadOf::Targets,
            median: 0.25,
            p95: 0.5,
            top: Vec::new(),
        };
        let said = moved(&change);
        assert!(
            said.contains("0.25 standard deviations of the targets") && said.contains("less than 0.5"),
            "{said}"
        );
        assert!(
            said.starts_with("Under attack by changes of at most 0.1 per number (L∞) and other categories, ")
        );
        assert!(limits_of_changes(&change)[0].ends_with("one standard deviation of the targets is 77."));
    }
}
