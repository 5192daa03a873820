//! Shares of samples with their intervals as text for people: three digits at most.

use spadework_document::estimates::{DifferenceDocument, ShareDocument};
use spadework_document::words::{NARROW, points, short_percent};
pub(crate) use spadework_document::words::{share_alone, share_with_range};

/// `43 %`, and `0.4 %` or `99.6 %` near the ends: only what is nothing or all of it is written so.
pub(crate) fn percent(part: f64) -> String {
    let is_plain = (0.005..0.995).contains(&part);
    format!("{} %", if is_plain { points(part, 0) } else { short_percent(part) })
}

/// `2 ± 3 points`: the difference and half of its interval, the larger half.
pub(crate) fn difference(found: &DifferenceDocument) -> String {
    let half = (found.upper - found.difference).max(found.difference - found.lower);
    let decimals = usize::from(half < NARROW / 2.0);
    format!("{} ± {} points", points(found.difference, decimals), points(half, decimals))
}

/// `1.243 (1.221 – 1.265)`: no share of anything.
pub(crate) fn unevenness_with_range(found: &ShareDocument) -> String {
    let ShareDocument { estimate, lower, upper, .. } = found;
    format!("{estimate:.3} ({lower:.3} – {upper:.3})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nothing_and_all_are_written_so() {
        let written = [0.43, 0.004, 0.996, 0.9996, 0.0002, 0.0, 1.0].map(percent);
        assert_eq!(written, ["43 %", "0.4 %", "99.6 %", "99.96 %", "0.02 %", "0 %", "100 %"]);
    }

    #[test]
    fn differences_have_their_larger_half() {
        let of = |difference, lower, upper| DifferenceDocument {
            difference,
            lower,
            upper,
            level: 0.95,
            n: 500,
            p: None,
            lost: None,
        };
        assert_eq!(difference(&of(0.02, -0.012, 0.049)), "2 ± 3 points");
        assert_eq!(difference(&of(-0.001, -0.004, 0.001)), "-0.1 ± 0.3 points");
    }
}
