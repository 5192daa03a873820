//! What a user may type about data sets and corruptions.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;
use spadework_io::ImageSize;
use spadework_io::corrupt::{Corruption, CorruptionKind, ImageShape, Severity};

use crate::args::{TerminalArgs, text, threads};

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The folder with the data sets to check, in it or up to two levels below; without it, all known data sets are
    /// listed
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CorruptArgs {
    /// The images
    #[arg(long, value_name = "ARRAY", value_parser = text())]
    pub(crate) inputs: String,
    /// gaussian-noise, shot-noise, impulse-noise, defocus-blur, motion-blur, fog, brightness, contrast, pixelate or jpeg
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: CorruptionKind,
    /// From 1 to 5
    #[arg(long, value_name = "1-5")]
    pub(crate) severity: Severity,
    /// The file to write, .npy: as many images in the same order and shape, from 0 to 1
    #[arg(long, alias = "out", value_name = "FILE.npy")]
    pub(crate) output: PathBuf,
    /// Channels, height and width of an image, if the array does not show it: 1x28x28, 3x32x32, 32x32x3, 28x28
    #[arg(long, value_name = "SHAPE")]
    pub(crate) shape: Option<ImageShape>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

/// The size that images of a folder are brought to.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct SizeArgs {
    /// For --inputs images:DIR: resize every image so that its shorter side has N pixels, e.g. 256
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) resize: Option<u32>,
    /// For --inputs images:DIR: cut a square of N × N pixels from the center of every image, after --resize, e.g. 224
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) crop: Option<u32>,
    /// What was typed for the inputs with the size behind it.
    #[arg(skip)]
    sized: OnceLock<String>,
}

impl SizeArgs {
    /// What names the inputs, with the size that images are brought to.
    pub(crate) fn of<'a>(&'a self, inputs: Option<&'a str>) -> Option<&'a str> {
        let size = ImageSize { resize: self.resize, crop: self.crop };
        if size == ImageSize::default() {
            return inputs;
        }
        let inputs = inputs?;
        Some(self.sized.get_or_init(|| format!("{inputs}{size}")))
    }
}

/// Corruption of the inputs before they are used.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct CorruptionArgs {
    /// Corrupt the inputs first, e.g. gaussian-noise:3; the outputs must be those of the corrupted images
    ///
    /// A kind (gaussian-noise, shot-noise, impulse-noise, defocus-blur, motion-blur, fog, brightness, contrast, pixelate,
    /// jpeg) and a severity from 1 to 5. Randomness depends on --seed and the index of the sample, so the inputs equal those that
    /// `spadework corrupt` writes with the same seed: run your model on its file and pass the model's outputs as --outputs.
    #[arg(long, value_name = "KIND:SEVERITY")]
    pub(crate) corruption: Option<Corruption>,
    /// With --corruption: channels, height and width of an image, if the array does not show it: 1x28x28, 32x32x3
    #[arg(long, value_name = "SHAPE", requires = "corruption")]
    pub(crate) shape: Option<ImageShape>,
}
