//! The metrics and scalings of one side, and the words for them.

/// The distance between two samples of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Metric {
    /// √Σ(a_i − b_i)².
    #[default]
    Euclidean,
    /// The Euclidean distance between the rows divided by their lengths: √(2 − 2 cos ∠(a, b)). It orders pairs as the cosine
    /// distance 1 − cos ∠(a, b) does, and unlike that distance it is a metric.
    Cosine,
    /// Σ|a_i − b_i|.
    Manhattan,
    /// max|a_i − b_i|.
    Chebyshev,
}

words! { Metric {
    Euclidean = "euclidean",
    Cosine = "cosine",
    Manhattan = "manhattan",
    Chebyshev = "chebyshev",
} }

/// How the columns of the inputs are scaled before distances are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Standardize {
    /// Nothing.
    #[default]
    None,
    /// Each column minus its mean, divided by its standard deviation (with n, not n − 1, in its denominator).
    Standard,
    /// Each column minus its median, divided by its interquartile range, so that outliers do not determine the scale.
    Robust,
}

words! { Standardize { None = "none", Standard = "standard", Robust = "robust" } }

/// The norm of differences that searches of some samples go by; all that is left of a [`Metric`] once rows are in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Norm {
    /// √Σx².
    #[default]
    Euclidean,
    /// Σ|x|.
    Manhattan,
    /// max|x|.
    Chebyshev,
}

impl Norm {
    /// A factor by which the Euclidean norm of any difference of so many numbers does not exceed this one.
    pub(crate) fn least_per_euclidean(self, dim: usize) -> f64 {
        match self {
            Norm::Euclidean | Norm::Manhattan => 1.0,
            Norm::Chebyshev => 1.0 / (dim as f64).sqrt(),
        }
    }
}

impl From<Metric> for Norm {
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::Euclidean | Metric::Cosine => Norm::Euclidean,
            Metric::Manhattan => Norm::Manhattan,
            Metric::Chebyshev => Norm::Chebyshev,
        }
    }
}
