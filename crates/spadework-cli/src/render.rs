//! Numbers and tables as text for people.

use spadework_document::score::{CorruptionDocument, NumericalBoundsDocument};

pub(crate) use spadework_app::{json, printable};

/// `1 sample`, `2 samples`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// What was done to the inputs, where anything was.
pub(crate) fn corruption(corruption: Option<&CorruptionDocument>) -> String {
    corruption.map_or_else(String::new, |CorruptionDocument { kind, severity, seed, shape }| {
        format!("corruption    {kind} of severity {severity}, seed {seed}, on images of {shape}\n")
    })
}

/// A table with right-aligned columns.
pub(crate) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines: Vec<Vec<String>> = vec![header.iter().map(|&word| word.to_owned()).collect()];
    lines.extend(rows);
    let widths: Vec<usize> = (0..header.len())
        .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    lines
        .iter()
        .map(|line| {
            // A column without a heading (bars) reads from the left.
            let cells = line.iter().zip(&widths).zip(header).map(|((cell, &width), heading)| {
                if heading.is_empty() { format!("  {cell}") } else { format!("  {cell:>width$}") }
            });
            format!("{}\n", cells.collect::<String>().trim_end())
        })
        .collect()
}

/// A bar of up to 24 blocks.
pub(crate) fn bar(part: f64) -> String {
    "█".repeat((part.clamp(0.0, 1.0) * 24.0).round() as usize)
}

/// A number with six significant digits.
pub(crate) fn number(value: f64) -> String {
    digits(value, 6)
}

/// A number with three significant digits.
pub(crate) fn number_short(value: f64) -> String {
    digits(value, 3)
}

/// A number with some significant digits, in plain notation where that is readable.
fn digits(value: f64, significant: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..9).contains(&magnitude) {
        return format!("{value:.*e}", (significant - 1) as usize);
    }
    format!("{value:.*}", (significant - 1 - magnitude).max(0) as usize)
}

/// Numerical bounds of a SPADE score.
pub(crate) fn bounds(found: &NumericalBoundsDocument) -> String {
    match found.upper {
        Some(upper) => interval(found.lower, upper),
        // All digits: rounded, it could be above the score.
        None => format!("at least {}, no upper bound", found.lower),
    }
}

/// An interval with as many decimals as show its width, rounded outwards.
fn interval(lower: f64, upper: f64) -> String {
    let magnitude = upper.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    if !(-9..15).contains(&magnitude) {
        // Every digit, since plain notation would be hundreds of zeros.
        return format!("[{lower:e}, {upper:e}]");
    }
    let width = (upper - lower).max(f64::MIN_POSITIVE);
    // A double has some fifteen digits to show.
    let decimals = (1 - width.log10().floor() as i32).clamp(0, (14 - magnitude).max(0));
    let unit = 10.0_f64.powi(decimals);
    let decimals = decimals as usize;
    format!("[{:.decimals$}, {:.decimals$}]", (lower * unit).floor() / unit, (upper * unit).ceil() / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        assert_eq!(number(41.466_795_34), "41.4668");
        assert_eq!(number(456.962_960), "456.963");
        assert_eq!(number(1_234_567.8), "1234568");
        assert_eq!(number(0.000_123_456_7), "0.000123457");
        assert_eq!(number(1e-9), "1.00000e-9");
        assert_eq!(number(0.0), "0");
    }

    #[test]
    fn intervals_are_rounded_outwards() {
        assert_eq!(interval(41.466_795_338_6, 41.466_795_341_2), "[41.4667953386, 41.4667953412]");
        assert_eq!(interval(1.0, 1.034_12), "[1.000, 1.035]");
        assert_eq!(interval(3.9e200, 4.1e200), "[3.9e200, 4.1e200]");
        assert_eq!(interval(3.9e-200, 4.1e-200), "[3.9e-200, 4.1e-200]");
        assert_eq!(interval(2.0, 2.0), "[2.00000000000000, 2.00000000000000]");
    }
}
