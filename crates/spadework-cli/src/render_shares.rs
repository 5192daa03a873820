//! Shares of samples with their intervals as text for people: three digits at most.

use spadework_document::estimates::DifferenceDocument;
use spadework_document::words::{NARROW, points};
pub(crate) use spadework_document::words::{share_alone, share_with_range};

/// `43 %`, and `0.4 %` or `99.6 %` near the ends: only what is nothing or all of it is written so.
pub(crate) fn percent(part: f64) -> String {
    let is_plain = (0.005..0.995).contains(&part) || part == 0.0 || part == 1.0;
    format!("{} %", points(part, usize::from(!is_plain)))
}

/// `2 ± 3 points`: the difference and half of its interval, the larger half.
pub(crate) fn difference(found: &DifferenceDocument) -> String {
    let half = (found.upper - found.difference).max(found.difference - found.lower);
    let decimals = usize::from(half < NARROW / 2.0);
    format!("{} ± {} points", points(found.difference, decimals), points(half, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

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
