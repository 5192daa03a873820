//! The approximate search against brute force, and the choice between exact and approximate.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::kernels::{Kernels, with_kernels};
use spadework::neighbors::{
    ApproximateSearch, AutomaticSearch, BruteForce, ExactSearch, NeighborLists, NeighborSearch, Recall,
};
use spadework::samples::{Geometry, Metric, Side, Standardize};
use spadework::{Error, Monitor, Samples, Silent};

/// Enough samples that the search does not fall back to the exact one.
const SAMPLES: usize = 5000;

/// Points around a few centers, with noise in every direction.
fn clusters(samples: usize, dim: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
    let centers: Vec<f32> = (0..20 * dim).map(|_| 3.0 * normal()).collect();
    (0..samples * dim).map(|at| centers[at / dim % 20 * dim + at % dim] + normal()).collect()
}

fn search(samples: &Samples<'_>, neighbors: usize) -> NeighborLists {
    ApproximateSearch::default()
        .search(samples, neighbors, &Silent)
        .expect("the samples are fit to be searched")
}

/// The part of the true neighbors that the lists contain.
fn true_recall(samples: &Samples<'_>, lists: &NeighborLists) -> f64 {
    let truth =
        BruteForce.search(samples, lists.neighbors(), &Silent).expect("brute force always finds them");
    let found = |p: usize| lists.of(p).iter().filter(|q| truth.of(p).contains(q)).count();
    let found: usize = (0..lists.len()).map(found).sum();
    found as f64 / (lists.len() * lists.neighbors()) as f64
}

#[test]
fn recall_is_reached_and_told_truly() {
    for (dim, neighbors) in [(8, 10), (24, 10), (24, 3), (16, 40)] {
        let samples = Samples::from_f32(SAMPLES, dim, clusters(SAMPLES, dim, 1)).unwrap();
        let lists = search(&samples, neighbors);
        let Recall::Sampled { rows, found, of } = lists.recall() else {
            panic!("the search is approximate, so its recall is measured")
        };
        assert_eq!((rows, of), (500, 500 * neighbors));
        assert!(found as f64 / of as f64 >= ApproximateSearch::RECALL, "d = {dim}, k = {neighbors}");
        // Measured on a tenth of the rows: the standard error is below 0.0007 where recall is 0.999.
        let truth = true_recall(&samples, &lists);
        assert!(
            (truth - lists.recall().share()).abs() < 0.003,
            "true {truth}, told {}",
            lists.recall().share()
        );
    }
}

/// The distance of two rows, from its definition.
fn distance(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    let product =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum() };
    match metric {
        Metric::Euclidean => pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        Metric::Cosine => 1.0 - product(a, b) / (product(a, a) * product(b, b)).sqrt(),
        Metric::Manhattan => pairs().map(|(a, b)| (a - b).abs()).sum(),
        Metric::Chebyshev => pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
    }
}

/// Rows of very different lengths, so that the neighbors of one metric are not those of another. Metrics without products are searched
/// exactly.
#[test]
fn recall_is_reached_by_every_metric() {
    const DIM: usize = 24;
    const NEIGHBORS: usize = 10;
    let mut values = clusters(SAMPLES, DIM, 21);
    for (p, row) in values.chunks_exact_mut(DIM).enumerate() {
        for value in row.iter_mut() {
            *value *= 0.5 + (p * 37 % 101) as f32 / 50.0;
        }
    }
    let row = |p: usize| &values[p * DIM..(p + 1) * DIM];
    // Every 25th row by brute force: 200 rows, 2,000 neighbors.
    let queries: Vec<usize> = (0..SAMPLES).step_by(25).collect();
    let nearest = |metric: Metric, p: usize| -> Vec<u32> {
        let mut others: Vec<(f64, u32)> = (0..SAMPLES as u32)
            .filter(|&q| q as usize != p)
            .map(|q| (distance(metric, row(p), row(q as usize)), q))
            .collect();
        others.select_nth_unstable_by(NEIGHBORS - 1, |a, b| a.0.total_cmp(&b.0));
        others[..NEIGHBORS].iter().map(|&(_, q)| q).collect()
    };
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan, Metric::Chebyshev] {
        let samples = Samples::from_f32(SAMPLES, DIM, values.as_slice()).unwrap();
        let placed = Geometry::new(metric, Standardize::None).place(Side::Input, samples).unwrap();
        let lists = search(&placed, NEIGHBORS);
        let common = |p: usize| nearest(metric, p).iter().filter(|q| lists.of(p).contains(q)).count();
        let found: usize = queries.iter().map(|&p| common(p)).sum();
        let recall = found as f64 / (queries.len() * NEIGHBORS) as f64;
        match metric {
            Metric::Euclidean | Metric::Cosine => {
                assert!(matches!(lists.recall(), Recall::Sampled { .. }), "{metric} is approximate");
                assert!(recall >= 0.995, "{metric}: {recall}");
            }
            Metric::Manhattan | Metric::Chebyshev => {
                assert_eq!((lists.recall(), recall), (Recall::Exact, 1.0), "{metric}");
            }
        }
    }
}

/// Points of twelve coordinates, seen in many directions, with noise of some width in every direction.
fn of_twelve_coordinates(dim: usize, noise: f32) -> Vec<f32> {
    let points = clusters(SAMPLES, 12, 11);
    let directions = clusters(dim, 12, 12);
    let noises = clusters(SAMPLES, dim, 13);
    let product = |p: usize, i: usize| -> f32 {
        points[p * 12..(p + 1) * 12].iter().zip(&directions[i * 12..(i + 1) * 12]).map(|(a, b)| a * b).sum()
    };
    (0..SAMPLES * dim).map(|at| product(at / dim, at % dim) + noise * noises[at]).collect()
}

/// Neighbors that thirty coordinates tell, with noise in the others, and such that they do not tell.
#[test]
fn recall_is_reached_however_many_coordinates_tell_neighbors() {
    for noise in [0.1, 4.0] {
        let samples = Samples::from_f32(SAMPLES, 90, of_twelve_coordinates(90, noise)).unwrap();
        let lists = search(&samples, 10);
        assert!(matches!(lists.recall(), Recall::Sampled { .. }), "noise {noise}");
        // Told to be 0.999 at least, from a tenth of the rows.
        let recall = true_recall(&samples, &lists);
        assert!(recall >= 0.997, "noise {noise}: {recall}");
    }
}

#[test]
fn what_is_found_has_its_true_distance() {
    let values = clusters(SAMPLES, 12, 2);
    let samples = Samples::from_f32(SAMPLES, 12, values.as_slice()).unwrap();
    let lists = search(&samples, 5);
    let row = |p: usize| &values[p * 12..(p + 1) * 12];
    for p in 0..SAMPLES {
        assert!(lists.squared_distances_of(p).is_sorted());
        for (&q, &told) in lists.of(p).iter().zip(lists.squared_distances_of(p)) {
            let distance: f64 =
                row(p).iter().zip(row(q as usize)).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            // The difference is taken in single precision here.
            assert!((distance - told).abs() <= 1e-5 * told, "{p} {q}");
        }
    }
}

#[test]
fn threads_do_not_matter_and_seeds_are_kept() {
    let samples = Samples::from_f32(SAMPLES, 16, clusters(SAMPLES, 16, 3)).unwrap();
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| search(&samples, 10))
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(2));
    assert_eq!(one, with_threads(7));
}

/// Lists are the same on every instruction set that this machine has, in single and in double precision, where rough distances decide
/// and where they do not.
#[test]
fn instruction_sets_do_not_matter() {
    let tight = Samples::from_f32(SAMPLES, 90, of_twelve_coordinates(90, 0.1)).unwrap();
    let double: Vec<f64> = clusters(SAMPLES, 16, 14).into_iter().map(f64::from).collect();
    let double = Samples::from_f64(SAMPLES, 16, double).unwrap();
    for samples in [&tight, &double] {
        let on = |kernels: Kernels| with_kernels(kernels, || search(samples, 10)).unwrap();
        let scalar = on(Kernels::Scalar);
        assert!(matches!(scalar.recall(), Recall::Sampled { .. }), "the search is approximate");
        for kernels in Kernels::available() {
            assert_eq!(on(kernels), scalar, "{kernels}, d = {}", samples.dim());
        }
    }
}

#[test]
fn double_precision_and_extreme_sizes_are_searched_as_well() {
    let values = clusters(SAMPLES, 10, 4);
    for scale in [1.0, 1e-30, 1e25, 1e150] {
        let scaled: Vec<f64> = values.iter().map(|&value| f64::from(value) * scale).collect();
        let samples = Samples::from_f64(SAMPLES, 10, scaled).unwrap();
        let recall = true_recall(&samples, &search(&samples, 10));
        assert!(recall >= 0.997, "scale {scale}: {recall}");
    }
    let tiny: Vec<f32> = values.iter().map(|value| value * 1e-25).collect();
    let samples = Samples::from_f32(SAMPLES, 10, tiny).unwrap();
    assert!(true_recall(&samples, &search(&samples, 10)) >= 0.997);
}

#[test]
fn copies_are_found() {
    // Every sample has 7 exact copies; the 4 nearest are copies of lowest index.
    let base = clusters(SAMPLES / 8, 6, 5);
    let values: Vec<f32> = base.iter().copied().cycle().take(SAMPLES * 6).collect();
    let samples = Samples::from_f32(SAMPLES, 6, values).unwrap();
    let lists = search(&samples, 4);
    let at_zero = (0..SAMPLES).filter(|&p| lists.squared_distances_of(p)[3] == 0.0).count();
    assert!(at_zero as f64 >= 0.995 * SAMPLES as f64, "{at_zero}");
}

#[test]
fn samples_that_only_the_exact_search_tells_apart_are_left_to_it() {
    // Nearly all rows are equal: which of them are neighbors is decided by index, and no descent finds the lowest.
    let noise = clusters(20, 16, 9);
    let mut values = vec![0.0_f32; SAMPLES * 16];
    for (at, value) in noise.into_iter().enumerate() {
        values[at / 16 * 240 * 16 + at % 16] = value;
    }
    let samples = Samples::from_f32(SAMPLES, 16, values).unwrap();
    assert_eq!(search(&samples, 10), BruteForce.search(&samples, 10, &Silent).unwrap());
}

#[test]
fn tight_clusters_among_wide_ones_are_told_apart() {
    // Four of ten samples lie in clusters a ten-thousandth as wide as the others.
    let wide = clusters(SAMPLES, 16, 10);
    let tight = |at: usize| at / 16 % 10 < 4;
    let values: Vec<f32> = wide
        .iter()
        .enumerate()
        .map(|(at, value)| if tight(at) { 1e-4 * value + (at / 16 % 5 * 40) as f32 } else { 10.0 * value })
        .collect();
    let samples = Samples::from_f32(SAMPLES, 16, values).unwrap();
    assert!(true_recall(&samples, &search(&samples, 10)) >= 0.998);
}

#[test]
fn few_samples_are_searched_exactly() {
    let samples = Samples::from_f32(500, 12, clusters(500, 12, 6)).unwrap();
    let lists = search(&samples, 10);
    assert_eq!(lists.recall(), Recall::Exact);
    assert_eq!(lists, BruteForce.search(&samples, 10, &Silent).unwrap());
}

#[test]
fn automatic_is_exact_where_that_is_cheap_and_approximate_where_it_is_not() {
    let samples = Samples::from_f32(SAMPLES, 64, clusters(SAMPLES, 64, 7)).unwrap();
    let exact = ExactSearch.search(&samples, 10, &Silent).unwrap();
    assert_eq!(AutomaticSearch::default().search(&samples, 10, &Silent).unwrap(), exact);
    let in_no_time = AutomaticSearch::default().with_most_core_seconds(0.0);
    let approximate = in_no_time.search(&samples, 10, &Silent).unwrap();
    assert_eq!(approximate, search(&samples, 10));
    assert_ne!(approximate.recall(), Recall::Exact);
}

#[test]
fn a_run_can_be_stopped() {
    struct Stop;
    impl Monitor for Stop {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let samples = Samples::from_f32(SAMPLES, 4, clusters(SAMPLES, 4, 8)).unwrap();
    let stopped = ApproximateSearch::default().search(&samples, 5, &Stop);
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
