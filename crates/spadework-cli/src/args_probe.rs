//! What a user may type about probes.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use spadework_probe::{Probe, ProbeParams};

use crate::args::one_or_more;

/// Probes: perturbed samples.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probes")]
pub(crate) struct ProbeArgs {
    /// Also probe the model with perturbed samples and estimate its accuracy under attack, e.g. linf:0.1, linf:8/255, l2:0.5
    ///
    /// A norm, a radius and, after another colon, a kind. search (the default) lets every probe learn from the previous ones: in linf by the signs of
    /// smaller and smaller blocks of numbers, in l2 by an estimate of the gradient. pixel, block:SIDE and smooth:CYCLES are noise, from the highest to the
    /// lowest frequencies. For tables, linf:0.1sd is 0.1 standard deviations of every column (see --probe-radii). Needs --model. Probes stay between 0 and 1 if all inputs do, and otherwise between the smallest and
    /// the largest number of the inputs. The model is run once per probe and sample: up to 271,336 times for 1000
    /// samples, the 256 probes of a search and 8 pilots with 2048, fewer if samples break early, or almost certainly resist; 9,000
    /// times for noise.
    #[arg(long, value_name = "NORM:RADIUS[:KIND]", group = "probing")]
    pub(crate) probe: Option<Probe>,
    /// With --probe linf:RADIUS: a file with one number per column of the inputs; a column moves by at most RADIUS times its number
    ///
    /// For tables, whose columns have units of their own. 0 leaves a column alone. A column that holds whole numbers only moves in
    /// whole steps, so 1 flips a flag of 0 or 1. Every column stays between its own smallest and largest number. Without a file,
    /// --probe linf:0.1sd moves every column by at most 0.1 of its own standard deviation, and leaves columns of whole numbers
    /// alone.
    #[arg(long, value_name = "FILE", requires = "probe", value_parser = radii, hide_short_help = true)]
    pub(crate) probe_radii: Option<Radii>,
    /// With --probe linf:RADIUS: a file with one whole number per column of the inputs; columns with the same number are the one-hot
    /// columns of one feature, which changes as a whole
    ///
    /// 0 marks all other columns. A sample is moved to another category of the same feature, or to none if there are
    /// samples with none; with --probe-radii, only to categories whose columns have a number above 0. Other columns of whole numbers
    /// are then left alone, unless --probe-radii is given, and every column stays between its own smallest and largest number.
    #[arg(long, value_name = "FILE", requires = "probe", value_parser = categories, hide_short_help = true)]
    pub(crate) probe_categories: Option<Categories>,
    /// With --probe: probes per sample, at most; pilots of a search have 8 times as many [default: 256 for search, 8 for noise]
    #[arg(long, value_name = "N", requires = "probing", value_parser = one_or_more)]
    pub(crate) probes: Option<NonZeroUsize>,
    /// With --probe: number of samples to probe, drawn by the seed if there are more
    #[arg(long, value_name = "N", requires = "probing", default_value_t = SAMPLES, value_parser = one_or_more)]
    pub(crate) probe_samples: NonZeroUsize,
    /// With --probe: end the search as soon as the error of its extrapolation to a stronger attack is at most FRACTION, e.g. 2%
    ///
    /// The error from the number of samples is not included: more samples (--probe-samples) make the interval narrower.
    #[arg(long, value_name = "FRACTION", requires = "probing", value_parser = precision)]
    pub(crate) precision: Option<f64>,
}

/// Variants of the samples that a program of the user's makes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probes")]
pub(crate) struct ScriptArgs {
    /// Also run the model on variants of the samples that SCRIPT makes; for words, categories and sequences
    ///
    /// An executable file. `SCRIPT VARIANT SEED` reads the samples as one .npy array from its standard input and writes an array of the
    /// same shape to its standard output: variant VARIANT, counted from 0, with random numbers from SEED. It is started up to 100
    /// times (--probes), with up to 1000 samples each (--probe-samples). It is started less often if further variants would change
    /// the share of samples that keep their class by at most 0.5 % (--precision). Needs --model.
    #[arg(long, value_name = "SCRIPT", group = "probing")]
    pub(crate) probe_with: Option<PathBuf>,
}

/// One radius per column.
#[derive(Debug, Clone)]
pub(crate) struct Radii(pub(crate) Arc<[f64]>);

/// The category of every column.
#[derive(Debug, Clone)]
pub(crate) struct Categories(pub(crate) Arc<[usize]>);

/// The whole numbers in a file, whether it holds one row or one column.
fn categories(file: &str) -> Result<Categories, String> {
    let whole = |number: f64| {
        let is_count = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        is_count
            .then_some(number as usize)
            .ok_or(format!("expected one whole number per column, 0 or more, got {number}"))
    };
    radii(file)?.0.iter().map(|&number| whole(number)).collect::<Result<_, _>>().map(Categories)
}

/// The numbers in a file, whether it holds one row or one column.
fn radii(file: &str) -> Result<Radii, String> {
    let numbers = spadework_io::load_numbers(file).map_err(|error| error.to_string())?;
    Ok(Radii(numbers.into()))
}

/// `2%` or `0.02`.
fn precision(text: &str) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(number) => number.trim_end().parse().map(|value: f64| value / 100.0),
        None => text.parse(),
    };
    match value {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("expected a percentage such as 2% or a fraction between 0 and 1 such as 0.02".to_owned()),
    }
}

const SAMPLES: NonZeroUsize = NonZeroUsize::new(ProbeParams::SAMPLES).unwrap();
