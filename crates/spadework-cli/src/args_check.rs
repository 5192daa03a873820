//! What a user may type of gates.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use crate::args::ScoredArgs;
use crate::args_probe::ProbeArgs;
use crate::args_report::IdsArgs;
use crate::args_task::TaskArgs;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scored: ScoredArgs,
    #[command(flatten)]
    pub(crate) ids: IdsArgs,
    #[command(flatten)]
    pub(crate) task: TaskArgs,
    #[command(flatten)]
    pub(crate) probe: ProbeArgs,
    #[command(flatten)]
    pub(crate) rules: CheckRules,
}

/// At least one gate; a drop needs the baseline that it is measured from.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Gates", group = ArgGroup::new("rules")
    .args(["min_robust_accuracy", "min_survived", "min_accuracy", "min_overlap", "max_score", "baseline"])
    .required(true)
    .multiple(true))]
pub(crate) struct CheckRules {
    /// Smallest estimated robust accuracy, e.g. 60% or 0.6
    #[arg(long, value_name = "FRACTION", value_parser = share, requires = "probe")]
    pub(crate) min_robust_accuracy: Option<f64>,
    /// Smallest share of samples that survived every probe
    #[arg(long, value_name = "FRACTION", value_parser = share, requires = "probe")]
    pub(crate) min_survived: Option<f64>,
    /// Smallest accuracy; needs labels
    #[arg(long, value_name = "FRACTION", value_parser = share)]
    pub(crate) min_accuracy: Option<f64>,
    /// Smallest neighborhood overlap: the share of input neighbors that are output neighbors too
    #[arg(long, value_name = "FRACTION", value_parser = share)]
    pub(crate) min_overlap: Option<f64>,
    /// Largest SPADE score; it tracks robustness poorly
    #[arg(long, value_name = "SCORE", value_parser = positive_score)]
    pub(crate) max_score: Option<f64>,
    /// The folder of an earlier result, or its result.json, that the model must not fall below
    ///
    /// Every number that both results have is a gate: robust accuracy, survived, accuracy, overlap. Samples are compared one by
    /// one if the inputs are the same and the folder has its nodes.csv.
    #[arg(long, value_name = "RESULT")]
    pub(crate) baseline: Option<PathBuf>,
    /// With --baseline: largest drop of each number, e.g. 2% for two points [default: 0%]
    #[arg(long, value_name = "FRACTION", requires = "baseline", value_parser = share)]
    pub(crate) max_drop: Option<f64>,
    /// With --baseline: also fail if the SPADE score exceeds the baseline's by more than this, e.g. 5% or 0.05
    #[arg(long, value_name = "FRACTION", requires = "baseline", value_parser = fraction)]
    pub(crate) max_regression: Option<f64>,
    /// What an undecided gate counts as: one whose interval contains its limit
    #[arg(long, value_enum, value_name = "OUTCOME", default_value_t = Undecided::Pass)]
    pub(crate) undecided: Undecided,
    /// Write the gates as JUnit XML, one test case per gate
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the gates as Markdown, for a job summary
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
}

/// What an undecided gate counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Undecided {
    /// Exit code 0
    Pass,
    /// Exit code 1
    Fail,
}

fn positive_score(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(score) if score > 0.0 && score.is_finite() => Ok(score),
        _ => Err("expected a positive number".to_owned()),
    }
}

/// `60%` or `0.6`, at most 100%.
fn share(text: &str) -> Result<f64, String> {
    match fraction(text) {
        Ok(share) if share > 1.0 => Err("expected at most 100%".to_owned()),
        share => share,
    }
}

/// `5%` or `0.05`; a bare `5` is as likely meant as 5 % as it is 500 %, so it is refused.
fn fraction(text: &str) -> Result<f64, String> {
    let expected = || "expected a percentage such as 5% or a fraction below 1 such as 0.05".to_owned();
    let (number, percent) = match text.strip_suffix('%') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let value = number.trim().parse::<f64>().map_err(|_| expected())?;
    match (value >= 0.0 && value.is_finite(), percent, value < 1.0) {
        (true, true, _) => Ok(value / 100.0),
        (true, false, true) => Ok(value),
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_percentages() {
        assert_eq!(fraction("5%"), Ok(0.05));
        assert_eq!(fraction("0.05"), Ok(0.05));
        assert_eq!(fraction("150%"), Ok(1.5));
        for wrong in ["5", "-1%", "nan", "x", ""] {
            assert!(fraction(wrong).is_err() && share(wrong).is_err(), "{wrong}");
        }
        assert_eq!((share("60%"), share("0.6"), share("100%")), (Ok(0.6), Ok(0.6), Ok(1.0)));
        assert!(share("101%").is_err());
    }
}
