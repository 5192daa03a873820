//! One suite for every neighbor search: it must return the true neighbors, with the very bits of the reference.
//!
//! The reference is [`BruteForce`]; on integers it is itself compared with a count in integer arithmetic, where nothing
//! rounds.

use crate::support::real::{CIFAR_PIXELS, MNIST_PIXELS};
use crate::support::{bits, gaussian, gaussians, laws, real, rng};
use half::{bf16, f16};
use proptest::prelude::*;
use rand::RngExt;
use spadework::kernels::{Kernels, with_kernels};
use spadework::neighbors::{
    BruteForce, ExactSearch, NeighborLists, NeighborSearch, ProductSearch, TreeSearch, nearest_between,
};
use spadework::samples::Values;
use spadework::{Error, Samples, Silent};

/// Every implementation there is.
const SEARCHES: [(&str, &dyn NeighborSearch); 4] =
    [("exact", &ExactSearch), ("tree", &TreeSearch), ("products", &ProductSearch), (REFERENCE, &BruteForce)];
/// The one that the others are compared with.
const REFERENCE: &str = "brute force";

/// Some samples, and the numbers of neighbors to ask for.
struct Case {
    what: String,
    samples: Samples<'static>,
    neighbors: Vec<usize>,
}

fn in_f64(what: &str, dim: usize, values: Vec<f64>, neighbors: &[usize]) -> Case {
    let samples = Samples::from_f64(values.len() / dim, dim, values).expect("finite");
    Case { what: format!("{what}, f64"), samples, neighbors: neighbors.to_vec() }
}

fn in_f32(what: &str, dim: usize, values: &[f64], neighbors: &[usize]) -> Case {
    let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let samples = Samples::from_f32(values.len() / dim, dim, values).expect("finite");
    Case { what: format!("{what}, f32"), samples, neighbors: neighbors.to_vec() }
}

fn in_both(what: &str, dim: usize, values: Vec<f64>, neighbors: &[usize]) -> [Case; 2] {
    [in_f32(what, dim, &values, neighbors), in_f64(what, dim, values, neighbors)]
}

/// Bytes as pixels, and as numbers of every other narrow type.
fn in_narrow_types(what: &str, dim: usize, bytes: &[u8], neighbors: &[usize]) -> Vec<Case> {
    let of = |kind: &str, values: Values<'static>| Case {
        what: format!("{what}, {kind}"),
        samples: Samples::new(bytes.len() / dim, dim, values).expect("finite"),
        neighbors: neighbors.to_vec(),
    };
    let centered = || bytes.iter().map(|&byte| i16::from(byte) - 128);
    vec![
        of("u8", Values::U8(bytes.to_vec().into())),
        of("i8", Values::I8(centered().map(|number| number as i8).collect())),
        of("i16", Values::I16(centered().map(|number| 250 * number).collect())),
        of("f16", Values::F16(centered().map(|number| f16::from_f32(0.01 * f32::from(number))).collect())),
        of("bf16", Values::Bf16(centered().map(|number| bf16::from_f32(0.7 * f32::from(number))).collect())),
    ]
}

/// The suite, and that the neighbors are those of a copy in single precision, by bits.
fn assert_narrow_types_conform(cases: Vec<Case>) {
    for case in cases {
        let (len, dim) = (case.samples.len(), case.samples.dim());
        let copy = Samples::from_f32(len, dim, case.samples.values().all_singles().into_owned()).unwrap();
        for &k in &case.neighbors {
            let (got, want) =
                [&case.samples, &copy].map(|samples| BruteForce.search(samples, k, &Silent).unwrap()).into();
            assert_same(&got, &want, &format!("{} and its copy, k = {k}", case.what));
        }
        assert_conforms(&case);
    }
}

/// Images of few main directions with fine noise: smooth blobs, upscaled by `scale` in both directions.
fn noisy_images(count: usize, side: usize, scale: usize, seed: u64) -> Vec<u8> {
    let mut rng = rng(seed);
    let coarse = side.div_ceil(scale);
    let patterns: Vec<f64> = gaussians(6 * coarse * coarse * 3, &mut rng);
    let mut images = Vec::with_capacity(count * side * side * 3);
    for _ in 0..count {
        let weights = gaussians(6, &mut rng);
        for at in 0..side * side * 3 {
            let (row, column, channel) = (at / 3 / side, at / 3 % side, at % 3);
            let place = (row / scale * coarse + column / scale) * 3 + channel;
            let signal: f64 = (0..6)
                .map(|pattern| weights[pattern] * patterns[pattern * coarse * coarse * 3 + place])
                .sum();
            let noise = f64::from(rng.random_range(-5..=5_i32));
            images.push((128.0 + 20.0 * signal + noise).clamp(0.0, 255.0) as u8);
        }
    }
    images
}

/// The suite: every implementation, every number of neighbors, bit by bit.
fn assert_conforms(case: &Case) {
    for &k in &case.neighbors {
        let want = BruteForce.search(&case.samples, k, &Silent).unwrap();
        assert_is_valid(&want, &format!("the reference on {}, k = {k}", case.what));
        for (name, search) in SEARCHES.into_iter().filter(|&(name, _)| name != REFERENCE) {
            let got = search.search(&case.samples, k, &Silent).unwrap();
            assert_same(&got, &want, &format!("{name} on {}, k = {k}", case.what));
        }
    }
}

fn assert_same(got: &NeighborLists, want: &NeighborLists, what: &str) {
    assert_eq!((got.len(), got.neighbors()), (want.len(), want.neighbors()), "{what}");
    for p in 0..want.len() {
        assert_eq!(got.of(p), want.of(p), "{what}: neighbors of {p}");
        let (got, want) = (bits(got.squared_distances_of(p)), bits(want.squared_distances_of(p)));
        assert_eq!(got, want, "{what}: squared distances of {p}");
    }
}

/// Ascending by distance, then by index, which also means none twice; never the sample itself.
fn assert_is_valid(lists: &NeighborLists, what: &str) {
    for p in 0..lists.len() {
        let entries = || lists.squared_distances_of(p).iter().zip(lists.of(p));
        assert!(entries().is_sorted_by(|a, b| a < b), "{what}: order of {p}");
        assert!(entries().all(|(_, &q)| q as usize != p), "{what}: {p} is its own neighbor");
    }
}

fn assert_all_conform(cases: impl IntoIterator<Item = Case>) {
    for case in cases {
        assert_conforms(&case);
    }
}

/// Sizes around the blocks of 256 rows and the tiles of 1024 columns that a blocked search may use.
#[test]
fn gaussian_samples() {
    let mut rng = rng(1);
    for (n, dim) in [(2, 3), (255, 16), (257, 8), (1023, 4), (1025, 33), (2300, 5)] {
        let k = [1, 10.min(n - 1), 50.min(n - 1)];
        assert_all_conform(in_both(&format!("{n} × {dim} Gaussian"), dim, gaussians(n * dim, &mut rng), &k));
    }
}

#[test]
fn dimensions_that_do_not_fill_a_vector_register() {
    let mut rng = rng(2);
    for dim in [1, 2, 3, 7, 9, 13, 31, 65] {
        assert_all_conform(in_both(&format!("d = {dim}"), dim, gaussians(300 * dim, &mut rng), &[1, 7]));
    }
}

#[test]
fn integers_with_many_ties() {
    let mut rng = rng(3);
    for dim in [1, 2, 5] {
        let values = (0..1200 * dim).map(|_| f64::from(rng.random_range(-3..=3_i32))).collect();
        assert_all_conform(in_both(&format!("integers, d = {dim}"), dim, values, &[1, 6, 40]));
    }
}

#[test]
fn narrow_types_are_searched_as_they_are() {
    let mut rng = rng(31);
    for (n, dim) in [(2, 3), (300, 7), (1100, 70), (1030, 200)] {
        let bytes: Vec<u8> = (0..n * dim).map(|_| rng.random()).collect();
        let k = [1, 10.min(n - 1)];
        assert_narrow_types_conform(in_narrow_types(&format!("{n} × {dim} bytes"), dim, &bytes, &k));
    }
    // Ties in plenty, and copies.
    let few: Vec<u8> = (0..700 * 40).map(|_| 100 + rng.random_range(0..2_u8)).collect();
    assert_narrow_types_conform(in_narrow_types("two values", 40, &few, &[1, 12]));
    let copies: Vec<u8> = (0..600).flat_map(|at| [at as u8 % 7; 60]).collect();
    assert_narrow_types_conform(in_narrow_types("copies", 60, &copies, &[1, 90]));
}

#[test]
fn images_with_fine_noise_are_searched_as_bytes() {
    let images = noisy_images(1200, 24, 8, 32);
    assert_narrow_types_conform(in_narrow_types("images", 24 * 24 * 3, &images, &[5]));
}

/// Rows long enough to be compared by sums over blocks and settled slice by slice, on every instruction set.
#[test]
fn long_rows_of_pixels_are_searched_by_blocks_and_slices() {
    let (count, dim) = (330, 56 * 56 * 3);
    let mut images = noisy_images(count, 56, 8, 35);
    // Copies, so that distances of zero and ties are among them.
    images.copy_within(0..20 * dim, 300 * dim);
    let samples = Samples::from_u8(count, dim, images).unwrap();
    assert_same_on_every_instruction_set(&samples, "long rows");
}

fn assert_same_on_every_instruction_set(samples: &Samples<'_>, what: &str) {
    let want = BruteForce.search(samples, 10, &Silent).unwrap();
    for kernels in Kernels::available() {
        let got = with_kernels(kernels, || ProductSearch.search(samples, 10, &Silent).unwrap()).unwrap();
        assert_same(&got, &want, &format!("{what} on {kernels}"));
    }
}

/// Rows of every narrow type, long enough for blocks.
#[test]
fn long_rows_of_narrow_types_are_searched_as_they_are() {
    let (count, side) = (70, 56);
    let images = noisy_images(count, side, 8, 37);
    assert_narrow_types_conform(in_narrow_types("long rows", side * side * 3, &images, &[5]));
}

/// Which thread settles which slice of which pair differs from run to run, and from one number of threads to another.
#[test]
fn any_number_of_threads_finds_the_same_neighbors_of_long_rows() {
    let (count, side) = (330, 56);
    let images = noisy_images(count, side, 8, 39);
    let cases = in_narrow_types("long rows", side * side * 3, &images, &[10]);
    for case in &cases {
        assert!(case.samples.dim() > 4 * 2048, "rows of several slices");
        let within = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| ProductSearch.search(&case.samples, 10, &Silent).unwrap())
        };
        let one = within(1);
        for threads in [2, 8] {
            assert_same(&within(threads), &one, &format!("{} with {threads} threads", case.what));
        }
    }
    // Any of them is right, and so are all.
    let want = BruteForce.search(&cases[0].samples, 10, &Silent).unwrap();
    assert_same(&ProductSearch.search(&cases[0].samples, 10, &Silent).unwrap(), &want, &cases[0].what);
}

/// Single precision, in which blocks are added up, would lose these numbers or overflow.
#[test]
fn long_rows_of_very_small_or_large_numbers_are_searched() {
    let (count, side) = (60, 56);
    let images = noisy_images(count, side, 8, 36);
    for size in [1e-60, 1e-44, 1e-40, 1e-30, 1.0, 1e30, 1e37, 1e60] {
        let values = images.iter().map(|&pixel| size * f64::from(pixel)).collect();
        assert_conforms(&in_f64(&format!("long rows of {size:e}"), side * side * 3, values, &[5]));
    }
}

/// What the rows differ in is lost in single precision, in which blocks are added up.
#[test]
fn long_rows_far_from_zero_are_searched() {
    let (count, side) = (60, 56);
    let values =
        noisy_images(count, side, 8, 38).iter().map(|&pixel| 1e7 + 1e-3 * f64::from(pixel)).collect();
    assert_conforms(&in_f64("long rows far from zero", side * side * 3, values, &[5]));
}

#[test]
fn every_instruction_set_finds_the_same_neighbors_of_bytes() {
    let images = noisy_images(1100, 16, 4, 33);
    let samples = Samples::from_u8(1100, 16 * 16 * 3, images).unwrap();
    assert_same_on_every_instruction_set(&samples, "bytes");
}

#[test]
fn any_number_of_threads_finds_the_same_neighbors_of_narrow_types() {
    let images = noisy_images(1100, 16, 4, 34);
    for case in in_narrow_types("images", 16 * 16 * 3, &images, &[10]) {
        let want = BruteForce.search(&case.samples, 10, &Silent).unwrap();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let got = pool.install(|| ExactSearch.search(&case.samples, 10, &Silent).unwrap());
            assert_same(&got, &want, &format!("{} with {threads} threads", case.what));
        }
    }
}

#[test]
fn more_copies_than_neighbors() {
    let mut rng = rng(4);
    // Twenty points, sixty copies each: far more than k.
    let originals = gaussians(20 * 9, &mut rng);
    let copies = |count: usize| {
        (0..20 * count).flat_map(|i| originals[i % 20 * 9..][..9].to_vec()).collect::<Vec<f64>>()
    };
    assert_all_conform(in_both("sixty copies", 9, copies(60), &[1, 10, 59, 60, 61]));
    assert_all_conform(in_both("all samples equal", 3, vec![0.1; 900], &[1, 10, 299]));
}

#[test]
fn copies_are_taken_in_the_order_of_their_indices() {
    for (name, search) in SEARCHES {
        let samples = Samples::from_f32(6, 1, vec![2.0, 5.0, 2.0, 2.0, 2.0, 5.0]).unwrap();
        let lists = search.search(&samples, 3, &Silent).unwrap();
        assert_eq!(lists.of(3), [0, 2, 4], "{name}");
        assert_eq!(lists.of(1), [5, 0, 2], "{name}: a copy, then the first of the equally distant");
    }
}

#[test]
fn constant_columns() {
    let mut rng = rng(5);
    let values = (0..400).flat_map(|_| [7.25, gaussian(&mut rng), -1e4, 0.0, gaussian(&mut rng)]).collect();
    assert_all_conform(in_both("constant columns", 5, values, &[1, 12]));
}

#[test]
fn all_others_are_neighbors() {
    let mut rng = rng(6);
    for n in [2, 3, 11, 150, 300] {
        assert_all_conform(in_both(&format!("n = k + 1 = {n}"), 4, gaussians(n * 4, &mut rng), &[n - 1]));
    }
}

/// In single precision the spread would vanish; centring has to bring it back before anything is rounded.
#[test]
fn far_from_the_origin() {
    let mut rng = rng(7);
    let values = gaussians(800 * 6, &mut rng).iter().map(|v| 1e6 + 1e-3 * v).collect();
    assert_all_conform([in_f64("offset 1e6, spread 1e-3", 6, values, &[1, 10])]);
}

/// One sample sets the scale and every other pair looks alike beside it: bounds alone decide nothing.
#[test]
fn a_huge_outlier() {
    let mut rng = rng(8);
    for at in [0, 399, 799] {
        let mut values = gaussians(800 * 6, &mut rng);
        values[at * 6 + 2] = 1e12;
        assert_all_conform(in_both(&format!("outlier at {at}"), 6, values, &[1, 10]));
    }
}

#[test]
fn two_tight_clusters_far_apart() {
    let mut rng = rng(9);
    let values: Vec<f64> = (0..800)
        .flat_map(|i| {
            let center = if i % 2 == 0 { 1e6 } else { -1e6 };
            [0; 4].map(|_| center + 1e-3 * gaussian(&mut rng))
        })
        .collect();
    assert_all_conform(in_both("two clusters", 4, values, &[1, 10, 450]));
}

#[test]
fn very_small_and_very_large_values() {
    let mut rng = rng(10);
    for scale in [1e-30, 1e30] {
        let values: Vec<f64> = gaussians(600 * 5, &mut rng).iter().map(|v| v * scale).collect();
        assert_all_conform(in_both(&format!("scale {scale:e}"), 5, values, &[1, 10]));
    }
    for scale in [1e-140, 1e150] {
        let values: Vec<f64> = gaussians(600 * 5, &mut rng).iter().map(|v| v * scale).collect();
        assert_all_conform([in_f64(&format!("scale {scale:e}"), 5, values, &[1, 10])]);
    }
}

/// Squared distances that are subnormal, or vanish: then they tie, and the lower index has to win.
#[test]
fn squared_distances_that_underflow() {
    let mut rng = rng(11);
    for scale in [1e-155, 1e-160, 1e-162, 1e-170, 1e-300] {
        let values: Vec<f64> = gaussians(300 * 5, &mut rng).iter().map(|v| v * scale).collect();
        assert_all_conform([in_f64(&format!("scale {scale:e}"), 5, values, &[1, 10])]);
    }
}

/// Rows of the identity matrix: every distance is √2.
#[test]
fn all_distances_equal() {
    for n in [30, 300] {
        let values = (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect();
        assert_all_conform(in_both(&format!("simplex of {n}"), n, values, &[1, 10, n - 1]));
    }
}

/// Two values in single precision whose squares differ by less than its rounding, all over the place.
#[test]
fn nearly_equal_distances() {
    let mut rng = rng(12);
    let values: Vec<f64> = (0..700)
        .flat_map(|_| {
            let (sin, cos) = (rng.random::<f64>() * std::f64::consts::TAU).sin_cos();
            // Points on a circle around the first sample, whose distances to it differ in the last digits only.
            [sin, cos]
        })
        .collect();
    let values = [vec![0.0, 0.0], values].concat();
    assert_all_conform(in_both("a circle around its centre", 2, values, &[1, 10, 400]));
}

#[test]
fn refuses_impossible_numbers_of_neighbors() {
    let samples = Samples::from_f32(4, 1, vec![0.0, 1.0, 2.0, 3.0]).unwrap();
    for (name, search) in SEARCHES {
        assert_eq!(search.search(&samples, 0, &Silent).unwrap_err(), Error::NoNeighbors, "{name}");
        for neighbors in [4, 5, usize::MAX] {
            let want = Error::TooManyNeighbors { neighbors, samples: 4 };
            assert_eq!(search.search(&samples, neighbors, &Silent).unwrap_err(), want, "{name}");
        }
    }
}

/// Lists for a smaller k are prefixes of longer ones; the policy `grow` relies on it.
#[test]
fn shorter_lists_are_prefixes_of_longer_ones() {
    let mut rng = rng(13);
    let values: Vec<f64> = (0..400 * 3).map(|_| f64::from(rng.random_range(-4..=4_i32))).collect();
    let samples = Samples::from_f64(400, 3, values).unwrap();
    for (name, search) in SEARCHES {
        let long = search.search(&samples, 60, &Silent).unwrap();
        for k in [1, 7, 59] {
            let short = search.search(&samples, k, &Silent).unwrap();
            assert!((0..400).all(|p| short.of(p) == &long.of(p)[..k]), "{name}, k = {k}");
        }
    }
}

/// The nearest by integer arithmetic and a stable sort.
fn nearest_in_integers(rows: &[Vec<i32>], p: usize, k: usize) -> Vec<(i64, u32)> {
    let distance = |q: usize| rows[p].iter().zip(&rows[q]).map(|(a, b)| i64::from(a - b).pow(2)).sum();
    let mut all: Vec<(i64, u32)> =
        (0..rows.len()).filter(|&q| q != p).map(|q| (distance(q), q as u32)).collect();
    all.sort_unstable();
    all.truncate(k);
    all
}

fn integer_rows() -> impl Strategy<Value = (Vec<Vec<i32>>, usize)> {
    (2..=40_usize, 1..=5_usize)
        .prop_flat_map(|(n, dim)| (prop::collection::vec(prop::collection::vec(-3..=3_i32, dim), n), 1..n))
}

/// Numbers of any size between 10⁻⁵⁰ and 10⁵⁰, zero and repetitions among them.
fn wild_rows() -> impl Strategy<Value = (usize, Vec<f64>, usize)> {
    let number = prop_oneof![
        1 => Just(0.0),
        1 => Just(1.0),
        4 => (-1.0..1.0_f64, -50..=50_i32).prop_map(|(m, e)| m * 10.0_f64.powi(e)),
    ];
    (2..=150_usize, 1..=9_usize)
        .prop_flat_map(move |(n, dim)| (Just(dim), prop::collection::vec(number.clone(), n * dim), 1..n))
}

proptest! {
    #![proptest_config(laws(256))]

    #[test]
    fn integers_agree_with_integer_arithmetic((rows, k) in integer_rows()) {
        let values: Vec<f64> = rows.concat().into_iter().map(f64::from).collect();
        for case in in_both("integers", rows[0].len(), values, &[k]) {
            for (name, search) in SEARCHES {
                let lists = search.search(&case.samples, k, &Silent).unwrap();
                for p in 0..rows.len() {
                    let got: Vec<(i64, u32)> =
                        lists.squared_distances_of(p).iter().map(|&d| d as i64).zip(lists.of(p).iter().copied()).collect();
                    prop_assert_eq!(got, nearest_in_integers(&rows, p, k), "{}: {}", name, p);
                }
            }
        }
    }

    #[test]
    fn numbers_of_all_sizes((dim, values, k) in wild_rows()) {
        assert_conforms(&in_f64("wild numbers", dim, values, &[k]));
    }
}

#[test]
fn real_images() {
    let Some(folder) =
        real::folder("the neighbor searches on real images", &[real::MNIST, real::MNIST_LOGITS, real::CIFAR])
    else {
        return;
    };
    let mnist = Samples::from_f32(2000, MNIST_PIXELS, real::mnist_test(&folder, 2000)).unwrap();
    assert_conforms(&Case { what: "MNIST".into(), samples: mnist, neighbors: vec![10] });
    let cifar = Samples::from_f32(1000, CIFAR_PIXELS, real::cifar_test(&folder, 1000)).unwrap();
    assert_conforms(&Case { what: "CIFAR-10".into(), samples: cifar, neighbors: vec![20] });
    let logits = real::logits(&folder, "mnist_test_lenet5.npz", "lenet5_eps0.0");
    let logits = Samples::from_f32(3000, real::CLASSES, logits[..3000 * real::CLASSES].to_vec()).unwrap();
    assert_conforms(&Case { what: "logits".into(), samples: logits, neighbors: vec![10, 100] });
}

/// Rows enough, and dimensions enough, that principal axes are used where they pay.
const ROTATED: (usize, usize) = (1300, 80);

/// Samples that vary along few directions only, with `noise` in the others.
fn along_few_directions(directions: usize, noise: f64, seed: u64) -> Vec<f64> {
    let (n, dim) = ROTATED;
    let mut rng = rng(seed);
    let axes = gaussians(directions * dim, &mut rng);
    (0..n)
        .flat_map(|_| {
            let weights = gaussians(directions, &mut rng);
            let entry =
                |j: usize| weights.iter().enumerate().map(|(i, w)| w * axes[i * dim + j]).sum::<f64>();
            (0..dim).map(entry).collect::<Vec<_>>()
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|value: f64| value + noise * gaussian(&mut crate::support::rng(value.to_bits())))
        .collect()
}

#[test]
fn samples_with_main_axes() {
    for (noise, seed) in [(0.3, 21), (0.01, 22), (0.0, 23)] {
        let values = along_few_directions(6, noise, seed);
        assert_all_conform(in_both(
            &format!("six directions, noise {noise}"),
            ROTATED.1,
            values,
            &[1, 10, 60],
        ));
    }
}

/// Where no coordinate says more than another, short vectors rule out nothing.
#[test]
fn samples_without_main_axes() {
    let (n, dim) = ROTATED;
    assert_all_conform(in_both("many dimensions alike", dim, gaussians(n * dim, &mut rng(24)), &[10]));
}

#[test]
fn integers_and_copies_with_main_axes() {
    let values: Vec<f64> = along_few_directions(3, 0.0, 25).into_iter().map(f64::round).collect();
    assert_all_conform(in_both("rounded to integers", ROTATED.1, values.clone(), &[1, 10]));
    let copies: Vec<f64> =
        values.chunks_exact(ROTATED.1).step_by(40).cycle().take(ROTATED.0).flatten().copied().collect();
    assert_all_conform(in_both("forty copies of each", ROTATED.1, copies, &[10, 39, 45]));
}

#[test]
fn odd_places_and_sizes_with_main_axes() {
    let values = along_few_directions(6, 0.05, 26);
    let moved = |factor: f64, offset: f64| values.iter().map(|v| v * factor + offset).collect::<Vec<f64>>();
    assert_conforms(&in_f64("far from the origin", ROTATED.1, moved(1e-3, 1e6), &[10]));
    assert_all_conform(in_both("tiny", ROTATED.1, moved(1e-17, 0.0), &[10]));
    assert_all_conform(in_both("huge", ROTATED.1, moved(1e17, 0.0), &[10]));
    let mut outlier = values.clone();
    outlier[500 * ROTATED.1] = 1e12;
    assert_all_conform(in_both("one far away", ROTATED.1, outlier, &[10]));
    let clusters = values
        .iter()
        .enumerate()
        .map(|(i, v)| v + if (i / ROTATED.1).is_multiple_of(2) { 0.0 } else { 1e4 })
        .collect();
    assert_all_conform(in_both("two far clusters", ROTATED.1, clusters, &[10]));
}

/// Products of single precision that are no normal numbers err absolutely, not relatively.
#[test]
fn products_that_are_subnormal_in_single_precision() {
    for size in [1e-19, 1e-21, 1e-22, 1e-23] {
        let mut values: Vec<f64> = gaussians(1500 * 8, &mut rng(31)).into_iter().map(|v| v * size).collect();
        values[..8].fill(1.0);
        values[8..16].fill(-1.0);
        assert_all_conform(in_both(&format!("two far rows, the rest of size {size:e}"), 8, values, &[10]));
    }
}

/// Squares that vanish in double precision make ties of what are not ties.
#[test]
fn squares_that_vanish_beside_some_that_do_not() {
    let mut values: Vec<f64> = gaussians(1500 * 4, &mut rng(32)).into_iter().map(|v| v * 1e-163).collect();
    values[..4].fill(1e-149);
    values[4..8].fill(-1e-149);
    assert_conforms(&in_f64("squares that vanish", 4, values, &[10]));
}

/// Rows so long that products in single precision say nothing.
#[test]
fn rows_of_more_than_a_million_numbers() {
    let dim = (1 << 20) + 3;
    let values: Vec<f32> = (0..4 * dim).map(|at| (at * 7919 % 10007) as f32).collect();
    let samples = Samples::from_f32(4, dim, values).unwrap();
    assert_conforms(&Case { what: "long rows".into(), samples, neighbors: vec![2] });
}

/// More neighbors than a leaf has rows, and nearly all of them.
#[test]
fn many_neighbors() {
    let values = gaussians(900 * 6, &mut rng(33));
    assert_all_conform(in_both("many neighbors", 6, values, &[65, 300, 899]));
}

/// Leaves of sixteen, nodes of 256 and of 4096 samples: sizes around them, in all numbers of coordinates modulo eight.
#[test]
fn sizes_around_those_of_leaves_and_nodes() {
    let mut rng = rng(41);
    for (n, dim) in
        [(15, 1), (16, 2), (17, 3), (33, 4), (255, 5), (256, 6), (257, 7), (273, 8), (4095, 2), (4097, 3)]
    {
        let k = [1, 10.min(n - 1), 14];
        assert_all_conform(in_both(&format!("{n} × {dim}"), dim, gaussians(n * dim, &mut rng), &k));
    }
}

/// Ten clusters in ten to seventeen dimensions, as the outputs of a classifier lie.
#[test]
fn clusters_like_those_of_a_classifier() {
    for dim in 10..=17 {
        let mut rng = rng(42 + dim as u64);
        let centers = gaussians(10 * dim, &mut rng);
        let values: Vec<f64> = (0..1500 * dim)
            .map(|at| 6.0 * centers[at / dim % 10 * dim + at % dim] + gaussian(&mut rng))
            .collect();
        assert_all_conform(in_both(&format!("clusters, d = {dim}"), dim, values, &[1, 10, 90]));
    }
}

/// Where boxes rule out little: uniform in many of the dimensions that a tree is tried in.
#[test]
fn uniform_samples() {
    let mut rng = rng(43);
    for dim in [2, 6, 12, 24, 32, 33] {
        let values = (0..1200 * dim).map(|_| rng.random::<f64>()).collect();
        assert_all_conform(in_both(&format!("uniform, d = {dim}"), dim, values, &[1, 10]));
    }
}

/// On a line all boxes are segments, whatever the direction; with equal steps every distance comes twice.
#[test]
fn samples_on_a_line() {
    let steps: Vec<f64> = (0..1000).map(|i| f64::from(i * 617 % 1000)).collect();
    let along = |direction: [f64; 4]| steps.iter().flat_map(|step| direction.map(|d| d * step)).collect();
    assert_all_conform(in_both("along an axis", 4, along([0.0, 1.0, 0.0, 0.0]), &[1, 2, 9, 100]));
    assert_all_conform(in_both("along a diagonal", 4, along([1.0; 4]), &[1, 2, 9, 100]));
    assert_all_conform(in_both("askew", 4, along([0.1, -0.7, 1.3, 1e-9]), &[1, 2, 9, 100]));
}

/// Copies of a few points in an order that has nothing to do with the points: ties between leaves are decided by index.
#[test]
fn copies_in_mixed_order() {
    let mut rng = rng(44);
    let points = gaussians(7 * 3, &mut rng);
    let values = (0..3000).flat_map(|_| points[rng.random_range(0..7) * 3..][..3].to_vec()).collect();
    assert_all_conform(in_both("seven points", 3, values, &[1, 10, 64, 65, 600]));
}

/// As many equal rows as would take minutes if every pair were looked at: by index, each row's neighbors are the first.
#[test]
fn twenty_thousand_equal_rows() {
    let (n, k) = (20_000, 10);
    let samples = Samples::from_f32(n, 10, vec![0.3; n * 10]).unwrap();
    let lists = ExactSearch.search(&samples, k, &Silent).unwrap();
    for p in 0..n {
        let want: Vec<u32> = (0..n as u32).filter(|&q| q as usize != p).take(k).collect();
        assert_eq!(lists.of(p), want, "{p}");
        assert!(lists.squared_distances_of(p).iter().all(|&d| d == 0.0), "{p}");
    }
}

/// A grid in integers: many equal distances across leaves, and a lattice of boxes that touch.
#[test]
fn a_grid() {
    let values = (0..11 * 11 * 11).flat_map(|i| [i / 121, i / 11 % 11, i % 11].map(f64::from)).collect();
    assert_all_conform(in_both("grid", 3, values, &[1, 6, 18, 26, 200]));
}

/// Clusters of distinct sizes beside numbers whose squares are subnormal or nearly overflow.
#[test]
fn clusters_of_all_sizes() {
    let mut rng = rng(45);
    let values: Vec<f64> = (0..1200)
        .flat_map(|i| {
            let size = [1e-320, 1e-160, 1e-100, 1.0, 1e100, 1e150][i % 6];
            [0; 3].map(|_| size * gaussian(&mut rng))
        })
        .collect();
    assert_conforms(&in_f64("six sizes", 3, values, &[1, 10, 250]));
}

/// Samples enough for a tree of several levels, with ties, copies and outliers among them.
fn clustered_rows() -> impl Strategy<Value = (usize, Vec<f64>, usize)> {
    (1..=11_usize, 1..=12_usize, 20..=700_usize, any::<u64>(), 0..3_usize).prop_flat_map(
        |(dim, clusters, n, seed, coarseness)| {
            let mut rng = rng(seed);
            let centers = gaussians(clusters * dim, &mut rng);
            let mut values: Vec<f64> = Vec::with_capacity(n * dim);
            for _ in 0..n {
                let center = rng.random_range(0..clusters) * dim;
                let size = 10.0_f64.powi(rng.random_range(-3..2));
                values.extend(
                    centers[center..center + dim].iter().map(|c| 20.0 * c + size * gaussian(&mut rng)),
                );
            }
            if coarseness > 0 {
                for value in &mut values {
                    *value = (*value / (4 * coarseness) as f64).round();
                }
            }
            (Just(dim), Just(values), 1..n.min(120))
        },
    )
}

proptest! {
    #![proptest_config(laws(96))]

    #[test]
    fn clusters_with_ties_and_outliers((dim, values, k) in clustered_rows()) {
        for case in in_both("clusters", dim, values, &[k]) {
            assert_conforms(&case);
        }
    }
}

/// Samples that lead the searches through all of their kernels: registers that are full and that are not, boxes,
/// principal axes, single and double precision, ties, and sizes at which bounds decide nothing.
fn cases_for_all_kernels() -> Vec<Case> {
    let mut rng = rng(41);
    let mut cases: Vec<Case> = [1, 2, 3, 7, 9, 13, 31, 65]
        .into_iter()
        .flat_map(|dim| in_both(&format!("d = {dim}"), dim, gaussians(300 * dim, &mut rng), &[1, 7]))
        .collect();
    cases.extend(in_both("1025 × 33 Gaussian", 33, gaussians(1025 * 33, &mut rng), &[10]));
    cases.extend(in_both("2300 × 5 Gaussian", 5, gaussians(2300 * 5, &mut rng), &[10, 50]));
    let integers = (0..1200 * 5).map(|_| f64::from(rng.random_range(-3..=3_i32))).collect();
    cases.extend(in_both("integers", 5, integers, &[6, 40]));
    let axes = along_few_directions(6, 0.05, 42);
    cases.extend(in_both("six directions", ROTATED.1, axes.clone(), &[10]));
    cases.extend(in_both("huge", ROTATED.1, axes.iter().map(|v| v * 1e17).collect(), &[10]));
    cases.push(in_f64("offset", ROTATED.1, axes.iter().map(|v| v * 1e-3 + 1e6).collect(), &[10]));
    cases
}

/// The same bits from the kernels of every instruction set that this machine has, not only from the best.
#[test]
fn every_instruction_set_finds_the_same_neighbors() {
    let cases = cases_for_all_kernels();
    let wanted: Vec<Vec<NeighborLists>> = cases
        .iter()
        .map(|case| {
            case.neighbors.iter().map(|&k| BruteForce.search(&case.samples, k, &Silent).unwrap()).collect()
        })
        .collect();
    for kernels in Kernels::available() {
        with_kernels(kernels, || {
            assert_eq!(Kernels::in_use(), kernels);
            for (case, wanted) in cases.iter().zip(&wanted) {
                for (&k, want) in case.neighbors.iter().zip(wanted) {
                    for (name, search) in SEARCHES {
                        let got = search.search(&case.samples, k, &Silent).unwrap();
                        assert_same(&got, want, &format!("{kernels}: {name} on {}, k = {k}", case.what));
                    }
                    let between = nearest_between(&case.samples, &case.samples, 0, k, &Silent).unwrap();
                    for (p, got) in between.squared_distances.chunks_exact(k).enumerate() {
                        let what = format!("{kernels}: between blocks on {}, k = {k}: {p}", case.what);
                        assert_eq!(bits(got), bits(want.squared_distances_of(p)), "{what}");
                    }
                }
            }
        })
        .unwrap();
    }
}
