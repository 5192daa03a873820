//! The kinds of graphs, and the words for them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result, UnknownWord};

/// How the graph of one side is made of its samples.
///
/// In words, as on the command line: `knn`, `mutual`, `pca:50`, `pca:0.95`, `cknn:1`, `sparse:density=1.5`,
/// `sparse:kappa=50`. [`GraphKind::Pca`] projects only the inputs; all other kinds apply to both graphs.
///
/// ```
/// use spadework::graph::{Dimensions, GraphKind};
/// assert_eq!("pca:50".parse(), Ok(GraphKind::Pca(Dimensions::Count(50))));
/// assert_eq!("cknn:1.2".parse::<GraphKind>()?.to_string(), "cknn:1.2");
/// # Ok::<(), spadework::error::UnknownWord>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum GraphKind {
    /// p–q is an edge if either has the other among its k nearest neighbors.
    #[default]
    Knn,
    /// p–q is an edge if each has the other among its k nearest neighbors.
    Mutual,
    /// Inputs are projected to their principal components first, then as [`GraphKind::Knn`]; outputs are left as they are.
    Pca(Dimensions),
    /// Continuous kNN (Berry and Sauer 2019): p–q is an edge if d(p, q) < δ√(d_k(p) d_k(q)), with d_k the distance to the
    /// k-th neighbor.
    Continuous {
        /// δ; positive and finite.
        delta: f64,
    },
    /// As [`GraphKind::Knn`], then spectrally sparsified: a spanning tree, and the most important other edges.
    Sparse(Sparsity),
}

/// Principal components to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dimensions {
    /// This many; at least 1.
    Count(usize),
    /// The fewest that explain this share of the variance; between 0 and 1.
    Variance(f64),
}

/// When a sparsifier has enough edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sparsity {
    /// Edges per node: a spanning tree has almost 1, a kNN graph between k/2 and k. At least 1.
    Density(f64),
    /// The condition number κ(L_G, L_S) of the graph and its sparsifier to reach; above 1.
    Condition(f64),
}

/// Weights of the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Weights {
    /// Every edge has weight 1, as in the paper.
    #[default]
    Unit,
    /// w = exp(−d²/(d_k(p) d_k(q))), scaled locally by the distance d_k to the k-th neighbor (Zelnik-Manor and Perona 2004),
    /// and never below [`Weights::LEAST`].
    Gaussian,
}

impl Weights {
    /// Smallest weight. Without it an outlier could be connected by an edge of weight 0, or of 10⁻³⁰⁰, and that edge alone
    /// would determine the score.
    pub const LEAST: f64 = 1e-6;
}

impl GraphKind {
    /// Checks its numbers.
    ///
    /// # Errors
    /// [`Error::GraphKind`] when one is out of range.
    pub fn check(self) -> Result<()> {
        match self.wanted() {
            None => Ok(()),
            Some(expected) => Err(Error::GraphKind { expected, got: self.to_string() }),
        }
    }

    /// What would be right, where a number is out of range.
    fn wanted(self) -> Option<&'static str> {
        match self {
            GraphKind::Pca(Dimensions::Count(0)) => Some(PCA),
            GraphKind::Pca(Dimensions::Variance(share)) if !(share > 0.0 && share < 1.0) => Some(PCA),
            GraphKind::Continuous { delta } if !(delta > 0.0 && delta.is_finite()) => Some(CKNN),
            GraphKind::Sparse(Sparsity::Density(density)) if !(density >= 1.0 && density.is_finite()) => {
                Some(SPARSE)
            }
            GraphKind::Sparse(Sparsity::Condition(kappa)) if !(kappa > 1.0 && kappa.is_finite()) => {
                Some(SPARSE)
            }
            _ => None,
        }
    }
}

const KINDS: &str = "knn, mutual, pca:D or pca:SHARE, cknn:DELTA, sparse:density=EDGES or sparse:kappa=KAPPA";
const PCA: &str =
    "pca: with a number of dimensions, as in pca:50, or a share of the variance below 1, as in pca:0.95";
const CKNN: &str = "cknn: with a positive number, as in cknn:1";
const SPARSE: &str = "sparse:density= with at least 1 edge per node, as in sparse:density=1.5, or sparse:kappa= with a condition number above 1, as in sparse:kappa=50";

impl fmt::Display for GraphKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphKind::Knn => f.write_str("knn"),
            GraphKind::Mutual => f.write_str("mutual"),
            GraphKind::Pca(Dimensions::Count(count)) => write!(f, "pca:{count}"),
            GraphKind::Pca(Dimensions::Variance(share)) => write!(f, "pca:{share}"),
            GraphKind::Continuous { delta } => write!(f, "cknn:{delta}"),
            GraphKind::Sparse(Sparsity::Density(density)) => write!(f, "sparse:density={density}"),
            GraphKind::Sparse(Sparsity::Condition(kappa)) => write!(f, "sparse:kappa={kappa}"),
        }
    }
}

impl FromStr for GraphKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let wrong = UnknownWord::new;
        let number = |text: &str, expected| text.parse::<f64>().map_err(|_| wrong(expected));
        let kind = match text.split_once(':').map_or((text, None), |(word, setting)| (word, Some(setting))) {
            ("knn", None) => GraphKind::Knn,
            ("mutual", None) => GraphKind::Mutual,
            ("pca", setting) => {
                let setting = setting.ok_or(wrong(PCA))?;
                let dimensions = setting.parse().map(Dimensions::Count);
                GraphKind::Pca(dimensions.or_else(|_| number(setting, PCA).map(Dimensions::Variance))?)
            }
            ("cknn", setting) => GraphKind::Continuous { delta: number(setting.ok_or(wrong(CKNN))?, CKNN)? },
            ("sparse", setting) => match setting.and_then(|setting| setting.split_once('=')) {
                Some(("density", value)) => GraphKind::Sparse(Sparsity::Density(number(value, SPARSE)?)),
                Some(("kappa", value)) => GraphKind::Sparse(Sparsity::Condition(number(value, SPARSE)?)),
                _ => return Err(wrong(SPARSE)),
            },
            _ => return Err(wrong(KINDS)),
        };
        kind.wanted().map_or(Ok(kind), |expected| Err(wrong(expected)))
    }
}

words! { Weights { Unit = "unit", Gaussian = "gaussian" } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for word in [
            "knn",
            "mutual",
            "pca:50",
            "pca:0.95",
            "cknn:1",
            "cknn:0.8",
            "sparse:density=1.5",
            "sparse:kappa=50",
        ] {
            assert_eq!(word.parse::<GraphKind>().unwrap().to_string(), word);
        }
        for word in ["unit", "gaussian"] {
            assert_eq!(word.parse::<Weights>().unwrap().to_string(), word);
        }
    }

    #[test]
    fn wrong_words_say_what_was_expected() {
        let cases = [
            ("hnsw", "expected knn, mutual"),
            ("knn:3", "expected knn, mutual"),
            ("", "expected knn, mutual"),
            ("pca", "as in pca:50"),
            ("pca:0", "as in pca:50"),
            ("pca:1.5", "below 1"),
            ("pca:-3", "as in pca:50"),
            ("cknn", "as in cknn:1"),
            ("cknn:0", "a positive number"),
            ("cknn:inf", "a positive number"),
            ("cknn:nan", "a positive number"),
            ("sparse", "as in sparse:density=1.5"),
            ("sparse:density=0.5", "at least 1 edge per node"),
            ("sparse:kappa=1", "above 1"),
            ("sparse:edges=3", "as in sparse:density=1.5"),
        ];
        for (word, part) in cases {
            let message = word.parse::<GraphKind>().unwrap_err().to_string();
            assert!(message.contains(part), "{word}: {message}");
        }
        assert!("heat".parse::<Weights>().is_err());
    }

    #[test]
    fn numbers_out_of_range_are_refused_in_code_too() {
        let error = GraphKind::Continuous { delta: f64::NAN }.check().unwrap_err();
        assert!(error.to_string().ends_with("got cknn:NaN"), "{error}");
        assert!(GraphKind::default().check().is_ok());
    }
}
