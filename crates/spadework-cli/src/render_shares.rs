//! Shares of samples with their intervals as text for people: three digits at most.

use spadework_document::estimates::{DifferenceDocument, ShareDocument};

/// Below this width of an interval, a share deserves a decimal.
const NARROW: f64 = 0.02;

/// `43 % (38 – 48)`.
pub(crate) fn share_with_range(share: &ShareDocument) -> String {
    format!("{} {}", share_alone(share), range(share))
}

/// `43 %`, or `99.2 %` where the interval is that narrow.
pub(crate) fn share_alone(share: &ShareDocument) -> String {
    format!("{} %", points(share.estimate, decimals(share)))
}

/// `43 %`, and `0.4 %` or `99.6 %` near the ends: only what is nothing or all of it is written so.
pub(crate) fn percent(part: f64) -> String {
    let is_plain = (0.005..0.995).contains(&part) || part == 0.0 || part == 1.0;
    format!("{} %", points(part, usize::from(!is_plain)))
}

/// `(38 – 48)`.
pub(crate) fn range(share: &ShareDocument) -> String {
    let decimals = decimals(share);
    format!("({} – {})", points(share.lower, decimals), points(share.upper, decimals))
}

/// `2 ± 3 points`: the difference and half of its interval, the larger half.
pub(crate) fn difference(found: &DifferenceDocument) -> String {
    let half = (found.upper - found.difference).max(found.difference - found.lower);
    let decimals = usize::from(half < NARROW / 2.0);
    format!("{} ± {} points", points(found.difference, decimals), points(half, decimals))
}

fn decimals(share: &ShareDocument) -> usize {
    usize::from(share.upper - share.lower < NARROW)
}

/// A share in percent, with no more than three digits.
fn points(part: f64, decimals: usize) -> String {
    let value = 100.0 * part;
    let text = format!("{value:.decimals$}");
    match text.as_str() {
        "100.0" => "100".to_owned(),
        "0.0" | "-0.0" | "-0" => "0".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(estimate: f64, lower: f64, upper: f64) -> ShareDocument {
        ShareDocument { estimate, lower, upper, n: 100, queries: None }
    }

    #[test]
    fn shares_have_three_digits_at_most() {
        assert_eq!(share_with_range(&share(0.43, 0.3773, 0.4846)), "43 % (38 – 48)");
        assert_eq!(share_with_range(&share(0.992, 0.990_05, 0.993_57)), "99.2 % (99.0 – 99.4)");
        assert_eq!(share_with_range(&share(1.0, 0.999_62, 1.0)), "100 % (100 – 100)");
        assert_eq!(share_with_range(&share(0.0, 0.0, 0.0076)), "0 % (0 – 0.8)");
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
