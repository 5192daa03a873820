//! Corruptions from outside: moments in closed form, the same bits for any number of threads, and what is refused. What
//! single kinds do to images is compared with other tools beside their code.

use std::num::NonZeroUsize;

use spadework::samples::Values;
use spadework::threads::with_threads;
use spadework::{Monitor, Silent};
use spadework_io::corrupt::{Corruption, CorruptionKind, ImageShape, change, corrupt};
use spadework_io::output::write_npy;
use spadework_io::{Dataset, load};

/// An array as a user would have it.
fn dataset(shape: &[usize], values: &[f32]) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_npy(&path, shape, values).unwrap();
    load(&path.display().to_string()).unwrap()
}

fn values(dataset: &Dataset) -> Vec<f32> {
    let samples = dataset.samples().unwrap();
    let Values::F32(values) = samples.values() else { panic!("corrupted images are f32") };
    values.to_vec()
}

fn corrupted(dataset: &Dataset, corruption: &str, seed: u64) -> Vec<f32> {
    let shape = ImageShape::of(dataset).unwrap();
    let corruption: Corruption = corruption.parse().unwrap();
    let result = corrupt(dataset, corruption, shape, seed, &Silent).unwrap();
    assert_eq!(result.shape(), dataset.shape());
    values(&result)
}

/// Mean and standard deviation.
fn moments(values: &[f32]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    (mean, (values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n).sqrt())
}

const IMAGES: usize = 60;
const VALUES: usize = IMAGES * 28 * 28;

/// Sixty images of one gray.
fn flat(gray: f32) -> Dataset {
    dataset(&[IMAGES, 28, 28], &vec![gray; VALUES])
}

#[test]
fn gaussian_noise_has_its_mean_and_deviation() {
    for (severity, scale) in (1..).zip([0.04, 0.06, 0.08, 0.09, 0.10]) {
        // From the middle, the ends lie five deviations away or more, so clipping takes nothing.
        let (mean, deviation) = moments(&corrupted(&flat(0.5), &format!("gaussian-noise:{severity}"), 3));
        // Five standard errors: σ/√n of the mean, σ/√2n of the deviation.
        let error = 5.0 * scale / (VALUES as f64).sqrt();
        assert!((mean - 0.5).abs() < error, "{severity}: mean {mean}");
        assert!((deviation - scale).abs() < error, "{severity}: deviation {deviation}");
    }
}

#[test]
fn shot_noise_has_the_variance_of_counting() {
    for (severity, photons) in (1..).zip([500.0, 250.0, 100.0, 75.0, 50.0_f64]) {
        let gray = 0.4;
        let (mean, deviation) = moments(&corrupted(&flat(gray), &format!("shot-noise:{severity}"), 4));
        let (gray, n) = (f64::from(gray), VALUES as f64);
        // Counts of mean c·x divided by c: variance x/c.
        let expected = (gray / photons).sqrt();
        assert!((mean - gray).abs() < 5.0 * expected / n.sqrt(), "{severity}: mean {mean}");
        assert!((deviation / expected - 1.0).abs() < 5.0 / n.sqrt(), "{severity}: deviation {deviation}");
    }
    assert!(corrupted(&flat(0.0), "shot-noise:5", 4).iter().all(|&value| value == 0.0), "no light, no noise");
}

#[test]
fn impulse_noise_replaces_its_part_by_salt_and_pepper() {
    for (severity, part) in (1..).zip([0.01, 0.02, 0.03, 0.05, 0.07_f64]) {
        let noisy = corrupted(&flat(0.5), &format!("impulse-noise:{severity}"), 5);
        let count = |wanted: f32| noisy.iter().filter(|&&value| value == wanted).count() as f64;
        let (n, salt, pepper) = (VALUES as f64, count(1.0), count(0.0));
        assert_eq!(count(0.5) + salt + pepper, n);
        // Binomial, five standard deviations.
        let error = 5.0 * (n * part * 0.5).sqrt();
        assert!((salt - n * part * 0.5).abs() < error, "{severity}: {salt}");
        assert!((pepper - n * part * 0.5).abs() < error, "{severity}: {pepper}");
    }
}

/// Pictures that are not flat: a slope that turns from image to image.
fn slopes(shape: &[usize]) -> Dataset {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| ((i as f32 * 0.11).sin() * 0.5 + 0.5) * 0.9).collect();
    dataset(shape, &values)
}

#[test]
fn more_severe_is_more_changed_and_values_stay_from_0_to_1() {
    let images = slopes(&[20, 3, 32, 32]);
    for kind in CorruptionKind::ALL {
        let mut before = 0.0;
        for severity in [1, 3, 5] {
            let corruption: Corruption = format!("{kind}:{severity}").parse().unwrap();
            let shape = ImageShape::of(&images).unwrap();
            let after = corrupt(&images, corruption, shape, 0, &Silent).unwrap();
            assert!(values(&after).iter().all(|value| (0.0..=1.0).contains(value)), "{corruption}");
            let change = change(&images, &after).unwrap();
            assert!(change.mean > before && change.largest <= 1.0, "{corruption}: {change:?} after {before}");
            before = change.mean;
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let images = slopes(&[33, 28, 28]);
    let shape = ImageShape::of(&images).unwrap();
    for kind in CorruptionKind::ALL {
        let corruption: Corruption = format!("{kind}:4").parse().unwrap();
        let run = |threads: usize, seed: u64| {
            let work = || {
                Ok::<_, spadework::Error>(values(
                    &corrupt(&images, corruption, shape, seed, &Silent).unwrap(),
                ))
            };
            with_threads(NonZeroUsize::new(threads), work).unwrap()
        };
        let one = run(1, 7);
        assert!(one == run(3, 7), "{kind}");
        let is_random = !matches!(
            kind,
            CorruptionKind::DefocusBlur
                | CorruptionKind::Brightness
                | CorruptionKind::Contrast
                | CorruptionKind::Pixelate
                | CorruptionKind::Jpeg
        );
        assert_eq!(one != run(1, 8), is_random, "{kind}: another seed");
    }
}

#[test]
fn a_sample_s_noise_does_not_depend_on_its_neighbors() {
    let (ten, five) = (slopes(&[10, 8, 8]), slopes(&[5, 8, 8]));
    let (ten, five) = (corrupted(&ten, "gaussian-noise:2", 1), corrupted(&five, "gaussian-noise:2", 1));
    assert_eq!(ten[..5 * 64], five);
    assert_ne!(ten[..64], ten[64..128], "samples differ");
}

#[test]
fn channels_first_and_last_are_the_same_images() {
    let first = slopes(&[4, 3, 16, 12]);
    let planar = values(&first);
    let pixels = 16 * 12;
    let interleaved: Vec<f32> = (0..planar.len())
        .map(|at| {
            let (image, rest) = (at / (3 * pixels), at % (3 * pixels));
            planar[image * 3 * pixels + (rest % 3) * pixels + rest / 3]
        })
        .collect();
    let last = dataset(&[4, 16, 12, 3], &interleaved);
    for corruption in ["fog:3", "motion-blur:4", "jpeg:2", "brightness:5"] {
        let (first, last) = (corrupted(&first, corruption, 2), corrupted(&last, corruption, 2));
        let same = (0..first.len()).all(|at| {
            let (image, rest) = (at / (3 * pixels), at % (3 * pixels));
            last[at] == first[image * 3 * pixels + (rest % 3) * pixels + rest / 3]
        });
        assert!(same, "{corruption}");
    }
}

#[test]
fn what_is_no_image_is_refused() {
    let corruption: Corruption = "fog:1".parse().unwrap();
    let message = |dataset: &Dataset, shape: &str| {
        corrupt(dataset, corruption, shape.parse().unwrap(), 0, &Silent).unwrap_err().to_string()
    };
    let text = message(&slopes(&[2, 8, 8]), "1x9x9");
    assert!(text.ends_with("images of 1x9x9 must have as many numbers, got 64 per sample"), "{text}");
    let text = message(&slopes(&[2, 8, 8]), "3x18446744073709551615x8");
    assert!(text.contains("must have as many numbers"), "{text}");
    let mut values = vec![0.5; 3 * 64];
    values[130] = 200.0;
    let text = message(&dataset(&[3, 8, 8], &values), "8x8");
    assert!(text.ends_with("the pixels of an image must be from 0 to 1, got 200 in sample 2"), "{text}");
    values[70] = -0.1;
    assert!(message(&dataset(&[3, 8, 8], &values), "8x8").ends_with("got -0.1 in sample 1"));
    let text = ImageShape::of(&slopes(&[3, 10])).unwrap_err().to_string();
    assert!(text.ends_with("got shape [3, 10]"), "{text}");
}

/// Stops everything at once.
struct Stop;

impl Monitor for Stop {
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn stops_when_asked() {
    let images = slopes(&[3, 8, 8]);
    let shape = ImageShape::of(&images).unwrap();
    assert!(corrupt(&images, "fog:1".parse().unwrap(), shape, 0, &Stop).is_err());
}
