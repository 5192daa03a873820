//! What a user may type about distances.

use clap::{Args, ValueEnum};
use spadework::{SpadeParams, neighbors, samples};

/// How distances are taken on each side.
#[derive(Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MetricArgs {
    /// The distance between inputs
    #[arg(long, value_enum, value_name = "METRIC", default_value_t = Metric::Euclidean)]
    pub(crate) input_metric: Metric,
    /// The distance between outputs
    #[arg(long, value_enum, value_name = "METRIC", default_value_t = Metric::Euclidean)]
    pub(crate) output_metric: Metric,
    /// Scale the columns of the inputs first: by mean and standard deviation, or `robust`
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        default_value_t = Standardize::None,
        default_missing_value = "standard"
    )]
    pub(crate) standardize: Standardize,
    /// What decides which of equally near outputs are neighbors, if some outputs are equal, as those of forests are
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Ties::Inputs)]
    pub(crate) ties: Ties,
}

impl MetricArgs {
    /// The parameters with these distances.
    pub(crate) fn apply(&self, params: SpadeParams) -> SpadeParams {
        params
            .with_input_metric(self.input_metric.into())
            .with_output_metric(self.output_metric.into())
            .with_standardize(self.standardize.into())
            .with_ties(self.ties.into())
    }
}

/// [`samples::Metric`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metric {
    /// The length of the difference
    Euclidean,
    /// By angle only: Euclidean on rows of length 1. A row of zeros is refused
    Cosine,
    /// The sum of the differences in every column; every pair of samples is compared
    Manhattan,
    /// The largest difference in any column; every pair of samples is compared
    Chebyshev,
}

impl From<Metric> for samples::Metric {
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::Euclidean => samples::Metric::Euclidean,
            Metric::Cosine => samples::Metric::Cosine,
            Metric::Manhattan => samples::Metric::Manhattan,
            Metric::Chebyshev => samples::Metric::Chebyshev,
        }
    }
}

/// [`samples::Standardize`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Standardize {
    /// Leave the columns as they are
    None,
    /// By mean and standard deviation; constant columns become 0
    Standard,
    /// By median and interquartile range, so that outliers do not set the scale
    Robust,
}

impl From<Standardize> for samples::Standardize {
    fn from(standardize: Standardize) -> Self {
        match standardize {
            Standardize::None => samples::Standardize::None,
            Standardize::Standard => samples::Standardize::Standard,
            Standardize::Robust => samples::Standardize::Robust,
        }
    }
}

/// [`neighbors::Ties`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ties {
    /// Their distance at the input, so that the order of the samples does not matter
    Inputs,
    /// The lower index
    Index,
}

impl From<Ties> for neighbors::Ties {
    fn from(ties: Ties) -> Self {
        match ties {
            Ties::Inputs => neighbors::Ties::Inputs,
            Ties::Index => neighbors::Ties::Index,
        }
    }
}
