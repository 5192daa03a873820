//! What several test files share.

pub(crate) mod data_folder;
pub(crate) mod distances;
pub(crate) mod fixtures;
pub(crate) mod memory;
pub(crate) mod real;
pub(crate) mod resistance;

use proptest::test_runner::{Config, RngSeed};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::eigen::{EigenMethod, EigenParams, GeneralizedEigenpairs, dominant_eigenpairs};
use spadework::graph::ConnectedGraph;
use spadework::scores::{EdgeScores, NodeScores, SpectralEmbedding};
use spadework::{Graph, GraphPair, Monitor, PairedSamples, Samples};

/// Asks to stop from the beginning.
pub(crate) struct Stopped;

impl Monitor for Stopped {
    fn is_cancelled(&self) -> bool {
        true
    }
}

/// Proptest with a fixed seed, so that the suite cannot fail by chance on somebody else's change. Another one is
/// explored by setting `PROPTEST_RNG_SEED`.
pub(crate) fn laws(cases: u32) -> Config {
    let mut config = Config { cases, failure_persistence: None, ..Config::default() };
    if matches!(config.rng_seed, RngSeed::Random) {
        config.rng_seed = RngSeed::Fixed(2021);
    }
    config
}

/// Input and output graph, named so that they cannot be swapped by accident.
pub(crate) fn pair(input: Graph, output: Graph) -> GraphPair {
    let output = ConnectedGraph::new(output).expect("the output graph of a test is connected");
    GraphPair::new(input, output).expect("both graphs have the same nodes")
}

/// Eigenpairs by a given method and tolerance.
pub(crate) fn solve(
    graphs: &GraphPair,
    method: EigenMethod,
    eigenpairs: usize,
    tolerance: f64,
) -> GeneralizedEigenpairs {
    let params =
        EigenParams::default().with_eigenpairs(eigenpairs).with_tolerance(tolerance).with_method(method);
    let pairs = dominant_eigenpairs(graphs, &params).expect("converges");
    assert_eq!(pairs.len(), eigenpairs);
    for (i, residual) in pairs.residuals().iter().enumerate() {
        assert!(*residual <= tolerance, "pair {i}: residual {residual:e} above the tolerance {tolerance:e}");
    }
    pairs
}

/// Edge scores of eigenpairs.
pub(crate) fn edge_scores(graphs: &GraphPair, pairs: &GeneralizedEigenpairs) -> EdgeScores {
    EdgeScores::from_embedding(graphs.input(), &SpectralEmbedding::from_eigenpairs(pairs))
}

/// Node scores of eigenpairs.
pub(crate) fn node_scores(graphs: &GraphPair, pairs: &GeneralizedEigenpairs) -> NodeScores {
    NodeScores::from_edges(graphs.input(), &edge_scores(graphs, pairs))
}

/// |got − want| ≤ relative · |want|.
#[track_caller]
pub(crate) fn assert_relative(got: f64, want: f64, relative: f64, what: &str) {
    let error = (got - want).abs();
    assert!(error <= relative * want.abs(), "{what}: got {got}, want {want}, off by {error:e}");
}

/// Two sequences of numbers, entry by entry, to a relative error.
#[track_caller]
pub(crate) fn assert_all_relative(got: &[f64], want: &[f64], relative: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        assert_relative(got, want, relative, &format!("{what} [{i}]"));
    }
}

/// The bits of floating-point numbers: equality of these is equality to the last digit, NaN included.
pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// A generator for test data.
pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A standard normal number.
pub(crate) fn gaussian(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// Standard normal numbers.
pub(crate) fn gaussians(count: usize, rng: &mut impl Rng) -> Vec<f64> {
    (0..count).map(|_| gaussian(rng)).collect()
}

/// A smooth but uneven map of Gaussian points: connected graphs, and no two distances alike.
pub(crate) fn smooth_model(samples: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    const INPUT_DIM: usize = 6;
    const OUTPUT_DIM: usize = 3;
    let mut rng = rng(seed);
    let inputs = gaussians(samples * INPUT_DIM, &mut rng);
    let weights = gaussians(INPUT_DIM * OUTPUT_DIM, &mut rng);
    let output = |row: &[f64], j: usize| {
        row.iter().enumerate().map(|(i, x)| x * weights[i * OUTPUT_DIM + j]).sum::<f64>().tanh()
    };
    let outputs =
        inputs.chunks_exact(INPUT_DIM).flat_map(|row| (0..OUTPUT_DIM).map(move |j| output(row, j))).collect();
    (inputs, outputs)
}

/// Pairs arrays whose dimensions follow from their lengths.
pub(crate) fn paired<'a>(samples: usize, inputs: &'a [f64], outputs: &'a [f64]) -> PairedSamples<'a> {
    let side =
        |values: &'a [f64]| Samples::from_f64(samples, values.len() / samples, values).expect("finite");
    PairedSamples::new(side(inputs), side(outputs)).expect("both sides have shape")
}

/// Rows in another order: row i of the result is row `order[i]`.
pub(crate) fn reordered(values: &[f64], order: &[usize]) -> Vec<f64> {
    let dim = values.len() / order.len();
    order.iter().flat_map(|&row| values[row * dim..(row + 1) * dim].iter().copied()).collect()
}

/// A random order of 0..n.
pub(crate) fn shuffled(n: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}
