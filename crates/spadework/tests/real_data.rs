//! Real images through real networks, against an independent oracle (NumPy and SciPy: exact neighbors, ARPACK with a
//! sparse factorization).
//!
//! Needs the folder in `SPADEWORK_DATA`; skipped, with a visible line, where that is not set.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::real::{self, CIFAR_PIXELS, CLASSES, MNIST_PIXELS};
use crate::support::{assert_all_relative, edge_scores, pair};
use spadework::eigen::{EigenParams, EigenProblem};
use spadework::graph::{Components, Connectivity};
use spadework::neighbors::{ExactSearch, NeighborLists, NeighborSearch, Ties};
use spadework::scores::{Contrast, DistanceKind, Distances, Distortion, draw_others, sparsest_cut};
use spadework::{Error, Graph, PairedSamples, Samples, Silent, SpadeParams, SpadeReport, evaluate};

const SAMPLES: usize = 10_000;

/// λ_1 and λ_2 of one model at one k, computed by SciPy and not by this crate.
struct Oracle {
    array: &'static str,
    /// k = 10.
    ten: [f64; 2],
    /// k = 20.
    twenty: [f64; 2],
}

impl Oracle {
    const fn new(array: &'static str, ten: [f64; 2], twenty: [f64; 2]) -> Self {
        Self { array, ten, twenty }
    }
}

const LENET5: [Oracle; 5] = [
    Oracle::new("lenet5_eps0.0", [41.466_795_34, 37.443_037_24], [39.468_540_58, 35.864_221_04]),
    Oracle::new("lenet5_eps0.1", [40.922_609_18, 30.245_812_82], [41.535_818_73, 28.650_173_40]),
    Oracle::new("lenet5_eps0.2", [40.627_578_60, 25.616_366_01], [39.586_417_76, 23.062_473_72]),
    Oracle::new("lenet5_eps0.3", [37.894_940_09, 22.100_863_65], [35.688_261_83, 20.304_015_89]),
    Oracle::new("lenet5_eps0.4", [34.454_820_13, 18.551_770_56], [35.671_290_36, 17.671_600_32]),
];

const RESNET18: [Oracle; 3] = [
    Oracle::new("resnet18_l2_eps0.0", [456.962_960_72, 345.499_983_07], [351.490_275_5, 244.753_094_85]),
    Oracle::new("resnet18_l2_eps0.5", [141.899_289_09, 103.648_789_19], [110.736_040_76, 69.412_019_56]),
    Oracle::new("resnet18_l2_eps1.0", [120.933_023_41, 93.880_011_25], [90.604_539_98, 66.317_144_71]),
];

/// The MNIST test images, where they and the logits of LeNet-5 are there.
fn mnist(test: &str) -> Option<(PathBuf, Samples<'static>)> {
    let folder = real::folder(test, &[real::MNIST, real::MNIST_LOGITS])?;
    let images = Samples::from_f32(SAMPLES, MNIST_PIXELS, real::mnist_test(&folder, SAMPLES)).unwrap();
    Some((folder, images))
}

/// The CIFAR-10 test images, where they and the logits of ResNet-18 are there.
fn cifar(test: &str) -> Option<(PathBuf, Samples<'static>)> {
    let folder = real::folder(test, &[real::CIFAR, real::CIFAR_LOGITS])?;
    let images = Samples::from_f32(SAMPLES, CIFAR_PIXELS, real::cifar_test(&folder, SAMPLES)).unwrap();
    Some((folder, images))
}

fn neighbors(samples: &Samples<'_>, k: usize) -> NeighborLists {
    ExactSearch.search(samples, k, &Silent).unwrap()
}

/// Compares every model of a file; the inputs are searched once, since the lists for 10 are prefixes of those for 20.
fn assert_agrees_with_oracle(folder: &Path, images: &Samples<'_>, file: &str, models: &[Oracle]) {
    let inputs = neighbors(images, 20);
    for model in models {
        let logits = Samples::from_f32(SAMPLES, CLASSES, real::logits(folder, file, model.array)).unwrap();
        let outputs = neighbors(&logits, 20);
        for (k, want) in [(10, model.ten), (20, model.twenty)] {
            let what = format!("{}, k = {k}", model.array);
            let graphs = pair(Graph::from_neighbors(&inputs, k), Graph::from_neighbors(&outputs, k));
            let problem = EigenProblem::new(&graphs, 0);
            let pairs = problem.dominant_eigenpairs(&EigenParams::default(), &Silent).unwrap();
            // The default tolerance of the residual, 1e-6, which bounds the relative error of a value.
            assert_all_relative(pairs.values(), &want, 1e-6, &what);
        }
    }
}

#[test]
fn lenet5_on_mnist_scores_what_the_oracle_says() {
    let Some((folder, images)) = mnist("LeNet-5 on MNIST against the oracle") else { return };
    assert_agrees_with_oracle(&folder, &images, "mnist_test_lenet5.npz", &LENET5);
}

#[test]
fn resnet18_on_cifar10_scores_what_the_oracle_says() {
    let Some((folder, images)) = cifar("ResNet-18 on CIFAR-10 against the oracle") else { return };
    assert_agrees_with_oracle(&folder, &images, "cifar10_test_resnet18.npz", &RESNET18);
}

/// The paper's Table 2 for every model of a file: top edges are pulled apart farther than random ones.
fn assert_top_edges_are_distorted_more(
    folder: &Path,
    images: &Samples<'_>,
    (file, models): (&str, &[Oracle]),
    kinds: &[DistanceKind],
) {
    const TOP: usize = 100;
    let inputs = neighbors(images, 10);
    for model in models {
        let logits = Samples::from_f32(SAMPLES, CLASSES, real::logits(folder, file, model.array)).unwrap();
        let output = Graph::from_neighbors(&neighbors(&logits, 10), 10);
        let graphs = pair(Graph::from_neighbors(&inputs, 10), output);
        let params = EigenParams::default().with_eigenpairs(1);
        let pairs = EigenProblem::new(&graphs, 0).dominant_eigenpairs(&params, &Silent).unwrap();
        let scores = edge_scores(&graphs, &pairs);
        let top =
            scores.top(TOP).into_iter().map(|edge| scores.edges().binary_search(&(edge.p, edge.q)).unwrap());
        let top: Vec<usize> = top.collect();
        let random = draw_others(scores.len(), &top, TOP, 0);
        let edges: Vec<_> = top.into_iter().chain(random).map(|at| scores.edges()[at]).collect();
        let distances = Distances::new(&graphs, 0).unwrap();
        for &kind in kinds {
            let ratios: Vec<f64> =
                distances.of_pairs(kind, &edges, &Silent).unwrap().iter().map(Distortion::ratio).collect();
            let contrast = Contrast::new(&ratios[..TOP], &ratios[TOP..], 0);
            let what = format!("{} {kind}: {contrast:?}", model.array);
            assert!(contrast.top.mean > contrast.random.mean && contrast.p_value < 0.01, "{what}");
        }
        let largest = distances.largest(&pairs, &scores, &Silent).unwrap();
        assert!(largest.tightness() <= 1.0, "{}: Theorem 1", model.array);
        let cut = sparsest_cut(&graphs, &pairs, &Silent).unwrap();
        assert!(cut.ratio() * pairs.values()[0] >= 1.0, "{}: Theorem 2", model.array);
    }
}

#[test]
fn top_edges_of_every_lenet5_are_distorted_more_than_random_ones() {
    let Some((folder, images)) = mnist("distortion on MNIST") else { return };
    let both = [DistanceKind::Geodesic, DistanceKind::Resistance];
    assert_top_edges_are_distorted_more(&folder, &images, ("mnist_test_lenet5.npz", &LENET5), &both);
}

#[test]
fn top_edges_of_every_resnet18_are_distorted_more_than_random_ones() {
    let Some((folder, images)) = cifar("distortion on CIFAR-10") else { return };
    // By resistance this does not hold for the two that were trained against attacks: a few images are neighbors of very
    // many others, and the resistance of their edges says how many rather than how far (docs/distances.md).
    let models: (&str, &[Oracle]) = ("cifar10_test_resnet18.npz", &RESNET18);
    assert_top_edges_are_distorted_more(&folder, &images, models, &[DistanceKind::Geodesic]);
}

/// All 50 million pairs of the first model, by a dense inverse of both Laplacians (NumPy, LAPACK): the largest distortion is
/// 4.022538546527556, of samples 2245 and 8903. The search finds it among some hundred candidates.
#[test]
fn the_search_finds_the_largest_distortion_of_all_pairs_on_mnist() {
    let Some((folder, images)) = mnist("γ_max on MNIST") else { return };
    let logits = real::logits(&folder, "mnist_test_lenet5.npz", "lenet5_eps0.0");
    let logits = Samples::from_f32(SAMPLES, CLASSES, logits).unwrap();
    let graph = |samples: &Samples<'_>| Graph::from_neighbors(&neighbors(samples, 10), 10);
    let graphs = pair(graph(&images), graph(&logits));
    let pairs = EigenProblem::new(&graphs, 0).dominant_eigenpairs(&EigenParams::default(), &Silent).unwrap();
    let distances = Distances::new(&graphs, 0).unwrap();
    let found = distances.largest(&pairs, &edge_scores(&graphs, &pairs), &Silent).unwrap().found;
    assert_eq!((found.p, found.q), (2245, 8903));
    // Both are good to ten digits; the dense inverse loses some to a condition of 10⁵.
    assert_all_relative(&[found.ratio()], &[4.022_538_546_527_556], 1e-9, "γ_max");
}

/// Samples used where graphs are taken apart: enough to be real, few enough to count every pair.
const SOME: usize = 1500;

/// Softmax, as many a model returns it: nearly all samples crowd into the ten corners, which fall apart at k = 10.
fn probabilities(logits: &[f32]) -> Vec<f32> {
    let softmax = |row: &[f32]| {
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let exponentials: Vec<f32> = row.iter().map(|v| (v - largest).exp()).collect();
        let sum: f32 = exponentials.iter().sum();
        exponentials.into_iter().map(move |v| v / sum)
    };
    logits.chunks_exact(CLASSES).flat_map(softmax).collect()
}

/// The same written down with three digits: most samples have more than ten exact copies, and distances tie.
fn permille(probabilities: &[f32]) -> Vec<f32> {
    probabilities.iter().map(|v| (v * 1000.0).round()).collect()
}

struct TornApart {
    images: Samples<'static>,
    outputs: Vec<(&'static str, Samples<'static>)>,
}

impl TornApart {
    /// None where there are no real data, which is said.
    fn load(policy: &str) -> Option<Self> {
        let what = format!("disconnected logits under `{policy}`");
        let folder = real::folder(&what, &[real::MNIST, real::MNIST_LOGITS])?;
        let images = Samples::from_f32(SOME, MNIST_PIXELS, real::mnist_test(&folder, SOME)).unwrap();
        let logits = real::logits(&folder, "mnist_test_lenet5.npz", "lenet5_eps0.0");
        let samples = |values: Vec<f32>| Samples::from_f32(SOME, CLASSES, values).unwrap();
        let probabilities = probabilities(&logits[..SOME * CLASSES]);
        let outputs =
            vec![("permille", samples(permille(&probabilities))), ("probabilities", samples(probabilities))];
        Some(Self { images, outputs })
    }

    /// Each pair of images and outputs, which must be disconnected at k = 10 or nothing is tested.
    fn cases(&self) -> impl Iterator<Item = (&'static str, PairedSamples<'static>, Components)> + '_ {
        self.outputs.iter().map(|(name, outputs)| {
            let components = Components::of(&Graph::from_neighbors(&neighbors(outputs, 10), 10));
            assert!(components.count() > 1, "{name} is in one piece");
            (*name, PairedSamples::new(self.images.clone(), outputs.clone()).unwrap(), components)
        })
    }

    /// The same with their reports at k = 10.
    fn evaluated(
        &self,
        connectivity: Connectivity,
    ) -> impl Iterator<Item = (&'static str, PairedSamples<'static>, Components, SpadeReport)> + '_ {
        self.cases().map(move |(name, samples, components)| {
            let report = evaluated(&samples, 10, connectivity).unwrap();
            (name, samples, components, report)
        })
    }
}

fn evaluated(
    samples: &PairedSamples<'_>,
    neighbors: usize,
    connectivity: Connectivity,
) -> Result<SpadeReport, Error> {
    evaluate(
        samples,
        // The lists that results are compared with here are by distance and index.
        &SpadeParams::default()
            .with_neighbors(neighbors)
            .with_connectivity(connectivity)
            .with_ties(Ties::Index),
        &Silent,
    )
}

#[test]
fn error_refuses_disconnected_logits_with_their_numbers() {
    let Some(torn) = TornApart::load("error") else { return };
    for (name, samples, components) in torn.cases() {
        match evaluated(&samples, 10, Connectivity::Error).unwrap_err() {
            Error::Disconnected { components: found, largest, samples, neighbors, .. } => {
                assert_eq!((found, largest), (components.count(), components.largest()), "{name}");
                assert_eq!((samples, neighbors), (SOME, 10), "{name}");
            }
            other => panic!("{name}: {other}"),
        }
    }
}

/// `grow` stops at the first k that connects both graphs, and then gives what that k gives by itself.
#[test]
fn grow_takes_the_smallest_k_that_connects_real_logits() {
    let Some(torn) = TornApart::load("grow") else { return };
    for (name, samples, components, grown) in torn.evaluated(Connectivity::Grow) {
        let connection = grown.diagnostics.connection;
        assert!(connection.used > 10, "{name}");
        assert_eq!(connection.output.components_found, components.count(), "{name}");
        let refused = evaluated(&samples, connection.used - 1, Connectivity::Error);
        assert!(matches!(refused, Err(Error::Disconnected { .. })), "{name}: a smaller k would have done");
        let direct = evaluated(&samples, connection.used, Connectivity::Error).unwrap();
        assert_eq!(direct.model_score, grown.model_score, "{name}");
        assert_eq!(direct.graphs, grown.graphs, "{name}");
    }
}

#[test]
fn bridge_joins_real_logits_by_a_minimum_spanning_forest() {
    let Some(torn) = TornApart::load("bridge") else { return };
    for (name, samples, components, report) in torn.evaluated(Connectivity::Bridge) {
        let connection = report.diagnostics.connection;
        assert_eq!(connection.used, 10, "{name}");
        assert_eq!(connection.output.bridges, components.count() - 1, "{name}");
        let plain = Graph::from_neighbors(&neighbors(samples.output(), 10), 10);
        let before: BTreeSet<_> = plain.edges().map(|(p, q, _)| (p, q)).collect();
        let edges = report.graphs.output().edges().map(|(p, q, _)| (p, q));
        let bridges: Vec<_> = edges.filter(|edge| !before.contains(edge)).collect();
        assert_eq!(bridges, kruskal(samples.output(), &components), "{name}");
    }
}

/// The shortest edges between components by Kruskal's algorithm over all pairs, ties to the lower nodes; ascending.
fn kruskal(samples: &Samples<'_>, components: &Components) -> Vec<(u32, u32)> {
    let mut part: Vec<u32> = components.of_node().to_vec();
    let all = ExactSearch.search(samples, samples.len() - 1, &Silent).unwrap();
    let mut pairs: Vec<(f64, u32, u32)> = (0..samples.len())
        .flat_map(|p| {
            let row = all.squared_distances_of(p).iter().zip(all.of(p));
            row.filter(move |&(_, &q)| p < q as usize).map(move |(&d, &q)| (d, p as u32, q))
        })
        .filter(|&(_, p, q)| part[p as usize] != part[q as usize])
        .collect();
    pairs.sort_by(|a, b| a.partial_cmp(b).expect("finite"));
    let mut bridges = Vec::new();
    for (_, p, q) in pairs {
        let (kept, gone) = (part[p as usize], part[q as usize]);
        if kept != gone {
            part.iter_mut().filter(|part| **part == gone).for_each(|part| *part = kept);
            bridges.push((p, q));
        }
    }
    bridges.sort_unstable();
    bridges
}
