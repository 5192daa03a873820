//! Numbers as sentences write them: counts with commas, shares in percent, three digits, attacks in words.

use spadework_probe::{Probe, ProbeNorm, RadiusUnit};

use crate::estimates::ShareDocument;

/// A number as people read it: up to three significant digits. Saved tables have all of them.
pub fn short(value: f64) -> String {
    with_digits(value, 3)
}

/// A number with up to so many significant digits.
pub fn with_digits(value: f64, digits: i32) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = (digits - 1 - size.log10().floor() as i32).max(0) as usize;
    let written = format!("{value:.decimals$}");
    if decimals == 0 { written } else { written.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// A share in percent, in three digits.
pub fn percent(part: f64) -> String {
    format!("{} %", short_percent(part))
}

/// A share in percent without its unit, for the ends of a range: with one decimal, and with as many as it takes where it is nearly
/// nothing or nearly all.
pub fn short_percent(part: f64) -> String {
    let value = 100.0 * part;
    if value == 0.0 || value == 100.0 {
        return format!("{value:.0}");
    }
    // 99.996 % is not 100 %, and 0.03 % is not 0 %: only what is nothing or all is written so.
    let written = |decimals: usize| format!("{value:.decimals$}");
    let is_rounded_to_an_end = |text: &String| matches!(text.parse::<f64>(), Ok(0.0 | 100.0));
    (1..=MOST_DECIMALS).map(written).find(|text| !is_rounded_to_an_end(text)).unwrap_or_else(|| written(1))
}

/// Beyond so many decimals, nobody tells a share from nothing or all.
const MOST_DECIMALS: usize = 6;

/// Below this width of an interval, a share deserves a decimal.
pub const NARROW: f64 = 0.02;

/// What results of SPADE scores alone say of them.
pub const FOLLOW_POORLY: &str =
    "SPADE scores track accuracy under attack poorly: compare with --probe where models can be run.";

/// A share with its interval, in no more digits than that leaves sure: `43 % (38 – 48)`.
pub fn share_with_range(share: &ShareDocument) -> String {
    format!("{} {}", share_alone(share), share_range(share))
}

/// `43 %`, or `99.2 %` where the interval is that narrow.
pub fn share_alone(share: &ShareDocument) -> String {
    format!("{} %", points(share.estimate, decimals(share)))
}

/// `(38 – 48)`.
pub fn share_range(share: &ShareDocument) -> String {
    let decimals = decimals(share);
    format!("({} – {})", points(share.lower, decimals), points(share.upper, decimals))
}

fn decimals(share: &ShareDocument) -> usize {
    usize::from(share.upper - share.lower < NARROW)
}

/// A share in percent without its unit, with no more than three digits.
pub fn points(part: f64, decimals: usize) -> String {
    let value = 100.0 * part;
    let text = format!("{value:.decimals$}");
    match text.as_str() {
        "100.0" => "100".to_owned(),
        "0.0" | "-0.0" | "-0" => "0".to_owned(),
        _ => text,
    }
}

/// The ends of an interval in percent: `38.0 – 48.1 %`.
pub fn percent_range(low: f64, high: f64) -> String {
    format!("{} – {} %", short_percent(low), short_percent(high))
}

/// `1 sample`, `10,000 samples`.
pub fn counted(count: usize, what: &str) -> String {
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

/// What was set for each column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SetOfColumns {
    /// How many times the radius it may move.
    pub(crate) radii: bool,
    /// Its category.
    pub(crate) categories: bool,
}

/// The perturbations in words: what an attacker may do.
pub(crate) fn attack(probe: &str, columns: SetOfColumns) -> String {
    match probe.parse::<Probe>() {
        Ok(probe) => match probe.norm() {
            ProbeNorm::Linf => {
                let categories = if columns.categories { " and other categories" } else { "" };
                format!("changes of at most {} (L∞){categories}", per_number(&probe, columns))
            }
            ProbeNorm::L2 => format!("changes of at most {} in length (L2)", short(probe.radius())),
        },
        Err(_) => format!("changes of the kind {probe}"),
    }
}

fn per_number(probe: &Probe, columns: SetOfColumns) -> String {
    let radius = short(probe.radius());
    match (probe.unit(), columns.radii) {
        (RadiusUnit::Number, false) => format!("{radius} per number"),
        (RadiusUnit::Deviation, false) => format!("{radius} standard deviations per column"),
        (RadiusUnit::Number, true) => format!("{radius} times the radius of each column"),
        (RadiusUnit::Deviation, true) => {
            format!("{radius} standard deviations times the radius of each column")
        }
    }
}

/// The short form for headings: `L∞ 0.1` of `linf:0.1:search`.
pub fn attack_name(probe: &str) -> String {
    match probe.parse::<Probe>() {
        Ok(probe) => match probe.norm() {
            ProbeNorm::Linf => format!(
                "L∞ {}{}",
                short(probe.radius()),
                if probe.unit() == RadiusUnit::Deviation { " sd" } else { "" }
            ),
            ProbeNorm::L2 => format!("L2 {}", short(probe.radius())),
        },
        Err(_) => probe.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!([7, 999, 1000, 1_234_567].map(grouped), ["7", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn numbers_have_up_to_three_digits() {
        let written = [41.466_79, 0.108_66, 1234.567, 0.0, 99.96].map(short);
        assert_eq!(written, ["41.5", "0.109", "1235", "0", "100"]);
    }

    #[test]
    fn only_all_of_it_is_100_percent() {
        assert_eq!([1.0, 0.9996, 0.43, 0.0].map(percent), ["100 %", "99.96 %", "43.0 %", "0 %"]);
        assert_eq!(
            [0.999_96, 0.0003, 0.000_04, 0.999].map(percent),
            ["99.996 %", "0.03 %", "0.004 %", "99.9 %"]
        );
        assert_eq!(percent_range(0.38, 0.481), "38.0 – 48.1 %");
    }

    #[test]
    fn shares_have_three_digits_at_most() {
        let share = |estimate, lower, upper| {
            share_with_range(&ShareDocument { estimate, lower, upper, n: 100, queries: None })
        };
        assert_eq!(share(0.43, 0.3773, 0.4846), "43 % (38 – 48)");
        assert_eq!(share(0.992, 0.990_05, 0.993_57), "99.2 % (99.0 – 99.4)");
        assert_eq!(share(1.0, 0.999_62, 1.0), "100 % (100 – 100)");
        assert_eq!(share(0.0, 0.0, 0.0076), "0 % (0 – 0.8)");
    }

    #[test]
    fn attacks_are_said_in_words() {
        let usual = SetOfColumns::default();
        assert_eq!(attack("linf:0.1:search", usual), "changes of at most 0.1 per number (L∞)");
        assert_eq!(attack("l2:0.5:pixel", usual), "changes of at most 0.5 in length (L2)");
        let of_columns = |radii, categories| attack("linf:0.1:search", SetOfColumns { radii, categories });
        assert_eq!(of_columns(true, false), "changes of at most 0.1 times the radius of each column (L∞)");
        assert_eq!(of_columns(false, true), "changes of at most 0.1 per number (L∞) and other categories");
        assert_eq!(
            attack("linf:0.1sd:search", SetOfColumns { radii: true, categories: true }),
            "changes of at most 0.1 standard deviations times the radius of each column (L∞) and other categories"
        );
        assert_eq!(attack_name("linf:0.03137254901960784:search"), "L∞ 0.0314");
    }
}
