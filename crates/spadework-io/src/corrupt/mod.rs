//! Common corruptions of images, at severities 1 to 5 (Hendrycks and Dietterich, "Benchmarking Neural Network Robustness to
//! Common Corruptions and Perturbations", ICLR 2019).
//!
//! The constants are those of CIFAR-10-C, made for images of 32 × 32 pixels; they suit MNIST's 28 × 28 and other small
//! images. Lengths (of blurs) are in pixels, so on larger images the same severity blurs less. Values stay between 0 and 1.
//! They are not rounded to bytes, except by JPEG, which works on bytes.
//!
//! Random numbers depend only on the seed and the index of the sample: the same seed gives the same images for any number of
//! threads, and a sample's noise does not depend on the other samples. There is one file per corruption, which begins with its
//! formula.

mod brightness;
mod contrast;
mod defocus_blur;
mod fog;
mod gaussian_noise;
mod image;
mod impulse_noise;
mod jpeg;
mod motion_blur;
mod pixelate;
mod random;
mod shape;
mod shot_noise;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use spadework::Monitor;
use spadework::monitor::Stage;
use spadework::random::{Purpose, stream_at};
use spadework::samples::Values;

pub use shape::{Channels, ImageShape};

use crate::dataset::Dataset;
use crate::element::Numbers;
use crate::error::{Error, Result};
use image::Image;

/// What is done to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the files of the corruptions explain them")]
pub enum CorruptionKind {
    GaussianNoise,
    ShotNoise,
    ImpulseNoise,
    DefocusBlur,
    MotionBlur,
    Fog,
    Brightness,
    Contrast,
    Pixelate,
    Jpeg,
}

impl CorruptionKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::GaussianNoise,
        Self::ShotNoise,
        Self::ImpulseNoise,
        Self::DefocusBlur,
        Self::MotionBlur,
        Self::Fog,
        Self::Brightness,
        Self::Contrast,
        Self::Pixelate,
        Self::Jpeg,
    ];

    /// Its name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::GaussianNoise => "gaussian-noise",
            Self::ShotNoise => "shot-noise",
            Self::ImpulseNoise => "impulse-noise",
            Self::DefocusBlur => "defocus-blur",
            Self::MotionBlur => "motion-blur",
            Self::Fog => "fog",
            Self::Brightness => "brightness",
            Self::Contrast => "contrast",
            Self::Pixelate => "pixelate",
            Self::Jpeg => "jpeg",
        }
    }

    fn apply(self, image: &mut Image, severity: Severity, rng: &mut ChaCha8Rng) {
        match self {
            Self::GaussianNoise => gaussian_noise::apply(image, severity, rng),
            Self::ShotNoise => shot_noise::apply(image, severity, rng),
            Self::ImpulseNoise => impulse_noise::apply(image, severity, rng),
            Self::DefocusBlur => defocus_blur::apply(image, severity),
            Self::MotionBlur => motion_blur::apply(image, severity, rng),
            Self::Fog => fog::apply(image, severity, rng),
            Self::Brightness => brightness::apply(image, severity),
            Self::Contrast => contrast::apply(image, severity),
            Self::Pixelate => pixelate::apply(image, severity),
            Self::Jpeg => jpeg::apply(image, severity),
        }
    }
}

impl fmt::Display for CorruptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word or number that names no corruption, severity or shape of images.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got `{got}`")]
pub struct UnknownCorruption {
    expected: String,
    got: String,
}

impl UnknownCorruption {
    fn new(expected: impl Into<String>, got: &str) -> Self {
        Self { expected: expected.into(), got: got.to_owned() }
    }
}

impl FromStr for CorruptionKind {
    type Err = UnknownCorruption;

    fn from_str(word: &str) -> Result<Self, UnknownCorruption> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == word);
        found.ok_or_else(|| UnknownCorruption::new(format!("a corruption ({names})"), word))
    }
}

/// The severity of a corruption, from 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(u8);

impl Severity {
    /// From 1 to 5.
    pub fn new(severity: u8) -> Option<Self> {
        (1..=5).contains(&severity).then_some(Self(severity))
    }

    /// From 1 to 5.
    pub fn get(self) -> u8 {
        self.0
    }

    /// The constant of this severity.
    fn of<T: Copy>(self, constants: &[T; 5]) -> T {
        constants[usize::from(self.0) - 1]
    }
}

impl FromStr for Severity {
    type Err = UnknownCorruption;

    fn from_str(text: &str) -> Result<Self, UnknownCorruption> {
        let severity = text.parse().ok().and_then(Self::new);
        severity.ok_or_else(|| UnknownCorruption::new("a severity from 1 to 5", text))
    }
}

/// A kind and a severity, as `gaussian-noise:3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corruption {
    /// What is done.
    pub kind: CorruptionKind,
    /// How much.
    pub severity: Severity,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.severity.get())
    }
}

impl FromStr for Corruption {
    type Err = UnknownCorruption;

    fn from_str(text: &str) -> Result<Self, UnknownCorruption> {
        let Some((kind, severity)) = text.split_once(':') else {
            kind_of(text)?;
            return Err(UnknownCorruption::new("KIND:SEVERITY, e.g. gaussian-noise:3", text));
        };
        Ok(Self { kind: kind.parse()?, severity: severity.parse()? })
    }
}

fn kind_of(word: &str) -> Result<CorruptionKind, UnknownCorruption> {
    word.parse()
}

/// The difference of images before and after a corruption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Mean of the absolute differences of all values.
    pub mean: f64,
    /// Largest absolute difference.
    pub largest: f64,
}

/// Corrupts every image of a data set; labels, name and shape do not change. The result has single precision.
///
/// # Errors
/// When the numbers do not fill images of that shape, a value is not from 0 to 1, or the monitor asks to stop.
pub fn corrupt(
    dataset: &Dataset,
    corruption: Corruption,
    shape: ImageShape,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Dataset> {
    let samples = dataset.samples()?;
    let dim = samples.dim();
    shape.check(dataset.name(), dim)?;
    let pixels = Pixels { values: samples.values(), dim, name: dataset.name() };
    let mut corrupted = vec![0.0_f32; samples.len() * dim];
    monitor.begin(Stage::Named("corruption"));
    let done = AtomicUsize::new(0);
    let outcomes: Vec<Result<()>> = corrupted
        .par_chunks_exact_mut(dim)
        .enumerate()
        .map(|(index, target)| {
            if monitor.is_cancelled() {
                return Err(Error::Samples {
                    name: pixels.name.to_owned(),
                    cause: spadework::Error::Cancelled,
                });
            }
            let mut image = Image::from_sample(pixels.row(index)?, shape);
            let mut rng = stream_at(seed, Purpose::Corruption, index as u64);
            corruption.kind.apply(&mut image, corruption.severity, &mut rng);
            image.write_sample(shape, target);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            monitor.progress(done as u64, samples.len() as u64);
            Ok(())
        })
        .collect();
    // The first that failed is named, whichever thread was first.
    outcomes.into_iter().collect::<Result<()>>()?;
    let result = Dataset::from_numbers(dataset.shape().to_vec(), Numbers::F32(corrupted), dataset.name());
    Ok(match dataset.labels() {
        Some(labels) => result.with_labels(labels.clone()),
        None => result,
    })
}

/// How much a corruption changed.
///
/// # Errors
/// When the core refuses one of them as samples, or they have different numbers of values.
pub fn change(before: &Dataset, after: &Dataset) -> Result<Change> {
    let (before, after) = (before.samples()?, after.samples()?);
    let count = before.len() * before.dim();
    let (old, new) = (before.values(), after.values());
    let difference = |at: usize| (old.get(at) - new.get(at)).abs();
    let (sum, largest) = (0..count.min(after.len() * after.dim()))
        .map(difference)
        .fold((0.0, 0.0_f64), |(sum, largest), value| (sum + value, largest.max(value)));
    Ok(Change { mean: sum / count as f64, largest })
}

/// Rows of pixels from 0 to 1.
struct Pixels<'a> {
    values: &'a Values<'a>,
    dim: usize,
    name: &'a str,
}

impl Pixels<'_> {
    fn row(&self, index: usize) -> Result<Vec<f32>> {
        let range = index * self.dim..(index + 1) * self.dim;
        let row = self.values.singles(range).into_owned();
        match row.iter().find(|value| !(0.0..=1.0).contains(*value)) {
            Some(&value) => Err(Error::Pixel { name: self.name.to_owned(), sample: index, value }),
            None => Ok(row),
        }
    }
}

#[cfg(test)]
mod fixture {
    //! What NumPy, SciPy, scikit-image and Pillow make of the same images (scripts/make_corruption_fixtures.py).

    use super::image::Image;
    use super::{ImageShape, Severity};
    use crate::load;
    use spadework::samples::Values;

    /// Rows of an array of the fixtures.
    pub(super) fn rows(key: &str) -> Vec<Vec<f32>> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/corruptions.npz");
        let array = load(&format!("{path}:{key}")).unwrap();
        let samples = array.samples().unwrap();
        let Values::F32(values) = samples.values() else { panic!("{key} is f32") };
        values.chunks(samples.dim()).map(<[f32]>::to_vec).collect()
    }

    /// The two images that all corruptions are tried on: one in color and one gray, neither square.
    pub(super) fn image(kind: &str) -> Image {
        let shape: ImageShape = if kind == "color" { "3x19x18" } else { "1x15x22" }.parse().unwrap();
        Image::from_sample(rows(kind).remove(0), shape)
    }

    pub(super) fn severities() -> impl Iterator<Item = Severity> {
        (1..=5).filter_map(Severity::new)
    }

    /// The largest difference from the reference, over both images and all severities.
    pub(super) fn worst(name: &str, apply: impl Fn(&mut Image, Severity)) -> f32 {
        let mut worst = 0.0_f32;
        for kind in ["color", "gray"] {
            for (severity, expected) in severities().zip(rows(&format!("{name}_{kind}"))) {
                let mut image = image(kind);
                apply(&mut image, severity);
                assert_eq!(image.values.len(), expected.len());
                let off = image.values.iter().zip(&expected).map(|(a, b)| (a - b).abs());
                worst = worst.max(off.fold(0.0, f32::max));
            }
        }
        worst
    }

    /// That no value differs from the reference by this much.
    pub(super) fn assert_within(limit: f32, name: &str, apply: impl Fn(&mut Image, Severity)) {
        let worst = worst(name, apply);
        assert!(worst < limit, "{name}: {worst}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for kind in CorruptionKind::ALL {
            let corruption: Corruption = format!("{kind}:2").parse().unwrap();
            assert_eq!((corruption.kind, corruption.severity.get()), (kind, 2));
            assert_eq!(corruption.to_string().parse(), Ok(corruption));
        }
        let message = |text: &str| text.parse::<Corruption>().unwrap_err().to_string();
        assert_eq!(message("fog"), "expected KIND:SEVERITY, e.g. gaussian-noise:3, got `fog`");
        assert_eq!(message("fog:6"), "expected a severity from 1 to 5, got `6`");
        assert_eq!(message("fog:0"), "expected a severity from 1 to 5, got `0`");
        assert!(message("snow:1").starts_with("expected a corruption (gaussian-noise, shot-noise, "));
        assert!(message("snow").ends_with("got `snow`"));
    }
}
