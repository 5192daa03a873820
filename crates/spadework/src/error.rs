//! What can go wrong, with the numbers in it.

use crate::side::Side;

/// Result of the core's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which scoring can fail. Messages say what was expected, then what was given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array without rows or without columns.
    #[error("an array must have at least one row and one column, got {rows} × {columns}")]
    Empty {
        /// Rows of the array.
        rows: usize,
        /// Columns of the array.
        columns: usize,
    },
    /// A single sample has no neighbors.
    #[error("at least 2 samples are needed, got {samples}")]
    TooFewSamples {
        /// Number of samples given.
        samples: usize,
    },
    /// More samples than node indices.
    #[error("at most {limit} samples can be indexed, got {samples}")]
    TooManySamples {
        /// Number of samples given.
        samples: usize,
        /// Largest number that can be indexed.
        limit: usize,
    },
    /// The slice does not have rows × columns values.
    #[error("an array of {rows} × {columns} must hold {expected} values, got {got}", expected = rows.saturating_mul(*columns))]
    WrongLength {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Values in the slice.
        got: usize,
    },
    /// A NaN or an infinity.
    #[error("every value must be finite, got {value} at row {row}, column {column} (both counted from 0)")]
    NonFinite {
        /// Row of the first such value, counted from 0.
        row: usize,
        /// Column of it, counted from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// Values so large that squared distances overflow.
    #[error(
        "values must be small enough that squared distances are finite, got {value:e} at row {row}, column {column} (both counted from 0)"
    )]
    TooLarge {
        /// Row of the first such value, counted from 0.
        row: usize,
        /// Column of it, counted from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// Samples so close to each other that squared distances underflow.
    #[error(
        "squared distances between different {side} samples must not underflow in double precision, but the neighbors of most samples depend on such distances, e.g. between samples {} and {} (counted from 0), which differ by less than about 1e-154; multiply the columns with such numbers by a constant, or set the numbers to 0; of probabilities, give the logarithms",
        rows[0],
        rows[1]
    )]
    TooClose {
        /// The side.
        side: Side,
        /// Two such samples.
        rows: [usize; 2],
    },
    /// Edge weights so far from 1 that scores leave the range of numbers.
    #[error(
        "scores must lie within the range of double precision, but edge weights of up to {input:e} in the input graph and {output:e} in the output graph lead outside it; multiply the weights of one graph by a constant"
    )]
    WeightRange {
        /// Largest weight of the input graph.
        input: f64,
        /// Largest weight of the output graph.
        output: f64,
    },
    /// Inputs and outputs of different length.
    #[error(
        "inputs and outputs must have the same number of rows, got {input_rows} inputs and {output_rows} outputs"
    )]
    ShapeMismatch {
        /// Rows of the inputs.
        input_rows: usize,
        /// Rows of the outputs.
        output_rows: usize,
    },
    /// There is not one label per sample.
    #[error("labels must have one entry per sample ({samples}), got {labels}")]
    LabelCount {
        /// Number of samples.
        samples: usize,
        /// Number of labels.
        labels: usize,
    },
    /// All rows of one side are the same point, so neighbors are not defined.
    #[error("the {side}s must differ between samples, but all {samples} rows are equal")]
    AllEqual {
        /// The side.
        side: Side,
        /// Number of samples.
        samples: usize,
    },
    /// Rows without a direction, under the cosine metric.
    #[error(
        "cosine distances need rows that are not zero, but {count} of the {side}s {} (row {rows}, counted from 0); remove them or choose another metric",
        if *count == 1 { "is" } else { "are" }
    )]
    ZeroRows {
        /// The side.
        side: Side,
        /// How many.
        count: usize,
        /// The first of them, counted from 0.
        rows: String,
    },
    /// A metric that sparse rows do not support.
    #[error(
        "sparse rows are compared by the euclidean or the cosine distance, got {metric}; other metrics need dense rows"
    )]
    SparseMetric {
        /// The metric asked for.
        metric: String,
    },
    /// Columns that cannot be divided by their interquartile range.
    #[error(
        "robust standardization divides by the range of the middle half, which is 0 in {count} {} (column {columns}, counted from 0); use `standard`, or remove such columns",
        if *count == 1 {
            format!("column of the {side}s though it is not constant")
        } else {
            format!("columns of the {side}s though they are not constant")
        }
    )]
    NoSpread {
        /// The side.
        side: Side,
        /// How many.
        count: usize,
        /// The first of them, counted from 0.
        columns: String,
    },
    /// Principal components under a metric that rotations do not preserve.
    #[error(
        "principal components preserve Euclidean distances, so `pca` needs the euclidean or the cosine metric for the inputs, got {metric}"
    )]
    ProjectedMetric {
        /// The metric, in a word.
        metric: String,
    },
    /// `neighbors` is zero.
    #[error("`neighbors` must be at least 1, got 0")]
    NoNeighbors,
    /// `neighbors` does not fit the data.
    #[error("`neighbors` must be smaller than the number of samples ({samples}), got {neighbors}")]
    TooManyNeighbors {
        /// Neighbors asked for.
        neighbors: usize,
        /// Number of samples.
        samples: usize,
    },
    /// `eigenpairs` is zero.
    #[error("`eigenpairs` must be at least 1, got 0")]
    NoEigenpairs,
    /// `eigenpairs` does not fit the data.
    #[error("`eigenpairs` must be smaller than the number of samples ({samples}), got {eigenpairs}")]
    TooManyEigenpairs {
        /// Eigenpairs asked for.
        eigenpairs: usize,
        /// Number of samples.
        samples: usize,
    },
    /// The input graph has so many components that its Laplacian has too small a rank.
    #[error("`eigenpairs` must be at most the number of positive eigenvalues ({positive}), got {eigenpairs}")]
    TooFewEigenvalues {
        /// Eigenpairs asked for.
        eigenpairs: usize,
        /// Number of nodes minus number of components of the input graph.
        positive: usize,
    },
    /// Stored eigenpairs with too many or too few numbers.
    #[error("there must be {expected} {what}, got {got}")]
    StoredShape {
        /// What is counted.
        what: &'static str,
        /// How many there must be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// Stored numbers that are not an eigenpair of the graphs.
    #[error("eigenpair {}: {what} must be {}, got {}", pair + 1, Readable(*expected), Readable(*got))]
    StoredEigenpair {
        /// Which, counted from 0.
        pair: usize,
        /// What is wrong with it.
        what: &'static str,
        /// What must hold.
        expected: f64,
        /// What was found.
        got: f64,
    },
    /// A tolerance outside what double precision can reach.
    #[error("`tolerance` must lie between {least:e} and {most:e}, got {got:e}")]
    Tolerance {
        /// Smallest tolerance accepted.
        least: f64,
        /// Largest tolerance accepted.
        most: f64,
        /// Tolerance asked for.
        got: f64,
    },
    /// An edge that a graph cannot hold.
    #[error(
        "edge {index} must join two different nodes below {nodes} with a positive finite weight, got {p}–{q} with weight {}", Readable(*weight)
    )]
    BadEdge {
        /// Position of the edge in the list given.
        index: usize,
        /// One end.
        p: u32,
        /// The other end.
        q: u32,
        /// Its weight.
        weight: f64,
        /// Number of nodes of the graph.
        nodes: usize,
    },
    /// A node that does not exist.
    #[error("a node must be below {nodes}, got {node}")]
    BadNode {
        /// The node.
        node: u32,
        /// Number of nodes of the graph.
        nodes: usize,
    },
    /// A pair whose nodes are equal or do not exist.
    #[error("pair {index} must name two different nodes below {nodes}, got {p} and {q}")]
    BadPair {
        /// Position of the pair in the list given.
        index: usize,
        /// One node.
        p: u32,
        /// The other node.
        q: u32,
        /// Number of nodes of the graph.
        nodes: usize,
    },
    /// Too few edges to compare the top ones with as many others, or none asked for.
    #[error(
        "`top` must be at least 1 and at most half the number of input edges ({edges}), so that the same number of random edges can be drawn, got {top}"
    )]
    TopEdges {
        /// Edges of the input graph.
        edges: usize,
        /// Top edges asked for.
        top: usize,
    },
    /// What was asked for needs resistances in the input graph, which is disconnected.
    #[error(
        "distances in the input graph need it connected, but it has {components} components (the largest has {largest} of {nodes} nodes)"
    )]
    InputDisconnected {
        /// Number of components.
        components: usize,
        /// Nodes in the largest of them.
        largest: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// An error that a random projection cannot have.
    #[error(
        "the relative error of a sketch must lie between {least} and {most} and fail with a probability between 0 and 1, got {} and {}", Readable(*got), Readable(*failure)
    )]
    SketchError {
        /// Smallest error accepted.
        least: f64,
        /// Largest error accepted.
        most: f64,
        /// Error asked for.
        got: f64,
        /// Probability of failure asked for.
        failure: f64,
    },
    /// Two graphs that should share their nodes do not.
    #[error("the input and output graph must have the same nodes, got {input} and {output}")]
    GraphMismatch {
        /// Nodes of the input graph.
        input: usize,
        /// Nodes of the output graph.
        output: usize,
    },
    /// A graph is disconnected, and the policy does not allow to connect it.
    #[error(
        "the {side} graph must be connected, but with {neighbors} neighbors it has {components} components (the largest has {largest} of {samples} samples)"
    )]
    Disconnected {
        /// The side that is disconnected.
        side: Side,
        /// Number of components.
        components: usize,
        /// Samples in the largest of them.
        largest: usize,
        /// Number of samples.
        samples: usize,
        /// Neighbors with which this was found.
        neighbors: usize,
    },
    /// A graph given by the caller is disconnected, and there are no samples to connect it with.
    #[error(
        "the {side} graph must be connected, but the given graph has {components} components (the largest has {largest} of \
         {nodes} nodes)"
    )]
    GivenDisconnected {
        /// The side that is disconnected.
        side: Side,
        /// Number of components.
        components: usize,
        /// Nodes in the largest of them.
        largest: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A graph would need neighbor lists beyond the memory that is allowed for them.
    #[error(
        "the {side} graph needs more than {neighbors} neighbors, and longer neighbor lists of {samples} samples would hold more than {limit} entries"
    )]
    GrownTooFar {
        /// The side.
        side: Side,
        /// Neighbors tried last.
        neighbors: usize,
        /// Number of samples.
        samples: usize,
        /// Entries allowed.
        limit: usize,
    },
    /// A number in a kind of graph is out of range.
    #[error("`graph` must be {expected}, got {got}")]
    GraphKind {
        /// What would be right.
        expected: &'static str,
        /// The kind asked for, in words.
        got: String,
    },
    /// More principal components than exist.
    #[error("`pca` must keep at most {most} dimensions of {samples} inputs of {dim} numbers, got {got}")]
    TooManyDimensions {
        /// Most components there can be.
        most: usize,
        /// Number of samples.
        samples: usize,
        /// Numbers per sample.
        dim: usize,
        /// Components asked for.
        got: usize,
    },
    /// Principal components of so many numbers of so many samples are beyond a dense decomposition.
    #[error(
        "`pca` must have at most {limit} samples or {limit} numbers per sample, got {samples} samples of {dim} numbers"
    )]
    ProjectionTooLarge {
        /// Number of samples.
        samples: usize,
        /// Numbers per sample.
        dim: usize,
        /// Largest value allowed for the smaller of the two.
        limit: usize,
    },
    /// An iteration did not reach its tolerance.
    #[error("{}", not_converged(what, *iterations, residuals, *tolerance, *condition))]
    NotConverged {
        /// What was iterated.
        what: &'static str,
        /// Iterations done.
        iterations: usize,
        /// Relative residual of each quantity asked for.
        residuals: Vec<f64>,
        /// Tolerance asked for.
        tolerance: f64,
        /// The condition number of the output graph's Laplacian is at least this, where that is known.
        condition: Option<f64>,
    },
    /// The check of the upper bound found an eigenvalue that the iteration had missed.
    #[error("the eigenpairs must include the largest eigenvalue, but {} was found above {}", Readable(*found), Readable(*reported))]
    MissedEigenvalue {
        /// Largest eigenvalue of the eigenpairs.
        reported: f64,
        /// A lower bound of one that is missing.
        found: f64,
    },
    /// A proof of the upper bound was asked for and is too large for this machine.
    #[error(
        "a certificate for {samples} samples would need a factor of {entries} entries, more than the {limit} allowed"
    )]
    CertificateTooLarge {
        /// Number of samples.
        samples: usize,
        /// Entries of the factor.
        entries: usize,
        /// Entries allowed.
        limit: usize,
    },
    /// A proof of the upper bound was requested but not found.
    #[error("no certificate was found: μ·L_Y − L_X could not be proved positive definite up to μ = {}", Readable(*tried))]
    NotCertified {
        /// Largest bound tried.
        tried: f64,
    },
    /// An error about one of several models.
    #[error("model `{model}`: {cause}")]
    InModel {
        /// The model's name.
        model: String,
        /// What is wrong.
        cause: Box<Error>,
    },
    /// Two models with the same name, or a model without one.
    #[error("models must have names that differ, got {}", if name.is_empty() { "an empty one".to_owned() } else { format!("`{name}` twice") })]
    ModelName {
        /// The name.
        name: String,
    },
    /// Fewer models than are needed.
    #[error("at least {needed} models are needed, got {got}")]
    TooFewModels {
        /// Models needed.
        needed: usize,
        /// Models given.
        got: usize,
    },
    /// The numbers of neighbors of a sweep are not in order.
    #[error("the numbers of neighbors of a sweep must ascend from at least 1, got {next} after {previous}")]
    SweepOrder {
        /// The number before; 0 at the start.
        previous: usize,
        /// The number that is not above it.
        next: usize,
    },
    /// An interval was requested for models whose inputs are a graph.
    #[error("an interval needs the samples of both sides, but the inputs are given as a graph")]
    SubsampledGraph,
    /// Half of the samples are too few for their neighbors.
    #[error(
        "an interval draws half of the samples, which must be more than `neighbors` ({neighbors}), got {size}"
    )]
    SmallSubsample {
        /// Samples in a subsample.
        size: usize,
        /// Neighbors asked for.
        neighbors: usize,
    },
    /// New samples against graphs that they do not know how to join.
    #[error(
        "new samples can only join knn graphs with unit weights, but those of the reference are {graph} with {weights} weights"
    )]
    ReferenceGraphs {
        /// How the graphs were made, in words.
        graph: String,
        /// What their edges weigh, in a word.
        weights: String,
    },
    /// Blocks of samples with different numbers per sample.
    #[error("both blocks must have the same numbers per sample ({expected}), got {got}")]
    BlockDim {
        /// Numbers per sample of the block that is searched.
        expected: usize,
        /// Numbers per query.
        got: usize,
    },
    /// New samples with other numbers per sample than the reference.
    #[error("new {side}s must have the {expected} numbers per sample of the reference, got {got}")]
    ReferenceDim {
        /// The side.
        side: Side,
        /// Numbers per sample of the reference.
        expected: usize,
        /// Numbers per new sample.
        got: usize,
    },
    /// Reference samples whose squared distances underflow.
    #[error(
        "reference samples must have numbers whose squares are not lost in double precision (from about 1e-120 on); multiply the reference and the new samples by the same constant"
    )]
    TooSmallReference,
    /// A step that needs more memory than is available.
    #[error("{what} would need {} of memory, more than this process can get", size_in_words(*bytes as u64))]
    NoRoom {
        /// The step.
        what: &'static str,
        /// What it would allocate.
        bytes: usize,
    },
    /// The requested threads could not be started.
    #[error("`threads` = {threads} could not be started")]
    Threads {
        /// Threads asked for.
        threads: usize,
    },
    /// Kernels that are unknown, or that this machine cannot run.
    #[error("SPADEWORK_KERNELS must be one of {available} on this machine, got {got}")]
    Kernels {
        /// What was asked for.
        got: String,
        /// The kernels that can run here.
        available: String,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Cancelled,
}

/// A number of bytes in the words of a message: `7.5 GiB`, `120 MiB`.
pub fn size_in_words(bytes: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let mib = bytes as f64 / MIB;
    if mib < 1024.0 { format!("{:.0} MiB", mib.max(1.0)) } else { format!("{:.1} GiB", mib / 1024.0) }
}

/// A number for a message: without hundreds of zeros.
///
/// ```
/// use spadework::error::Readable;
/// assert_eq!(format!("{} {}", Readable(0.25), Readable(-1e-200)), "0.25 -1e-200");
/// ```
///
/// Nothing is rounded: what reads the text gets the same number.
#[derive(Debug, Clone, Copy)]
pub struct Readable(pub f64);

impl std::fmt::Display for Readable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(value) = self;
        let is_short = *value == 0.0 || !value.is_finite() || (1e-7..1e17).contains(&value.abs());
        if is_short { write!(f, "{value}") } else { write!(f, "{value:e}") }
    }
}

/// A residual that is NaN says that the arithmetic failed, not how far it came; and so does one that is small enough and yet
/// was not accepted.
fn not_converged(
    what: &str,
    iterations: usize,
    residuals: &[f64],
    tolerance: f64,
    condition: Option<f64>,
) -> String {
    let worst = residuals.iter().copied().fold(0.0, |worst: f64, residual| {
        if residual.is_nan() { f64::INFINITY } else { worst.max(residual) }
    });
    let after = if iterations > 0 { format!(" after {iterations} iterations") } else { String::new() };
    let condition = condition.map_or_else(String::new, |condition| {
        format!("; the condition number of the output graph is at least {condition:.1e}")
    });
    if worst.is_infinite() || worst <= tolerance {
        return format!(
            "{what} failed{after}: rounding errors exceed the result, because the edge weights of the output graph differ too much or hardly connect it{condition}"
        );
    }
    format!("{what} must reach a relative residual of {tolerance:e}, got {worst:e}{after}{condition}")
}

impl Error {
    /// The same error with the name of the model. Cancellation is not about a model.
    #[must_use]
    pub fn in_model(self, model: &str) -> Self {
        match self {
            Error::Cancelled | Error::InModel { .. } => self,
            cause => Error::InModel { model: model.to_owned(), cause: Box::new(cause) },
        }
    }
}

/// A word that is not one of the choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
#[non_exhaustive]
pub struct UnknownWord {
    /// The choices.
    pub expected: &'static str,
}

impl UnknownWord {
    /// An error that lists the choices.
    pub fn new(expected: &'static str) -> Self {
        Self { expected }
    }
}
