//! The kernels, for guarding against regressions: `cargo bench -p spadework`. Data are synthetic, seeds fixed; each id
//! names the size. How they compare with other programs is measured by `bench/run`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::eigen::{Certainty, EigenParams, EigenProblem};
use spadework::graph::ConnectedGraph;
use spadework::laplacian::{CgParams, Laplacian, LaplacianSolver};
use spadework::neighbors::{BruteForce, ExactSearch, NeighborSearch, ProductSearch, TreeSearch};
use spadework::scores::{EdgeScores, NodeScores, SpectralEmbedding};
use spadework::{Graph, GraphPair, Samples, Silent};
use std::hint::black_box;
use std::time::Duration;

const NEIGHBORS: usize = 10;
const SEED: u64 = 2021;

criterion_group! {
    name = kernels;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    targets = search, laplacian, eigen, scores
}
criterion_main!(kernels);

/// Rows near a subspace of few dimensions, as images are: variance falls off from axis to axis.
fn images(samples: usize, dim: usize) -> Samples<'static> {
    const LATENT: usize = 24;
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let axes: Vec<f32> = (0..LATENT * dim).map(|_| noise(&mut rng)).collect();
    let mut values = Vec::with_capacity(samples * dim);
    for _ in 0..samples {
        let latent: Vec<f32> = (0..LATENT).map(|axis| noise(&mut rng) / (1 + axis) as f32).collect();
        values.extend((0..dim).map(|column| {
            let signal: f32 = latent.iter().enumerate().map(|(axis, l)| l * axes[axis * dim + column]).sum();
            signal + 0.05 * noise(&mut rng)
        }));
    }
    Samples::from_f32(samples, dim, values).expect("finite values")
}

/// Points of ten overlapping clusters, as logits are.
fn logits(samples: usize, dim: usize, seed: u64) -> Samples<'static> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centers: Vec<f32> = (0..10 * dim).map(|_| noise(&mut rng)).collect();
    let mut values = Vec::with_capacity(samples * dim);
    for p in 0..samples {
        let center = &centers[p % 10 * dim..][..dim];
        values.extend(center.iter().map(|c| c + noise(&mut rng)));
    }
    Samples::from_f32(samples, dim, values).expect("finite values")
}

/// Uniform in (−1, 1), twice: a hump around zero.
fn noise(rng: &mut impl Rng) -> f32 {
    rng.random_range(-1.0..1.0) + rng.random_range(-1.0..1.0)
}

/// Neighbor graphs of two sets of clusters that have nothing to do with each other.
fn graphs(nodes: usize) -> GraphPair {
    let graph = |seed| {
        let lists = ExactSearch.search(&logits(nodes, 8, seed), NEIGHBORS, &Silent).expect("enough samples");
        Graph::from_neighbors(&lists, NEIGHBORS)
    };
    let output = ConnectedGraph::new(graph(SEED + 1)).expect("overlapping clusters are connected");
    GraphPair::new(graph(SEED), output).expect("the same nodes")
}

fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search");
    for samples in [images(2_000, 784), logits(5_000, 10, SEED)] {
        let size = format!("{}x{}", samples.len(), samples.dim());
        group.bench_function(BenchmarkId::new("exact", &size), |bencher| {
            bencher.iter(|| ExactSearch.search(black_box(&samples), NEIGHBORS, &Silent));
        });
    }
    let samples = logits(10_000, 10, SEED);
    let ways: [(&str, &dyn NeighborSearch); 2] = [("tree", &TreeSearch), ("products", &ProductSearch)];
    for (name, way) in ways {
        group.bench_function(BenchmarkId::new(name, "10000x10"), |bencher| {
            bencher.iter(|| way.search(black_box(&samples), NEIGHBORS, &Silent));
        });
    }
    let samples = images(1_000, 784);
    group.bench_function(BenchmarkId::new("brute_force", "1000x784"), |bencher| {
        bencher.iter(|| BruteForce.search(black_box(&samples), NEIGHBORS, &Silent));
    });
    group.finish();
}

fn laplacian(criterion: &mut Criterion) {
    let graphs = graphs(10_000);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let x: Vec<f64> = (0..graphs.nodes()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut group = criterion.benchmark_group("laplacian");
    let laplacian = Laplacian::of(graphs.input());
    group.bench_function(BenchmarkId::new("product", "10000xk10"), |bencher| {
        bencher.iter(|| laplacian.apply(black_box(&x)));
    });
    let solver = LaplacianSolver::new(Laplacian::of(graphs.output()), SEED);
    group.bench_function(BenchmarkId::new("panel_solve", "10000xk10"), |bencher| {
        bencher.iter(|| solver.solve(black_box(&x), &CgParams::default()));
    });
    group.bench_function(BenchmarkId::new("factor", "10000xk10"), |bencher| {
        bencher.iter(|| EigenProblem::new(black_box(&graphs), SEED));
    });
    group.finish();
}

fn eigen(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("eigen");
    for nodes in [2_000, 10_000] {
        let graphs = graphs(nodes);
        let problem = EigenProblem::new(&graphs, SEED);
        for eigenpairs in [2, 10] {
            let params = EigenParams::default().with_eigenpairs(eigenpairs);
            group.bench_function(
                BenchmarkId::new("pairs", format!("{nodes}xk10xr{eigenpairs}")),
                |bencher| {
                    bencher.iter(|| problem.dominant_eigenpairs(black_box(&params), &Silent));
                },
            );
        }
        let pairs = problem.dominant_eigenpairs(&EigenParams::default(), &Silent).expect("converges");
        group.bench_function(BenchmarkId::new("enclosure", format!("{nodes}xk10xr2")), |bencher| {
            bencher.iter(|| problem.enclose(black_box(&pairs), Certainty::Probable, SEED, &Silent));
        });
    }
    group.finish();
}

fn scores(criterion: &mut Criterion) {
    let graphs = graphs(10_000);
    let problem = EigenProblem::new(&graphs, SEED);
    let pairs = problem.dominant_eigenpairs(&EigenParams::default(), &Silent).expect("converges");
    criterion.bench_function("scores/edges_and_nodes/10000xk10xr2", |bencher| {
        bencher.iter(|| {
            let embedding = SpectralEmbedding::from_eigenpairs(black_box(&pairs));
            let edges = EdgeScores::from_embedding(graphs.input(), &embedding);
            NodeScores::from_edges(graphs.input(), &edges)
        });
    });
}
