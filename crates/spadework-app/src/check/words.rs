//! The outcomes of gates in sentences.

use spadework_document::check::{CheckDocument, GateDocument, GatedNumber, Outcome};
use spadework_document::estimates::{DifferenceDocument, ShareDocument};
use spadework_document::words::grouped;

use crate::printable;
use crate::wording::Voice;

/// One line of text per gate, and the outcome below them.
pub fn gate_lines(document: &CheckDocument, voice: Voice) -> String {
    let width = document.gates.iter().map(|gate| title(gate).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for gate in &document.gates {
        let (word, title) = (mark(gate.outcome), title(gate));
        text.push_str(&format!("{word:<4}  {title:<width$}  {}\n", finding(gate)));
    }
    text.push_str(&verdict(document, voice));
    text.push('\n');
    if let Some(failures) = new_failures(document) {
        text.push_str(&format!("{failures}\n"));
    }
    for note in &document.notes {
        text.push_str(&format!("{}\n", sentence(&note.message)));
    }
    text
}

/// What all gates come to.
pub(super) fn verdict(document: &CheckDocument, voice: Voice) -> String {
    let count = |outcome| document.gates.iter().filter(|gate| gate.outcome == outcome).count();
    let (failed, undecided, all) = (count(Outcome::Fail), count(Outcome::Undecided), document.gates.len());
    let gates = if all == 1 { "gate" } else { "gates" };
    let verdict = match failed {
        0 if undecided == 0 && all == 1 => "The gate passed.".to_owned(),
        0 if undecided == 0 => format!("All {all} gates passed."),
        _ => format!("{failed} of {all} {gates} failed."),
    };
    let counts_as = document.undecided.word();
    match undecided {
        0 => verdict,
        _ => {
            format!(
                "{verdict} {undecided} undecided, counted as {counts_as} (set by {}).",
                voice.name("undecided")
            )
        }
    }
}

/// The samples that this model has lost.
pub(super) fn new_failures(document: &CheckDocument) -> Option<String> {
    if document.new_failures.is_empty() {
        return None;
    }
    let names: Vec<String> = match document.new_failure_ids.as_slice() {
        [] => document.new_failures.iter().map(|index| format!("#{index}")).collect(),
        ids => ids.iter().map(|id| printable(id)).collect(),
    };
    let had = match document.new_failures_by {
        Some(GatedNumber::Survived) => "Survived every probe with the baseline",
        _ => "Correct with the baseline",
    };
    Some(format!("{had} and not with this model, most fragile first: {}", names.join(" ")))
}

/// What a gate is about.
pub(super) fn title(gate: &GateDocument) -> String {
    let number = match gate.number {
        GatedNumber::RobustAccuracy => "estimated robust accuracy",
        GatedNumber::Survived => "survived",
        GatedNumber::Accuracy => "accuracy",
        GatedNumber::Overlap => "neighborhood overlap",
        GatedNumber::ModelScore => "SPADE score",
    };
    match gate.gate.as_str() {
        "max-drop" => format!("change of {number}"),
        "max-regression" => format!("growth of {number}"),
        _ => number.to_owned(),
    }
}

/// What was found, and what is allowed.
pub(super) fn finding(gate: &GateDocument) -> String {
    let limit = gate.limit;
    if let Some(score) = gate.found.score {
        let baseline = gate.found.baseline.map(|score| format!(" (baseline {})", digits(score)));
        let baseline = baseline.unwrap_or_default();
        return format!("{}{baseline}, must be at most {}", digits(score), digits(limit));
    }
    let undecided = if gate.outcome == Outcome::Undecided { ": cannot tell" } else { "" };
    match (&gate.found.share, &gate.found.difference, &gate.found.reason) {
        (_, _, Some(reason)) => format!("cannot tell: {reason}"),
        (_, Some(difference), _) => {
            let baseline = gate.found.baseline.unwrap_or_default();
            format!("{}{undecided}", drop(difference, baseline, limit, gate.found.paired == Some(true)))
        }
        (Some(share), None, None) => {
            format!("{}, must be at least {}{undecided}", interval(share, limit), percent(limit))
        }
        (None, None, None) => String::new(),
    }
}

/// A word of four letters or less, as wide as a column.
pub(super) fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "PASS",
        Outcome::Fail => "FAIL",
        Outcome::Undecided => "?",
    }
}

/// `43 % (36 – 50, 200 samples)`.
fn interval(share: &ShareDocument, limit: f64) -> String {
    let ShareDocument { estimate, lower, upper, n, .. } = *share;
    let decimals = decimals_that_agree([lower, upper], limit);
    let points = |share: f64| format!("{:.decimals$}", 100.0 * share);
    format!("{} % ({} – {}, {} samples)", points(estimate), points(lower), points(upper), grouped(n))
}

/// `−9 points (−12 to −6) against the baseline's 22 %, at most −2 allowed (paired, 500 samples, p < 0.001)`.
fn drop(found: &DifferenceDocument, baseline: f64, limit: f64, is_paired: bool) -> String {
    let DifferenceDocument { difference, lower, upper, n, p, lost, .. } = *found;
    let decimals = decimals_that_agree([lower, upper], -limit);
    let points = |share: f64| signed(100.0 * share, decimals);
    let allowed =
        if limit == 0.0 { "no drop".to_owned() } else { format!("at most −{}", plain(100.0 * limit)) };
    let paired = if is_paired { "paired" } else { "not paired" };
    let p = p.map(|p| if p < 0.001 { ", p < 0.001".to_owned() } else { format!(", p = {p:.2}") });
    // This passes whatever the interval says, so it must be read there.
    let none_lost = if lost == Some(0) { ", none lost" } else { "" };
    format!(
        "{} points ({} to {}) against the baseline's {:.decimals$} %, {allowed} allowed ({paired}, {} samples{none_lost}{})",
        points(difference),
        points(lower),
        points(upper),
        100.0 * baseline,
        grouped(n),
        p.unwrap_or_default()
    )
}

/// As many decimals as the interval leaves known, and so many more that its ends, as they are written, lie on the same side of the limit
/// as they do: a reader must not find `−4 to 0` where no drop is allowed and the gate failed.
fn decimals_that_agree([lower, upper]: [f64; 2], limit: f64) -> usize {
    const MOST: usize = 6;
    /// 0.07 is not seven hundredths in binary: what differs by less than this is equal.
    const NOTHING: f64 = 1e-9;
    let usual = decimals(upper - lower);
    let agrees = |decimals: usize| {
        let written = |share: f64| {
            let unit = 10_f64.powi(decimals as i32);
            (100.0 * share * unit).round() / unit
        };
        let is_right = |end: f64| {
            (end - limit).abs() < NOTHING || (written(end) < 100.0 * limit - NOTHING) == (end < limit)
        };
        [lower, upper].into_iter().all(is_right)
    };
    (usual..MOST).find(|&decimals| agrees(decimals)).unwrap_or(MOST)
}

/// As many decimals of a percentage as its interval leaves known.
fn decimals(width: f64) -> usize {
    match 50.0 * width {
        half if half >= 1.0 => 0,
        half if half >= 0.1 => 1,
        _ => 2,
    }
}

/// A number with its sign, and a minus that is as wide as a plus.
fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.chars().all(|c| c == '0' || c == '.');
    match (is_zero, value < 0.0) {
        (true, _) => text,
        (false, true) => format!("−{text}"),
        (false, false) => format!("+{text}"),
    }
}

/// A limit as it was typed: `80 %`, `2.5 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", plain(100.0 * share))
}

/// Up to three decimals, without zeros at the end: 0.6 · 100 is not 60 in binary.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Four significant digits, in plain notation where that is readable.
fn digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    match magnitude {
        -4..9 => plain_digits(value, (3 - magnitude).max(0) as usize),
        _ => format!("{value:.3e}"),
    }
}

fn plain_digits(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// With a capital letter and a full stop.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_are_known() {
        assert_eq!(
            (percent(0.6), percent(0.025), percent(1.0)),
            ("60 %".into(), "2.5 %".into(), "100 %".into())
        );
        assert_eq!(
            (signed(-9.04, 0), signed(0.04, 1), signed(1.26, 1)),
            ("−9".into(), "0.0".into(), "+1.3".into())
        );
        assert_eq!(
            (digits(41.466_795), digits(0.001), digits(1e6)),
            ("41.47".into(), "0.001".into(), "1000000".into())
        );
        assert_eq!(
            (grouped(500), grouped(10_000), grouped(1_234_567)),
            ("500".into(), "10,000".into(), "1,234,567".into())
        );
        assert_eq!((decimals(0.14), decimals(0.01), decimals(0.0001)), (0, 1, 2));
    }

    /// An end that rounds to the limit, or past it, is written with one more digit.
    #[test]
    fn ends_are_written_on_their_side_of_the_limit() {
        let found = |lower: f64, upper: f64, lost: usize| DifferenceDocument {
            difference: f64::midpoint(lower, upper),
            lower,
            upper,
            level: 0.9,
            n: 1000,
            p: Some(0.04),
            lost: Some(lost),
        };
        let text = drop(&found(-0.04, -0.0004, 30), 0.9, 0.0, true);
        assert!(text.starts_with("−2.02 points (−4.00 to −0.04)"), "{text}");
        assert!(drop(&found(-0.04, 0.0004, 30), 0.9, 0.0, true).starts_with("−2 points (−4 to 0)"));
        let text = drop(&found(-0.002, 0.002, 0), 0.9, 0.0, true);
        assert!(text.ends_with("no drop allowed (paired, 1,000 samples, none lost, p = 0.04)"), "{text}");
        let share = |lower, upper| ShareDocument { estimate: 0.85, lower, upper, n: 500, queries: None };
        assert_eq!(interval(&share(0.7996, 0.9), 0.8), "85.00 % (79.96 – 90.00, 500 samples)");
        assert_eq!(interval(&share(0.8, 0.9), 0.8), "85 % (80 – 90, 500 samples)");
        // Seven hundredths times a hundred is more than seven in binary.
        assert_eq!(
            (decimals_that_agree([0.1 + 0.2, 0.9], 0.3), decimals_that_agree([0.07, 0.9], 0.07)),
            (0, 0)
        );
    }
}
