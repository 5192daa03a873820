//! The same seed gives the same bits whatever the number of threads, and the result does not depend on the seed or on
//! the order of the samples beyond its tolerance.

use std::num::NonZeroUsize;

use crate::support::resistance::{PseudoInverse, root_score_error, score_error};
use crate::support::{
    assert_all_relative, bits, node_scores, paired, reordered, rng, shuffled, smooth_model, solve,
};
use rand::RngExt;
use rayon::ThreadPoolBuilder;
use spadework::eigen::{Certainty, EigenMethod, EigenParams, EigenProblem};
use spadework::graph::ConnectedGraph;
use spadework::graph::generators::grid;
use spadework::kernels::{Kernels, with_kernels};
use spadework::{Graph, GraphPair, PairedSamples, Silent, SpadeParams, SpadeReport, evaluate};

const THREADS: [usize; 3] = [1, 2, 8];

/// Everything a run yields, as bits.
#[derive(Debug, PartialEq)]
struct Bits {
    values: Vec<u64>,
    vectors: Vec<Vec<u64>>,
    residuals: Vec<u64>,
    node_scores: Vec<u64>,
    enclosure: [u64; 2],
}

impl Bits {
    fn of_report(report: &SpadeReport) -> Self {
        Self {
            values: bits(report.eigenpairs.values()),
            vectors: report.eigenpairs.vectors().iter().map(|v| bits(v)).collect(),
            residuals: bits(report.eigenpairs.residuals()),
            node_scores: bits(report.node_scores.scores()),
            enclosure: [report.enclosure.lower.to_bits(), report.enclosure.upper.to_bits()],
        }
    }

    /// The spectral part alone, in a pool of its own.
    fn of_graphs(graphs: &GraphPair, params: &EigenParams, threads: usize) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let problem = EigenProblem::new(graphs, params.seed);
            let pairs = problem.dominant_eigenpairs(params, &Silent).unwrap();
            assert_eq!(pairs.info().method, EigenMethod::Davidson);
            let enclosure = problem.enclose(&pairs, Certainty::Probable, params.seed, &Silent).unwrap();
            Self {
                values: bits(pairs.values()),
                vectors: pairs.vectors().iter().map(|v| bits(v)).collect(),
                residuals: bits(pairs.residuals()),
                node_scores: bits(node_scores(graphs, &pairs).scores()),
                enclosure: [enclosure.lower.to_bits(), enclosure.upper.to_bits()],
            }
        })
    }
}

/// Says where two runs part rather than printing both.
fn assert_same_bits(a: &Bits, b: &Bits, what: &str) {
    assert_eq!(a.values, b.values, "{what}: eigenvalues");
    assert!(a.vectors == b.vectors, "{what}: vectors");
    assert_eq!(a.residuals, b.residuals, "{what}: residuals");
    assert!(a.node_scores == b.node_scores, "{what}: node scores");
    assert_eq!(a.enclosure, b.enclosure, "{what}: enclosure");
}

fn report(samples: &PairedSamples<'_>, seed: u64, threads: Option<usize>, tolerance: f64) -> SpadeReport {
    let threads = threads.map(|threads| NonZeroUsize::new(threads).unwrap());
    evaluate(
        samples,
        &SpadeParams::default().with_seed(seed).with_threads(threads).with_tolerance(tolerance),
        &Silent,
    )
    .unwrap()
}

/// A chain in which every node knows its next two, with a few long chords; the output is a grid with chords of its own.
/// Large enough for the parallel paths, which begin at 32,768 rows.
fn large_graphs() -> GraphPair {
    const SIDE: usize = 200;
    let nodes = (SIDE * SIDE) as u32;
    let mut rng = rng(5);
    let mut chords = |count: usize| -> Vec<(u32, u32)> {
        let ends = (0..count).map(|_| (rng.random_range(0..nodes), rng.random_range(0..nodes)));
        ends.filter(|(p, q)| p != q).collect()
    };
    let chain = (1..=2).flat_map(|step| (step..nodes).map(move |q| (q - step, q)));
    let input: Vec<_> = chain.chain(chords(50)).collect();
    let lattice = grid(SIDE, SIDE);
    let output: Vec<_> = lattice.edges().map(|(p, q, _)| (p, q)).chain(chords(4000)).collect();
    let output = ConnectedGraph::new(Graph::from_edges(nodes as usize, &output).unwrap()).unwrap();
    GraphPair::new(Graph::from_edges(nodes as usize, &input).unwrap(), output).unwrap()
}

#[test]
fn threads_do_not_change_a_bit_of_3000_samples() {
    let (inputs, outputs) = smooth_model(3000, 1);
    let samples = paired(3000, &inputs, &outputs);
    let [one, two, eight] = THREADS.map(|threads| Bits::of_report(&report(&samples, 7, Some(threads), 1e-6)));
    assert_same_bits(&one, &two, "1 and 2 threads");
    assert_same_bits(&one, &eight, "1 and 8 threads");
    assert_same_bits(
        &one,
        &Bits::of_report(&report(&samples, 7, None, 1e-6)),
        "1 thread and the global pool",
    );
}

#[test]
fn threads_do_not_change_a_bit_of_40000_nodes() {
    let graphs = large_graphs();
    let params = EigenParams::default().with_tolerance(1e-3).with_seed(3);
    let [one, two, eight] = THREADS.map(|threads| Bits::of_graphs(&graphs, &params, threads));
    assert_same_bits(&one, &two, "1 and 2 threads");
    assert_same_bits(&one, &eight, "1 and 8 threads");
}

#[test]
fn the_same_seed_gives_the_same_bits_again() {
    let (inputs, outputs) = smooth_model(800, 2);
    let samples = paired(800, &inputs, &outputs);
    let again = || Bits::of_report(&report(&samples, 11, None, 1e-6));
    assert_same_bits(&again(), &again(), "two runs");
}

/// Another seed takes another way to the same eigenvalues: each run's residual bounds its error.
#[test]
fn another_seed_gives_the_same_eigenvalues() {
    let (inputs, outputs) = smooth_model(800, 2);
    let samples = paired(800, &inputs, &outputs);
    let tolerance = 1e-8;
    let runs = [0, 1, u64::MAX].map(|seed| report(&samples, seed, None, tolerance));
    for run in &runs[1..] {
        assert_all_relative(
            run.eigenpairs.values(),
            runs[0].eigenpairs.values(),
            2.0 * tolerance,
            "another seed",
        );
    }
    let vectors = runs.each_ref().map(|run| bits(&run.eigenpairs.vectors()[0]));
    assert_ne!(vectors[0], vectors[1], "the seed is used: the last bits of the vectors differ");
}

/// Kernels add in the same order on every instruction set, and none of them fuses a multiplication with an addition.
#[test]
fn another_instruction_set_does_not_change_a_bit() {
    let (inputs, outputs) = smooth_model(800, 2);
    let samples = paired(800, &inputs, &outputs);
    // Threads of the run's own run the same kernels.
    let run = |kernels| with_kernels(kernels, || report(&samples, 0, Some(2), 1e-8)).unwrap();
    let plain = run(Kernels::Scalar);
    for kernels in Kernels::available() {
        let run = run(kernels);
        assert_eq!(run.graphs.input(), plain.graphs.input(), "{kernels}");
        assert_eq!(run.graphs.output(), plain.graphs.output(), "{kernels}");
        assert_same_bits(&Bits::of_report(&run), &Bits::of_report(&plain), &kernels.to_string());
    }
}

/// Scores belong to samples, not to rows. The bits may differ, since sums run in another order; how far is bounded by
/// residuals and gaps (see [`root_score_error`]).
#[test]
fn permuting_samples_permutes_node_scores() {
    let samples = 600;
    let (inputs, outputs) = smooth_model(samples, 3);
    let order = shuffled(samples, &mut rng(4));
    let tolerance = 1e-10;
    let plain = report(&paired(samples, &inputs, &outputs), 0, None, tolerance);
    let (inputs, outputs) = (reordered(&inputs, &order), reordered(&outputs, &order));
    let moved = report(&paired(samples, &inputs, &outputs), 0, None, tolerance);
    assert_all_relative(moved.eigenpairs.values(), plain.eigenpairs.values(), 2.0 * tolerance, "eigenvalues");

    let next = solve(&plain.graphs, EigenMethod::Davidson, 3, 1e-6).values()[2] * (1.0 + 1e-6);
    let root_error = root_score_error(&plain.eigenpairs, next) + root_score_error(&moved.eigenpairs, next);
    let resistance = PseudoInverse::of(plain.graphs.output());
    let mut allowed = vec![0.0_f64; samples];
    for (&(p, q), &score) in plain.edge_scores.edges().iter().zip(plain.edge_scores.scores()) {
        let error = score_error(score, root_error * resistance.resistance(p, q).sqrt());
        for end in [p, q] {
            allowed[end as usize] = allowed[end as usize].max(error);
        }
    }
    for (row, &sample) in order.iter().enumerate() {
        let (got, want) = (moved.node_scores.scores()[row], plain.node_scores.scores()[sample]);
        assert!(
            (got - want).abs() <= allowed[sample],
            "sample {sample}: {got}, want {want} ± {:e}",
            allowed[sample]
        );
        // The bound must be worth something: six digits of the model score.
        assert!(allowed[sample] <= 1e-6 * plain.model_score.0, "{:e}", allowed[sample]);
    }
}
