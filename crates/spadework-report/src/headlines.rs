//! The numbers of a model at the head of its page, best evidence first. The sentence above them is the document's own
//! ([`spadework_document::verdict`]).

use spadework_document::estimates::ShareDocument;
use spadework_document::facts::FactsDocument;
use spadework_document::probe::{OutputChangeDocument, ProbeDocument};
use spadework_document::score::ScoreDocument;
use spadework_document::words::{attack_name, counted, percent, percent_range, short};

use crate::page::Headline;

/// The 95 % interval of a share of so many samples.
fn share_interval(share: f64, samples: usize) -> Option<(f64, f64)> {
    ShareDocument::of_part(share, samples).map(|share| (share.lower, share.upper))
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
            range: interval.map_or_else(String::new, |(low, high)| percent_range(low, high)),
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
            // Documents of older versions do not know how far the search came.
            let known = probe.estimate.map(|found| (found.lower, found.upper));
            let interval = known.or_else(|| share_interval(robust, probe.samples));
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
        note: format!("larger if the model stretches the data more; the identity scores 1{baseline}"),
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
        range: interval.map_or_else(String::new, |(low, high)| percent_range(low, high)),
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
}
