//! What can go wrong, with the numbers in it.

use spadework::error::Readable;

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which probing can fail. Messages say what was expected, then what was given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something about samples, labels or the run.
    #[error(transparent)]
    Core(#[from] spadework::Error),
    /// A number of probes or of probed samples that is out of range.
    #[error("`{name}` of a probe must be from 1 to {most}, got {got}")]
    ProbeCount {
        /// What is counted.
        name: &'static str,
        /// The largest number accepted.
        most: usize,
        /// The number asked for.
        got: usize,
    },
    /// An image that has not as many numbers as a sample.
    #[error(
        "the images of a probe must have the {dim} numbers of a sample, got {channels} × {height} × {width}"
    )]
    ProbeGrid {
        /// Channels of an image.
        channels: usize,
        /// Its rows.
        height: usize,
        /// Its columns.
        width: usize,
        /// Numbers per sample.
        dim: usize,
    },
    /// Radii of columns in a norm that has none.
    #[error("radii of columns are for linf, got {norm}")]
    RadiiNorm {
        /// The norm of the probe.
        norm: String,
    },
    /// Not exactly one radius per column.
    #[error("the radii must be {dim} numbers, one per column of the inputs, got {got}")]
    RadiiCount {
        /// Numbers per sample.
        dim: usize,
        /// Radii.
        got: usize,
    },
    /// A radius of a column that is negative or not finite.
    #[error("the radii must be finite and not negative, got {} for column {column} (counted from 0)", Readable(*got))]
    Radius {
        /// The first such column.
        column: usize,
        /// Its radius.
        got: f64,
    },
    /// Categories in a norm that has none.
    #[error("categories are for linf, got {norm}")]
    CategoriesNorm {
        /// The norm of the probe.
        norm: String,
    },
    /// Not exactly one category per column.
    #[error(
        "the categories must be {dim} numbers, one per column of the inputs (0 for a column that is no category), got {got}"
    )]
    CategoriesCount {
        /// Numbers per sample.
        dim: usize,
        /// Categories.
        got: usize,
    },
    /// Columns of a category that do not exclude each other.
    #[error(
        "the columns of category {category} must be one-hot: two numbers per column, and the larger one at most once per row, got {} in row {row}, \
         column {column} (counted from 0)", Readable(*got)
    )]
    NotOneHot {
        /// Which category.
        category: usize,
        /// The first such row.
        row: usize,
        /// The first column at fault.
        column: usize,
        /// Its number.
        got: f64,
    },
    /// A table in which no column can move.
    #[error(
        "no probe can move any of the {columns} columns: those that hold whole numbers only are left alone by standard deviations and move in \
         whole steps by radii, categories change among those that the inputs have, and constant columns do not move"
    )]
    NothingMoves {
        /// Columns of the inputs.
        columns: usize,
    },
    /// A precision that is not a share of the samples.
    #[error("the precision of a probe must be above 0 and below 1 (100 %), got {}", Readable(*got))]
    Precision {
        /// The precision asked for.
        got: f64,
    },
    /// A model with a single output has no margins.
    #[error("a margin needs at least 2 outputs per sample, got {outputs}")]
    NoMargin {
        /// Numbers per output.
        outputs: usize,
    },
    /// A model whose number of outputs changes from one call to another.
    #[error(
        "the model must return the same number of outputs for every batch, got {got} in batch {batch} (counted from 0) after {expected} in the first"
    )]
    OutputWidth {
        /// Which call of the model, counted from 0.
        batch: usize,
        /// Numbers per output of the first.
        expected: usize,
        /// Numbers per output of this one.
        got: usize,
    },
    /// A variant whose shape is not that of the samples.
    #[error(
        "a variant must have the shape of the samples, {} × {}, got {} × {} in variant {variant} (counted from 0)",
        expected[0], expected[1], got[0], got[1]
    )]
    VariantShape {
        /// Which variant, counted from 0.
        variant: usize,
        /// Samples, and numbers per sample.
        expected: [usize; 2],
        /// What was returned.
        got: [usize; 2],
    },
    /// The probes of a search are not a random cloud around a sample.
    #[error("a probed manifold needs random probes (pixel, block or smooth), got a search")]
    ProbedManifold,
}
